//! Barriers: how "nothing else came" becomes decidable without sleeping.
//!
//! A client dispatches a harmless action with a mark on a chat; when its envelope has arrived at a
//! subscriber, so has everything with a lower `serverSeq`. Clients that are not subscribed to that
//! chat are pinged after it: weaker, since nothing orders a response against envelopes.
//!
//! The mark is `chat/draftChanged`: a draft is no agent's business, and an empty one afterwards
//! takes the mark away. Where no chat is at hand, or the host refuses the mark, `ping` alone has
//! to do, and the report says so.

use std::collections::HashSet;

use crate::wire::json::{Value, json};

use crate::scenario::pattern::brief;
use crate::transcript::SeenFrame;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::message::Message;

use super::case::{ScenarioCase, TaskWait, WaitProgress, params};
use super::failure::FailureKind;
use super::task::{DispatchGoal, PeerId};

/// A barrier on its way.
#[derive(Clone, Debug)]
pub struct PendingBarrier {
    by: PeerId,
    /// The marked action, while its envelope has not been seen everywhere.
    mark: Option<PendingMark>,
    /// Pings that have not been answered.
    pings: Vec<(PeerId, u64)>,
    /// The dispatch whose fate the barrier decides.
    decides: Option<(u64, DispatchGoal)>,
}

/// A marked action on its way.
#[derive(Clone, Debug)]
struct PendingMark {
    channel: String,
    /// Its `clientSeq` at the client that dispatched it.
    seq: u64,
    /// Who has to see it.
    at: Vec<PeerId>,
}

/// What became of the marks of a case.
#[derive(Debug, Default)]
pub struct CaseMarks {
    /// Own dispatches that only mark a place: nobody's message.
    sent: HashSet<(PeerId, u64)>,
    /// Which client has seen which mark.
    seen: HashSet<(PeerId, u64, PeerId)>,
    /// Marks that the host rejected.
    refused: HashSet<(PeerId, u64)>,
}

impl CaseMarks {
    /// Takes note of an arrival; false where the message is not a mark.
    pub(super) fn arrived(&mut self, by: PeerId, seq: u64, at: PeerId, rejected: bool) -> bool {
        if !self.sent.contains(&(by, seq)) {
            return false;
        }
        if rejected {
            self.refused.insert((by, seq));
        } else {
            self.seen.insert((by, seq, at));
        }
        true
    }

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
}

impl ScenarioCase {
    /// Whether the message is only the mark of a barrier; takes note of it.
    pub(super) fn is_mark(&mut self, at: PeerId, message: &Message) -> bool {
        if self.marks.is_empty() || message.method() != Some("action") {
            return false;
        }
        let params = message.params();
        let origin = &params["origin"];
        let by = self.peers.iter().position(|peer| origin["clientId"] == *peer.engine.client_id);
        let rejected = params.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        match (by, origin["clientSeq"].as_u64()) {
            (Some(by), Some(seq)) => self.marks.arrived(by, seq, at, rejected),
            _ => false,
        }
    }

    pub(super) fn begin_barrier(
        &mut self,
        by: PeerId,
        channel: Option<&Value>,
        decides: Option<(u64, DispatchGoal)>,
    ) -> PendingBarrier {
        let mark = self.marked_chat(by, channel).map(|chat| self.mark(by, chat));
        let mut barrier = PendingBarrier { by, mark, pings: Vec::new(), decides };
        if barrier.mark.is_none() {
            self.ping_everyone(&mut barrier, &[]);
        }
        barrier
    }

    /// The chat that can carry a mark: the one named, or any that the client is subscribed to.
    fn marked_chat(&self, by: PeerId, channel: Option<&Value>) -> Option<String> {
        if !self.protocol()?.has(ProtocolFeature::Drafts) {
            return None;
        }
        let engine = &self.peers.get(by)?.engine;
        let is_chat = |channel: &&str| ChannelKind::of_uri(channel) == Some(ChannelKind::Chat);
        let named = channel.or(self.bindings.get("chat")).and_then(Value::as_str);
        named
            .filter(|channel| is_chat(channel) && engine.is_subscribed(channel))
            .or_else(|| engine.subscriptions().find(is_chat))
            .map(str::to_owned)
    }

    fn mark(&mut self, by: PeerId, channel: String) -> PendingMark {
        let text = format!("ahp-barrier {:016x}", self.mint.number());
        let draft = json!({"text": text, "origin": {"kind": "user"}});
        let action = json!({"type": "chat/draftChanged", "draft": draft});
        let seq = self.dispatch_mark(by, &channel, action);
        let subscribed = self.peers.iter().enumerate();
        let at = subscribed
            .filter(|(_, peer)| peer.connected && peer.engine.is_subscribed(&channel))
            .map(|(id, _)| id)
            .collect();
        PendingMark { channel, seq, at }
    }

    fn dispatch_mark(&mut self, by: PeerId, channel: &str, action: Value) -> u64 {
        let Some(peer) = self.peers.get_mut(by) else {
            return 0;
        };
        let (seq, message) = peer.engine.dispatch(channel, action, None);
        self.marks.sent.insert((by, seq));
        self.send(by, SeenFrame::of(message));
        seq
    }

    fn ping_everyone(&mut self, barrier: &mut PendingBarrier, but: &[PeerId]) {
        for id in 0..self.peers.len() {
            if self.is_connected(id) && !but.contains(&id) {
                barrier.pings.extend(self.ping(id).map(|ping| (id, ping)));
            }
        }
    }

    pub(super) fn check_barrier(
        &mut self,
        step: Option<usize>,
        mut barrier: PendingBarrier,
    ) -> WaitProgress {
        let by = barrier.by;
        if let Some(mark) = barrier.mark.take() {
            if self.marks.refused.contains(&(by, mark.seq)) {
                self.notes
                    .push("the host refused the barrier's draft; `ping` had to do".to_owned());
                self.ping_everyone(&mut barrier, &[]);
                return self.check_barrier(step, barrier);
            }
            let waits = |id: &PeerId| {
                self.is_connected(*id) && !self.marks.seen.contains(&(by, mark.seq, *id))
            };
            if mark.at.iter().any(waits) {
                barrier.mark = Some(mark);
                return WaitProgress::Wait(TaskWait::Barrier(barrier));
            }
            self.dispatch_mark(by, &mark.channel, json!({"type": "chat/draftChanged"}));
            self.ping_everyone(&mut barrier, &mark.at);
        }
        let peers = &mut self.peers;
        barrier.pings.retain(|(id, ping)| {
            let peer = peers.get_mut(*id).filter(|peer| peer.connected);
            peer.is_some_and(|peer| peer.take_answer(*ping).is_none())
        });
        if !barrier.pings.is_empty() {
            return WaitProgress::Wait(TaskWait::Barrier(barrier));
        }
        if !self.is_connected(by) {
            let message =
                format!("client `{}`: the connection ended before the barrier", self.name(by));
            return WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message));
        }
        // A step that only needs to know what became of its dispatch ends nobody else's watch.
        if barrier.decides.is_none() {
            self.watches_held();
        }
        self.decide(step, &barrier)
    }

    /// The barrier is over: what became of the dispatch it decides?
    fn decide(&mut self, step: Option<usize>, barrier: &PendingBarrier) -> WaitProgress {
        let Some((seq, settle)) = &barrier.decides else {
            return WaitProgress::Done;
        };
        let name = self.name(barrier.by);
        let Some((place, line, seen)) = self.echo(barrier.by, *seq, 0) else {
            self.observed(step);
            return WaitProgress::Done;
        };
        if let Some(peer) = self.peers.get_mut(barrier.by) {
            peer.mailbox.read_one(place);
        }
        let envelope = params(&seen);
        let rejected = envelope.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        let message = match (settle, rejected) {
            (DispatchGoal::Refused, true) => {
                self.observed(step);
                return WaitProgress::Done;
            }
            (DispatchGoal::Refused, false) => format!(
                "client `{name}`: expected the action to be refused, the host accepted it as serverSeq {}",
                envelope["serverSeq"]
            ),
            _ => format!("client `{name}`: expected the action to be ignored, it came back"),
        };
        let mut failure = self.failure_at(step, message);
        failure.label = format!("{} came back", brief(envelope));
        failure.lines.push(line);
        WaitProgress::Failed(failure)
    }

    /// The mark did not come back in time: `ping` alone has to do, once.
    pub(super) fn barrier_expired(
        &mut self,
        step: Option<usize>,
        mut barrier: PendingBarrier,
    ) -> WaitProgress {
        if barrier.mark.take().is_some() {
            self.notes.push("the barrier's draft did not come back; `ping` had to do".to_owned());
            self.ping_everyone(&mut barrier, &[]);
            return self.check_barrier(step, barrier);
        }
        let silent = barrier.pings.first().map_or(barrier.by, |(id, _)| *id);
        let message = format!(
            "client `{}`: expected an answer to `ping` for the barrier, nothing came",
            self.name(silent)
        );
        WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message))
    }
}

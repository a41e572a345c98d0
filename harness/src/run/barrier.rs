//! Proves with barriers, without sleeping, that no further message arrived.
//!
//! A client dispatches a harmless marker action on a chat. When a subscriber has received the marker's envelope, it has
//! received every envelope with a lower `serverSeq`. Afterwards, a `ping` is sent for each client that is not
//! subscribed to that chat. A ping is weaker evidence, because no rule orders responses relative to envelopes.
//!
//! The marker is a `chat/draftChanged` action, because the agent ignores drafts. An empty draft removes the marker
//! afterwards. If there is no chat, or the host rejects the marker, the barrier uses only `ping`, and the report says
//! so.

use crate::wire::json::{Value, json};

use crate::scenario::pattern::brief;
use crate::transcript::SeenFrame;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::message::Message;

use super::case::{ScenarioCase, params};
use super::case_marks::{PendingBarrier, PendingMark};
use super::case_peers::PeerId;
use super::failure::FailureKind;
use super::goal::DispatchGoal;
use super::task_wait::{TaskWait, WaitProgress};

impl ScenarioCase {
    /// Returns whether a message is the marker of a barrier. If it is, its arrival is recorded.
    pub(super) fn is_mark(&mut self, at: PeerId, message: &Message) -> bool {
        if self.marks.is_empty() || message.method() != Some("action") {
            return false;
        }
        let params = message.params();
        let origin = &params["origin"];
        let by = self.clients.with_client_id(&origin["clientId"]);
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

    /// Returns a chat on which the client can dispatch a marker action: the named chat, or any chat that the client is
    /// subscribed to.
    fn marked_chat(&self, by: PeerId, channel: Option<&Value>) -> Option<String> {
        if !self.protocol()?.has(ProtocolFeature::Drafts) {
            return None;
        }
        let engine = &self.clients.get(by)?.engine;
        let is_chat = |channel: &&str| ChannelKind::of_uri(channel) == Some(ChannelKind::Chat);
        let named = channel.or(self.names.get("chat")).and_then(Value::as_str);
        named
            .filter(|channel| is_chat(channel) && engine.is_subscribed(channel))
            .or_else(|| engine.subscriptions().find(is_chat))
            .map(str::to_owned)
    }

    /// Returns whether the host accepts the markers of this client's barriers.
    pub(super) fn has_markers(&self, by: PeerId, channel: &str) -> bool {
        !self.marks.any_refused() && self.marked_chat(by, Some(&channel.into())).is_some()
    }

    fn mark(&mut self, by: PeerId, channel: String) -> PendingMark {
        let text = format!("ahp-barrier {:016x}", self.names.number());
        let draft = json!({"text": text, "origin": {"kind": "user"}});
        let action = json!({"type": "chat/draftChanged", "draft": draft});
        let seq = self.dispatch_mark(by, &channel, action);
        let subscribed = self.clients.iter().enumerate();
        let at = subscribed
            .filter(|(_, peer)| peer.is_connected() && peer.engine.is_subscribed(&channel))
            .map(|(id, _)| id)
            .collect();
        PendingMark { channel, seq, at }
    }

    fn dispatch_mark(&mut self, by: PeerId, channel: &str, action: Value) -> u64 {
        let Some(peer) = self.clients.get_mut(by) else {
            return 0;
        };
        let (seq, message) = peer.engine.dispatch(channel, action, None);
        self.marks.dispatched(by, seq);
        self.send(by, SeenFrame::of(message));
        seq
    }

    fn ping_everyone(&mut self, barrier: &mut PendingBarrier, but: &[PeerId]) {
        for id in self.clients.ids() {
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
            if self.marks.is_refused(by, mark.seq) {
                self.log.note(
                    "the host rejected the barrier's marker (`chat/draftChanged`), so the barrier used `ping` instead"
                        .to_owned(),
                );
                self.ping_everyone(&mut barrier, &[]);
                return self.check_barrier(step, barrier);
            }
            let waits =
                |id: &PeerId| self.is_connected(*id) && !self.marks.has_seen(by, mark.seq, *id);
            if mark.at.iter().any(waits) {
                barrier.mark = Some(mark);
                return WaitProgress::Wait(TaskWait::Barrier(barrier));
            }
            self.dispatch_mark(by, &mark.channel, json!({"type": "chat/draftChanged"}));
            self.ping_everyone(&mut barrier, &mark.at);
        }
        let clients = &mut self.clients;
        barrier.pings.retain(|(id, ping)| {
            let peer = clients.get_mut(*id).filter(|peer| peer.is_connected());
            peer.is_some_and(|peer| peer.take_answer(*ping).is_none())
        });
        if !barrier.pings.is_empty() {
            return WaitProgress::Wait(TaskWait::Barrier(barrier));
        }
        if !self.is_connected(by) {
            let message = format!(
                "client `{}`: the connection ended before the barrier was reached",
                self.name(by)
            );
            return WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message));
        }
        // If a barrier only decides the outcome of one dispatch, the `never` steps still watch for forbidden messages
        // after the barrier.
        if barrier.decides.is_none() {
            self.watches_held();
        }
        self.decide(step, &barrier)
    }

    /// Decides the outcome of the barrier's dispatch after the barrier is complete.
    fn decide(&mut self, step: Option<usize>, barrier: &PendingBarrier) -> WaitProgress {
        let Some((seq, settle)) = &barrier.decides else {
            return WaitProgress::Done;
        };
        let name = self.name(barrier.by);
        let Some((place, line, seen)) = self.echo(barrier.by, *seq, 0) else {
            self.observed(step);
            return WaitProgress::Done;
        };
        if let Some(peer) = self.clients.get_mut(barrier.by) {
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
            _ => format!("client `{name}`: expected the host to ignore the action, it came back"),
        };
        let mut failure = self.failure_at(step, message);
        failure.label = format!("{} came back", brief(envelope));
        failure.lines.push(line);
        WaitProgress::Failed(failure)
    }

    /// If the marker did not come back in time, repeats the barrier once with `ping` only.
    pub(super) fn barrier_expired(
        &mut self,
        step: Option<usize>,
        mut barrier: PendingBarrier,
    ) -> WaitProgress {
        if barrier.mark.take().is_some() {
            self.log.note(
                "the barrier's marker (`chat/draftChanged`) did not come back, so the barrier used `ping` instead"
                    .to_owned(),
            );
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

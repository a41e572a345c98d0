//! What a case does: each task sends something, waits for something, or both.

use std::sync::Arc;

use crate::wire::json::{Value, json};

use crate::peer::guise::Guise;
use crate::scenario::bind::Template;
use crate::transcript::{ConnId, Seen};
use crate::wire::frame::Frame;
use crate::wire::message::Message;

use super::case::{Case, Output, Peer, Progress, Wait};
use super::mailbox::{Item, Mailbox};
use super::mangle;
use super::serve::FileLook;
use super::task::{Act, Entry, Order, PeerId, RawFrame, Settle, Task, Want};
use super::watch::Watch;

/// What an agent is asked for a sign of life: a method that it does not have, but has to refuse.
const ACP_PING: &str = "_ahp-harness/ping";
/// The most frames that one step sends.
const MAX_TIMES: u64 = 100_000;

/// The first value of `${frame}`. The clients count the ids of their own requests up from 1.
const FIRST_FRAME_ID: u64 = 1_000_000;
/// The deepest nesting that is sent.
const MAX_DEPTH: usize = 10_000_000;

impl Case {
    pub(super) fn send(&mut self, peer: PeerId, seen: Seen) {
        let Some(peer) = self.peers.get_mut(peer) else {
            return;
        };
        if let (Some(conn), true) = (peer.conn, peer.connected) {
            if let Some(message) = seen.message() {
                self.created.sent(message);
            }
            self.outputs.push_back(Output::Send { conn, seen: Arc::new(seen) });
        }
    }

    pub(super) fn ping(&mut self, peer: PeerId) -> Option<u64> {
        // The first protocol has no `ping`; to list the sessions does no more harm.
        let has_ping = self.protocol().is_none_or(|it| it.method("ping").is_some());
        let method = match has_ping {
            _ if self.is_acp() => ACP_PING,
            true => "ping",
            false => "listSessions",
        };
        let (id, message) = self.peers.get_mut(peer)?.engine.request(method, json!({}));
        self.send(peer, Seen::of(message));
        Some(id)
    }

    pub(super) fn fill(&mut self, template: &Template) -> Value {
        template.fill(&mut self.bindings, &mut self.mint)
    }

    pub(super) fn name(&self, peer: PeerId) -> String {
        self.peers.get(peer).map(|peer| peer.name.clone()).unwrap_or_default()
    }

    pub(super) fn start(&mut self, task: Task) -> Progress {
        if !matches!(task.act, Act::Await { .. } | Act::Watch { .. }) {
            self.peers.iter_mut().for_each(|peer| peer.mailbox.arrive());
        }
        match task.act {
            Act::Connect(peer) => self.connect(peer, Entry::Stands),
            Act::Come { peer, credentials, origin, want } => {
                let origin = origin.map(|origin| text_of(&self.fill(&origin)));
                if let Some(peer) = self.peers.get_mut(peer) {
                    peer.guise = Guise { credentials, origin };
                }
                self.connect(peer, want)
            }
            Act::Request { peer, method, params, want, exact, keep } => {
                let params = self.fill(&params);
                if matches!(want, Want::Error(_) | Want::Refused(_)) {
                    self.expects_refused_request(task.step, &method);
                }
                self.created.asked(&method, &params);
                let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) else {
                    return Progress::Done;
                };
                let (id, message) = engine.request(&method, params);
                self.send(peer, Seen::of(message));
                Progress::Wait(Wait::Response { peer, id, want, exact, keep })
            }
            Act::DefaultChat { peer, session, bind } => {
                let session = self.fill(&session);
                Progress::Wait(Wait::DefaultChat { peer, session, bind })
            }
            Act::Reconnect { peer, subscriptions, last_seen, want, keep } => {
                let subscriptions = subscriptions.map(|template| self.fill(&template));
                let last_seen = last_seen.map(|template| self.fill(&template));
                if matches!(want, Want::Error(_) | Want::Refused(_)) {
                    self.expects_refused_request(task.step, "reconnect");
                }
                let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) else {
                    return Progress::Done;
                };
                let (id, message) = engine.reconnect(subscriptions, last_seen);
                self.send(peer, Seen::of(message));
                Progress::Wait(Wait::Response { peer, id, want, exact: false, keep })
            }
            Act::Ask { peer, method, params, bind } => self.ask(peer, &method, &params, bind),
            Act::Offer { peer, offers } => {
                if let Some(peer) = self.peers.get_mut(peer) {
                    peer.served.offer(offers);
                }
                Progress::Done
            }
            Act::Permit { peer, answer } => Progress::Wait(Wait::Permission { peer, answer }),
            Act::Look { path, text, waits } => {
                let until = waits.then(|| self.mint.now + self.limit(task.step));
                self.look(FileLook { path, text, until })
            }
            Act::Called(times) => Progress::Wait(Wait::Called(times)),
            Act::CallState { peer, id, state } => {
                let id = self.fill(&id);
                self.call_state(task.step, peer, &id, &state)
            }
            Act::Notify { peer, method, params } => {
                let params = self.fill(&params);
                if let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) {
                    let message = engine.notification(&method, params);
                    self.send(peer, Seen::of(message));
                }
                Progress::Done
            }
            Act::Dispatch { peer, channel, action, seq, settle, bind } => {
                let channel = self.fill(&channel);
                let action = self.fill(&action);
                let seq = seq.and_then(|template| self.fill(&template).as_u64());
                if settle.as_ref().is_some_and(Settle::is_refusal) {
                    let name = action["type"].as_str().unwrap_or_default().to_owned();
                    self.expects_refused_action(task.step, &name);
                }
                self.dispatch(peer, &channel, action, seq, settle, bind)
            }
            Act::Await { peer, mut filter, channel, mode } => {
                filter.channel = channel.map(|template| self.fill(&template));
                if let Some((side, name)) = &filter.beside {
                    let response = self.log.response(peer, name);
                    filter.order = response.map(|response| Order { side: *side, response });
                }
                Progress::Wait(Wait::Message { peer, filter, mode, looked: 0 })
            }
            Act::Watch { peer, mut filter, channel } => {
                filter.channel = channel.map(|template| self.fill(&template));
                self.watches.push(Watch { step: task.step, peer, filter });
                let mailbox = self.peers.get(peer).map(|peer| &peer.mailbox);
                let behind = mailbox.into_iter().flat_map(Mailbox::behind);
                let come: Vec<Item> = behind.cloned().collect();
                for item in come {
                    if let Some(message) = item.seen().message()
                        && let Some(failure) = self.watched(peer, item.line, message)
                    {
                        return Progress::Failed(failure);
                    }
                }
                Progress::Done
            }
            Act::Barrier { peer, channel } => {
                let channel = channel.map(|template| self.fill(&template));
                let barrier = self.begin_barrier(peer, channel.as_ref(), None);
                Progress::Wait(Wait::Barrier(barrier))
            }
            Act::Mirror { peer, channel, state, exact } => {
                let channel = self.fill(&channel);
                self.mirror(task.step, peer, &channel, &state, exact)
            }
            Act::Send { peer, frame: RawFrame::Flood(bytes), .. } => {
                if let Some(conn) = self.peers.get(peer).and_then(|peer| peer.conn) {
                    self.outputs.push_back(Output::Flood { conn, bytes });
                }
                Progress::Done
            }
            Act::Send { peer, frame, times } => {
                for count in 0..times.min(MAX_TIMES) {
                    if times > 1 {
                        self.bindings.set("count", json!(count));
                    }
                    self.bindings.set("frame", json!(FIRST_FRAME_ID + self.raw_frames));
                    self.raw_frames += 1;
                    let seen = Seen::new(self.raw(&frame));
                    if let Some((peer, message)) = self.peers.get_mut(peer).zip(seen.message()) {
                        peer.engine.sent(message);
                    }
                    self.send(peer, seen);
                }
                Progress::Done
            }
            Act::Hold { peer, paused } => {
                if let Some(conn) = self.peers.get(peer).and_then(|peer| peer.conn) {
                    self.outputs.push_back(Output::Hold { conn, paused });
                }
                Progress::Done
            }
            Act::Asked { peer, method, id, params } => {
                Progress::Wait(Wait::Asked { peer, method, id, params })
            }
            Act::Answer { peer, id, want, silent: true, .. } => match self.ping(peer) {
                Some(ping) => Progress::Wait(Wait::NoAnswer { peer, id, ping, want }),
                None => Progress::Done,
            },
            Act::Answer { peer, id, want, keep, .. } => {
                let want = want.unwrap_or(Want::Anything);
                Progress::Wait(Wait::Answer { peer, id, want, keep })
            }
            Act::Hang { peer, graceful } => {
                if let Some(peer) = self.peers.get_mut(peer)
                    && let Some(conn) = peer.conn
                {
                    self.outputs.push_back(Output::Close { conn, graceful });
                    peer.disconnect();
                }
                Progress::Done
            }
            Act::AwaitClosed(peer) => Progress::Wait(Wait::Closed(peer)),
            Act::Restart => {
                self.outputs.push_back(Output::Restart);
                Progress::Wait(Wait::Restarted)
            }
            Act::Release(hold) => {
                self.outputs.push_back(Output::Release(hold));
                Progress::Done
            }
            Act::Rest => Progress::Wait(Wait::Rested),
        }
    }

    pub(super) fn connect(&mut self, id: PeerId, want: Entry) -> Progress {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        if let Some(peer) = self.peers.get_mut(id) {
            // A name stands for one connection at a time, in a transcript, too.
            if let (Some(old), true) = (peer.conn, peer.connected) {
                self.outputs.push_back(Output::Close { conn: old, graceful: true });
                peer.disconnect();
            }
            peer.conn = Some(conn);
            peer.ended = None;
            peer.refused = None;
            peer.answers.clear();
            let (client, guise) = (peer.name.clone(), peer.guise.clone());
            self.outputs.push_back(Output::Open { conn, client, guise });
        }
        Progress::Wait(Wait::Connected(id, want))
    }

    pub(super) fn dispatch(
        &mut self,
        peer: PeerId,
        channel: &Value,
        action: Value,
        seq: Option<u64>,
        settle: Option<Settle>,
        bind: Option<String>,
    ) -> Progress {
        let Some(engine) = self.peers.get_mut(peer).map(|peer| &mut peer.engine) else {
            return Progress::Done;
        };
        let (seq, message) = engine.dispatch(channel.as_str().unwrap_or_default(), action, seq);
        self.send(peer, Seen::of(message));
        if let Some(name) = bind {
            self.bindings.set(&name, json!(seq));
        }
        match settle {
            None => Progress::Done,
            Some(settle @ (Settle::Accept(_) | Settle::Reject(_))) => {
                Progress::Wait(Wait::Settled { peer, seq, settle, looked: 0 })
            }
            Some(settle) => {
                let barrier = self.begin_barrier(peer, Some(channel), Some((seq, settle)));
                Progress::Wait(Wait::Barrier(barrier))
            }
        }
    }

    pub(super) fn raw(&mut self, frame: &RawFrame) -> Frame {
        match frame {
            RawFrame::Text(template) => Frame::Text(text_of(&self.fill(template))),
            RawFrame::Json(template) => {
                let value = self.fill(template);
                if let Some(method) = value["method"].as_str() {
                    self.created.asked(method, &value["params"]);
                }
                let message = Message::new(value);
                Frame::json(self.edge().lower_message(message).value())
            }
            RawFrame::Binary(template) => Frame::Binary(text_of(&self.fill(template)).into_bytes()),
            RawFrame::Padded(size) | RawFrame::Flood(size) => padded(*size),
            RawFrame::Nested(depth) => {
                let depth = usize::try_from(*depth).unwrap_or(usize::MAX).min(MAX_DEPTH);
                Frame::Text(ping(&["[".repeat(depth), "]".repeat(depth)].concat()))
            }
            RawFrame::Mangled(template) => {
                let value = self.fill(template);
                mangle::mangled(&value, &mut || self.mint.number())
            }
        }
    }
}

/// A well-formed `ping` of this many bytes.
pub fn padded(size: u64) -> Frame {
    let bare = ping("\"\"").len() as u64;
    let pad = usize::try_from(size.saturating_sub(bare)).unwrap_or_default();
    Frame::Text(ping(&["\"", &"x".repeat(pad), "\""].concat()))
}

/// A well-formed `ping` with something in its `_meta`.
fn ping(extra: &str) -> String {
    [
        r#"{"jsonrpc":"2.0","id":999999,"method":"ping","params":{"channel":"ahp-root://","_meta":{"x-pad":"#,
        extra,
        "}}}",
    ]
    .concat()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Peer {
    pub(super) fn disconnect(&mut self) {
        self.connected = false;
        self.initialized = false;
        self.conn = None;
        self.engine.lost();
    }

    pub(super) fn take_answer(&mut self, id: u64) -> Option<(u64, Arc<Seen>)> {
        let found = self.answers.iter().position(|(_, seen)| {
            seen.message().and_then(Message::id).and_then(Value::as_u64) == Some(id)
        })?;
        self.answers.remove(found)
    }
}

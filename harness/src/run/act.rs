//! Carries out the tasks of a case: each task sends something, waits for something, or does both.

use std::sync::Arc;

use crate::wire::json::{Value, json};

use crate::host::ScriptedEnvelope;
use crate::peer::client_folder::ClientFolder;
use crate::peer::guise::ClientGuise;
use crate::transcript::SeenFrame;
use crate::wire::frame::Frame;
use crate::wire::message::Message;

use super::case::ScenarioCase;
use super::case_peers::{CasePeer, PeerId};
use super::case_witness::FileLook;
use super::goal::{DispatchGoal, OpeningGoal, RequestGoal};
use super::mailbox::{ClientMailbox, MailboxItem};
use super::mangle;
use super::message_filter::MessageOrder;
use super::output::DriverOutput;
use super::state_claim::{MirrorClaim, TestedStateClaim};
use super::task::{RawFrame, StepTask, TaskAct};
use super::task_wait::{TaskWait, WaitProgress};

/// The method with which the harness tests whether an agent still responds. No agent implements this method, so every
/// agent has to answer with an error.
const ACP_PING: &str = "_ahp-harness/ping";
/// The maximum number of frames that one step sends.
const MAX_TIMES: u64 = 100_000;

/// The maximum nesting depth of a generated frame.
const MAX_DEPTH: usize = 10_000_000;

impl ScenarioCase {
    pub(super) fn send(&mut self, peer: PeerId, seen: SeenFrame) {
        if self.is_host(peer) {
            return self.send_as_host(Arc::new(seen));
        }
        let Some(peer) = self.clients.get_mut(peer) else {
            return;
        };
        if let Some(conn) = peer.open_conn() {
            if let Some(message) = seen.message() {
                self.created.sent(message);
            }
            self.outputs.push(DriverOutput::Send { conn, seen: Arc::new(seen) });
        }
    }

    pub(super) fn ping(&mut self, peer: PeerId) -> Option<u64> {
        // The oldest protocol version has no `ping`. `listSessions` is used instead, because it has no side effects.
        let has_ping = self.protocol().is_none_or(|it| it.method("ping").is_some());
        let method = match has_ping {
            _ if self.is_acp() => ACP_PING,
            true => "ping",
            false => "listSessions",
        };
        let (id, message) = self.clients.engine(peer)?.request(method, json!({}));
        self.send(peer, SeenFrame::of(message));
        Some(id)
    }

    /// Answers a request of the host from the folder that the client serves.
    pub(super) fn answer_from_folder(&mut self, id: PeerId, message: &Message) {
        let Some(peer) = self.clients.get_mut(id) else {
            return;
        };
        let answer = peer.answer_from_folder(message);
        self.send(id, SeenFrame::of(answer));
    }

    pub(super) fn start(&mut self, task: StepTask) -> WaitProgress {
        if !matches!(task.act, TaskAct::Await { .. } | TaskAct::Watch { .. }) {
            self.clients.arrive();
        }
        match task.act {
            TaskAct::Connect(peer) => self.connect(peer, OpeningGoal::Stands),
            TaskAct::Come { peer, credentials, origin, want } => {
                let origin = origin.map(|origin| text_of(&self.names.fill(&origin)));
                if let Some(peer) = self.clients.get_mut(peer) {
                    peer.come_as(ClientGuise { credentials, origin });
                }
                self.connect(peer, want)
            }
            TaskAct::Request { peer, method, params, want, exact, keep } => {
                let params = self.names.fill(&params);
                if matches!(want, RequestGoal::Error(_) | RequestGoal::Refused(_)) {
                    self.expects_refused_request(task.step, peer, &method);
                }
                self.created.asked(&method, &params);
                let Some(engine) = self.clients.engine(peer) else {
                    return WaitProgress::Done;
                };
                let (id, message) = engine.request(&method, params);
                self.send(peer, SeenFrame::of(message));
                WaitProgress::Wait(TaskWait::Response { peer, id, want, exact, keep })
            }
            TaskAct::DefaultChat { peer, session, bind } => {
                let session = self.names.fill(&session);
                WaitProgress::Wait(TaskWait::DefaultChat { peer, session, bind })
            }
            TaskAct::Reconnect { peer, subscriptions, last_seen, want, keep } => {
                let subscriptions = subscriptions.map(|template| self.names.fill(&template));
                let last_seen = last_seen.map(|template| self.names.fill(&template));
                if matches!(want, RequestGoal::Error(_) | RequestGoal::Refused(_)) {
                    self.expects_refused_request(task.step, peer, "reconnect");
                }
                let Some(engine) = self.clients.engine(peer) else {
                    return WaitProgress::Done;
                };
                let (id, message) = engine.reconnect(subscriptions, last_seen);
                self.send(peer, SeenFrame::of(message));
                WaitProgress::Wait(TaskWait::Response { peer, id, want, exact: false, keep })
            }
            TaskAct::Ask { peer, method, params, bind } => self.ask(peer, &method, &params, bind),
            TaskAct::Offer { peer, offers } => {
                if let Some(peer) = self.clients.get_mut(peer) {
                    peer.served.offer(offers);
                }
                WaitProgress::Done
            }
            TaskAct::Permit { peer, answer } => {
                WaitProgress::Wait(TaskWait::Permission { peer, answer })
            }
            TaskAct::Look { path, text, waits } => {
                let until = waits.then(|| self.now() + self.limit(task.step));
                self.look(FileLook { path, text, until })
            }
            TaskAct::Wait(mut wait) => {
                wait.begin(self, task.step);
                WaitProgress::Wait(TaskWait::Own(wait))
            }
            TaskAct::CallState { peer, id, state } => {
                let id = self.names.fill(&id);
                self.call_state(task.step, peer, &id, &state)
            }
            TaskAct::Notify { peer, method, params } => {
                let params = self.names.fill(&params);
                if let Some(engine) = self.clients.engine(peer) {
                    let message = engine.notification(&method, params);
                    self.send(peer, SeenFrame::of(message));
                }
                WaitProgress::Done
            }
            TaskAct::Dispatch { peer, channel, action, seq, settle, bind } => {
                let channel = self.names.fill(&channel);
                let action = self.names.fill(&action);
                let seq = seq.and_then(|template| self.names.fill(&template).as_u64());
                if settle.as_ref().is_some_and(DispatchGoal::is_refusal) {
                    let name = action["type"].as_str().unwrap_or_default().to_owned();
                    self.expects_refused_action(task.step, &name);
                }
                self.dispatch(peer, &channel, action, seq, settle, bind)
            }
            TaskAct::Await { peer, mut filter, channel, mode } => {
                filter.channel = channel.map(|template| self.names.fill(&template));
                if let Some((side, name)) = filter.beside.as_deref() {
                    let response = self.log.response(peer, name);
                    filter.order = response.map(|response| MessageOrder { side: *side, response });
                }
                WaitProgress::Wait(TaskWait::Message { peer, filter, mode, looked: 0 })
            }
            TaskAct::Watch { peer, mut filter, channel } => {
                filter.channel = channel.map(|template| self.names.fill(&template));
                self.watches.add(task.step, peer, filter);
                let mailbox = self.clients.get(peer).map(|peer| &peer.mailbox);
                let behind = mailbox.into_iter().flat_map(ClientMailbox::behind);
                let come: Vec<MailboxItem> = behind.cloned().collect();
                for item in come {
                    if let Some(message) = item.seen().message()
                        && let Some(failure) = self.watched(peer, item.line, message)
                    {
                        return WaitProgress::Failed(failure);
                    }
                }
                WaitProgress::Done
            }
            TaskAct::Barrier { peer, channel } => {
                let channel = channel.map(|template| self.names.fill(&template));
                let barrier = self.begin_barrier(peer, channel.as_ref(), None);
                WaitProgress::Wait(TaskWait::Barrier(barrier))
            }
            TaskAct::Mirror { peer, channel, state, exact } => {
                let channel = self.names.fill(&channel);
                self.mirror(task.step, MirrorClaim { peer, channel, state, exact }, false)
            }
            TaskAct::Send { peer, frame: RawFrame::Flood(bytes), .. } => {
                if let Some(conn) = self.clients.get(peer).and_then(CasePeer::conn) {
                    self.outputs.push(DriverOutput::Flood { conn, bytes });
                }
                WaitProgress::Done
            }
            TaskAct::Send { peer, frame, times } => {
                for count in 0..times.min(MAX_TIMES) {
                    if times > 1 {
                        self.names.set("count", json!(count));
                    }
                    self.names.number_frame();
                    let seen = SeenFrame::new(self.raw(&frame));
                    if let Some((engine, message)) = self.clients.engine(peer).zip(seen.message()) {
                        engine.sent(message);
                    }
                    self.send(peer, seen);
                }
                WaitProgress::Done
            }
            TaskAct::Hold { peer, paused } => {
                if let Some(conn) = self.clients.get(peer).and_then(CasePeer::conn) {
                    self.outputs.push(DriverOutput::Hold { conn, paused });
                }
                WaitProgress::Done
            }
            TaskAct::Serve { peer, folder, files, withheld, writable } => {
                let (folder, files) = (text_of(&self.names.fill(&folder)), self.names.fill(&files));
                if let Some(peer) = self.clients.get_mut(peer) {
                    peer.serve_folder(ClientFolder::new(&folder, &files, writable), withheld);
                }
                WaitProgress::Done
            }
            TaskAct::Asked { peer, method, id, params } => {
                WaitProgress::Wait(TaskWait::Asked { peer, method, id, params })
            }
            TaskAct::Answer { peer, id, want, silent: true, .. } => match self.ping(peer) {
                Some(ping) => WaitProgress::Wait(TaskWait::NoAnswer { peer, id, ping, want }),
                None => WaitProgress::Done,
            },
            TaskAct::Answer { peer, id, want, keep, .. } => {
                let want = want.unwrap_or(RequestGoal::Anything);
                WaitProgress::Wait(TaskWait::Answer { peer, id, want, keep })
            }
            TaskAct::Hang { peer, graceful } => {
                if self.is_host(peer) {
                    self.cut_tested(graceful);
                    // The messages of the ended connection are dropped, because later steps look only at messages of
                    // the next connection.
                    if let Some(host) = self.clients.get_mut(peer) {
                        host.forget_messages();
                    }
                } else if let Some(peer) = self.clients.get_mut(peer)
                    && let Some(conn) = peer.conn()
                {
                    self.outputs.push(DriverOutput::Close { conn, graceful });
                    peer.disconnect();
                }
                WaitProgress::Done
            }
            TaskAct::AwaitClosed(peer) => WaitProgress::Wait(TaskWait::Closed(peer)),
            TaskAct::Restart { crash } => {
                self.outputs.push(DriverOutput::Restart { crash });
                WaitProgress::Wait(TaskWait::Restarted)
            }
            TaskAct::Release(hold) => {
                self.outputs.push(DriverOutput::Release(hold));
                WaitProgress::Done
            }
            TaskAct::Rest => WaitProgress::Wait(TaskWait::Rested),
            TaskAct::Drive { command, members, want, bind } => {
                self.drive(&command, members.as_ref(), want, bind)
            }
            TaskAct::AwaitDriver { id, want, bind } => {
                self.await_driver(task.step, &id, want, bind)
            }
            TaskAct::TestedState { channel, claim } => {
                let channel = text_of(&self.names.fill(&channel));
                let until = self.now() + self.limit(task.step);
                self.ask_state(TestedStateClaim { channel, ..claim }, until)
            }
            TaskAct::Respond { rule, value } => {
                let value = value.map(|value| self.names.fill(&value));
                self.respond(rule, value);
                WaitProgress::Done
            }
            TaskAct::Publish { channel, action, origin, rejected, members } => {
                let scripted = ScriptedEnvelope {
                    channel: text_of(&self.names.fill(&channel)),
                    action: self.names.fill(&action),
                    origin: origin.map(|origin| self.names.fill(&origin)),
                    rejected,
                    members: members.map(|members| self.names.fill(&members)).unwrap_or_default(),
                };
                self.outputs.push(DriverOutput::Publish(scripted));
                WaitProgress::Wait(TaskWait::Published)
            }
            TaskAct::Refuse { times, status } => {
                self.refuse(times, status);
                WaitProgress::Done
            }
        }
    }

    pub(super) fn connect(&mut self, id: PeerId, want: OpeningGoal) -> WaitProgress {
        let conn = self.clients.new_conn();
        if let Some(peer) = self.clients.get_mut(id) {
            // A peer has at most one connection at a time, so the peer's name is unambiguous in the transcript.
            if let Some(old) = peer.open_conn() {
                self.outputs.push(DriverOutput::Close { conn: old, graceful: true });
                peer.disconnect();
            }
            self.outputs.push(peer.connect(conn));
        }
        WaitProgress::Wait(TaskWait::Connected(id, want))
    }

    pub(super) fn dispatch(
        &mut self,
        peer: PeerId,
        channel: &Value,
        action: Value,
        seq: Option<u64>,
        settle: Option<DispatchGoal>,
        bind: Option<String>,
    ) -> WaitProgress {
        let Some(engine) = self.clients.engine(peer) else {
            return WaitProgress::Done;
        };
        let (seq, message) = engine.dispatch(channel.as_str().unwrap_or_default(), action, seq);
        self.send(peer, SeenFrame::of(message));
        if let Some(name) = bind {
            self.names.set(&name, json!(seq));
        }
        match settle {
            None => WaitProgress::Done,
            Some(settle @ (DispatchGoal::Accept(_) | DispatchGoal::Reject(_))) => {
                WaitProgress::Wait(TaskWait::Settled { peer, seq, settle, looked: 0 })
            }
            Some(settle) => {
                let barrier = self.begin_barrier(peer, Some(channel), Some((seq, settle)));
                WaitProgress::Wait(TaskWait::Barrier(barrier))
            }
        }
    }

    pub(super) fn raw(&mut self, frame: &RawFrame) -> Frame {
        match frame {
            RawFrame::Text(template) => Frame::Text(text_of(&self.names.fill(template))),
            RawFrame::Json(template) => {
                let value = self.names.fill(template);
                if let Some(method) = value["method"].as_str() {
                    self.created.asked(method, &value["params"]);
                }
                let message = Message::new(value);
                Frame::json(self.edge().lower_message(message).value())
            }
            RawFrame::Binary(template) => {
                Frame::Binary(text_of(&self.names.fill(template)).into_bytes())
            }
            RawFrame::Padded(size) | RawFrame::Flood(size) => padded(*size),
            RawFrame::Nested(depth) => {
                let depth = usize::try_from(*depth).unwrap_or(usize::MAX).min(MAX_DEPTH);
                Frame::Text(ping(&["[".repeat(depth), "]".repeat(depth)].concat()))
            }
            RawFrame::Mangled(template) => {
                let value = self.names.fill(template);
                mangle::mangled(&value, &mut || self.names.number())
            }
        }
    }
}

/// Returns a well-formed `ping` of `size` bytes.
pub fn padded(size: u64) -> Frame {
    let bare = ping("\"\"").len() as u64;
    let pad = usize::try_from(size.saturating_sub(bare)).unwrap_or_default();
    Frame::Text(ping(&["\"", &"x".repeat(pad), "\""].concat()))
}

/// Returns a well-formed `ping` with `extra` inserted into its `_meta`.
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

//! What the agent asks of its client, and what it makes of the answers.
//!
//! A permission is given only by one of the options that allow: whatever else comes back, an error or an
//! option that was not offered, does not let the tool run.
//!
//! Knows: calls. Never knows: scripts.
//!
//! Start at [`AcpAgent::ask`].

use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::call::{OPTIONS, class};
use super::effect::{AgentEffect, EffectResult};
use super::fault::Fault;
use super::turn::{AgentTurn, TurnOp, TurnWait};
use super::{AcpAgent, MAX_ASKED};

/// Bytes of a terminal's output that the client keeps.
const OUTPUT_BYTES: u64 = 1 << 20;

/// What the client can do, as it says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientCapabilities {
    read: bool,
    write: bool,
    terminal: bool,
    /// It shows boolean options.
    pub(super) booleans: bool,
}

impl ClientCapabilities {
    pub(super) fn read(params: &Value) -> ClientCapabilities {
        let flag = |pointer| params.pointer(pointer).and_then(Value::as_bool) == Some(true);
        ClientCapabilities {
            read: flag("/fs/readTextFile"),
            write: flag("/fs/writeTextFile"),
            terminal: flag("/terminal"),
            booleans: params
                .pointer("/session/configOptions/boolean")
                .is_some_and(|it| !it.is_null()),
        }
    }
}

/// What a request is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum RequestPurpose {
    /// Whether a call may run.
    Permission,
    /// The text of a file.
    Read,
    /// The text of a file in which something is to be replaced.
    ReadToEdit { path: String, old: String, new: String },
    /// A file was written.
    Write,
    /// A terminal to run in.
    Terminal,
    /// The end of what runs in a terminal.
    Exit,
    /// What was printed there, and whether it succeeded.
    Printed(bool),
    /// Nothing hangs on the answer.
    Nothing,
}

/// An open request.
#[derive(Clone, Debug)]
pub(super) struct ClientRequest {
    id: u64,
    session: String,
    call: usize,
    purpose: RequestPurpose,
}

/// Where a call stands.
#[derive(Clone, Copy)]
pub(super) struct CallPlace<'a> {
    /// Its session.
    pub(super) session: &'a str,
    /// The track that carries it out.
    pub(super) track: usize,
    /// Its place among the calls of the turn.
    pub(super) call: usize,
}

impl AcpAgent {
    /// Asks the client, for a call of a turn; the track waits for the answer.
    pub(super) fn ask(
        &mut self,
        turn: &mut AgentTurn,
        at: CallPlace<'_>,
        purpose: RequestPurpose,
        method: &str,
        params: Value,
    ) {
        if self.asked.len() >= MAX_ASKED {
            return turn.result_of(at.track, EffectResult::badly("the client answers nothing"));
        }
        let id = self.fresh();
        turn.open += 1;
        turn.hold_up(at.track, TurnWait::Answer(id));
        let session = at.session.to_owned();
        self.asked.insert(id, ClientRequest { id, session, call: at.call, purpose });
        self.send(Message::request(id, method, params));
    }

    /// Has the client do what a call does. Returns whether it can.
    pub(super) fn delegate(
        &mut self,
        turn: &mut AgentTurn,
        at: CallPlace<'_>,
        effect: &AgentEffect,
    ) -> bool {
        let (read, write) = match self.has(Fault::FilesUngated) {
            true => (true, true),
            false => (self.client.read, self.client.write),
        };
        let terminal = self.client.terminal || self.has(Fault::TerminalsUngated);
        let (purpose, method, more) = match effect {
            AgentEffect::Shell { command, cwd } if terminal => {
                let command = if self.has(Fault::RunsNothing) { "true" } else { command.as_str() };
                let more = json!({
                    "command": "sh", "args": ["-c", command], "cwd": cwd, "env": [],
                    "outputByteLimit": OUTPUT_BYTES,
                });
                (RequestPurpose::Terminal, "terminal/create", more)
            }
            AgentEffect::Read { path } if read => {
                (RequestPurpose::Read, "fs/read_text_file", json!({"path": path}))
            }
            AgentEffect::Write { path, text } if write => {
                let text = if self.has(Fault::WritesNothing) { "" } else { text.as_str() };
                (
                    RequestPurpose::Write,
                    "fs/write_text_file",
                    json!({"path": path, "content": text}),
                )
            }
            AgentEffect::Edit { path, old, new } if read && write => {
                let [path, old, new] = [path, old, new].map(String::clone);
                let params = json!({"path": path});
                (RequestPurpose::ReadToEdit { path, old, new }, "fs/read_text_file", params)
            }
            _ => return false,
        };
        let mut params = more;
        params["sessionId"] = json!((at.session));
        self.ask(turn, at, purpose, method, params);
        true
    }

    /// The client has answered.
    pub(super) fn answered(&mut self, asked: ClientRequest, message: &Message) {
        let now = self.now;
        self.with_turn(&asked.session, |agent, turn| {
            if let Some(index) =
                turn.waiting(&TurnWait::Answer(asked.id)).filter(|_| turn.cancelled.is_none())
            {
                turn.wake(index, now);
                agent.make_of(&asked, turn, index, message);
            }
            agent.heard(turn)
        });
    }

    fn make_of(
        &mut self,
        asked: &ClientRequest,
        turn: &mut AgentTurn,
        index: usize,
        message: &Message,
    ) {
        let at = CallPlace { session: &asked.session, track: index, call: asked.call };
        let session = at.session;
        let result = match message.result() {
            _ if asked.purpose == RequestPurpose::Permission => {
                message.result().unwrap_or(&Value::Null)
            }
            Some(result) => result,
            None => {
                let why = message.error().and_then(|error| error["message"].as_str());
                let why = why.unwrap_or("the client refused").to_owned();
                return turn.result_of(index, EffectResult::badly(why));
            }
        };
        let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
        match &asked.purpose {
            RequestPurpose::Permission => self.decided(turn, at, result),
            RequestPurpose::Read => turn.result_of(index, EffectResult::well(text("content"))),
            RequestPurpose::Write => turn.result_of(index, EffectResult::well("written")),
            RequestPurpose::ReadToEdit { path, old, new } => {
                let content = text("content");
                if !content.contains(old.as_str()) {
                    return turn
                        .result_of(index, EffectResult::badly("the file does not hold the text"));
                }
                let params = json!({
                    "sessionId": session, "path": path, "content": (content.replacen(old.as_str(), new, 1)),
                });
                self.ask(turn, at, RequestPurpose::Write, "fs/write_text_file", params);
            }
            RequestPurpose::Terminal => {
                let terminal = text("terminalId");
                let content = json!([{"type": "terminal", "terminalId": terminal}]);
                let Some(call) = turn.calls.get_mut(at.call) else {
                    return;
                };
                let update = json!({
                    "sessionUpdate": "tool_call_update", "toolCallId": (call.id.as_str()), "content": content,
                });
                let params = json!({"sessionId": session, "terminalId": terminal});
                call.terminal = Some(terminal);
                if !self.has(Fault::EmbedsLate) {
                    self.update(session, update);
                }
                self.ask(turn, at, RequestPurpose::Exit, "terminal/wait_for_exit", params);
            }
            RequestPurpose::Exit => {
                let purpose = RequestPurpose::Printed(result["exitCode"].as_u64() == Some(0));
                let params = terminal_of(turn, at);
                self.ask(turn, at, purpose, "terminal/output", params);
            }
            RequestPurpose::Printed(ok) => {
                turn.result_of(
                    index,
                    EffectResult { ok: *ok, text: text("output"), blocks: Vec::new() },
                );
                let params = terminal_of(turn, at);
                if self.has(Fault::NeverReleases) {
                    // Something else is asked, so that the track goes on as it does otherwise.
                    self.ask(turn, at, RequestPurpose::Nothing, "terminal/output", params);
                    return;
                }
                let again = self.has(Fault::EmbedsAgain).then(|| turn.calls.get(at.call)).flatten();
                let id = again.map(|call| call.id.clone());
                let shows = |content: Value| {
                    json!({
                        "sessionUpdate": "tool_call_update", "toolCallId": (id.clone()), "content": content,
                    })
                };
                if id.is_some() {
                    self.update(at.session, shows(json!([])));
                }
                let shown =
                    json!([{"type": "terminal", "terminalId": (params["terminalId"].clone())}]);
                self.ask(turn, at, RequestPurpose::Nothing, "terminal/release", params);
                if id.is_some() {
                    self.update(at.session, shows(shown));
                }
            }
            RequestPurpose::Nothing => {}
        }
    }

    fn decided(&mut self, turn: &mut AgentTurn, at: CallPlace<'_>, result: &Value) {
        let chosen = result.pointer("/outcome/optionId").and_then(Value::as_str);
        let chosen = chosen.filter(|_| result["outcome"]["outcome"] == "selected");
        let kind = OPTIONS.iter().find(|(id, ..)| Some(*id) == chosen).map(|(.., kind)| *kind);
        let allowed = kind.is_some_and(|kind| kind.starts_with("allow"));
        let allowed = allowed || self.has(Fault::RunsDenied);
        let forgets = self.has(Fault::Forgets);
        if !allowed && self.has(Fault::HangsWhenRejected) {
            turn.hold_up(at.track, TurnWait::Forever);
        }
        let Some(call) = turn.calls.get_mut(at.call) else {
            return;
        };
        call.allowed = Some(allowed);
        if kind.is_some_and(|kind| kind.ends_with("always"))
            && !forgets
            && let Some(session) = self.sessions.get_mut(at.session)
        {
            session.remembered.insert(class(&call.step.class), allowed);
        }
    }
}

fn terminal_of(turn: &AgentTurn, at: CallPlace<'_>) -> Value {
    let terminal = turn.calls.get(at.call).and_then(|call| call.terminal.as_deref());
    json!({"sessionId": (at.session), "terminalId": (terminal.unwrap_or_default())})
}

impl AgentTurn {
    /// Keeps how the call ended that a track is at.
    pub(super) fn result_of(&mut self, index: usize, ran: EffectResult) {
        let ops = self.tracks.get(index).map(|track| &track.ops);
        let at = ops.and_then(|ops| match ops.front() {
            Some(TurnOp::End(at)) => Some(*at),
            _ => None,
        });
        if let Some(call) = at.and_then(|at| self.calls.get_mut(at)) {
            call.ran = Some(ran);
        }
    }
}

//! Requests of the agent to its client, and the handling of the responses.
//!
//! The user gives permission only by selecting an offered option that allows the call. After any other
//! response, such as an error or an unknown option, the tool does not run.
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

/// The output limit of a client's terminal in bytes.
const OUTPUT_BYTES: u64 = 1 << 20;

/// The capabilities that the client has announced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientCapabilities {
    read: bool,
    write: bool,
    terminal: bool,
    /// Whether the client shows boolean options.
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

/// The purpose of a request to the client: what the agent expects as the response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum RequestPurpose {
    /// Permission to run a call.
    Permission,
    /// The text of a file.
    Read,
    /// The text of a file, for a replacement in it.
    ReadToEdit { path: String, old: String, new: String },
    /// The confirmation that the client has written a file.
    Write,
    /// The id of a new terminal, in which a command runs.
    Terminal,
    /// The exit of the process in a terminal.
    Exit,
    /// The output of a terminal, and whether its process succeeded.
    Printed(bool),
    /// Nothing: the agent ignores the response.
    Nothing,
}

/// An open request to the client.
#[derive(Clone, Debug)]
pub(super) struct ClientRequest {
    id: u64,
    session: String,
    call: usize,
    purpose: RequestPurpose,
}

/// The place of a tool call: its session, its track and its index.
#[derive(Clone, Copy)]
pub(super) struct CallPlace<'a> {
    /// The id of the call's session.
    pub(super) session: &'a str,
    /// The index of the track that executes the call.
    pub(super) track: usize,
    /// The index of the call among the calls of the turn.
    pub(super) call: usize,
}

impl AcpAgent {
    /// Sends the client a request that a tool call of the turn needs. The track waits for the response.
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

    /// Lets the client perform the effect of a call. Returns `false` if the client lacks the capability.
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

    /// Handles a response of the client.
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
                    return turn.result_of(
                        index,
                        EffectResult::badly("the file does not contain the text"),
                    );
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
                    // The track waits for the response to this second request, so the turn continues as usual.
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
    /// Stores the result of the call that a track executes.
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

//! Agents that answer requests but do no work. They are used to find scenarios that pass too easily.
//!
//! Each agent negotiates version 1 and creates sessions. It reads and writes no files, runs no tools and calls no
//! model.
//!
//! Knows: the messages of ACP. Never knows: scripts, files, the reference agent.
//!
//! Start at [`LyingAgent`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

use super::{HostOutput, SansIoHost};

/// The way in which an agent only pretends to work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LyingAgentBehaviour {
    /// Sends nothing after a session was created.
    MuteAfterSession,
    /// Answers everything after the creation of a session with an error.
    RefuseEverything,
    /// Answers each prompt with `end_turn` at once, and every other request with an empty result.
    EndTurns,
    /// Answers each prompt with `cancelled` at once, and every other request with an empty result.
    CancelTurns,
    /// In each turn, reports a completed tool call, although no tool ran.
    InventCalls,
    /// In each turn, asks for permission for a tool call, and reports the call as completed even if permission is
    /// denied.
    IgnoreAnswers,
}

impl LyingAgentBehaviour {
    /// All behaviours.
    pub const ALL: &'static [LyingAgentBehaviour] = &[
        LyingAgentBehaviour::MuteAfterSession,
        LyingAgentBehaviour::RefuseEverything,
        LyingAgentBehaviour::EndTurns,
        LyingAgentBehaviour::CancelTurns,
        LyingAgentBehaviour::InventCalls,
        LyingAgentBehaviour::IgnoreAnswers,
    ];
}

/// An agent that only pretends to work.
#[derive(Debug)]
pub struct LyingAgent {
    kind: LyingAgentBehaviour,
    outputs: VecDeque<HostOutput>,
    /// The number of sessions, calls and requests so far, which makes ids unique.
    count: u64,
    /// The prompts that wait for an answer about permission, by connection and id of the request: the id of the
    /// prompt, its session and its call.
    asking: HashMap<(ConnId, String), (Value, Value, String)>,
}

impl LyingAgent {
    /// Creates an agent with this behaviour.
    pub fn new(kind: LyingAgentBehaviour) -> LyingAgent {
        LyingAgent { kind, outputs: VecDeque::new(), count: 0, asking: HashMap::new() }
    }

    fn send(&mut self, conn: ConnId, message: &Value) {
        self.outputs.push_back(HostOutput::Send { conn, frame: Frame::json(message) });
    }

    fn answer(&mut self, conn: ConnId, id: &Value, result: Value) {
        self.send(conn, &json!({"jsonrpc": "2.0", "id": (id.clone()), "result": (result)}));
    }

    fn report(&mut self, conn: ConnId, session: &Value, update: Value) {
        let params = json!({"sessionId": (session.clone()), "update": (update)});
        self.send(conn, &json!({"jsonrpc": "2.0", "method": "session/update", "params": (params)}));
    }

    /// Returns a new id with this prefix.
    fn new_id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}-{}", self.count)
    }

    /// Ends a turn with a message.
    fn end(&mut self, conn: ConnId, prompt: &Value, session: &Value) {
        let text = json!({"type": "text", "text": "Done."});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": (text)});
        self.report(conn, session, update);
        self.answer(conn, prompt, json!({"stopReason": "end_turn"}));
    }

    /// Reports a call as in progress and then as completed, although no tool ran.
    fn invent(&mut self, conn: ConnId, session: &Value, call: &str) {
        for status in ["in_progress", "completed"] {
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": (call), "status": (status)});
            self.report(conn, session, update);
        }
    }

    fn prompted(&mut self, conn: ConnId, id: &Value, session: &Value) {
        match self.kind {
            LyingAgentBehaviour::MuteAfterSession => {}
            LyingAgentBehaviour::RefuseEverything => self.refuse(conn, id),
            LyingAgentBehaviour::EndTurns => self.end(conn, id, session),
            LyingAgentBehaviour::CancelTurns => {
                self.answer(conn, id, json!({"stopReason": "cancelled"}));
            }
            LyingAgentBehaviour::InventCalls | LyingAgentBehaviour::IgnoreAnswers => {
                let call = self.new_id("call");
                let update = json!({
                    "sessionUpdate": "tool_call", "toolCallId": (call.as_str()), "title": "A tool",
                    "kind": "execute", "status": "pending",
                });
                self.report(conn, session, update);
                if self.kind == LyingAgentBehaviour::InventCalls {
                    self.invent(conn, session, &call);
                    return self.end(conn, id, session);
                }
                let own = self.new_id("request");
                let options = json!([
                    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                    {"optionId": "no", "name": "No", "kind": "reject_once"},
                ]);
                let params = json!({
                    "sessionId": (session.clone()), "toolCall": {"toolCallId": (call.as_str())},
                    "options": (options),
                });
                let request = json!({
                    "jsonrpc": "2.0", "id": (own.as_str()), "method": "session/request_permission",
                    "params": (params),
                });
                self.asking.insert((conn, own), (id.clone(), session.clone(), call));
                self.send(conn, &request);
            }
        }
    }

    fn refuse(&mut self, conn: ConnId, id: &Value) {
        let error = json!({"code": -32603, "message": "no"});
        self.send(conn, &json!({"jsonrpc": "2.0", "id": (id.clone()), "error": (error)}));
    }

    fn requested(&mut self, conn: ConnId, message: &Message) {
        let Some(id) = message.id() else { return };
        let session = &message.params()["sessionId"];
        match (message.method().unwrap_or_default(), self.kind) {
            ("initialize", _) => {
                let capabilities = json!({
                    "loadSession": true,
                    "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
                    "mcpCapabilities": {"http": true, "sse": true},
                    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
                });
                self.answer(
                    conn,
                    id,
                    json!({"protocolVersion": 1, "agentCapabilities": (capabilities), "authMethods": []}),
                );
            }
            ("session/new", _) => {
                let session = self.new_id("session");
                self.answer(conn, id, json!({"sessionId": (session)}));
            }
            ("session/prompt", _) => self.prompted(conn, id, session),
            (_, LyingAgentBehaviour::MuteAfterSession) => {}
            (_, LyingAgentBehaviour::RefuseEverything) => self.refuse(conn, id),
            _ => self.answer(conn, id, json!({})),
        }
    }
}

impl SansIoHost for LyingAgent {
    fn handle_open(&mut self, _now: Duration, _conn: ConnId) {}

    fn handle_frame(&mut self, _now: Duration, conn: ConnId, frame: &Frame) {
        let DecodedFrame::Message(message) = decode(frame) else { return };
        if message.kind() == MessageKind::Request {
            return self.requested(conn, &message);
        }
        let answered = message.id().filter(|_| message.method().is_none());
        let key = answered.and_then(Value::as_str).map(|id| (conn, id.to_owned()));
        if let Some((prompt, session, call)) = key.and_then(|key| self.asking.remove(&key)) {
            self.invent(conn, &session, &call);
            self.end(conn, &prompt, &session);
        }
    }

    fn handle_close(&mut self, _now: Duration, conn: ConnId) {
        self.asking.retain(|(of, _), _| *of != conn);
    }

    fn handle_timeout(&mut self, _now: Duration) {}

    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    fn restart(&mut self, _now: Duration) {
        self.outputs.clear();
        self.asking.clear();
    }
}

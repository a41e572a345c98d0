//! The always-on checks of a conversation between a client and an agent, by the Agent Client Protocol.
//!
//! [`AgentFold`] reads the entries of a transcript and keeps the [`state`] that the checks need: connections,
//! sessions, calls, terminals. Each family of checks has a file: [`wire`] for messages, [`calls`] for reports
//! of tool calls, [`asking`] for permissions, [`turns`] for prompts and cancels, [`sessions`] for session ids,
//! [`gates`] for capabilities, [`offered`] for the modes, options and commands of sessions.
//!
//! The checks read raw JSON, because typed readers of the protocol silently drop malformed members.
//!
//! Knows: the tables of ACP. Never knows: scenarios, expected results, processes.
//!
//! Start at [`AgentFold::observe`].

mod asking;
mod calls;
mod catalogue;
mod gates;
mod offered;
mod sessions;
mod state;
mod turns;
mod wire;

use std::time::Duration;

use litemap::LiteMap;

use crate::transcript::{
    BelowEvent, ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry,
};
use crate::wire::json::Value;
use crate::wire::message::{DecodedFrame, Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

pub(super) use catalogue::CHECKS;

use super::check::FindingSink;
use catalogue::Rule;
use state::{AgentLinkState, EntryPosition, OpenAgentRequest};

/// Upper bound for the connections that are followed.
const MAX_CONNS: usize = 1_000;

/// The state of the checks while they read one transcript.
pub(super) struct AgentFold {
    table: &'static Protocol,
    deadline: Duration,
    conns: LiteMap<ConnId, AgentLinkState>,
    now: EntryPosition,
    /// Whether the transcript has a record of the model stand-in (the program of the harness that answers the agent's
    /// requests to a language model) or of a tool of the harness. These records show which calls really ran.
    witnessed: bool,
    /// Whether the client sends malformed messages on purpose.
    odd_client: bool,
}

impl AgentFold {
    /// Creates the state before the first entry.
    pub(super) fn new(deadline: Duration, odd_client: bool) -> AgentFold {
        AgentFold {
            odd_client,
            table: Protocol::acp(),
            deadline,
            conns: LiteMap::new(),
            now: EntryPosition::default(),
            witnessed: false,
        }
    }

    /// Reads the next entry of the transcript.
    pub(super) fn observe(&mut self, entry: &TranscriptEntry, out: &mut FindingSink) {
        self.now = EntryPosition { conn: entry.conn, line: entry.line, at: entry.at };
        out.counts(self.here().is_some_and(|conn| conn.shook));
        match &entry.event {
            ConnectionEvent::Open { .. } if self.conns.len() < MAX_CONNS => {
                self.conns.insert(
                    entry.conn,
                    AgentLinkState { whole: true, ..AgentLinkState::default() },
                );
            }
            ConnectionEvent::Sent(seen) => self.sent(seen, out),
            ConnectionEvent::Received(seen) => self.received(seen, out),
            ConnectionEvent::Closed { by, .. } => self.closed(entry.conn, *by, out),
            ConnectionEvent::Below { way: BelowEvent::Model, seen } => self.model(seen, out),
            ConnectionEvent::Below { way: BelowEvent::Tool, seen } => self.tool(seen, out),
            _ => {}
        }
    }

    /// Closes every connection, and judges what can be judged only at the end.
    pub(super) fn finish(mut self, out: &mut FindingSink) {
        let conns: Vec<ConnId> = self.conns.keys().copied().collect();
        for conn in conns {
            out.counts(self.conns.get(&conn).is_some_and(|conn| conn.shook));
            self.closed(conn, ClosingSide::Client, out);
        }
    }

    fn here(&self) -> Option<&AgentLinkState> {
        self.conns.get(&self.now.conn)
    }

    /// Returns the state of this entry's connection, and creates the state if the capture does not show the
    /// opening. Returns `None` if [`MAX_CONNS`] is reached.
    fn conn(&mut self) -> Option<&mut AgentLinkState> {
        let id = self.now.conn;
        if self.conns.get(&id).is_none() && self.conns.len() < MAX_CONNS {
            self.conns.insert(id, AgentLinkState::default());
        }
        self.conns.get_mut(&id)
    }

    /// Returns whether this entry's connection negotiated another version of the protocol.
    fn is_other(&self) -> bool {
        self.here().is_some_and(|conn| conn.other)
    }

    fn sent(&mut self, seen: &SeenFrame, out: &mut FindingSink) {
        let Some(message) = seen.message().filter(|_| !self.is_other()) else { return };
        if !self.odd_client {
            self.harness(self.table, message, out);
        }
        let (now, params) = (self.now, message.params());
        match message.kind() {
            MessageKind::Request => {
                let method = message.method().unwrap_or_default();
                let Some(conn) = self.conn() else { return };
                let asked = OpenAgentRequest::new(method, params, now);
                conn.ask(message.id(), asked);
                match method {
                    "initialize" => {
                        conn.whole = true;
                        conn.offers(&params["clientCapabilities"]);
                    }
                    // Updates of the session may arrive before the answer to this request.
                    "session/load" | "session/resume" => {
                        conn.make_session(params["sessionId"].as_str().unwrap_or_default());
                    }
                    "session/prompt" => self.prompted(message),
                    // Both methods cancel the session's turn.
                    "session/close" | "session/delete" => self.cancel(params),
                    _ => {}
                }
            }
            MessageKind::Notification => match message.method() {
                Some("session/cancel") => self.cancel(params),
                Some("$/cancel_request") => self.cancel_request(&params["requestId"]),
                _ => {}
            },
            MessageKind::Success | MessageKind::Failure => {
                let conn = self.conn();
                let asked = conn.and_then(|conn| conn.theirs.remove(&key(message.id())));
                match asked {
                    Some(asked) if asked.method == "session/request_permission" => {
                        self.decided(&asked, message, out);
                    }
                    Some(asked) if asked.method == "terminal/create" => {
                        self.terminal_made(&asked, message);
                    }
                    _ => {}
                }
            }
            MessageKind::Malformed => {}
        }
    }

    fn received(&mut self, seen: &SeenFrame, out: &mut FindingSink) {
        let message = match &seen.decoded {
            DecodedFrame::Message(message) => message,
            DecodedFrame::Batch(items) => {
                let message =
                    format!("expected a single message, found a batch of {}", items.len());
                return out.broken(Rule::Batches, message, &[self.now.line]);
            }
            // JSON beyond the depth limit may be a valid message, so the frame is not judged.
            DecodedFrame::Deep => return,
            DecodedFrame::Scalar(_) | DecodedFrame::Odd(_) => return self.no_message(seen, out),
        };
        out.seen(Rule::OnlyMessages);
        out.seen(Rule::Batches);
        if self.is_other() {
            return self.speaks_after_all(message, out);
        }
        let now = self.now;
        let asked = match message.kind() {
            MessageKind::Success | MessageKind::Failure => self.answered(message, out),
            _ => None,
        };
        // If the agent chose another version, its answer is not judged by the tables of version 1.
        let other = asked.as_ref().is_some_and(|asked| asked.method == "initialize")
            && message
                .result()
                .and_then(|result| result["protocolVersion"].as_u64())
                .is_some_and(|v| v != 1);
        if !other {
            let answers = asked.as_ref().map(|asked| asked.method.as_str());
            self.shape(self.table, message, answers, out);
        }
        let params = message.params();
        match (message.kind(), message.method()) {
            (MessageKind::Request, Some(method)) => {
                self.method(method, out);
                self.their_id(message, method, out);
                self.gated(method, params, out);
                self.paths_asked(method, params, out);
                self.works(method, params, out);
                let mut theirs = OpenAgentRequest::new(method, params, now);
                if method.starts_with("terminal/") && method != "terminal/create" {
                    self.terminal_named(method, params, out);
                }
                match method {
                    "session/request_permission" => self.asks(params, &mut theirs, out),
                    "terminal/release" => {
                        self.session_known(params, out);
                        self.terminal_released(params);
                    }
                    _ if method.starts_with('_') => {}
                    _ => self.session_known(params, out),
                }
                if let Some(conn) = self.conn() {
                    conn.ask_back(message.id(), theirs);
                }
            }
            (MessageKind::Notification, Some("session/update")) => {
                self.method("session/update", out);
                self.updated(params, out);
            }
            (MessageKind::Notification, Some(method)) => {
                self.method(method, out);
                if method == "$/cancel_request"
                    && let Some(conn) = self.conn()
                    && let Some(theirs) = conn.theirs.get_mut(&key(params.get("requestId")))
                {
                    theirs.withdrawn = true;
                }
            }
            (MessageKind::Success | MessageKind::Failure, _) => {
                if let Some(asked) = asked {
                    self.result(&asked, message, out);
                }
            }
            _ => {}
        }
    }

    /// Judges and records an answer of the agent, depending on the method of the request.
    fn result(&mut self, asked: &OpenAgentRequest, message: &Message, out: &mut FindingSink) {
        if message.error_code() == Some(-32601) && IMPLEMENTED.contains(&asked.method.as_str()) {
            let message =
                format!("expected `{}` to be implemented, found error -32601", asked.method);
            out.broken(Rule::Implements, message, &[asked.line, self.now.line]);
        }
        let result = message.result().unwrap_or(&Value::Null);
        match asked.method.as_str() {
            "initialize" if message.error().is_none() => self.initialized(asked, result, out),
            "session/new" | "session/fork" => {
                if let Some(id) = result["sessionId"].as_str() {
                    self.session_made(asked, id, out);
                }
                self.options_gated(result, out);
                self.session_begins(asked, result, out);
            }
            "session/load" | "session/resume" if message.error().is_none() => {
                self.options_gated(result, out);
                let rule = match asked.method.as_str() {
                    "session/load" => Rule::LoadedFirst,
                    _ => Rule::ResumedSilently,
                };
                out.seen(rule);
                self.session_begins(asked, result, out);
            }
            "session/set_config_option" => self.options_sound(result, out),
            "session/close" | "session/delete" if message.error().is_none() => {
                self.session_gone(&asked.session);
            }
            "session/prompt" => self.ended(asked, message, out),
            _ => {}
        }
        if message.error().is_none() && IMPLEMENTED.contains(&asked.method.as_str()) {
            out.seen(Rule::Implements);
        }
    }

    /// Removes a connection, and judges its open requests and resources.
    fn closed(&mut self, id: ConnId, by: ClosingSide, out: &mut FindingSink) {
        let Some(conn) = self.conns.remove(&id) else { return };
        if !conn.other {
            self.unanswered(&conn, by, out);
            self.unreleased(&conn, out);
        }
    }

    /// Returns the number of open turns of all connections.
    fn turns_open(&self) -> usize {
        let sessions = self.conns.values().flat_map(|conn| conn.sessions.values());
        sessions.filter(|session| session.turn.is_some()).count()
    }

    /// Returns the connection to which a record of the model stand-in or of a tool belongs: the connection with an open
    /// turn or, if no turn is open, the latest connection.
    fn busy(&mut self) -> Option<&mut AgentLinkState> {
        let busy =
            |conn: &AgentLinkState| conn.sessions.values().any(|session| session.turn.is_some());
        let found = self.conns.iter().find(|(_, conn)| busy(conn)).map(|(id, _)| *id);
        let id = found.or_else(|| self.conns.keys().next_back().copied())?;
        self.conns.get_mut(&id)
    }
}

/// The methods that every agent implements.
const IMPLEMENTED: [&str; 3] = ["initialize", "session/new", "session/prompt"];

/// Converts the id of a message to a key for maps. The ids `1.0` and `1` have the same key.
fn key(id: Option<&Value>) -> String {
    let whole = id.and_then(Value::as_i64).map(|number| number.to_string());
    whole.or_else(|| id.map(Value::to_text)).unwrap_or_default()
}

impl AgentFold {
    fn harness(&self, table: &'static Protocol, message: &Message, out: &mut FindingSink) {
        out.seen(Rule::Harness);
        let theirs = self.here().and_then(|conn| conn.theirs.get(&key(message.id())));
        let answers = theirs.map(|asked| asked.method.as_str());
        let errors = table.check_message(message, MessageOrigin::Client, answers);
        if let Some(error) = errors.iter().find(|error| !error.soft) {
            let message = format!("the client's message: {error}");
            out.broken(Rule::Harness, message, &[self.now.line]);
        }
    }
}

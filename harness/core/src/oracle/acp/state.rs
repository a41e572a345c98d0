//! The state of a conversation: connections with their open requests, sessions, calls, terminals.
//!
//! Every collection has an upper bound. Items beyond a bound are not followed, so an agent that never stops
//! cannot exhaust memory.
//!
//! Knows: JSON. Never knows: rules.
//!
//! Start at [`AgentLinkState`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use crate::oracle::below::longest;
use crate::oracle::members::{given, text};
use crate::transcript::ConnId;
use crate::wire::json::Value;

use super::key;

/// Upper bound for the open requests of either side that are followed.
const MAX_OPEN: usize = 1_000;
/// Upper bound for the sessions of a connection that are followed.
const MAX_SESSIONS: usize = 100;
/// Upper bound for the calls of a session that are followed.
const MAX_CALLS: usize = 5_000;
/// Upper bound for the answered requests, the terminals and the permanent decisions that are remembered.
const MAX_REMEMBERED: usize = 5_000;
/// Upper bound for the terminals in the content of one call that are followed.
const MAX_SHOWN: usize = 64;

/// The connection, the line and the time of the current transcript entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EntryPosition {
    pub(super) conn: ConnId,
    pub(super) line: u64,
    pub(super) at: Duration,
}

/// The capabilities that the client offers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientOffers {
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) terminal: bool,
    pub(super) form: bool,
    pub(super) url: bool,
    pub(super) notices: bool,
    pub(super) compaction: bool,
    pub(super) booleans: bool,
    pub(super) terminal_auth: bool,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub(super) struct AgentLinkState {
    /// Whether a handshake has succeeded on this connection.
    pub(super) shook: bool,
    /// Whether the handshake chose another version of the protocol than 1. Such a connection is not judged.
    pub(super) other: bool,
    /// The lines of `initialize` and of its answer, if the client requested version 1 and the agent chose
    /// another version. `None` once the agent has shown that it supports version 1.
    pub(super) declined: Option<[u64; 2]>,
    /// Whether the transcript contains the start of the connection or its handshake. If the transcript lacks
    /// both, sessions, calls and terminals may be older than the transcript, and the client's capabilities are
    /// unknown.
    pub(super) whole: bool,
    /// The duration of the handshake, from which the checks estimate how busy the machine is.
    pub(super) took: Duration,
    /// The duration of the agent's quickest answer; answers to prompts do not count.
    pub(super) quickest: Option<Duration>,
    pub(super) offers: ClientOffers,
    /// The open requests of the client, by id.
    pub(super) ours: LiteMap<String, OpenAgentRequest>,
    /// The ids of the client's answered requests, with the line of each answer.
    pub(super) done: LiteMap<String, u64>,
    /// The open requests of the agent, by id.
    pub(super) theirs: LiteMap<String, OpenAgentRequest>,
    pub(super) sessions: LiteMap<String, AgentSessionState>,
    pub(super) terminals: LiteMap<String, ClientTerminal>,
}

/// A request without an answer so far.
#[derive(Clone, Debug)]
pub(super) struct OpenAgentRequest {
    pub(super) method: String,
    pub(super) line: u64,
    pub(super) at: Duration,
    pub(super) session: String,
    /// The version in the params of `initialize`.
    pub(super) version: Option<u64>,
    /// If this is a permission request: the id of the tool call that needs permission (`call`), and the ids of the
    /// options that grant the permission (`allowing`).
    pub(super) call: String,
    pub(super) allowing: Vec<String>,
    /// If this is a permission request: the ids of the options that make the decision permanent.
    pub(super) always: Vec<String>,
    /// Whether the sender has withdrawn the request with `$/cancel_request`.
    pub(super) withdrawn: bool,
    /// The cancel of the prompt, if the request is a prompt.
    pub(super) cancel: Option<TurnCancel>,
}

impl OpenAgentRequest {
    pub(super) fn new(method: &str, params: &Value, now: EntryPosition) -> OpenAgentRequest {
        OpenAgentRequest {
            method: method.to_owned(),
            line: now.line,
            at: now.at,
            session: params["sessionId"].as_str().unwrap_or_default().to_owned(),
            version: params["protocolVersion"].as_u64(),
            call: String::new(),
            allowing: Vec::new(),
            always: Vec::new(),
            withdrawn: false,
            cancel: None,
        }
    }
}

/// A terminal that the client created for the agent.
#[derive(Debug)]
pub(super) struct ClientTerminal {
    pub(super) line: u64,
    pub(super) session: String,
    pub(super) turn: u64,
    /// Whether a call has shown the terminal.
    pub(super) embedded: bool,
    pub(super) released: Option<u64>,
    /// Whether the content of a call included the terminal when the terminal was released.
    pub(super) shown_at_release: bool,
}

/// The state of one session.
#[derive(Debug, Default)]
pub(super) struct AgentSessionState {
    /// Whether the agent created the session, or the client loaded or resumed it. Other sessions are known only
    /// because a message named them.
    pub(super) made: bool,
    /// The prompt that the agent has not answered yet.
    pub(super) turn: Option<PromptTurn>,
    /// The number of prompts in the session so far.
    pub(super) turns: u64,
    /// The time at which the agent answered the last prompt.
    pub(super) ended: Duration,
    /// The line of the answer to a cancelled prompt, until the next prompt.
    pub(super) cancelled: Option<u64>,
    pub(super) calls: LiteMap<String, ReportedCall>,
    /// The permanent permission decisions. The key is the input of the call, the value the line of the decision.
    pub(super) always: LiteMap<String, u64>,
    /// The ids of the session's modes.
    pub(super) modes: Vec<String>,
    /// The line of the answer to `session/load`, until the next prompt.
    pub(super) loaded: Option<u64>,
}

/// A prompt that the agent has not answered yet.
#[derive(Debug, Default)]
pub(super) struct PromptTurn {
    /// The id of the request that contains the prompt.
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) cancel: Option<TurnCancel>,
    /// Whether a `$/cancel_request` of the client named the prompt.
    pub(super) withdrawn: bool,
    /// The number of unanswered prompts that arrived before the turn ended. The specification does not say
    /// whether an agent refuses such a prompt, queues it, or merges it with the active prompt, nor which prompt
    /// a cancel refers to. A turn with such a prompt is not judged.
    pub(super) beside: u64,
    /// Whether another prompt has arrived during this turn.
    pub(super) crowded: bool,
    /// Whether the agent has requested permission within the turn.
    pub(super) asked: bool,
    /// The number of tool calls that the agent reported within the turn.
    pub(super) reported: u64,
    /// The ids of the calls that the model stand-in requested.
    pub(super) wanted: HashSet<String>,
    /// The number of calls within the turn that reached the harness's own tool.
    pub(super) called: u64,
    /// The line of the last record of the model stand-in or of the harness's tool within the turn; 0 if there is none.
    pub(super) witness: u64,
}

impl PromptTurn {
    /// Returns whether the client has cancelled the prompt, or may have cancelled it.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some() || self.withdrawn || self.crowded
    }
}

/// A cancel of a turn by the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnCancel {
    pub(super) line: u64,
    pub(super) at: Duration,
    /// Whether the agent was waiting for the client. An agent that was waiting cannot have ended the turn
    /// before the cancel.
    pub(super) waiting: bool,
    /// The duration of the handshake on this connection.
    pub(super) took: Duration,
    /// The duration of the quickest answer on this connection: an estimate of how long a cancel or an answer can be in
    /// transit.
    pub(super) quickest: Duration,
}

/// The stage of a call, according to its status.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum CallStage {
    #[default]
    Pending,
    InProgress,
    Completed,
    Failed,
}

impl CallStage {
    pub(super) fn of(word: &str) -> Option<CallStage> {
        match word {
            "pending" => Some(CallStage::Pending),
            "in_progress" => Some(CallStage::InProgress),
            "completed" => Some(CallStage::Completed),
            "failed" => Some(CallStage::Failed),
            _ => None,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            CallStage::Pending => "pending",
            CallStage::InProgress => "in_progress",
            CallStage::Completed => "completed",
            CallStage::Failed => "failed",
        }
    }

    pub(super) fn is_final(self) -> bool {
        matches!(self, CallStage::Completed | CallStage::Failed)
    }

    /// Returns whether a call may change from this stage to the given one.
    pub(super) fn leads_to(self, next: CallStage) -> bool {
        self == next
            || match self {
                CallStage::Pending => true,
                CallStage::InProgress => next != CallStage::Pending,
                CallStage::Completed | CallStage::Failed => false,
            }
    }
}

/// A call: the state that results from its reports, and its history.
#[derive(Debug, Default)]
pub(super) struct ReportedCall {
    pub(super) turn: u64,
    pub(super) line: u64,
    pub(super) stage: CallStage,
    /// Whether any report of the call had the status `in_progress`.
    pub(super) ran: bool,
    /// Whether any report of the call contained a title.
    pub(super) titled: bool,
    /// Whether the first report of the call was an update instead of a new call.
    pub(super) by_update: bool,
    pub(super) name: Option<String>,
    /// The longest string in the input of the call, which distinguishes the call from other calls.
    pub(super) leaf: String,
    /// The ids of the terminals in the content of the call.
    pub(super) terminals: Vec<String>,
    /// Whether the call may be older than the transcript.
    pub(super) older: bool,
    /// The line of the permission request for the call; `None` if no such request waits for an answer.
    pub(super) waits: Option<u64>,
    /// The line at which the client denied the permission for the call.
    pub(super) denied: Option<u64>,
    /// The line of the answer to the prompt, if the turn of the call was cancelled.
    pub(super) over: Option<u64>,
    /// Whether the agent has reported the call; a permission request alone is not a report.
    pub(super) told: bool,
    /// Whether the call is included in the reported calls of its turn.
    pub(super) counted: bool,
}

impl AgentLinkState {
    /// Adds an open request of the client.
    pub(super) fn ask(&mut self, id: Option<&Value>, asked: OpenAgentRequest) {
        if self.ours.len() < MAX_OPEN {
            self.ours.insert(key(id), asked);
        }
    }

    /// Adds an open request of the agent.
    pub(super) fn ask_back(&mut self, id: Option<&Value>, asked: OpenAgentRequest) {
        if self.theirs.len() < MAX_OPEN {
            self.theirs.insert(key(id), asked);
        }
    }

    /// Remembers the id of a request that was answered.
    pub(super) fn remember(&mut self, id: String, line: u64) {
        if self.done.len() < MAX_REMEMBERED {
            self.done.insert(id, line);
        }
    }

    /// Reads the capabilities that the client offers.
    pub(super) fn offers(&mut self, capabilities: &Value) {
        let flag = |pointer| capabilities.pointer(pointer).and_then(Value::as_bool) == Some(true);
        let there = |pointer| capabilities.pointer(pointer).is_some_and(|it| !it.is_null());
        self.offers = ClientOffers {
            read: flag("/fs/readTextFile"),
            write: flag("/fs/writeTextFile"),
            terminal: flag("/terminal"),
            form: there("/elicitation/form"),
            url: there("/elicitation/url"),
            notices: there("/session/notices"),
            compaction: there("/session/compaction"),
            booleans: there("/session/configOptions/boolean"),
            terminal_auth: flag("/auth/terminal"),
        };
    }

    /// Records a session that was created, loaded or resumed.
    pub(super) fn make_session(&mut self, id: &str) {
        if let Some(session) = self.session(id) {
            session.made = true;
        }
    }

    /// Returns whether a session exists, or may be older than the transcript.
    pub(super) fn has_session(&self, id: &str) -> bool {
        !self.whole || self.sessions.get(id).is_some_and(|session| session.made)
    }

    /// Returns a session, and creates its state if it is new. Returns `None` if [`MAX_SESSIONS`] is reached.
    pub(super) fn session(&mut self, id: &str) -> Option<&mut AgentSessionState> {
        if self.sessions.get(id).is_none() && self.sessions.len() < MAX_SESSIONS {
            self.sessions.insert(id.to_owned(), AgentSessionState::default());
        }
        self.sessions.get_mut(id)
    }

    /// Records a terminal that the client created.
    pub(super) fn made(&mut self, id: &str, terminal: ClientTerminal) {
        if self.terminals.len() < MAX_REMEMBERED {
            self.terminals.insert(id.to_owned(), terminal);
        }
    }
}

impl ReportedCall {
    /// Merges a report into the call. Members that the report omits or that are null keep their value; a new
    /// list replaces the old list.
    pub(super) fn fold(&mut self, report: &Value) {
        self.titled |= text(report, "title").is_some();
        if let Some(name) = text(report, "name") {
            self.name = Some(name.to_owned());
        }
        if let Some(input) = given(report, "rawInput") {
            self.leaf = longest(input);
        }
        if let Some(content) = report.get("content").and_then(Value::as_array) {
            let shown = content.iter().filter(|item| text(item, "type") == Some("terminal"));
            let shown = shown.filter_map(|item| text(item, "terminalId"));
            self.terminals = shown.take(MAX_SHOWN).map(str::to_owned).collect();
        }
    }

    /// Returns whether the content of the call includes this terminal.
    pub(super) fn shows(&self, terminal: &str) -> bool {
        self.terminals.iter().any(|shown| shown == terminal)
    }
}

impl AgentSessionState {
    /// Returns the number of the open turn or, if no turn is open, of the last turn.
    pub(super) fn number(&self) -> u64 {
        self.turns
    }

    /// Records a call, or ignores it if [`MAX_CALLS`] is reached.
    pub(super) fn begin(&mut self, id: &str, call: ReportedCall) {
        if self.calls.len() < MAX_CALLS {
            self.calls.insert(id.to_owned(), call);
        }
    }

    /// Records a permanent permission decision, which applies to all calls with this input.
    pub(super) fn decide(&mut self, leaf: &str, line: u64) {
        if self.always.len() < MAX_REMEMBERED && !leaf.is_empty() {
            self.always.insert(leaf.to_owned(), line);
        }
    }
}

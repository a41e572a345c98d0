//! What is remembered of a conversation: connections, what is open on them, sessions, calls, terminals.
//!
//! Everything is bounded: an agent that goes on for ever is no longer followed, never held.
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

/// Requests, of either side, that are followed while they are open.
const MAX_OPEN: usize = 1_000;
/// Sessions of a connection that are followed.
const MAX_SESSIONS: usize = 100;
/// Calls of a session that are followed.
const MAX_CALLS: usize = 5_000;
/// Ids of answered requests, terminals, decisions that are remembered.
const MAX_REMEMBERED: usize = 5_000;
/// Terminals in the content of one call that are followed.
const MAX_SHOWN: usize = 64;

/// Where the entry stands that is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EntryPosition {
    pub(super) conn: ConnId,
    pub(super) line: u64,
    pub(super) at: Duration,
}

/// What the client offers.
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

/// One connection.
#[derive(Debug, Default)]
pub(super) struct AgentLinkState {
    /// A handshake has succeeded.
    pub(super) shook: bool,
    /// It came to another version of the protocol, which is not judged here.
    pub(super) other: bool,
    /// Version 1 was asked for and another came back: the lines, until the agent shows that it speaks version 1.
    pub(super) declined: Option<[u64; 2]>,
    /// Its beginning is in the transcript, or its handshake. Without it, sessions, calls and terminals may be older than what was recorded,
    /// and the client's capabilities are unknown.
    pub(super) whole: bool,
    /// How long the handshake took: what a start takes tells how much else the machine has to do.
    pub(super) took: Duration,
    /// How long the quickest answer took, to whatever was asked but prompts.
    pub(super) quickest: Option<Duration>,
    pub(super) offers: ClientOffers,
    /// The client's open requests.
    pub(super) ours: LiteMap<String, OpenAgentRequest>,
    /// The ids of those that were answered, with the line.
    pub(super) done: LiteMap<String, u64>,
    /// The agent's open requests.
    pub(super) theirs: LiteMap<String, OpenAgentRequest>,
    pub(super) sessions: LiteMap<String, AgentSessionState>,
    pub(super) terminals: LiteMap<String, ClientTerminal>,
}

/// An open request.
#[derive(Clone, Debug)]
pub(super) struct OpenAgentRequest {
    pub(super) method: String,
    pub(super) line: u64,
    pub(super) at: Duration,
    pub(super) session: String,
    /// The version that `initialize` asks for.
    pub(super) version: Option<u64>,
    /// The call that permission is asked for, and the options that allow.
    pub(super) call: String,
    pub(super) allowing: Vec<String>,
    /// Options that are remembered.
    pub(super) always: Vec<String>,
    /// Whoever asked no longer wants to know.
    pub(super) withdrawn: bool,
    /// The cancel of a prompt.
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

/// A terminal of the client's that the agent had made.
#[derive(Debug)]
pub(super) struct ClientTerminal {
    pub(super) line: u64,
    pub(super) session: String,
    pub(super) turn: u64,
    /// A call has shown it.
    pub(super) embedded: bool,
    pub(super) released: Option<u64>,
    /// A call showed it when it was released.
    pub(super) shown_at_release: bool,
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct AgentSessionState {
    /// Whether the agent created the session, or the client loaded or resumed it. Other sessions are known only because a
    /// message named them.
    pub(super) made: bool,
    /// The prompt that is being worked on.
    pub(super) turn: Option<PromptTurn>,
    /// How many prompts there were.
    pub(super) turns: u64,
    /// When the last one was answered.
    pub(super) ended: Duration,
    /// The line on which a cancelled prompt was answered, until the next one.
    pub(super) cancelled: Option<u64>,
    pub(super) calls: LiteMap<String, ReportedCall>,
    /// What was decided for good: the input, and the line of the decision.
    pub(super) always: LiteMap<String, u64>,
    /// The ids of its modes.
    pub(super) modes: Vec<String>,
    /// The line on which `session/load` was answered, until the next prompt.
    pub(super) loaded: Option<u64>,
}

/// A prompt being worked on.
#[derive(Debug, Default)]
pub(super) struct PromptTurn {
    /// The id of the request.
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) cancel: Option<TurnCancel>,
    /// `$/cancel_request` named the prompt.
    pub(super) withdrawn: bool,
    /// Prompts that came before the turn was over and are not answered yet. No text says whether a prompt that comes while
    /// another one is worked on is refused, waits or joins in, nor which of them a cancel means: once there was one, the
    /// turn is not judged.
    pub(super) beside: u64,
    /// There was such a prompt.
    pub(super) crowded: bool,
    /// Permission was asked for in it.
    pub(super) asked: bool,
    /// Calls that were reported.
    pub(super) reported: u64,
    /// Calls that the model of ours asked for.
    pub(super) wanted: HashSet<String>,
    /// Calls of a tool of ours.
    pub(super) called: u64,
    /// The line of the last of either.
    pub(super) witness: u64,
}

impl PromptTurn {
    /// Whether the client has cancelled it, or may have.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some() || self.withdrawn || self.crowded
    }
}

/// The client cancelled a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnCancel {
    pub(super) line: u64,
    pub(super) at: Duration,
    /// The agent was waiting for the client, so that it cannot have ended the turn before.
    pub(super) waiting: bool,
    /// How long the handshake of this agent took.
    pub(super) took: Duration,
    /// How long the quickest answer of this agent took: so long may the cancel and an answer be on their way.
    pub(super) quickest: Duration,
}

/// How far a call has come.
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

    /// Whether a call may go on from here to there.
    pub(super) fn leads_to(self, next: CallStage) -> bool {
        self == next
            || match self {
                CallStage::Pending => true,
                CallStage::InProgress => next != CallStage::Pending,
                CallStage::Completed | CallStage::Failed => false,
            }
    }
}

/// One call: the state that its reports add up to, and what happened to it.
#[derive(Debug, Default)]
pub(super) struct ReportedCall {
    pub(super) turn: u64,
    pub(super) line: u64,
    pub(super) stage: CallStage,
    /// It was reported as in progress.
    pub(super) ran: bool,
    /// Some report gave its title.
    pub(super) titled: bool,
    /// Its first report was an update.
    pub(super) by_update: bool,
    pub(super) name: Option<String>,
    /// The longest text of its input, which tells it from others.
    pub(super) leaf: String,
    /// The terminals in its content.
    pub(super) terminals: Vec<String>,
    /// It may be older than the transcript.
    pub(super) older: bool,
    /// The line on which permission was asked for it, while the answer is outstanding.
    pub(super) waits: Option<u64>,
    /// The line on which it was denied.
    pub(super) denied: Option<u64>,
    /// The line on which its turn, which was cancelled, was answered.
    pub(super) over: Option<u64>,
    /// It was reported, and not only asked about.
    pub(super) told: bool,
    /// It counts as reported in its turn.
    pub(super) counted: bool,
}

impl AgentLinkState {
    /// The client asks.
    pub(super) fn ask(&mut self, id: Option<&Value>, asked: OpenAgentRequest) {
        if self.ours.len() < MAX_OPEN {
            self.ours.insert(key(id), asked);
        }
    }

    /// The agent asks.
    pub(super) fn ask_back(&mut self, id: Option<&Value>, asked: OpenAgentRequest) {
        if self.theirs.len() < MAX_OPEN {
            self.theirs.insert(key(id), asked);
        }
    }

    /// An answer came.
    pub(super) fn remember(&mut self, id: String, line: u64) {
        if self.done.len() < MAX_REMEMBERED {
            self.done.insert(id, line);
        }
    }

    /// What the client offers.
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

    /// A session that was made, loaded or resumed.
    pub(super) fn make_session(&mut self, id: &str) {
        if let Some(session) = self.session(id) {
            session.made = true;
        }
    }

    /// Whether a session is there, or may be.
    pub(super) fn has_session(&self, id: &str) -> bool {
        !self.whole || self.sessions.get(id).is_some_and(|session| session.made)
    }

    /// A session, new or known; past the bound none is followed.
    pub(super) fn session(&mut self, id: &str) -> Option<&mut AgentSessionState> {
        if self.sessions.get(id).is_none() && self.sessions.len() < MAX_SESSIONS {
            self.sessions.insert(id.to_owned(), AgentSessionState::default());
        }
        self.sessions.get_mut(id)
    }

    /// A terminal was made.
    pub(super) fn made(&mut self, id: &str, terminal: ClientTerminal) {
        if self.terminals.len() < MAX_REMEMBERED {
            self.terminals.insert(id.to_owned(), terminal);
        }
    }
}

impl ReportedCall {
    /// Takes over what a report gives. What it leaves out, or gives as null, stays; a list replaces the one before.
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

    /// Whether its content has a terminal.
    pub(super) fn shows(&self, terminal: &str) -> bool {
        self.terminals.iter().any(|shown| shown == terminal)
    }
}

impl AgentSessionState {
    /// The number of the turn that is on, or of the last.
    pub(super) fn number(&self) -> u64 {
        self.turns
    }

    /// Takes note of a call.
    pub(super) fn begin(&mut self, id: &str, call: ReportedCall) {
        if self.calls.len() < MAX_CALLS {
            self.calls.insert(id.to_owned(), call);
        }
    }

    /// A decision for good about an input.
    pub(super) fn decide(&mut self, leaf: &str, line: u64) {
        if self.always.len() < MAX_REMEMBERED && !leaf.is_empty() {
            self.always.insert(leaf.to_owned(), line);
        }
    }
}

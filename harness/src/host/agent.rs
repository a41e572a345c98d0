//! The scripted agent's progress in a turn: the operations that are left, and the events that the agent waits
//! for.
//!
//! A turn is one [`HostAgentRun`] with a main track, and one more track for each call of a parallel group. A
//! track is a queue of small operations. Each operation takes [`STEP`] of virtual time.
//!
//! Knows: scripts. Never knows: connections, states ([`play`](super::play) executes the operations).
//!
//! Start at [`HostAgentRun`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::agent::script::{self, AgentScript, RELEASE, ScriptStep, ToolClass, ToolStep};

/// The time that the agent takes for one operation.
pub(super) const STEP: Duration = Duration::from_millis(2);
/// The number of chunks that `endless` streams. Afterwards the turn sends nothing more, so the size of the state is
/// bounded.
pub(super) const ENDLESS_PIECES: u32 = 5_000;

/// An operation of the agent.
#[derive(Clone, Debug)]
pub(super) enum HostAgentOp {
    /// Expands a step of the script into operations.
    Step(ScriptStep),
    /// Adds an empty response part; `kind` is `markdown` or `reasoning`.
    Open { part: String, kind: &'static str },
    /// Appends text to a response part.
    Append { part: String, kind: &'static str, text: String },
    /// Streams text without end.
    Stream { part: String, pieces: u32 },
    /// Starts a tool call and queues its operations.
    Call(ToolStep),
    /// Streams a chunk of a tool call's input.
    Input { call: String, text: String },
    /// Publishes the tool call as ready; asks for approval if the script requires approval.
    Ready { call: String, step: ToolStep },
    /// Lets the MCP server of the tool ask for a token.
    Challenge { call: String },
    /// Runs the tool if the call was approved.
    Execute { call: String, step: ToolStep },
    /// Asks for a second confirmation while the tool runs.
    Reconfirm { call: String, step: ToolStep },
    /// Completes the tool call if it is running.
    Complete { call: String, step: ToolStep },
}

/// The event that a track waits for. The track continues as soon as the state shows the event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum HostAgentWait {
    /// Waits until the tool call leaves this status.
    Call { call: String, status: &'static str },
    /// Waits until the input request with this identifier has an answer.
    Answer(String),
    /// Waits until the hold with this name is released.
    Release(String),
    /// Waits until the worker chat with this URI ends its turn.
    Worker(String),
    /// Waits until all other tracks end.
    Others,
    /// Waits forever: only a client's cancellation or a crash ends the turn.
    Forever,
}

/// A queue of operations, the time of the next operation, and the event that the track waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct HostAgentTrack {
    pub(super) ops: VecDeque<HostAgentOp>,
    pub(super) due: Option<Duration>,
    pub(super) wait: Option<HostAgentWait>,
}

/// The agent's work on one turn.
#[derive(Clone, Debug)]
pub(super) struct HostAgentRun {
    pub(super) turn: String,
    /// The tracks; the main track is the first.
    pub(super) tracks: Vec<HostAgentTrack>,
    /// The names of the holds that were released.
    pub(super) released: HashSet<String>,
    /// The context that the agent received in addition to the message.
    pub(super) given: Vec<String>,
    /// The steering messages that the agent has received in this turn.
    pub(super) steered: Vec<String>,
    /// Whether an injected fault makes the agent continue a cancelled turn.
    pub(super) undead: bool,
}

impl HostAgentRun {
    /// Creates the run of a turn that begins at `now`.
    pub(super) fn new(turn: &str, ops: VecDeque<HostAgentOp>, now: Duration) -> HostAgentRun {
        let main = HostAgentTrack { ops, due: Some(now + STEP), wait: None };
        HostAgentRun {
            turn: turn.to_owned(),
            tracks: vec![main],
            released: HashSet::new(),
            given: Vec::new(),
            steered: Vec::new(),
            undead: false,
        }
    }

    /// Returns the time of the next operation; `None` if every track waits or has ended.
    pub(super) fn due(&self) -> Option<Duration> {
        let ready = self.tracks.iter().filter(|track| track.wait.is_none());
        ready.filter_map(|track| track.due).min()
    }

    /// Returns whether every track except the main one has ended.
    pub(super) fn alone(&self) -> bool {
        let done = |track: &HostAgentTrack| track.ops.is_empty() && track.wait.is_none();
        self.tracks.iter().skip(1).all(done)
    }
}

/// The prefix of messages that the host runs as commands, without its agent.
pub(super) const COMMAND_PREFIX: &str = "!";

/// Returns the operations for a message: the operations of its script, a command, or an echo of the text. A script with a
/// syntax error becomes an error message and a failed turn.
pub(super) fn plan(text: &str) -> VecDeque<HostAgentOp> {
    match script::find(text) {
        Some(Ok(script)) => steps(script),
        Some(Err(error)) => VecDeque::from([
            HostAgentOp::Step(ScriptStep::Say(vec![error.to_string()])),
            HostAgentOp::Step(ScriptStep::Fail { kind: "script".to_owned(), resumable: false }),
        ]),
        None => VecDeque::from([HostAgentOp::Step(match command(text) {
            Some(command) => ScriptStep::Tool(ToolStep::of(ToolClass::Shell, command.to_owned())),
            None => ScriptStep::Say(script::pieces(text)),
        })]),
    }
}

/// Returns the command in a message, without the prefix; `None` if the message is not a command.
fn command(text: &str) -> Option<&str> {
    text.strip_prefix(COMMAND_PREFIX).map(str::trim).filter(|command| !command.is_empty())
}

/// Returns the operations that a steering message adds: the operations of its script, or no operations.
pub(super) fn steer(text: &str) -> VecDeque<HostAgentOp> {
    match script::find(text) {
        Some(Ok(script)) => steps(script),
        _ => VecDeque::new(),
    }
}

/// Returns the name of the hold that a steering message releases; `None` if the message releases no hold.
pub(super) fn release(text: &str) -> Option<&str> {
    Some(text.strip_prefix(RELEASE)?.trim())
}

fn steps(script: AgentScript) -> VecDeque<HostAgentOp> {
    script.steps.into_iter().map(HostAgentOp::Step).collect()
}

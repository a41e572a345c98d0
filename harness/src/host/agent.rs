//! The agent's own memory: what it has still to do in a turn, and what it waits for.
//!
//! A turn is one [`HostAgentRun`] with a main track, and one more track for each call of a parallel group.
//! A track is a queue of small operations, each of which takes a moment of virtual time.
//!
//! Knows: scripts. Never knows: connections, states; [`play`](super::play) carries the
//! operations out.
//!
//! Start at [`HostAgentRun`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::agent::script::{self, AgentScript, RELEASE, ScriptStep, ToolStep};

/// How long the agent takes for one operation.
pub(super) const STEP: Duration = Duration::from_millis(2);
/// How many pieces `endless` streams before it goes on in silence, so that a state stays bounded.
pub(super) const ENDLESS_PIECES: u32 = 5_000;

/// One operation.
#[derive(Clone, Debug)]
pub(super) enum HostAgentOp {
    /// A step of the script, before it is broken down.
    Step(ScriptStep),
    /// Adds an empty part: `markdown` or `reasoning`.
    Open { part: String, kind: &'static str },
    /// Appends to a part.
    Append { part: String, kind: &'static str, text: String },
    /// Streams without end.
    Stream { part: String, pieces: u32 },
    /// Starts a tool call and queues what follows.
    Call(ToolStep),
    /// Streams a piece of a call's input.
    Input { call: String, text: String },
    /// Publishes the call, for approval where the step asks for it.
    Ready { call: String, step: ToolStep },
    /// Has the tool's server ask for a token.
    Challenge { call: String },
    /// Runs the tool, if it was approved.
    Execute { call: String, step: ToolStep },
    /// Asks once more while the tool runs.
    Reconfirm { call: String, step: ToolStep },
    /// Completes the call, if it is running.
    Complete { call: String, step: ToolStep },
}

/// What a track waits for. It goes on as soon as the state says so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum HostAgentWait {
    /// A call that leaves this status.
    Call { call: String, status: &'static str },
    /// An answer to a request.
    Answer(String),
    /// The release of a hold.
    Release(String),
    /// The end of the turn of a worker in its chat.
    Worker(String),
    /// The end of all other tracks.
    Others,
    /// Nothing that ever comes: only the end of the turn from outside.
    Forever,
}

/// A queue of operations, and when the next one is due.
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
    /// The main track first.
    pub(super) tracks: Vec<HostAgentTrack>,
    /// Holds that were released.
    pub(super) released: HashSet<String>,
    /// What the agent was given beside the message.
    pub(super) given: Vec<String>,
    /// The turn was cancelled and goes on all the same: a fault.
    pub(super) undead: bool,
}

impl HostAgentRun {
    /// Begins a turn at `now`.
    pub(super) fn new(turn: &str, ops: VecDeque<HostAgentOp>, now: Duration) -> HostAgentRun {
        let main = HostAgentTrack { ops, due: Some(now + STEP), wait: None };
        HostAgentRun {
            turn: turn.to_owned(),
            tracks: vec![main],
            released: HashSet::new(),
            given: Vec::new(),
            undead: false,
        }
    }

    /// When the next operation is due.
    pub(super) fn due(&self) -> Option<Duration> {
        let ready = self.tracks.iter().filter(|track| track.wait.is_none());
        ready.filter_map(|track| track.due).min()
    }

    /// Whether every track but the main one has come to its end.
    pub(super) fn alone(&self) -> bool {
        let done = |track: &HostAgentTrack| track.ops.is_empty() && track.wait.is_none();
        self.tracks.iter().skip(1).all(done)
    }
}

/// What a message makes the agent do: its script, else the text said back. A script with a mistake
/// ends the turn with an error that explains it.
pub(super) fn plan(text: &str) -> VecDeque<HostAgentOp> {
    match script::find(text) {
        Some(Ok(script)) => steps(script),
        Some(Err(error)) => VecDeque::from([
            HostAgentOp::Step(ScriptStep::Say(vec![error.to_string()])),
            HostAgentOp::Step(ScriptStep::Fail { kind: "script".to_owned(), resumable: false }),
        ]),
        None => VecDeque::from([HostAgentOp::Step(ScriptStep::Say(script::pieces(text)))]),
    }
}

/// What a steering message adds: only a script does.
pub(super) fn steer(text: &str) -> VecDeque<HostAgentOp> {
    match script::find(text) {
        Some(Ok(script)) => steps(script),
        _ => VecDeque::new(),
    }
}

/// The hold that a steering message releases.
pub(super) fn release(text: &str) -> Option<&str> {
    Some(text.strip_prefix(RELEASE)?.trim())
}

fn steps(script: AgentScript) -> VecDeque<HostAgentOp> {
    script.steps.into_iter().map(HostAgentOp::Step).collect()
}

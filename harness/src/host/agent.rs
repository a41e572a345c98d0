//! The scripted agent's operations, the events that it waits for, and the plan that follows from a message.
//!
//! Knows: scripts. Never knows: connections, states, the progress of a turn
//! ([`agent_runs`](super::agent_runs)).
//!
//! Start at [`plan`].

use std::collections::VecDeque;

use crate::agent::script::{self, AgentScript, RELEASE, ScriptStep, ToolClass, ToolStep};

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

//! The expected outcomes of requests, connections, dispatches and commands to a driver.
//!
//! Knows: patterns, templates. Never knows: clients, the acts that have these outcomes.
//!
//! Start at [`RequestGoal`].

use crate::scenario::bind::ValueTemplate;
use crate::scenario::pattern::ValuePattern;

/// The expected outcome of a request.
#[derive(Clone, Debug)]
pub enum RequestGoal {
    /// A result. If there is a pattern, the result must match it.
    Result(Option<ValuePattern>),
    /// A result with a snapshot. The template names the channel of the snapshot; the pattern matches its state.
    State(ValuePattern, ValueTemplate),
    /// An error that matches the pattern.
    Error(ValuePattern),
    /// An error that matches the pattern, or the end of the connection by the host.
    Refused(ValuePattern),
    /// A result that matches the first pattern, or an error that matches the second pattern.
    Either(ValuePattern, ValuePattern),
    /// The end of the connection by the host.
    Closed,
    /// Any answer. The cleanup uses this goal, because it judges nothing.
    Anything,
}

/// The expected outcome of opening a connection.
#[derive(Clone, Debug)]
pub enum OpeningGoal {
    /// The connection is opened.
    Stands,
    /// The connection is opened or refused.
    Either,
    /// The connection is refused with a status that matches the pattern.
    Refused(ValuePattern),
}

/// The names to which a matched result is bound.
#[derive(Clone, Debug, Default)]
pub struct ResultUse {
    /// The name to which the result, or the snapshot's state, is bound.
    pub bind: Option<String>,
    /// The name to which the default chat of a session's snapshot is bound, if the snapshot has a default chat.
    pub default_chat: Option<String>,
}

/// The expected outcome of a dispatched action.
#[derive(Clone, Debug)]
pub enum DispatchGoal {
    /// The host echoes the action as accepted, in an envelope that matches the pattern.
    Accept(ValuePattern),
    /// The host echoes the action with a `rejectionReason`, in an envelope that matches the pattern.
    Reject(ValuePattern),
    /// The host sends no envelope before a barrier completes.
    Ignored,
    /// The host does not accept the action: it rejects the action, or sends no envelope before a barrier
    /// completes.
    Refused,
}

impl DispatchGoal {
    /// Returns whether the goal is that the host does not accept the action.
    pub(super) fn is_refusal(&self) -> bool {
        !matches!(self, DispatchGoal::Accept(_))
    }
}

/// The expected outcome of a command to the driver of the tested client.
#[derive(Clone, Debug)]
pub enum DriverGoal {
    /// A result. If there is a pattern, the result must match it.
    Result(Option<ValuePattern>),
    /// An error that matches the pattern.
    Error(ValuePattern),
    /// A result that matches the first pattern, or an error that matches the second.
    Either(ValuePattern, ValuePattern),
}

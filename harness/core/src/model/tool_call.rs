//! The life cycle of a tool call: one table of transitions, and the members of each status.
//!
//! Knows: parts of kind `toolCall`. Never knows: the effect of tools, the rules for decisions.
//!
//! Start at [`TRANSITIONS`]. The effect of a step on the call is in `tool_step`. Source: chat-channel.md,
//! tool-call life cycle.

use crate::wire::json::Value;

use super::payload::{Object, PayloadShape, ReducerResult, flag, optional, optional_text, text_of};

/// The status of a tool call. Unknown statuses stay in the state as strings.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ToolCallStatus {
    /// The model is still writing the input.
    Streaming,
    /// A person has to permit the call.
    PendingConfirmation,
    /// The tool is running.
    Running,
    /// The tool's server requires a person to sign in.
    AuthRequired,
    /// A person has to permit the use of the result.
    PendingResultConfirmation,
    /// The call has a result.
    Completed,
    /// The call will have no result.
    Cancelled,
}

/// An event of a tool call: an action, together with the members that change its meaning.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ToolEvent {
    /// The action `chat/toolCallStart`.
    Start,
    /// The action `chat/toolCallDelta`.
    Delta,
    /// The action `chat/toolCallReady` without `confirmed`: a person has to confirm the call.
    ReadyUnconfirmed,
    /// The action `chat/toolCallReady` with `confirmed`: no confirmation by a person is needed.
    ReadyConfirmed,
    /// The action `chat/toolCallConfirmed` with `approved: true`.
    Approved,
    /// The action `chat/toolCallConfirmed` with `approved: false`.
    Denied,
    /// The action `chat/toolCallContentChanged`.
    ContentChanged,
    /// The action `chat/toolCallAuthRequired`, which applies only to calls of MCP servers.
    AuthRequired,
    /// The action `chat/toolCallAuthResolved`.
    AuthResolved,
    /// The action `chat/toolCallComplete`. A call that waits for authentication can only fail.
    Complete,
    /// The action `chat/toolCallComplete` with `requiresResultConfirmation`.
    CompleteNeedsConfirmation,
    /// The action `chat/toolCallResultConfirmed` with `approved: true`.
    ResultApproved,
    /// The action `chat/toolCallResultConfirmed` with `approved: false`.
    ResultDenied,
}

/// A transition of a tool call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ToolCallTransition {
    /// The status of the call before the transition; `None` if the call does not exist yet.
    pub from: Option<ToolCallStatus>,
    /// The event that causes the transition.
    pub event: ToolEvent,
    /// The status of the call after the transition.
    pub to: ToolCallStatus,
    /// Whether the specification's state diagram shows the transition. The reducers also accept transitions that the
    /// diagram does not show; if a host causes such a transition, the oracle reports a finding with the weight of a
    /// note.
    pub diagram: bool,
}

/// Every transition that the reducers accept. Any other pair of status and event changes nothing, with two exceptions.
/// The end of the turn cancels every call that has not ended. A start with an id that is already in use adds a second
/// call, and leaves the first call unchanged.
#[rustfmt::skip]
pub const TRANSITIONS: &[ToolCallTransition] = {
    use ToolCallStatus as Status;
    use ToolEvent::*;
    use ToolCallStatus::{Cancelled, Completed, PendingConfirmation};
    use ToolCallStatus::{PendingResultConfirmation, Running, Streaming};
    const fn step(from: Status, event: ToolEvent, to: Status) -> ToolCallTransition {
        ToolCallTransition { from: Some(from), event, to, diagram: true }
    }
    const fn unshown(from: Status, event: ToolEvent, to: Status) -> ToolCallTransition {
        ToolCallTransition { from: Some(from), event, to, diagram: false }
    }
    &[
        ToolCallTransition { from: None, event: Start, to: Streaming, diagram: true },
        step(Streaming, Delta, Streaming),
        step(Streaming, ReadyUnconfirmed, PendingConfirmation),
        step(Streaming, ReadyConfirmed, Running),
        step(PendingConfirmation, ReadyUnconfirmed, PendingConfirmation),
        step(PendingConfirmation, ReadyConfirmed, Running),
        step(PendingConfirmation, Approved, Running),
        step(PendingConfirmation, Denied, Cancelled),
        unshown(PendingConfirmation, Complete, Completed),
        unshown(PendingConfirmation, CompleteNeedsConfirmation, PendingResultConfirmation),
        step(Running, ReadyUnconfirmed, PendingConfirmation),
        step(Running, ReadyConfirmed, Running),
        step(Running, ContentChanged, Running),
        step(Running, AuthRequired, Status::AuthRequired),
        step(Running, Complete, Completed),
        step(Running, CompleteNeedsConfirmation, PendingResultConfirmation),
        step(Status::AuthRequired, AuthResolved, Running),
        step(Status::AuthRequired, Complete, Completed),
        step(Status::AuthRequired, CompleteNeedsConfirmation, Completed),
        step(PendingResultConfirmation, ResultApproved, Completed),
        step(PendingResultConfirmation, ResultDenied, Cancelled),
    ]
};

pub(super) struct StatusRow {
    status: ToolCallStatus,
    name: &'static str,
    /// The members that a tool call has in this status, in addition to the members that a call has in every status.
    pub(super) members: &'static [&'static str],
}

pub(super) const STATUSES: [StatusRow; 7] = {
    use ToolCallStatus::*;
    const fn row(
        status: ToolCallStatus,
        name: &'static str,
        members: &'static [&'static str],
    ) -> StatusRow {
        StatusRow { status, name, members }
    }
    [
        row(Streaming, "streaming", &["partialInput", "invocationMessage"]),
        row(
            PendingConfirmation,
            "pending-confirmation",
            &[
                "invocationMessage",
                "toolInput",
                "confirmationTitle",
                "riskAssessment",
                "edits",
                "editable",
                "options",
            ],
        ),
        row(
            Running,
            "running",
            &["invocationMessage", "toolInput", "confirmed", "selectedOption", "content"],
        ),
        row(
            AuthRequired,
            "auth-required",
            &["invocationMessage", "toolInput", "confirmed", "selectedOption", "content", "auth"],
        ),
        row(PendingResultConfirmation, "pending-result-confirmation", RESULT),
        row(Completed, "completed", RESULT),
        row(
            Cancelled,
            "cancelled",
            &[
                "invocationMessage",
                "toolInput",
                "reason",
                "reasonMessage",
                "userSuggestion",
                "selectedOption",
            ],
        ),
    ]
};

const RESULT: &[&str] = &[
    "invocationMessage",
    "toolInput",
    "confirmed",
    "selectedOption",
    "success",
    "pastTenseMessage",
    "content",
    "structuredContent",
    "error",
];

impl ToolCallStatus {
    /// Returns every status, in the order of a call's life.
    pub fn all() -> impl Iterator<Item = ToolCallStatus> {
        STATUSES.iter().map(|row| row.status)
    }

    /// Returns the name on the wire, such as `pending-confirmation`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the status with this name; `None` for unknown names.
    pub fn from_name(name: &str) -> Option<ToolCallStatus> {
        STATUSES.iter().find(|row| row.name == name).map(|row| row.status)
    }

    /// Returns whether the call has ended.
    pub fn is_final(self) -> bool {
        matches!(self, ToolCallStatus::Completed | ToolCallStatus::Cancelled)
    }

    /// Returns whether the call waits for a person.
    pub fn blocks(self) -> bool {
        use ToolCallStatus::*;
        matches!(self, PendingConfirmation | AuthRequired | PendingResultConfirmation)
    }

    pub(super) fn row(self) -> &'static StatusRow {
        &STATUSES[self as usize]
    }
}

/// Returns the event of an action; `None` if the action does not concern a tool call, or does not have the
/// member that determines the event.
pub fn event_of(action: &Value) -> Option<ToolEvent> {
    event(action.as_object()?).ok().flatten()
}

/// Returns the status after a transition, without checking the guards; `None` if the table has no such transition. The
/// event `Start` has a transition only if `from` is `None`.
pub fn next(from: Option<ToolCallStatus>, event: ToolEvent) -> Option<ToolCallStatus> {
    let step = |row: &&ToolCallTransition| row.from == from && row.event == event;
    TRANSITIONS.iter().find(step).map(|row| row.to)
}

pub(super) fn event(action: &Object) -> ReducerResult<Option<ToolEvent>> {
    use ToolEvent::*;
    let approved =
        |yes, no| flag(action, "approved").map(|approved| if approved { yes } else { no });
    // Up to 0.3.0 these are actions of the session.
    let name = text_of(action, "type").and_then(|name| name.split_once('/'));
    Ok(Some(match name.filter(|name| matches!(name.0, "chat" | "session")).map(|name| name.1) {
        Some("toolCallStart") => Start,
        Some("toolCallDelta") => Delta,
        Some("toolCallReady") => match optional_text(action, "confirmed")? {
            Some(_) => ReadyConfirmed,
            None => ReadyUnconfirmed,
        },
        Some("toolCallConfirmed") => approved(Approved, Denied)?,
        Some("toolCallContentChanged") => ContentChanged,
        Some("toolCallAuthRequired") => AuthRequired,
        Some("toolCallAuthResolved") => AuthResolved,
        Some("toolCallComplete") => {
            match optional(action, "requiresResultConfirmation", PayloadShape::Flag)? {
                Some(Value::Bool(true)) => CompleteNeedsConfirmation,
                _ => Complete,
            }
        }
        Some("toolCallResultConfirmed") => approved(ResultApproved, ResultDenied)?,
        _ => return Ok(None),
    }))
}

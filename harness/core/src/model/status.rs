//! The `status` of sessions and chats: one activity in the lowest five bits, flags in the higher bits.
//!
//! Bits for which this module has no constant are kept. Source: the type `SessionStatus`.
//!
//! Knows: the statuses of tool calls. Never knows: the cause of a change.

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::version::Version;

use super::NoOp;
use super::dialect::{ChannelDialect, QuestionPlace, ReducerContext};
use super::input_list::QUESTIONS;
use super::payload::{Object, ReducerResult, flag, given, integer};
use super::tool_call::ToolCallStatus;

/// The activity Idle: no turn is active.
pub const IDLE: u64 = 1;
/// The activity Error: the last turn ended in an error.
pub const ERROR: u64 = 2;
/// The activity InProgress: a turn is active.
pub const IN_PROGRESS: u64 = 8;
/// The activity InputNeeded: a turn is active and waits for a person. The value includes the bit of
/// [`IN_PROGRESS`].
pub const INPUT_NEEDED: u64 = 24;
/// The flag IsRead: a person has seen the latest state.
pub const IS_READ: u64 = 32;
/// The flag IsArchived: a person has archived the session or chat.
pub const IS_ARCHIVED: u64 = 64;
/// The bits of the activity; all other bits are flags.
pub const ACTIVITY_MASK: u64 = 31;

/// Returns the bits of a state's `status`; 0 if the state has no usable number. The number `33.0` counts as 33.
pub fn bits(state: &Object) -> u64 {
    let read = |status: &Value| {
        status.as_u64().or_else(|| integer(status).and_then(|status| status.try_into().ok()))
    };
    state.get("status").and_then(read).unwrap_or(0)
}

/// Derives the status of a chat from its parts. The activity is InputNeeded while the active turn has an open
/// input request, or a tool call that waits for a decision or for authentication. The activity is InProgress
/// while the active turn waits for nothing, and Idle if no turn is active. The flags stay.
///
/// The activity Error is never derived: only the end of a turn sets it, and it stays until the turns change again. A
/// chat with the status Error and without an active turn is therefore consistent.
pub fn recompute(chat_state: &Value) -> u64 {
    let Some(chat) = chat_state.as_object() else {
        return IDLE;
    };
    with_activity(bits(chat), activity(ChannelDialect::NEWEST, chat))
}

/// Derives the activity of a chat from its parts, by the rules of one version; see [`recompute`].
pub fn activity_of(version: Version, chat_state: &Value) -> u64 {
    chat_state
        .as_object()
        .map_or(IDLE, |chat| activity(ChannelDialect::of(version, ChannelKind::Chat), chat))
}

/// Returns whether a response part makes its turn wait for a person.
pub fn blocks(part: &Value) -> bool {
    match part.get("kind").and_then(Value::as_str) {
        Some("inputRequest") => part.get("response").is_none_or(Value::is_null),
        Some("toolCall") => {
            let status = part.get("toolCall").and_then(|call| call.get("status"));
            let status = status.and_then(Value::as_str);
            status.and_then(ToolCallStatus::from_name).is_some_and(ToolCallStatus::blocks)
        }
        _ => false,
    }
}

/// Returns whether a response part makes its turn wait, by the rules of one version: older versions have fewer reasons
/// to wait.
fn blocks_in(dialect: &ChannelDialect, part: &Value) -> bool {
    let auth = ToolCallStatus::AuthRequired.name();
    blocks(part)
        && match part.get("toolCall") {
            None => dialect.questions == QuestionPlace::Parts,
            Some(call) => dialect.tool_auth || call.get("status") != Some(&Value::from(auth)),
        }
}

fn activity(dialect: &ChannelDialect, chat: &Object) -> u64 {
    let listed = dialect.questions == QuestionPlace::Listed;
    let questions = given(chat, QUESTIONS).filter(|_| listed).and_then(Value::as_array);
    if questions.is_some_and(|questions| !questions.is_empty()) {
        return INPUT_NEEDED;
    }
    let Some(turn) = given(chat, "activeTurn") else {
        return IDLE;
    };
    let parts = turn.get("responseParts").and_then(Value::as_array);
    // The search begins at the end, because nearly always one of the newest parts waits.
    let waits = parts.is_some_and(|parts| parts.iter().rev().any(|part| blocks_in(dialect, part)));
    if waits { INPUT_NEEDED } else { IN_PROGRESS }
}

fn with_activity(status: u64, activity: u64) -> u64 {
    (status & !ACTIVITY_MASK) | activity
}

fn store(state: &mut Object, status: u64) {
    state.insert("status", Value::from(status));
}

/// Derives a chat's activity again.
pub(super) fn refresh(context: &ReducerContext, chat: &mut Object) -> ReducerResult {
    let activity = activity(context.dialect, chat);
    set_activity(context, chat, activity)
}

/// Derives a chat's activity again, and returns whether the activity has changed.
pub(super) fn catch_up(context: &ReducerContext, chat: &mut Object) -> ReducerResult<bool> {
    let before = bits(context.summary(chat)?);
    refresh(context, chat)?;
    Ok(bits(context.summary(chat)?) != before)
}

/// Sets the activity and keeps the flags.
pub(super) fn set_activity(
    context: &ReducerContext,
    chat: &mut Object,
    activity: u64,
) -> ReducerResult {
    let summary = context.summary(chat)?;
    store(summary, with_activity(bits(summary), activity));
    Ok(())
}

/// Clears the flag IsRead of a chat.
pub(super) fn mark_unread(context: &ReducerContext, chat: &mut Object) -> ReducerResult {
    let summary = context.summary(chat)?;
    store(summary, bits(summary) & !IS_READ);
    Ok(())
}

/// Sets or clears one flag, depending on the action's boolean `member`.
pub(super) fn set_flag(
    state: &mut Object,
    action: &Object,
    member: &str,
    bit: u64,
) -> ReducerResult {
    let on = flag(action, member)?;
    let status = bits(state);
    store(state, if on { status | bit } else { status & !bit });
    Ok(())
}

/// Derives a session's activity from its `inputNeeded` list.
///
/// Every entry waits for a person, except the execution of a client's own tool in versions that distinguish people from
/// clients. If no entry waits for a person, the activity InputNeeded becomes InProgress, and other activities stay.
pub(super) fn follow_input_needed(context: &ReducerContext, session: &mut Object) -> ReducerResult {
    let people = context.dialect.clients_are_people;
    let client =
        |entry: &Value| entry.get("kind").and_then(Value::as_str) == Some("toolClientExecution");
    let waits = match given(session, "inputNeeded") {
        None => false,
        Some(Value::Array(entries)) => entries.iter().any(|entry| people || !client(entry)),
        Some(_) => return Err(NoOp::MalformedState.into()),
    };
    let status = bits(session);
    let only_input = INPUT_NEEDED & !IN_PROGRESS;
    store(session, if waits { with_activity(status, INPUT_NEEDED) } else { status & !only_input });
    Ok(())
}

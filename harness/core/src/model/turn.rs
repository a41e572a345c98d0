//! The turns of a chat: start, end, resumption and truncation.
//!
//! From 0.9.0 on, a chat's `modifiedAt` is the start time of its latest turn; when the turn has ended, `modifiedAt` is
//! the start time plus the turn's duration. No other event changes `modifiedAt`.
//!
//! Knows: `activeTurn`, `turns`, `modifiedAt`. Never knows: the content of a turn (see [`super::chat`]).
//!
//! Start at [`end`].

use std::collections::HashSet;

use crate::wire::json::Value;

use super::NoOp;
use super::chat::{PARTS, active_turn};
use super::dialect::{ReducerContext, TurnTimes};
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, assign, given, integer, invalid, object,
};
use super::payload::{optional_text, required, text, text_of};
use super::{input_list, pending, status, tool_step};
use crate::wire::timestamp;

const TURNS: &str = "turns";
const CURSOR: &str = "turnsNextCursor";

/// Starts a turn without parts, and removes the pending message that became the turn's message.
///
/// An active turn is overwritten and never reaches the history. If the id was used before, a new empty turn starts with
/// this id. The published reducers do the same in both cases. The oracle judges whether a host may send such an action.
pub(super) fn started(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let dialect = context.dialect;
    let turn_id = text(action, "turnId")?;
    let timed = dialect.times != TurnTimes::None;
    let started_at = if timed { Some(text(action, "startedAt")?) } else { None };
    let message = required(action, dialect.message, PayloadShape::Object)?;
    if let Some(queued) = optional_text(action, "queuedMessageId")? {
        pending::consume(chat, queued)?;
    }
    let mut turn = Object::new();
    turn.insert("id".to_owned(), Value::from(turn_id));
    assign(&mut turn, "startedAt", started_at.map(Value::from).as_ref());
    assign(&mut turn, dialect.message, Some(message));
    turn.insert(PARTS.to_owned(), Value::Array(Vec::new()));
    chat.insert("activeTurn".to_owned(), Value::Object(turn));
    if dialect.times == TurnTimes::Counted {
        assign(chat, "modifiedAt", action.get("startedAt"));
    }
    status::refresh(context, chat)?;
    status::mark_unread(context, chat)
}

/// Ends the turn with the state complete.
pub(super) fn complete(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    end(context, chat, action, "complete", TurnEnding::Nothing)?;
    status::refresh(context, chat)
}

/// Ends the turn with the state cancelled.
pub(super) fn cancelled(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    end(context, chat, action, "cancelled", TurnEnding::Nothing)?;
    status::refresh(context, chat)
}

/// Ends the turn in an error, which becomes its last part.
///
/// A part without a kind gets the kind `error`: some implementations omit the kind, because the type of the member
/// implies it.
pub(super) fn error(context: &ReducerContext, chat: &mut Object, action: &Object) -> ReducerResult {
    let mut part = object(action, "part")?.clone();
    part.entry("kind").or_insert_with(|| Value::from("error"));
    end(context, chat, action, "error", TurnEnding::Part(part))?;
    status::set_activity(context, chat, status::ERROR)
}

/// Ends the turn in an error, which becomes the turn's member `error`, in versions up to 0.8.0.
pub(super) fn failed(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let error = object(action, "error")?.clone();
    end(context, chat, action, "error", TurnEnding::Error(error))?;
    status::set_activity(context, chat, status::ERROR)
}

/// The value that is added to a turn when the turn ends.
enum TurnEnding {
    Nothing,
    /// The value becomes the last part.
    Part(Object),
    /// The value becomes the member `error`.
    Error(Object),
}

/// Moves the active turn into the history. Tool calls that have not ended are cancelled; open input requests
/// among the parts stay. A negative duration counts as 0.
///
/// An invalid `startedAt` does not prevent the end: `modifiedAt` then stays unchanged. Source: requirement
/// reducer.chat.endTurn-bad-startedAt.
fn end(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
    state: &str,
    last: TurnEnding,
) -> ReducerResult {
    let times = context.dialect.times;
    let turn_id = text(action, "turnId")?;
    let duration = match times {
        TurnTimes::None => None,
        _ => {
            let duration = action.get("duration").and_then(integer);
            Some(duration.ok_or_else(|| invalid("duration", PayloadShape::Integer))?.max(0))
        }
    };
    list::existing(chat, TURNS)?;
    let parts = list::ensured(active_turn(chat, turn_id)?, PARTS)?;
    for part in parts.iter_mut() {
        tool_step::skip(part);
    }
    let Some(Value::Object(mut turn)) = chat.remove("activeTurn") else {
        return Err(NoOp::MalformedState.into());
    };
    turn.insert("state".to_owned(), Value::from(state));
    assign(&mut turn, "duration", duration.map(Value::from).as_ref());
    match last {
        TurnEnding::Nothing => {}
        TurnEnding::Part(part) => list::ensured(&mut turn, PARTS)?.push(Value::Object(part)),
        TurnEnding::Error(error) => drop(turn.insert("error".to_owned(), Value::Object(error))),
    }
    let started_at = text_of(&turn, "startedAt").filter(|_| times == TurnTimes::Counted);
    let ended =
        started_at.zip(duration).and_then(|(time, more)| timestamp::plus_millis(time, more));
    if let Some(ended) = ended {
        chat.insert("modifiedAt", Value::from(ended));
    }
    input_list::forget(context, chat);
    list::ensured(chat, TURNS)?.push(Value::Object(turn));
    Ok(())
}

/// Makes the latest turn active again, if it ended in a resumable error. The error part stays. A turn without a
/// start time gets the chat's `modifiedAt`.
pub(super) fn resume(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let turn_id = text(action, "turnId")?;
    if given(chat, "activeTurn").is_some() {
        return Err(NoOp::TurnActive.into());
    }
    let modified_at = chat.get("modifiedAt").cloned();
    let turns = list::existing(chat, TURNS)?.ok_or(NoOp::UnknownTurn)?;
    let latest = turns.last().and_then(Value::as_object);
    let latest = latest.filter(|turn| text_of(turn, "id") == Some(turn_id));
    if !resumable(latest.ok_or(NoOp::UnknownTurn)?) {
        return Err(NoOp::NotResumable.into());
    }
    let Some(Value::Object(mut turn)) = turns.pop() else {
        return Err(NoOp::MalformedState.into());
    };
    turn.remove("state");
    turn.remove("duration");
    if given(&turn, "startedAt").is_none() {
        assign(&mut turn, "startedAt", modified_at.as_ref());
    }
    chat.insert("activeTurn".to_owned(), Value::Object(turn));
    status::refresh(context, chat)?;
    status::mark_unread(context, chat)
}

fn resumable(turn: &Object) -> bool {
    let parts = turn.get(PARTS).and_then(Value::as_array);
    let last = parts.and_then(|parts| parts.last()).and_then(Value::as_object);
    text_of(turn, "state") == Some("error")
        && last.is_some_and(|part| {
            text_of(part, "kind") == Some("error")
                && part.get("resumable") == Some(&Value::Bool(true))
        })
}

/// Removes the turns after the named turn. If no turn is named, removes all turns and the cursor. The active
/// turn is also removed and never reaches the history; pending messages stay.
pub(super) fn truncated(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let turn_id = optional_text(action, "turnId")?;
    match turn_id {
        Some(turn_id) => {
            let turns = list::existing(chat, TURNS)?.ok_or(NoOp::UnknownTurn)?;
            let index = list::position(turns, "id", turn_id).ok_or(NoOp::UnknownTurn)?;
            turns.truncate(index.saturating_add(1));
        }
        None => {
            list::ensured(chat, TURNS)?.clear();
            if context.dialect.pages {
                chat.remove(CURSOR);
            }
        }
    }
    chat.remove("activeTurn");
    input_list::forget(context, chat);
    status::refresh(context, chat)
}

/// Inserts older turns before the present turns, except those that the chat already has, and replaces the cursor.
pub(super) fn loaded(chat: &mut Object, action: &Object) -> ReducerResult {
    let older = required(action, "turns", PayloadShape::List)?;
    let cursor = optional_text(action, CURSOR)?.map(Value::from);
    let turns = list::ensured(chat, TURNS)?;
    let id = |turn: &Value| turn.get("id").and_then(Value::as_str).map(str::to_owned);
    let known: HashSet<String> = turns.iter().filter_map(id).collect();
    let unseen = |turn: &&Value| id(turn).is_none_or(|id| !known.contains(&id));
    let older = older.as_array().into_iter().flatten().filter(unseen);
    turns.splice(0..0, older.cloned());
    assign(chat, CURSOR, cursor.as_ref());
    Ok(())
}

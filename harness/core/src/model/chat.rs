//! The chat channel: the active turn and the parts that stream into it.
//!
//! Knows: the members of a chat's state. Never knows: finished turns, which [`super::turn`] handles.
//!
//! Start at [`active_turn`].

use crate::wire::json::Value;

use super::NoOp;
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, append, assign, given, object, required, text, text_of,
};

/// The name of the member of a turn that contains the parts of the turn's response.
pub(super) const PARTS: &str = "responseParts";

/// Returns the active turn, regardless of its id.
pub(super) fn any_active_turn(chat: &mut Object) -> ReducerResult<&mut Object> {
    if given(chat, "activeTurn").is_none() {
        return Err(NoOp::NoActiveTurn.into());
    }
    let turn = chat.get_mut("activeTurn").and_then(Value::as_object_mut);
    turn.ok_or_else(|| NoOp::MalformedState.into())
}

/// Returns the active turn if the turn has this id.
pub(super) fn active_turn<'a>(
    chat: &'a mut Object,
    turn_id: &str,
) -> ReducerResult<&'a mut Object> {
    let turn = any_active_turn(chat)?;
    if text_of(turn, "id") == Some(turn_id) { Ok(turn) } else { Err(NoOp::WrongTurn.into()) }
}

/// Returns the id of a part: the part's own id, or the id of its tool call.
pub fn part_id(part: &Value) -> Option<&str> {
    let holder = match part.get("kind").and_then(Value::as_str) {
        Some("toolCall") => part.get("toolCall")?.get("toolCallId"),
        _ => part.get("id"),
    };
    holder?.as_str()
}

/// Appends text to a Markdown part of the active turn.
pub(super) fn delta(chat: &mut Object, action: &Object) -> ReducerResult {
    append_to(chat, action, "markdown")
}

/// Appends text to a reasoning part of the active turn.
pub(super) fn reasoning(chat: &mut Object, action: &Object) -> ReducerResult {
    append_to(chat, action, "reasoning")
}

fn append_to(chat: &mut Object, action: &Object, kind: &str) -> ReducerResult {
    let turn_id = text(action, "turnId")?;
    let wanted = text(action, "partId")?;
    let content = text(action, "content")?;
    let turn = active_turn(chat, turn_id)?;
    let parts = list::existing(turn, PARTS)?.ok_or(NoOp::UnknownPart)?;
    let part = parts.iter_mut().rev().find(|part| part_id(part) == Some(wanted));
    let part = part.and_then(Value::as_object_mut).ok_or(NoOp::UnknownPart)?;
    if text_of(part, "kind") != Some(kind) {
        return Err(NoOp::WrongPartKind.into());
    }
    append(part, "content", content)
}

/// Adds a part to the active turn. From 0.9.0 on, parts of kind `error` are rejected.
pub(super) fn response_part(chat: &mut Object, action: &Object) -> ReducerResult {
    let turn_id = text(action, "turnId")?;
    let part = object(action, "part")?;
    active_turn(chat, turn_id)?;
    if text_of(part, "kind") == Some("error") {
        return Err(NoOp::ErrorPart.into());
    }
    any_part(chat, action)
}

/// Adds a part of any kind to the active turn. The chat's status is not updated, even if the part waits for a
/// person: the next action that derives the status updates it.
pub(super) fn any_part(chat: &mut Object, action: &Object) -> ReducerResult {
    let turn_id = text(action, "turnId")?;
    let part = object(action, "part")?;
    let turn = active_turn(chat, turn_id)?;
    list::ensured(turn, PARTS)?.push(Value::Object(part.clone()));
    Ok(())
}

/// Replaces the usage of the active turn.
pub(super) fn usage(chat: &mut Object, action: &Object) -> ReducerResult {
    let turn_id = text(action, "turnId")?;
    let usage = required(action, "usage", PayloadShape::Object)?;
    assign(active_turn(chat, turn_id)?, "usage", Some(usage));
    Ok(())
}

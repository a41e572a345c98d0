//! The session channel: life cycle, the catalogue of chats, and entries that wait for a person.
//!
//! Knows: the members of a session's state. Never knows: the states of chats, except their copies in the
//! catalogue.
//!
//! Start at [`chat_updated`].

use std::collections::HashMap;

use crate::wire::json::Value;

use super::NoOp;
use super::dialect::ReducerContext;
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, assign, given, key_of, object, required, text, texts,
};
use super::status;

/// Sets the life cycle to `ready`.
pub(super) fn ready(session: &mut Object, _action: &Object) -> ReducerResult {
    assign(session, "lifecycle", Some(&Value::from("ready")));
    Ok(())
}

/// Sets the life cycle to `ready` in versions up to 0.1.0. The whole status becomes Idle: flags and a running
/// turn are lost.
///
/// Source: the semantics of the actions of 0.1.0. The published crate whose version is the integer `1` derives
/// the activity and keeps the flags; this function follows the specification's own reducer.
pub(super) fn ready_anew(
    context: &ReducerContext,
    session: &mut Object,
    action: &Object,
) -> ReducerResult {
    ready(session, action)?;
    let idle = Value::from(status::IDLE);
    assign(context.summary(session)?, "status", Some(&idle));
    Ok(())
}

/// Sets the tools of the only active client, in versions up to 0.4.0.
pub(super) fn client_tools(session: &mut Object, action: &Object) -> ReducerResult {
    let tools = required(action, "tools", PayloadShape::List)?;
    if given(session, "activeClient").is_none() {
        return Err(NoOp::UnknownClient.into());
    }
    let client = session.get_mut("activeClient").and_then(Value::as_object_mut);
    assign(client.ok_or(NoOp::MalformedState)?, "tools", Some(tools));
    Ok(())
}

/// Records that the session could not be created. The activity stays unchanged, and no Error bit is set.
pub(super) fn creation_failed(session: &mut Object, action: &Object) -> ReducerResult {
    failed(session, action, "failed")
}

/// Records that the session could not be created, in versions up to 0.8.0, which name this stage
/// `creationFailed`.
pub(super) fn creation_failed_before(session: &mut Object, action: &Object) -> ReducerResult {
    failed(session, action, "creationFailed")
}

fn failed(session: &mut Object, action: &Object, lifecycle: &str) -> ReducerResult {
    let error = required(action, "error", PayloadShape::Object)?;
    assign(session, "lifecycle", Some(&Value::from(lifecycle)));
    assign(session, "creationError", Some(error));
    Ok(())
}

/// Removes a chat from the catalogue. If this is the default chat, the session has no default chat afterwards.
pub(super) fn chat_removed(session: &mut Object, action: &Object) -> ReducerResult {
    let chat = text(action, "chat")?;
    let chats = list::existing(session, "chats")?.ok_or(NoOp::UnknownChat)?;
    if !list::remove(chats, "resource", chat) {
        return Err(NoOp::UnknownChat.into());
    }
    if session.get("defaultChat").and_then(Value::as_str) == Some(chat) {
        session.remove("defaultChat");
    }
    Ok(())
}

/// Merges changes into a chat's entry; `resource` is never changed. An update cannot clear a member: null counts as
/// absent, and an absent member stays unchanged.
pub(super) fn chat_updated(session: &mut Object, action: &Object) -> ReducerResult {
    let chat = text(action, "chat")?;
    let changes = object(action, "changes")?;
    let chats = list::existing(session, "chats")?.ok_or(NoOp::UnknownChat)?;
    let index = list::position(chats, "resource", chat).ok_or(NoOp::UnknownChat)?;
    let entry = chats.get_mut(index).and_then(Value::as_object_mut);
    let entry = entry.ok_or(NoOp::UnknownChat)?;
    for (name, value) in changes {
        if name != "resource" && !value.is_null() {
            entry.insert(name.clone(), value.clone());
        }
    }
    Ok(())
}

/// Reorders the catalogue, if the list names every chat exactly once.
pub(super) fn chats_reordered(session: &mut Object, action: &Object) -> ReducerResult {
    let order = texts(action, "chats")?;
    let chats = list::existing(session, "chats")?.ok_or(NoOp::NotAPermutation)?;
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, chat) in order.iter().enumerate() {
        if places.insert(chat, place).is_some() {
            return Err(NoOp::NotAPermutation.into());
        }
    }
    // Looking up a chat removes it from the map, so a catalogue that contains a chat twice does not match the list.
    let mut place_of = |chat: &Value| {
        let resource = chat.get("resource").and_then(Value::as_str)?;
        places.remove(resource)
    };
    let current: Option<Vec<usize>> = chats.iter().map(&mut place_of).collect();
    let current = current.filter(|current| current.len() == order.len());
    let current = current.ok_or(NoOp::NotAPermutation)?;
    if current.is_sorted() {
        return Err(NoOp::Unchanged.into());
    }
    let mut slots: Vec<Option<Value>> = vec![None; order.len()];
    for (chat, place) in chats.drain(..).zip(current) {
        if let Some(slot) = slots.get_mut(place) {
            *slot = Some(chat);
        }
    }
    chats.extend(slots.into_iter().flatten());
    Ok(())
}

/// Adds or replaces an entry that waits for a person, and updates the activity.
pub(super) fn input_needed_set(
    context: &ReducerContext,
    session: &mut Object,
    action: &Object,
) -> ReducerResult {
    let id = key_of(action, "request", "id")?;
    let request = required(action, "request", PayloadShape::Object)?;
    list::upsert(session, "inputNeeded", "id", id, request.clone())?;
    status::follow_input_needed(context, session)
}

/// Removes an entry that waited for a person, and updates the activity. An empty list is removed.
pub(super) fn input_needed_removed(
    context: &ReducerContext,
    session: &mut Object,
    action: &Object,
) -> ReducerResult {
    let id = text(action, "id")?;
    let entries = list::existing(session, "inputNeeded")?.ok_or(NoOp::UnknownRequest)?;
    if !list::remove(entries, "id", id) {
        return Err(NoOp::UnknownRequest.into());
    }
    let empty = given(session, "inputNeeded").and_then(Value::as_array);
    if empty.is_some_and(Vec::is_empty) {
        session.remove("inputNeeded");
    }
    status::follow_input_needed(context, session)
}

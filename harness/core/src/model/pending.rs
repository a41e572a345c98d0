//! Pending messages of a chat: the queue, and the steering message for the active turn.
//!
//! Knows: `queuedMessages` and `steeringMessage`. Never knows: the time of delivery.

use std::collections::HashMap;

use crate::wire::json::{Value, json};

use super::NoOp;
use super::dialect::ReducerContext;
use super::list;
use super::payload::{Object, PayloadShape, ReducerResult, given, required, text, texts};

const QUEUE: &str = "queuedMessages";
const STEERING: &str = "steeringMessage";

/// Returns whether a kind denotes a steering message. An unknown kind counts as `queued`, so the message is not
/// lost.
fn steers(kind: &str) -> bool {
    kind == "steering"
}

/// Sets the steering message, replaces a queued message in place, or appends a message to the queue.
pub(super) fn set(context: &ReducerContext, chat: &mut Object, action: &Object) -> ReducerResult {
    let kind = text(action, "kind")?;
    let id = text(action, "id")?;
    let member = context.dialect.message;
    let message = required(action, member, PayloadShape::Object)?;
    let entry = json!({"id": id, member: message});
    if steers(kind) {
        chat.insert(STEERING.to_owned(), entry);
        return Ok(());
    }
    list::upsert(chat, QUEUE, "id", id, entry)
}

/// Removes a pending message. An empty queue is removed.
pub(super) fn removed(chat: &mut Object, action: &Object) -> ReducerResult {
    let kind = text(action, "kind")?;
    let id = text(action, "id")?;
    let found = if steers(kind) { remove_steering(chat, id) } else { remove_queued(chat, id)? };
    if found { Ok(()) } else { Err(NoOp::UnknownMessage.into()) }
}

/// Removes the message from which a turn was started, whether it is in the queue or is the steering message.
pub(super) fn consume(chat: &mut Object, id: &str) -> ReducerResult {
    // Removal from the queue can fail, so it has to precede any change.
    remove_queued(chat, id)?;
    // Like the published reducers, this function also removes a queue that was empty before.
    if list::existing(chat, QUEUE)?.is_some_and(|queue| queue.is_empty()) {
        chat.remove(QUEUE);
    }
    remove_steering(chat, id);
    Ok(())
}

fn remove_steering(chat: &mut Object, id: &str) -> bool {
    let stored = chat.get(STEERING).and_then(|message| message.get("id"));
    let matches = stored.and_then(Value::as_str) == Some(id);
    if matches {
        chat.remove(STEERING);
    }
    matches
}

fn remove_queued(chat: &mut Object, id: &str) -> ReducerResult<bool> {
    let Some(queue) = list::existing(chat, QUEUE)? else {
        return Ok(false);
    };
    let found = list::remove(queue, "id", id);
    if found && queue.is_empty() {
        chat.remove(QUEUE);
    }
    Ok(found)
}

/// Moves the messages that the action names to the front, in the order of the action. Unknown ids are ignored, and if
/// an id occurs twice, the first place counts. All other messages follow in their old order.
pub(super) fn reordered(chat: &mut Object, action: &Object) -> ReducerResult {
    let order = texts(action, "order")?;
    if given(chat, QUEUE).is_none() {
        return Err(NoOp::NoQueue.into());
    }
    let queue = list::existing(chat, QUEUE)?.ok_or(NoOp::NoQueue)?;
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, id) in order.iter().enumerate() {
        places.entry(id).or_insert(place);
    }
    // The sort is stable, so messages without a place keep their order.
    queue.sort_by_key(|message| {
        let id = message.get("id").and_then(Value::as_str);
        id.and_then(|id| places.get(id)).copied().unwrap_or(usize::MAX)
    });
    Ok(())
}

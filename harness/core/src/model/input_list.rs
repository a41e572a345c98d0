//! Input requests in versions up to 0.5.2: the list `inputRequests`, from which the status is derived.
//!
//! The list is independent of turns. A request is removed when it is answered, when a turn ends, and when turns
//! are truncated. From 0.5.2 on an answered request becomes a part of the active turn.
//!
//! Knows: the list. Never knows: questions, valid answers.
//!
//! Start at [`requested`].

use crate::wire::json::{Value, json};

use super::NoOp;
use super::chat::PARTS;
use super::dialect::{QuestionPlace, ReducerContext};
use super::input::{set_answer, store_answers};
use super::list;
use super::payload::{Object, PayloadShape, ReducerResult, given, key_of, object, optional, text};
use super::status;

/// The name of the member of a chat that contains the list of input requests.
pub(super) const QUESTIONS: &str = "inputRequests";

/// Adds a request, or replaces the request with the same id. The old answers stay unless the new request has
/// answers.
pub(super) fn requested(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let id = key_of(action, "request", "id")?;
    let mut request = object(action, "request")?.clone();
    let requests = list::ensured(chat, QUESTIONS)?;
    match list::position(requests, "id", id).and_then(|index| requests.get_mut(index)) {
        Some(slot) => {
            if let Some(answers) =
                slot.get("answers").filter(|_| given(&request, "answers").is_none())
            {
                request.insert("answers".to_owned(), answers.clone());
            }
            *slot = Value::Object(request);
        }
        None => requests.push(Value::Object(request)),
    }
    status::refresh(context, chat)?;
    status::mark_unread(context, chat)
}

/// Sets or removes the answer to one question. If no answer is left, the member `answers` is removed.
pub(super) fn answer_changed(chat: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "requestId")?;
    let question = text(action, "questionId")?;
    let answer = optional(action, "answer", PayloadShape::Object)?;
    let requests = list::existing(chat, QUESTIONS)?.ok_or(NoOp::UnknownRequest)?;
    let index = list::position(requests, "id", id).ok_or(NoOp::UnknownRequest)?;
    let request = requests.get_mut(index).and_then(Value::as_object_mut);
    let request = request.ok_or(NoOp::UnknownRequest)?;
    set_answer(request, question, answer)
}

/// Closes a request, without keeping the answers.
pub(super) fn completed(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    taken(chat, action)?;
    status::refresh(context, chat)
}

/// Closes a request. If a turn is active, the request becomes a part of the turn, with its response. The given
/// answers are merged into the answers of the request.
pub(super) fn transcribed(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let given_answers =
        optional(action, "answers", PayloadShape::Object)?.and_then(Value::as_object);
    if let Some(turn) = chat.get_mut("activeTurn").and_then(Value::as_object_mut) {
        list::existing(turn, PARTS)?;
    }
    let mut request = taken(chat, action)?;
    let mut answers = request
        .remove("answers")
        .and_then(|answers| match answers {
            Value::Object(answers) => Some(answers),
            _ => None,
        })
        .unwrap_or_default();
    for (question, answer) in given_answers.into_iter().flatten() {
        answers.insert(question.clone(), answer.clone());
    }
    store_answers(&mut request, answers);
    if let Some(turn) = chat.get_mut("activeTurn").and_then(Value::as_object_mut) {
        let response = action.get("response");
        let part = json!({"kind": "inputRequest", "request": request, "response": response});
        list::ensured(turn, PARTS)?.push(part);
    }
    status::refresh(context, chat)
}

/// Removes the request that the action names from the list, and returns the request. If the list is empty then, the
/// list itself is removed.
fn taken(chat: &mut Object, action: &Object) -> ReducerResult<Object> {
    let id = text(action, "requestId")?;
    text(action, "response")?;
    let requests = list::existing(chat, QUESTIONS)?.ok_or(NoOp::UnknownRequest)?;
    let index = list::position(requests, "id", id).ok_or(NoOp::UnknownRequest)?;
    let request = requests.get(index).and_then(Value::as_object).cloned();
    let request = request.ok_or(NoOp::UnknownRequest)?;
    list::remove(requests, "id", id);
    if requests.is_empty() {
        chat.remove(QUESTIONS);
    }
    Ok(request)
}

/// Removes the unanswered requests, in versions that have the list `inputRequests`.
pub(super) fn forget(context: &ReducerContext, chat: &mut Object) {
    if context.dialect.questions == QuestionPlace::Listed {
        chat.remove(QUESTIONS);
    }
}

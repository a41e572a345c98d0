//! Input requests to a person, which are parts of the active turn from 0.6.0 on.
//!
//! Knows: parts of kind `inputRequest`. Never knows: questions, valid answers.
//!
//! Start at [`open_request`].

use crate::wire::json::{Value, json};

use super::NoOp;
use super::chat::{PARTS, any_active_turn};
use super::dialect::ReducerContext;
use super::list;
use super::payload::{Object, PayloadShape, ReducerResult, assign, given, key_of, optional, text};
use super::payload::{object, text_of};
use super::status;

/// Returns the newest part with an open request that has this id.
fn open_request<'a>(turn: &'a mut Object, id: &str) -> ReducerResult<Option<&'a mut Object>> {
    let Some(parts) = list::existing(turn, PARTS)? else {
        return Ok(None);
    };
    let open = |part: &&mut Object| {
        let request = part.get("request").and_then(Value::as_object);
        text_of(part, "kind") == Some("inputRequest")
            && given(part, "response").is_none()
            && request.and_then(|request| text_of(request, "id")) == Some(id)
    };
    Ok(parts.iter_mut().rev().filter_map(Value::as_object_mut).find(open))
}

fn request_of<'a>(chat: &'a mut Object, id: &str) -> ReducerResult<&'a mut Object> {
    let part = open_request(any_active_turn(chat)?, id)?.ok_or(NoOp::UnknownRequest)?;
    let request = part.get_mut("request").and_then(Value::as_object_mut);
    request.ok_or_else(|| NoOp::UnknownRequest.into())
}

/// Adds a request, or replaces the open request with the same id. The old answers stay unless the new request
/// has answers.
pub(super) fn requested(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let id = key_of(action, "request", "id")?;
    let mut request = object(action, "request")?.clone();
    let turn = any_active_turn(chat)?;
    if let Some(part) = open_request(turn, id)? {
        if given(&request, "answers").is_none() {
            let kept = part.get_mut("request").and_then(Value::as_object_mut);
            if let Some(answers) = kept.and_then(|kept| kept.remove("answers")) {
                request.insert("answers", answers);
            }
        }
        part.insert("request", Value::Object(request));
    } else {
        let part = json!({"kind": "inputRequest", "request": request});
        list::ensured(turn, PARTS)?.push(part);
    }
    status::refresh(context, chat)?;
    status::mark_unread(context, chat)
}

/// Sets or removes the answer to one question. If no answer is left, the member `answers` is removed.
pub(super) fn answer_changed(chat: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "requestId")?;
    let question = text(action, "questionId")?;
    let answer = optional(action, "answer", PayloadShape::Object)?;
    set_answer(request_of(chat, id)?, question, answer)
}

/// Sets or removes one answer of a request.
pub(super) fn set_answer(
    request: &mut Object,
    question: &str,
    answer: Option<&Value>,
) -> ReducerResult {
    let mut answers = answers_of(request)?;
    assign(&mut answers, question, answer);
    store_answers(request, answers);
    Ok(())
}

/// Closes a request: merges the given answers into the answers of the request, and stores the response.
pub(super) fn completed(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let id = text(action, "requestId")?;
    text(action, "response")?;
    let given = optional(action, "answers", PayloadShape::Object)?.and_then(Value::as_object);
    let request = request_of(chat, id)?;
    let mut answers = answers_of(request)?;
    for (question, answer) in given.into_iter().flatten() {
        answers.insert(question.clone(), answer.clone());
    }
    store_answers(request, answers);
    if let Some(part) = open_request(any_active_turn(chat)?, id)? {
        assign(part, "response", action.get("response"));
    }
    status::refresh(context, chat)
}

/// Removes the answers from a request and returns them. The caller has to store the answers again.
fn answers_of(request: &mut Object) -> ReducerResult<Object> {
    match request.get_mut("answers").map(Value::take) {
        None | Some(Value::Null) => Ok(Object::new()),
        Some(Value::Object(answers)) => Ok(answers),
        Some(other) => {
            request.insert("answers", other);
            Err(NoOp::MalformedState.into())
        }
    }
}

pub(super) fn store_answers(request: &mut Object, answers: Object) {
    if answers.is_empty() {
        request.remove("answers");
    } else {
        request.insert("answers", Value::Object(answers));
    }
}

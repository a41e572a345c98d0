//! The effects of each transition on a tool call's members.
//!
//! Knows: the table of [`super::tool_call`]. Never knows: the effect of tools, the rules for decisions.
//!
//! Start at [`reduce`], then [`advance`]. Source: requirements reducer.chat.tool.*.

use crate::wire::json::{Value, json};

use super::NoOp;
use super::chat::{PARTS, active_turn};
use super::dialect::{ChannelDialect, ReducerContext};
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, ReducerStop, append, assign, flag, given, invalid, object,
};
use super::payload::{optional, optional_text, required, text, text_of};
use super::status;
use super::tool_call::{STATUSES, ToolCallStatus, ToolEvent, event, next};

/// The members that a result may not overwrite: the members that a call has in every status, the input of the call, and
/// the decisions about the call.
const KEPT_FROM_RESULTS: &[&str] = &[
    "status",
    "toolCallId",
    "toolName",
    "displayName",
    "intention",
    "contributor",
    "_meta",
    "invocationMessage",
    "toolInput",
    "confirmed",
    "selectedOption",
];

/// Checks whether an action has the members that an event requires, besides the members that determine the event.
fn check(dialect: &ChannelDialect, action: &Object, event: ToolEvent) -> ReducerResult {
    use ToolEvent::*;
    match event {
        Start => {
            text(action, "toolName")?;
            text(action, "displayName")?;
            optional(action, "contributor", PayloadShape::Object)?;
        }
        Delta => {
            let content = optional_text(action, "content")?;
            if content.is_none() && !dialect.empty_deltas {
                return Err(invalid("content", PayloadShape::Text));
            }
            optional(action, "invocationMessage", PayloadShape::TextOrObject)?;
        }
        ReadyUnconfirmed | ReadyConfirmed => {
            required(action, "invocationMessage", PayloadShape::TextOrObject)?;
            optional(action, "toolInput", PayloadShape::TextOrObject)?;
            optional(action, "contributor", PayloadShape::Object)?;
        }
        Approved => {
            optional_text(action, "confirmed")?;
            optional_text(action, "editedToolInput")?;
            optional_text(action, "selectedOptionId")?;
        }
        Denied => {
            optional_text(action, "reason")?;
            optional_text(action, "selectedOptionId")?;
        }
        ContentChanged => drop(required(action, "content", PayloadShape::List)?),
        AuthRequired => drop(required(action, "auth", PayloadShape::Object)?),
        AuthResolved | ResultApproved | ResultDenied => {}
        Complete | CompleteNeedsConfirmation => {
            let result = object(action, "result")?;
            if flag(result, "success").is_err() {
                return Err(invalid("result.success", PayloadShape::Flag));
            }
            if required(result, "pastTenseMessage", PayloadShape::TextOrObject).is_err() {
                return Err(invalid("result.pastTenseMessage", PayloadShape::TextOrObject));
            }
        }
    }
    optional(action, "_meta", PayloadShape::Object)?;
    Ok(())
}

/// Applies a transition to a tool call of the active turn.
///
/// An action whose call does not exist leaves the whole state untouched, as the specification says. The TypeScript
/// reducers derive the chat's status even in this case, which changes Error to Idle. If the call exists and its status
/// does not permit the action, all implementations derive the chat's status, which matters only if the chat's status
/// was out of date (see [`super::chat::any_part`]).
pub(super) fn reduce(
    context: &ReducerContext,
    chat: &mut Object,
    action: &Object,
) -> ReducerResult {
    let dialect = context.dialect;
    let turn_id = text(action, "turnId")?;
    let call_id = text(action, "toolCallId")?;
    let Some(event) = event(action)? else {
        return Err(NoOp::WrongStatus.into());
    };
    check(dialect, action, event)?;
    let turn = active_turn(chat, turn_id)?;
    if event == ToolEvent::Start {
        let part = json!({"kind": "toolCall", "toolCall": started(dialect, action)});
        list::ensured(turn, PARTS)?.push(part);
        return Ok(());
    }
    let call = call_mut(turn, call_id)?.ok_or(NoOp::UnknownToolCall)?;
    let taken = take(dialect, call, event, action);
    if matches!(event, ToolEvent::Delta | ToolEvent::ContentChanged) {
        return taken;
    }
    match taken {
        Err(ReducerStop::NoOp(_)) if status::catch_up(context, chat)? => Ok(()),
        Err(stop) => Err(stop),
        Ok(()) => status::refresh(context, chat),
    }
}

/// Executes the transition of the table for an event; returns a no-op if the table has no such transition.
fn take(
    dialect: &ChannelDialect,
    call: &mut Object,
    event: ToolEvent,
    action: &Object,
) -> ReducerResult {
    let from = text_of(call, "status").and_then(ToolCallStatus::from_name);
    let from = from.filter(|from| *from != ToolCallStatus::AuthRequired || dialect.tool_auth);
    let from = from.ok_or(NoOp::WrongStatus)?;
    let to = next(Some(from), event).ok_or(NoOp::WrongStatus)?;
    guard(dialect, call, from, event, action)?;
    advance(dialect, call, ToolTransitionStep { from, event, to }, action)
}

/// The transition that is executed.
#[derive(Clone, Copy)]
struct ToolTransitionStep {
    from: ToolCallStatus,
    event: ToolEvent,
    to: ToolCallStatus,
}

fn call_mut<'a>(turn: &'a mut Object, call_id: &str) -> ReducerResult<Option<&'a mut Object>> {
    let Some(parts) = list::existing(turn, PARTS)? else {
        return Ok(None);
    };
    Ok(parts
        .iter_mut()
        .rev()
        .filter(|part| part.get("kind").and_then(Value::as_str) == Some("toolCall"))
        .filter_map(|part| part.get_mut("toolCall")?.as_object_mut())
        .find(|call| text_of(call, "toolCallId") == Some(call_id)))
}

fn started(dialect: &ChannelDialect, action: &Object) -> Object {
    let mut call = Object::new();
    for name in dialect.tool_start {
        assign(&mut call, name, given(action, name));
    }
    call.insert("status", Value::from(ToolCallStatus::Streaming.name()));
    call
}

/// Checks the conditions of a transition other than the status of the call.
fn guard(
    dialect: &ChannelDialect,
    call: &Object,
    from: ToolCallStatus,
    event: ToolEvent,
    action: &Object,
) -> ReducerResult {
    let asks = matches!(event, ToolEvent::ReadyUnconfirmed | ToolEvent::ReadyConfirmed);
    if asks && from == ToolCallStatus::PendingConfirmation && !dialect.asks_again {
        return Err(NoOp::WrongStatus.into());
    }
    if event == ToolEvent::AuthRequired && contributor_kind(call.get("contributor")) != Some("mcp")
    {
        return Err(NoOp::NotMcp.into());
    }
    let completes = matches!(event, ToolEvent::Complete | ToolEvent::CompleteNeedsConfirmation);
    let success = || object(action, "result").and_then(|result| flag(result, "success"));
    if from == ToolCallStatus::AuthRequired && completes && success()? {
        return Err(NoOp::AwaitsAuth.into());
    }
    if event == ToolEvent::Delta
        && call.get("partialInput").is_some_and(|input| !input.is_string() && !input.is_null())
    {
        return Err(NoOp::MalformedState.into());
    }
    Ok(())
}

/// Sets the new status, and removes the members that belong only to other statuses. Members that belong to no status
/// stay.
fn enter(call: &mut Object, to: ToolCallStatus) {
    call.insert("status", Value::from(to.name()));
    let keeps = to.row().members;
    for name in STATUSES.iter().flat_map(|row| row.members) {
        if !keeps.contains(name) {
            call.remove(name);
        }
    }
}

fn advance(
    dialect: &ChannelDialect,
    call: &mut Object,
    step: ToolTransitionStep,
    action: &Object,
) -> ReducerResult {
    use ToolEvent::*;
    if let Some(meta) = given(action, "_meta").filter(|_| dialect.tool_meta) {
        assign(call, "_meta", Some(meta));
    }
    match step.event {
        Start => {}
        Delta => {
            overlay(call, action, &["invocationMessage"]);
            if let Some(content) = optional_text(action, "content")? {
                append(call, "partialInput", content)?;
            }
        }
        ReadyUnconfirmed | ReadyConfirmed => ready(dialect, call, step, action),
        Approved => {
            choose_option(call, action);
            enter(call, step.to);
            let confirmed = given(action, "confirmed").cloned();
            let confirmed = confirmed.unwrap_or_else(|| Value::from("not-needed"));
            call.insert("confirmed".to_owned(), confirmed);
            if !dialect.refines_calls || call.get("toolInput").is_some_and(Value::is_string) {
                let edited = given(action, "editedToolInput").cloned();
                call.extend(edited.map(|input| ("toolInput".to_owned(), input)));
            }
        }
        Denied => {
            choose_option(call, action);
            enter(call, step.to);
            call.insert("reason", Value::from("denied"));
            overlay(call, action, &["reason", "reasonMessage", "userSuggestion"]);
        }
        ContentChanged => overlay(call, action, &["content"]),
        AuthRequired => {
            enter(call, step.to);
            overlay(call, action, &["auth"]);
        }
        AuthResolved | ResultApproved => enter(call, step.to),
        Complete | CompleteNeedsConfirmation => complete(call, step, object(action, "result")?),
        ResultDenied => {
            enter(call, step.to);
            call.insert("reason", Value::from("result-denied"));
        }
    }
    Ok(())
}

/// Copies those of the named members that the action has. The call's other members stay.
fn overlay(call: &mut Object, action: &Object, names: &[&str]) {
    for name in names {
        if let Some(value) = given(action, name) {
            assign(call, name, Some(value));
        }
    }
}

/// Completes the input. Members of an earlier `ready` action stay if this action omits them, unless the call has run in
/// the meantime: a call that has run loses its selected option and its content. Up to 0.6.0, the input stays only if
/// the action requests confirmation of a call that already waits for confirmation.
fn ready(dialect: &ChannelDialect, call: &mut Object, step: ToolTransitionStep, action: &Object) {
    let asked_again = step.from == ToolCallStatus::PendingConfirmation && step.from == step.to;
    let keeps_input = match dialect.refines_calls {
        true => step.from != ToolCallStatus::Streaming,
        false => asked_again,
    };
    if !keeps_input {
        call.remove("toolInput");
    }
    for name in ["selectedOption", "content"] {
        call.remove(name);
    }
    enter(call, step.to);
    overlay(call, action, &["invocationMessage", "toolInput"]);
    if dialect.refines_calls {
        overlay(call, action, &["intention"]);
        refine_contributor(call, action);
    }
    if step.event == ToolEvent::ReadyConfirmed {
        overlay(call, action, &["confirmed"]);
    } else {
        overlay(call, action, dialect.asked);
    }
}

fn contributor_kind(contributor: Option<&Value>) -> Option<&str> {
    contributor?.get("kind")?.as_str()
}

/// Replaces the contributor with a more detailed contributor, unless this would change the owner: a call of a client's
/// tool stays with that client, and no other call is given to a client.
fn refine_contributor(call: &mut Object, action: &Object) {
    let Some(refined) = given(action, "contributor") else {
        return;
    };
    let stored = call.get("contributor");
    let client = |contributor: Option<&Value>| {
        let id = contributor.and_then(|contributor| contributor.get("clientId"));
        (contributor_kind(contributor) == Some("client")).then(|| id.cloned())
    };
    if client(stored) == client(Some(refined)) {
        assign(call, "contributor", Some(refined));
    }
}

/// Stores the option that the person chose, if the call offers it.
fn choose_option(call: &mut Object, action: &Object) {
    let wanted = text_of(action, "selectedOptionId");
    let options = call.get("options").and_then(Value::as_array);
    let chosen = options
        .into_iter()
        .flatten()
        .find(|option| wanted.is_some() && option.get("id").and_then(Value::as_str) == wanted);
    let chosen = chosen.cloned();
    assign(call, "selectedOption", chosen.as_ref());
}

/// Stores a result. Content of the running call is removed or replaced by the content of the result; content from
/// before a failed authentication stays. A call that was never confirmed counts as `not-needed`.
fn complete(call: &mut Object, step: ToolTransitionStep, result: &Object) {
    if step.from != ToolCallStatus::AuthRequired {
        call.remove("content");
    }
    if step.from == ToolCallStatus::PendingConfirmation {
        call.remove("selectedOption");
        call.insert("confirmed", Value::from("not-needed"));
    }
    enter(call, step.to);
    for (name, value) in result {
        if !value.is_null() && !KEPT_FROM_RESULTS.contains(&name.as_str()) {
            call.insert(name.clone(), value.clone());
        }
    }
}

/// Cancels the tool call of a part whose turn ends, unless the call has ended. Unknown statuses count as not
/// ended.
pub(super) fn skip(part: &mut Value) {
    if part.get("kind").and_then(Value::as_str) != Some("toolCall") {
        return;
    }
    let Some(call) = part.get_mut("toolCall").and_then(Value::as_object_mut) else {
        return;
    };
    let status = text_of(call, "status").and_then(ToolCallStatus::from_name);
    if status.is_some_and(ToolCallStatus::is_final) {
        return;
    }
    if status == Some(ToolCallStatus::Streaming) {
        call.remove("toolInput");
    }
    call.remove("selectedOption");
    enter(call, ToolCallStatus::Cancelled);
    call.entry("invocationMessage").or_insert_with(|| Value::from(""));
    call.insert("reason", Value::from("skipped"));
}

//! The terminal channel: output in parts, one for each command and one for what is between them.
//!
//! Output only ever grows at the end, or is cleared as a whole.
//!
//! Knows: the members of a terminal's state. Never knows: escape sequences, the process.
//!
//! Start at [`data`].

use crate::wire::json::{Value, json};

use super::NoOp;
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, append, assign, optional, required, text, text_of,
};

const CONTENT: &str = "content";
const DETECTS: &str = "supportsCommandDetection";

/// The member of a part that output still goes to: a command's until it has finished, and that of
/// output which belongs to no command. Parts of kinds that came later take none.
fn output_of(part: &Object) -> Option<&'static str> {
    match text_of(part, "type")? {
        "command" if part.get("isComplete") != Some(&Value::Bool(true)) => Some("output"),
        "unclassified" => Some("value"),
        _ => None,
    }
}

/// Appends output to the last part, or begins a part where the last one takes none. What comes
/// before the last part does not cost anything.
pub(super) fn data(terminal: &mut Object, action: &Object) -> ReducerResult {
    let data = text(action, "data")?;
    let parts = list::ensured(terminal, CONTENT)?;
    let tail = parts.last_mut().and_then(Value::as_object_mut);
    if let Some((part, member)) = tail.and_then(|part| output_of(part).map(|name| (part, name))) {
        return append(part, member, data);
    }
    parts.push(json!({ "type": "unclassified", "value": data }));
    Ok(())
}

/// Sets both measures, or neither.
pub(super) fn resized(terminal: &mut Object, action: &Object) -> ReducerResult {
    let cols = required(action, "cols", PayloadShape::Number)?;
    let rows = required(action, "rows", PayloadShape::Number)?;
    assign(terminal, "cols", Some(cols));
    assign(terminal, "rows", Some(rows));
    Ok(())
}

/// The process ended, from 0.9.0 on: earlier versions keep the exit code beside the other members.
/// The lifecycle is replaced as a whole, so a second exit leaves nothing of the first.
pub(super) fn exited(terminal: &mut Object, action: &Object) -> ReducerResult {
    let exit_code = optional(action, "exitCode", PayloadShape::Number)?;
    let mut lifecycle = Object::new();
    assign(&mut lifecycle, "status", Some(&Value::from("exited")));
    if let Some(exit_code) = exit_code {
        assign(&mut lifecycle, "exitCode", Some(exit_code));
    }
    assign(terminal, "lifecycle", Some(&Value::Object(lifecycle)));
    Ok(())
}

/// Drops all output. Whether commands are detected stays.
pub(super) fn cleared(terminal: &mut Object, _action: &Object) -> ReducerResult {
    assign(terminal, CONTENT, Some(&Value::Array(Vec::new())));
    Ok(())
}

/// The shell tells commands apart from now on.
pub(super) fn command_detection_available(
    terminal: &mut Object,
    _action: &Object,
) -> ReducerResult {
    assign(terminal, DETECTS, Some(&Value::Bool(true)));
    Ok(())
}

/// Begins the part of a command. An id that is already there is not looked for: the same command
/// begun twice has two parts.
pub(super) fn command_executed(terminal: &mut Object, action: &Object) -> ReducerResult {
    let part = json!({
        "type": "command",
        "commandId": text(action, "commandId")?,
        "commandLine": text(action, "commandLine")?,
        "output": "",
        "timestamp": required(action, "timestamp", PayloadShape::Number)?,
        "isComplete": false,
    });
    list::ensured(terminal, CONTENT)?.push(part);
    assign(terminal, DETECTS, Some(&Value::Bool(true)));
    Ok(())
}

/// Ends every part of a command, also one that had ended: the exit code and the duration become
/// the action's, or go where it has none. Where the parts of an id are more than one, the texts do
/// not say which is meant; the reading here is that of the specification's own reducer. This is the
/// one action of terminals that looks at all parts.
pub(super) fn command_finished(terminal: &mut Object, action: &Object) -> ReducerResult {
    let command = text(action, "commandId")?;
    let exit_code = optional(action, "exitCode", PayloadShape::Number)?;
    let duration = optional(action, "durationMs", PayloadShape::Number)?;
    let parts = list::existing(terminal, CONTENT)?.ok_or(NoOp::UnknownCommand)?;
    let mut found = false;
    for part in parts.iter_mut().filter_map(Value::as_object_mut) {
        if text_of(part, "type") == Some("command") && text_of(part, "commandId") == Some(command) {
            assign(part, "isComplete", Some(&Value::Bool(true)));
            assign(part, "exitCode", exit_code);
            assign(part, "durationMs", duration);
            found = true;
        }
    }
    if found { Ok(()) } else { Err(NoOp::UnknownCommand.into()) }
}

//! The terminal channel: output in parts, one part for each command and one for the output between commands.
//!
//! Output only grows at the end, or is cleared completely.
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

/// Returns the member of a part that receives new output: an unfinished command's `output`, or the `value` of
/// output without a command. Returns `None` for finished commands and for kinds of newer versions.
fn output_of(part: &Object) -> Option<&'static str> {
    match text_of(part, "type")? {
        "command" if part.get("isComplete") != Some(&Value::Bool(true)) => Some("output"),
        "unclassified" => Some("value"),
        _ => None,
    }
}

/// Appends output to the last part, or starts a new part if the last part receives no output. The cost does not
/// depend on earlier parts.
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

/// Sets both dimensions of the terminal; if one is invalid, sets neither.
pub(super) fn resized(terminal: &mut Object, action: &Object) -> ReducerResult {
    let cols = required(action, "cols", PayloadShape::Number)?;
    let rows = required(action, "rows", PayloadShape::Number)?;
    assign(terminal, "cols", Some(cols));
    assign(terminal, "rows", Some(rows));
    Ok(())
}

/// Records the exit of the process, from 0.9.0 on. Earlier versions store the exit code in a member of the state
/// itself. The lifecycle is replaced completely, so no value of a first exit remains after a second exit.
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

/// Removes all output. The flag for command detection stays.
pub(super) fn cleared(terminal: &mut Object, _action: &Object) -> ReducerResult {
    assign(terminal, CONTENT, Some(&Value::Array(Vec::new())));
    Ok(())
}

/// Records that the shell reports the start and end of commands from now on.
pub(super) fn command_detection_available(
    terminal: &mut Object,
    _action: &Object,
) -> ReducerResult {
    assign(terminal, DETECTS, Some(&Value::Bool(true)));
    Ok(())
}

/// Starts the part of a command. The function does not search for the id: a command that is started twice has
/// two parts.
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

/// Marks every part with the command's id as finished, including parts that were finished before. Exit code and
/// duration are set to the action's values, or removed. The specification does not say which part is meant if several
/// parts have the same id; this function follows the specification's own reducer. This is the only terminal action that
/// searches all parts.
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

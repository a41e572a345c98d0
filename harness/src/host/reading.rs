//! Reads members of actions and states.
//!
//! Knows: JSON. Never knows: the host.

use crate::wire::json::Value;

/// Returns the type of an action; an empty string if the action has no type.
pub(super) fn action_type(action: &Value) -> &str {
    action.get("type").and_then(Value::as_str).unwrap_or("")
}

/// Returns a tool call of the active turn; null if there is none.
pub(super) fn tool_call<'a>(state: &'a Value, id: &str) -> &'a Value {
    let parts = state["activeTurn"]["responseParts"].as_array();
    let mut calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
    calls.find(|call| call["toolCallId"] == id).unwrap_or(&Value::Null)
}

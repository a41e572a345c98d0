//! Reads tool calls in untrusted states of chats.
//!
//! Knows: JSON. Never knows: the rules for tool calls.

use crate::wire::json::Value;

use super::members::{given, text};

/// Returns the newest tool call with this id.
pub(super) fn find<'a>(turn: &'a Value, id: &str) -> Option<&'a Value> {
    let parts = turn.get("responseParts")?.as_array()?;
    let calls = parts.iter().rev().filter_map(|part| part.get("toolCall"));
    calls.into_iter().find(|call| call.get("toolCallId").and_then(Value::as_str) == Some(id))
}

/// Returns the client to which a call belongs: the client in its `contributor` or, up to 0.3.0, in its
/// `toolClientId`.
pub(super) fn owner(call: &Value) -> Option<&str> {
    match given(call, "contributor") {
        Some(contributor) if text(contributor, "kind") == Some("client") => {
            text(contributor, "clientId")
        }
        Some(_) => None,
        None => text(call, "toolClientId"),
    }
}

//! A session's customizations: containers at the top level, entries among their `children`.
//!
//! Knows: the list `customizations`. Never knows: the effect of a customization.
//!
//! Start at [`entry_mut`], which finds an entry on either level.

use crate::wire::json::{Value, json};

use super::NoOp;
use super::list;
use super::payload::{
    Object, PayloadShape, ReducerResult, assign, given, invalid, key_of, object, optional,
    required, text, text_of,
};

const CUSTOMIZATIONS: &str = "customizations";

/// Returns the entry with this id. The search begins at the top level, and continues with the children of each
/// container.
fn entry_mut<'a>(session: &'a mut Object, id: &str) -> ReducerResult<Option<&'a mut Object>> {
    let Some(entries) = list::existing(session, CUSTOMIZATIONS)? else {
        return Ok(None);
    };
    let wanted = |entry: &Value| is(entry, "id", id);
    if let Some(index) = entries.iter().position(wanted) {
        return Ok(entries.get_mut(index).and_then(Value::as_object_mut));
    }
    let mut children =
        entries.iter_mut().filter_map(|entry| entry.get_mut("children")?.as_array_mut()).flatten();
    Ok(children.find(|child| wanted(child)).and_then(Value::as_object_mut))
}

fn is(entry: &Value, member: &str, value: &str) -> bool {
    entry.get(member).and_then(Value::as_str) == Some(value)
}

/// Turns a customization on or off. Plugins and MCP servers store the list of decisions; an empty list is not stored.
/// Every other entry stores a boolean: the value of the first decision, or `true` if there is no decision.
///
/// The kind of the first decision does not matter, even if the kind is unknown.
pub(super) fn toggled(session: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "id")?;
    let decisions = required(action, "enablement", PayloadShape::List)?;
    let first = decisions.as_array().and_then(|decisions| decisions.first());
    let entry = entry_mut(session, id)?;
    let entry = entry.ok_or(NoOp::UnknownCustomization)?;
    if matches!(entry.get("type").and_then(Value::as_str), Some("plugin" | "mcpServer")) {
        assign(entry, "enablement", first.map(|_| decisions));
        return Ok(());
    }
    let enabled = match first {
        None => true,
        Some(decision) => decision
            .get("enabled")
            .and_then(Value::as_bool)
            .ok_or_else(|| invalid("enablement.0.enabled", PayloadShape::Flag))?,
    };
    assign(entry, "enabled", Some(&Value::Bool(enabled)));
    Ok(())
}

/// Turns on or off the entry whose `customization.uri` is the action's URI, in versions up to 0.1.0.
pub(super) fn toggled_by_uri(session: &mut Object, action: &Object) -> ReducerResult {
    let uri = text(action, "uri")?;
    required(action, "enabled", PayloadShape::Flag)?;
    let entries = list::existing(session, CUSTOMIZATIONS)?.ok_or(NoOp::UnknownCustomization)?;
    let entry = with_uri(entries, uri).ok_or(NoOp::UnknownCustomization)?;
    assign(entry, "enabled", action.get("enabled"));
    Ok(())
}

/// Turns a customization on or off in versions up to 0.5.1, which change only entries at the top level.
pub(super) fn switched_at_top(session: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "id")?;
    required(action, "enabled", PayloadShape::Flag)?;
    let entries = list::existing(session, CUSTOMIZATIONS)?.ok_or(NoOp::UnknownCustomization)?;
    let index = list::position(entries, "id", id).ok_or(NoOp::UnknownCustomization)?;
    let entry = entries.get_mut(index).and_then(Value::as_object_mut);
    assign(entry.ok_or(NoOp::UnknownCustomization)?, "enabled", action.get("enabled"));
    Ok(())
}

/// Turns a customization on or off in versions 0.5.2 to 0.7.0, at the top level or among the children.
pub(super) fn switched(session: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "id")?;
    required(action, "enabled", PayloadShape::Flag)?;
    let entry = entry_mut(session, id)?.ok_or(NoOp::UnknownCustomization)?;
    assign(entry, "enabled", action.get("enabled"));
    Ok(())
}

/// Updates the customization with this URI, in version 0.1.0. Members that the action does not have stay. A new
/// entry is off unless the action turns it on.
pub(super) fn updated_by_uri(session: &mut Object, action: &Object) -> ReducerResult {
    let uri = key_of(action, "customization", "uri")?;
    optional(action, "enabled", PayloadShape::Flag)?;
    let entries = list::ensured(session, CUSTOMIZATIONS)?;
    if with_uri(entries, uri).is_none() {
        entries.push(json!({"customization": {"uri": uri}, "enabled": false}));
    }
    let entry = with_uri(entries, uri).ok_or(NoOp::MalformedState)?;
    for name in ["customization", "enabled", "status", "statusMessage"] {
        if let Some(value) = given(action, name) {
            assign(entry, name, Some(value));
        }
    }
    Ok(())
}

fn with_uri<'a>(entries: &'a mut [Value], uri: &str) -> Option<&'a mut Object> {
    let named = |entry: &&mut Value| {
        entry.get("customization").is_some_and(|customization| is(customization, "uri", uri))
    };
    entries.iter_mut().find(named).and_then(Value::as_object_mut)
}

/// Removes a container with its children. If no container has the id, removes the child with this id from every
/// container. Empty lists stay.
pub(super) fn removed(session: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "id")?;
    let entries = list::existing(session, CUSTOMIZATIONS)?.ok_or(NoOp::UnknownCustomization)?;
    if list::remove(entries, "id", id) {
        return Ok(());
    }
    let mut found = false;
    for entry in entries {
        let children = entry.get_mut("children").and_then(Value::as_array_mut);
        found |= children.is_some_and(|children| list::remove_first(children, "id", id));
    }
    if found { Ok(()) } else { Err(NoOp::UnknownCustomization.into()) }
}

fn mcp_server_mut<'a>(session: &'a mut Object, id: &str) -> ReducerResult<&'a mut Object> {
    let server = entry_mut(session, id)?;
    let server = server.filter(|entry| text_of(entry, "type") == Some("mcpServer"));
    server.ok_or_else(|| NoOp::UnknownMcpServer.into())
}

/// Sets the state of an MCP server, and the URI of its side channel. If the action has no channel, the URI is removed.
pub(super) fn mcp_state_changed(session: &mut Object, action: &Object) -> ReducerResult {
    let id = text(action, "id")?;
    object(action, "state")?;
    let channel = optional(action, "channel", PayloadShape::Text)?;
    let server = mcp_server_mut(session, id)?;
    assign(server, "state", action.get("state"));
    assign(server, "channel", channel);
    Ok(())
}

/// Sets the state of an MCP server to `starting`, until the host reports its real state.
pub(super) fn mcp_start_requested(session: &mut Object, action: &Object) -> ReducerResult {
    mcp_requested(session, action, "starting")
}

/// Sets the state of an MCP server to `stopped`, until the host reports its real state.
pub(super) fn mcp_stop_requested(session: &mut Object, action: &Object) -> ReducerResult {
    mcp_requested(session, action, "stopped")
}

fn mcp_requested(session: &mut Object, action: &Object, kind: &str) -> ReducerResult {
    let server = mcp_server_mut(session, text(action, "id")?)?;
    assign(server, "state", Some(&json!({"kind": kind})));
    server.remove("channel");
    Ok(())
}

/// Stops an MCP server that is starting from blocking the session. For a server that is not starting, the action is a
/// no-op.
pub(super) fn mcp_background_requested(session: &mut Object, action: &Object) -> ReducerResult {
    let server = mcp_server_mut(session, text(action, "id")?)?;
    let state = server.get_mut("state").ok_or(NoOp::NotBlocking)?;
    let blocks = is(state, "kind", "starting") && state.get("blocking") == Some(&Value::Bool(true));
    let state = state.as_object_mut().filter(|_| blocks);
    let state = state.ok_or(NoOp::NotBlocking)?;
    assign(state, "blocking", Some(&Value::Bool(false)));
    Ok(())
}

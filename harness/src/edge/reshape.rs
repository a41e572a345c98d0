//! Pairs of functions: one converts an object to the form of an older version, the other converts the object
//! back.
//!
//! A function leaves an object unchanged if the change does not apply to it, or if it already has the other
//! form.
//!
//! Knows: the members of each change. Never knows: versions.

use crate::wire::json::{Map, Value, json};
use crate::wire::timestamp;
use crate::wire::version::Version;

use super::ChangeContext;

/// Leaves the object unchanged.
pub(super) fn same(_: &mut Map, _: ChangeContext<'_>) {}

fn has_type(members: &Map, wanted: &str) -> bool {
    members.get("type").is_some_and(|it| *it == *wanted)
}

fn text<'a>(members: &'a Map, name: &str) -> Option<&'a str> {
    members.get(name)?.as_str()
}

/// Replaces the member `from` with the member `to`, whose value the function derives from the old value.
fn replace(members: &mut Map, from: &str, to: &str, with: impl FnOnce(Value) -> Option<Value>) {
    if let Some(value) = members.remove(from).and_then(with) {
        members.insert(to, value);
    }
}

// The changes of version 0.9.0.

pub(super) fn error_beside(action: &mut Map, _: ChangeContext<'_>) {
    replace(action, "part", "error", |mut part| Some(part.get_mut("error")?.take()));
}

pub(super) fn error_part(action: &mut Map, _: ChangeContext<'_>) {
    replace(action, "error", "part", |error| Some(json!({"kind": "error", "error": error})));
}

pub(super) fn turn_error_beside(turn: &mut Map, _: ChangeContext<'_>) {
    let Some(parts) = turn.get_mut("responseParts").and_then(Value::as_array_mut) else {
        return;
    };
    let place = parts.iter().rposition(|part| part["kind"] == "error");
    let error = place.map(|place| parts.remove(place)["error"].take());
    if let Some(error) = error {
        turn.insert("error", error);
    }
}

pub(super) fn turn_error_part(turn: &mut Map, _: ChangeContext<'_>) {
    if !turn.contains_key("responseParts") {
        return;
    }
    let error = turn.remove("error");
    let parts = turn.get_mut("responseParts").and_then(Value::as_array_mut);
    if let Some((parts, error)) = parts.zip(error) {
        parts.push(json!({"kind": "error", "error": error}));
    }
}

fn relabel(members: &mut Map, name: &str, from: &str, to: &str) {
    if text(members, name) == Some(from) {
        members.insert(name, json!(to));
    }
}

pub(super) fn creation_failed(state: &mut Map, _: ChangeContext<'_>) {
    relabel(state, "lifecycle", "failed", "creationFailed");
}

pub(super) fn failed(state: &mut Map, _: ChangeContext<'_>) {
    relabel(state, "lifecycle", "creationFailed", "failed");
}

/// Applies a change to a terminal's state, or to the terminals in a list.
fn terminals(members: &mut Map, change: fn(&mut Map)) {
    let listed = members.get_mut("terminals").and_then(Value::as_array_mut);
    for terminal in listed.into_iter().flatten().filter_map(Value::as_object_mut) {
        change(terminal);
    }
    if members.contains_key("claim") {
        change(members);
    }
}

pub(super) fn exit_codes(members: &mut Map, _: ChangeContext<'_>) {
    terminals(members, |terminal| {
        replace(terminal, "lifecycle", "exitCode", |mut lifecycle| {
            Some(lifecycle.get_mut("exitCode")?.take())
        });
    });
}

pub(super) fn lifecycles(members: &mut Map, _: ChangeContext<'_>) {
    terminals(members, |terminal| {
        let lifecycle = match terminal.remove("exitCode") {
            Some(code) => json!({"status": "exited", "exitCode": code}),
            None => json!({"status": "running"}),
        };
        terminal.insert("lifecycle", lifecycle);
    });
}

pub(super) fn annotation_turn(members: &mut Map, _: ChangeContext<'_>) {
    // An annotation without an origin belongs to no turn, but older versions require the member that names the turn.
    if is_annotation(members) {
        replace(members, "origin", "turnId", |mut origin| {
            Some(origin.get_mut("turnId").map_or_else(|| json!(""), Value::take))
        });
    }
}

pub(super) fn annotation_origin(members: &mut Map, _: ChangeContext<'_>) {
    if is_annotation(members) {
        replace(members, "turnId", "origin", |turn| Some(json!({"turnId": turn})));
    }
}

fn is_annotation(members: &Map) -> bool {
    members.contains_key("entries") && members.contains_key("resolved")
        || has_type(members, "annotations/updated")
}

pub(super) fn computing(members: &mut Map, _: ChangeContext<'_>) {
    relabel(members, "status", "recomputing", "computing");
}

/// Removes the flag of an MCP server, which older versions do not have.
pub(super) fn no_server_flag(members: &mut Map, _: ChangeContext<'_>) {
    if has_type(members, "mcpServer") {
        members.remove("enabled");
    }
}

/// Shows disabled operations as idle; older versions do not distinguish them.
pub(super) fn idle_operations(members: &mut Map, _: ChangeContext<'_>) {
    relabel(members, "status", "disabled", "idle");
    let list = members.get_mut("operations").and_then(Value::as_array_mut);
    for operation in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        relabel(operation, "status", "disabled", "idle");
    }
}

/// The origins of a message in versions with a closed list. Other origins become `systemNotification`.
const SPEAKERS: [&str; 4] = ["user", "agent", "tool", SYSTEM];
const SYSTEM: &str = "systemNotification";

pub(super) fn known_origin(message: &mut Map, _: ChangeContext<'_>) {
    let said = message.get("text").is_some_and(Value::is_string);
    let origin = message.get_mut("origin").and_then(Value::as_object_mut).filter(|_| said);
    if let Some(kind) = origin.and_then(|origin| origin.get_mut("kind"))
        && kind.as_str().is_some_and(|kind| !SPEAKERS.contains(&kind))
    {
        *kind = json!(SYSTEM);
    }
}

// The changes of version 0.8.0.

/// Returns the effective decision about an enablement, which is the decision of the innermost scope.
fn decided(enablement: &Value) -> Option<bool> {
    let decisions = enablement.as_array()?;
    let of = |scope: &&str| decisions.iter().find(|decision| decision["kind"] == **scope);
    let counts = ["session", "workspace", "global"].iter().find_map(of);
    counts?.get("enabled")?.as_bool()
}

fn decisions(enabled: &Value) -> Option<Value> {
    Some(json!([{"kind": "session", "enabled": enabled.as_bool()?}]))
}

pub(super) fn one_flag(action: &mut Map, _: ChangeContext<'_>) {
    replace(action, "enablement", "enabled", |it| Some(json!(decided(&it).unwrap_or(true))));
}

pub(super) fn one_decision(action: &mut Map, _: ChangeContext<'_>) {
    replace(action, "enabled", "enablement", |it| decisions(&it));
}

/// Returns whether an object is a customization that can be enabled and disabled.
fn is_switched(members: &Map) -> bool {
    members.contains_key("id")
        && members.contains_key("uri")
        && (has_type(members, "plugin") || has_type(members, "mcpServer"))
}

pub(super) fn customization_flag(members: &mut Map, _: ChangeContext<'_>) {
    if is_switched(members) {
        let decisions = members.remove("enablement").unwrap_or_default();
        members.insert("enabled", json!(decided(&decisions).unwrap_or(true)));
    }
}

pub(super) fn customization_decisions(members: &mut Map, _: ChangeContext<'_>) {
    if is_switched(members) {
        replace(members, "enabled", "enablement", |it| decisions(&it));
    }
}

pub(super) fn resource_name(params: &mut Map, _: ChangeContext<'_>) {
    replace(params, "resource", "resource", |mut resource| match resource.get_mut("resource") {
        Some(name) => Some(name.take()),
        None => Some(resource),
    });
}

pub(super) fn resource_metadata(params: &mut Map, _: ChangeContext<'_>) {
    replace(params, "resource", "resource", |resource| match resource {
        Value::String(name) => Some(json!({"resource": name})),
        other => Some(other),
    });
}

// The changes of version 0.7.0.

pub(super) fn input_inline(call: &mut Map, _: ChangeContext<'_>) {
    if call.get("toolInput").is_some_and(|input| !input.is_string()) {
        call.remove("toolInput");
    }
}

pub(super) fn one_directory(members: &mut Map, _: ChangeContext<'_>) {
    replace(members, "workingDirectories", "workingDirectory", |mut list| {
        Some(list.get_mut(0)?.take())
    });
}

pub(super) fn directories(members: &mut Map, _: ChangeContext<'_>) {
    replace(members, "workingDirectory", "workingDirectories", |one| Some(json!([one])));
}

pub(super) fn bare_source(params: &mut Map, _: ChangeContext<'_>) {
    if let Some(source) = params.get_mut("source").and_then(Value::as_object_mut)
        && source.get("kind").is_some_and(|kind| *kind == "fork")
    {
        source.remove("kind");
    }
}

pub(super) fn source_of_a_kind(params: &mut Map, _: ChangeContext<'_>) {
    if let Some(source) = params.get_mut("source").and_then(Value::as_object_mut) {
        source.insert("kind", json!("fork"));
    }
}

// The changes of version 0.6.0.

/// Removes unanswered questions from finished turns. Such questions come from a fork, which copies turns, or
/// from a client, which loads turns.
pub(super) fn listed_questions(state: &mut Map, _: ChangeContext<'_>) {
    without_questions(state, |part| part.get("response").is_none_or(Value::is_null));
}

/// From finished turns, removes the parts that are questions and for which `gone` returns `true`.
fn without_questions(state: &mut Map, gone: fn(&Value) -> bool) {
    let turns = state.get_mut("turns").and_then(Value::as_array_mut).into_iter().flatten();
    for turn in turns {
        if let Some(parts) = turn.get_mut("responseParts").and_then(Value::as_array_mut) {
            parts.retain(|part| part["kind"] != "inputRequest" || !gone(part));
        }
    }
}

pub(super) fn question_parts(state: &mut Map, _: ChangeContext<'_>) {
    let Some(Value::Array(requests)) = state.remove("inputRequests") else {
        return;
    };
    let turn = state.get_mut("activeTurn").and_then(|turn| turn.get_mut("responseParts"));
    if let Some(parts) = turn.and_then(Value::as_array_mut) {
        let part = |request: Value| json!({"kind": "inputRequest", "request": request});
        parts.extend(requests.into_iter().map(part));
    }
}

// The changes of version 0.5.2.

/// Removes all questions from finished turns, because in older versions a turn has no part for a question.
pub(super) fn no_questions(state: &mut Map, _: ChangeContext<'_>) {
    without_questions(state, |_| true);
}

// The changes of version 0.5.0.

/// The members of a session's state that older versions keep in its `summary`.
const SUMMARY: &[&str] = &[
    "provider",
    "title",
    "status",
    "activity",
    "project",
    "workingDirectory",
    "workingDirectories",
    "annotations",
];

pub(super) fn summarised(state: &mut Map, beside: ChangeContext<'_>) {
    let mut summary = Map::new();
    for name in SUMMARY {
        if let Some(value) = state.remove(name) {
            summary.insert(*name, value);
        }
    }
    for (name, value) in beside.state.as_object().into_iter().flatten() {
        summary.insert(name.clone(), value.clone());
    }
    in_millis(&mut summary);
    state.insert("summary", Value::Object(summary));
    let active = state.remove("activeClients");
    if let Some(client) = active.and_then(|mut clients| Some(clients.get_mut(0)?.take())) {
        state.insert("activeClient", client);
    }
}

pub(super) fn flat(state: &mut Map, _: ChangeContext<'_>) {
    if let Some(Value::Object(summary)) = state.remove("summary") {
        for (name, value) in summary.iter() {
            state.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    let clients: Value = state.remove("activeClient").into_iter().collect();
    state.insert("activeClients", clients);
}

/// Applies a change to the summaries in a message: in a list, in an announcement, and in a set of changes.
fn summaries(members: &mut Map, change: fn(&mut Map)) {
    let items = members.get_mut("items").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
        change(item);
    }
    for name in ["summary", "changes"] {
        if let Some(summary) = members.get_mut(name).and_then(Value::as_object_mut) {
            change(summary);
        }
    }
}

const TIMES: [&str; 2] = ["createdAt", "modifiedAt"];

/// Converts the times of a summary to milliseconds.
fn in_millis(summary: &mut Map) {
    for name in TIMES {
        if let Some(millis) = text(summary, name).and_then(timestamp::parse) {
            summary.insert(name, json!(millis));
        }
    }
}

pub(super) fn millis(members: &mut Map, _: ChangeContext<'_>) {
    summaries(members, in_millis);
}

pub(super) fn texts(members: &mut Map, _: ChangeContext<'_>) {
    summaries(members, |summary| {
        for name in TIMES {
            let millis = summary.get(name).and_then(Value::as_i64);
            if let Some(text) = millis.and_then(timestamp::format) {
                summary.insert(name, json!(text));
            }
        }
    });
}

const SET: &str = "session/activeClientSet";
const REMOVED: &str = "session/activeClientRemoved";
const CHANGED: &str = "session/activeClientChanged";
const TOOLS_CHANGED: &str = "session/activeClientToolsChanged";

/// Translates the removal of an active client: older versions have only one active client, so its removal has another
/// form. The removal of any other client stays unchanged.
pub(super) fn the_active_client(action: &mut Map, beside: ChangeContext<'_>) {
    if has_type(action, SET) {
        action.insert("type", json!(CHANGED));
    } else if has_type(action, REMOVED) {
        let active = beside.state.pointer("/activeClient/clientId");
        if beside.state.is_null() || active == action.get("clientId") {
            action.insert("type", json!(CHANGED));
            action.insert("activeClient", Value::Null);
            action.remove("clientId");
        }
    }
}

pub(super) fn an_active_client(action: &mut Map, beside: ChangeContext<'_>) {
    let active = beside.state.get("activeClient");
    if has_type(action, TOOLS_CHANGED) {
        let mut client = active.cloned().unwrap_or_else(|| json!({}));
        if let Some(tools) = action.remove("tools") {
            client["tools"] = tools;
        }
        action.insert("type", json!(SET));
        action.insert("activeClient", client);
    } else if has_type(action, CHANGED) {
        if action.get("activeClient").is_some_and(|client| !client.is_null()) {
            action.insert("type", json!(SET));
            return;
        }
        action.remove("activeClient");
        action.insert("type", json!(REMOVED));
        if let Some(client) = active.and_then(|client| client.get("clientId")) {
            action.insert("clientId", client.clone());
        }
    }
}

// The changes of version 0.4.0.

/// The actions that belonged to a session before chats became channels.
const MOVED: &[&str] = &[
    "delta",
    "error",
    "inputAnswerChanged",
    "inputCompleted",
    "inputRequested",
    "pendingMessageRemoved",
    "pendingMessageSet",
    "queuedMessagesReordered",
    "reasoning",
    "responsePart",
    "toolCallComplete",
    "toolCallConfirmed",
    "toolCallContentChanged",
    "toolCallDelta",
    "toolCallReady",
    "toolCallResultConfirmed",
    "toolCallStart",
    "truncated",
    "turnCancelled",
    "turnComplete",
    "turnStarted",
    "usage",
];

fn move_to(action: &mut Map, from: &str, to: &str) {
    let name = text(action, "type").and_then(|it| it.split_once('/'));
    let moved = name.filter(|(family, name)| *family == from && MOVED.contains(name));
    if let Some((_, name)) = moved {
        let name = format!("{to}/{name}");
        action.insert("type", json!(name));
    }
}

pub(super) fn of_the_session(action: &mut Map, _: ChangeContext<'_>) {
    move_to(action, "chat", "session");
}

pub(super) fn of_the_chat(action: &mut Map, _: ChangeContext<'_>) {
    move_to(action, "session", "chat");
}

/// Converts both ends of the text range in the params of an operation.
fn ends(params: &mut Map, change: fn(Value) -> Option<Value>) {
    let target = params.get_mut("target").and_then(Value::as_object_mut);
    let range = target.and_then(|target| target.get_mut("range")?.as_object_mut());
    if let Some(range) = range {
        ["start", "end"].iter().for_each(|end| replace(range, end, end, change));
    }
}

/// Converts the two positions of a text range to two numbers. The specification does not say what the numbers count;
/// this function treats them as lines.
pub(super) fn two_numbers(params: &mut Map, _: ChangeContext<'_>) {
    ends(params, |mut place| Some(place.get_mut("line")?.take()));
}

pub(super) fn text_range(params: &mut Map, _: ChangeContext<'_>) {
    ends(params, |line| Some(json!({"line": line, "character": 0})));
}

// The changes of version 0.3.0.

pub(super) fn stopped_servers(server: &mut Map, _: ChangeContext<'_>) {
    if has_type(server, "mcpServer") && !server.contains_key("state") {
        server.insert("state", json!({"kind": "stopped"}));
    }
}

pub(super) fn user_message(members: &mut Map, _: ChangeContext<'_>) {
    // The result of an operation also has a `message`. It is not a user's message, because it has the member
    // `markdown`.
    let personal = |message: &Value| message.is_object() && message.get("markdown").is_none();
    if members.get("message").is_some_and(personal) {
        replace(members, "message", "userMessage", |mut message| {
            if let Some(members) = message.as_object_mut() {
                ["origin", "model", "agent"].iter().for_each(|name| drop(members.remove(name)));
            }
            Some(message)
        });
    }
}

pub(super) fn message(members: &mut Map, _: ChangeContext<'_>) {
    replace(members, "userMessage", "message", |mut message| {
        if let Some(members) = message.as_object_mut() {
            members.insert("origin", json!({"kind": "user"}));
        }
        Some(message)
    });
}

pub(super) fn owner_of_tool(members: &mut Map, _: ChangeContext<'_>) {
    replace(members, "contributor", "toolClientId", |mut contributor| {
        Some(contributor.get_mut("clientId")?.take())
    });
}

pub(super) fn contributor(members: &mut Map, _: ChangeContext<'_>) {
    replace(members, "toolClientId", "contributor", |client| {
        Some(json!({"kind": "client", "clientId": client}))
    });
}

pub(super) fn changesets_in_summary(state: &mut Map, _: ChangeContext<'_>) {
    let changesets = state.remove("changesets");
    let summary = state.get_mut("summary").and_then(Value::as_object_mut);
    if let Some((summary, changesets)) = summary.zip(changesets) {
        summary.insert("changesets", changesets);
    }
}

pub(super) fn changesets_beside(state: &mut Map, _: ChangeContext<'_>) {
    let summary = state.get_mut("summary").and_then(Value::as_object_mut);
    if let Some(changesets) = summary.and_then(|summary| summary.remove("changesets")) {
        state.insert("changesets", changesets);
    }
}

// The changes of version 0.2.0.

/// Converts a customization from an entry to a reference; `None` if it has no URI.
fn reference(entry: &Value) -> Option<Value> {
    let enabled = entry.get("enabled").and_then(Value::as_bool).unwrap_or(true);
    let mut listed = json!({
        "customization": published_reference(entry)?, "enabled": enabled,
    });
    if let Some(client) = entry.get("clientId") {
        listed["clientId"] = client.clone();
    }
    if let Some(load) = entry.get("load") {
        listed["status"] = load["kind"].clone();
        if let Some(message) = load.get("message") {
            listed["statusMessage"] = message.clone();
        }
    }
    Some(listed)
}

/// The members that references and entries share.
const DESCRIBED: [&str; 3] = ["description", "icons", "nonce"];

fn copy(names: &[&str], from: &Value, to: &mut Value) {
    for name in names {
        if let Some(value) = from.get(*name) {
            to[*name] = value.clone();
        }
    }
}

/// Converts a customization from a reference to an entry, whose id is its URI.
fn entry(listed: &Value) -> Option<Value> {
    let mut entry = published_entry(listed.get("customization")?)?;
    copy(&["enabled", "clientId"], listed, &mut entry);
    if let Some(status) = listed.get("status") {
        entry["load"] = json!({"kind": status});
        if let Some(message) = listed.get("statusMessage") {
            entry["load"]["message"] = message.clone();
        }
    }
    Some(entry)
}

/// Converts a published customization from an entry to a reference.
fn published_reference(entry: &Value) -> Option<Value> {
    let mut reference = json!({"uri": entry.get("uri")?, "displayName": entry["name"]});
    copy(&DESCRIBED, entry, &mut reference);
    Some(reference)
}

/// Converts a published customization from a reference to an entry.
fn published_entry(reference: &Value) -> Option<Value> {
    let uri = reference.get("uri")?;
    let mut entry =
        json!({"type": "plugin", "id": uri, "uri": uri, "name": reference["displayName"]});
    copy(&DESCRIBED, reference, &mut entry);
    Some(entry)
}

fn each(members: &mut Map, change: fn(&Value) -> Option<Value>) {
    if let Some(list) = members.get_mut("customizations") {
        *list = list.as_array().into_iter().flatten().filter_map(change).collect();
    }
}

pub(super) fn references(members: &mut Map, _: ChangeContext<'_>) {
    match text(members, "type") {
        Some("session/customizationToggled") => {
            // The id of an entry that was converted from a reference is its URI.
            replace(members, "id", "uri", Some);
        }
        Some("session/customizationUpdated") => {
            let listed = members.get("customization").and_then(reference);
            if let Some(Value::Object(listed)) = listed {
                members.remove("customization");
                for (name, value) in listed.iter() {
                    members.insert(name.clone(), value.clone());
                }
            }
        }
        None | Some("session/customizationsChanged") => each(members, reference),
        _ => {}
    }
    if let Some(client) = members.get_mut("activeClient").and_then(Value::as_object_mut) {
        each(client, published_reference);
    }
}

/// Applies a change to the customizations of agents.
fn of_agents(members: &mut Map, change: fn(&Value) -> Option<Value>) {
    let agents = members.get_mut("agents").and_then(Value::as_array_mut);
    let agents = agents.into_iter().flatten().filter_map(Value::as_object_mut);
    agents.for_each(|agent| each(agent, change));
}

pub(super) fn agents_references(members: &mut Map, _: ChangeContext<'_>) {
    of_agents(members, published_reference);
}

pub(super) fn agents_entries(members: &mut Map, _: ChangeContext<'_>) {
    of_agents(members, published_entry);
}

pub(super) fn entries(members: &mut Map, _: ChangeContext<'_>) {
    match text(members, "type") {
        Some("session/customizationToggled") => {
            replace(members, "uri", "id", Some);
        }
        Some("session/customizationUpdated") => {
            if let Some(made) = entry(&Value::Object(members.clone())) {
                let inside = ["enabled", "clientId", "status", "statusMessage"];
                inside.iter().for_each(|name| drop(members.remove(name)));
                members.insert("customization", made);
            }
        }
        None | Some("session/customizationsChanged") => each(members, entry),
        _ => {}
    }
    if let Some(client) = members.get_mut("activeClient").and_then(Value::as_object_mut) {
        each(client, published_entry);
    }
}

// The changes of version 0.1.0.

pub(super) fn one_number(params: &mut Map, _: ChangeContext<'_>) {
    replace(params, "protocolVersions", "protocolVersion", |offers| {
        let offer = offers.get(0)?.as_str()?;
        Some(json!(offer.split('.').next()?.parse::<u64>().ok()?))
    });
}

pub(super) fn offers(params: &mut Map, _: ChangeContext<'_>) {
    replace(params, "protocolVersion", "protocolVersions", |number| {
        Some(json!([Version::number_text(&number)]))
    });
}

pub(super) fn chosen_number(result: &mut Map, _: ChangeContext<'_>) {
    replace(result, "protocolVersion", "protocolVersion", |text| {
        Some(json!(text.as_str()?.parse::<u64>().ok()?))
    });
}

pub(super) fn chosen_text(result: &mut Map, _: ChangeContext<'_>) {
    let text = |number: Value| Some(json!(Version::number_text(&number)));
    replace(result, "protocolVersion", "protocolVersion", text);
}

/// Converts attachments with a resource, which are the only attachments in older versions.
pub(super) fn typed_attachments(members: &mut Map, _: ChangeContext<'_>) {
    let list = members.get_mut("attachments").and_then(Value::as_array_mut);
    for attachment in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        if has_type(attachment, "resource") && attachment.contains_key("uri") {
            attachment.insert("type", json!("file"));
            replace(attachment, "label", "displayName", Some);
        }
    }
}

pub(super) fn labelled_attachments(members: &mut Map, _: ChangeContext<'_>) {
    let list = members.get_mut("attachments").and_then(Value::as_array_mut);
    for attachment in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        if attachment.contains_key("uri") {
            attachment.insert("type", json!("resource"));
            replace(attachment, "displayName", "label", Some);
        }
    }
}

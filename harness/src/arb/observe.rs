//! Moves that observe channels: with a new client, with a limited view, or by reading the resources to which a state
//! refers.
//!
//! Knows: the members of a state that clients set (`rules`). Never knows: the time of an observation.
//!
//! Start at [`look`].

use std::borrow::Cow;

use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

use super::builder::ConversationBuilder;
use super::names::BoundNames;
use super::rules;
use super::stage::is_made;
use super::step_result::{ActionLogEntry, ClientStepResult};

/// Subscribes a client to a chat with only the latest turn, and then loads earlier turns or dispatches an
/// action about an earlier turn.
pub fn window(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let chats = builder.channels(ChannelKind::Chat);
    let long = chats.iter().filter(|row| row.1["turns"].as_array().is_some_and(|it| it.len() > 1));
    let long: Vec<_> = long.cloned().collect();
    let (uri, state) = builder.dice.pick(&long)?.clone();
    let (by, channel) = (builder.somebody()?, builder.named(&json!(uri))?);
    let listens = builder.stage().client(&by).is_some_and(|(client, _)| client.is_subscribed(&uri));
    if listens && builder.dice.chance(70) {
        // The client unsubscribes first, because a client with all turns has nothing to load.
        builder.put(json!({"unsubscribe": {"by": by, "channel": channel}}))?;
    }
    let step = json!({"subscribe": {
        "by": by, "channel": channel.clone(), "params": {"view": {"turns": 1}}, "result": true, "error": true,
    }});
    let came = builder.act(step, |_, _| None)?;
    let loads = builder.dice.chance(60);
    if loads {
        builder.act(json!({"request": {
            "by": by, "method": "fetchTurns", "params": {"channel": channel.clone()}, "result": true, "error": true,
        }}), |_, _| None)?;
    } else if state["activeTurn"].is_null() {
        let turns = state["turns"].as_array().cloned().unwrap_or_default();
        let before = turns.get(..turns.len() - 1).unwrap_or_default();
        let turn = builder.named(&builder.dice.clone().pick(before)?["id"])?;
        let action = json!({"type": "chat/truncated", "turnId": turn});
        builder.act(
            json!({"dispatch": {"by": by, "channel": channel, "action": action}}),
            |_, _| Some("dispatch.table.client.chat.truncated".to_owned()),
        )?;
    }
    // A page may contain only some of the turns. An action that names a turn makes the host load this turn.
    if builder.is_quiet() && (!loads || builder.conditions.reference) {
        mirrored(builder, &by, &uri)?;
    }
    Some(("subscribe".to_owned(), "windowed", came))
}

/// Expects that a client's mirror contains all turns of a chat.
fn mirrored(builder: &mut ConversationBuilder, by: &str, uri: &str) -> Option<()> {
    let (_, state) = builder.channels(ChannelKind::Chat).into_iter().find(|row| row.0 == uri)?;
    let names = builder.names();
    let turns = project(&names, &state["turns"], &json!([{"id": true}]))?;
    builder.put(json!({"mirror": {
        "at": by, "of": names.symbolic(&json!(uri))?, "state": {"turns": turns},
        "proves": "chat.fetchTurns.eager-load",
    }}))?;
    Some(())
}

/// Reads a resource to which a chat's state refers.
pub fn read(builder: &mut ConversationBuilder) -> Option<ActionLogEntry> {
    let mut found: Vec<String> = Vec::new();
    for (_, state) in builder.channels(ChannelKind::Chat) {
        pointed(&state["activeTurn"], &mut found);
        pointed(&state["turns"], &mut found);
    }
    let uri = builder.dice.pick(&found)?.clone();
    let (by, uri) = (builder.somebody()?, builder.named(&json!(uri))?);
    let step = json!({"request": {
        "by": by, "method": "resourceRead", "params": {"uri": uri}, "result": true, "error": true,
    }});
    // Only the reference host's content is known.
    let known = builder.conditions.reference;
    let came = builder.act(step, |came, _| match came {
        ClientStepResult::Result(_) if known => Some("chat.tool.edited-input-ref".to_owned()),
        _ => None,
    })?;
    if let ClientStepResult::Result(result) = &came
        && result["data"].is_string()
    {
        builder.wants(json!({"data": result["data"].clone()}));
    }
    Some(("resourceRead".to_owned(), "pointed-at", came))
}

/// Collects the URIs in members named `uri` that the stage's host created.
fn pointed(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let uri = members.get("uri").and_then(Value::as_str);
            found.extend(uri.filter(|uri| is_made(uri)).map(str::to_owned));
            members.iter().for_each(|(_, member)| pointed(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| pointed(item, found)),
        _ => {}
    }
}

/// Takes a snapshot of a channel with a new client.
pub fn look(builder: &mut ConversationBuilder, pick: Option<String>) -> Option<ActionLogEntry> {
    let all: Vec<String> = builder.uris();
    let uri = pick.or_else(|| builder.dice.pick(&all).cloned())?;
    let channel = builder.named(&json!(uri))?;
    let kind = builder.kinds().into_iter().find(|(known, _)| *known == uri).map(|row| row.1);
    let state = builder.stage().state(&uri).map(Cow::into_owned).unwrap_or_default();
    let shown = told_state(builder, kind, &channel, &state);
    builder.act(
        json!({"snapshot": {"of": channel, "state": shown, "proves": "subscribe.late-joiner-state"}}),
        |_, _| None,
    )?;
    Some(("snapshot".to_owned(), "legal", ClientStepResult::Result(Value::Null)))
}

/// Returns a pattern for the part of a state that clients have set, because the host cannot choose these values.
/// Unnamed identifiers are bound to names.
fn told_state(
    builder: &mut ConversationBuilder,
    kind: Option<ChannelKind>,
    channel: &Value,
    state: &Value,
) -> Value {
    let names = builder.names();
    let mut number = builder.number();
    let mut fresh = |_: &str| {
        number += 1;
        format!("found{number}")
    };
    let mut shown = names.binding("", state, &mut fresh).unwrap_or_else(|| json!({}));
    builder.skip_to(number);
    if builder.is_quiet()
        && let Some(kind) = kind
    {
        let mut shows = rules::shown(kind);
        let more =
            if builder.conditions.reference { rules::shown_by_reference(kind) } else { json!({}) };
        for (name, more) in more.as_object().into_iter().flatten() {
            shows[&**name] = more.clone();
        }
        let told = project(&names, state, &shows).unwrap_or_else(|| json!({}));
        for (name, mut value) in told.as_object().cloned().into_iter().flatten() {
            if name.as_str() == "turns" {
                forget_endless(state, &mut value);
            }
            // A list that binds a name stays unchanged.
            if shown.get(name.as_str()).is_none() {
                shown[name.as_str()] = value;
            }
        }
    }
    let accepted = builder.steps.iter().filter_map(|step| step.get("dispatch"));
    let accepted = accepted.filter(|it| it["channel"] == *channel && it.get("accept").is_some());
    for action in accepted.map(|it| &it["action"]) {
        for (name, value) in action.as_object().into_iter().flatten() {
            let held = state.get(name).and_then(|held| names.symbolic(held));
            if held.as_ref() == Some(value) {
                shown[&**name] = value.clone();
            }
        }
        for (name, value) in action["config"].as_object().into_iter().flatten() {
            if state["config"]["values"].get(name) == Some(value) {
                shown["config"]["values"][&**name] = value.clone();
            }
        }
    }
    shown
}

/// Removes the parts of turns with an endless script, because their progress is not determined.
fn forget_endless(state: &Value, shown: &mut Value) {
    let turns = state["turns"].as_array().into_iter().flatten();
    for (turn, shown) in turns.zip(shown.as_array_mut().into_iter().flatten()) {
        let endless = turn["message"]["text"].as_str().is_some_and(|it| it.contains("endless"));
        if let Some(members) = shown.as_object_mut().filter(|_| endless) {
            members.remove("responseParts");
        }
    }
}

/// Returns a pattern for the parts of a value that `spec` selects; `None` if `spec` selects no part.
fn project(names: &BoundNames, value: &Value, spec: &Value) -> Option<Value> {
    match spec {
        Value::Bool(true) => names.symbolic(value).filter(|value| !value.is_null()),
        Value::Array(items) => {
            let spec = items.first()?;
            let all = value.as_array()?;
            let shown: Vec<Value> = all
                .iter()
                .map(|item| project(names, item, spec).unwrap_or(json!("$present")))
                .collect();
            Some(json!(shown))
        }
        Value::Object(members) => {
            if let Some(inner) = members.get("$or") {
                let shown = project(names, value, inner);
                return Some(if value.is_null() { json!("$absent") } else { shown? });
            }
            if let Some(inner) = members.get("$contains") {
                let all = value.as_array()?;
                let spec = inner.get(0)?;
                let shown: Vec<Value> =
                    all.iter().filter_map(|item| project(names, item, spec)).collect();
                return (!shown.is_empty()).then(|| json!({"$contains": shown}));
            }
            let mut shown = json!({});
            for (name, spec) in members {
                let or_none = spec.get("$or").is_some();
                let held = value.get(name).unwrap_or(&Value::Null);
                if (or_none || !held.is_null())
                    && let Some(inner) = project(names, held, spec)
                {
                    shown[&**name] = inner;
                }
            }
            (shown != json!({})).then_some(shown)
        }
        _ => None,
    }
}

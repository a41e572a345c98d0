//! Generates an action of a given type with members that fit the channel's state.
//!
//! Knows: the tables, typical values of action members. Never knows: the dispatch of actions, their legality.
//!
//! Start at [`generated`].

use crate::reducers::aim::StateTargets;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::builder::ConversationBuilder;
use super::draft_step::{drop_member, replace};

/// An action that is about to be dispatched.
pub struct ActionBid {
    /// The name of the client that dispatches the action.
    pub by: String,
    /// The client's identifier.
    pub client: String,
    /// The channel's URI.
    pub uri: String,
    /// The channel's kind.
    pub kind: ChannelKind,
    /// The channel's state.
    pub state: Value,
    /// The action.
    pub action: Value,
}

/// Generates an action of a type that fits the state of the channel.
pub fn generated(builder: &mut ConversationBuilder, bid: &ActionBid, name: &str) -> Option<Value> {
    let plain = builder.dice.chance(35);
    let mut action = builder.sample(plain, |sampler| sampler.action(name))?;
    StateTargets::of(&bid.state).aim(&mut builder.dice, &mut action);
    fit(builder, bid, &mut action);
    Some(action)
}

/// Replaces the values of members by values that are typical of a conversation.
fn fit(builder: &mut ConversationBuilder, bid: &ActionBid, action: &mut Value) {
    let user = if bid.kind == ChannelKind::Automations { "automation" } else { "user" };
    let client = bid.client.clone();
    let folder = *builder.dice.pick(FOLDERS).unwrap_or(&"");
    let number = builder.number();
    replace(action, &mut |name, value| match name {
        "message" | "draft" if value.is_object() => {
            Some(json!({"text": format!("message {number}"), "origin": {"kind": user}}))
        }
        "clientId" => Some(json!(client)),
        "directory" | "replacement" => Some(json!(folder)),
        "_meta" => Some(json!({"x-fuzz": 1})),
        _ => None,
    });
    let name = action["type"].as_str().unwrap_or_default().to_owned();
    for (_, fit) in FITS.iter().filter(|(fits, _)| name.starts_with(fits)) {
        fit(builder, bid, action);
    }
}

/// The folders in which a session may work.
pub const FOLDERS: &[&str] = &["file:///harness", "file:///harness/a", "file:///harness/b"];

type ActionFit = fn(&mut ConversationBuilder, &ActionBid, &mut Value);

/// The adjustments that make certain actions meaningful, by the prefix of the action's type.
const FITS: &[(&str, ActionFit)] = &[
    ("chat/turnStarted", |builder, _, action| {
        action["turnId"] = json!(format!("t{}", builder.number()));
        drop_member(action, "queuedMessageId");
    }),
    ("chat/turnCancelled", |_, _, action| action["duration"] = json!(7)),
    ("chat/pendingMessageSet", |builder, _, action| {
        if builder.dice.chance(75) {
            // The identifiers do not sort in the order of their creation.
            let first = builder.dice.pick(&["q", "a", "z"]).copied().unwrap_or_default();
            action["id"] = json!(format!("{first}{}", builder.number()));
        }
        if builder.dice.chance(50) {
            // Reordering needs several queued messages.
            action["kind"] = json!("queued");
        }
    }),
    ("chat/pendingMessageRemoved", |builder, bid, action| {
        let held = |name: &str| bid.state[name].as_array().cloned().unwrap_or_default();
        let mut all: Vec<(&str, Value)> =
            held("queuedMessages").into_iter().map(|it| ("queued", it["id"].clone())).collect();
        if bid.state["steeringMessage"].is_object() {
            all.push(("steering", bid.state["steeringMessage"]["id"].clone()));
        }
        if let Some((kind, id)) = builder.dice.pick(&all) {
            (action["kind"], action["id"]) = (json!(kind), id.clone());
        }
    }),
    ("chat/queuedMessagesReordered", |builder, bid, action| {
        let held = bid.state["queuedMessages"].as_array().cloned().unwrap_or_default();
        let mut left: Vec<Value> = held.into_iter().map(|it| it["id"].clone()).collect();
        let mut order = Vec::new();
        let named = if builder.dice.chance(50) { 75 } else { 25 };
        while !left.is_empty() && builder.dice.chance(named) {
            order.push(left.remove(builder.dice.below(left.len())));
        }
        if builder.dice.chance(25) {
            order.push(json!("never-was"));
        }
        action["order"] = json!(order);
    }),
    ("changeset/filesReviewChanged", |builder, bid, action| {
        let files = bid.state["files"].as_array().cloned().unwrap_or_default();
        if let Some(file) = builder.dice.pick(&files) {
            action["files"] = json!([file["id"].clone()]);
            action["reviewed"] = json!(builder.dice.chance(75));
        }
    }),
    ("chat/toolCallConfirmed", |builder, bid, action| {
        drop_member(action, "selectedOptionId");
        drop_member(action, "editedToolInput");
        call_of(builder, bid, action, "pending-confirmation");
        option(builder, bid, action);
    }),
    ("chat/toolCallResultConfirmed", |builder, bid, action| {
        call_of(builder, bid, action, "pending-result-confirmation");
    }),
    ("chat/toolCallComplete", |builder, bid, action| {
        action["result"] =
            json!({"success": builder.dice.chance(70), "pastTenseMessage": "Did it"});
        call_of(builder, bid, action, "running");
    }),
    ("chat/toolCallContentChanged", |builder, bid, action| {
        action["content"] = json!([{"type": "text", "text": "half"}]);
        call_of(builder, bid, action, "running");
    }),
    ("chat/input", answers),
    ("session/activeClientSet", |builder, bid, action| {
        let mut active = json!({
            "clientId": bid.client, "tools": [{"name": "look", "description": "Looks."}],
        });
        if builder.dice.chance(if builder.focus == "plugin" { 90 } else { 30 }) {
            active["customizations"] = json!([plugin(builder)]);
        }
        action["activeClient"] = active;
    }),
    ("session/customizationToggled", |builder, _, action| {
        let on = builder.dice.chance(50);
        let mut list = vec![json!({"kind": "session", "enabled": on})];
        if builder.dice.chance(40) {
            list.insert(builder.dice.below(2), json!({"kind": "global", "enabled": !on}));
        }
        action["enablement"] = json!(list);
    }),
    ("session/mcpServer", |builder, bid, action| {
        if let Some(id) = entry(builder, &bid.state, Some("mcpServer"), EntryDepth::Any) {
            action["id"] = id;
        }
    }),
    ("session/customizationToggled", |builder, bid, action| {
        // Up to 0.5.1 the reducer changes only customizations at the top level of the tree.
        let depth = match builder.stage().version() < Version::V0_5_2 {
            true => EntryDepth::Top,
            false => EntryDepth::Any,
        };
        if let Some(id) = entry(builder, &bid.state, None, depth) {
            action["id"] = id;
        }
    }),
    ("session/activeClientRemoved", |_, bid, action| action["clientId"] = json!(bid.client)),
    ("session/workingDirectory", directory),
    ("chat/workingDirectory", directory),
    ("session/configChanged", configured),
    ("root/configChanged", configured),
    ("terminal/input", |builder, _, action| {
        const TYPED: &[&str] = &[
            "echo one\r",
            "ls\recho two\r",
            "échø 𝄞\r",
            "half",
            "half \rand",
            "exit\r",
            "echo a$((1+2))b\r",
            "stty size\r",
            "stty size\r",
        ];
        action["data"] = json!(builder.dice.pick(TYPED));
    }),
    ("terminal/claimed", |_, bid, action| {
        action["claim"] = json!({"kind": "client", "clientId": bid.client});
    }),
    ("automation/createRequested", |builder, bid, action| {
        let entries = bid.state["entries"].as_array().cloned().unwrap_or_default();
        let used = builder.dice.pick(&entries).map(|entry| entry["resource"].clone());
        action["resource"] = match used.filter(|_| builder.dice.chance(20)) {
            Some(used) => used,
            None => json!(format!("ahp-automation:/${{new auto{}}}", builder.number())),
        };
        action["definition"] = definition(builder);
    }),
    ("automation/updateRequested", |builder, _, action| {
        let title = format!("title {}", builder.number());
        action["changes"] = json!({"title": title});
    }),
    ("annotations/set", |builder, bid, action| {
        let number = builder.number();
        if builder.dice.chance(70) {
            action["annotation"]["id"] = json!(format!("n{number}"));
        }
        let entry = json!({"id": format!("e{number}"), "text": "why?"});
        let mut sampled = action["annotation"]["entries"].as_array().cloned().unwrap_or_default();
        sampled.truncate(1);
        let entries = match sampled.first_mut() {
            Some(first) => {
                first["id"] = entry["id"].clone();
                sampled
            }
            None if builder.dice.chance(90) => vec![entry],
            None => vec![],
        };
        action["annotation"]["entries"] = json!(entries);
        action["annotation"]["resolved"] = json!(false);
        action["annotation"]["resource"] = json!("file:///harness/one.txt");
        let _ = bid;
    }),
    ("annotations/entryRemoved", |builder, bid, action| {
        let all = bid.state["annotations"].as_array().cloned().unwrap_or_default();
        let Some(one) = builder.dice.pick(&all) else { return };
        let entries = one["entries"].as_array().cloned().unwrap_or_default();
        action["annotationId"] = one["id"].clone();
        action["entryId"] = entries.first().map_or(json!("nothing"), |it| it["id"].clone());
    }),
    ("annotations/entrySet", |builder, _, action| {
        if builder.dice.chance(60) {
            action["entry"]["id"] = json!(format!("e{}", builder.number()));
        }
    }),
    ("annotations/updated", |_, _, action| {
        drop_member(action, "origin");
        action["range"] =
            json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 5}});
    }),
    ("terminal/resized", |builder, _, action| {
        (action["cols"], action["rows"]) =
            (json!(80 + builder.dice.below(3)), json!(24 + builder.dice.below(3)));
    }),
];

/// Generates a plugin that a client contributes.
pub fn plugin(builder: &mut ConversationBuilder) -> Value {
    let number = builder.dice.below(3);
    let readable = builder.dice.chance(80);
    let folder = if readable { "virtual:/plugins" } else { "virtual:/nowhere" };
    let uri = format!("{folder}/p{number}");
    if builder.dice.chance(35) {
        // Without children, the host has to read the plugin's content from its URI.
        return json!({"type": "plugin", "id": format!("p{number}"), "uri": uri, "name": "Plugin"});
    }
    json!({
        "type": "plugin", "id": format!("p{number}"), "uri": uri, "name": "Plugin",
        "enablement": [{"kind": "session", "enabled": true}, {"kind": "global", "enabled": true}],
        "children": [
            {"type": "skill", "id": format!("s{number}"), "uri": format!("{uri}/SKILL.md"), "name": "Skill"},
            {"type": "mcpServer", "id": format!("m{number}"), "uri": format!("{uri}/mcp.json"), "name": "Server",
                "state": {"kind": "stopped"}},
        ],
    })
}

/// The level of an entry in the tree of customizations.
#[derive(Clone, Copy, PartialEq)]
enum EntryDepth {
    Top,
    Any,
}

/// Returns the id of a customization in a state. If a type is given, returns the id of a customization with this type.
fn entry(
    builder: &mut ConversationBuilder,
    state: &Value,
    of_type: Option<&str>,
    depth: EntryDepth,
) -> Option<Value> {
    let tops = state["customizations"].as_array().cloned().unwrap_or_default();
    let parents = tops.iter().filter(|_| depth == EntryDepth::Any);
    let children = parents.flat_map(|it| it["children"].as_array().into_iter().flatten());
    let all: Vec<Value> = tops
        .iter()
        .chain(children)
        .filter(|it| of_type.is_none_or(|of_type| it["type"] == of_type))
        .map(|it| it["id"].clone())
        .collect();
    builder.dice.pick(&all).cloned()
}

/// Sets the folder of an action, usually to a folder that the session has.
fn directory(builder: &mut ConversationBuilder, bid: &ActionBid, action: &mut Value) {
    let sessions = builder.channels(ChannelKind::Session);
    let held = sessions
        .iter()
        .flat_map(|(_, it)| it["workingDirectories"].as_array().into_iter().flatten());
    let own = bid.state["workingDirectories"].as_array().into_iter().flatten();
    let adds = action["type"].as_str().is_some_and(|name| name.ends_with("Set"));
    let held: Vec<Value> = match bid.kind == ChannelKind::Chat && adds {
        true => held.cloned().collect(),
        false => own.cloned().collect(),
    };
    let wanted = !adds || bid.kind == ChannelKind::Chat;
    if let Some(one) = builder.dice.pick(&held).filter(|_| wanted) {
        action["directory"] = one.clone();
    }
}

fn definition(builder: &mut ConversationBuilder) -> Value {
    let kind = if builder.dice.chance(88) { "automation" } else { "user" };
    let text = match builder.dice.below(3) {
        0 => "ahp-script: 1\nendless",
        1 => "ahp-script: 1\nfail overloaded",
        _ => "Say hello.",
    };
    let mut definition = json!({
        "title": format!("Automation {}", builder.number()),
        "message": {"text": text, "origin": {"kind": kind}},
        "session": {}, "enabled": builder.dice.chance(50), "triggers": [],
    });
    if builder.dice.chance(50) {
        definition["_meta"] = json!({"x-fuzz/kept": "by hosts"});
    }
    if builder.dice.chance(30) {
        definition["disableConditions"] = json!([{"kind": "afterRuns", "max": 2}]);
    }
    definition
}

/// If the chat has a tool call with this status, makes the action name this call.
fn call_of(builder: &mut ConversationBuilder, bid: &ActionBid, action: &mut Value, status: &str) {
    let parts = bid.state["activeTurn"]["responseParts"].as_array();
    let calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
    let fitting: Vec<Value> = calls
        .filter(|call| call["status"] == status)
        .map(|call| call["toolCallId"].clone())
        .collect();
    if let Some(id) = builder.dice.pick(&fitting) {
        action["toolCallId"] = id.clone();
        action["turnId"] = bid.state["activeTurn"]["id"].clone();
    }
}

/// Selects one of the options that a tool call offers to the user, or edits the input of the call if editing is
/// allowed.
fn option(builder: &mut ConversationBuilder, bid: &ActionBid, action: &mut Value) {
    let parts = bid.state["activeTurn"]["responseParts"].as_array();
    let mut calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
    let Some(call) = calls.find(|call| call["toolCallId"] == action["toolCallId"]) else { return };
    let kind = if action["approved"] == true { "approve" } else { "deny" };
    let options = call["options"].as_array().cloned().unwrap_or_default();
    let fitting: Vec<&Value> = options.iter().filter(|option| option["kind"] == kind).collect();
    if builder.dice.chance(40)
        && let Some(option) = builder.dice.pick(&fitting)
    {
        action["selectedOptionId"] = option["id"].clone();
    }
    if call["editable"] == true && builder.dice.chance(40) && kind == "approve" {
        action["editedToolInput"] = json!("touch ahp-other");
    }
}

/// Answers an open question with an answer of its kind.
fn answers(builder: &mut ConversationBuilder, bid: &ActionBid, action: &mut Value) {
    let parts = bid.state["activeTurn"]["responseParts"].as_array();
    let open = parts.into_iter().flatten().filter(|part| part["response"].is_null());
    let open: Vec<Value> =
        open.map(|part| part["request"].clone()).filter(|it| it["id"].is_string()).collect();
    let Some(request) = builder.dice.pick(&open).cloned() else { return };
    action["requestId"] = request["id"].clone();
    let questions = request["questions"].as_array().cloned().unwrap_or_default();
    let mut given = json!({});
    for question in &questions {
        let id = question["id"].as_str().unwrap_or_default();
        given[id] = answer(builder, question);
    }
    if action["type"] == "chat/inputAnswerChanged" {
        if let Some(question) = builder.dice.pick(&questions) {
            action["questionId"] = question["id"].clone();
            action["answer"] = answer(builder, question);
        }
    } else if builder.dice.chance(70) {
        action["answers"] = given;
    } else {
        drop_member(action, "answers");
    }
}

fn answer(builder: &mut ConversationBuilder, question: &Value) -> Value {
    let options = question["options"].as_array().cloned().unwrap_or_default();
    let option = builder.dice.pick(&options).map(|option| option["id"].clone());
    let mut kind = question["kind"].as_str().unwrap_or_default();
    if builder.dice.chance(15) {
        kind = builder.dice.pick(&["boolean", "number", "text", "multi-select"]).unwrap_or(&"text");
    }
    let value = match kind {
        "number" | "integer" => json!({"kind": "number", "value": 3}),
        "boolean" => json!({"kind": "boolean", "value": true}),
        "single-select" => json!({"kind": "selected", "value": option}),
        "multi-select" => json!({"kind": "selected-many", "value": [option.unwrap_or(json!("x"))]}),
        _ => json!({"kind": "text", "value": "because"}),
    };
    let state = if builder.dice.chance(80) { "submitted" } else { "draft" };
    json!({"state": state, "value": value})
}

/// Changes a property from the configuration's schema, usually to a valid value.
fn configured(builder: &mut ConversationBuilder, bid: &ActionBid, action: &mut Value) {
    let schema = &bid.state["config"]["schema"]["properties"];
    let rows: Vec<(String, Value)> = schema
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, row)| (name.to_string(), row.clone()))
        .collect();
    let Some((name, row)) = builder.dice.pick(&rows).cloned() else { return };
    let values = row["enum"].as_array().cloned().unwrap_or_default();
    let value = match builder.dice.pick(&values) {
        _ if builder.dice.chance(15) => json!("not offered"),
        Some(value) => value.clone(),
        None => match row["type"].as_str() {
            Some("boolean") => json!(builder.dice.chance(50)),
            Some("number" | "integer") => json!(3),
            _ => json!(format!("value {}", builder.dice.below(3))),
        },
    };
    action["config"] = json!({});
    action["config"][name.as_str()] = value;
    if builder.dice.chance(80) {
        drop_member(action, "replace");
    }
}

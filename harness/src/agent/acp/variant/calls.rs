//! Variants of the members of tool-call reports: an agent omits a member, sends it later, or gives it another value.
//!
//! Knows: the members of calls. Never knows: the order of statuses, permissions.

use std::collections::HashMap;

use crate::wire::json::{Map, Value, json};

use super::rewriting::{
    AgentVariant, CallReportKind, MessageFlow, ToldCall, VariantLink, told_call, updating,
};
use super::row::{AgentVariantRow, CALL, CALLS, STATUS, offering_less, row};

/// Changes the members of a tool call in messages.
struct ChangedCalls(fn(&mut ToldCall<'_>));

impl AgentVariant for ChangedCalls {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        told_call(&mut message).iter_mut().for_each(self.0);
        flow.to_client.push(message);
    }
}

fn without(names: fn(&str) -> bool) -> impl Fn(&mut ToldCall<'_>) {
    move |call| call.members.retain(|name, _| !names(name))
}

/// Moves a member of the first report into the next update of the call.
struct LaterMember {
    name: &'static str,
    kept: HashMap<(String, String), Value>,
}

impl LaterMember {
    fn of(name: &'static str) -> Box<dyn AgentVariant> {
        Box::new(LaterMember { name, kept: HashMap::new() })
    }
}

impl AgentVariant for LaterMember {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(call) = told_call(&mut message) {
            let id = call.key();
            match call.told {
                CallReportKind::First => {
                    let value = call.members.remove(self.name);
                    value.into_iter().for_each(|value| drop(self.kept.insert(id.clone(), value)));
                }
                CallReportKind::Update if !call.members.contains_key(self.name) => {
                    let value = self.kept.remove(&id);
                    value.into_iter().for_each(|it| drop(call.members.insert(self.name, it)));
                }
                _ => {}
            }
        }
        flow.to_client.push(message);
    }
}

/// Repeats in each update all members that were reported before.
#[derive(Default)]
struct WholeUpdates {
    known: HashMap<(String, String), Map>,
}

impl AgentVariant for WholeUpdates {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(call) =
            told_call(&mut message).filter(|call| call.told != CallReportKind::Permission)
        {
            let known = self.known.entry(call.key()).or_default();
            for (name, value) in call.members.iter().filter(|(_, value)| !value.is_null()) {
                known.insert(name.clone(), value.clone());
            }
            known.retain(|name, _| name != "_meta");
            for (name, value) in known.iter() {
                if !call.members.contains_key(name) {
                    call.members.insert(name.clone(), value.clone());
                }
            }
        }
        flow.to_client.push(message);
    }
}

/// Returns whether this is the first report of a call that has not started.
fn is_pending_report(call: &ToldCall<'_>) -> bool {
    call.told == CallReportKind::First && matches!(call.text("status"), "" | "pending")
}

/// Splits the first report into several, as if the model streamed the input.
struct StreamedInput;

impl AgentVariant for StreamedInput {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let later = told_call(&mut message).filter(is_pending_report).map(|call| {
            let mut later = Map::new();
            later.insert("sessionUpdate", json!("tool_call_update"));
            for name in ["toolCallId", "title", "status"] {
                let value = call.members.get(name).cloned();
                value.into_iter().for_each(|value| drop(later.insert(name, value)));
            }
            for name in ["rawInput", "locations", "content", "rawOutput"] {
                let value = call.members.remove(name);
                value.into_iter().for_each(|value| drop(later.insert(name, value)));
            }
            call.members.insert("title", json!(""));
            call.members.insert("status", json!("pending"));
            updating(&call.session, Value::Object(later))
        });
        flow.to_client.push(message);
        flow.to_client.extend(later);
    }
}

fn as_text(value: &mut Value) {
    if !value.is_null() {
        *value = json!(value.to_text());
    }
}

/// Returns the text blocks in a call's content, with their wrappers.
fn texts<'a>(call: &'a mut ToldCall<'_>) -> impl Iterator<Item = &'a mut Value> {
    let items = call.members.get_mut("content").and_then(Value::as_array_mut);
    items.into_iter().flatten().filter(|item| item["type"] == "content")
}

fn change(call: &mut ToldCall<'_>, name: &str, by: fn(&mut Value)) {
    call.members.get_mut(name).into_iter().for_each(by);
}

const OPTIONAL: &str = "Only `toolCallId` and, in the first report, `title` are required.";
const ANY_JSON: &str = "`rawInput` and `rawOutput` are any JSON value.";
const LATER: &str = "An update may set or change every member of a call except its id.";
const REPLACED: &str = "An update has the members that change; a repeated member changes nothing.";

/// The variants of the members of calls.
pub(super) const ROWS: &[AgentVariantRow] = &[
    offering_less(row(
        "without-kinds",
        "Calls have no `kind`.",
        "`kind` is optional; a call without it is `other`.",
        CALL,
        || Box::new(ChangedCalls(|call| without(|name| name == "kind")(call))),
    )),
    row(
        "without-names",
        "Calls have no `name`.",
        "`name` is optional: it is given if it is known.",
        CALL,
        || Box::new(ChangedCalls(|call| without(|name| name == "name")(call))),
    ),
    offering_less(row("without-content", "Calls have no `content`.", OPTIONAL, CALL, || {
        Box::new(ChangedCalls(|call| without(|name| name == "content")(call)))
    })),
    offering_less(row("without-raw-input", "Calls have no `rawInput`.", OPTIONAL, CALL, || {
        Box::new(ChangedCalls(|call| without(|name| name == "rawInput")(call)))
    })),
    offering_less(row("without-raw-output", "Calls have no `rawOutput`.", OPTIONAL, CALL, || {
        Box::new(ChangedCalls(|call| without(|name| name == "rawOutput")(call)))
    })),
    offering_less(row("without-locations", "Calls have no `locations`.", OPTIONAL, CALL, || {
        Box::new(ChangedCalls(|call| without(|name| name == "locations")(call)))
    })),
    offering_less(row(
        "bare-calls",
        "Reports of calls have an id, a title and a status, and nothing else.",
        OPTIONAL,
        CALL,
        || {
            Box::new(ChangedCalls(|call| {
                let kept = ["sessionUpdate", "toolCallId", "title", "status"];
                call.members.retain(|name, _| kept.iter().any(|known| name == *known));
            }))
        },
    )),
    row(
        "without-status-at-first",
        "The first report of a call has no `status`.",
        "`status` is optional; a call without it is `pending`.",
        STATUS,
        || {
            Box::new(ChangedCalls(|call| {
                if call.told == CallReportKind::First && call.text("status") == "pending" {
                    call.members.remove("status");
                }
            }))
        },
    ),
    row("kinds-later", "The kind of a call comes with its first update.", LATER, CALL, || {
        LaterMember::of("kind")
    }),
    row(
        "names-later",
        "The name of a tool comes with the first update of its call.",
        "The name comes as soon as it is known.",
        CALL,
        || LaterMember::of("name"),
    ),
    row("raw-input-later", "The input of a call comes with its first update.", LATER, CALL, || {
        LaterMember::of("rawInput")
    }),
    row(
        "locations-later",
        "The locations of a call come with its first update.",
        LATER,
        CALL,
        || LaterMember::of("locations"),
    ),
    row(
        "streamed-input",
        "A call is first reported with an empty title; its input, title and locations follow in another pending update.",
        "`pending` means that the input is still being streamed, or that approval is awaited.",
        STATUS,
        || Box::new(StreamedInput),
    ),
    row(
        "whole-updates",
        "Each update repeats all members of its call that were reported before.",
        REPLACED,
        CALLS,
        || Box::new(WholeUpdates::default()),
    ),
    row("titles-change", "The title of a call changes with its status.", LATER, CALL, || {
        Box::new(ChangedCalls(|call| {
            let status = call.text("status").to_owned();
            if call.told == CallReportKind::Update && !status.is_empty() {
                call.members.insert("title", json!(format!("It is {status}")));
            }
        }))
    }),
    row(
        "long-titles",
        "Titles have many lines.",
        "`title` is a string; its wording is not specified.",
        CALL,
        || {
            Box::new(ChangedCalls(|call| {
                change(call, "title", |it| *it = json!("a\n\tb\u{1f528}".repeat(500)))
            }))
        },
    ),
    offering_less(row(
        "raw-input-is-text",
        "The raw input is a string that contains JSON.",
        ANY_JSON,
        CALL,
        || Box::new(ChangedCalls(|call| change(call, "rawInput", as_text))),
    )),
    offering_less(row("raw-input-is-a-list", "The raw input is a list.", ANY_JSON, CALL, || {
        Box::new(ChangedCalls(|call| change(call, "rawInput", |it| *it = json!([it.take()]))))
    })),
    row(
        "raw-output-is-text",
        "The raw output is a string that contains JSON.",
        ANY_JSON,
        CALL,
        || Box::new(ChangedCalls(|call| change(call, "rawOutput", as_text))),
    ),
    row("raw-output-is-a-number", "The raw output is the number 0.", ANY_JSON, CALL, || {
        Box::new(ChangedCalls(|call| change(call, "rawOutput", |it| *it = json!(0))))
    }),
    row(
        "locations-with-lines",
        "Locations have a line.",
        "`line` is optional; lines are counted from 1.",
        "schema v1 › ToolCallLocation",
        || {
            Box::new(ChangedCalls(|call| {
                let places = call.members.get_mut("locations").and_then(Value::as_array_mut);
                places.into_iter().flatten().for_each(|place| place["line"] = json!(1));
            }))
        },
    ),
    row(
        "new-files-without-old-text",
        "A diff of a new file has no `oldText`.",
        "`oldText` is absent or null for a new file.",
        "schema v1 › Diff",
        || {
            Box::new(ChangedCalls(|call| {
                let items = call.members.get_mut("content").and_then(Value::as_array_mut);
                for diff in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                    if diff.get("oldText").is_some_and(Value::is_null) {
                        diff.remove("oldText");
                    }
                }
            }))
        },
    ),
    row(
        "diffs-of-whole-files",
        "A diff of a change has the whole text of the file, before and after.",
        "The specification does not say whether a diff has the whole file or only the changed part.",
        "schema v1 › Diff",
        || {
            Box::new(ChangedCalls(|call| {
                let items = call.members.get_mut("content").and_then(Value::as_array_mut);
                for diff in items.into_iter().flatten().filter(|item| item["oldText"].is_string()) {
                    for side in ["oldText", "newText"] {
                        let text = diff[side].as_str().unwrap_or_default();
                        diff[side] = json!(format!("before\n{text}\nafter\n"));
                    }
                }
            }))
        },
    ),
    row(
        "empty-lists-of-calls",
        "Calls without content or locations have empty lists.",
        "`content` and `locations` are lists of any length.",
        CALL,
        || {
            Box::new(ChangedCalls(|call| {
                for name in ["content", "locations"] {
                    if call.told == CallReportKind::First && !call.members.contains_key(name) {
                        call.members.insert(name, json!([]));
                    }
                }
            }))
        },
    ),
    row(
        "calls-hold-links",
        "The content of a call ends with a link and an image.",
        "A call contains content blocks of any kind.",
        "schema v1 › ToolCallContent, ContentBlock",
        || {
            Box::new(ChangedCalls(|call| {
                let items = call.members.get_mut("content").and_then(Value::as_array_mut);
                if let Some(items) = items {
                    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
                    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
                    items.push(json!({"type": "content", "content": link}));
                    items.push(json!({"type": "content", "content": image}));
                }
            }))
        },
    ),
    row(
        "texts-in-fences",
        "The text in the content of a call is in a Markdown code block.",
        "How the text of a tool is presented is not specified.",
        "schema v1 › ToolCallContent",
        || {
            Box::new(ChangedCalls(|call| {
                for item in texts(call).filter(|item| item["content"]["type"] == "text") {
                    let text = item["content"]["text"].as_str().unwrap_or_default();
                    item["content"]["text"] = json!(format!("```\n{text}\n```"));
                }
            }))
        },
    ),
];

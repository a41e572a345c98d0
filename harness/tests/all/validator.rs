//! Property tests of the protocol tables with messages of the reference host: every frame of a random conversation is
//! valid, and a frame without a required member, or with a member of another JSON type, is invalid.
//!
//! This file determines the required members from the tables independently of the validator.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::sync::LazyLock;

use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::message::{Message, MessageKind};
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::validate::{MessageOrigin, ShapeError};
use ahp_harness::wire::version::Version;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::cases::cases;
use crate::common::pair::{SentFrame, play};
use crate::common::step::scripts;

/// The tables of the versions that hosts offer by default, by version.
static TABLES: LazyLock<Vec<(Version, Value)>> = LazyLock::new(|| {
    let table = |version: &Version| {
        (*version, serde_json::from_str(Protocol::text_of(*version).unwrap()).unwrap())
    };
    Version::offered().iter().map(table).collect()
});

fn check(said: &SentFrame, message: &Message) -> Vec<ShapeError> {
    let protocol = Protocol::of(said.version).unwrap();
    protocol.check_message(message, MessageOrigin::Host, said.answers.as_deref())
}

/// One step into a JSON value.
#[derive(Clone, Debug)]
enum InnerStep {
    Member(String),
    Item(usize),
}

/// A place in a message that the tables describe.
struct MessageSite {
    path: String,
    way: Vec<InnerStep>,
    /// Whether the member is required.
    required: bool,
    /// The type expression of the tables.
    expression: String,
}

/// Collects the places of a message.
struct SiteWalk<'t> {
    table: &'t Value,
    places: Vec<MessageSite>,
    path: String,
    way: Vec<InnerStep>,
}

impl SiteWalk<'_> {
    fn inside(&mut self, step: InnerStep, expression: &str, value: &Value) {
        let length = self.path.len();
        match &step {
            InnerStep::Member(name) if length == 0 => self.path.push_str(name),
            InnerStep::Member(name) => self.path.push_str(&format!(".{name}")),
            InnerStep::Item(index) => self.path.push_str(&format!("[{index}]")),
        }
        self.way.push(step);
        self.value(expression, value);
        self.way.pop();
        self.path.truncate(length);
    }

    fn note(&mut self, name: &str, expression: &str, required: bool) {
        let dot = if self.path.is_empty() { "" } else { "." };
        let way = [&self.way[..], &[InnerStep::Member(name.to_owned())]].concat();
        let path = format!("{}{dot}{name}", self.path);
        self.places.push(MessageSite { path, way, required, expression: expression.to_owned() });
    }

    fn value(&mut self, expression: &str, value: &Value) {
        let table = self.table;
        if let Some(entry) = table["types"].get(expression) {
            self.entry(entry, value);
        } else if let Some(item) = expression.strip_suffix("[]") {
            for (index, element) in value.as_array().into_iter().flatten().enumerate() {
                self.inside(InnerStep::Item(index), item, element);
            }
        } else if expression == "action" {
            self.note("type", "string", true);
            if let Some(entry) = table["actions"].get(value["type"].as_str().unwrap()) {
                self.entry(entry, value);
            }
        }
    }

    fn entry(&mut self, entry: &Value, value: &Value) {
        if let Some(fields) = entry["fields"].as_object() {
            return self.record(fields, value);
        }
        let Some(tag) = entry["tag"].as_str() else {
            return;
        };
        let name = match &value[tag] {
            Value::String(name) => name.to_string(),
            other => other.to_string(),
        };
        let tag_type = if value[tag].is_boolean() { "boolean" } else { "string" };
        self.note(tag, tag_type, true);
        match &entry["variants"][&name] {
            Value::String(named) => self.value(named, value),
            Value::Object(fields) => self.record(fields, value),
            _ => {}
        }
    }

    fn record(&mut self, fields: &ahp_harness::wire::json::Map, value: &Value) {
        for (spelled, expression) in fields {
            let name = spelled.trim_end_matches(['?', '~']);
            let mut expression = expression.as_str().unwrap();
            let Some(member) = value.get(name).filter(|member| !member.is_null()) else {
                continue;
            };
            if expression == "action" && value.get("rejectionReason").is_some() {
                // This member contains the client's own action.
                continue;
            }
            if expression == "state" {
                expression = match value["resource"].as_str().unwrap().split(':').next() {
                    Some("ahp-root") => "RootState",
                    Some("ahp-session") => "SessionState",
                    _ => "ChatState",
                };
            }
            self.note(name, expression, name == spelled);
            self.inside(InnerStep::Member(name.to_owned()), expression, member);
        }
    }
}

fn places(said: &SentFrame) -> Vec<MessageSite> {
    let (_, table) = TABLES.iter().find(|(known, _)| *known == said.version).unwrap();
    let mut walk = SiteWalk { table, places: Vec::new(), path: String::new(), way: Vec::new() };
    let message = said.message.value();
    let method = said.message.method().or(said.answers.as_deref()).unwrap();
    let row = &table["methods"][method];
    match said.message.kind() {
        MessageKind::Success => {
            let expression = row["result"].as_str().unwrap();
            walk.inside(InnerStep::Member("result".into()), expression, &message["result"]);
        }
        MessageKind::Failure => {
            walk.path = "error".to_owned();
            walk.way = vec![InnerStep::Member("error".into())];
            walk.note("code", "integer", true);
            walk.note("message", "string", true);
        }
        _ => {
            walk.note("params", "object", true);
            let expression = row["params"].as_str().unwrap();
            walk.inside(InnerStep::Member("params".into()), expression, &message["params"]);
        }
    }
    walk.places
}

fn at<'a>(value: &'a mut Value, way: &[InnerStep]) -> &'a mut Value {
    way.iter().fold(value, |value, step| match step {
        InnerStep::Member(name) => &mut value[name.as_str()],
        InnerStep::Item(index) => &mut value[*index],
    })
}

/// Returns whether a type permits a value of this JSON type.
fn admits(table: &Value, expression: &str, value: &Value) -> bool {
    if let Some(entry) = table["types"].get(expression) {
        let any = entry["any"].as_array();
        return match any {
            Some(any) => any.iter().any(|one| admits(table, one.as_str().unwrap(), value)),
            None if entry["enum"].is_array() => value.is_string(),
            None => value.is_object(),
        };
    }
    if expression.contains('|') && !expression.starts_with('{') {
        return expression.split('|').any(|one| admits(table, one, value));
    }
    match expression {
        "any" => true,
        "string" | "uri" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" | "natural" | "number" => value.is_number(),
        "null" => value.is_null(),
        _ if expression.ends_with("[]") => value.is_array(),
        _ if expression.starts_with('\'') => value.is_string(),
        _ => value.is_object(),
    }
}

/// Returns whether a path equals another one or is a prefix of it.
fn leads(path: &str, to: &str) -> bool {
    to.strip_prefix(path)
        .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Makes a message invalid at one place; `None` if the place accepts any value.
fn broken(said: &SentFrame, place: &MessageSite, drop: bool, type_: Index) -> Option<Message> {
    let mut value = said.message.value().clone();
    if drop && place.required {
        let (last, owner) = place.way.split_last()?;
        let InnerStep::Member(name) = last else {
            return None;
        };
        at(&mut value, owner).as_object_mut()?.remove(name);
        return Some(Message::new(value));
    }
    let (_, table) = TABLES.iter().find(|(known, _)| *known == said.version)?;
    let mut odd = vec![json!(true), json!("odd"), json!(7), json!([]), json!({})];
    odd.retain(|odd| !admits(table, &place.expression, odd));
    if odd.is_empty() {
        return None;
    }
    *at(&mut value, &place.way) = type_.get(&odd).clone();
    Some(Message::new(value))
}

/// The change that makes a message invalid: the index of the message, the index of the place, whether to remove the
/// member there, and otherwise the index of the type that the member gets.
type MessageBreak = (Index, Index, bool, Index);

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn accepts_messages_of_the_host_and_rejects_broken_ones(
        script in scripts(40),
        breaks in proptest::collection::vec(any::<MessageBreak>(), 60),
    ) {
        let pair = play(&script);
        for said in &pair.said {
            let errors = check(said, &said.message);
            let hard = errors.iter().find(|error| !error.soft);
            prop_assert!(hard.is_none(), "{:?}: {}", hard, said.message.value());
        }
        for (which, place, drop, type_) in breaks {
            let said = which.get(&pair.said);
            let places = places(said);
            if places.is_empty() {
                continue;
            }
            let place = place.get(&places);
            let Some(message) = broken(said, place, drop, type_) else {
                continue;
            };
            let errors = check(said, &message);
            let found = errors.iter().any(|error| !error.soft && leads(&error.path, &place.path));
            prop_assert!(
                found,
                "{} of `{}` (a {}, required {}) went through: {:?}\n{}",
                if drop { "absence" } else { "type" }, place.path, place.expression,
                place.required, errors, message.value(),
            );
        }
    }
}

/// Checks that the specification's examples of tool calls are valid, and that an invalid variant of each example is
/// not.
#[test]
fn the_examples_about_tool_calls_are_valid_and_their_twins_are_not() {
    let table = Protocol::acp();
    let examples = [
        (
            "SessionNotification",
            json!({"sessionId": "sess_1", "update": {
                "sessionUpdate": "tool_call", "toolCallId": "call_001", "title": "Reading configuration file",
                "kind": "read", "status": "pending",
            }}),
            ("/update/status", json!("running")),
        ),
        (
            "SessionNotification",
            json!({"sessionId": "sess_1", "update": {
                "sessionUpdate": "tool_call_update", "toolCallId": "call_001", "status": "in_progress",
                "content": [{"type": "content", "content": {"type": "text", "text": "Found 3 files"}}],
            }}),
            ("/update/content/0", json!({"type": "text", "text": "bare"})),
        ),
        (
            "RequestPermissionRequest",
            json!({"sessionId": "sess_1", "toolCall": {"toolCallId": "call_001"}, "options": [
                {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"},
            ]}),
            ("/options/1/kind", json!("deny")),
        ),
        (
            "RequestPermissionResponse",
            json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}}),
            ("/outcome/optionId", Value::Null),
        ),
        (
            "RequestPermissionResponse",
            json!({"outcome": {"outcome": "cancelled"}}),
            ("/outcome/outcome", json!("dismissed")),
        ),
        (
            "ToolCallContent",
            json!({"type": "content", "content": {"type": "text", "text": "Analysis complete"}}),
            ("/content/text", json!(3)),
        ),
        (
            "ToolCallContent",
            json!({"type": "diff", "path": "/p/config.json", "oldText": "{}", "newText": "{\"a\": 1}"}),
            ("/newText", Value::Null),
        ),
        ("ToolCallLocation", json!({"path": "/p/main.py", "line": 42}), ("/line", json!("42"))),
    ];
    for (kind, example, (pointer, wrong)) in examples {
        assert_eq!(table.check_type(kind, &example), [], "{kind}");
        let mut twin = example.clone();
        *twin.pointer_mut(pointer).unwrap() = wrong;
        assert!(!table.check_type(kind, &twin).is_empty(), "{kind}: {twin:?}");
    }
}

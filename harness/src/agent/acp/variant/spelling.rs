//! Variants of JSON formatting, of `_meta`, and of members that are null.
//!
//! Knows: JSON, the members that may be null. Never knows: methods, sessions.

use crate::wire::json::{Map, Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::spelling::{
    FractionPlace, LeafForm, USUAL, add_fractions, reverse_members, walk, with_exponent, written,
    written_in_ascii, written_in_escapes,
};

use super::rewriting::{AgentVariant, CallReportKind, MessageFlow, VariantLink, told_call};
use super::row::{AgentVariantRow, EXTENSIONS, JSON, RPC, row};

/// Writes integers with a zero fraction, such as `1.0`.
struct AgentFractionalNumbers(FractionPlace);

impl AgentVariant for AgentFractionalNumbers {
    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        // Change only the ids of responses: the sender of a request chooses its id.
        if self.0 == FractionPlace::Rest || link.answers.is_some() {
            add_fractions(&mut message, self.0);
        }
        flow.to_client.push(message);
    }
}

/// Reverses the order of the members of each object.
struct AgentReversedMembers;

impl AgentVariant for AgentReversedMembers {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        walk(&mut message, &mut reverse_members);
        flow.to_client.push(message);
    }
}

/// Serialises messages with another function.
struct AgentWrittenText(fn(&Value) -> String);

impl AgentVariant for AgentWrittenText {
    fn spelled(&self, message: &Value) -> Option<String> {
        Some((self.0)(message))
    }
}

/// Adds `_meta` to each object of the protocol that has none.
struct AgentAddedMetadata(fn() -> Value);

impl AgentVariant for AgentAddedMetadata {
    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        Protocol::acp().visit_records(&mut message, link.answers, &mut |_, members| {
            if !members.contains_key("_meta") {
                members.insert("_meta", (self.0)());
            }
        });
        flow.to_client.push(message);
    }
}

/// Sets optional members to null where null is allowed.
struct NullMembers;

/// The members of results and of request params that may be null.
const NULLABLE: &[(&str, &[&str])] = &[
    ("initialize", &["agentInfo"]),
    ("session/new", &["modes", "configOptions"]),
    ("fs/read_text_file", &["line", "limit"]),
    ("terminal/create", &["cwd", "outputByteLimit"]),
];
/// The members of call updates that may be null; null leaves a member unchanged.
const NULLABLE_UPDATES: [&str; 8] =
    ["kind", "status", "title", "name", "content", "locations", "rawInput", "rawOutput"];

fn add_nulls(members: &mut Map, names: &[&'static str]) {
    for name in names {
        if !members.contains_key(name) {
            members.insert(*name, Value::Null);
        }
    }
}

impl AgentVariant for NullMembers {
    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let method = message["method"].as_str().or(link.answers).unwrap_or_default().to_owned();
        for (_, names) in NULLABLE.iter().filter(|(known, _)| *known == method) {
            for part in ["params", "result"] {
                let members = message.get_mut(part).and_then(Value::as_object_mut);
                members.into_iter().for_each(|members| add_nulls(members, names));
            }
        }
        if let Some(call) = told_call(&mut message) {
            match call.told {
                CallReportKind::First => add_nulls(call.members, &["name"]),
                _ => add_nulls(call.members, &NULLABLE_UPDATES),
            }
            let places = call.members.get_mut("locations").and_then(Value::as_array_mut);
            for place in places.into_iter().flatten().filter_map(Value::as_object_mut) {
                add_nulls(place, &["line"]);
            }
        }
        let update = message.pointer_mut("/params/update").and_then(Value::as_object_mut);
        let chunk = |update: &&mut Map| {
            let kind = update.get("sessionUpdate").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.ends_with("message_chunk"))
        };
        update.filter(chunk).into_iter().for_each(|update| add_nulls(update, &["messageId"]));
        flow.to_client.push(message);
    }
}

/// Puts white space around every structural character of the JSON text. The white space has no line feed, which
/// would end the message.
fn spaced(message: &Value) -> String {
    let pretty = serde_json::to_string_pretty(message).unwrap_or_default();
    format!(" \t{} ", pretty.replace('\n', "\t"))
}

const SPACE: &str = "Insignificant white space is allowed around structural characters; only a line feed ends a message.";
const NUMBER: &str =
    "JSON has one type of number: 1.0 and 1e0 are 1, and JSON Schema counts both as integers.";
const ESCAPE: &str = "Any character of a string may be escaped.";
const META: &str =
    "Every type of the protocol has an optional `_meta`: an object of any members, or null.";

/// The variants of numbers, white space, escapes, the order of members, `_meta` and null.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row("acp-numbers-with-fraction", "Integers are written as `1.0`.", NUMBER, JSON, || {
        Box::new(AgentFractionalNumbers(FractionPlace::Rest))
    }),
    row("acp-numbers-with-exponent", "Integers are written as `1e0`.", NUMBER, JSON, || {
        Box::new(AgentWrittenText(|message| {
            written(message, LeafForm { number: with_exponent, ..USUAL })
        }))
    }),
    row(
        "acp-ids-with-fraction",
        "The ids of responses are written as `1.0`.",
        "The id of a response is the same value as in the request; 1.0 is 1.",
        RPC,
        || Box::new(AgentFractionalNumbers(FractionPlace::Id)),
    ),
    row(
        "acp-members-reversed",
        "The members of each object come in reverse order.",
        "An object is an unordered collection of members.",
        JSON,
        || Box::new(AgentReversedMembers),
    ),
    row("acp-spaced", "Messages have white space around all values.", SPACE, JSON, || {
        Box::new(AgentWrittenText(spaced))
    }),
    row(
        "acp-carriage-returns",
        "Each line ends with a carriage return and a line feed.",
        SPACE,
        JSON,
        || Box::new(AgentWrittenText(|message| format!("{}\r", message.to_text()))),
    ),
    row("acp-escaped", "Slashes and characters outside ASCII are escaped.", ESCAPE, JSON, || {
        Box::new(AgentWrittenText(written_in_ascii))
    }),
    row(
        "acp-every-letter-escaped",
        "Every letter of a string is escaped, also in the names of members.",
        ESCAPE,
        JSON,
        || Box::new(AgentWrittenText(written_in_escapes)),
    ),
    row(
        "acp-metadata",
        "Every object of the protocol has a `_meta` with custom members.",
        META,
        EXTENSIONS,
        || Box::new(AgentAddedMetadata(|| json!({"vendor.example/origin": ["variant", 1]}))),
    ),
    row(
        "acp-metadata-is-null",
        "Every object has a `_meta` that is null.",
        META,
        EXTENSIONS,
        || Box::new(AgentAddedMetadata(|| Value::Null)),
    ),
    row(
        "acp-null-members",
        "Absent optional members are null if the schema permits it.",
        "These members are optional and may be null; in an update null means unchanged.",
        "schema v1 › every type with optional members",
        || Box::new(NullMembers),
    ),
];

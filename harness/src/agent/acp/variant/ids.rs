//! Variants of the ids of sessions, calls and the agent's own requests.
//!
//! Knows: the places of ids in messages. Never knows: the meaning of ids.

use std::collections::HashMap;

use crate::wire::json::{Value, json};
use crate::wire::spelling::walk;

use super::rewriting::{AgentVariant, MessageFlow, VariantLink, key, told_call};
use super::row::{AgentVariantRow, RPC, outermost, row};

/// Replaces every string value of a member, at any depth.
fn replace(message: &mut Value, member: &str, by: &mut dyn FnMut(&str) -> Option<String>) {
    walk(message, &mut |value| {
        let Value::Object(members) = value else { return };
        let Some(id) = members.get_mut(member) else { return };
        if let Some(new) = id.as_str().and_then(&mut *by) {
            *id = json!(new);
        }
    });
}

/// Replaces the ids of sessions.
struct RenamedSessions {
    there: fn(&str) -> String,
    /// The agent's ids, by the ids that the client sees.
    back: HashMap<String, String>,
}

impl RenamedSessions {
    fn by(there: fn(&str) -> String) -> Box<dyn AgentVariant> {
        Box::new(RenamedSessions { there, back: HashMap::new() })
    }
}

impl AgentVariant for RenamedSessions {
    fn on_kept(&mut self, session: &str) {
        self.back.insert((self.there)(session), session.to_owned());
    }

    fn on_client_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(id) = message.pointer_mut("/params/sessionId")
            && let Some(own) = id.as_str().and_then(|id| self.back.get(id))
        {
            *id = json!(own.as_str());
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let named = ["/params/sessionId", "/result/sessionId"].map(str::to_owned);
        let listed =
            message.pointer("/result/sessions").and_then(Value::as_array).map_or(0, Vec::len);
        let listed = (0..listed).map(|place| format!("/result/sessions/{place}/sessionId"));
        for pointer in named.into_iter().chain(listed) {
            let Some(id) = message.pointer_mut(&pointer) else { continue };
            let Some(own) = id.as_str().map(str::to_owned) else { continue };
            let new = (self.there)(&own);
            *id = json!(new.as_str());
            self.back.insert(new, own);
        }
        flow.to_client.push(message);
    }
}

/// Replaces the ids of calls, which no client ever sends.
struct RenamedCalls(fn(&str) -> String);

impl AgentVariant for RenamedCalls {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if told_call(&mut message).is_some() {
            replace(&mut message, "toolCallId", &mut |id| Some((self.0)(id)));
        }
        flow.to_client.push(message);
    }
}

/// Numbers the calls of each session from 1.
#[derive(Default)]
struct CallsOfEachSession {
    ids: HashMap<(String, String), String>,
    counts: HashMap<String, u64>,
}

impl AgentVariant for CallsOfEachSession {
    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if let Some(call) = told_call(&mut message) {
            let count = self.counts.entry(call.session.clone()).or_default();
            let id = self.ids.entry(call.key()).or_insert_with(|| {
                *count += 1;
                format!("{count}")
            });
            call.members.insert("toolCallId", json!(id.as_str()));
        }
        flow.to_client.push(message);
    }
}

/// Replaces the ids of the agent's own requests.
struct OwnRequestIds {
    /// A function that returns the id of the request with this number; numbers begin at 0.
    make: fn(u64) -> Value,
    /// Whether ids of answered requests are reused, lowest first.
    again: bool,
    count: u64,
    /// The open requests by their new id: the number, and the agent's id.
    open: HashMap<String, (u64, Value)>,
}

impl OwnRequestIds {
    fn by(make: fn(u64) -> Value) -> Box<dyn AgentVariant> {
        Box::new(OwnRequestIds { make, again: false, count: 0, open: HashMap::new() })
    }

    fn again() -> Box<dyn AgentVariant> {
        let make = |number| json!(number);
        Box::new(OwnRequestIds { make, again: true, count: 0, open: HashMap::new() })
    }

    fn next(&mut self) -> u64 {
        if self.again {
            let used = |number: &u64| self.open.values().any(|(other, _)| other == number);
            return (0..=u64::MAX).find(|number| !used(number)).unwrap_or_default();
        }
        self.count += 1;
        self.count - 1
    }
}

impl AgentVariant for OwnRequestIds {
    fn on_client_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        let response = message.get("method").is_none();
        if let Some(id) = message.get_mut("id").filter(|_| response)
            && let Some((_, own)) = self.open.remove(&key(id))
        {
            *id = own;
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        _: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if message.get("method").is_some() && message.get("id").is_some() {
            let number = self.next();
            let id = (self.make)(number);
            self.open.insert(key(&id), (number, message["id"].clone()));
            message["id"] = id;
        } else if message["method"] == "$/cancel_request" {
            let own = message["params"]["requestId"].clone();
            let known = self.open.iter().find(|(_, (_, other))| *other == own);
            if let Some((_, (number, _))) = known {
                message["params"]["requestId"] = (self.make)(*number);
            }
        }
        flow.to_client.push(message);
    }
}

fn long(id: &str) -> String {
    format!("{}{id}", "0123456789abcdef".repeat(32))
}

fn odd(id: &str) -> String {
    format!("\u{1f9f5} \"{id}\" / \\ \t\u{e9}\u{932f} #?%00 {{}}")
}

const SESSION: &str = "`SessionId` is a string; its length and its characters are not specified.";
const CALL: &str = "`ToolCallId` is a string; its length and its characters are not specified.";
const REQUEST: &str =
    "`RequestId` is null, an integer of 64 bits or a string; ids of open requests differ.";
const SESSION_ID: &str = "schema v1 › SessionId";
const CALL_ID: &str = "schema v1 › ToolCallId";
const REQUEST_ID: &str = "schema v1 › RequestId";

/// The variants of the ids of sessions, calls and requests.
pub(super) const ROWS: &[AgentVariantRow] = &[
    outermost(row(
        "long-session-ids",
        "Ids of sessions have 500 characters.",
        SESSION,
        SESSION_ID,
        || RenamedSessions::by(long),
    )),
    outermost(row(
        "odd-session-ids",
        "Ids of sessions have quotation marks, slashes, control characters and emoji.",
        SESSION,
        SESSION_ID,
        || RenamedSessions::by(odd),
    )),
    row("long-call-ids", "Ids of calls have 500 characters.", CALL, CALL_ID, || {
        Box::new(RenamedCalls(long))
    }),
    row(
        "odd-call-ids",
        "Ids of calls have quotation marks, slashes, control characters and emoji.",
        CALL,
        CALL_ID,
        || Box::new(RenamedCalls(odd)),
    ),
    row(
        "calls-of-each-session",
        "The calls of each session are numbered from 1, so that sessions share ids.",
        "`toolCallId` is unique within a session.",
        CALL_ID,
        || Box::new(CallsOfEachSession::default()),
    ),
    row(
        "request-ids-are-texts",
        "The agent's requests have strings as ids.",
        REQUEST,
        REQUEST_ID,
        || OwnRequestIds::by(|number| json!(format!("9a7e-{number}"))),
    ),
    row(
        "request-ids-look-like-numbers",
        "The agent's requests have strings as ids that are numbers of the client's requests.",
        REQUEST,
        REQUEST_ID,
        || OwnRequestIds::by(|number| json!(number.to_string())),
    ),
    row(
        "request-ids-are-large",
        "The agent's requests have ids near 2 to the power of 63.",
        REQUEST,
        REQUEST_ID,
        || OwnRequestIds::by(|number| json!(i64::MAX.unsigned_abs() - number)),
    ),
    row(
        "request-ids-are-negative",
        "The agent's requests have negative ids.",
        REQUEST,
        REQUEST_ID,
        || OwnRequestIds::by(|number| json!(-1 - i64::try_from(number).unwrap_or_default())),
    ),
    row(
        "request-ids-of-the-client",
        "The agent's requests are numbered from 0, so that they share ids with the client's requests.",
        "Each side chooses the ids of its own requests.",
        RPC,
        || OwnRequestIds::by(|number| json!(number)),
    ),
    row(
        "request-ids-are-used-again",
        "The id of an answered request is used again.",
        "Only the ids of open requests have to differ.",
        RPC,
        OwnRequestIds::again,
    ),
];

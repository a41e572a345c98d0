//! Generates requests and notifications with invalid params, unknown methods, and long, unusual or empty content.
//!
//! Knows: the tables of ACP. Never knows: the reactions of agents.
//!
//! Start at [`malformed`].

use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

use super::AgentMoveLog;
use super::builder::{AgentConversationBuilder, OpenTurn, hole};

/// Returns values of a wrong type for any member.
fn wrong_values() -> [Value; 9] {
    [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("ahp"),
        json!([]),
        json!({}),
        json!([{"type": "ahp"}]),
    ]
}

/// Returns valid params for a request about a session.
pub(super) fn valid(method: &str, session: &str) -> Value {
    let id = hole(session);
    match method {
        "session/new" => json!({"cwd": "${work}", "mcpServers": []}),
        "session/load" | "session/resume" => {
            json!({"sessionId": id, "cwd": "${work}", "mcpServers": []})
        }
        "session/list" => json!({"cwd": "${work}"}),
        "session/set_mode" => json!({"sessionId": id, "modeId": "ahp-harness-none"}),
        "session/set_config_option" => {
            json!({"sessionId": id, "configId": "ahp-harness-none", "value": "ahp-harness-none"})
        }
        "session/prompt" => json!({"sessionId": id, "prompt": [{"type": "text", "text": "hello"}]}),
        "session/cancel" | "session/close" | "session/delete" => json!({"sessionId": id}),
        "authenticate" => json!({"methodId": "ahp-harness-none"}),
        _ => json!({}),
    }
}

/// The methods whose params are made invalid, each with its weight. An agent that does not have the method refuses the
/// request as well.
const SPOILT: &[(&str, usize)] = &[
    ("session/prompt", 6),
    ("session/new", 4),
    ("session/set_mode", 2),
    ("session/set_config_option", 2),
    ("session/load", 1),
    ("session/resume", 1),
    ("session/list", 1),
    ("session/close", 1),
    ("session/delete", 1),
    ("authenticate", 1),
];

/// Returns a copy of a value with one random change: a member is removed, or is replaced by another value.
fn spoilt(builder: &mut AgentConversationBuilder, value: &Value) -> Value {
    let mut value = value.clone();
    match &mut value {
        Value::Object(members) if !members.is_empty() => {
            let names: Vec<String> = members.iter().map(|(name, _)| name.to_string()).collect();
            let Some(name) = builder.dice.pick(&names) else { return value };
            let inner = members.get(name.as_str()).cloned().unwrap_or_default();
            let deeper = inner.is_object() || inner.as_array().is_some_and(|it| !it.is_empty());
            match builder.dice.below(if deeper { 5 } else { 3 }) {
                0 => drop(members.remove(name.as_str())),
                1 | 2 => {
                    let wrong = wrong_values();
                    let other = builder.dice.pick(&wrong).cloned().unwrap_or_default();
                    members.insert(name.as_str(), other);
                }
                _ => {
                    let inner = spoilt(builder, &inner);
                    members.insert(name.as_str(), inner);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = builder.dice.below(items.len());
            let inner = spoilt(builder, &items[at].clone());
            items[at] = inner;
        }
        other => {
            let wrong = wrong_values();
            *other = builder.dice.pick(&wrong).cloned().unwrap_or_default();
        }
    }
    value
}

/// Returns the paths at which params break the schema; empty if the params are valid.
fn mistakes(method: &str, params: &Value) -> Vec<String> {
    let message = Message::request(0, method, params.clone());
    let errors = Protocol::acp().check_message(&message, MessageOrigin::Client, None);
    errors.into_iter().filter(|error| !error.soft).map(|error| error.path).collect()
}

/// Adds a request with invalid params, and the claim that the agent answers it.
pub(super) fn malformed(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let session = builder.sessions.first()?.clone();
    let all: usize = SPOILT.iter().map(|row| row.1).sum();
    let mut at = builder.dice.below(all);
    let (method, _) = SPOILT.iter().find(|row| match at.checked_sub(row.1) {
        Some(rest) => {
            at = rest;
            false
        }
        None => true,
    })?;
    let params = valid(method, &session);
    let params = spoilt(builder, &params);
    let wrong = mistakes(method, &params);
    // A valid prompt would begin a turn that the generator does not track.
    if wrong.is_empty() && *method == "session/prompt" {
        return None;
    }
    let mut members = json!({"by": "A", "method": (*method), "params": params});
    let claims: &[(Value, &str)] = &[
        (json!({"result": {}, "error": {}}), "acp.tr-04"),
        (json!({"error": {}}), "acp.bp-01"),
        (json!({"error": {"code": (-32602)}}), "acp.bp-02"),
    ];
    let possible = if wrong.is_empty() || !HAD.contains(method) { 1 } else { claims.len() };
    let (ends, rule) = &claims[builder.dice.below(possible)];
    for (name, value) in ends.as_object().into_iter().flatten() {
        members[&**name] = value.clone();
    }
    members["proves"] = json!((*rule));
    members["independent"] = json!(true);
    if !wrong.is_empty() {
        members["deviates"] = wrong.iter().map(|path| json!((path.as_str()))).collect();
    }
    builder.step("request", members);
    Some(((*method).to_owned(), if wrong.is_empty() { "odd params" } else { "malformed params" }))
}

/// The methods that every agent has.
const HAD: &[&str] = &["session/prompt", "session/new"];

/// Adds a notification with invalid params, which an agent has to ignore.
pub(super) fn malformed_notification(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let session = builder.sessions.first()?.clone();
    let params = valid("session/cancel", &session);
    let params = spoilt(builder, &params);
    let wrong = mistakes("session/cancel", &params);
    if wrong.is_empty() {
        return None;
    }
    let deviates: Value = wrong.iter().map(|path| json!((path.as_str()))).collect();
    builder.step(
        "notify",
        json!({"by": "A", "method": "session/cancel", "params": params, "deviates": deviates}),
    );
    Some(("session/cancel".to_owned(), "malformed params"))
}

/// Adds a request or a notification with a method that no agent has.
pub(super) fn unknown_method(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let names =
        ["_ahp-harness/nothing", "_ahp-harness/\u{e9}", "session/ahp-harness", "initialise"];
    let name = *builder.dice.pick(&names)?;
    if builder.dice.chance(50) {
        builder.step("notify", json!({"by": "A", "method": name, "params": {"a": 1}}));
        return Some(("an unknown notification".to_owned(), "unknown method"));
    }
    builder.step(
        "request",
        json!({
            "by": "A", "method": name, "params": {"a": 1}, "error": {"code": (-32601)}, "proves": "acp.tr-06b",
            "independent": true,
        }),
    );
    Some(("an unknown request".to_owned(), "unknown method"))
}

/// The maximum length of a prompt, in repetitions of the first text.
const LONG: usize = 2_000;

/// Adds a prompt with unusual content. Every agent has to accept text and links, regardless of its capabilities.
pub(super) fn odd_content(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let session = builder.session(false)?;
    let texts = [
        "\u{0}\u{1}\u{7f}\u{9b}31m",
        "\u{1f469}\u{200d}\u{1f4bb} e\u{301} \u{202e}abc\u{202c} \u{feff}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "line\r\nline\rline\u{2028}line\u{2029}",
        "\\ud800 \\u0000 \\\\ \" ' ` $(echo) %s %n ${x}",
        "/",
        " ",
        "",
    ];
    let text = (*builder.dice.pick(&texts)?).replace("${", "$\u{200b}{");
    let (text, how) = match builder.dice.below(4) {
        0 => (format!("ahp {text} ").repeat(1 + builder.dice.below(LONG)), "long"),
        _ => (text, "odd"),
    };
    let mut blocks = vec![json!({"type": "text", "text": text})];
    let mut links = false;
    for _ in 0..builder.dice.below(4) {
        let uris =
            ["file://${work}/a.txt", "https://127.0.0.1:9/a?b=c#d", "ahp:x", "urn:ahp:\u{e9}"];
        let uri = *builder.dice.pick(&uris)?;
        blocks.push(json!({"type": "resource_link", "uri": uri, "name": "a\u{e9}\n.txt"}));
        links = true;
    }
    let prompt = builder.name("p");
    builder.step(
        "prompt",
        json!({"by": "A", "session": (hole(&session)), "text": "hello", "as": (prompt.as_str())}),
    );
    builder.answered(&prompt);
    let prompt = builder.name("p");
    builder.step(
        "prompt",
        json!({
            "by": "A", "session": (hole(&session)), "text": "hello", "blocks": (Value::Array(blocks)), "as": (prompt.as_str()),
        }),
    );
    builder.turns.push(OpenTurn { session, prompt, asks: Vec::new(), ends: true });
    Some(("session/prompt".to_owned(), if links { "odd content and links" } else { how }))
}

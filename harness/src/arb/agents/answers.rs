//! Answers to requests for permission: legal answers, and late, repeated, malformed or unsolicited answers.
//!
//! Knows: the answers of ACP. Never knows: the reactions of agents.
//!
//! Start at [`decide`].

use crate::wire::json::{Value, json};

use super::AgentMoveLog;
use super::builder::{AgentConversationBuilder, OpenTurn, PermissionPolicy, hole};

/// The answers of a `permit` step; the flag says whether the call may run after the answer.
const ANSWERS: &[(&str, bool)] = &[
    ("allow-once", true),
    ("allow-once", true),
    ("allow-always", true),
    ("reject-once", false),
    ("reject-always", false),
    ("cancelled", false),
    ("unknown", false),
    ("error", false),
];

/// The kinds of options that a raw answer may choose; the flag says whether the call may run after the answer.
const KINDS: &[(&str, bool)] = &[("allow_once", true), ("reject_once", false)];

/// The delays of a client before it answers a request for permission.
const THINKS: &[&str] = &["1ms", "10ms", "100ms", "400ms", "1200ms"];

/// Adds steps that answer a request for permission of an open turn.
pub(super) fn decide(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let asks = |turn: &OpenTurn| !turn.asks.is_empty();
    let waiting: Vec<usize> =
        (0..builder.turns.len()).filter(|at| asks(&builder.turns[*at])).collect();
    if builder.policy == PermissionPolicy::Allows || waiting.is_empty() {
        return None;
    }
    let at = *builder.dice.pick(&waiting)?;
    let file = builder.turns.get_mut(at)?.asks.remove(0);
    match builder.policy {
        PermissionPolicy::ByHand => by_hand(builder, at, &file),
        _ => by_step(builder, &file),
    }
}

/// Adds steps that wait for the oldest request for permission and answer it.
fn by_step(builder: &mut AgentConversationBuilder, file: &str) -> AgentMoveLog {
    builder.step("await", json!({"at": "A", "method": "session/request_permission"}));
    thinks(builder, file);
    let (answer, runs) = *builder.dice.pick(ANSWERS)?;
    builder.step("permit", json!({"by": "A", "answer": answer}));
    denied(builder, file, runs);
    Some((format!("permission {answer}"), "legal"))
}

/// Adds a pause before the answer, and the claim that the call has not run during the pause.
fn thinks(builder: &mut AgentConversationBuilder, file: &str) {
    if let Some(rest) = builder.dice.pick(THINKS).copied() {
        builder.step("rest", json!({"for": rest}));
    }
    if !file.is_empty() {
        builder.step("disk", json!({"path": file, "text": "$absent", "proves": "acp.pm-07"}));
    }
}

/// Adds the claim that a call that was not permitted has not run.
fn denied(builder: &mut AgentConversationBuilder, file: &str, runs: bool) {
    if !runs && !file.is_empty() {
        builder.step("rest", json!({"for": "300ms"}));
        builder.step("disk", json!({"path": file, "text": "$absent", "proves": "acp.pm-08"}));
    }
}

/// Adds steps that wait for a certain request for permission and answer it with a raw frame.
fn by_hand(builder: &mut AgentConversationBuilder, at: usize, file: &str) -> AgentMoveLog {
    let (asked, option) = (builder.name("asked"), builder.name("option"));
    let (kind, runs) = *builder.dice.pick(KINDS)?;
    builder.step(
        "asked",
        json!({
            "at": "A", "method": "session/request_permission", "id": (format!("$bind {asked}")),
            "where": {"options": {"$contains": [{"kind": kind, "optionId": (format!("$bind {option}"))}]}},
        }),
    );
    thinks(builder, file);
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": (hole(&option))}});
    let (result, deviation): (Value, _) = match builder.dice.below(10) {
        0 => (json!({}), "without an outcome"),
        1 => (json!({"outcome": "selected"}), "an outcome that is a string"),
        2 => (json!({"outcome": {"outcome": "selected"}}), "without an option"),
        3 => (json!({"outcome": {"outcome": "cancelled"}}), "legal"),
        4 => (
            json!({"outcome": {"outcome": "selected", "optionId": "ahp-harness-was-not-offered"}}),
            "an option that was not offered",
        ),
        _ => (chosen, "legal"),
    };
    let allowed = runs && deviation == "legal" && result["outcome"]["outcome"] == "selected";
    let mut answer = json!({"jsonrpc": "2.0", "id": (hole(&asked)), "result": result});
    if builder.dice.chance(10) {
        answer = json!({"jsonrpc": "2.0", "id": (hole(&asked)), "error": {"code": (-32603), "message": "nobody is there"}});
    }
    let is_error = answer.get("error").is_some();
    builder.given.push(answer.clone());
    builder.step("send", json!({"by": "A", "json": (answer.clone())}));
    // Only the first answer counts; a repeated answer has no effect.
    let mut deviation = deviation;
    if builder.dice.chance(30) {
        builder.step("send", json!({"by": "A", "json": answer}));
        deviation = "repeated";
    }
    // The specification does not say what happens after an invalid answer.
    let outcome_given =
        matches!(deviation, "legal" | "an option that was not offered" | "repeated")
            && result_names_outcome(builder);
    if outcome_given || is_error {
        denied(builder, file, allowed && !is_error);
    }
    if let Some(turn) = builder.turns.get_mut(at).filter(|_| !outcome_given && !is_error) {
        // The specification also does not say whether the turn ends by itself after an invalid answer.
        turn.ends = false;
    }
    Some(("permission by hand".to_owned(), deviation))
}

/// Returns whether the last answer that was sent has an outcome that the schema permits.
fn result_names_outcome(builder: &AgentConversationBuilder) -> bool {
    let last = builder.given.last();
    last.is_some_and(|answer| match answer["result"]["outcome"]["outcome"].as_str() {
        Some("selected") => answer["result"]["outcome"]["optionId"].is_string(),
        Some(_) => true,
        None => false,
    })
}

/// Adds an unsolicited answer: with an unknown request id, or a repetition of an earlier answer.
pub(super) fn stray(builder: &mut AgentConversationBuilder) -> AgentMoveLog {
    let old = builder.given.clone();
    let (answer, deviation) = match builder.dice.pick(&old) {
        Some(answer) if builder.dice.chance(60) => (answer.clone(), "late and repeated"),
        _ => {
            let result = json!({"outcome": {"outcome": "cancelled"}});
            (json!({"jsonrpc": "2.0", "id": 987_654_321, "result": result}), "never asked")
        }
    };
    builder.step("send", json!({"by": "A", "json": answer}));
    Some(("an answer".to_owned(), deviation))
}

/// Adds steps that answer the next request for permission with `cancelled`, as a client must when it cancels
/// the turn.
pub(super) fn give_up(builder: &mut AgentConversationBuilder, turn: &OpenTurn) {
    if turn.asks.is_empty() {
        return;
    }
    if builder.policy == PermissionPolicy::Decides {
        builder.step("permit", json!({"by": "A", "answer": "cancelled"}));
        return;
    }
    let asked = builder.name("asked");
    let id = format!("$bind {asked}");
    builder.step("asked", json!({"at": "A", "method": "session/request_permission", "id": id}));
    let result = json!({"outcome": {"outcome": "cancelled"}});
    let answer = json!({"jsonrpc": "2.0", "id": (hole(&asked)), "result": result});
    builder.step("send", json!({"by": "A", "json": answer}));
}

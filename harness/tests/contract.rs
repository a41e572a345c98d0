//! The vectors of the contract mode (`contract/vectors.json`): the reference host's own agent keeps
//! what a host's developer is told to keep.
//!
//! Each vector becomes a scenario of `next` steps; behind an action that may or may not come, the
//! following one is an `expect`, which passes over it. Lanes may be mixed in any way; the reference
//! host takes a step of each in turn, and is held to that.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ahp_harness::agent::script::HEADER;
use ahp_harness::host::engine::{Config, RefHost};
use ahp_harness::host::fault::Fault;
use ahp_harness::run::case::Setup;
use ahp_harness::run::play::{Counting, Play};
use ahp_harness::run::sim;
use ahp_harness::run::suite::{Carried, Suite};
use ahp_harness::verdict::Status;
use ahp_harness::wire::json::Value;
use ahp_harness::wire::protocol::Protocol;

const VECTORS: &str = include_str!("../contract/vectors.json");

fn vectors() -> Vec<Value> {
    let file = Value::read(VECTORS).expect("JSON");
    assert_eq!(file["format"], 2);
    file["vectors"].as_array().expect("a list").clone()
}

/// A value as the scenario language writes it: `$name` binds where it is expected and is used
/// where something is sent; null is what must not be there.
fn written(value: &Value, expected: bool) -> String {
    match value {
        Value::Null => "$absent".to_owned(),
        Value::String(text) => match text.strip_prefix('$') {
            Some("client") => "\"${A.id}\"".to_owned(),
            Some(name) if expected => format!("$bind {name}"),
            Some(name) => format!("\"${{{name}}}\""),
            None => value.to_text(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, expected)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(name, value): (_, &Value)| format!("{name}: {}", written(value, expected));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_text(),
    }
}

/// The steps of lanes, one of each in turn.
fn mixed(lanes: &[Value]) -> Vec<&Value> {
    let lanes: Vec<&Vec<Value>> = lanes.iter().filter_map(Value::as_array).collect();
    let longest = lanes.iter().map(|lane| lane.len()).max().unwrap_or_default();
    (0..longest).flat_map(|at| lanes.iter().filter_map(move |lane| lane.get(at))).collect()
}

/// What a client dispatches.
fn dispatched(step: &Value) -> String {
    let (on, action) = (step["on"].as_str().unwrap_or("chat"), written(&step["in"], false));
    format!("  - dispatch: {{ by: A, channel: \"${{{on}}}\", action: {action} }}\n")
}

/// The scenario of a vector.
fn scenario(vector: &Value) -> String {
    let lines = vector["script"].as_array().expect("a script").iter();
    let lines: Vec<&str> = std::iter::once(HEADER).chain(lines.filter_map(Value::as_str)).collect();
    let prompt = Value::from(lines.join("\n")).to_text();
    let mut text = "scenario: contract/vector\ntitle: t\n".to_owned();
    text.push_str("steps:\n  - open: A\n");
    let before = vector["before"].as_array().into_iter().flatten();
    text.extend(before.map(dispatched));
    let _ = writeln!(text, "  - turn: {{ by: A, id: t1, text: {prompt} }}");
    let steps = vector["steps"].as_array().expect("steps").iter();
    let steps = steps.flat_map(|step| match step["lanes"].as_array() {
        Some(lanes) => mixed(lanes),
        None => vec![step],
    });
    let mut verb = "next";
    for step in steps {
        if step["maybe"] == true {
            verb = "expect";
        } else if let Some(action) = step.get("out") {
            let (kind, action) = (action["type"].to_text(), written(action, true));
            let at = "at: A, channel: \"${chat}\"";
            let _ = writeln!(
                text,
                "  - {verb}: {{ {at}, type: {kind}, where: {{ action: {action} }}, proves: chat.turn.start-echo }}"
            );
            verb = "next";
        } else {
            text.push_str(&dispatched(step));
        }
    }
    text.push_str("  - never: { at: A, type: chat/responsePart, proves: chat.turn.start-echo }\n  - barrier: A\n");
    text
}

fn play(vector: &Value, faults: &[Fault]) -> (Status, String) {
    let text = scenario(vector);
    let suite = Suite::of([("contract/vector.yaml".to_owned(), text.clone())], &Carried);
    let mistakes: Vec<String> = suite
        .broken
        .iter()
        .flat_map(|loaded| loaded.errors.iter().map(ToString::to_string))
        .collect();
    assert!(mistakes.is_empty(), "{}: {mistakes:?}\n{text}", vector["name"]);
    let scenario = Arc::clone(&suite.entries.first().expect("one scenario").scenario);
    let version = Protocol::known()[0];
    let epoch = Duration::from_millis(Config::default().epoch_ms);
    let setup = Setup::of(&scenario, version, 1, epoch, Duration::from_secs(2));
    let play = Play::new(setup, false, Box::new(Counting::default()));
    let mut host = RefHost::new(Config { faults: faults.to_vec(), ..Config::default() });
    let verdict = sim::play(play, &mut host);
    let why = verdict.failure.map(|failure| format!("{failure:?}")).unwrap_or_default();
    (verdict.status, why)
}

#[test]
fn the_reference_hosts_agent_keeps_the_contract() {
    let mut wrong = Vec::new();
    for vector in vectors() {
        let (status, why) = play(&vector, &[]);
        if status != Status::Pass {
            wrong.push(format!("{}: {status:?} {why}\n{}", vector["name"], scenario(&vector)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Vectors that no agent could break would say nothing.
#[test]
fn an_agent_that_breaks_the_contract_is_noticed() {
    let check = |fault: Fault, name: &str| {
        let vectors = vectors();
        let vector = vectors.iter().find(|vector| vector["name"] == name).expect(name);
        assert_ne!(play(vector, &[fault]).0, Status::Pass, "{}", fault.name());
    };
    check(Fault::DeltaBeforePart, "text comes as one part");
    check(Fault::RunsAfterDenial, "a denied call does not run, and the turn goes on");
    check(Fault::ToolRunsTwice, "a call that nobody is asked about runs once");
    check(Fault::TurnNeverEnds, "tokens are reported");
    check(Fault::CallsTheAbsent, "a client's tool is the client's to run");
    check(Fault::ErrorCompletesTurn, "a failure ends the turn, and nothing after it happens");
}

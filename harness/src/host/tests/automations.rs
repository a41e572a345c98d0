//! Automations: rejected definitions, the course of runs, and the history of runs.

use super::pair::*;

const AUTOMATIONS: &str = "ahp-automations://";
const GREET: &str = "ahp-automation:/greet";

fn definition(text: &str) -> Value {
    let message = json!({"text": text, "origin": {"kind": "automation"}});
    json!({"title": "Greet", "message": message, "session": {}, "enabled": true, "triggers": []})
}

fn creation(uri: &str, definition: Value) -> Value {
    json!({"type": "automation/createRequested", "resource": uri, "definition": definition})
}

fn made(text: &str) -> (TestPair, ConnId) {
    let mut pair = TestPair::new(HostConfig::default());
    let a = pair.join(1, "1.0.0", &[ROOT, AUTOMATIONS]);
    assert_eq!(pair.dispatch(a, AUTOMATIONS, creation(GREET, definition(text))), "accepted");
    (pair, a)
}

fn run(pair: &mut TestPair, conn: ConnId, request: &str) -> Value {
    let params = json!({"channel": AUTOMATIONS, "automation": GREET, "requestId": request});
    let answer = pair.ask(conn, "runAutomation", params);
    match answer.get("error") {
        Some(error) => error["code"].clone(),
        None => answer["result"]["resource"].clone(),
    }
}

fn entry(pair: &mut TestPair, conn: ConnId) -> Value {
    pair.subscribe(conn, AUTOMATIONS)["entries"][0].clone()
}

/// Subscribes to a run and returns its status.
fn status(pair: &mut TestPair, conn: ConnId, run: &Value) -> Value {
    pair.subscribe(conn, run.as_str().unwrap_or(""))["lifecycle"]["status"].clone()
}

#[test]
fn definitions_are_checked() {
    let check = |uri: &str, member: &str, value: Value, expected: &str| {
        let (mut pair, a) = made("hello");
        let before = pair.subscribe(a, AUTOMATIONS);
        let mut changed = definition("hello");
        changed[member] = value.clone();
        let said = pair.dispatch(a, AUTOMATIONS, creation(uri, changed));
        assert!(said.contains(expected), "{uri} {member}: {said}");
        let changes = json!({member: value});
        let update =
            json!({"type": "automation/updateRequested", "resource": GREET, "changes": changes});
        if uri == "ahp-automation:/new" && said != "accepted" {
            assert_eq!(pair.dispatch(a, AUTOMATIONS, update), said);
            assert_eq!(pair.subscribe(a, AUTOMATIONS), before);
        }
    };
    let new = "ahp-automation:/new";
    check(new, "title", json!("T"), "accepted");
    check("ahp-session:/1", "title", json!("T"), "expected `ahp-automation:/<id>`");
    check("ahp-automation:/", "title", json!("T"), "expected `ahp-automation:/<id>`");
    check(GREET, "title", json!("T"), "in use");
    let user = json!({"text": "hello", "origin": {"kind": "user"}});
    check(new, "message", user, "kind `automation`");
    let schedule = json!({"expression": "0 9 * * *", "timeZone": "Mars/Base"});
    let schedule = json!([{"kind": "schedule", "id": "s", "schedule": schedule}]);
    check(new, "triggers", schedule, "only the time zone UTC");
    let after = json!({"kind": "afterRuns", "max": 1});
    check(new, "disableConditions", json!([after, after]), "one condition of each kind");
    check(new, "session", json!({"provider": "nobody"}), "no such provider");
    check(new, "session", json!({"config": {"mode": "sleep"}}), "does not allow");
    check(new, "session", json!({"customizations": []}), "do not support customizations");
    check(new, "title", json!("x".repeat(70_000)), "too long");
}

#[test]
fn a_run_makes_a_session_and_ends_with_its_turn() {
    for (text, expected) in [("hello", "completed"), ("ahp-script: 1\nfail net", "failed")] {
        let (mut pair, a) = made(text);
        let run = run(&mut pair, a, "1");
        assert_eq!(status(&mut pair, a, &run), "pending");
        pair.run();
        let uri = run.as_str().unwrap();
        let state = pair.subscribe(a, uri);
        assert_eq!(state["lifecycle"]["status"], expected);
        let session = state["primarySession"].as_str().unwrap().to_owned();
        let made = pair.subscribe(a, &session);
        let origin = json!({"kind": "automation", "automation": GREET, "run": run});
        assert_eq!(made["origin"], origin);
        let chat = pair.subscribe(a, made["defaultChat"].as_str().unwrap());
        assert_eq!(chat["turns"][0]["message"]["text"], text);
        let listed = entry(&mut pair, a)["runs"][0].clone();
        assert_eq!(listed["lifecycle"], state["lifecycle"]);
        assert_eq!(listed["sessionCount"], 1);
        pair.converges(a, AUTOMATIONS);
        // A run no longer lists its session after the disposal of the session; a finished run keeps its status.
        pair.ask(a, "disposeSession", json!({"channel": session}));
        assert_eq!(entry(&mut pair, a)["runs"][0]["sessionCount"], 0);
        assert_eq!(status(&mut pair, a, &run), expected);
        pair.converges(a, uri);
    }
}

#[test]
fn runs_are_created_once_cancelled_once_and_forgotten() {
    let (mut pair, a) = made("ahp-script: 1\nhold for-ever");
    let cancel = json!({"type": "automationRun/cancelRequested"});
    let mut runs = Vec::new();
    for request in ["1", "2", "3", "4"] {
        let known = run(&mut pair, a, request);
        assert_eq!(run(&mut pair, a, request), known);
        // The first run is cancelled while it is pending.
        if request != "1" {
            pair.run();
        }
        let uri = known.as_str().unwrap().to_owned();
        pair.subscribe(a, &uri);
        assert_eq!(pair.dispatch(a, &uri, cancel.clone()), "accepted");
        assert_eq!(status(&mut pair, a, &known), "cancelled");
        if request != "4" {
            assert_eq!(pair.dispatch(a, &uri, cancel.clone()), "the run is over");
        }
        pair.converges(a, &uri);
        pair.run();
        runs.insert(0, known);
    }
    let listed = entry(&mut pair, a);
    let listed: Vec<&Value> =
        listed["runs"].as_array().unwrap().iter().map(|run| &run["resource"]).collect();
    assert_eq!(listed, runs[..3].iter().collect::<Vec<_>>());
    assert_eq!(status(&mut pair, a, &runs[3]), Value::Null);
    assert_eq!(run(&mut pair, a, "1"), runs[3]);
    assert_eq!(run(&mut pair, a, ""), -32602);
    let waiting = run(&mut pair, a, "5");
    pair.run();
    let session = pair.subscribe(a, waiting.as_str().unwrap())["primarySession"].clone();
    pair.ask(a, "disposeSession", json!({"channel": session}));
    assert_eq!(status(&mut pair, a, &waiting), "cancelled");
    let last = run(&mut pair, a, "6");
    pair.run();
    let removal = json!({"type": "automation/removed", "resource": GREET});
    assert_eq!(pair.dispatch(a, AUTOMATIONS, removal), "accepted");
    assert_eq!(status(&mut pair, a, &last), Value::Null);
    assert_eq!(run(&mut pair, a, "6"), -32008);
    pair.converges(a, AUTOMATIONS);
}

#[test]
fn a_crash_fails_what_was_running() {
    let (mut pair, a) = made("ahp-script: 1\nhold for-ever");
    let first = run(&mut pair, a, "1");
    pair.run();
    let second = run(&mut pair, a, "2");
    pair.host.restart(pair.now);
    let b = pair.join(2, "1.0.0", &[AUTOMATIONS]);
    assert_eq!(status(&mut pair, b, &first), "failed");
    assert_eq!(status(&mut pair, b, &second), "pending");
    assert_eq!(run(&mut pair, b, "1"), first);
    pair.run();
    assert_eq!(status(&mut pair, b, &second), "running");
    pair.converges(b, AUTOMATIONS);
}

#[test]
fn bad_requests_for_runs_are_refused() {
    let (mut pair, a) = made("hello");
    let mut fetch = |more: Value| {
        let mut params = json!({"channel": AUTOMATIONS, "automation": GREET});
        for (name, value) in more.as_object().unwrap() {
            params[name.as_str()] = value.clone();
        }
        let answer = pair.ask(a, "fetchAutomationRuns", params);
        answer.get("result").cloned().unwrap_or_else(|| answer["error"]["code"].clone())
    };
    assert_eq!(fetch(json!({})), json!({}));
    assert_eq!(fetch(json!({"cursor": "x"})), -32602);
    assert_eq!(fetch(json!({"channel": ROOT})), -32602);
    assert_eq!(fetch(json!({"automation": "ahp-automation:/none"})), -32008);
    let params = json!({"channel": AUTOMATIONS});
    assert_eq!(
        pair.ask(a, "listAutomationTriggerDefinitions", params)["result"]["items"],
        json!([])
    );
    assert_eq!(pair.ask(a, "subscribe", json!({"channel": GREET}))["error"]["code"], -32008);
}

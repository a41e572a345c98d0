//! Conversations about credentials and client ids, special files, schedules, challenges, and messages that a
//! host ignores.

use super::super::SansIoHost;
use super::super::door::{GUARDED, TOKENS, headers};
use super::super::files::{ODD_URI, SHOWN_URI};
use super::faults::{opened, text};
use super::pair::*;
use crate::peer::guise::{ClientCredentials, ClientGuise};

const AUTOMATIONS: &str = "ahp-automations://";

/// Returns the configuration of a host with two accepted tokens.
pub(super) fn guarded() -> HostConfig {
    HostConfig { tokens: TOKENS.map(str::to_owned).into(), ..HostConfig::default() }
}

/// Returns the text of all conversations in this module.
pub(super) fn all(host: impl Fn() -> Box<dyn SansIoHost>) -> String {
    [doors, disks, schedules, challenges, plain].map(|said| said(host())).concat()
}

/// Plays a conversation in which visitors connect with and without valid credentials, and a visitor uses another
/// visitor's client id.
fn doors(host: Box<dyn SansIoHost>) -> String {
    let mut pair = TestPair::over(host, false);
    let mut said = String::new();
    let guises = [
        (ClientCredentials::Own, None),
        (ClientCredentials::Other, None),
        (ClientCredentials::Wrong, None),
        (ClientCredentials::None, None),
        (ClientCredentials::Own, Some("https://evil.example")),
        (ClientCredentials::Other, None),
    ];
    for (number, (credentials, origin)) in (1..).zip(guises) {
        let guise = ClientGuise { credentials, origin: origin.map(str::to_owned) };
        let admitted = pair.host.admit(pair.now, ConnId(number), &headers(&guise));
        said.push_str(&format!("{number} {admitted:?}\n"));
        if admitted.is_ok() {
            let conn = pair.open(number);
            let params = json!({
                "channel": ROOT, "protocolVersions": ["1.0.0"], "clientId": "c1",
                "initialSubscriptions": [ROOT],
            });
            pair.ask(conn, if number == 6 { "ping" } else { "initialize" }, params);
        }
    }
    let config = json!({(GUARDED.0): (GUARDED.1)});
    pair.ask(
        ConnId(6),
        "reconnect",
        json!({"channel": ROOT, "clientId": "c1",
        "lastSeenServerSeq": 0, "subscriptions": [ROOT]}),
    );
    let params = json!({"channel": ROOT, "protocolVersions": ["1.0.0"], "clientId": "c6",
        "initialSubscriptions": [ROOT]});
    pair.ask(ConnId(6), "initialize", params);
    for conn in [6, 1] {
        let change = json!({"type": "root/configChanged", "config": config});
        pair.dispatch(ConnId(conn), ROOT, change);
    }
    said + &text(&pair)
}

/// Plays a conversation in which clients access files and special file system nodes.
fn disks(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    for name in ["inside.txt", "link.txt", "link/canary.txt", "large"] {
        let uri = format!("{ODD_URI}/{name}");
        pair.ask(a, "resourceResolve", json!({"channel": ROOT, "uri": uri}));
        pair.ask(a, "resourceRead", json!({"channel": ROOT, "uri": uri}));
    }
    pair.ask(a, "resourceRead", json!({"channel": ROOT, "uri": format!("{SHOWN_URI}/bytes")}));
    pair.ask(a, "resourceList", json!({"channel": ROOT, "uri": ODD_URI}));
    pair.ask(a, "resourceRead", json!({"channel": ROOT, "uri": format!("{ODD_URI}/pipe")}));
    pair.ask(a, "ping", json!({}));
    text(&pair)
}

/// Plays a conversation in which clients define valid schedules, one of which starts a run, and duplicate
/// conditions.
fn schedules(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    pair.subscribe(a, AUTOMATIONS);
    let make = |pair: &mut TestPair, id: &str, expression: &str, conditions: Value| {
        let schedule = json!({"expression": expression, "timeZone": "UTC"});
        let definition = json!({
            "title": "Greet", "message": {"text": "hello", "origin": {"kind": "automation"}},
            "session": {}, "enabled": true, "disableConditions": conditions,
            "triggers": [{"kind": "schedule", "id": "t", "schedule": schedule}],
        });
        let resource = format!("ahp-automation:/{id}");
        let action = json!({"type": "automation/createRequested", "resource": resource,
            "definition": definition});
        pair.dispatch(a, AUTOMATIONS, action);
    };
    let once = json!({"kind": "afterRuns", "max": 1});
    make(&mut pair, "named", "0 9 * JAN mon", json!([]));
    make(&mut pair, "odd", "0 9 * *", json!([]));
    make(&mut pair, "twice", "0 9 * * *", json!([once, once]));
    make(&mut pair, "minutes", "* * * * *", json!([once]));
    for _ in 0..40 {
        pair.step();
    }
    text(&pair)
}

/// Plays a conversation in which a server asks for a token and is stopped, and another server asks for a token
/// and gets the token.
fn challenges(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let server = json!({"type": "mcpServer", "id": "echo", "name": "Echo", "uri": "virtual:/mcp",
        "state": {"kind": "stopped"}});
    let plugin = json!({"type": "plugin", "id": "p", "uri": "virtual:/p", "name": "P",
        "children": [server]});
    let active = json!({"clientId": "c1", "tools": [], "customizations": [plugin]});
    pair.dispatch(a, SESSION, json!({"type": "session/activeClientSet", "activeClient": active}));
    pair.run();
    pair.start(a, &chat, "t1", "tool mcp echo x auth");
    pair.run();
    let stop = json!({"type": "session/mcpServerStopRequested", "id": "echo"});
    pair.dispatch(a, SESSION, stop);
    pair.run();
    pair.start(a, &chat, "t2", "tool mcp echo x auth");
    pair.run();
    let resource = super::super::protected::TOOLS;
    let token = json!({"channel": ROOT, "resource": resource, "token": "any token"});
    pair.ask(a, "authenticate", token);
    pair.run();
    pair.subscribe(a, SESSION);
    text(&pair)
}

/// Plays a conversation in which the host logs a canvas, a message has an attachment of an unknown type, and a
/// client archives the session without extension members.
fn plain(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    pair.ask(a, "subscribe", json!({"channel": "ahp-otlp://logs"}));
    pair.start(a, &chat, "t1", "canvas map https://canvas.example/one");
    pair.run();
    let mut draft = message("later");
    draft["attachments"] =
        json!([{"type": "simple", "label": "A"}, {"type": "later", "label": "B"}]);
    pair.dispatch(a, &chat, json!({"type": "chat/draftChanged", "draft": draft}));
    pair.subscribe(a, &chat);
    pair.dispatch(a, SESSION, json!({"type": "session/isArchivedChanged", "isArchived": true}));
    text(&pair)
}

#[test]
fn a_schedule_starts_runs_up_to_their_limit() {
    let (mut pair, a, _) = TestPair::ready(HostConfig::default());
    pair.subscribe(a, AUTOMATIONS);
    let schedule = json!({"expression": "*/2 * * * *", "timeZone": "UTC"});
    let definition = json!({
        "title": "Greet", "message": {"text": "hello", "origin": {"kind": "automation"}},
        "session": {}, "enabled": true, "disableConditions": [{"kind": "afterRuns", "max": 2}],
        "triggers": [{"kind": "schedule", "id": "t", "schedule": schedule}],
    });
    let action = json!({"type": "automation/createRequested", "resource": "ahp-automation:/a",
        "definition": definition});
    assert_eq!(pair.dispatch(a, AUTOMATIONS, action), "accepted");
    let entry = |pair: &mut TestPair| pair.subscribe(a, AUTOMATIONS)["entries"][0].clone();
    assert_eq!(entry(&mut pair)["nextRunAt"], "2026-01-01T00:02:00.000Z");
    let mut seen = Vec::new();
    while pair.now < Duration::from_secs(600) && pair.host.next_timeout().is_some() {
        pair.step();
        seen.push(entry(&mut pair)["nextRunAt"].clone());
    }
    seen.dedup();
    assert_eq!(seen, [json!("2026-01-01T00:04:00.000Z"), Value::Null]);
    let entry = entry(&mut pair);
    assert_eq!(entry["runCount"], 2);
    assert_eq!(entry["definition"]["enabled"], false);
    assert_eq!(entry["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        entry["runs"][1]["origin"],
        json!({"kind": "trigger", "triggerId": "t", "scheduledFor": "2026-01-01T00:02:00.000Z"})
    );
    pair.converges(a, AUTOMATIONS);
}

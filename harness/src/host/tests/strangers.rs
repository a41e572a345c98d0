//! Conversations about tokens, telemetry, limits, and plugins that clients publish at their own URIs.

use super::super::protected::TOKEN;
use super::super::{SansIoHost, configuration};
use super::faults::{opened, text};
use super::guests;
use super::pair::*;
use crate::wire::frame::Frame;

const LOGS: &str = "ahp-otlp://logs?level=error";

/// Returns the texts of all conversations in this module.
pub(super) fn all(host: impl Fn() -> Box<dyn SansIoHost>) -> String {
    let own = [tokens, listeners, bounds, published, newcomers].map(|said| said(host()));
    own.concat() + &guests::all(host)
}

fn create(pair: &mut TestPair, conn: ConnId, id: u32, provider: &str) {
    assert!(configuration::has_provider(provider));
    let channel = format!("ahp-session:/made-{id}");
    pair.ask(conn, "createSession", json!({"channel": channel, "provider": provider}));
}

fn authenticate(pair: &mut TestPair, conn: ConnId, token: &str, seconds: Option<i64>) {
    let mut params = json!({"channel": ROOT, "resource": (TOKEN.0), "token": token});
    if let Some(seconds) = seconds {
        params["expiresIn"] = json!(seconds);
    }
    pair.ask(conn, "authenticate", params);
}

/// Plays a conversation in which two clients use an agent that asks for a token, and deliver the token.
fn tokens(host: Box<dyn SansIoHost>) -> String {
    let mut pair = TestPair::over(host, false);
    let a = pair.join_loosely(1, "1.0.0", &[ROOT]);
    let b = pair.join_loosely(2, "1.0.0", &[ROOT]);
    create(&mut pair, a, 1, "guarded");
    create(&mut pair, a, 2, "obliging");
    authenticate(&mut pair, a, "no token at all", None);
    authenticate(&mut pair, a, TOKEN.1, None);
    create(&mut pair, b, 3, "guarded");
    create(&mut pair, a, 4, "guarded");
    authenticate(&mut pair, a, "", None);
    create(&mut pair, a, 5, "guarded");
    authenticate(&mut pair, a, TOKEN.1, Some(0));
    authenticate(&mut pair, a, TOKEN.1, Some(1));
    for _ in 0..20 {
        pair.step();
    }
    create(&mut pair, a, 6, "guarded");
    text(&pair)
}

/// Plays a turn with telemetry for three clients: a subscriber of all telemetry, a subscriber of errors, and a
/// client without a subscription.
fn listeners(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[LOGS]);
    pair.join_loosely(3, "1.0.0", &[ROOT]);
    for channel in ["ahp-otlp://logs?level=debug", "ahp-otlp://traces", "ahp-otlp://metrics"] {
        pair.ask(a, "subscribe", json!({"channel": channel}));
    }
    for (turn, script) in [("t1", "say x"), ("t2", "fail y")] {
        pair.start(a, &chat, turn, script);
        pair.run();
    }
    pair.close(b);
    let again = pair.open(4);
    pair.ask(
        again,
        "reconnect",
        json!({"channel": ROOT, "clientId": "c2", "lastSeenServerSeq": 0, "subscriptions": [LOGS]}),
    );
    pair.run();
    text(&pair)
}

/// Plays frames that are too deep or too large, a client that does not read, and a client that floods the host
/// with requests.
fn bounds(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, chat) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[SESSION]);
    pair.hold(b, true);
    for title in ["one", "two", "three", "four"] {
        pair.dispatch(a, SESSION, json!({"type": "session/titleChanged", "title": title}));
    }
    pair.hold(b, false);
    let c = pair.join_loosely(3, "1.0.0", &[]);
    pair.raw(c, &["[".repeat(1_000), "]".repeat(1_000)].concat());
    let d = pair.join_loosely(4, "1.0.0", &[]);
    pair.frame(d, &Frame::Text("x".repeat(5 << 20)));
    for number in 0..500 {
        pair.ask(a, "ping", json!({"channel": ROOT, "_meta": {"x-number": number}}));
    }
    pair.ask(b, "ping", json!({"channel": ROOT}));
    pair.subscribe(a, &chat);
    text(&pair)
}

/// Plays a conversation in which a host reads a plugin from its client, and an agent changes its working
/// directories.
fn published(host: Box<dyn SansIoHost>) -> String {
    let (mut pair, a, _) = opened(host);
    let b = pair.join_loosely(2, "1.0.0", &[SESSION]);
    for (conn, client) in [(a, "c1"), (b, "c2")] {
        let uri = format!("virtual://{client}/p");
        let plugin = json!({"type": "plugin", "id": client, "uri": uri, "name": "P"});
        let active = json!({"clientId": client, "tools": [], "customizations": [plugin]});
        let action = json!({"type": "session/activeClientSet", "activeClient": active});
        pair.dispatch(conn, SESSION, action);
    }
    pair.raw(a, r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}"#);
    pair.raw(a, r#"{"jsonrpc":"2.0","id":1,"result":{"data":"{\"children\":[]}"}}"#);
    for _ in 0..20 {
        pair.step();
    }
    let made = "ahp-session:/roaming";
    let directories = ["file:///harness/one", "file:///harness/two"];
    pair.ask(
        a,
        "createSession",
        json!({"channel": made, "provider": "roaming", "workingDirectories": directories}),
    );
    pair.subscribe(a, made);
    let [one, two] = directories;
    let replaced = |directory: &str| {
        json!({"type": "session/workingDirectoryReplaced", "directory": two,
            "replacement": directory})
    };
    pair.dispatch(a, made, replaced("file:///elsewhere"));
    pair.dispatch(a, made, json!({"type": "session/workingDirectoryRemoved", "directory": one}));
    pair.subscribe(a, made);
    text(&pair)
}

/// Plays a conversation of four clients: one has no MCP apps, one has an older version, one prefers a version,
/// and one leaves for good. A terminal has much output.
fn newcomers(host: Box<dyn SansIoHost>) -> String {
    let mut pair = TestPair::over(host, false);
    let a = pair.join_loosely(1, "1.0.0", &[ROOT]);
    pair.ask(a, "createSession", json!({"channel": SESSION}));
    pair.run();
    pair.subscribe(a, SESSION);
    let b = pair.open(2);
    let info = json!({"name": "c", "version": "0.1.0"});
    let params = json!({"channel": ROOT, "protocolVersions": ["0.9.0", "0.9.7"], "clientId": "c2",
        "clientInfo": info, "initialSubscriptions": [SESSION]});
    pair.ask(b, "initialize", params);
    let active = json!({"clientId": "c2", "tools": []});
    pair.dispatch(b, SESSION, json!({"type": "session/activeClientSet", "activeClient": active}));
    pair.close(b);
    for _ in 0..20 {
        pair.step();
    }
    let terminal = "ahp-terminal:/1";
    let claim = json!({"kind": "client", "clientId": "c1"});
    pair.ask(a, "createTerminal", json!({"channel": terminal, "claim": claim}));
    let line = format!("{}\r", "x".repeat(4_000));
    for _ in 0..300 {
        pair.dispatch(a, terminal, json!({"type": "terminal/input", "data": line}));
    }
    let left = pair.subscribe(a, terminal)["content"].as_array().map(Vec::len);
    format!("{left:?}\n{}", text(&pair))
}

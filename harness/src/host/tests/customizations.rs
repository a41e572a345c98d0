//! Customizations: published plugins, the effect of decisions, and requests to a server on its side channel.

use super::pair::*;
use crate::agent::mcp::TOOL;

fn plugin(id: &str, child: &str) -> Value {
    json!({
        "type": "plugin", "id": id, "uri": "virtual:/p", "name": id, "nonce": "n",
        "childEnablement": {"off": [{"kind": "session", "enabled": false}]},
        "children": [
            {"type": "skill", "id": "off", "uri": "virtual:/s", "name": "Off"},
            {"type": "mcpServer", "id": child, "uri": "virtual:/m", "name": "M",
             "state": {"kind": "ready"}, "channel": "mcp://mine"},
        ],
    })
}

fn active(client: &str, plugins: Value) -> Value {
    let client = json!({"clientId": client, "tools": [], "customizations": plugins});
    json!({"type": "session/activeClientSet", "activeClient": client})
}

fn opened() -> (TestPair, ConnId, ConnId) {
    let mut pair = TestPair::new(HostConfig::default());
    let a = pair.join(1, "1.0.0", &[ROOT]);
    let b = pair.join(2, "1.0.0", &[ROOT]);
    pair.ask(a, "createSession", json!({"channel": SESSION}));
    pair.run();
    pair.subscribe(a, SESSION);
    pair.subscribe(b, SESSION);
    (pair, a, b)
}

/// Returns the ids of a client's entries, containers and children.
fn ids(pair: &mut TestPair, conn: ConnId, client: &str) -> Vec<String> {
    let state = pair.subscribe(conn, SESSION);
    let all = state["customizations"].as_array().into_iter().flatten();
    let own = all.filter(|it| it["clientId"] == client);
    let ids = own.flat_map(|it| {
        let children = it["children"].as_array().into_iter().flatten();
        std::iter::once(it).chain(children).map(|it| it["id"].as_str().unwrap().to_owned())
    });
    ids.collect()
}

#[test]
fn plugins_come_and_go_with_their_clients() {
    let (mut pair, a, b) = opened();
    assert_eq!(pair.dispatch(a, SESSION, active("c1", json!([plugin("p", "m")]))), "accepted");
    assert_eq!(pair.dispatch(b, SESSION, active("c2", json!([plugin("p", "m")]))), "accepted");
    assert_eq!(ids(&mut pair, a, "c1"), ["p", "off", "m"]);
    assert_eq!(ids(&mut pair, a, "c2"), ["c2:p", "c2:off", "c2:m"]);
    // Publishing the same plugin again changes nothing; other children replace the previous ones.
    pair.dispatch(a, SESSION, active("c1", json!([plugin("p", "m")])));
    pair.dispatch(a, SESSION, active("c1", json!([plugin("p", "other"), plugin("q", "m")])));
    assert_eq!(ids(&mut pair, b, "c1"), ["p", "off", "other", "q", "c1:off", "m"]);
    pair.dispatch(a, SESSION, json!({"type": "session/activeClientRemoved", "clientId": "c1"}));
    assert_eq!(ids(&mut pair, b, "c1"), [""; 0]);
    assert_eq!(ids(&mut pair, b, "c2").len(), 3);
    pair.run();
    for conn in [a, b] {
        pair.converges(conn, SESSION);
    }
}

#[test]
fn a_creator_publishes_its_plugins_with_the_session() {
    let mut pair = TestPair::new(HostConfig::default());
    let a = pair.join(1, "1.0.0", &[ROOT]);
    let client = active("c1", json!([plugin("p", "m")]))["activeClient"].clone();
    pair.ask(a, "createSession", json!({"channel": SESSION, "activeClient": client}));
    pair.run();
    let state = pair.subscribe(a, SESSION);
    let entry = state["customizations"].as_array().unwrap().last().unwrap();
    assert_eq!(entry["load"], json!({"kind": "loaded"}));
    assert_eq!(entry["children"][0]["enabled"], false);
    assert_eq!(entry["children"][1]["state"], json!({"kind": "ready"}));
    assert_ne!(entry["children"][1]["channel"], "mcp://mine");
    assert_eq!((entry.get("nonce"), entry.get("childEnablement")), (None, None));
}

/// Returns the MCP server of the host's own plugin.
fn echo(pair: &mut TestPair, conn: ConnId) -> Value {
    let state = pair.subscribe(conn, SESSION);
    state["customizations"][0]["children"][1].clone()
}

fn decide(id: &str, enabled: bool) -> Value {
    let decisions = json!([
        {"kind": "global", "enabled": true},
        {"kind": "session", "enabled": enabled},
    ]);
    json!({"type": "session/customizationToggled", "id": id, "enablement": decisions})
}

#[test]
fn servers_start_answer_requests_and_stop() {
    let (mut pair, a, b) = opened();
    let start = json!({"type": "session/mcpServerStartRequested", "id": "host-echo"});
    let stop = json!({"type": "session/mcpServerStopRequested", "id": "host-echo"});
    let ask = |pair: &mut TestPair, uri: &Value, method: &str, params: Value| {
        let mut params = params;
        params["channel"] = uri.clone();
        let answer = pair.ask(b, method, params);
        assert_eq!(answer["channel"], *uri);
        match answer.get("error") {
            Some(error) => error["code"].clone(),
            None => answer["result"].clone(),
        }
    };
    assert_eq!(pair.dispatch(a, SESSION, start.clone()), "accepted");
    assert_eq!(echo(&mut pair, a)["state"]["kind"], "starting");
    pair.run();
    let first = echo(&mut pair, a)["channel"].clone();
    assert_eq!(pair.ask(b, "subscribe", json!({"channel": first}))["result"], json!({}));
    let said = json!({"name": TOOL, "arguments": {"text": "hello"}});
    let answer = ask(&mut pair, &first, "tools/call", said);
    assert_eq!(answer["content"][0]["text"], format!("{TOOL} was called: hello"));
    assert_eq!(ask(&mut pair, &first, "tools/list", json!({}))["tools"][0]["name"], TOOL);
    assert_eq!(ask(&mut pair, &first, "tools/call", json!({"name": "no"})), -32602);
    for method in ["initialize", "prompts/list", "resources/subscribe", "ping"] {
        assert_eq!(ask(&mut pair, &first, method, json!({})), -32601, "{method}");
    }
    // A restarted server has another side channel, a stopped server has none, and a disabled server cannot be
    // started.
    pair.dispatch(b, SESSION, start.clone());
    pair.run();
    let second = echo(&mut pair, a)["channel"].clone();
    assert_ne!(first, second);
    assert_eq!(ask(&mut pair, &first, "tools/list", json!({})), -32008);
    for (off, by) in [(stop, a), (decide("host-tools", false), b)] {
        pair.dispatch(by, SESSION, off);
        let server = echo(&mut pair, a);
        assert_eq!(
            (server["state"]["kind"].as_str(), server.get("channel")),
            (Some("stopped"), None)
        );
        pair.dispatch(a, SESSION, start.clone());
        pair.run();
    }
    assert_eq!(echo(&mut pair, a)["state"]["kind"], "stopped");
    assert_eq!(pair.dispatch(a, SESSION, start.clone()), "the server is turned off");
    pair.dispatch(a, SESSION, decide("host-tools", true));
    pair.dispatch(a, SESSION, start);
    pair.run();
    pair.host.restart(pair.now);
    let c = pair.join(3, "1.0.0", &[ROOT]);
    assert_eq!(echo(&mut pair, c)["state"]["kind"], "stopped");
}

#[test]
fn decisions_are_published_in_order_of_precedence() {
    let (mut pair, a, b) = opened();
    for (id, path, expected) in [
        ("host-tools", "/customizations/0/enablement/0/kind", json!("session")),
        ("host-echo", "/customizations/0/children/1/enablement/0/kind", json!("session")),
        ("host-greeting", "/customizations/0/children/0/enabled", json!(false)),
        ("host-skills", "/customizations/1/enabled", json!(false)),
    ] {
        assert_eq!(pair.dispatch(a, SESSION, decide(id, false)), "accepted", "{id}");
        let state = pair.subscribe(b, SESSION);
        assert_eq!(state.pointer(path), Some(&expected), "{id}");
        pair.converges(a, SESSION);
    }
}

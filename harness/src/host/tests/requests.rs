//! Frames, handshakes, versions.

use super::pair::*;

#[test]
fn answers_follow_json_rpc() {
    // The arguments: the frame, and the code of the expected error or `ok`.
    let check = |frame: &str, expected: &str| {
        let mut pair = TestPair::new(HostConfig::default());
        let conn = pair.join(1, "1.0.0", &[]);
        let said = pair.raw(conn, frame);
        let code = match said.as_slice() {
            [] => "silence".to_owned(),
            [one] if one.get("error").is_some() => {
                format!("{} {}", one["error"]["code"], one["id"])
            }
            [one] => format!("{} {}", one["result"], one["id"]),
            more => panic!("{more:?}"),
        };
        assert_eq!(code, expected, "{frame}");
    };
    check("{", "-32700 null");
    check("[]", "-32600 null");
    check("42", "-32600 null");
    check("{}", "-32600 null");
    check(r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, "-32600 3");
    check(r#"{"jsonrpc":"2.0","id":3,"method":5}"#, "-32600 3");
    check(r#"{"jsonrpc":"2.0","id":{},"method":"ping","params":{}}"#, "-32600 null");
    check(r#"{"jsonrpc":"2.0","id":3,"method":"Ping","params":{}}"#, "-32601 3");
    check(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, "-32602 3");
    check(r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}"#, "-32602 3");
    check(r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{"channel":"x:/"}}"#, "-32602 3");
    check(
        r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"channel":"ahp-root://"}}"#,
        "null \"a\"",
    );
    check(
        r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":{"channel":"ahp-root://","x":1}}"#,
        "null 4",
    );
    check(r#"{"jsonrpc":"2.0","method":"ping","params":{"channel":"ahp-root://"}}"#, "silence");
    check(r#"{"jsonrpc":"2.0","method":"nonsense"}"#, "silence");
    check(r#"{"jsonrpc":"2.0","id":9,"result":1}"#, "silence");
    check(r#"{"jsonrpc":"2.0","id":9,"method":"dispatchAction","params":{}}"#, "-32600 9");
}

#[test]
fn negotiates_the_highest_version_in_range() {
    let check = |offers: Value, expected: &str| {
        let mut pair = TestPair::new(HostConfig::default());
        let conn = pair.open(1);
        let params = json!({"channel": ROOT, "protocolVersions": offers, "clientId": "c"});
        let answer = pair.ask(conn, "initialize", params);
        let found = match answer["result"]["protocolVersion"].as_str() {
            Some(version) => version.to_owned(),
            None => answer["error"]["code"].to_string(),
        };
        assert_eq!(found, expected, "{offers}");
        let refused = found == "-32005";
        assert_eq!(pair.seats[&conn].closed.is_some(), refused);
        assert_eq!(answer["error"]["data"]["supportedVersions"].is_array(), refused);
    };
    check(json!(["0.9.0", "1.0.0"]), "1.0.0");
    check(json!(["1.7.3", "1.0.0"]), "1.7.3");
    check(json!(["0.9.5", "0.8.0"]), "0.9.5");
    check(json!(["2.0.0", "01.0.0", "1.0"]), "-32005");
    check(json!([]), "-32005");
    check(json!("1.0.0"), "-32602");
}

#[test]
fn shakes_hands_before_anything_else() {
    let mut pair = TestPair::new(HostConfig::default());
    let conn = pair.open(1);
    assert_eq!(pair.ask(conn, "ping", json!({"channel": ROOT}))["result"], Value::Null);
    assert_eq!(pair.ask(conn, "subscribe", json!({"channel": ROOT}))["error"]["code"], -32600);
    let conn = pair.join(2, "1.0.0", &[ROOT, "ahp-session:/none", ROOT]);
    let again = json!({"channel": ROOT, "protocolVersions": ["1.0.0"], "clientId": "c2"});
    assert_eq!(pair.ask(conn, "initialize", again)["error"]["code"], -32600);
    assert_eq!(pair.seats[&conn].states.len(), 1);
}

#[test]
fn speaks_each_version_to_its_client() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let old = pair.join(2, "0.9.0", &[ROOT, SESSION, &chat]);
    pair.dispatch(a, &chat, json!({"type": "chat/isReadChanged", "isRead": true}));
    pair.start(old, &chat, "t1", "say a");
    pair.run();
    assert!(!actions(&pair, old, &chat).contains("isReadChanged"));
    assert!(actions(&pair, old, &chat).contains("turnComplete"));
    let list = pair.ask(old, "listSessions", json!({"channel": ROOT}));
    assert!(list["result"]["items"][0].get("chats").is_none());
    let read = json!({"type": "chat/isReadChanged", "isRead": true});
    assert_ne!(pair.dispatch(old, &chat, read), "accepted");
}

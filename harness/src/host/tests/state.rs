//! Sessions, chats, and the members that clients set.

use super::pair::*;

#[test]
fn shows_windows_and_loads_the_rest() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    for turn in ["t1", "t2", "t3"] {
        pair.start(a, &chat, turn, "");
        pair.run();
    }
    let b = pair.join(2, "1.0.0", &[]);
    let answer = pair.ask(b, "subscribe", json!({"channel": chat, "view": {"turns": 1}}));
    let state = &answer["result"]["snapshot"]["state"];
    assert_eq!(state["turns"].as_array().unwrap().len(), 1);
    let fetch = |cursor: &Value| json!({"channel": chat, "cursor": cursor});
    let cursor = state["turnsNextCursor"].clone();
    assert_eq!(pair.ask(b, "fetchTurns", fetch(&json!("nonsense")))["error"]["code"], -32602);
    assert_eq!(pair.ask(b, "fetchTurns", fetch(&cursor))["result"], json!({}));
    assert_eq!(pair.state(b, &chat)["turns"].as_array().unwrap().len(), 3);
    pair.converges(a, &chat);
    pair.converges(b, &chat);
}

#[test]
fn keeps_what_clients_set() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let foreign = json!({"text": "", "origin": {"kind": "agent"}});
    let mut set = |channel: &str, action: Value| pair.dispatch(a, channel, action);
    for (channel, action) in [
        (SESSION, json!({"type": "session/titleChanged", "title": "T"})),
        (SESSION, json!({"type": "session/isReadChanged", "isRead": true})),
        (SESSION, json!({"type": "session/isArchivedChanged", "isArchived": true})),
        (SESSION, json!({"type": "session/configChanged", "config": {"mode": "ask"}})),
        (&chat, json!({"type": "chat/isReadChanged", "isRead": true})),
        (&chat, json!({"type": "chat/draftChanged", "draft": message("d")})),
        (ROOT, json!({"type": "root/configChanged", "config": {"greeting": "hi"}})),
    ] {
        assert_eq!(set(channel, action.clone()), "accepted", "{action}");
    }
    for (channel, action) in [
        (SESSION, json!({"type": "session/configChanged", "config": {"isolation": "folder"}})),
        (SESSION, json!({"type": "session/configChanged", "config": {"mode": "fly"}})),
        (SESSION, json!({"type": "session/configChanged", "config": {}, "replace": true})),
        (SESSION, json!({"type": "session/ready"})),
        (SESSION, json!({"type": "session/titleChanged"})),
        (SESSION, json!({"type": "session/unheardOf"})),
        (SESSION, json!({"type": "chat/draftChanged"})),
        (&chat, json!({"type": "chat/draftChanged", "draft": foreign})),
        (ROOT, json!({"type": "root/configChanged", "config": {"hostName": "x"}})),
        (ROOT, json!({"type": "root/configChanged", "config": {"unknown": 1}})),
    ] {
        let reason = set(channel, action.clone());
        assert!(reason != "accepted" && reason != "silence", "{action}: {reason}");
    }
    assert_eq!(set("ahp-session:/none", json!({"type": "session/ready"})), "silence");
    assert_eq!(set("ahp-chat:/none", json!({"type": "chat/draftChanged"})), "silence");
    let list = pair.ask(a, "listSessions", json!({"channel": ROOT}));
    let summary = &list["result"]["items"][0];
    assert_eq!(summary["title"], "T");
    assert_eq!(summary["status"], 1 + 32 + 64);
    for channel in [ROOT, SESSION, &chat] {
        pair.converges(a, channel);
    }
    let told = pair.seats[&a].inbox.iter().filter(|m| m["method"] == "root/sessionSummaryChanged");
    let mut folded = json!({});
    for change in told {
        for (name, value) in change["params"]["changes"].as_object().unwrap() {
            folded[name] = value.clone();
        }
    }
    for (name, value) in folded.as_object().unwrap() {
        assert_eq!(&summary[name], value, "{name}");
    }
}

#[test]
fn creates_lists_and_disposes_sessions() {
    let mut pair = TestPair::new(HostConfig::default());
    let a = pair.join(1, "1.0.0", &[ROOT]);
    let create = |uri: &str| json!({"channel": uri});
    let code = |answer: Value| answer["error"]["code"].clone();
    for index in 0..5 {
        let uri = format!("ahp-session:/{index}");
        assert_eq!(pair.ask(a, "createSession", create(&uri))["result"], Value::Null);
        pair.run();
    }
    assert_eq!(code(pair.ask(a, "createSession", create("ahp-session:/0"))), -32003);
    assert_eq!(code(pair.ask(a, "createSession", create("ahp-chat:/0"))), -32602);
    let odd = json!({"channel": "ahp-session:/x", "provider": "nobody"});
    assert_eq!(code(pair.ask(a, "createSession", odd)), -32002);
    let foreign =
        json!({"channel": "ahp-session:/x", "activeClient": {"clientId": "z", "tools": []}});
    assert_eq!(code(pair.ask(a, "createSession", foreign)), -32602);
    let mut listed = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut params = json!({"channel": ROOT, "limit": 2});
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let page = pair.ask(a, "listSessions", params)["result"].clone();
        listed.extend(page["items"].as_array().unwrap().iter().map(|s| s["resource"].clone()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed.len(), 5);
    assert_eq!(listed[0], "ahp-session:/4");
    let odd = json!({"channel": ROOT, "cursor": "nonsense"});
    assert_eq!(code(pair.ask(a, "listSessions", odd)), -32602);
    pair.subscribe(a, "ahp-session:/4");
    pair.ask(a, "disposeSession", create("ahp-session:/4"));
    assert_eq!(code(pair.ask(a, "disposeSession", create("ahp-session:/4"))), -32001);
    assert_eq!(code(pair.ask(a, "subscribe", create("ahp-session:/4"))), -32001);
    assert_eq!(
        actions(&pair, a, "ahp-session:/4"),
        "inputNeeded".replace("inputNeeded", "chatRemoved")
    );
    let count =
        |method: &str| pair.seats[&a].inbox.iter().filter(|m| m["method"] == method).count();
    assert_eq!(count("root/sessionAdded"), 5);
    assert_eq!(count("root/sessionRemoved"), 1);
    assert_eq!(pair.state(a, ROOT)["activeSessions"], 4);
}

#[test]
fn makes_chats_from_others() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "");
    pair.run();
    pair.start(a, &chat, "t2", "hold x");
    pair.run();
    let mut create = |uri: &str, more: Value| {
        let mut params = json!({"channel": SESSION, "chat": uri});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = pair.ask(a, "createChat", params);
        answer.get("error").is_none()
    };
    let source = |kind: &str, chat: &str, turn: &str| {
        let source = json!({"kind": kind, "chat": chat, "turnId": turn});
        json!({"source": source})
    };
    assert!(create("ahp-chat:/1", json!({})));
    assert!(!create("ahp-chat:/1", json!({})));
    assert!(!create("ahp-session:/9", json!({})));
    assert!(create("ahp-chat:/2", source("fork", &chat, "t1")));
    assert!(!create("ahp-chat:/3", source("fork", &chat, "t2")));
    assert!(!create("ahp-chat:/3", source("fork", "ahp-chat:/3", "t1")));
    assert!(create("ahp-chat:/3", source("sideChat", &chat, "t2")));
    assert!(!create("ahp-chat:/4", source("clone", &chat, "t1")));
    assert!(!create("ahp-chat:/4", json!({"workingDirectories": ["file:///x"]})));
    assert!(create("ahp-chat:/5", json!({"initialMessage": message("Hello.")})));
    pair.run();
    assert_eq!(pair.subscribe(a, "ahp-chat:/2")["turns"].as_array().unwrap().len(), 1);
    assert_eq!(pair.subscribe(a, "ahp-chat:/5")["turns"][0]["message"]["text"], "Hello.");
    pair.ask(a, "disposeChat", json!({"channel": chat}));
    assert!(pair.state(a, SESSION).get("defaultChat").is_none());
    pair.converges(a, SESSION);
}

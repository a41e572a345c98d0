//! Annotations, files with watches, and changesets.

use super::pair::*;

fn notes() -> String {
    format!("{SESSION}/annotations")
}

fn unsubscribe(pair: &mut TestPair, conn: ConnId, uri: &str) {
    let left = json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": uri}});
    pair.raw(conn, &left.to_string());
}

fn file(name: &str) -> Value {
    json!({"channel": ROOT, "uri": format!("file:///harness/{name}")})
}

fn written(name: &str, text: &str) -> Value {
    let mut params = file(name);
    params["data"] = json!(text);
    params["encoding"] = json!("utf-8");
    params
}

fn whole(pair: &mut TestPair, conn: ConnId) -> String {
    let state = pair.subscribe(conn, SESSION);
    state["changesets"][0]["uriTemplate"].as_str().unwrap().to_owned()
}

#[test]
fn annotations_keep_their_rules_and_their_counts() {
    let (mut pair, a, _) = TestPair::ready(HostConfig::default());
    pair.subscribe(a, &notes());
    let set = |id: &str, resolved: bool, entries: &[&str]| {
        let entry = |id: &&str| json!({"id": id, "text": "?"});
        let entries: Vec<Value> = entries.iter().map(entry).collect();
        json!({"type": "annotations/set", "annotation": {
            "id": id, "origin": {"session": SESSION}, "resource": "file:///f",
            "resolved": resolved, "entries": entries,
        }})
    };
    let removed = |id: &str, entry: &str| json!({"type": "annotations/entryRemoved", "annotationId": id, "entryId": entry});
    //                                      accepted  annotations and entries
    for (action, expected, counts) in [
        (set("a", false, &[]), false, (0, 0)),
        (set("a", false, &["x", "x"]), false, (0, 0)),
        (set("a", true, &["x"]), false, (0, 0)),
        (set("a", false, &["x", "y"]), true, (1, 2)),
        (set("a", true, &["x", "y", "z"]), true, (1, 3)),
        (set("b", false, &["x"]), true, (2, 4)),
        (removed("b", "x"), false, (2, 4)),
        (removed("a", "x"), true, (2, 3)),
        (removed("a", "x"), false, (2, 3)),
        (json!({"type": "annotations/removed", "annotationId": "b"}), true, (1, 2)),
        (json!({"type": "annotations/removed", "annotationId": "b"}), false, (1, 2)),
    ] {
        let came = pair.dispatch(a, &notes(), action.clone());
        assert_eq!(came == "accepted", expected, "{action}: {came}");
        let list = pair.ask(a, "listSessions", json!({"channel": ROOT}));
        let told = &list["result"]["items"][0]["annotations"];
        let found = ["annotationCount", "entryCount"].map(|name| told[name].as_u64().unwrap());
        assert_eq!(found, [counts.0, counts.1], "{action}");
    }
    pair.converges(a, &notes());
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    assert_eq!(pair.subscribe(a, &notes()), Value::Null);
}

#[test]
fn watches_receive_their_changes_once_until_the_last_unsubscribe() {
    let mut pair = TestPair::new(HostConfig::default());
    let (a, b) = (pair.join(1, "1.0.0", &[ROOT]), pair.join(2, "0.9.0", &[ROOT]));
    pair.ask(a, "resourceMkdir", file("w/deep"));
    let mut asked = file("w");
    asked["recursive"] = json!(true);
    let made = pair.ask(a, "createResourceWatch", asked);
    let uri = made["result"]["channel"].as_str().unwrap().to_owned();
    pair.subscribe(a, &uri);
    pair.subscribe(b, &uri);
    pair.ask(b, "resourceWrite", written("w/deep/f", "x"));
    pair.ask(b, "resourceWrite", written("beside", "x"));
    let moved = json!({"channel": ROOT, "source": "file:///harness/w/deep",
        "destination": "file:///harness/deep"});
    pair.ask(a, "resourceMove", moved);
    for conn in [a, b] {
        let told = pair.seats[&conn].inbox.iter().filter(|m| m["params"]["channel"] == uri);
        let told: Vec<usize> = told
            .map(|m| m["params"]["action"]["changes"]["items"].as_array().unwrap().len())
            .collect();
        assert_eq!(told, [1, 2], "{conn}");
    }
    unsubscribe(&mut pair, a, &uri);
    pair.ask(a, "resourceWrite", written("w/g", "x"));
    assert_eq!(actions(&pair, b, &uri).split(' ').count(), 3);
    pair.host.handle_close(pair.now, b);
    assert_ne!(pair.subscribe(a, &uri), Value::Null);
    unsubscribe(&mut pair, a, &uri);
    assert_eq!(pair.subscribe(a, &uri), Value::Null);
}

#[test]
fn watches_without_subscribers_are_released() {
    let mut pair = TestPair::new(HostConfig::default());
    let a = pair.join(1, "1.0.0", &[ROOT]);
    let mut made = || {
        let made = pair.ask(a, "createResourceWatch", file(""));
        made["result"]["channel"].as_str().map(str::to_owned)
    };
    let all: Vec<String> = (0..1_001).filter_map(|_| made()).collect();
    assert_eq!(all.len(), 1_000);
    pair.subscribe(a, &all[7]);
    pair.now += Duration::from_secs(31);
    pair.host.handle_timeout(pair.now);
    assert_eq!(pair.host.next_timeout(), None);
    assert_eq!(pair.subscribe(a, &all[8]), Value::Null);
    assert_ne!(pair.subscribe(a, &all[7]), Value::Null);
    assert!(pair.ask(a, "createResourceWatch", file(""))["error"].is_null());
}

#[test]
fn edits_become_changesets_that_all_agree_on() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    let b = pair.join(2, "0.9.0", &[SESSION]);
    pair.start(a, &chat, "t1", "tool write \"one\\nx\\ny\\n\"\ntool write two\nhold go");
    pair.run();
    let uri = whole(&mut pair, a);
    for conn in [a, b] {
        pair.subscribe(conn, &uri);
    }
    assert_eq!(pair.state(b, &uri)["status"], "ready");
    let release = json!({"type": "chat/pendingMessageSet", "kind": "steering", "id": "s",
        "message": message("ahp-release: go")});
    pair.dispatch(a, &chat, release);
    pair.run();
    pair.start(a, &chat, "t2", "tool edit \"one\\ny\\nz\"\ntool edit \"one\\nnone\\nz\"");
    pair.run();
    let said = actions(&pair, b, &uri);
    assert_eq!(
        said, "changeset/statusChanged changeset/contentChanged changeset/statusChanged",
        "one computation, in which nothing is lost"
    );
    let turns = pair.subscribe(a, &chat)["turns"].clone();
    let success = |part: usize| turns[1]["responseParts"][part]["toolCall"]["success"].clone();
    assert_eq!((success(0), success(1)), (json!(true), json!(false)));
    let invoked = |pair: &mut TestPair, target: &str| {
        let target = json!({"kind": "resource", "resource": format!("file:///harness/{target}")});
        let params = json!({"channel": uri, "operationId": "revert", "target": target});
        pair.ask(a, "invokeChangesetOperation", params)["error"].is_null()
    };
    assert!(!invoked(&mut pair, "none"));
    assert!(invoked(&mut pair, "two"));
    assert!(!invoked(&mut pair, "two"));
    for conn in [a, b] {
        pair.converges(conn, &uri);
        pair.converges(conn, SESSION);
    }
    let shown = pair.subscribe(a, &uri);
    assert_eq!(shown["files"].as_array().map(Vec::len), Some(1));
    assert_eq!(shown["files"][0]["edit"]["diff"], json!({"added": 2, "removed": 0}));
}

#[test]
fn a_session_disposed_while_computing_clears_its_changeset() {
    let (mut pair, a, chat) = TestPair::ready(HostConfig::default());
    pair.start(a, &chat, "t1", "tool write one\nhold go");
    pair.run();
    let uri = whole(&mut pair, a);
    pair.subscribe(a, &uri);
    let release = json!({"type": "chat/pendingMessageSet", "kind": "steering", "id": "s",
        "message": message("ahp-release: go\n")});
    pair.dispatch(a, &chat, release);
    pair.run();
    pair.start(a, &chat, "t2", "tool write two");
    while pair.state(a, &uri)["status"] == "ready" {
        pair.step();
    }
    pair.ask(a, "disposeSession", json!({"channel": SESSION}));
    let said = actions(&pair, a, &uri);
    assert!(
        said.ends_with("changeset/contentChanged changeset/statusChanged changeset/cleared"),
        "{said}"
    );
    assert_eq!(pair.subscribe(a, &uri), Value::Null);
}

//! Tests of the table, the root channel and the session channel.

use std::collections::BTreeSet;

use crate::wire::json::{Value, json};

use super::testing::{V1_0, applies, chat_with, fold, ignores, refuses};
use super::{ActionOutcome, NoOp, apply, reduces, table};
use crate::wire::channel::ChannelKind;
use crate::wire::protocol::Protocol;
use crate::wire::version::{PUBLISHED, Version};

#[test]
fn rows_are_unique_and_stand_on_their_own_channel() {
    let mut seen = std::collections::HashSet::new();
    for row in table::rows() {
        assert!(seen.insert((row.action_type, row.since)), "{}", row.action_type);
        assert_eq!(ChannelKind::of_action(row.action_type), Some(row.channel));
    }
}

#[test]
fn reducers_have_the_actions_of_each_version() {
    for version in PUBLISHED {
        let reduced = table::rows().map(|row| row.action_type);
        let reduced: BTreeSet<_> = reduced.filter(|it| reduces(version, it)).collect();
        let actions = Protocol::of(version).unwrap().actions();
        let actions: BTreeSet<_> = actions.map(|row| row.action_type.as_str()).collect();
        let differing: Vec<_> = reduced.symmetric_difference(&actions).collect();
        assert!(differing.is_empty(), "{version}: {differing:?}");
    }
}

#[test]
fn versions_have_their_own_actions() {
    let v0_9 = Version::new(0, 9, 0);
    for (action_type, old, new) in [
        ("chat/delta", true, true),
        ("chat/turnResume", true, true),
        ("chat/backgroundWorkSet", false, true),
        ("session/chatsReordered", false, true),
        ("session/delta", false, false),
        ("session/modelChanged", false, false),
        ("x-mine/set", false, false),
    ] {
        assert_eq!(reduces(v0_9, action_type), old, "{action_type}");
        assert_eq!(reduces(V1_0, action_type), new, "{action_type}");
        assert_eq!(reduces(Version::new(1, 7, 3), action_type), new, "{action_type}");
    }
    assert!(reduces(Version::V0_4, "chat/delta") && !reduces(Version::V0_3, "chat/delta"));
    assert!(reduces(Version::V0_3, "session/delta") && !reduces(Version::V0_4, "session/delta"));
    assert!(!reduces(Version::new(0, 0, 1), "session/delta"));
}

#[test]
fn actions_of_other_channels_are_out_of_scope() {
    let before = chat_with(json!([]));
    for action in [
        json!({"type": "session/titleChanged", "title": "x"}),
        json!({"type": "chat/unheardOf"}),
        json!({"type": 5}),
        json!({}),
        json!(42),
        json!(null),
    ] {
        let mut state = before.clone();
        assert_eq!(apply(V1_0, ChannelKind::Chat, &mut state, &action), ActionOutcome::OutOfScope);
        assert_eq!(state, before);
    }
}

#[test]
fn states_of_another_shape_are_left_alone() {
    let action = json!({"type": "session/titleChanged", "title": "x"});
    for before in [json!(null), json!(3), json!([1])] {
        ignores(before, action.clone(), NoOp::MalformedState);
    }
    let before = json!({"workingDirectories": "file:///a"});
    let action = json!({"type": "session/workingDirectorySet", "directory": "file:///b"});
    ignores(before, action, NoOp::MalformedState);
}

#[test]
fn unknown_members_survive() {
    let state = applies(
        json!({"title": "a", "x-new": {"deep": [1]}, "status": 1024 + 33}),
        json!({"type": "session/isReadChanged", "isRead": false, "x-more": 1}),
        json!({"status": 1024 + 1, "x-new": {"deep": [1]}, "title": "a"}),
    );
    assert_eq!(state.as_object().unwrap().len(), 3);
}

#[test]
fn root() {
    let replace = |member: &str, value: Value| {
        let action = json!({"type": format!("root/{member}Changed"), member: value});
        applies(json!({"agents": [1], "activeSessions": 1}), action, json!({member: value}));
    };
    replace("agents", json!([{"provider": "p"}]));
    replace("activeSessions", json!(3));
    replace("terminals", json!([]));
    let action = json!({"type": "root/activeSessionsChanged", "activeSessions": 1.5});
    refuses(json!({}), action, "activeSessions", "an integer");
    refuses(json!({}), json!({"type": "root/agentsChanged"}), "agents", "an array");
}

#[test]
fn configuration() {
    let before = json!({"config": {"schema": {"s": 1}, "values": {"a": 1, "b": {"c": 2}}}});
    for family in ["root", "session"] {
        let action = |more: Value| {
            let mut action = json!({"type": format!("{family}/configChanged")});
            action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            action
        };
        let merge = action(json!({"config": {"b": 3, "d": null}}));
        let merged = json!({"schema": {"s": 1}, "values": {"a": 1, "b": 3, "d": null}});
        applies(before.clone(), merge, json!({"config": merged}));
        let replace = action(json!({"config": {"b": 3}, "replace": true}));
        let replaced = json!({"schema": {"s": 1}, "values": {"b": 3}});
        applies(before.clone(), replace, json!({"config": replaced}));
        ignores(json!({}), action(json!({"config": {}})), NoOp::NoConfig);
        ignores(json!({"config": null}), action(json!({"config": {}})), NoOp::NoConfig);
        refuses(before.clone(), action(json!({"config": []})), "config", "an object");
    }
}

#[test]
fn session_members() {
    let set = |before: Value, action: Value, after: Value| drop(applies(before, action, after));
    let with_type = |name: &str| json!({"type": format!("session/{name}")});
    set(
        json!({"lifecycle": "creating", "status": 40}),
        with_type("ready"),
        json!({"lifecycle": "ready", "status": 40}),
    );
    set(
        json!({"lifecycle": "creating", "status": 8}),
        json!({"type": "session/creationFailed", "error": {"message": "no"}}),
        json!({"lifecycle": "failed", "creationError": {"message": "no"}, "status": 8}),
    );
    set(json!({}), json!({"type": "session/titleChanged", "title": "t"}), json!({"title": "t"}));
    set(json!({"activity": "a"}), with_type("activityChanged"), json!({"activity": null}));
    set(
        json!({}),
        json!({"type": "session/metaChanged", "_meta": {"a": 1}}),
        json!({"_meta": {"a": 1}}),
    );
    set(json!({"_meta": {}}), with_type("metaChanged"), json!({"_meta": null}));
    set(
        json!({}),
        json!({"type": "session/serverToolsChanged", "tools": [1]}),
        json!({"serverTools": [1]}),
    );
    set(json!({"changesets": [1]}), with_type("changesetsChanged"), json!({"changesets": null}));
    set(
        json!({"status": 2}),
        json!({"type": "session/isArchivedChanged", "isArchived": true}),
        json!({"status": 66}),
    );
    set(
        json!({"defaultChat": "c"}),
        json!({"type": "session/defaultChatChanged", "defaultChat": null}),
        json!({"defaultChat": null}),
    );
    refuses(json!({}), with_type("titleChanged"), "title", "a string");
    refuses(
        json!({}),
        json!({"type": "session/isReadChanged", "isRead": 1}),
        "isRead",
        "a boolean",
    );
}

#[test]
fn catalogue() {
    let before = || {
        json!({
            "defaultChat": "b",
            "chats": [{"resource": "a"}, {"resource": "b", "title": "B", "x": 1},
            {"resource": "c"}],
        })
    };
    let order = |state: &Value| {
        let chats = state["chats"].as_array().unwrap();
        chats.iter().map(|chat| chat["resource"].as_str().unwrap()).collect::<String>()
    };
    let added =
        |chat: &str| json!({"type": "session/chatAdded", "summary": {"resource": chat, "n": 1}});
    assert_eq!(order(&applies(before(), added("b"), json!({}))), "abc");
    assert_eq!(order(&applies(before(), added("z"), json!({}))), "abcz");
    applies(json!({}), added("z"), json!({"chats": [{"resource": "z", "n": 1}]}));
    let unnamed = json!({"type": "session/chatAdded", "summary": {}});
    refuses(before(), unnamed, "summary.resource", "a string");

    let removed = |chat: &str| json!({"type": "session/chatRemoved", "chat": chat});
    assert_eq!(order(&applies(before(), removed("b"), json!({"defaultChat": null}))), "ac");
    assert_eq!(order(&applies(before(), removed("a"), json!({"defaultChat": "b"}))), "bc");
    ignores(before(), removed("z"), NoOp::UnknownChat);

    let changes = json!({"resource": "q", "movable": true, "interactivity": "odd", "title": null});
    let updated =
        |chat: &str| json!({"type": "session/chatUpdated", "chat": chat, "changes": changes});
    let state = applies(before(), updated("b"), json!({}));
    let merged =
        json!({"resource": "b", "title": "B", "x": 1, "movable": true, "interactivity": "odd"});
    assert_eq!(state["chats"][1], merged);
    ignores(before(), updated("z"), NoOp::UnknownChat);

    let reordered = |chats: Value| json!({"type": "session/chatsReordered", "chats": chats});
    assert_eq!(order(&applies(before(), reordered(json!(["c", "a", "b"])), json!({}))), "cab");
    ignores(before(), reordered(json!(["a", "b", "c"])), NoOp::Unchanged);
    for bad in [
        json!(["a", "b"]),
        json!(["a", "b", "b"]),
        json!(["a", "b", "z"]),
        json!([]),
        json!(["c", "b", "a", "z"]),
    ] {
        ignores(before(), reordered(bad), NoOp::NotAPermutation);
    }
    let twice = json!({"chats": [{"resource": "a"}, {"resource": "a"}]});
    ignores(twice, reordered(json!(["a", "b"])), NoOp::NotAPermutation);
    refuses(before(), reordered(json!(["a", 5])), "chats.1", "a string");
}

#[test]
fn active_clients() {
    let before = || json!({"activeClients": [{"clientId": "a", "tools": []}]});
    let set =
        |id: &str| json!({"type": "session/activeClientSet", "activeClient": {"clientId": id}});
    applies(before(), set("a"), json!({"activeClients": [{"clientId": "a"}]}));
    applies(
        before(),
        set("b"),
        json!({"activeClients": [{"clientId": "a", "tools": []}, {"clientId": "b"}]}),
    );
    let removed = |id: &str| json!({"type": "session/activeClientRemoved", "clientId": id});
    applies(before(), removed("a"), json!({"activeClients": []}));
    ignores(before(), removed("b"), NoOp::UnknownClient);
}

#[test]
fn working_directories() {
    for family in ["session", "chat"] {
        let set = |name: &str| json!({"type": format!("{family}/workingDirectorySet"), "directory": name});
        let removed = |name: &str| json!({"type": format!("{family}/workingDirectoryRemoved"), "directory": name});
        let directories = |names: Value| json!({"workingDirectories": names});
        applies(json!({}), set("A"), directories(json!(["A"])));
        applies(directories(json!(["A"])), set("B"), directories(json!(["A", "B"])));
        ignores(directories(json!(["A"])), set("A"), NoOp::Unchanged);
        applies(directories(json!(["A"])), removed("A"), directories(json!([])));
        ignores(directories(json!(["A"])), removed("B"), NoOp::UnknownDirectory);
        ignores(json!({}), removed("B"), NoOp::UnknownDirectory);
    }
    let check = |from: &str, to: &str, expected: &str| {
        let list = |names: &str| {
            let names: Vec<String> = names.chars().map(String::from).collect();
            json!({"workingDirectories": names})
        };
        let action = json!({"type": "session/workingDirectoryReplaced", "directory": from,
            "replacement": to});
        applies(list("ABC"), action, list(expected));
    };
    check("B", "D", "ADC");
    check("B", "C", "AC");
    check("C", "A", "AB");
    check("B", "B", "ABC");
    let unknown =
        json!({"type": "session/workingDirectoryReplaced", "directory": "Z", "replacement": "A"});
    ignores(json!({"workingDirectories": ["A"]}), unknown.clone(), NoOp::UnknownDirectory);
    ignores(json!({}), unknown, NoOp::UnknownDirectory);
}

#[test]
fn session_input_needed() {
    let set = |id: &str, kind: &str| {
        json!({"type": "session/inputNeededSet",
        "request": {"id": id, "kind": kind}})
    };
    let removed = |id: &str| json!({"type": "session/inputNeededRemoved", "id": id});
    let check = |steps: &[Value], status: u64, expected: u64| {
        let mut state = json!({"status": status});
        for step in steps {
            assert_eq!(fold(&mut state, step), ActionOutcome::Applied);
        }
        assert_eq!(state["status"], json!(expected), "{steps:?}");
        state
    };
    check(&[set("1", "chatInput")], 32 + 1, 32 + 24);
    check(&[set("1", "kindFromLater")], 2, 24);
    check(&[set("1", "toolClientExecution")], 2, 2);
    check(&[set("1", "toolClientExecution")], 24, 8);
    check(&[set("1", "chatInput"), set("2", "chatInput"), removed("1")], 1, 24);
    let state = check(&[set("1", "chatInput"), removed("1")], 64 + 2, 64 + 8);
    assert_eq!(state.get("inputNeeded"), None);
    ignores(json!({}), removed("1"), NoOp::UnknownRequest);
    ignores(json!({"inputNeeded": [{"id": "2"}]}), removed("1"), NoOp::UnknownRequest);
    refuses(
        json!({}),
        json!({"type": "session/inputNeededSet", "request": {}}),
        "request.id",
        "a string",
    );
}

#[test]
fn customizations() {
    let before = || {
        json!({"customizations": [
            {"type": "plugin", "id": "p", "children": [
                {"type": "skill", "id": "s"},
                {"type": "mcpServer", "id": "m", "state": {"kind": "ready"}, "channel": "c"},
            ]},
            {"type": "directory", "id": "d", "enabled": true, "children": []},
            {"type": "mcpServer", "id": "top", "state": {"kind": "starting", "blocking": true}},
            {"type": "fromLater", "id": "x", "new": 1},
        ]})
    };
    let toggled = |id: &str, enablement: Value| {
        json!({"type": "session/customizationToggled",
        "id": id, "enablement": enablement})
    };
    let check = |action: Value, pointer: &str, expected: Value| {
        let state = applies(before(), action.clone(), json!({}));
        assert_eq!(state.pointer(pointer).cloned().unwrap_or_default(), expected, "{action}");
    };
    let off = || json!([{"kind": "session", "enabled": false}]);
    check(toggled("p", off()), "/customizations/0/enablement", off());
    check(toggled("p", json!([])), "/customizations/0/enablement", Value::Null);
    check(toggled("m", off()), "/customizations/0/children/1/enablement", off());
    check(toggled("d", off()), "/customizations/1/enabled", json!(false));
    check(toggled("d", json!([])), "/customizations/1/enabled", json!(true));
    check(
        toggled("s", json!([{"kind": "new", "enabled": true}])),
        "/customizations/0/children/0/enabled",
        json!(true),
    );
    ignores(before(), toggled("z", off()), NoOp::UnknownCustomization);
    ignores(json!({}), toggled("z", off()), NoOp::UnknownCustomization);
    refuses(before(), toggled("d", json!([{}])), "enablement.0.enabled", "a boolean");

    let updated =
        |entry: Value| json!({"type": "session/customizationUpdated", "customization": entry});
    let entry = json!({"type": "evenLater", "id": "y"});
    check(updated(entry.clone()), "/customizations/4", entry);
    let entry = json!({"type": "plugin", "id": "p"});
    check(updated(entry.clone()), "/customizations/0", entry);

    let removed = |id: &str| json!({"type": "session/customizationRemoved", "id": id});
    check(removed("p"), "/customizations/0/id", json!("d"));
    check(removed("m"), "/customizations/0/children", json!([{"type": "skill", "id": "s"}]));
    ignores(before(), removed("z"), NoOp::UnknownCustomization);

    let mcp = |name: &str, id: &str| json!({"type": format!("session/mcpServer{name}"), "id": id});
    check(
        mcp("StartRequested", "m"),
        "/customizations/0/children/1",
        json!({"type": "mcpServer", "id": "m", "state": {"kind": "starting"}}),
    );
    check(mcp("StopRequested", "top"), "/customizations/2/state", json!({"kind": "stopped"}));
    check(
        mcp("BackgroundRequested", "top"),
        "/customizations/2/state",
        json!({"kind": "starting", "blocking": false}),
    );
    ignores(before(), mcp("BackgroundRequested", "m"), NoOp::NotBlocking);
    ignores(before(), mcp("StartRequested", "p"), NoOp::UnknownMcpServer);
    ignores(before(), mcp("StopRequested", "z"), NoOp::UnknownMcpServer);
    let state_changed = |channel: Value| {
        json!({"type": "session/mcpServerStateChanged",
        "id": "m", "state": {"kind": "new"}, "channel": channel})
    };
    check(state_changed(json!("d")), "/customizations/0/children/1/channel", json!("d"));
    check(
        state_changed(Value::Null),
        "/customizations/0/children/1",
        json!({"type": "mcpServer", "id": "m", "state": {"kind": "new"}}),
    );
}

#[test]
fn a_child_of_several_containers_leaves_them_all() {
    let child = |id: &str| json!({"type": "skill", "id": id});
    let container = |id: &str, children: Value| json!({"id": id, "children": children});
    let mut state = json!({"customizations": [
        container("z", json!([child("s"), child("x"), child("s")])),
        container("m", json!([child("y")])),
        container("a", json!([child("s")])),
    ]});
    let removed = json!({"type": "session/customizationRemoved", "id": "s"});
    assert_eq!(fold(&mut state, &removed), ActionOutcome::Applied);
    let expected = json!({"customizations": [
        container("z", json!([child("x"), child("s")])),
        container("m", json!([child("y")])),
        container("a", json!([])),
    ]});
    assert_eq!(state, expected);
}

#[test]
fn finished_turns_are_neither_read_nor_copied() {
    // The finished turns are malformed: a reducer that reads them would return an error.
    let mut state = chat_with(json!([{"kind": "markdown", "id": "a", "content": ""}]));
    state["turns"] = json!([null, 5, "turn"]);
    let steps = [
        json!({"type": "chat/delta", "turnId": "t", "partId": "a", "content": "x"}),
        json!({"type": "chat/toolCallStart", "turnId": "t", "toolCallId": "c", "toolName": "n",
            "displayName": "d"}),
        json!({"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "c",
            "invocationMessage": "go"}),
        json!({"type": "chat/turnComplete", "turnId": "t", "duration": 0}),
    ];
    let turns = state["turns"].as_array().unwrap().as_ptr();
    for step in &steps[..3] {
        assert_eq!(fold(&mut state, step), ActionOutcome::Applied);
        assert_eq!(state["turns"].as_array().unwrap().as_ptr(), turns);
    }
    assert_eq!(fold(&mut state, &steps[3]), ActionOutcome::Applied);
    assert_eq!(state["turns"].as_array().unwrap().len(), 4);
}

//! Tests of each change between versions: the behaviour before the change and after the change.

use crate::wire::json::{Value, json};

use super::{ActionOutcome, NoOp, apply_at};
use crate::wire::channel::ChannelKind;
use crate::wire::version::{PUBLISHED, Version};

const NOW: u64 = 9999;
const NOW_TEXT: &str = "1970-01-01T00:00:09.999Z";

fn fold(version: Version, state: &mut Value, action: &Value) -> ActionOutcome {
    let channel = ChannelKind::of_action(action["type"].as_str().unwrap()).unwrap();
    apply_at(version, channel, NOW, state, action)
}

/// Asserts that an action is applied and results in exactly this state.
#[track_caller]
fn becomes(version: Version, before: &Value, action: &Value, after: &Value) {
    let mut state = before.clone();
    assert_eq!(fold(version, &mut state, action), ActionOutcome::Applied, "{version} {action}");
    assert_eq!(&state, after, "{version} {action}");
}

/// Asserts that an action is applied, and that a JSON pointer has this value afterwards; null means absent.
#[track_caller]
fn leaves(version: Version, before: &Value, action: &Value, pointer: &str, expected: &Value) {
    let mut state = before.clone();
    assert_eq!(fold(version, &mut state, action), ActionOutcome::Applied, "{version} {action}");
    let found = state.pointer(pointer).cloned().unwrap_or(Value::Null);
    assert_eq!(&found, expected, "{version}: `{pointer}` after {action}");
}

/// Asserts that an action changes nothing and has this outcome.
#[track_caller]
fn refuses(version: Version, before: &Value, action: &Value, expected: ActionOutcome) {
    let mut state = before.clone();
    assert_eq!(fold(version, &mut state, action), expected, "{version} {action}");
    assert_eq!(&state, before, "{version} {action}");
}

/// Returns a state with an active turn `t` that has these parts: the state of a session up to 0.3.0, and of a
/// chat in later versions.
fn running(version: Version, parts: &Value) -> Value {
    let turn = match version >= Version::V0_6 {
        true => json!({"id": "t", "startedAt": "2026-01-01T00:00:00Z", "responseParts": parts}),
        false => json!({"id": "t", "responseParts": parts}),
    };
    match version >= Version::V0_4 {
        true => json!({"status": 8, "modifiedAt": "m", "turns": [], "activeTurn": turn}),
        false => {
            json!({"summary": {"status": 8, "modifiedAt": 1}, "turns": [], "activeTurn": turn})
        }
    }
}

/// Returns a state with an active turn that has one tool call.
fn with_call(version: Version, call: &Value) -> Value {
    running(version, &json!([{"kind": "toolCall", "toolCall": call}]))
}

const CALL: &str = "/activeTurn/responseParts/0/toolCall";

/// Returns an action on the turn `t`, and on the tool call `c` if the action concerns a tool call.
fn action(version: Version, name: &str, members: &Value) -> Value {
    let family = if version >= Version::V0_4 { "chat" } else { "session" };
    let mut action = json!({"type": format!("{family}/{name}"), "turnId": "t", "toolCallId": "c"});
    let members = members.as_object().unwrap();
    for (name, value) in members {
        action.as_object_mut().unwrap().insert(name.to_owned(), value.clone());
    }
    action
}

#[test]
fn sessions_held_title_status_and_times_in_a_summary() {
    let title = json!({"type": "session/titleChanged", "title": "n"});
    let read = json!({"type": "session/isReadChanged", "isRead": true});
    let archived = json!({"type": "session/isArchivedChanged", "isArchived": true});
    let activity = json!({"type": "session/activityChanged", "activity": "a"});
    let old = json!({"summary": {"status": 1, "modifiedAt": 1}});
    let old_after = |member: &str, value: Value, modified: u64| {
        let mut state = json!({"summary": {"status": 1, "modifiedAt": modified}});
        state["summary"].as_object_mut().unwrap().insert(member.to_owned(), value);
        state
    };
    for version in PUBLISHED.into_iter().filter(|version| *version < Version::V0_5) {
        becomes(version, &old, &title, &old_after("title", json!("n"), NOW));
        becomes(version, &old, &read, &old_after("status", json!(33), 1));
        becomes(version, &old, &archived, &old_after("status", json!(65), 1));
        becomes(version, &old, &activity, &old_after("activity", json!("a"), 1));
    }
    let new = json!({"status": 1, "summary": {}});
    becomes(Version::V0_5, &new, &title, &json!({"status": 1, "title": "n", "summary": {}}));
    becomes(Version::V0_5, &new, &read, &json!({"status": 33, "summary": {}}));
    becomes(Version::V0_5, &new, &archived, &json!({"status": 65, "summary": {}}));
    becomes(Version::V0_5, &new, &activity, &json!({"status": 1, "activity": "a", "summary": {}}));
    for broken in [json!({}), json!({"summary": 1}), json!({"summary": null})] {
        refuses(Version::V0_4, &broken, &title, ActionOutcome::NoOp(NoOp::MalformedState));
    }
}

#[test]
fn sessions_had_a_model_an_agent_and_one_client() {
    let old = json!({"summary": {"modifiedAt": 1}});
    let model = json!({"type": "session/modelChanged", "model": {"id": "m"}});
    let agent = json!({"type": "session/agentChanged", "agent": {"uri": "a"}});
    let no_agent = json!({"type": "session/agentChanged"});
    let with_model = json!({"summary": {"modifiedAt": NOW, "model": {"id": "m"}}});
    let with_agent = json!({"summary": {"modifiedAt": NOW, "agent": {"uri": "a"}}});
    becomes(Version::V1, &old, &model, &with_model);
    becomes(Version::V0_4, &old, &model, &with_model);
    refuses(Version::V0_5, &json!({}), &model, ActionOutcome::OutOfScope);
    refuses(Version::V0_1, &old, &agent, ActionOutcome::OutOfScope);
    becomes(Version::V0_2, &old, &agent, &with_agent);
    becomes(Version::V0_4, &with_agent, &no_agent, &json!({"summary": {"modifiedAt": NOW}}));
    refuses(Version::V0_5, &json!({}), &agent, ActionOutcome::OutOfScope);

    let client = json!({"type": "session/activeClientChanged", "activeClient": {"clientId": "c"}});
    let nobody = json!({"type": "session/activeClientChanged", "activeClient": null});
    let tools = json!({"type": "session/activeClientToolsChanged", "tools": [1]});
    let set = json!({"summary": {}, "activeClient": {"clientId": "c"}});
    let with_tools = json!({"summary": {}, "activeClient": {"clientId": "c", "tools": [1]}});
    for version in [Version::V1, Version::V0_4] {
        becomes(version, &json!({"summary": {}}), &client, &set);
        becomes(version, &set, &nobody, &json!({"summary": {}}));
        becomes(version, &set, &tools, &with_tools);
        let alone = json!({"summary": {}});
        refuses(version, &alone, &tools, ActionOutcome::NoOp(NoOp::UnknownClient));
        let broken = json!({"summary": {}, "activeClient": 1});
        refuses(version, &broken, &tools, ActionOutcome::NoOp(NoOp::MalformedState));
    }
    for gone in [client, nobody, tools] {
        refuses(Version::V0_5, &set, &gone, ActionOutcome::OutOfScope);
    }
}

#[test]
fn session_members_moved() {
    let config = json!({"type": "session/configChanged", "config": {"b": 2}});
    let before = json!({"summary": {"modifiedAt": 1}, "config": {"values": {"a": 1}}});
    leaves(Version::V0_4, &before, &config, "/summary/modifiedAt", &json!(NOW));
    leaves(Version::V0_5, &before, &config, "/summary/modifiedAt", &json!(1));
    leaves(Version::V1, &before, &config, "/config/values", &json!({"a": 1, "b": 2}));
    let unconfigured = json!({"summary": {"modifiedAt": 1}});
    refuses(Version::V0_4, &unconfigured, &config, ActionOutcome::NoOp(NoOp::NoConfig));

    let diffs = json!({"type": "session/diffsChanged", "diffs": [1]});
    let changesets = json!({"type": "session/changesetsChanged", "changesets": [1]});
    let bare = json!({"summary": {}});
    for version in [Version::V1, Version::V0_1] {
        becomes(version, &bare, &diffs, &json!({"summary": {"diffs": [1]}}));
        refuses(version, &bare, &changesets, ActionOutcome::OutOfScope);
    }
    refuses(Version::V0_2, &bare, &diffs, ActionOutcome::OutOfScope);
    becomes(Version::V0_2, &bare, &changesets, &json!({"summary": {"changesets": [1]}}));
    becomes(Version::V0_3, &bare, &changesets, &json!({"summary": {}, "changesets": [1]}));

    let ready = json!({"type": "session/ready"});
    for (version, status) in [(Version::V1, 1), (Version::V0_1, 1), (Version::V0_2, 104)] {
        let before = json!({"summary": {"status": 104, "modifiedAt": 1}});
        let after = json!({"summary": {"status": status, "modifiedAt": 1}, "lifecycle": "ready"});
        becomes(version, &before, &ready, &after);
    }

    let failed = json!({"type": "session/creationFailed", "error": {"message": "no"}});
    let state = json!({"status": 8});
    leaves(Version::V0_8, &state, &failed, "/lifecycle", &json!("creationFailed"));
    leaves(Version::V0_9, &state, &failed, "/lifecycle", &json!("failed"));
}

#[test]
fn customizations_have_a_uri_and_a_toggle_up_to_0_1_0() {
    let by_uri = json!({"type": "session/customizationToggled", "uri": "u", "enabled": true});
    let entry = |enabled: bool| json!({"customization": {"uri": "u"}, "enabled": enabled});
    let listed = |entry: Value| json!({"summary": {}, "customizations": [entry]});
    for version in [Version::V1, Version::V0_1] {
        becomes(version, &listed(entry(false)), &by_uri, &listed(entry(true)));
        let other = listed(json!({"customization": {"uri": "v"}}));
        refuses(version, &other, &by_uri, ActionOutcome::NoOp(NoOp::UnknownCustomization));
        let none = json!({"summary": {}});
        refuses(version, &none, &by_uri, ActionOutcome::NoOp(NoOp::UnknownCustomization));
    }

    let updated = json!({"type": "session/customizationUpdated",
        "customization": {"uri": "u", "n": 1}});
    let none = json!({"summary": {}});
    refuses(Version::V1, &none, &updated, ActionOutcome::OutOfScope);
    let new = json!({"customization": {"uri": "u", "n": 1}, "enabled": false});
    becomes(Version::V0_1, &none, &updated, &listed(new));
    let before = json!({"customization": {"uri": "u"}, "enabled": true, "status": "s", "x": 1});
    let after =
        json!({"customization": {"uri": "u", "n": 1}, "enabled": true, "status": "s", "x": 1});
    becomes(Version::V0_1, &listed(before), &updated, &listed(after));
    let named = json!({"type": "session/customizationUpdated", "customization": {"id": "i"}});
    becomes(Version::V0_2, &none, &named, &listed(json!({"id": "i"})));

    let toggled =
        |id: &str| json!({"type": "session/customizationToggled", "id": id, "enabled": false});
    let tree = json!({"summary": {}, "customizations": [
        {"id": "p", "type": "plugin", "children": [{"id": "c", "type": "skill"}]}]});
    for version in [Version::V0_2, Version::V0_5_1] {
        leaves(version, &tree, &toggled("p"), "/customizations/0/enabled", &json!(false));
        refuses(version, &tree, &toggled("c"), ActionOutcome::NoOp(NoOp::UnknownCustomization));
    }
    for version in [Version::V0_5_2, Version::V0_7] {
        leaves(version, &tree, &toggled("p"), "/customizations/0/enabled", &json!(false));
        let child = "/customizations/0/children/0/enabled";
        leaves(version, &tree, &toggled("c"), child, &json!(false));
        refuses(version, &tree, &toggled("z"), ActionOutcome::NoOp(NoOp::UnknownCustomization));
    }
    let path = "enablement".to_owned();
    let invalid = ActionOutcome::Invalid { path, expected: "an array" };
    refuses(Version::V0_8, &tree, &toggled("p"), invalid);
}

#[test]
fn a_clients_tool_sets_input_needed_up_to_0_7_0() {
    let set = json!({"type": "session/inputNeededSet",
        "request": {"id": "i", "kind": "toolClientExecution"}});
    let idle = json!({"status": 33});
    refuses(Version::V0_5, &idle, &set, ActionOutcome::OutOfScope);
    leaves(Version::V0_5_1, &idle, &set, "/status", &json!(56));
    leaves(Version::V0_7, &idle, &set, "/status", &json!(56));
    leaves(Version::V0_8, &idle, &set, "/status", &json!(33));
}

#[test]
fn turns_have_a_user_message_up_to_0_2_0() {
    for version in PUBLISHED {
        let member = if version < Version::V0_3 { "userMessage" } else { "message" };
        let started = action(
            version,
            "turnStarted",
            &json!({"startedAt": "s", member: {"text": "x"}, "queuedMessageId": "q"}),
        );
        let turn = match version >= Version::V0_6 {
            true => {
                json!({"id": "t", "startedAt": "s", member: {"text": "x"}, "responseParts": []})
            }
            false => json!({"id": "t", member: {"text": "x"}, "responseParts": []}),
        };
        let queue = json!([{"id": "q"}]);
        let (before, after) = match version >= Version::V0_4 {
            true => {
                let modified = if version >= Version::V0_9 { "s" } else { NOW_TEXT };
                (
                    json!({"status": 33, "queuedMessages": queue}),
                    json!({"status": 8, "modifiedAt": modified, "activeTurn": turn}),
                )
            }
            false => (
                json!({"summary": {"status": 33}, "queuedMessages": queue}),
                json!({"summary": {"status": 8, "modifiedAt": NOW}, "activeTurn": turn}),
            ),
        };
        becomes(version, &before, &started, &after);

        let pending = json!({"kind": "queued", "id": "q", member: {"text": "x"}});
        let entry = json!([{"id": "q", member: {"text": "x"}}]);
        leaves(
            version,
            &before,
            &action(version, "pendingMessageSet", &pending),
            "/queuedMessages",
            &entry,
        );
    }
}

#[test]
fn the_end_of_a_turn_sets_durations_and_times_by_version() {
    let ended = |version: Version, name: &str, more: Value| {
        let mut state = running(version, &json!([]));
        let outcome = fold(version, &mut state, &action(version, name, &more));
        assert_eq!(outcome, ActionOutcome::Applied, "{version}");
        let modified = match state.get("modifiedAt") {
            Some(modified) => modified.clone(),
            None => state["summary"]["modifiedAt"].clone(),
        };
        (state["turns"][0]["duration"].clone(), modified)
    };
    for name in ["turnComplete", "turnCancelled", "error"] {
        let more = || json!({"duration": 5, "error": {"message": "m"}, "part": {"kind": "error"}});
        assert_eq!(ended(Version::V0_3, name, more()), (Value::Null, json!(NOW)));
        assert_eq!(ended(Version::V0_5_2, name, more()), (Value::Null, json!(NOW_TEXT)));
        assert_eq!(ended(Version::V0_6, name, more()), (json!(5), json!(NOW_TEXT)));
        assert_eq!(ended(Version::V0_8, name, more()), (json!(5), json!(NOW_TEXT)));
        let counted = json!("2026-01-01T00:00:00.005Z");
        assert_eq!(ended(Version::V0_9, name, more()), (json!(5), counted));
    }
    let timeless = action(Version::V0_6, "turnComplete", &json!({}));
    let expected = ActionOutcome::Invalid { path: "duration".to_owned(), expected: "an integer" };
    refuses(Version::V0_6, &running(Version::V0_6, &json!([])), &timeless, expected);
    let untold = json!({"type": "chat/turnStarted", "turnId": "t", "message": {}});
    let expected = ActionOutcome::Invalid { path: "startedAt".to_owned(), expected: "a string" };
    refuses(Version::V0_6, &json!({}), &untold, expected);
}

#[test]
fn errors_of_turns_are_parts_from_0_9_0_on() {
    let error = json!({"duration": 1, "error": {"message": "m"}});
    let part = json!({"duration": 1, "part": {"kind": "error", "id": "e"}});
    for version in PUBLISHED {
        let newer = version >= Version::V0_9;
        let members = if newer { &part } else { &error };
        let before = running(version, &json!([]));
        let failed = action(version, "error", members);
        let status = if version >= Version::V0_4 { "/status" } else { "/summary/status" };
        leaves(version, &before, &failed, status, &json!(2));
        let (old, new) = (json!({"message": "m"}), json!({"kind": "error", "id": "e"}));
        leaves(
            version,
            &before,
            &failed,
            "/turns/0/error",
            if newer { &Value::Null } else { &old },
        );
        let place = "/turns/0/responseParts/0";
        leaves(version, &before, &failed, place, if newer { &new } else { &Value::Null });

        let pushed = action(version, "responsePart", &json!({"part": {"kind": "error"}}));
        match newer {
            true => refuses(version, &before, &pushed, ActionOutcome::NoOp(NoOp::ErrorPart)),
            false => {
                let place = "/activeTurn/responseParts/0/kind";
                leaves(version, &before, &pushed, place, &json!("error"));
            }
        }
    }
}

#[test]
fn the_clock_stamps_turns_and_questions_up_to_0_8_0() {
    let question = json!([{"kind": "inputRequest", "request": {"id": "i"}}]);
    let answered = json!({"requestId": "i", "questionId": "q", "answer": {}});
    let completed = json!({"requestId": "i", "response": "accept"});
    let rows = [
        ("truncated", json!({"turnId": null}), true),
        ("inputRequested", json!({"request": {"id": "n"}}), true),
        ("inputAnswerChanged", answered, true),
        ("inputCompleted", completed, true),
        ("usage", json!({"usage": {}}), false),
        ("responsePart", json!({"part": {"kind": "markdown"}}), false),
        ("toolCallStart", json!({"toolName": "n", "displayName": "d"}), false),
        ("pendingMessageRemoved", json!({"kind": "queued", "id": "q"}), false),
    ];
    for version in PUBLISHED {
        let chat = version >= Version::V0_4;
        let mut before = running(version, &question);
        before["queuedMessages"] = json!([{"id": "q"}]);
        if version < Version::V0_6 {
            before["inputRequests"] = json!([{"id": "i"}]);
        }
        let place = if chat { "/modifiedAt" } else { "/summary/modifiedAt" };
        let now = if chat { json!(NOW_TEXT) } else { json!(NOW) };
        for (name, members, stamps) in &rows {
            let stamped = *stamps && version < Version::V0_9;
            let kept = before.pointer(place).cloned().unwrap();
            let expected = if stamped { &now } else { &kept };
            leaves(version, &before, &action(version, name, members), place, expected);
        }
    }
    let untouched = json!({"modifiedAt": "m", "turns": []});
    let unknown = json!({"type": "chat/truncated", "turnId": "z"});
    refuses(Version::V0_8, &untouched, &unknown, ActionOutcome::NoOp(NoOp::UnknownTurn));
    let mut state = untouched.clone();
    let all = json!({"type": "chat/truncated"});
    let outcome = apply_at(Version::V0_8, ChannelKind::Chat, u64::MAX, &mut state, &all);
    assert_eq!((outcome, &state["modifiedAt"]), (ActionOutcome::Applied, &json!("m")));
}

#[test]
fn truncation_clears_the_cursor_from_0_5_1_on() {
    let all = json!({"type": "chat/truncated"});
    let before = json!({"turns": [], "turnsNextCursor": "c"});
    leaves(Version::V0_5, &before, &all, "/turnsNextCursor", &json!("c"));
    leaves(Version::V0_5_1, &before, &all, "/turnsNextCursor", &Value::Null);
}

#[test]
fn input_requests_are_a_list_up_to_0_5_2() {
    let asked = |version| action(version, "inputRequested", &json!({"request": {"id": "i"}}));
    let status = |version| {
        if version >= Version::V0_4 { "/status" } else { "/summary/status" }
    };
    for version in PUBLISHED {
        let alone = json!({"summary": {"status": 33}, "status": 33});
        if version >= Version::V0_6 {
            refuses(version, &alone, &asked(version), ActionOutcome::NoOp(NoOp::NoActiveTurn));
            continue;
        }
        let list = json!([{"id": "i"}]);
        leaves(version, &alone, &asked(version), "/inputRequests", &list);
        leaves(version, &alone, &asked(version), status(version), &json!(24));

        let mut before = running(version, &json!([]));
        before["inputRequests"] = json!([{"id": "i", "answers": {"q": 1}, "x": 1}, {"id": "j"}]);
        let kept = json!({"id": "i", "answers": {"q": 1}});
        leaves(version, &before, &asked(version), "/inputRequests/0", &kept);
        let answer = |question: &str, answer: Value| {
            let members = json!({"requestId": "i", "questionId": question, "answer": answer});
            action(version, "inputAnswerChanged", &members)
        };
        let place = "/inputRequests/0/answers";
        leaves(version, &before, &answer("q", Value::Null), place, &Value::Null);
        leaves(version, &before, &answer("r", json!({})), place, &json!({"q": 1, "r": {}}));
        let other = json!({"requestId": "z", "questionId": "q", "response": "accept"});
        for name in ["inputAnswerChanged", "inputCompleted"] {
            let unknown = ActionOutcome::NoOp(NoOp::UnknownRequest);
            refuses(version, &before, &action(version, name, &other), unknown.clone());
            refuses(version, &alone, &action(version, name, &other), unknown);
        }

        let done = json!({"requestId": "i", "response": "accept", "answers": {"r": 2}});
        let done = action(version, "inputCompleted", &done);
        leaves(version, &before, &done, "/inputRequests", &json!([{"id": "j"}]));
        leaves(version, &before, &done, status(version), &json!(24));
        let part = json!({"kind": "inputRequest", "response": "accept",
            "request": {"id": "i", "answers": {"q": 1, "r": 2}, "x": 1}});
        let expected = if version == Version::V0_5_2 { &part } else { &Value::Null };
        leaves(version, &before, &done, "/activeTurn/responseParts/0", expected);
        before["inputRequests"] = json!([{"id": "i"}]);
        leaves(version, &before, &done, "/inputRequests", &Value::Null);
        leaves(version, &before, &done, status(version), &json!(8));

        for name in ["turnComplete", "truncated"] {
            let members = match name {
                "truncated" => json!({"turnId": null}),
                _ => json!({}),
            };
            let ended = action(version, name, &members);
            leaves(version, &before, &ended, "/inputRequests", &Value::Null);
            leaves(version, &before, &ended, status(version), &json!(1));
        }
    }
    let before = json!({"inputRequests": [{"id": "i"}], "turns": []});
    let all = json!({"type": "chat/truncated"});
    leaves(Version::V0_6, &before, &all, "/inputRequests", &json!([{"id": "i"}]));
    leaves(Version::V0_6, &before, &all, "/status", &json!(1));
}

#[test]
fn tool_calls_have_contributors_and_intentions_by_version() {
    let start = json!({"toolName": "n", "displayName": "d", "toolClientId": "o",
        "contributor": {"kind": "mcp"}, "intention": "w"});
    for version in PUBLISHED {
        let before = running(version, &json!([]));
        let started = action(version, "toolCallStart", &start);
        let check = |member: &str, from: Version, until: Version| {
            let holds = from <= version && version < until;
            let expected = if holds { &start[member] } else { &Value::Null };
            leaves(version, &before, &started, &format!("{CALL}/{member}"), expected);
        };
        let never = Version::new(9, 0, 0);
        check("toolClientId", Version::V1, Version::V0_3);
        check("contributor", Version::V0_3, never);
        check("intention", Version::V0_5_1, never);
    }
}

#[test]
fn later_tool_call_actions_bring_metadata_from_0_4_0_on() {
    let rows = [
        ("streaming", "toolCallDelta", json!({"content": "x"})),
        ("streaming", "toolCallReady", json!({"invocationMessage": "m"})),
        ("pending-confirmation", "toolCallConfirmed", json!({"approved": true})),
        ("running", "toolCallContentChanged", json!({"content": []})),
        (
            "running",
            "toolCallComplete",
            json!({"result": {"success": true, "pastTenseMessage": "p"}}),
        ),
        ("pending-result-confirmation", "toolCallResultConfirmed", json!({"approved": true})),
    ];
    for (status, name, members) in rows {
        for (version, expected) in [(Version::V0_3, 1), (Version::V0_4, 2)] {
            let call = json!({"toolCallId": "c", "status": status, "_meta": {"n": 1}});
            let mut action = action(version, name, &members);
            action["_meta"] = json!({"n": 2});
            let place = format!("{CALL}/_meta/n");
            leaves(version, &with_call(version, &call), &action, &place, &json!(expected));
        }
    }
}

#[test]
fn tool_calls_can_be_confirmed_again_from_0_6_0_on() {
    let pending = json!({"toolCallId": "c", "status": "pending-confirmation", "toolInput": "i",
        "options": [1]});
    let ready = json!({"invocationMessage": "m", "riskAssessment": {}});
    let before = |version| {
        let mut state = with_call(version, &pending);
        state["status"] = json!(24);
        state
    };
    let asked = |version| action(version, "toolCallReady", &ready);
    let old = Version::V0_5_2;
    refuses(old, &before(old), &asked(old), ActionOutcome::NoOp(NoOp::WrongStatus));
    for version in [Version::V0_6, Version::V0_7] {
        let after = json!({"toolCallId": "c", "status": "pending-confirmation", "toolInput": "i",
            "options": [1], "invocationMessage": "m", "riskAssessment": {}});
        leaves(version, &before(version), &asked(version), CALL, &after);
    }
    let streaming =
        |version| with_call(version, &json!({"toolCallId": "c", "status": "streaming"}));
    let risk = format!("{CALL}/riskAssessment");
    leaves(old, &streaming(old), &asked(old), &risk, &Value::Null);
    leaves(Version::V0_6, &streaming(Version::V0_6), &asked(Version::V0_6), &risk, &json!({}));
}

#[test]
fn calls_wait_for_authentication_from_0_6_0_on() {
    let call =
        json!({"toolCallId": "c", "status": "auth-required", "contributor": {"kind": "mcp"}});
    let failed = json!({"result": {"success": false, "pastTenseMessage": "p"}});
    let (old, new) = (Version::V0_5_2, Version::V0_6);
    let complete = |version| action(version, "toolCallComplete", &failed);
    refuses(old, &with_call(old, &call), &complete(old), ActionOutcome::NoOp(NoOp::WrongStatus));
    let place = format!("{CALL}/status");
    leaves(new, &with_call(new, &call), &complete(new), &place, &json!("completed"));
    for name in ["toolCallAuthRequired", "toolCallAuthResolved"] {
        let action = action(old, name, &json!({"auth": {}}));
        refuses(old, &with_call(old, &call), &action, ActionOutcome::OutOfScope);
    }
    let resolved = action(new, "toolCallAuthResolved", &json!({}));
    leaves(new, &with_call(new, &call), &resolved, &place, &json!("running"));
    // In the version before the change, a part of this kind is no reason to wait, so the chat's status does not depend
    // on the part.
    let mut parts = running(
        old,
        &json!([{"kind": "toolCall", "toolCall": call},
        {"kind": "toolCall", "toolCall": {"toolCallId": "d", "status": "running"}}]),
    );
    let mut other = complete(old);
    other["toolCallId"] = json!("d");
    leaves(old, &parts, &other, "/status", &json!(8));
    parts["activeTurn"]["startedAt"] = json!("s");
    leaves(new, &parts, &other, "/status", &json!(24));
}

#[test]
fn ready_refines_a_running_call_from_0_7_0_on() {
    let (old, new) = (Version::V0_6, Version::V0_7);
    let running = json!({"toolCallId": "c", "status": "running", "toolInput": "i",
        "intention": "w", "contributor": {"kind": "mcp", "n": 1}});
    let refined = json!({"invocationMessage": "m", "intention": "v",
        "contributor": {"kind": "mcp", "n": 2}});
    for (version, input, intention, n) in [(old, Value::Null, "w", 1), (new, json!("i"), "v", 2)] {
        for confirmed in [Value::Null, json!("setting")] {
            let before = with_call(version, &running);
            let mut ready = action(version, "toolCallReady", &refined);
            ready["confirmed"] = confirmed;
            leaves(version, &before, &ready, &format!("{CALL}/toolInput"), &input);
            leaves(version, &before, &ready, &format!("{CALL}/intention"), &json!(intention));
            leaves(version, &before, &ready, &format!("{CALL}/contributor/n"), &json!(n));
        }
    }
    let pending = json!({"toolCallId": "c", "status": "pending-confirmation", "toolInput": "i"});
    let confirmed = json!({"invocationMessage": "m", "confirmed": "setting"});
    for (version, input) in [(old, Value::Null), (new, json!("i"))] {
        let ready = action(version, "toolCallReady", &confirmed);
        let place = format!("{CALL}/toolInput");
        leaves(version, &with_call(version, &pending), &ready, &place, &input);
    }
    let blank = json!({"toolCallId": "c", "status": "pending-confirmation"});
    let edited = json!({"approved": true, "editedToolInput": "e"});
    for (version, input) in [(old, json!("e")), (new, Value::Null)] {
        let confirmed = action(version, "toolCallConfirmed", &edited);
        let place = format!("{CALL}/toolInput");
        leaves(version, &with_call(version, &blank), &confirmed, &place, &input);
    }
    let streaming = json!({"toolCallId": "c", "status": "streaming"});
    let silent = json!({"invocationMessage": "m"});
    let expected = ActionOutcome::Invalid { path: "content".to_owned(), expected: "a string" };
    let delta = |version| action(version, "toolCallDelta", &silent);
    refuses(old, &with_call(old, &streaming), &delta(old), expected);
    let place = format!("{CALL}/invocationMessage");
    leaves(new, &with_call(new, &streaming), &delta(new), &place, &json!("m"));
}

#[test]
fn a_refused_step_of_a_call_updates_the_status() {
    for version in PUBLISHED {
        let call = json!({"toolCallId": "c", "status": "pending-result-confirmation"});
        let before = with_call(version, &call);
        let ready = action(version, "toolCallReady", &json!({"invocationMessage": "m"}));
        let status = if version >= Version::V0_4 { "/status" } else { "/summary/status" };
        leaves(version, &before, &ready, status, &json!(24));
        let mut current = before.clone();
        assert_eq!(fold(version, &mut current, &ready), ActionOutcome::Applied);
        refuses(version, &current, &ready, ActionOutcome::NoOp(NoOp::WrongStatus));
        let changed = action(version, "toolCallContentChanged", &json!({"content": []}));
        refuses(version, &before, &changed, ActionOutcome::NoOp(NoOp::WrongStatus));
    }
}

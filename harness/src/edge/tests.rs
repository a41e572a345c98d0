//! Tests of each change in both directions, and of the order of changes.

use crate::wire::version::PUBLISHED;

use super::*;

fn edge(version: Version) -> VersionEdge {
    VersionEdge::new(version, "copilot")
}

#[test]
fn rows_are_sorted_and_say_something() {
    assert!(CHANGES.is_sorted_by(|one, next| one.since >= next.since));
    for change in CHANGES {
        assert!(change.name.ends_with('.') && !change.at.is_empty(), "{}", change.name);
    }
    for version in PUBLISHED {
        assert_eq!(edge(version).is_plain(), version >= Version::V0_9, "{version}");
    }
}

#[test]
fn actions_survive_translation_to_older_versions() {
    let check = |version: Version, channel: &str, inner: Value, expected: (&str, Value)| {
        let edge = edge(version);
        let (uri, lowered) = edge.lower_action(channel, &inner, ChangeContext::NOTHING).unwrap();
        assert_eq!((uri.as_str(), &lowered), (expected.0, &expected.1), "{version}");
        let beside = edge.protocol.has(ProtocolFeature::Channels).then_some(uri.as_str());
        let (back, _) = edge.lift_action(beside, &lowered, ChangeContext::NOTHING);
        assert_eq!(back.as_deref(), Some(channel), "{version}");
    };
    let error = json!({"errorType": "x", "message": "m"});
    let failed = json!({
        "type": "chat/error", "turnId": "t", "duration": 1,
        "part": {"kind": "error", "error": error, "resumable": true},
    });
    let older = json!({"type": "chat/error", "turnId": "t", "duration": 1, "error": error});
    check(Version::V0_8, "ahp-chat:/c", failed.clone(), ("ahp-chat:/c", older));
    let oldest = json!({
        "type": "session/error", "turnId": "t", "error": error, "session": "copilot:/s",
    });
    check(Version::V0_1, "ahp-session:/s", failed, ("copilot:/s", oldest));
    let started = json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": "now",
        "message": {"text": "a", "origin": {"kind": "user"}},
    });
    let older = json!({"type": "session/turnStarted", "turnId": "t", "userMessage": {"text": "a"}});
    check(Version::V0_2, "ahp-session:/s", started, ("ahp-session:/s", older));
    let config = json!({"type": "root/configChanged", "config": {}});
    check(Version::V1, ROOT_URI, config.clone(), ("agenthost:/root", config));
}

const ROOT_URI: &str = crate::wire::channel::ROOT;

#[test]
fn actions_that_a_version_lacks_are_not_sent() {
    let resume = json!({"type": "chat/turnResume", "turnId": "t"});
    assert!(edge(Version::V0_8).lower_action("c", &resume, ChangeContext::NOTHING).is_none());
    let added = json!({"type": "session/chatAdded", "summary": {}});
    assert!(edge(Version::V0_3).lower_action("s", &added, ChangeContext::NOTHING).is_none());
}

#[test]
fn an_older_version_has_one_active_client() {
    let edge = edge(Version::V0_4);
    let state = json!({"activeClient": {"clientId": "b"}});
    let beside = ChangeContext { state: &state };
    let gone = |client: &str| {
        let action = json!({"type": "session/activeClientRemoved", "clientId": client});
        edge.lower_action("s", &action, beside).map(|(_, action)| action)
    };
    assert_eq!(
        gone("b"),
        Some(json!({"type": "session/activeClientChanged", "activeClient": null}))
    );
    assert_eq!(gone("a"), None);
    let (_, lifted) =
        edge.lift_action(Some("s"), &json!({"type": "session/activeClientChanged"}), beside);
    assert_eq!(lifted, json!({"type": "session/activeClientRemoved", "clientId": "b"}));
}

#[test]
fn states_are_valid_in_their_version() {
    let state = json!({
        "provider": "copilot", "title": "t", "status": 1, "lifecycle": "creating",
        "activeClients": [{"clientId": "c", "tools": []}], "chats": [],
        "workingDirectories": ["file:///a", "file:///b"],
        "customizations": [{
            "type": "plugin", "id": "p", "uri": "file:///p", "name": "P",
            "enablement": [{"kind": "global", "enabled": false}],
        }],
    });
    let own = json!({
        "resource": "ahp-session:/s", "createdAt": "2026-01-01T00:00:00.000Z",
        "modifiedAt": "2026-01-01T00:00:00.000Z",
    });
    for version in PUBLISHED {
        let edge = edge(version);
        let mut lowered =
            edge.lower_state(ChannelKind::Session, &state, ChangeContext { state: &own }).unwrap();
        if !edge.has_chats() {
            lowered["turns"] = json!([]);
        }
        let errors = edge.protocol.check_state(ChannelKind::Session, &lowered);
        assert_eq!(errors, [], "{version}: {lowered}");
        let lifted = edge.lift_state(ChannelKind::Session, &lowered);
        assert_eq!(lifted["title"], "t", "{version}");
        assert_eq!(lifted["activeClients"][0]["clientId"], "c", "{version}");
        assert_eq!(lifted["workingDirectories"][0], "file:///a", "{version}");
    }
}

#[test]
fn notifications_are_wrapped_in_old_versions() {
    let params = json!({"channel": ROOT_URI, "session": "ahp-session:/s"});
    let (method, lowered) =
        edge(Version::V0_1).lower_notification("root/sessionRemoved", params.clone()).unwrap();
    let told = json!({"type": "notify/sessionRemoved", "session": "copilot:/s"});
    assert_eq!((method.as_str(), &lowered), ("notification", &json!({"notification": told})));
    let message = crate::wire::message::Message::notification(&method, lowered);
    let lifted = edge(Version::V0_1).lift_message(&message, None);
    assert_eq!((lifted.method(), lifted.params()), (Some("root/sessionRemoved"), &params));
}

#[test]
fn requests_keep_their_channel_in_version_1() {
    let check = |method: &str, inner: Value, expected: Value| {
        let edge = edge(Version::V1);
        let lowered = edge.lower_params(method, inner.clone());
        assert_eq!(lowered, expected, "{method}");
        let lifted = edge.lift_params(method, lowered);
        assert_eq!(lifted["channel"], inner["channel"], "{method}");
    };
    let session = json!({"channel": "ahp-session:/s"});
    check("subscribe", session.clone(), json!({"resource": "copilot:/s"}));
    check("createSession", session, json!({"session": "copilot:/s"}));
    check(
        "initialize",
        json!({"channel": ROOT_URI, "protocolVersions": ["1"], "clientId": "c",
               "initialSubscriptions": [ROOT_URI]}),
        json!({"protocolVersion": 1, "clientId": "c", "initialSubscriptions": ["agenthost:/root"]}),
    );
}

#[test]
fn members_of_later_versions_are_left_alone_in_older_ones() {
    let note = |origin: Value| {
        let mut annotation = json!({"id": "a", "turnId": "t", "resource": "file:///a", "resolved": false,
            "entries": []});
        annotation["x"] = json!(1);
        if !origin.is_null() {
            annotation["origin"] = origin;
        }
        json!({"type": "annotations/set", "annotation": annotation})
    };
    let lift = |action: &Value| {
        edge(Version::V0_4)
            .lift_action(Some("ahp-session:/s/annotations"), action, ChangeContext::NOTHING)
            .1
    };
    let lifted = lift(&note(json!({"session": 1})));
    assert_eq!(lifted, lift(&note(Value::Null)));
    assert_eq!(lifted["annotation"]["origin"], json!({"turnId": "t"}));
    assert_eq!(lifted["annotation"]["x"], 1);
}

#[test]
fn messages_of_automations_are_system_notifications_in_old_versions() {
    let set = |kind: &str| {
        let message = json!({"text": "a", "origin": {"kind": kind}});
        json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": message})
    };
    for (kind, older) in
        [("user", "user"), ("automation", "systemNotification"), ("x-y", "systemNotification")]
    {
        let lowered = |version| {
            edge(version).lower_action("ahp-chat:/c", &set(kind), ChangeContext::NOTHING).unwrap().1
        };
        assert_eq!(lowered(Version::V0_9), set(kind));
        assert_eq!(lowered(Version::V0_8), set(older));
    }
}

#[test]
fn input_requests_are_parts_only_in_versions_that_have_them() {
    let part = |id: &str| json!({"kind": "inputRequest", "request": {"id": id}});
    let mut answered = part("answered");
    answered["response"] = json!("decline");
    let parts = json!([part("open"), answered, {"kind": "markdown", "id": "m", "content": ""}]);
    let loaded =
        json!({"type": "chat/turnsLoaded", "turns": [{"id": "t", "responseParts": parts}]});
    let left = |version| {
        let lowered =
            edge(version).lower_action("ahp-chat:/c", &loaded, ChangeContext::NOTHING).unwrap().1;
        lowered["turns"][0]["responseParts"].as_array().unwrap().len()
    };
    let left = [Version::V0_6, Version::V0_5_2, Version::V0_5_1].map(left);
    assert_eq!(left, [3, 2, 1]);
}

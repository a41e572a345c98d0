//! Helpers for the reducers' tests: small states, and assertions that show what changed.

use crate::wire::json::{Value, json};

use super::{ActionOutcome, NoOp, apply};
use crate::wire::channel::ChannelKind;
use crate::wire::version::{PUBLISHED, Version};

/// The version of the protocol that most tests use.
pub(crate) const V1_0: Version = Version::new(1, 0, 0);

/// Applies an action to a state of the channel kind that the action's type names.
pub(crate) fn fold(state: &mut Value, action: &Value) -> ActionOutcome {
    let action_type = action["type"].as_str().unwrap();
    let channel = ChannelKind::of_action(action_type).unwrap();
    apply(V1_0, channel, state, action)
}

/// Returns a chat with an active turn `t` that has these parts.
pub(crate) fn chat_with(parts: Value) -> Value {
    json!({
        "resource": "ahp-chat:/c", "title": "c", "status": 8, "modifiedAt": "2026-01-01T00:00:00Z",
        "turns": [],
        "activeTurn": {
            "id": "t", "startedAt": "2026-01-01T00:00:00Z", "message": {"text": "hi"},
            "responseParts": parts,
        },
    })
}

/// Asserts that an action is applied and that the state then has these members; null means that a member is absent.
#[track_caller]
pub(crate) fn applies(before: Value, action: Value, members: Value) -> Value {
    let mut state = before;
    assert_eq!(fold(&mut state, &action), ActionOutcome::Applied, "{action}");
    for (name, expected) in members.as_object().unwrap() {
        let found = state.get(name).unwrap_or(&Value::Null);
        assert_eq!(found, expected, "`{name}` after {action}");
    }
    state
}

/// Asserts that an action is a no-op for this reason.
#[track_caller]
pub(crate) fn ignores(before: Value, action: Value, why: NoOp) {
    let mut state = before.clone();
    assert_eq!(fold(&mut state, &action), ActionOutcome::NoOp(why), "{action}");
    assert_eq!(state, before, "{action}");
}

/// Asserts that an action is invalid and changes nothing.
#[track_caller]
pub(crate) fn refuses(before: Value, action: Value, path: &str, expected: &'static str) {
    let mut state = before.clone();
    let path = path.to_owned();
    assert_eq!(fold(&mut state, &action), ActionOutcome::Invalid { path, expected }, "{action}");
    assert_eq!(state, before, "{action}");
}

/// The expected outcome of an action.
pub(crate) enum ExpectedOutcome {
    /// The complete state after the action.
    State(Value),
    /// The action changes nothing, for this reason.
    NoOp(NoOp),
    /// The action changes nothing, because this member is invalid.
    Invalid(&'static str),
    /// The action changes nothing, because the version has no such action.
    Unknown,
}

/// Asserts the outcome of an action on the channel that its type names.
#[track_caller]
pub(crate) fn check(version: Version, before: &Value, action: &Value, expected: &ExpectedOutcome) {
    let kind = ChannelKind::of_action(action["type"].as_str().unwrap()).unwrap();
    let mut state = before.clone();
    let outcome = apply(version, kind, &mut state, action);
    let after = match expected {
        ExpectedOutcome::State(after) => after,
        _ => before,
    };
    assert_eq!(&state, after, "{version} {action}");
    match expected {
        ExpectedOutcome::State(_) => {
            assert_eq!(outcome, ActionOutcome::Applied, "{version} {action}")
        }
        ExpectedOutcome::NoOp(why) => {
            assert_eq!(outcome, ActionOutcome::NoOp(*why), "{version} {action}")
        }
        ExpectedOutcome::Unknown => {
            assert_eq!(outcome, ActionOutcome::OutOfScope, "{version} {action}")
        }
        ExpectedOutcome::Invalid(wanted) => {
            let ActionOutcome::Invalid { path, .. } = &outcome else {
                panic!("{version} {action} is {outcome:?}");
            };
            assert_eq!(path, wanted, "{version} {action}");
        }
    }
}

/// Asserts the outcomes of several actions on one state, in every version from `since` on.
#[track_caller]
pub(crate) fn check_since(since: Version, before: &Value, rows: &[(Value, ExpectedOutcome)]) {
    for version in PUBLISHED.into_iter().filter(|version| *version >= since) {
        for (action, expected) in rows {
            check(version, before, action, expected);
        }
    }
}

/// Returns the state with these members replaced; null removes a member.
pub(crate) fn with(state: &Value, members: Value) -> Value {
    let mut state = state.clone();
    for (name, value) in members.as_object().unwrap() {
        match value {
            Value::Null => state.as_object_mut().unwrap().remove(name),
            value => state.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    state
}

//! Helpers of the reducers' tests: small states, and checks that say what changed.

use crate::wire::json::{Value, json};

use super::{NoOp, Outcome, apply};
use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

/// The version that most tests speak.
pub(crate) const V1_0: Version = Version::new(1, 0, 0);

/// Applies an action on the channel its type names.
pub(crate) fn fold(state: &mut Value, action: &Value) -> Outcome {
    let action_type = action["type"].as_str().unwrap();
    let channel = ChannelKind::of_action(action_type).unwrap();
    apply(V1_0, channel, state, action)
}

/// A chat with an active turn `t` that has these parts.
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

/// Checks that an action is taken and leaves these members, null meaning that one is absent.
#[track_caller]
pub(crate) fn applies(before: Value, action: Value, members: Value) -> Value {
    let mut state = before;
    assert_eq!(fold(&mut state, &action), Outcome::Applied, "{action}");
    for (name, expected) in members.as_object().unwrap() {
        let found = state.get(name).unwrap_or(&Value::Null);
        assert_eq!(found, expected, "`{name}` after {action}");
    }
    state
}

/// Checks that an action changes nothing, for that reason.
#[track_caller]
pub(crate) fn ignores(before: Value, action: Value, why: NoOp) {
    let mut state = before.clone();
    assert_eq!(fold(&mut state, &action), Outcome::NoOp(why), "{action}");
    assert_eq!(state, before, "{action}");
}

/// Checks that an action cannot be used and changes nothing.
#[track_caller]
pub(crate) fn refuses(before: Value, action: Value, path: &str, expected: &'static str) {
    let mut state = before.clone();
    let path = path.to_owned();
    assert_eq!(fold(&mut state, &action), Outcome::Invalid { path, expected }, "{action}");
    assert_eq!(state, before, "{action}");
}

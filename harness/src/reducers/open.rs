//! The open points of the specification, as data. If an open point explains a difference between a subject (a tested
//! reducer) and the harness, the report lists the possible interpretations, and the difference is no failure of the
//! subject.
//!
//! Knows: cases, the protocol tables. Never knows: the subject under test.
//!
//! Start at [`POINTS`].

use crate::wire::json::Value;

use super::case::{FoldedCase, ReducerCase};
use super::compare::{StateDifference, same};
use super::pointer;
use crate::model::{ActionOutcome, status};
use crate::wire::channel::ChannelKind;
use crate::wire::protocol::Protocol;
use crate::wire::timestamp;
use crate::wire::validate::ShapeError;
use crate::wire::version::Version;

/// A point of the specification with more than one defensible interpretation.
pub struct OpenPoint {
    /// The identifier, which is never reused.
    pub id: &'static str,
    /// The open question, in one sentence.
    pub title: &'static str,
    /// The possible interpretations of the specification.
    pub readings: &'static [&'static str],
    /// A function that returns whether the point explains a difference.
    matches: fn(&SeenDifference<'_>) -> bool,
}

/// A difference between a subject and the harness, with the facts that decide whether an open point explains it.
pub struct SeenDifference<'a> {
    /// The protocol version.
    pub version: Version,
    /// The case in which the difference occurs.
    pub case: &'a ReducerCase,
    /// The result of the harness's reducer.
    pub folded: &'a FoldedCase,
    /// The subject's state; `None` if the subject answered with an error.
    pub theirs: Option<&'a Value>,
    /// The places where the state of the harness and the state of the subject differ.
    pub differences: &'a [StateDifference],
}

/// The prefix of unknown members that the generator adds, to test how a subject treats them.
pub const STRANGER: &str = "x-";

/// All open points. The first point that explains a difference applies.
pub const POINTS: &[OpenPoint] = &[
    OpenPoint {
        id: "malformed-action",
        title: "an action of a known type whose payload breaks the schema",
        readings: &[
            "the action is refused and changes nothing, unless the reducer does not read the broken member",
            "the action counts as an unknown action and changes nothing",
            "the valid part of the action takes effect",
        ],
        matches: malformed,
    },
    OpenPoint {
        id: "unknown-members",
        title: "a value has members that no type of the version defines",
        readings: &[
            "the reducer keeps them",
            "a decoder with typed structures may drop them (official round-trip vectors, group B)",
        ],
        matches: strangers,
    },
    OpenPoint {
        id: "disputed-members",
        title: "a member is missing, and the sources disagree whether it is required",
        readings: &[
            "the value is accepted without the member",
            "the value is refused, or the member gets a default",
        ],
        matches: disputed,
    },
    OpenPoint {
        id: "tool-call-twice",
        title: "two tool calls of the active turn have the same id",
        readings: &[
            "the id refers to the newest call",
            "the id refers to the first call",
            "the id refers to both calls",
        ],
        matches: tool_call_twice,
    },
    OpenPoint {
        id: "ids-twice",
        title: "two entries of a list have the same id",
        readings: &[
            "the id refers to the first entry",
            "the id refers to all entries",
            "the id refers to the last entry",
        ],
        matches: ids_twice,
    },
    OpenPoint {
        id: "stale-tool-action",
        title: "an action names no existing tool call, and the status of the chat does not match its turn",
        readings: &["nothing changes", "the status is derived again"],
        matches: stale_tool_action,
    },
    OpenPoint {
        id: "confirmation-unsaid",
        title: "a confirmation of a tool call has no `confirmed`, or a denial has no `reason`",
        readings: &["approved: `not-needed`, denied: `denied`", "the member is left out"],
        matches: confirmation_unsaid,
    },
    OpenPoint {
        id: "tool-call-status-unknown",
        title: "a turn ends while a tool call has an unknown status and no `invocationMessage`",
        readings: &[
            "the cancelled call gets an empty `invocationMessage`",
            "the cancelled call has no `invocationMessage`",
            "the call does not change",
        ],
        matches: call_of_unknown_status,
    },
    OpenPoint {
        id: "scope-unknown",
        title: "the first scope of an enablement has an unknown kind",
        readings: &["the scope counts like any other", "the scope does not enable"],
        matches: scope_unknown,
    },
    OpenPoint {
        id: "time-spelling",
        title: "the format of a computed time is not specified",
        readings: &["UTC with three digits of milliseconds", "any spelling of the same instant"],
        matches: time_spelling,
    },
    OpenPoint {
        id: "time-beyond",
        title: "a turn ends at a time that is outside the range of timestamps",
        readings: &[
            "the turn ends, and `modifiedAt` does not change",
            "the action is refused, and the turn stays active",
        ],
        matches: time_beyond,
    },
];

/// Returns the open point that explains a difference; `None` if there is none.
pub fn explains(seen: &SeenDifference<'_>) -> Option<&'static OpenPoint> {
    POINTS.iter().find(|point| (point.matches)(seen))
}

/// Returns whether an action of a known type violates the schema.
pub fn is_malformed(version: Version, action: &Value) -> bool {
    let known = action.get("type").and_then(Value::as_str);
    Protocol::of(version).is_some_and(|protocol| {
        known.is_some_and(|name| protocol.action(name).is_some())
            && protocol.check_action(action).iter().any(|error| !error.soft)
    })
}

fn malformed(seen: &SeenDifference<'_>) -> bool {
    seen.case.actions.iter().any(|action| is_malformed(seen.version, action))
}

/// Returns whether a member about which the sources of the specification disagree is missing in the state or in an
/// action.
fn disputed(seen: &SeenDifference<'_>) -> bool {
    let Some(protocol) = Protocol::of(seen.version) else { return false };
    let ReducerCase { channel, state, actions, .. } = seen.case;
    let absent =
        |errors: Vec<ShapeError>| errors.iter().any(|error| error.soft && error.found == NOTHING);
    absent(protocol.check_state(*channel, state))
        || actions.iter().any(|action| absent(protocol.check_action(action)))
}

/// Returns the open point that applies if a value of this type lacks a member about which the sources of the
/// specification disagree.
pub(super) fn disputes(version: Version, name: &str, value: &Value) -> Option<&'static OpenPoint> {
    let protocol = Protocol::of(version)?;
    let errors = match protocol.action(name) {
        Some(_) => protocol.check_action(value),
        None => protocol.check_type(name, value),
    };
    let absent = errors.iter().any(|error| error.soft && error.found == NOTHING);
    POINTS.iter().find(|point| absent && point.id == "disputed-members")
}

/// The word by which the validator says that a member is missing; see
/// [`ShapeError::found`](crate::wire::validate::ShapeError::found).
const NOTHING: &str = "nothing";

fn strangers(seen: &SeenDifference<'_>) -> bool {
    // Differences that a clock causes were already removed, so every remaining difference must be about an unknown
    // member.
    let strange = |difference: &StateDifference| {
        let within = difference.path.split('/').any(|step| step.starts_with(STRANGER));
        let bare = |side: &Option<Value>| side.as_ref().map(without_strangers).unwrap_or_default();
        within || same(&bare(&difference.ours), &bare(&difference.theirs))
    };
    seen.theirs.is_some() && !seen.differences.is_empty() && seen.differences.iter().all(strange)
}

/// Returns the open point about unknown members.
pub(super) fn unknown_members() -> Option<&'static OpenPoint> {
    POINTS.iter().find(|point| point.id == "unknown-members")
}

/// Returns a value without the unknown members that the generator added.
pub(super) fn without_strangers(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(name, _)| !name.starts_with(STRANGER))
                .map(|(name, value)| (name.clone(), without_strangers(value)))
                .collect(),
        ),
        Value::Array(items) => items.iter().map(without_strangers).collect(),
        other => other.clone(),
    }
}

fn only_action<'a>(seen: &'a SeenDifference<'_>) -> Option<(&'a str, &'a Value)> {
    match seen.case.actions.as_slice() {
        [action] => Some((action.get("type")?.as_str()?, action)),
        _ => None,
    }
}

fn active_parts(state: &Value) -> impl Iterator<Item = &Value> {
    let parts = state.pointer("/activeTurn/responseParts").and_then(Value::as_array);
    parts.into_iter().flatten()
}

fn tool_call_twice(seen: &SeenDifference<'_>) -> bool {
    let Some((_, action)) = only_action(seen) else { return false };
    let Some(wanted) = action.get("toolCallId") else { return false };
    let id = |part: &Value| part.pointer("/toolCall/toolCallId") == Some(wanted);
    active_parts(&seen.case.state).filter(|part| id(part)).nth(1).is_some()
}

/// Returns whether the difference is in a list that contains an identifier twice, or whether the action refers to an
/// identifier that occurs twice in a list.
fn ids_twice(seen: &SeenDifference<'_>) -> bool {
    if seen.theirs.is_none() {
        return false;
    }
    let mut lists = Vec::new();
    repeated(&seen.case.state, &mut String::new(), &mut lists);
    lists.iter().any(|(path, ids)| {
        let within = |difference: &StateDifference| {
            difference
                .path
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let differs = seen.differences.iter().any(within);
        differs || seen.case.actions.iter().any(|action| mentions(action, ids))
    })
}

/// Collects the lists of a value that contain an identifier twice, with the places of the lists and the
/// repeated identifiers.
fn repeated(value: &Value, path: &mut String, lists: &mut Vec<(String, Vec<Value>)>) {
    let length = path.len();
    match value {
        Value::Array(items) => {
            let plain = items.iter().all(Value::is_string);
            let ids: Vec<&Value> = items
                .iter()
                .filter_map(|item| if plain { Some(item) } else { identity(item) })
                .collect();
            let again = ids
                .iter()
                .enumerate()
                .filter(|(at, id)| ids.iter().take(*at).any(|other| other == *id));
            let again: Vec<Value> = again.map(|(_, id)| (*id).clone()).collect();
            if !again.is_empty() {
                lists.push((path.clone(), again));
            }
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("/{index}"));
                repeated(item, path, lists);
                path.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                path.push('/');
                path.push_str(&pointer::escaped(name));
                repeated(value, path, lists);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn mentions(value: &Value, ids: &[Value]) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| mentions(item, ids)),
        Value::Object(members) => members.values().any(|member| mentions(member, ids)),
        text => ids.contains(text),
    }
}

/// Returns the identifier of a list entry, from any member that may contain it.
fn identity(item: &Value) -> Option<&Value> {
    const PLACES: [&str; 7] = [
        "/id",
        "/toolCall/toolCallId",
        "/request/id",
        "/resource",
        "/clientId",
        "/commandId",
        "/uri",
    ];
    PLACES.iter().find_map(|place| item.pointer(place)).filter(|id| id.is_string())
}

fn stale_tool_action(seen: &SeenDifference<'_>) -> bool {
    let Some((name, _)) = only_action(seen) else { return false };
    let stale = matches!(seen.folded.outcomes.first(), Some(ActionOutcome::NoOp(_)));
    let status = match seen.differences {
        [difference] if difference.path == "/status" => difference.theirs.as_ref(),
        _ => return false,
    };
    let derived = status::recompute(&seen.case.state);
    seen.case.channel == ChannelKind::Chat
        && name.contains("/toolCall")
        && stale
        && status.and_then(Value::as_u64) == Some(derived)
}

fn confirmation_unsaid(seen: &SeenDifference<'_>) -> bool {
    let Some((name, action)) = only_action(seen) else { return false };
    let unsaid = action.get("confirmed").is_none() || action.get("reason").is_none();
    let member = |difference: &StateDifference| {
        difference.path.ends_with("/confirmed") || difference.path.ends_with("/reason")
    };
    name.ends_with("toolCallConfirmed")
        && unsaid
        && !seen.differences.is_empty()
        && seen.differences.iter().all(member)
}

fn call_of_unknown_status(seen: &SeenDifference<'_>) -> bool {
    const KNOWN: [&str; 7] = [
        "streaming",
        "pending-confirmation",
        "running",
        "auth-required",
        "pending-result-confirmation",
        "completed",
        "cancelled",
    ];
    let Some((name, _)) = only_action(seen) else { return false };
    let ends = matches!(name, "chat/error" | "chat/turnCancelled" | "chat/turnComplete");
    let unknown = |part: &Value| {
        let call = part.get("toolCall");
        let status = call.and_then(|call| call.get("status")).and_then(Value::as_str);
        status.is_some_and(|status| !KNOWN.contains(&status))
            && call.and_then(|call| call.get("invocationMessage")).is_none()
    };
    let about_parts = |difference: &StateDifference| difference.path.contains("/responseParts");
    ends && active_parts(&seen.case.state).any(unknown)
        && !seen.differences.is_empty()
        && seen.differences.iter().all(about_parts)
}

fn scope_unknown(seen: &SeenDifference<'_>) -> bool {
    const KNOWN: [&str; 3] = ["global", "workspace", "session"];
    let Some((name, action)) = only_action(seen) else { return false };
    let first = action.pointer("/enablement/0/kind").and_then(Value::as_str);
    name.ends_with("customizationToggled") && first.is_some_and(|kind| !KNOWN.contains(&kind))
}

fn time_spelling(seen: &SeenDifference<'_>) -> bool {
    let instant =
        |value: &Option<Value>| value.as_ref().and_then(Value::as_str).and_then(timestamp::parse);
    let alike = |difference: &StateDifference| {
        let ours = instant(&difference.ours);
        ours.is_some() && ours == instant(&difference.theirs)
    };
    !seen.differences.is_empty() && seen.differences.iter().all(alike)
}

/// Returns whether the start of the active turn plus the duration in an action is outside the range of valid times. An
/// invalid start does not count: a turn with an invalid start must still be able to end (requirement
/// reducer.chat.endTurn-bad-startedAt).
fn time_beyond(seen: &SeenDifference<'_>) -> bool {
    let Some((_, action)) = only_action(seen) else { return false };
    let Some(duration) = action.get("duration").and_then(Value::as_i64) else { return false };
    let started = seen.case.state.pointer("/activeTurn/startedAt").and_then(Value::as_str);
    started.is_some_and(|started| {
        timestamp::parse(started).is_some() && timestamp::plus_millis(started, duration).is_none()
    })
}

impl std::fmt::Debug for OpenPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl PartialEq for OpenPoint {
    fn eq(&self, other: &OpenPoint) -> bool {
        self.id == other.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn a_call_of_unknown_status_without_words_is_open() {
        let check = |call: Value, path: &str, open: bool| {
            let parts = json!([{"kind": "toolCall", "toolCall": (call.clone())}]);
            let state = json!({"activeTurn": {"id": "t", "responseParts": parts}});
            let action = json!({"type": "chat/turnCancelled", "turnId": "t", "duration": 5});
            let case =
                ReducerCase { channel: ChannelKind::Chat, state, actions: vec![action], now: 0 };
            let folded = case.fold(Version::V1_0);
            let (ours, theirs) = (Some(json!("")), None);
            let differences = [StateDifference { path: path.to_owned(), ours, theirs }];
            let theirs = Some(&case.state);
            let (case, folded, differences) = (&case, &folded, &differences[..]);
            let seen = SeenDifference { version: Version::V1_0, case, folded, theirs, differences };
            assert_eq!(call_of_unknown_status(&seen), open, "{call} {path}");
        };
        let place = "/turns/0/responseParts/0/toolCall/invocationMessage";
        check(json!({"toolCallId": "c", "status": "new"}), place, true);
        check(json!({"toolCallId": "c", "status": "new"}), "/status", false);
        check(json!({"toolCallId": "c", "status": "running"}), place, false);
        check(json!({"toolCallId": "c", "status": "new", "invocationMessage": "m"}), place, false);
    }

    #[test]
    fn only_times_that_no_calendar_has_are_open() {
        let check = |started: &str, duration: i64, open: bool| {
            let state = json!({"activeTurn": {"id": "t", "startedAt": started}});
            let action = json!({"type": "chat/turnComplete", "turnId": "t", "duration": duration});
            let case =
                ReducerCase { channel: ChannelKind::Chat, state, actions: vec![action], now: 0 };
            let folded = case.fold(Version::V1_0);
            let theirs = Some(&case.state);
            let seen = SeenDifference {
                version: Version::V1_0,
                case: &case,
                folded: &folded,
                theirs,
                differences: &[],
            };
            assert_eq!(time_beyond(&seen), open, "{started} {duration}");
        };
        check("2026-01-01T00:00:00Z", 1 << 53, true);
        check("2026-01-01T00:00:00Z", 1000, false);
        check("yesterday", 1 << 53, false);
    }
}

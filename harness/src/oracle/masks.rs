//! Which members of two states of a channel are compared.
//!
//! A snapshot can only be foretold where an action says so. Members that no action of the version
//! can change are left out, as are unknown members, `_meta`, and the difference between null, an
//! empty list and nothing.
//!
//! Knows: the members of states. Never knows: how the states came about.
//!
//! Start at [`MEMBERS`]. Source: the reducers' tables; invariant D1, exceptions 1 to 6.

use crate::wire::json::{Map, Value};

use crate::wire::channel::ChannelKind;
use crate::wire::feature::Feature;

use super::step::Comparison;

/// How a member is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum How {
    /// As it is.
    Whole,
    /// Only the bit IsArchived: the other bits of a session follow its chats or the host's policy.
    Archived,
    /// As it is, without the bit IsRead where no action of the version marks a chat as read: a host
    /// that also speaks a newer one changes it unheard.
    Activity,
    /// Only `values`, and only where both have it: no action brings a schema.
    Values,
    /// Entry by entry, their times and change counts apart.
    Summaries,
    /// As it is, from the version on whose reducers take times from actions only.
    Timed,
}

struct Member {
    kind: ChannelKind,
    name: &'static str,
    how: How,
    /// The action that changes it; where the version has none, it is not compared.
    by: &'static str,
}

const fn row(kind: ChannelKind, name: &'static str, how: How, by: &'static str) -> Member {
    Member { kind, name, how, by }
}

const MEMBERS: &[Member] = {
    use ChannelKind::{Chat, Root, Session};
    use How::{Activity, Archived, Summaries, Timed, Values, Whole};
    &[
        row(Root, "agents", Whole, "root/agentsChanged"),
        row(Root, "activeSessions", Whole, "root/activeSessionsChanged"),
        row(Root, "terminals", Whole, "root/terminalsChanged"),
        row(Root, "config", Values, "root/configChanged"),
        row(Session, "title", Whole, "session/titleChanged"),
        row(Session, "status", Archived, "session/isArchivedChanged"),
        row(Session, "activity", Whole, "session/activityChanged"),
        row(Session, "workingDirectories", Whole, "session/workingDirectorySet"),
        row(Session, "lifecycle", Whole, "session/ready"),
        row(Session, "creationError", Whole, "session/creationFailed"),
        row(Session, "serverTools", Whole, "session/serverToolsChanged"),
        row(Session, "activeClients", Whole, "session/activeClientSet"),
        row(Session, "chats", Summaries, "session/chatUpdated"),
        row(Session, "defaultChat", Whole, "session/defaultChatChanged"),
        row(Session, "config", Values, "session/configChanged"),
        row(Session, "customizations", Whole, "session/customizationUpdated"),
        row(Session, "changesets", Whole, "session/changesetsChanged"),
        row(Session, "inputNeeded", Whole, "session/inputNeededSet"),
        row(Chat, "status", Activity, "chat/turnStarted"),
        row(Chat, "activity", Whole, "chat/activityChanged"),
        row(Chat, "modifiedAt", Timed, "chat/turnComplete"),
        row(Chat, "movable", Whole, "chat/movableChanged"),
        row(Chat, "workingDirectories", Whole, "chat/workingDirectorySet"),
        row(Chat, "changesets", Whole, "chat/changesetsChanged"),
        row(Chat, "backgroundWork", Whole, "chat/backgroundWorkSet"),
        row(Chat, "canvases", Whole, "chat/canvasesChanged"),
        row(Chat, "turns", Whole, "chat/turnComplete"),
        row(Chat, "activeTurn", Whole, "chat/turnStarted"),
        row(Chat, "steeringMessage", Whole, "chat/pendingMessageSet"),
        row(Chat, "queuedMessages", Whole, "chat/pendingMessageSet"),
        row(Chat, "draft", Whole, "chat/draftChanged"),
    ]
};

/// Members of a catalogue entry that may lag behind.
const LAGGING: &[&str] = &["modifiedAt", "changes"];
/// The bit IsRead of a status.
const IS_READ: u64 = 32;
/// The bit IsArchived of a status.
const IS_ARCHIVED: u64 = 64;

/// What is compared of a state.
#[derive(Clone, Debug)]
pub(super) struct Comparable {
    /// A difference is a mistake.
    pub hard: Value,
    /// A difference is worth a remark.
    pub soft: Value,
    /// Older turns are left out.
    windowed: bool,
}

/// Takes what is compared out of a state.
pub(super) fn comparable(comparison: &Comparison<'_>, state: &Value) -> Comparable {
    let mut hard = Map::new();
    let mut soft = Map::new();
    let rows = MEMBERS.iter().filter(|row| row.kind == comparison.kind);
    for row in rows.filter(|row| comparison.protocol.action(row.by).is_some()) {
        let Some(value) = state.get(row.name) else {
            continue;
        };
        let timed = comparison.protocol.has(Feature::DeterministicTimes);
        let value = match row.how {
            How::Timed if !timed => continue,
            How::Whole | How::Timed => plain(value),
            How::Archived => value.as_u64().map(|bits| Value::from(bits & IS_ARCHIVED)),
            How::Activity if comparison.protocol.action("chat/isReadChanged").is_some() => {
                plain(value)
            }
            How::Activity => value.as_u64().map(|bits| Value::from(bits & !IS_READ)),
            How::Values => value.get("values").and_then(plain),
            How::Summaries => {
                let (entries, lagging) = summaries(value);
                soft.insert(row.name.to_owned(), lagging);
                plain(&entries)
            }
        };
        if let Some(value) = value {
            hard.insert(row.name.to_owned(), value);
        }
    }
    Comparable {
        hard: Value::Object(hard),
        soft: Value::Object(soft),
        windowed: state.get("turnsNextCursor").is_some_and(|cursor| !cursor.is_null()),
    }
}

/// Makes two states comparable with each other: a configuration that appears, and turns that only
/// one of them has loaded, are left out.
pub(super) fn align(
    mut first: Comparable,
    mut second: Comparable,
    windowed: bool,
) -> (Comparable, Comparable) {
    let (Some(one), Some(other)) = (first.hard.as_object_mut(), second.hard.as_object_mut()) else {
        return (first, second);
    };
    if !one.contains_key("config") || !other.contains_key("config") {
        one.remove("config");
        other.remove("config");
    }
    if windowed || first.windowed || second.windowed {
        let mut turns = [take(one, "turns"), take(other, "turns")];
        let common = turns.iter().map(Vec::len).min().unwrap_or(0);
        for turns in &mut turns {
            turns.drain(..turns.len() - common);
        }
        let [turns_one, turns_other] = turns;
        one.insert("turns", Value::Array(turns_one));
        other.insert("turns", Value::Array(turns_other));
    }
    (first, second)
}

fn take(members: &mut Map, name: &str) -> Vec<Value> {
    match members.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// A catalogue without, and only with, the members that may lag behind.
fn summaries(value: &Value) -> (Value, Value) {
    let mut entries = value.clone();
    let mut lagging = Vec::new();
    for entry in entries.as_array_mut().into_iter().flatten() {
        let Some(members) = entry.as_object_mut() else {
            continue;
        };
        let mut late = Map::new();
        for name in LAGGING {
            if let Some(value) = members.remove(name) {
                late.insert((*name).to_owned(), value);
            }
        }
        if let Some(resource) = members.get("resource") {
            late.insert("resource", resource.clone());
        }
        lagging.push(Value::Object(late));
    }
    (entries, Value::Array(lagging))
}

/// A value without what makes no difference; `None` where nothing is left.
fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => {
            let keep = |item: &Value| plain(item).unwrap_or(Value::Null);
            Some(Value::Array(items.iter().map(keep).collect()))
        }
        Value::Object(members) => {
            let known = members.iter().filter(|(name, _)| name.as_str() != "_meta");
            let kept = known.filter_map(|(name, value)| Some((name.clone(), plain(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            match (number.is_f64(), whole) {
                // Only texts such as `3.0` come here; the limit keeps the conversion exact.
                (true, Some(whole)) if whole.abs() < 1e15 => Some(Value::from(whole as i64)),
                _ => Some(value.clone()),
            }
        }
        other => Some(other.clone()),
    }
}

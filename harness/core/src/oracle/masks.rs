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
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use super::same::{META, same, same_items};
use super::step::StateComparison;

/// How a member is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CompareMode {
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
    /// The members of what held a session's title before they were its own.
    Summary,
    /// One text of all parts, of which either side may have dropped the beginning.
    Output,
    /// As it is, but a host may show each client its own: a difference is worth a remark.
    Own,
}

struct MaskedMember {
    kind: ChannelKind,
    name: &'static str,
    how: CompareMode,
    /// The actions that change it; where the version has none of them, it is not compared.
    by: &'static [&'static str],
}

macro_rules! members {
    ($($kind:ident { $($name:literal $how:ident $by:literal $(or $other:literal)*;)* })*) => {
        &[$($(MaskedMember {
            kind: ChannelKind::$kind,
            name: $name,
            how: CompareMode::$how,
            by: &[$by $(, $other)*],
        },)*)*]
    };
}

const MEMBERS: &[MaskedMember] = members! {
    Root {
        "agents" Whole "root/agentsChanged";
        "activeSessions" Whole "root/activeSessionsChanged";
        "terminals" Whole "root/terminalsChanged";
        "config" Values "root/configChanged";
    }
    Session {
        "title" Whole "session/titleChanged";
        "status" Archived "session/isArchivedChanged";
        "activity" Whole "session/activityChanged";
        "summary" Summary "session/titleChanged";
        "workingDirectories" Whole "session/workingDirectorySet";
        "lifecycle" Whole "session/ready";
        "creationError" Whole "session/creationFailed";
        "serverTools" Whole "session/serverToolsChanged";
        "activeClient" Whole "session/activeClientChanged";
        "activeClients" Whole "session/activeClientSet";
        "chats" Summaries "session/chatUpdated";
        "defaultChat" Whole "session/defaultChatChanged";
        "config" Values "session/configChanged";
        "customizations" Whole "session/customizationUpdated" or "session/customizationsChanged";
        "changesets" Whole "session/changesetsChanged";
        "inputNeeded" Whole "session/inputNeededSet";
        "turns" Whole "session/turnComplete";
        "activeTurn" Whole "session/turnStarted";
        "inputRequests" Whole "session/inputRequested";
        "steeringMessage" Whole "session/pendingMessageSet";
        "queuedMessages" Whole "session/pendingMessageSet";
    }
    Chat {
        "status" Activity "chat/turnStarted";
        "activity" Whole "chat/activityChanged";
        "modifiedAt" Timed "chat/turnComplete";
        "movable" Whole "chat/movableChanged";
        "workingDirectories" Whole "chat/workingDirectorySet";
        "changesets" Whole "chat/changesetsChanged";
        "backgroundWork" Whole "chat/backgroundWorkSet";
        "canvases" Whole "chat/canvasesChanged";
        "turns" Whole "chat/turnComplete";
        "activeTurn" Whole "chat/turnStarted";
        "inputRequests" Whole "chat/inputRequested";
        "steeringMessage" Whole "chat/pendingMessageSet";
        "queuedMessages" Whole "chat/pendingMessageSet";
        "draft" Whole "chat/draftChanged";
    }
    Terminal {
        "title" Whole "terminal/titleChanged";
        "cwd" Whole "terminal/cwdChanged";
        "cols" Whole "terminal/resized";
        "rows" Whole "terminal/resized";
        "claim" Whole "terminal/claimed";
        "lifecycle" Whole "terminal/exited";
        "exitCode" Whole "terminal/exited";
        "supportsCommandDetection" Whole "terminal/commandDetectionAvailable";
        "content" Output "terminal/data";
    }
    Changeset {
        "status" Whole "changeset/statusChanged";
        "error" Whole "changeset/statusChanged";
        "files" Whole "changeset/fileSet";
        "operations" Whole "changeset/operationsChanged";
    }
    Annotations { "annotations" Whole "annotations/set"; }
    ResourceWatch {
        "root" Whole "resourceWatch/changed";
        "recursive" Whole "resourceWatch/changed";
    }
    Canvas {
        "instanceId" Whole "canvas/stateChanged";
        "canvasId" Whole "canvas/stateChanged";
        "title" Whole "canvas/stateChanged";
        "status" Whole "canvas/stateChanged";
        "url" Whole "canvas/stateChanged";
    }
    Automations { "entries" Own "automation/set"; }
    AutomationRun {
        "lifecycle" Whole "automationRun/lifecycleChanged";
        "sessions" Whole "automationRun/sessionSet";
        "primarySession" Whole "automationRun/primarySessionChanged";
    }
};

/// Members of a session's `summary` that actions change.
const IN_SUMMARY: &[&str] = &["title", "activity", "model", "agent"];
/// Members of a catalogue entry that may lag behind.
const LAGGING: &[&str] = &["modifiedAt", "changes"];
/// The bit IsRead of a status.
const IS_READ: u64 = 32;
/// The bit IsArchived of a status.
const IS_ARCHIVED: u64 = 64;

/// What is compared of a state.
#[derive(Clone, Debug)]
pub(super) struct ComparableState {
    /// A difference is a mistake.
    pub hard: Value,
    /// A difference is worth a remark.
    pub soft: Value,
    /// Older turns are left out.
    windowed: bool,
}

/// The members that are compared in a version.
fn members(
    kind: ChannelKind,
    protocol: &'static Protocol,
) -> impl Iterator<Item = &'static MaskedMember> {
    let known = move |row: &&MaskedMember| row.by.iter().any(|by| protocol.action(by).is_some());
    MEMBERS.iter().filter(move |row| row.kind == kind).filter(known)
}

/// Whether two states say the same in every member that is compared. Costs no copy; where it is
/// false, [`comparable`] and [`align`] tell what differs, and whether that matters.
pub(super) fn agree(comparison: &StateComparison<'_>) -> bool {
    let (folded, snapshot) = (comparison.folded, comparison.snapshot);
    members(comparison.kind, comparison.protocol).all(|row| {
        let (one, other) = (folded.get(row.name), snapshot.get(row.name));
        if row.name == "turns" && is_window(comparison) {
            let (one, other) = (items(one), items(other));
            let common = one.len().min(other.len());
            return same_items(&one[one.len() - common..], &other[other.len() - common..]);
        }
        match row.how {
            CompareMode::Timed if !comparison.protocol.has(ProtocolFeature::DeterministicTimes) => {
                true
            }
            CompareMode::Archived => archived(one) == archived(other),
            CompareMode::Values | CompareMode::Summary | CompareMode::Output => {
                one == other || taken(row, comparison, one) == taken(row, comparison, other)
            }
            CompareMode::Activity => taken(row, comparison, one) == taken(row, comparison, other),
            CompareMode::Whole | CompareMode::Timed | CompareMode::Summaries | CompareMode::Own => {
                same(one, other)
            }
        }
    })
}

/// Whether one of the states may lack older turns.
fn is_window(comparison: &StateComparison<'_>) -> bool {
    let cut = |state: &Value| state.get("turnsNextCursor").is_some_and(|cursor| !cursor.is_null());
    comparison.windowed || cut(comparison.folded) || cut(comparison.snapshot)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn archived(status: Option<&Value>) -> Option<u64> {
    Some(status?.as_u64()? & IS_ARCHIVED)
}

/// What is compared of one member.
fn taken(
    row: &MaskedMember,
    comparison: &StateComparison<'_>,
    value: Option<&Value>,
) -> Option<Value> {
    let value = value?;
    match row.how {
        CompareMode::Timed if !comparison.protocol.has(ProtocolFeature::DeterministicTimes) => None,
        CompareMode::Whole | CompareMode::Timed | CompareMode::Summaries | CompareMode::Own => {
            plain(value)
        }
        CompareMode::Archived => archived(Some(value)).map(Value::from),
        CompareMode::Activity if comparison.protocol.action("chat/isReadChanged").is_some() => {
            plain(value)
        }
        CompareMode::Activity => value.as_u64().map(|bits| Value::from(bits & !IS_READ)),
        CompareMode::Values => value.get("values").and_then(plain),
        CompareMode::Summary => {
            let member = |name: &&'static str| Some((*name, value.get(name).and_then(plain)?));
            Some(IN_SUMMARY.iter().filter_map(member).collect())
        }
        CompareMode::Output => Some(Value::from(output(value))),
    }
}

/// What a terminal showed, without the borders of its parts.
fn output(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let text = |part: &Value| {
        let text = part.get("output").or_else(|| part.get("value"));
        text.and_then(Value::as_str).map(str::to_owned)
    };
    parts.filter_map(text).collect()
}

/// Takes what is compared out of a state: members that the version defines, each in one spelling.
pub(super) fn comparable(comparison: &StateComparison<'_>, state: &Value) -> ComparableState {
    let mut state = state.clone();
    comparison.protocol.canonical(TrimType::State(comparison.kind), &mut state);
    let mut hard = Map::new();
    let mut soft = Map::new();
    for row in members(comparison.kind, comparison.protocol) {
        let value = state.get(row.name);
        let kept = match (row.how, value) {
            (CompareMode::Own, _) => {
                if let Some(value) = taken(row, comparison, value) {
                    soft.insert(row.name, value);
                }
                None
            }
            (CompareMode::Summaries, Some(value)) => {
                let (entries, lagging) = summaries(value);
                soft.insert(row.name, lagging);
                plain(&entries)
            }
            _ => taken(row, comparison, value),
        };
        if let Some(value) = kept {
            hard.insert(row.name, value);
        }
    }
    ComparableState {
        hard: Value::Object(hard),
        soft: Value::Object(soft),
        windowed: state.get("turnsNextCursor").is_some_and(|cursor| !cursor.is_null()),
    }
}

/// Makes two states comparable with each other: a configuration that appears, turns that only one
/// of them has loaded, and output that only one of them has kept, are left out.
pub(super) fn align(
    mut first: ComparableState,
    mut second: ComparableState,
    windowed: bool,
) -> (ComparableState, ComparableState) {
    let (Some(one), Some(other)) = (first.hard.as_object_mut(), second.hard.as_object_mut()) else {
        return (first, second);
    };
    if !one.contains_key("config") || !other.contains_key("config") {
        one.remove("config");
        other.remove("config");
    }
    let output = |members: &Map| members.get("content").and_then(Value::as_str).map(str::len);
    if let Some((kept, others)) = output(one).zip(output(other)) {
        trim(one, others);
        trim(other, kept);
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

/// Keeps the end of a terminal's output, so much of it that it is no longer than the other's.
fn trim(members: &mut Map, length: usize) {
    let Some(Value::String(text)) = members.get_mut("content") else {
        return;
    };
    let start = text.len().saturating_sub(length);
    if let Some(end) = text.get(start..).filter(|_| start > 0) {
        *text = end.into();
    }
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
pub(super) fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => {
            let keep = |item: &Value| plain(item).unwrap_or(Value::Null);
            Some(Value::Array(items.iter().map(keep).collect()))
        }
        Value::Object(members) => {
            let known = members.iter().filter(|(name, _)| name.as_str() != META);
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

//! Selects the members that are compared in two states of a channel.
//!
//! Only the members that actions determine are predictable in a snapshot. The comparison omits members that no action
//! of the version can change, unknown members, `_meta`, and the difference between null, an empty list and an absent
//! member.
//!
//! Knows: the members of states. Never knows: the folding of states.
//!
//! Start at [`MEMBERS`]. Source: the reducers' tables; invariant D1, exceptions 1 to 6.

use crate::wire::json::{Map, Value};

use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;

use super::same::{META, same, same_items};
use super::step::StateComparison;

/// The way in which a member of two states is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CompareMode {
    /// The whole value of the member is compared.
    Whole,
    /// Only the bit IsArchived is compared. The other bits of a session follow its chats or the host's policy.
    Archived,
    /// The whole value is compared. If no action of the version marks a chat as read, the bit IsRead is
    /// omitted: a host that also supports a newer version may change the bit without an action in this version.
    Activity,
    /// Only the member `values` of a configuration is compared, and only if both states have it. No action contains the
    /// schema, so the schema is not predictable.
    Values,
    /// The entries of the list are compared one by one, and their times and change counts are compared separately.
    Summaries,
    /// The whole value is compared, but only in versions whose reducers take times from actions alone.
    Timed,
    /// The members in [`IN_SUMMARY`] of a session's `summary` are compared, for versions up to 0.4.0.
    Summary,
    /// The concatenated text of all parts is compared. Either state may lack the beginning of the text.
    Output,
    /// The whole value is compared, and a difference is a note, because a host may send each client a different value.
    Own,
}

struct MaskedMember {
    kind: ChannelKind,
    name: &'static str,
    how: CompareMode,
    /// The actions that change the member. If the version has none of these actions, the member is not
    /// compared.
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

/// The members of a session's `summary` that actions change.
const IN_SUMMARY: &[&str] = &["title", "activity", "model", "agent"];
/// The members of a catalogue entry whose updates a host may delay.
const LAGGING: &[&str] = &["modifiedAt", "changes"];
/// The bit IsRead of a status.
const IS_READ: u64 = 32;
/// The bit IsArchived of a status.
const IS_ARCHIVED: u64 = 64;

/// The parts of a state that are compared.
#[derive(Clone, Debug)]
pub(super) struct ComparableState {
    /// The members in which a difference is a breach.
    pub hard: Value,
    /// The members in which a difference is only a note.
    pub soft: Value,
    /// Whether one of the two states may lack older turns.
    windowed: bool,
}

/// Returns the members of a state that are compared in this version.
fn members(
    kind: ChannelKind,
    protocol: &'static Protocol,
) -> impl Iterator<Item = &'static MaskedMember> {
    let known = move |row: &&MaskedMember| row.by.iter().any(|by| protocol.action(by).is_some());
    MEMBERS.iter().filter(move |row| row.kind == kind).filter(known)
}

/// Returns whether two states agree in every compared member. In the common case the function copies nothing.
/// If the result is `false`, [`comparable`] and [`align`] show the difference and whether it matters.
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

/// Returns whether one of the states may lack older turns.
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

/// Returns the compared part of one member; `None` if no part of the member is compared.
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

/// Returns the text of a terminal, without the boundaries between its parts.
fn output(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let text = |part: &Value| {
        let text = part.get("output").or_else(|| part.get("value"));
        text.and_then(Value::as_str).map(str::to_owned)
    };
    parts.filter_map(text).collect()
}

/// Returns the compared members of a state, normalised by the tables of the version.
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

/// Removes the parts that only one of two states has for a legal reason: a configuration, older turns that were loaded,
/// and the beginning of a terminal's output.
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

/// Shortens a terminal's output from the front to at most `length` bytes.
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

/// Splits a catalogue into two parts: its entries without the members whose updates may be delayed, and these members.
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

/// Returns a value without the parts that are never compared; `None` if nothing is left.
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
                // Only numbers with a fraction or an exponent, such as `3.0`, reach this arm. Below this limit the
                // conversion is exact.
                (true, Some(whole)) if whole.abs() < 1e15 => Some(Value::from(whole as i64)),
                _ => Some(value.clone()),
            }
        }
        other => Some(other.clone()),
    }
}

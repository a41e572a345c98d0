//! Laws about the changes of states, in every version: finished turns do not change, text only grows, tool calls follow
//! their transition table, the status matches the turn, ids stay unique, and unknown members are kept.
//!
//! Property tests and fuzz targets check the same laws. Each law itself excludes the actions to which it does
//! not apply.
//!
//! Knows: states, the table of tool-call transitions. Never knows: the actions that lead to a state.
//!
//! Start at [`LAWS`].

use std::collections::HashSet;

use crate::model::tool_call::{TRANSITIONS, ToolCallStatus};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Text, Value, json};
use crate::wire::version::Version;

use super::story::{ActionStory, StoryStep};

/// The result of a law: the error is a sentence about the breach.
pub type LawBreach = Result<(), String>;

/// A law with its name.
pub type StoryLaw = (&'static str, fn(&ActionStory) -> LawBreach);

/// Every law.
pub const LAWS: &[StoryLaw] = &[
    ("finished turns stay", finished_turns_stay),
    ("text only grows", text_only_grows),
    ("calls move along the table", calls_move_along_the_table),
    ("the status is always derivable", the_status_is_always_derivable),
    ("ids stay apart", ids_stay_apart),
    ("unknown members survive", what_nobody_knows_survives),
];

/// Checks that finished turns do not change; only truncation, loading and resuming may change the list of
/// turns.
///
/// # Errors
/// Returns the action that changed a finished turn.
pub fn finished_turns_stay(story: &ActionStory) -> LawBreach {
    for StoryStep { before, action, after, .. } in story.steps(story.state.clone(), |_| true) {
        if matches!(deed(action), "truncated" | "turnsLoaded" | "turnResume") {
            continue;
        }
        let (old, new) = (list(&before, "turns"), list(&after, "turns"));
        law(new.starts_with(old), || format!("{action} changed finished turns"))?;
    }
    Ok(())
}

/// Checks that text only grows at its end, that parts are only appended, and that parts and text stay in their
/// turn.
///
/// # Errors
/// Returns the action that breaks the law.
pub fn text_only_grows(story: &ActionStory) -> LawBreach {
    for StoryStep { before, action, after, .. } in story.steps(story.state.clone(), |_| true) {
        if deed(action) == "turnStarted" {
            continue;
        }
        let Some((old, new)) = parts_of(&before, &after) else { continue };
        law(new.len() >= old.len(), || format!("{action} took a part away"))?;
        for (old, new) in old.iter().zip(new) {
            law(old["kind"] == new["kind"], || format!("{action} made {old} another kind: {new}"))?;
            let grown = named(new, "content").starts_with(named(old, "content"));
            law(grown, || format!("{action} changed text: {old} {new}"))?;
        }
    }
    Ok(())
}

/// Checks that each action leaves a tool call unchanged, or moves it by one transition of the table, or ends
/// its turn and thereby cancels it.
///
/// # Errors
/// Returns the action that moved a tool call in another way.
pub fn calls_move_along_the_table(story: &ActionStory) -> LawBreach {
    for StoryStep { before, action, after, .. } in story.steps(story.state.clone(), |_| true) {
        if deed(action) == "turnStarted" {
            continue;
        }
        let Some((old, new)) = parts_of(&before, &after) else { continue };
        let ended = after.get("activeTurn").is_none();
        let mut moved = 0;
        for (old, new) in old.iter().zip(new) {
            let (old, new) = (&old["toolCall"], &new["toolCall"]);
            let same = old["toolCallId"] == new["toolCallId"];
            law(same, || format!("{action} made {old} another call: {new}"))?;
            let (from, to) = (named(old, "status"), named(new, "status"));
            if from == to {
                continue;
            }
            moved += 1;
            let status = ToolCallStatus::from_name;
            let legal = if ended {
                // A call with an unknown status is also cancelled, because no call in the history is active.
                let over = status(from).is_some_and(ToolCallStatus::is_final);
                status(to) == Some(ToolCallStatus::Cancelled) && !over
            } else {
                let step = |(from, to)| {
                    TRANSITIONS.iter().any(|row| row.from == Some(from) && row.to == to)
                };
                status(from).zip(status(to)).is_some_and(step)
            };
            law(legal, || format!("{action}: {from} to {to}"))?;
        }
        law(ended || moved <= 1, || format!("{action} moved several calls"))?;
    }
    Ok(())
}

/// Checks that a status that matches the turn still matches it after each action. A response part that arrives in a
/// pending state may affect the status only later, when the status is next derived.
///
/// # Errors
/// Returns the action after which the status does not match.
pub fn the_status_is_always_derivable(story: &ActionStory) -> LawBreach {
    let holds_turns = story.kind == ChannelKind::Chat || story.version < Version::V0_4;
    if !holds_turns || story.state.get("turns").is_none() {
        return Ok(());
    }
    let mut state = story.state.clone();
    let activity = called_for(story.version, &state);
    *status_mut(&mut state) = json!(status(&story.state) & !31 | activity);
    let wanted = |action: &Value| !matches!(deed(action), "responsePart" | "ready");
    for StoryStep { before, action, outcome, after, .. } in story.steps(state, wanted) {
        let fits = consistent(story.version, &after);
        law(fits, || format!("{action} {outcome:?}: {after}"))?;
        let flags = (status(&before) ^ status(&after)) & !31;
        let may = match deed(action) {
            "turnStarted" | "inputRequested" | "turnResume" | "isReadChanged" => 32,
            "isArchivedChanged" => 64,
            _ => 0,
        };
        law(flags & !may == 0, || format!("{action} changed flags"))?;
    }
    Ok(())
}

/// Checks that the ids of list entries stay unique.
///
/// # Errors
/// Returns the action that added an id twice.
pub fn ids_stay_apart(story: &ActionStory) -> LawBreach {
    if !apart(&story.state) {
        return Ok(());
    }
    // A turn may reuse the id of a finished turn, and a list that an action replaces as a whole may contain
    // duplicates.
    let wanted = |action: &Value| {
        let free = ["turnComplete", "turnCancelled", "error", "turnsLoaded"];
        let mut members = action.as_object().into_iter().flat_map(|members| members.values());
        let whole = members.any(|value| value.is_array() || value.get("entries").is_some());
        !free.contains(&deed(action)) && !whole
    };
    for StoryStep { before, action, after, .. } in story.steps(story.state.clone(), wanted) {
        law(apart(&after), || format!("{action} on {before}"))?;
    }
    Ok(())
}

/// Checks that unknown members have no effect, and that an action keeps the unknown members of all values that it does
/// not change.
///
/// # Errors
/// Returns the action that used or lost an unknown member.
pub fn what_nobody_knows_survives(story: &ActionStory) -> LawBreach {
    let mut plain = story.state.clone();
    let mut marked = story.state.clone();
    mark(&mut marked, "state");
    for action in &story.actions {
        let mut brought = action.clone();
        mark(&mut brought, "action");
        let before = marked.clone();
        let outcome = story.act(&mut plain, action);
        let other = story.act(&mut marked, &brought);
        law(other == outcome, || format!("{action}: {outcome:?} without marks, {other:?} with"))?;
        law(unmarked(&marked) == plain, || format!("{action} made something else of marks"))?;
        law(kept(&before, &marked), || format!("{action} on {before} left {marked}"))?;
    }
    Ok(())
}

fn law(holds: bool, otherwise: impl FnOnce() -> String) -> LawBreach {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn list<'a>(state: &'a Value, name: &str) -> &'a [Value] {
    state.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the last part of an action's type, such as `turnStarted`.
fn deed(action: &Value) -> &str {
    named(action, "type").rsplit('/').next().unwrap_or_default()
}

/// Returns the parts of the active turn before and after an action. If the action ended the turn, the parts are
/// taken from the history.
fn parts_of<'a>(before: &'a Value, after: &'a Value) -> Option<(&'a [Value], &'a [Value])> {
    let turn = before.get("activeTurn").filter(|turn| turn.is_object())?;
    let same = |other: &&Value| other.get("id") == turn.get("id");
    let now = after.get("activeTurn").filter(same);
    let ended = list(after, "turns").last().filter(same);
    let ended = ended.filter(|_| list(after, "turns").len() > list(before, "turns").len());
    Some((list(turn, "responseParts"), list(now.or(ended)?, "responseParts")))
}

/// Returns the activity that follows from the parts of a state.
///
/// Source: the status model in the specification of 0.1.0, 0.2.0 and 1.0.0.
fn called_for(version: Version, state: &Value) -> u64 {
    let listed = version < Version::V0_6;
    let Some(turn) = state.get("activeTurn").filter(|turn| turn.is_object()) else {
        return if listed && !list(state, "inputRequests").is_empty() { 24 } else { 1 };
    };
    let waits = |part: &Value| match (named(part, "kind"), named(&part["toolCall"], "status")) {
        ("toolCall", "pending-confirmation" | "pending-result-confirmation") => true,
        ("toolCall", "auth-required") | ("inputRequest", _) if listed => false,
        ("toolCall", "auth-required") => true,
        ("inputRequest", _) => part["response"].is_null(),
        _ => false,
    };
    let asked = listed && !list(state, "inputRequests").is_empty();
    if asked || list(turn, "responseParts").iter().any(waits) { 24 } else { 8 }
}

fn status_mut(state: &mut Value) -> &mut Value {
    let holder = if state.get("summary").is_some() { &mut state["summary"] } else { state };
    &mut holder["status"]
}

fn status(state: &Value) -> u64 {
    let holder = state.get("summary").unwrap_or(state);
    holder["status"].as_u64().unwrap_or_default()
}

/// Returns whether a status follows from the state, or is the error status, which only the end of a turn sets.
fn consistent(version: Version, state: &Value) -> bool {
    let activity = status(state) & 31;
    let wanted = called_for(version, state);
    activity == wanted || (activity == 2 && wanted == 1)
}

/// The lists whose entries have unique keys, each with the member that is the key.
const APART: [(&str, &str); 12] = [
    ("queuedMessages", "id"),
    ("inputRequests", "id"),
    ("inputNeeded", "id"),
    ("activeClients", "clientId"),
    ("chats", "resource"),
    ("customizations", "id"),
    ("files", "id"),
    ("annotations", "id"),
    ("entries", "id"),
    ("entries", "resource"),
    ("backgroundWork", "id"),
    ("turns", "id"),
];

/// Returns whether no list of [`APART`] has two entries with the same key, and no set contains a string twice.
fn apart(state: &Value) -> bool {
    let once = |items: &[Value], key: &str| {
        let mut seen = HashSet::new();
        let keys = items.iter().filter_map(|item| item.get(key).and_then(Value::as_str));
        keys.into_iter().all(|key| seen.insert(key.to_owned()))
    };
    let sets = ["workingDirectories", "sessions"].iter().all(|set| {
        let mut seen = HashSet::new();
        list(state, set).iter().filter_map(Value::as_str).all(|text| seen.insert(text.to_owned()))
    });
    let threads = list(state, "annotations").iter().all(|item| once(list(item, "entries"), "id"));
    sets && threads && APART.iter().all(|(name, key)| once(list(state, name), key))
}

/// Adds an unknown member to every object.
fn mark(value: &mut Value, whose: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, whose)),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    // Maps are not marked: every member of a map is an entry, so a map with an unknown member would
                    // never become empty.
                    Value::Object(entries) if MAPS.contains(&&**name) => {
                        entries.values_mut().for_each(|entry| mark(entry, whose));
                    }
                    member => mark(member, whose),
                }
            }
            members.insert(MARK, json!([whose, null]));
        }
        _ => {}
    }
}

/// The members that are maps, and that are removed when they are empty.
const MAPS: [&str; 1] = ["answers"];

const MARK: &str = "x-mark";

fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(unmarked).collect(),
        Value::Object(members) => {
            let known = members.iter().filter(|(name, _)| **name != *MARK);
            Value::Object(known.map(|(name, member)| (name.clone(), unmarked(member))).collect())
        }
        other => other.clone(),
    }
}

/// Returns whether a value comes from the action, or was created to contain such a value.
fn brought(value: &Value) -> bool {
    let parts = |value: &Value| match value {
        Value::Array(items) => items.iter().any(brought),
        Value::Object(members) => members.values().any(brought),
        _ => false,
    };
    match value.get(MARK) {
        Some(mark) => *mark == json!(["action", null]),
        None => parts(value),
    }
}

/// The members that an action creates from its type alone.
const MADE: [&str; 2] = ["lifecycle", "state"];

/// Returns whether all values that are equal in `before` and `after` have kept their marks, which are the unknown
/// members that [`mark`] adds. A value that came with the action has the action's mark, which is also accepted.
fn kept(before: &Value, after: &Value) -> bool {
    if before == after || brought(after) {
        return true;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let marked = unmarked(before) != unmarked(after) || old.get(MARK) == new.get(MARK);
            let free = |name: &str| name == MARK || MADE.contains(&name);
            let others = new.iter().filter(|(name, _)| !free(name));
            let kept = |name: &str, new: &Value| old.get(name).is_none_or(|old| kept(old, new));
            marked && others.into_iter().all(|(name, value)| kept(name, value))
        }
        (Value::Array(old), Value::Array(new)) => new.iter().all(|value| {
            let plain = unmarked(value);
            let like = |item: &&Value| unmarked(item) == plain;
            // If `new` has more equal items than `old`, some of them were added.
            let more = new.iter().filter(like).count() > old.iter().filter(like).count();
            more || old.iter().filter(like).any(|old| kept(old, value))
        }),
        _ => true,
    }
}

/// A cheap check of the active turn's tool calls, suitable after every action.
#[derive(Debug, Default)]
pub struct WatchedCalls {
    now: CallList,
    before: CallList,
}

/// The tool calls of a turn with their statuses, and the id of the turn; the id is `None` without an active
/// turn.
#[derive(Debug, Default)]
pub struct CallList {
    turn: Option<Text>,
    statuses: Vec<(Text, ToolCallStatus)>,
}

impl CallList {
    /// Sets the turn to which the following tool calls belong.
    pub fn turn(&mut self, id: &str) {
        self.turn = Some(Text::from(id));
    }

    /// Appends a tool call of the turn.
    pub fn call(&mut self, id: &str, status: ToolCallStatus) {
        self.statuses.push((Text::from(id), status));
    }

    fn read(&mut self, state: &Value) {
        let Some(turn) = state.get("activeTurn").filter(|turn| turn.is_object()) else { return };
        self.turn(named(turn, "id"));
        let calls = list(turn, "responseParts").iter().filter_map(|part| part.get("toolCall"));
        for call in calls {
            if let Some(status) = ToolCallStatus::from_name(named(call, "status")) {
                self.call(named(call, "toolCallId"), status);
            }
        }
    }
}

impl WatchedCalls {
    /// Reads the tool calls of a state.
    pub fn of(state: &Value) -> WatchedCalls {
        WatchedCalls::told(|told| told.read(state))
    }

    /// Creates the check from tool calls that `tell` lists.
    pub fn told(tell: impl FnOnce(&mut CallList)) -> WatchedCalls {
        let mut calls = WatchedCalls::default();
        tell(&mut calls.now);
        calls
    }

    /// Compares the state after an action with the state before the action.
    ///
    /// # Errors
    /// Returns a sentence about a tool call that did not follow the transition table.
    pub fn step(&mut self, action: &Value, state: &Value) -> LawBreach {
        self.step_told(action, |told| told.read(state))
    }

    /// Checks like [`step`](Self::step), with tool calls that `tell` lists.
    ///
    /// # Errors
    /// Returns a sentence about a tool call that did not follow the transition table.
    pub fn step_told(&mut self, action: &Value, tell: impl FnOnce(&mut CallList)) -> LawBreach {
        let deed = deed(action);
        let about = ["toolCall", "turn", "response", "error", "truncated", "input"];
        if !about.iter().any(|word| deed.starts_with(word)) {
            return Ok(());
        }
        std::mem::swap(&mut self.now, &mut self.before);
        let (before, now) = (&self.before, &mut self.now);
        now.turn = None;
        now.statuses.clear();
        tell(now);
        if before.turn != now.turn || deed == "turnStarted" {
            return Ok(());
        }
        // Parts are appended and never moved, so each tool call keeps its position.
        for ((id, from), (same, to)) in before.statuses.iter().zip(&now.statuses) {
            law(id == same, || format!("{action} put the call {same} where {id} stood"))?;
            let step = || TRANSITIONS.iter().any(|row| row.from == Some(*from) && row.to == *to);
            law(from == to || step(), || format!("{action}: {} to {}", from.name(), to.name()))?;
        }
        let kept = now.statuses.len() >= before.statuses.len();
        law(kept, || format!("{action} took a call away"))
    }
}

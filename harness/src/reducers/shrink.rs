//! Shrinks a case in which a subject (a tested reducer) and the harness disagree, as far as the disagreement stays the
//! same.
//!
//! The shrinker asks no questions itself. [`CaseShrinker::candidates`] returns smaller cases; the caller asks a
//! subject about all of them and reports with [`CaseShrinker::take`] in which candidates the disagreement still occurs.
//! These two steps repeat until no candidate is left. The shrinker first drops actions, then members and elements of
//! the state and of the actions, beginning with the largest. At the end, it simplifies strings and numbers, and makes
//! the entries of a list alike.
//!
//! If the original case is valid by the schema, all candidates are valid as well, because an invalid case might
//! disagree for a different reason.
//!
//! Knows: cases, the protocol tables. Never knows: subjects, the kind of the disagreement.
//!
//! Start at [`CaseShrinker`].

use std::collections::VecDeque;

use crate::wire::json::{Value, json};

use super::aim::is_reference;
use super::case::ReducerCase;
use super::open::is_malformed;
use super::pointer;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

/// The maximum number of candidates per batch.
pub const BATCH: usize = 48;
/// The maximum number of batches per case.
const MAX_BATCHES: usize = 150;

/// The state of shrinking one case.
#[derive(Debug)]
pub struct CaseShrinker {
    version: Version,
    best: ReducerCase,
    /// Whether the state and the actions of the original case are valid by the schema.
    valid: (bool, bool),
    phase: ShrinkPhase,
    /// The edits of the smallest case so far that were not tried yet, in order.
    edits: VecDeque<CaseEdit>,
    /// Whether an edit in this round made the case smaller, so that another round may make it still smaller.
    progress: bool,
    batches: usize,
    tried: Vec<(CaseEdit, ReducerCase)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ShrinkPhase {
    Actions,
    Members,
    Values,
    Done,
}

/// An edit that makes the case smaller.
#[derive(Clone, Debug, PartialEq)]
enum CaseEdit {
    /// Drops actions. The values are the index of the first action, and the number of actions.
    Drop(usize, usize),
    /// Removes the value at a place from the state (`None`) or from the action with this index.
    Remove(Option<usize>, String),
    /// Replaces the value at a place in the state (`None`) or in the action with this index by a simple value.
    Plain(Option<usize>, String, Value),
}

impl CaseShrinker {
    /// Creates a shrinker for a case in which the subject and the harness disagree.
    pub fn new(version: Version, case: ReducerCase) -> CaseShrinker {
        let valid = (state_is_valid(version, &case), actions_are_valid(version, &case));
        let mut shrinker = CaseShrinker {
            version,
            best: case,
            valid,
            phase: ShrinkPhase::Actions,
            edits: VecDeque::new(),
            progress: false,
            batches: 0,
            tried: Vec::new(),
        };
        shrinker.plan();
        shrinker
    }

    /// Returns the smallest case so far.
    pub fn best(&self) -> &ReducerCase {
        &self.best
    }

    /// Returns smaller cases to try; an empty list if no edits are left. The caller must call
    /// [`CaseShrinker::take`] before the next call.
    pub fn candidates(&mut self) -> Vec<ReducerCase> {
        self.tried.clear();
        while self.tried.is_empty() && self.phase != ShrinkPhase::Done {
            while self.tried.len() < BATCH {
                let Some(edit) = self.edits.pop_front() else { break };
                if let Some(case) = self.edited(&self.best, &edit) {
                    self.tried.push((edit, case));
                }
            }
            if self.tried.is_empty() {
                self.next_phase();
            }
        }
        self.batches += 1;
        if self.batches > MAX_BATCHES {
            self.phase = ShrinkPhase::Done;
            self.tried.clear();
        }
        self.tried.iter().map(|(_, case)| case.clone()).collect()
    }

    /// Accepts the first candidate in which the disagreement still occurs. `holds` states for each candidate whether
    /// the disagreement occurs.
    pub fn take(&mut self, holds: &[bool]) {
        let tried = std::mem::take(&mut self.tried);
        let first = tried.iter().zip(holds).position(|(_, holds)| *holds);
        let Some(first) = first else { return };
        // Edits before the successful edit have failed and are not retried in this round. Edits after it are
        // kept: their places may have moved, and an edit that no longer fits is discarded later.
        let mut rest: Vec<CaseEdit> = Vec::new();
        for (index, (edit, case)) in tried.into_iter().enumerate() {
            match index {
                index if index == first => self.best = case,
                index if index > first => rest.push(edit),
                _ => {}
            }
        }
        for edit in rest.into_iter().rev() {
            self.edits.push_front(edit);
        }
        self.progress = true;
    }

    fn next_phase(&mut self) {
        self.phase = match self.phase {
            ShrinkPhase::Actions => ShrinkPhase::Members,
            ShrinkPhase::Members if self.progress => ShrinkPhase::Members,
            ShrinkPhase::Members => ShrinkPhase::Values,
            ShrinkPhase::Values | ShrinkPhase::Done => ShrinkPhase::Done,
        };
        self.plan();
    }

    fn plan(&mut self) {
        self.progress = false;
        self.edits = match self.phase {
            ShrinkPhase::Actions => drops(self.best.actions.len()),
            ShrinkPhase::Members => self.removals(),
            ShrinkPhase::Values => self.plainer(),
            ShrinkPhase::Done => VecDeque::new(),
        };
    }

    /// Returns an edit for removing each place of the state and the actions, the largest place first. Within a
    /// list, later elements come first, so that the places of the earlier elements stay valid.
    fn removals(&self) -> VecDeque<CaseEdit> {
        let mut places = Vec::new();
        walk(&self.best.state, &mut String::new(), &mut |path, value| {
            places.push((size(value), CaseEdit::Remove(None, path.to_owned())));
        });
        for (index, action) in self.best.actions.iter().enumerate() {
            walk(action, &mut String::new(), &mut |path, value| {
                if path != "/type" {
                    places.push((size(value), CaseEdit::Remove(Some(index), path.to_owned())));
                }
            });
        }
        places.reverse();
        places.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        places.into_iter().map(|(_, edit)| edit).collect()
    }

    fn plainer(&self) -> VecDeque<CaseEdit> {
        let mut edits = VecDeque::new();
        let mut plain = |place: Option<usize>, root: &Value, path: &str, value: &Value| {
            let simple = match value {
                Value::String(_) if tells(path) => match first_alike(root, path) {
                    Some(first) => first.clone(),
                    None => return,
                },
                Value::String(text) if text != "t" && !is_short_id(path, text) => json!("t"),
                Value::Number(number) if number.as_u64() != Some(0) => json!(0),
                Value::Bool(true) => json!(false),
                Value::Array(items) if !items.is_empty() => json!([]),
                Value::Object(members) if !members.is_empty() => json!({}),
                _ => return,
            };
            edits.push_back(CaseEdit::Plain(place, path.to_owned(), simple));
        };
        let state = &self.best.state;
        walk(state, &mut String::new(), &mut |path, value| plain(None, state, path, value));
        for (index, action) in self.best.actions.iter().enumerate() {
            walk(action, &mut String::new(), &mut |path, value| {
                if path != "/type" {
                    plain(Some(index), action, path, value);
                }
            });
        }
        edits
    }

    /// Applies an edit. Returns `None` if the edit does not fit or makes a valid case invalid.
    fn edited(&self, case: &ReducerCase, edit: &CaseEdit) -> Option<ReducerCase> {
        let mut case = case.clone();
        match edit {
            CaseEdit::Drop(first, count) => {
                let end = first.checked_add(*count).filter(|end| *end <= case.actions.len())?;
                case.actions.drain(*first..end);
            }
            CaseEdit::Remove(place, path) => {
                let root = root(&mut case, *place)?;
                root.pointer(path)?;
                pointer::set(root, path, Value::Null).ok()?;
            }
            CaseEdit::Plain(place, path, value) => {
                let root = root(&mut case, *place)?;
                let before = root.pointer(path)?;
                if before == value {
                    return None;
                }
                pointer::set(root, path, value.clone()).ok()?;
            }
        }
        let states = !self.valid.0 || state_is_valid(self.version, &case);
        let actions = actions_are_valid(self.version, &case);
        // If the actions of the original case are invalid, the actions of every smaller case must also be invalid,
        // unless no actions are left.
        let actions = self.valid.1 == actions || !self.valid.1 && case.actions.is_empty();
        (states && actions).then_some(case)
    }
}

/// Returns the value at the same place in the first entry of the list, if it is a string. The shrinker makes entries
/// alike, so that only relevant differences remain.
fn first_alike<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    let mut segments: Vec<&str> = path.split('/').collect();
    let index = |segment: &&str| segment.parse().is_ok_and(|index: usize| index > 0);
    let last = segments.iter().rposition(index)?;
    // Only members of an entry are compared, and not a string that is itself an entry, such as an identifier in a list
    // of identifiers.
    let inside = last + 1 < segments.len();
    *segments.get_mut(last).filter(|_| inside)? = "0";
    root.pointer(&segments.join("/")).filter(|first| first.is_string())
}

/// Returns whether the string at this place has a special meaning, such as a kind or a time, so that it must not be
/// simplified.
fn tells(path: &str) -> bool {
    const TELLING: [&str; 8] =
        ["kind", "type", "status", "state", "lifecycle", "reason", "confirmed", "interactivity"];
    let name = path.rsplit('/').next().unwrap_or_default();
    TELLING.contains(&name) || name.ends_with("At")
}

fn is_short_id(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let id = is_reference(name) || name.bytes().all(|byte| byte.is_ascii_digit());
    id && text.chars().count() <= 1
}

fn root(case: &mut ReducerCase, place: Option<usize>) -> Option<&mut Value> {
    match place {
        None => Some(&mut case.state),
        Some(index) => case.actions.get_mut(index),
    }
}

fn state_is_valid(version: Version, case: &ReducerCase) -> bool {
    Protocol::of(version).is_none_or(|protocol| {
        protocol.check_state(case.channel, &case.state).iter().all(|error| error.soft)
    })
}

fn actions_are_valid(version: Version, case: &ReducerCase) -> bool {
    !case.actions.iter().any(|action| is_malformed(version, action))
}

/// Returns edits that drop half of the actions, a quarter, and so on down to single actions. For each size, the last
/// actions come first.
fn drops(count: usize) -> VecDeque<CaseEdit> {
    let mut edits = VecDeque::new();
    let mut width = count / 2;
    while width > 0 {
        let mut end = count;
        while end > 0 {
            let first = end.saturating_sub(width);
            edits.push_back(CaseEdit::Drop(first, end - first));
            end = first;
        }
        width /= 2;
    }
    edits
}

/// Returns the size of a value: the number of its nodes plus the length of its strings.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Visits every place below the root, depth first.
fn walk(value: &Value, path: &mut String, visit: &mut dyn FnMut(&str, &Value)) {
    let mut step = |name: &str, value: &Value| {
        let length = path.len();
        path.push('/');
        path.push_str(&pointer::escaped(name));
        visit(path, value);
        walk(value, path, visit);
        path.truncate(length);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| step(name, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| step(&index.to_string(), value));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::channel::ChannelKind;

    fn shrink(case: ReducerCase, holds: impl Fn(&ReducerCase) -> bool) -> ReducerCase {
        let mut shrinker = CaseShrinker::new(Version::new(1, 0, 0), case);
        loop {
            let candidates = shrinker.candidates();
            if candidates.is_empty() {
                return shrinker.best().clone();
            }
            let held: Vec<bool> = candidates.iter().map(&holds).collect();
            shrinker.take(&held);
        }
    }

    #[test]
    fn keeps_only_the_needed_members() {
        let agent = |id: &str| json!({"provider": id, "displayName": "text", "description": "text", "models": []});
        let state = json!({"agents": [agent("one"), agent("two"), agent("three")], "x": {"y": 1}});
        let action = |count: u64| json!({"type": "root/activeSessionsChanged", "activeSessions": count, "extra": "e"});
        let actions = (0..9).map(action).collect();
        let case = ReducerCase { channel: ChannelKind::Root, state, actions, now: 0 };
        let small = shrink(case, |case| {
            let two = case.state.to_string().contains("two");
            two && case.actions.iter().any(|action| action["activeSessions"] == 5)
        });
        let agent =
            json!({"provider": "two", "displayName": "t", "description": "t", "models": []});
        assert_eq!(small.state, json!({"agents": [agent]}));
        let action = json!({"type": "root/activeSessionsChanged", "activeSessions": 5});
        assert_eq!(small.actions, vec![action]);
    }

    #[test]
    fn entries_become_equal() {
        let kinds = [json!({"id": "a", "kind": "x"}), json!({"id": "b", "kind": "y"})];
        let case = ReducerCase {
            channel: ChannelKind::Root,
            state: json!({"agents": [], "x": kinds}),
            actions: Vec::new(),
            now: 0,
        };
        let both = |case: &ReducerCase| {
            let kind = |at: usize| case.state["x"][at]["kind"].is_string();
            let ids = case.state["x"][0]["id"] == "a" && case.state["x"][1]["id"] == "b";
            kind(0) && kind(1) && ids
        };
        let alike = json!([{"id": "a", "kind": "x"}, {"id": "b", "kind": "x"}]);
        assert_eq!(shrink(case, both).state["x"], alike);
    }

    #[test]
    fn a_valid_case_stays_valid() {
        let action = json!({"type": "root/configChanged", "config": {"a": 1}, "replace": true});
        let state = json!({"agents": []});
        let case = ReducerCase { channel: ChannelKind::Root, state, actions: vec![action], now: 0 };
        let small = shrink(case, |case| !case.actions.is_empty());
        assert_eq!(small.state, json!({"agents": []}));
        assert_eq!(small.actions, vec![json!({"type": "root/configChanged", "config": {}})]);
    }
}

//! Making a case small: whatever can go, goes, as long as the disagreement stays the same.
//!
//! Nothing is asked here. [`CaseShrinker::candidates`] gives smaller cases, the caller asks a subject
//! about all of them at once and tells with [`CaseShrinker::take`] which of them still disagree in the
//! same way; this goes on until none does. First actions are dropped, then members and elements of
//! the state and of the actions, big ones first, then texts and numbers become plain and entries of a list alike.
//!
//! A case that keeps to the schema stays within it: otherwise a small case would show something
//! else than the big one did.
//!
//! Knows: cases, the protocol tables. Never knows: subjects, what the disagreement is.
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

/// How many candidates are tried at once.
pub const BATCH: usize = 48;
/// How many batches one case is worth.
const MAX_BATCHES: usize = 150;

/// One case that is being made small.
#[derive(Debug)]
pub struct CaseShrinker {
    version: Version,
    best: ReducerCase,
    /// Whether the case kept to the schema, its state and its actions.
    valid: (bool, bool),
    phase: ShrinkPhase,
    /// Edits of the best case that have not been tried, in the order in which they are.
    edits: VecDeque<CaseEdit>,
    /// Whether an edit of this round was taken, so that another round is worth it.
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

/// One way to make the case smaller.
#[derive(Clone, Debug, PartialEq)]
enum CaseEdit {
    /// Drops actions: the first, and how many.
    Drop(usize, usize),
    /// Takes a place out of the state, or out of an action.
    Remove(Option<usize>, String),
    /// Puts something plain in a place.
    Plain(Option<usize>, String, Value),
}

impl CaseShrinker {
    /// Begins with a case that disagrees.
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

    /// The smallest case so far.
    pub fn best(&self) -> &ReducerCase {
        &self.best
    }

    /// Smaller cases to try, none when there is nothing left to try. [`CaseShrinker::take`] has to be
    /// told about them before more are given.
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

    /// Takes the first of the candidates that still disagrees; `holds` says of each whether it
    /// does.
    pub fn take(&mut self, holds: &[bool]) {
        let tried = std::mem::take(&mut self.tried);
        let first = tried.iter().zip(holds).position(|(_, holds)| *holds);
        let Some(first) = first else { return };
        // What failed before the one that held is not tried again in this round. What comes after
        // it goes back: its places may have moved, and an edit that no longer fits falls out.
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

    /// Every place of the state and the actions, the biggest first; of one list the last first, so
    /// that the places of those before it stay.
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

    /// The case after an edit; `None` where it does not fit, or leaves the schema.
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
        // A case about a broken payload stays one.
        let actions = self.valid.1 == actions || !self.valid.1 && case.actions.is_empty();
        (states && actions).then_some(case)
    }
}

/// What stands in the first entry of a list at the place where another entry has this: where both
/// say the same, what differs between them is what matters.
fn first_alike<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    let mut segments: Vec<&str> = path.split('/').collect();
    let index = |segment: &&str| segment.parse().is_ok_and(|index: usize| index > 0);
    let last = segments.iter().rposition(index)?;
    // The entry itself, such as an id in a list of ids, is not one of its members.
    let inside = last + 1 < segments.len();
    *segments.get_mut(last).filter(|_| inside)? = "0";
    root.pointer(&segments.join("/")).filter(|first| first.is_string())
}

/// Whether a text is more than a text: it tells a kind or a time.
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

/// Halves, quarters and so on down to single actions, the last first.
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

/// How much a value weighs: its nodes and the length of its texts.
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
    fn keeps_only_what_matters() {
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
    fn entries_become_alike() {
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
    fn a_sound_case_stays_sound() {
        let action = json!({"type": "root/configChanged", "config": {"a": 1}, "replace": true});
        let state = json!({"agents": []});
        let case = ReducerCase { channel: ChannelKind::Root, state, actions: vec![action], now: 0 };
        let small = shrink(case, |case| !case.actions.is_empty());
        assert_eq!(small.state, json!({"agents": []}));
        assert_eq!(small.actions, vec![json!({"type": "root/configChanged", "config": {}})]);
    }
}

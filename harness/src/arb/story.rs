//! Stories: states and actions that are generated from the tables of a version, as test input for reducers.
//!
//! Every decision is a call of `choose(n)`, as in [`wire::sample`](crate::wire::sample), so that a property
//! test, a fuzzer's bytes or a random generator can generate stories.
//!
//! Knows: tables, reducers. Never knows: the source of choices.

use std::fmt;

use crate::model::{ActionOutcome, apply_at};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::sample::SamplingOptions;
use crate::wire::version::Version;

/// The fixed time of the reducers' clock, in milliseconds.
pub const NOW_MS: u64 = 9_999;

/// An initial state and a sequence of actions.
#[derive(Clone)]
pub struct ActionStory {
    /// The version of the tables.
    pub version: Version,
    /// The channel kind.
    pub kind: ChannelKind,
    /// The initial state.
    pub state: Value,
    /// The actions, in order.
    pub actions: Vec<Value>,
}

impl fmt::Debug for ActionStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.version, self.kind, self.state)?;
        self.actions.iter().try_for_each(|action| write!(f, "\n  {action}"))
    }
}

/// The options for generating a story.
#[derive(Clone, Copy, Debug)]
pub struct StoryChoice {
    /// The version of the tables.
    pub version: Version,
    /// The channel kind; `None` for any kind.
    pub kind: Option<ChannelKind>,
    /// The maximum number of actions.
    pub longest: usize,
    /// Whether values outside of the tables may occur.
    pub strange: bool,
}

impl ActionStory {
    /// Generates the story that a sequence of choices determines; `None` if the version has no such channel
    /// kind.
    pub fn tell(
        telling: StoryChoice,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> Option<ActionStory> {
        let StoryChoice { version, kind, longest, strange } = telling;
        let protocol = Protocol::of(version)?;
        let rows: Vec<_> = protocol.actions().collect();
        let drawn = rows.get(choose(rows.len()))?.channel;
        let kind = kind.unwrap_or(drawn);
        let own: Vec<_> = rows.iter().filter(|row| row.channel == kind).collect();
        let count = 1 + choose(longest);
        let types: Vec<&str> = (0..count)
            .filter_map(|_| own.get(choose(own.len())).map(|row| row.action_type.as_str()))
            .collect();
        let odd = if strange { 4 } else { 0 };
        let sampling = SamplingOptions {
            unknown: odd,
            strange: odd,
            timeless: odd,
            ..SamplingOptions::default()
        };
        let mut sampler = protocol.sampler(sampling, choose);
        let state = sampler.state(kind).filter(|_| !own.is_empty())?;
        let mut actions: Vec<Value> =
            types.iter().filter_map(|name| sampler.action(name)).collect();
        actions.iter_mut().for_each(|action| aim(&state, action, choose));
        Some(ActionStory { version, kind, state, actions })
    }

    /// Applies one action.
    pub fn act(&self, state: &mut Value, action: &Value) -> ActionOutcome {
        apply_at(self.version, self.kind, NOW_MS, state, action)
    }

    /// Applies the actions one by one, starting with `state`. Actions for which `wanted` returns false are left
    /// out.
    pub fn steps<'a>(
        &'a self,
        mut state: Value,
        wanted: impl Fn(&Value) -> bool + 'a,
    ) -> impl Iterator<Item = StoryStep<'a>> {
        self.actions.iter().filter(move |action| wanted(action)).map(move |action| {
            let before = state.clone();
            let outcome = self.act(&mut state, action);
            StoryStep { version: self.version, before, action, outcome, after: state.clone() }
        })
    }
}

/// One action of a story, with the state before and after it.
#[derive(Debug)]
pub struct StoryStep<'a> {
    /// The version of the reducer.
    pub version: Version,
    /// The state before the action.
    pub before: Value,
    /// The action.
    pub action: &'a Value,
    /// The outcome that the reducer returned for the action.
    pub outcome: ActionOutcome,
    /// The state after the action.
    pub after: Value,
}

/// Makes an action that names a turn, a part or a tool call refer to an active object, in three of four cases.
fn aim(state: &Value, action: &mut Value, choose: &mut dyn FnMut(usize) -> usize) {
    let Some(turn) = state.get("activeTurn").filter(|turn| turn.is_object() && choose(4) > 0)
    else {
        return;
    };
    let parts = turn["responseParts"].as_array().into_iter().flatten();
    let ids = |part: &Value| {
        let call = part.get("toolCall").and_then(|call| call.get("toolCallId"));
        call.or_else(|| part.get("id")).cloned()
    };
    let ids: Vec<Value> = parts.filter_map(ids).collect();
    let Some(members) = action.as_object_mut() else { return };
    for (name, value) in members.iter_mut() {
        match &**name {
            "turnId" => *value = turn["id"].clone(),
            "toolCallId" | "partId" if !ids.is_empty() => *value = ids[choose(ids.len())].clone(),
            _ => {}
        }
    }
}

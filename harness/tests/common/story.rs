//! States and actions drawn from the tables of a version, for properties of reducers.

use std::fmt;

use ahp_harness::model::{Outcome, apply_at};
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::Value;
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::sample::Sampling;
use ahp_harness::wire::version::{PUBLISHED, Version};
use proptest::prelude::*;

/// What the clock shows.
pub const NOW_MS: u64 = 9_999;

/// A state and what comes to it, drawn from the tables of a version.
pub struct Story {
    /// The version of the tables.
    pub version: Version,
    /// The channel.
    pub kind: ChannelKind,
    /// The state before.
    pub state: Value,
    /// What comes to it, in order.
    pub actions: Vec<Value>,
}

impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.version, self.kind, self.state)?;
        self.actions.iter().try_for_each(|action| write!(f, "\n  {action}"))
    }
}

/// The story that a row of choices tells. `strange` draws what no table lists as well.
fn story(
    version: Version,
    kind: Option<ChannelKind>,
    choices: &[usize],
    strange: bool,
) -> Option<Story> {
    let mut choices = choices.iter().copied();
    let mut choose = move |below: usize| choices.next().unwrap_or(0) % below.max(1);
    let protocol = Protocol::of(version)?;
    let rows: Vec<_> = protocol.actions().collect();
    let drawn = rows[choose(rows.len())].channel;
    let kind = kind.unwrap_or(drawn);
    let own: Vec<_> = rows.iter().filter(|row| row.channel == kind).collect();
    // A version without the channel has no story of it.
    own.first()?;
    let count = 1 + choose(6);
    let types: Vec<&str> =
        (0..count).map(|_| own[choose(own.len())].action_type.as_str()).collect();
    let odd = if strange { 4 } else { 0 };
    let sampling = Sampling { unknown: odd, strange: odd, timeless: odd, ..Sampling::default() };
    let mut sampler = protocol.sampler(sampling, &mut choose);
    let state = sampler.state(kind)?;
    let mut actions: Vec<Value> = types.iter().filter_map(|name| sampler.action(name)).collect();
    actions.iter_mut().for_each(|action| aim(&state, action, &mut choose));
    Some(Story { version, kind, state, actions })
}

/// Lets three of four actions that are about a turn, a part or a tool call be about the active one.
fn aim(state: &Value, action: &mut Value, choose: &mut impl FnMut(usize) -> usize) {
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
    let members = action.as_object_mut().unwrap();
    for (name, value) in members.iter_mut() {
        match &**name {
            "turnId" => *value = turn["id"].clone(),
            "toolCallId" | "partId" if !ids.is_empty() => *value = ids[choose(ids.len())].clone(),
            _ => {}
        }
    }
}

/// Stories of any channel.
pub fn stories(strange: bool) -> impl Strategy<Value = Story> {
    stories_of(None, strange)
}

/// Stories of one channel, or of any.
pub fn stories_of(kind: Option<ChannelKind>, strange: bool) -> impl Strategy<Value = Story> {
    let version = proptest::sample::select(&PUBLISHED[..]);
    let choices = proptest::collection::vec(any::<usize>(), 200..1200);
    let told = move |(version, choices): (_, Vec<_>)| story(version, kind, &choices, strange);
    (version, choices).prop_filter_map("no such channel", told)
}

/// Folds one action.
pub fn act(story: &Story, state: &mut Value, action: &Value) -> Outcome {
    apply_at(story.version, story.kind, NOW_MS, state, action)
}

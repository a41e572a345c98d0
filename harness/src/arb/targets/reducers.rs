//! Fuzz targets about reducers: sequences of actions from a pool, and generated stories with every law.

use crate::arb::choices::ByteChoices;
use crate::arb::laws::{LAWS, WatchedCalls};
use crate::arb::pool::ActionPool;
use crate::arb::story::{ActionStory, NOW_MS, StoryChoice};
use crate::wire::channel::ChannelKind;
use crate::wire::version::{PUBLISHED, Version};

/// The maximum number of actions of a sequence.
const LONGEST: usize = 50;

/// An initial state of a pool, and a sequence of actions.
pub(super) struct ActionSequence<'a> {
    /// The pool from which the state and the actions come.
    pub pool: &'static ActionPool,
    /// The index of the initial state in the pool.
    pub state: usize,
    /// The actions; each byte selects one of the pool.
    pub picks: &'a [u8],
}

/// Runs a sequence of actions on any channel kind of any version. Checks after every action that tool calls follow
/// their transition table.
pub fn reducers(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let all = ActionPool::all();
    play(rest, all[usize::from(*first) % all.len()].get());
}

/// Runs a sequence of actions on a chat of 1.0.0. Checks after every action that tool calls follow their transition
/// table.
pub fn chat(data: &[u8]) {
    if let Some(pool) = ActionPool::of(Version::V1_0, ChannelKind::Chat) {
        play(data, pool);
    }
}

fn play(data: &[u8], pool: &'static ActionPool) {
    let Some(ActionSequence { pool, state, picks }) = order(data, pool) else { return };
    let mut state = pool.states[state].clone();
    let mut calls = WatchedCalls::of(&state);
    for pick in picks {
        let pick = usize::from(*pick) % pool.actions.len();
        let action = &pool.actions[pick];
        pool.apply(pick, NOW_MS, &mut state);
        if let Err(broken) = calls.step(action, &state) {
            panic!("{} {:?}: {broken}", pool.version, pool.kind);
        }
    }
}

/// Reads a sequence of actions: the first byte selects the state, each further byte one action.
pub(super) fn order<'a>(data: &'a [u8], pool: &'static ActionPool) -> Option<ActionSequence<'a>> {
    let (first, picks) = data.split_first()?;
    let state = usize::from(*first) % pool.states.len().max(1);
    (!pool.actions.is_empty() && !pool.states.is_empty()).then(|| ActionSequence {
        pool,
        state,
        picks: &picks[..picks.len().min(LONGEST)],
    })
}

/// Checks every law against generated states and actions. Some of these contain values that are not in the tables.
pub fn laws(data: &[u8]) {
    let mut choices = ByteChoices::new(data);
    let Some(version) = choices.pick(&PUBLISHED).copied() else { return };
    let strange = choices.below(4) == 0;
    let telling = StoryChoice { version, kind: None, longest: 12, strange };
    let mut choose = |count| choices.below(count);
    let Some(story) = ActionStory::tell(telling, &mut choose) else { return };
    for (name, law) in LAWS {
        if let Err(broken) = law(&story) {
            panic!("{name}: {broken}\nin {story:?}");
        }
    }
}

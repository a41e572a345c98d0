//! Actions and states that were drawn beforehand, so that a fuzzer's byte picks a whole action.
//!
//! Drawing costs more than reducing. A target that is about the order of actions, not about what stands in
//! them, picks from a pool; the pool is drawn from the tables once, always the same.
//!
//! Each action is kept with what reduces it, as one that was read once would be.
//!
//! Knows: tables, reducers. Never knows: fuzzers.
//!
//! Start at [`ActionPool::of`].

use std::sync::OnceLock;

use crate::dice::Dice;
use crate::model::{ActionOutcome, ActionReducer};
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::sample::SamplingOptions;
use crate::wire::version::{PUBLISHED, Version};

/// What the drawing of every pool begins with.
const SEED: u64 = 1;
/// How many states there are.
const STATES: usize = 8;
/// How many actions there are: as many as a byte tells apart.
const ACTIONS: usize = 256;
/// How many ids there are, few so that they meet.
const IDS: usize = 2;

/// What a channel of a version is tried with.
#[derive(Debug)]
pub struct ActionPool {
    /// The version.
    pub version: Version,
    /// The channel.
    pub kind: ChannelKind,
    /// States to begin with, the plainest first.
    pub states: Vec<Value>,
    /// Actions, every type of the channel among them.
    pub actions: Vec<Value>,
    /// What reduces each.
    reducers: Vec<Option<ActionReducer>>,
}

impl ActionPool {
    /// Folds one of the actions into a state.
    pub fn apply(&self, action: usize, now_ms: u64, state: &mut Value) -> ActionOutcome {
        let reducer = self.reducers.get(action).copied().flatten();
        let action = self.actions.get(action);
        let folded =
            reducer.zip(action).map(|(it, action)| it.apply(self.kind, now_ms, state, action));
        folded.unwrap_or(ActionOutcome::OutOfScope)
    }

    /// Every pool there is, drawn when it is first asked for.
    pub fn all() -> &'static [LazyPool] {
        static ALL: OnceLock<Vec<LazyPool>> = OnceLock::new();
        ALL.get_or_init(|| {
            let of = |version: &Version| {
                let mut kinds: Vec<ChannelKind> = Protocol::of(*version)
                    .map(|protocol| protocol.actions().map(|row| row.channel).collect())
                    .unwrap_or_default();
                kinds.sort_unstable();
                kinds.dedup();
                let version = *version;
                kinds.into_iter().map(move |kind| LazyPool {
                    version,
                    kind,
                    drawn: OnceLock::new(),
                })
            };
            PUBLISHED.iter().flat_map(of).collect()
        })
    }

    /// The pool of a channel of a version; `None` where it has none.
    pub fn of(version: Version, kind: ChannelKind) -> Option<&'static ActionPool> {
        let mut all = ActionPool::all().iter();
        all.find(|pool| pool.version == version && pool.kind == kind).map(LazyPool::get)
    }

    fn draw(version: Version, kind: ChannelKind) -> ActionPool {
        let mut pool = ActionPool {
            version,
            kind,
            states: Vec::new(),
            actions: Vec::new(),
            reducers: Vec::new(),
        };
        let Some(protocol) = Protocol::of(version) else { return pool };
        let types: Vec<&str> = protocol
            .actions()
            .filter(|row| row.channel == kind)
            .map(|row| row.action_type.as_str())
            .collect();
        let mut dice = Dice::new(SEED, kind as u64);
        let sampling = SamplingOptions { ids: IDS, ..SamplingOptions::default() };
        for number in 0..STATES {
            let mut choose = |count| if number == 0 { 0 } else { dice.below(count) };
            pool.states.extend(protocol.sampler(sampling, &mut choose).state(kind));
        }
        for name in types.iter().cycle().take(ACTIONS) {
            let mut choose = |count| dice.below(count);
            pool.actions.extend(protocol.sampler(sampling, &mut choose).action(name));
        }
        let reducer = |action: &Value| ActionReducer::of(version, action["type"].as_str()?);
        pool.reducers = pool.actions.iter().map(reducer).collect();
        pool
    }
}

/// A pool that is drawn when it is first asked for.
#[derive(Debug)]
pub struct LazyPool {
    version: Version,
    kind: ChannelKind,
    drawn: OnceLock<ActionPool>,
}

impl LazyPool {
    /// The pool.
    pub fn get(&self) -> &ActionPool {
        self.drawn.get_or_init(|| ActionPool::draw(self.version, self.kind))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_type_of_every_version_is_in_a_pool() {
        for version in PUBLISHED {
            let Some(protocol) = Protocol::of(version) else { continue };
            for row in protocol.actions() {
                let pool = ActionPool::of(version, row.channel).unwrap();
                let types: HashSet<_> =
                    pool.actions.iter().filter_map(|action| action["type"].as_str()).collect();
                assert!(types.contains(row.action_type.as_str()), "{version} {}", row.action_type);
                assert_eq!(pool.states.len(), STATES);
            }
        }
    }
}

//! Actions and states that are generated in advance, so that one byte of a fuzzer's input selects a whole
//! action.
//!
//! Generating an action costs more than applying the action. Targets about the order of actions, not about
//! their content, use a pool. A pool is generated once from the tables, and its content is always the same.
//!
//! Each action is stored with its reducer, so that the lookup happens only once.
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

/// The seed of all pools.
const SEED: u64 = 1;
/// The number of initial states in a pool.
const STATES: usize = 8;
/// The number of actions: as many as one byte can select.
const ACTIONS: usize = 256;
/// The number of different identifiers: few, so that actions refer to the same entries.
const IDS: usize = 2;

/// The states and actions for one channel kind of a version.
#[derive(Debug)]
pub struct ActionPool {
    /// The version.
    pub version: Version,
    /// The channel kind.
    pub kind: ChannelKind,
    /// The initial states, the simplest first.
    pub states: Vec<Value>,
    /// The actions; they cover every type of the channel kind.
    pub actions: Vec<Value>,
    /// The reducer of each action; `None` if there is none.
    reducers: Vec<Option<ActionReducer>>,
}

impl ActionPool {
    /// Applies one of the actions to a state.
    pub fn apply(&self, action: usize, now_ms: u64, state: &mut Value) -> ActionOutcome {
        let reducer = self.reducers.get(action).copied().flatten();
        let action = self.actions.get(action);
        let folded =
            reducer.zip(action).map(|(it, action)| it.apply(self.kind, now_ms, state, action));
        folded.unwrap_or(ActionOutcome::OutOfScope)
    }

    /// Returns all pools; each is generated on first use.
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
                    generated: OnceLock::new(),
                })
            };
            PUBLISHED.iter().flat_map(of).collect()
        })
    }

    /// Returns the pool of a channel kind in a version; `None` if the version has no actions for it.
    pub fn of(version: Version, kind: ChannelKind) -> Option<&'static ActionPool> {
        let mut all = ActionPool::all().iter();
        all.find(|pool| pool.version == version && pool.kind == kind).map(LazyPool::get)
    }

    fn generate(version: Version, kind: ChannelKind) -> ActionPool {
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

/// A pool that is generated on first use.
#[derive(Debug)]
pub struct LazyPool {
    version: Version,
    kind: ChannelKind,
    generated: OnceLock<ActionPool>,
}

impl LazyPool {
    /// Returns the pool, and generates it on the first call.
    pub fn get(&self) -> &ActionPool {
        self.generated.get_or_init(|| ActionPool::generate(self.version, self.kind))
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

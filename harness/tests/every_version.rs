//! What holds of every reducer of every version, tried with states and actions that are drawn from
//! the protocol tables: whatever valid action meets whatever valid state, the outcome is one the
//! tables allow.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

#[path = "common/cases.rs"]
mod cases;

use ahp_harness::model::{NoOp, Outcome, apply_at};
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::sample::Sampling;
use ahp_harness::wire::validate::ShapeError;
use ahp_harness::wire::version::{PUBLISHED, Version};
use cases::cases;
use proptest::collection::vec;
use proptest::prelude::*;

/// The wall clock of all folds.
const NOW: u64 = 1_700_000_000_123;
/// Actions of one sequence.
const STEPS: usize = 12;

/// Choices from a list of numbers; when they have run out, the plainest.
struct Choices {
    numbers: std::vec::IntoIter<u32>,
}

impl Choices {
    fn below(&mut self, count: usize) -> usize {
        self.numbers.next().map_or(0, |number| number as usize % count.max(1))
    }
}

/// A state of one of the version's channels, and actions for it.
struct Story {
    version: Version,
    protocol: &'static Protocol,
    channel: ChannelKind,
    state: Value,
    actions: Vec<Value>,
}

impl Story {
    /// `wild` adds what no table lists, and breaks every fourth action.
    fn draw(version: usize, numbers: Vec<u32>, wild: bool) -> Story {
        let version = PUBLISHED[version];
        let protocol = Protocol::of(version).unwrap();
        let mut choices = Choices { numbers: numbers.into_iter() };
        let mut channels: Vec<ChannelKind> = protocol.actions().map(|row| row.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        let channel = channels[choices.below(channels.len())];
        let types: Vec<&str> = protocol
            .actions()
            .filter(|row| row.channel == channel)
            .map(|row| row.action_type.as_str())
            .collect();
        let odd = if wild { 8 } else { 0 };
        let sampling =
            Sampling { ids: 2, unknown: odd, strange: odd, timeless: odd, distinct: !wild };
        let sample = |choices: &mut Choices, name: Option<&str>| {
            let mut choose = |count| choices.below(count);
            let mut sampler = protocol.sampler(sampling, &mut choose);
            match name {
                None => sampler.state(channel).unwrap(),
                Some(name) => {
                    let mut action = sampler.action(name).unwrap();
                    if wild && action.to_text().len() % 4 == 0 {
                        sampler.spoil(&mut action);
                    }
                    action
                }
            }
        };
        let state = sample(&mut choices, None);
        let mut actions = Vec::new();
        for _ in 0..STEPS {
            let name = types[choices.below(types.len())];
            actions.push(sample(&mut choices, Some(name)));
        }
        Story { version, protocol, channel, state, actions }
    }

    fn apply(&self, state: &mut Value, action: &Value) -> Outcome {
        apply_at(self.version, self.channel, NOW, state, action)
    }
}

fn hard(errors: Vec<ShapeError>) -> Vec<String> {
    errors.iter().filter(|error| !error.soft).map(ToString::to_string).collect()
}

fn numbers() -> impl Strategy<Value = Vec<u32>> {
    vec(any::<u32>(), 0..2_000)
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn valid_actions_are_taken_and_keep_valid_states_valid(
        version in 0..PUBLISHED.len(),
        numbers in numbers(),
    ) {
        let story = Story::draw(version, numbers, false);
        let mut state = story.state.clone();
        for action in &story.actions {
            let before = state.clone();
            let outcome = story.apply(&mut state, action);
            let taken = match outcome {
                Outcome::Applied => true,
                Outcome::NoOp(why) => why != NoOp::MalformedState,
                Outcome::OutOfScope | Outcome::Invalid { .. } => false,
            };
            prop_assert!(taken, "{}: {outcome:?} of {action} in {before}", story.version);
            let errors = hard(story.protocol.check_state(story.channel, &state));
            prop_assert!(errors.is_empty(), "{}: {errors:?} by {action} in {before}", story.version);
        }
    }

    #[test]
    fn reducers_are_functions_that_leave_no_traces(
        version in 0..PUBLISHED.len(),
        numbers in numbers(),
    ) {
        let mut story = Story::draw(version, numbers, true);
        story.state["x-kept"] = json!({"of": ["nobody", null, 1.5]});
        let mut state = story.state.clone();
        for action in &story.actions {
            let before = state.to_text();
            let outcome = story.apply(&mut state, action);
            if outcome != Outcome::Applied {
                prop_assert_eq!(state.to_text(), before.clone(), "{:?} left a trace", outcome);
            }
            // A canvas comes whole with its action; in every other state strangers survive.
            if story.channel != ChannelKind::Canvas {
                prop_assert_eq!(&state["x-kept"], &story.state["x-kept"]);
            }
            // The same from what was written and read again.
            let mut again = Value::read(&before).unwrap();
            prop_assert_eq!(story.apply(&mut again, action), outcome);
            prop_assert_eq!(again.to_text(), state.to_text());
        }
    }

    #[test]
    fn actions_of_other_channels_are_out_of_scope(
        version in 0..PUBLISHED.len(),
        numbers in numbers(),
        place in any::<prop::sample::Index>(),
    ) {
        let story = Story::draw(version, numbers, true);
        let others: Vec<&str> = story
            .protocol
            .actions()
            .filter(|row| row.channel != story.channel)
            .map(|row| row.action_type.as_str())
            .collect();
        let name = place.get(&others);
        let mut plain = |_: usize| 0;
        let foreign = story.protocol.sampler(Sampling::default(), &mut plain).action(name).unwrap();
        let mut state = story.state.clone();
        prop_assert_eq!(story.apply(&mut state, &foreign), Outcome::OutOfScope);
        prop_assert_eq!(state, story.state);
    }
}

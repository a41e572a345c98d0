//! Property tests of the reducers of every version, with states and actions generated from that version's
//! tables: the possible outcomes of a valid action, and the effects that an action must not have.

use ahp_harness::model::ActionOutcome;
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::sample::SamplingOptions;
use proptest::prelude::*;

use crate::common::cases::cases;
use crate::common::story::{stories, stories_of};

/// A member that no version has.
const UNHEARD_OF: &str = "x-unheard-of";

proptest! {
    #![proptest_config(cases(600))]

    /// Checks that a valid action is never refused, and an action without effect does not change the state.
    #[test]
    fn valid_actions_are_applied_or_have_no_effect(story in stories(false)) {
        let mut state = story.state.clone();
        for action in &story.actions {
            let before = state.clone();
            match story.act(&mut state, action) {
                ActionOutcome::Applied => {}
                ActionOutcome::NoOp(_) => prop_assert_eq!(&state, &before, "{} left a trace", action),
                refused => prop_assert!(false, "{} is {:?} on {}", action, refused, before),
            }
        }
    }

    /// Checks that a valid state is still valid after an action was applied.
    #[test]
    fn states_stay_valid(story in stories(false)) {
        let protocol = Protocol::of(story.version).unwrap();
        let mut state = story.state.clone();
        for action in &story.actions {
            let before = state.clone();
            story.act(&mut state, action);
            let errors = protocol.check_state(story.kind, &state);
            let error = errors.iter().find(|error| !error.soft);
            prop_assert!(error.is_none(), "{:?} after {} on {}", error, action, before);
        }
    }

    /// Checks that a state that is serialized and read again behaves like the original, and results in the same JSON
    /// when it is serialized again.
    #[test]
    fn a_state_behaves_the_same_after_a_round_trip(story in stories(true)) {
        let mut state = story.state.clone();
        for action in &story.actions {
            let text = serde_json::to_string(&state).unwrap();
            let mut read: Value = serde_json::from_str(&text).unwrap();
            let outcome = story.act(&mut state, action);
            prop_assert_eq!(story.act(&mut read, action), outcome);
            prop_assert_eq!(&read, &state, "{}", action);
        }
    }

    /// Checks that an action that violates the tables is either applied completely or changes nothing, and that the
    /// result is always the same.
    #[test]
    fn broken_actions_are_applied_or_change_nothing(
        story in stories(true),
        choices in proptest::collection::vec(any::<usize>(), 100),
    ) {
        let mut choices = choices.into_iter();
        let mut choose = |below: usize| choices.next().unwrap_or(0) % below.max(1);
        let protocol = Protocol::of(story.version).unwrap();
        let mut sampler = protocol.sampler(SamplingOptions::default(), &mut choose);
        let mut state = story.state.clone();
        for action in &story.actions {
            let mut broken = action.clone();
            sampler.spoil(&mut broken);
            let before = state.clone();
            let outcome = story.act(&mut state, &broken);
            let mut again = before.clone();
            prop_assert_eq!(&story.act(&mut again, &broken), &outcome);
            prop_assert_eq!(&again, &state, "{}", broken);
            if outcome != ActionOutcome::Applied {
                prop_assert_eq!(&state, &before, "{} left a trace", broken);
            }
        }
    }

    /// Checks that a reducer keeps unknown members of a state, and these members do not affect the other
    /// members. A canvas is an exception, because an action replaces the whole canvas.
    #[test]
    fn unknown_members_of_a_state_stay(story in stories(true)) {
        let mut plain = story.state.clone();
        let mut marked = story.state.clone();
        marked.as_object_mut().unwrap().insert(UNHEARD_OF.to_owned(), json!({"a": [1, null]}));
        for action in &story.actions {
            let outcome = story.act(&mut plain, action);
            prop_assert_eq!(story.act(&mut marked, action), outcome);
        }
        let mark = marked.as_object_mut().unwrap().remove(UNHEARD_OF);
        prop_assert!(mark.is_some() || story.kind == ChannelKind::Canvas);
        prop_assert_eq!(plain, marked);
    }

    /// Checks that an action on a channel never changes another channel, and actions that no reducer knows
    /// change nothing.
    #[test]
    fn actions_of_other_channels_change_nothing(one in stories(true), other in stories(true)) {
        let mut state = one.state.clone();
        for action in &other.actions {
            let outcome = one.act(&mut state, action);
            if one.kind != other.kind {
                prop_assert_eq!(outcome, ActionOutcome::OutOfScope);
                prop_assert_eq!(&state, &one.state);
            }
        }
        for action in [json!({"type": "x-mine/set"}), json!({"type": 5}), json!([1]), json!(null)] {
            let before = state.clone();
            prop_assert_eq!(one.act(&mut state, &action), ActionOutcome::OutOfScope);
            prop_assert_eq!(&state, &before);
        }
    }

    /// Checks that the output of a terminal only grows until it is cleared.
    #[test]
    fn output_of_terminals_only_grows(story in stories_of(Some(ChannelKind::Terminal), false)) {
        let output = |state: &Value| -> String {
            let parts = state["content"].as_array().into_iter().flatten();
            let text = |part: &Value| {
                let text = part.get("output").or_else(|| part.get("value"));
                text.and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            parts.map(text).collect()
        };
        let mut state = story.state.clone();
        for action in &story.actions {
            let before = output(&state);
            story.act(&mut state, action);
            let after = output(&state);
            let cleared = action["type"] == "terminal/cleared";
            let data = (action["type"] == "terminal/data").then(|| action["data"].as_str().unwrap());
            let wanted = if cleared { String::new() } else { before + data.unwrap_or_default() };
            prop_assert_eq!(after, wanted, "{}", action);
        }
    }
}

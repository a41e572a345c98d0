//! Property tests: the laws of `arb::laws` hold for every story (a state and actions on it), reducers are pure, and an
//! optimistic client reaches the state of the host.

use std::collections::VecDeque;

use ahp_harness::arb::laws;
use ahp_harness::arb::story::ActionStory;
use ahp_harness::model::{ActionOutcome, apply};
use ahp_harness::peer::mirror::ChannelMirror;
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::json::{Value, json};
use proptest::prelude::*;

use crate::common::cases::cases;
use crate::common::story::{stories, stories_of};

/// Generates stories of the channels whose states contain turns, in every version.
fn turns() -> impl Strategy<Value = ActionStory> {
    let kind = prop_oneof![4 => Just(ChannelKind::Chat), 1 => Just(ChannelKind::Session)];
    kind.prop_flat_map(|kind| stories_of(Some(kind), false))
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn finished_turns_stay(story in turns()) {
        prop_assert_eq!(laws::finished_turns_stay(&story), Ok(()));
    }

    #[test]
    fn text_only_grows(story in turns()) {
        prop_assert_eq!(laws::text_only_grows(&story), Ok(()));
    }

    #[test]
    fn calls_move_along_the_table(story in turns()) {
        prop_assert_eq!(laws::calls_move_along_the_table(&story), Ok(()));
    }

    #[test]
    fn the_status_is_always_derivable(story in turns()) {
        prop_assert_eq!(laws::the_status_is_always_derivable(&story), Ok(()));
    }

    #[test]
    fn ids_stay_apart(story in stories(false)) {
        prop_assert_eq!(laws::ids_stay_apart(&story), Ok(()));
    }

    #[test]
    fn unknown_members_survive(story in stories(false)) {
        prop_assert_eq!(laws::what_nobody_knows_survives(&story), Ok(()));
    }

    /// Checks that the same state, action and clock give the same result, even if another state was reduced in between,
    /// and that the reducer does not change the action.
    #[test]
    fn reducers_are_pure(one in stories(true), other in stories(true)) {
        let fold = |story: &ActionStory| {
            let mut state = story.state.clone();
            let actions = story.actions.clone();
            let outcomes: Vec<_> =
                actions.iter().map(|action| story.act(&mut state, action)).collect();
            assert_eq!(actions, story.actions);
            (state.to_text(), outcomes)
        };
        let first = fold(&one);
        fold(&other);
        prop_assert_eq!(fold(&one), first);
    }

    /// Checks an optimistic client, which applies its own actions immediately. Other clients act in the
    /// meantime, and the host may reject actions. After rolling back to the confirmed state and replaying the
    /// pending actions, the client reaches the state of the host. At every moment, the confirmed state of the
    /// client is the state of the host.
    #[test]
    fn optimistic_clients_converge_with_the_host(
        story in stories(false),
        order in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 0..24),
    ) {
        let mut mirror = ChannelMirror::new(story.version, story.kind, story.state.clone(), 0);
        let mut host = story.state.clone();
        let mut own: VecDeque<(u64, Value)> = VecDeque::new();
        let mut next = story.actions.iter().cycle();
        let (mut seq, mut sent) = (0, 0);
        let mut settle = |host: &mut Value, mirror: &mut ChannelMirror, said: Value, reject: bool| {
            seq += 1;
            let mut envelope = said;
            envelope["serverSeq"] = json!(seq);
            if reject {
                envelope["rejectionReason"] = json!("no");
            } else {
                let _: ActionOutcome = apply(story.version, story.kind, host, &envelope["action"]);
            }
            mirror.envelope("me", &envelope);
        };
        for (mine, echo, reject) in order {
            if mine {
                sent += 1;
                let action = next.next().unwrap().clone();
                mirror.dispatch(sent, action.clone());
                own.push_back((sent, action));
            } else if echo {
                let Some((number, action)) = own.pop_front() else { continue };
                let origin = json!({"clientId": "me", "clientSeq": number});
                settle(&mut host, &mut mirror, json!({"action": action, "origin": origin}), reject);
            } else {
                let origin = json!({"clientId": "other", "clientSeq": 1});
                let action = next.next().unwrap().clone();
                settle(&mut host, &mut mirror, json!({"action": action, "origin": origin}), false);
            }
            prop_assert_eq!(mirror.confirmed(), &host);
            let mut guess = host.clone();
            for (_, action) in &own {
                apply(story.version, story.kind, &mut guess, action);
            }
            prop_assert_eq!(mirror.optimistic(), guess);
        }
        while let Some((number, action)) = own.pop_front() {
            let origin = json!({"clientId": "me", "clientSeq": number});
            settle(&mut host, &mut mirror, json!({"action": action, "origin": origin}), false);
        }
        prop_assert_eq!(mirror.pending(), 0);
        prop_assert_eq!(&mirror.optimistic(), &host);
        prop_assert_eq!(mirror.confirmed(), &host);
    }
}

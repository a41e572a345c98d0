//! Stories (a state, and actions that are applied to it) that proptest generates.

use ahp_harness::arb::story::{ActionStory, StoryChoice};
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::version::PUBLISHED;
use proptest::prelude::*;

/// The maximum number of actions in a story.
const LONGEST: usize = 6;

/// Generates stories about channels of any kind.
pub fn stories(strange: bool) -> impl Strategy<Value = ActionStory> {
    stories_of(None, strange)
}

/// Generates stories about channels of one kind, or of any kind.
pub fn stories_of(kind: Option<ChannelKind>, strange: bool) -> impl Strategy<Value = ActionStory> {
    let version = proptest::sample::select(&PUBLISHED[..]);
    let choices = proptest::collection::vec(any::<usize>(), 200..1200);
    let told = move |(version, choices): (_, Vec<usize>)| {
        let mut choices = choices.into_iter();
        let mut choose = move |below: usize| choices.next().unwrap_or(0) % below.max(1);
        ActionStory::tell(StoryChoice { version, kind, longest: LONGEST, strange }, &mut choose)
    };
    (version, choices).prop_filter_map("no such channel", told)
}

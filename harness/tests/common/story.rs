//! Stories, drawn by proptest.

use ahp_harness::arb::story::{ActionStory, StoryChoice};
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::version::PUBLISHED;
use proptest::prelude::*;

/// The most actions of a story.
const LONGEST: usize = 6;

/// Stories of any channel.
pub fn stories(strange: bool) -> impl Strategy<Value = ActionStory> {
    stories_of(None, strange)
}

/// Stories of one channel, or of any.
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

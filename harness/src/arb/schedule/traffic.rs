//! Tells whether a conversation has traffic or only waits for a time limit.
//!
//! Knows: the counter of a conversation's frames. Never knows: clocks, the content of conversations.
//!
//! Start at [`TrafficWatch`].

use std::time::Duration;

use crate::arb::gauge::AnswerGauge;

/// A conversation without traffic for this time counts as only waiting for a time limit, and does not disturb an
/// examination. Otherwise, each examination would have to wait until the time limits of all conversations have passed.
pub const QUIET: Duration = Duration::from_secs(1);

/// Tells whether a conversation has traffic or only waits.
#[derive(Debug)]
pub struct TrafficWatch {
    gauge: AnswerGauge,
    events: u64,
    /// The time at which the conversation last sent or received a frame.
    active: Duration,
}

impl TrafficWatch {
    /// Watches a conversation that begins now, and whose frames `gauge` counts.
    pub fn new(now: Duration, gauge: AnswerGauge) -> TrafficWatch {
        TrafficWatch { gauge, events: 0, active: now }
    }

    /// Returns whether there was traffic within this time. Also returns `true` if there was no traffic at all so far.
    pub fn talks(&mut self, now: Duration, within: Duration) -> bool {
        let events = self.gauge.events();
        if events > self.events {
            (self.events, self.active) = (events, now);
        }
        events == 0 || now.saturating_sub(self.active) < within
    }
}

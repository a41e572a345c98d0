//! Watches whether a conversation has traffic or only waits for a time limit.
//!
//! Knows: the counter of a conversation's frames, the clock. Never knows: the content of conversations.
//!
//! Start at [`TrafficWatch`].

use std::time::{Duration, Instant};

use crate::arb::gauge::AnswerGauge;

/// A conversation without traffic for this time counts as only waiting for a time limit, and does not disturb an
/// examination. Otherwise, each examination would have to wait until the time limits of all conversations have passed.
pub(super) const QUIET: Duration = Duration::from_secs(1);

/// Watches whether a conversation has traffic or only waits.
pub(super) struct TrafficWatch {
    gauge: AnswerGauge,
    events: u64,
    /// The time at which the conversation last sent or received a frame.
    active: Instant,
}

impl TrafficWatch {
    pub(super) fn new(gauge: AnswerGauge) -> TrafficWatch {
        TrafficWatch { gauge, events: 0, active: Instant::now() }
    }

    /// Returns whether there was traffic within this time. Also returns `true` if there was no traffic at all so far.
    pub(super) fn talks(&mut self, within: Duration) -> bool {
        let events = self.gauge.events();
        if events > self.events {
            (self.events, self.active) = (events, Instant::now());
        }
        events == 0 || self.active.elapsed() < within
    }

    /// Waits until there was no traffic for [`QUIET`].
    pub(super) async fn quiet(&mut self) {
        while self.talks(QUIET) {
            tokio::time::sleep(QUIET / 4).await;
        }
    }
}

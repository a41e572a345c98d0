//! The timers of a load.
//!
//! Knows: the kinds of timers. Never knows: clients, sessions.
//!
//! Start at [`LoadAgenda`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// An event that happens at a given time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LoadTimer {
    /// A client connects.
    Arrive(usize),
    /// A client subscribes.
    Join(usize),
    /// A client acts again, if the pace is [`LoadPace::Greedy`](super::plan::LoadPace::Greedy).
    Act(usize),
    /// A client reads again.
    Release(usize),
    /// The host is killed.
    Crash,
    /// Until this time, a client of the session writes text, because another client does not read.
    Write(usize, Duration),
}

/// The timers that have not fired yet. Timers of the same time fire in the order in which they were set.
#[derive(Debug, Default)]
pub struct LoadAgenda {
    timers: BinaryHeap<Reverse<(Duration, u64, LoadTimer)>>,
    /// The number of timers that were set so far.
    count: u64,
}

impl LoadAgenda {
    /// Sets a timer.
    pub fn set(&mut self, at: Duration, timer: LoadTimer) {
        self.count += 1;
        self.timers.push(Reverse((at, self.count, timer)));
    }

    /// Returns the time of the next timer; `None` without timers.
    pub fn next_due(&self) -> Option<Duration> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes and returns the next timer that is due; `None` if no timer is due.
    pub fn take_due(&mut self, now: Duration) -> Option<LoadTimer> {
        if self.next_due()? > now {
            return None;
        }
        self.timers.pop().map(|Reverse((.., timer))| timer)
    }

    /// Removes all timers.
    pub fn clear(&mut self) {
        self.timers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_by_time_and_then_in_the_order_of_setting() {
        let second = Duration::from_secs(1);
        let mut agenda = LoadAgenda::default();
        agenda.set(second, LoadTimer::Join(9));
        agenda.set(second, LoadTimer::Arrive(1));
        agenda.set(second * 2, LoadTimer::Crash);
        agenda.set(Duration::ZERO, LoadTimer::Act(4));
        let due = std::iter::from_fn(|| agenda.take_due(second)).collect::<Vec<_>>();
        assert_eq!(due, [LoadTimer::Act(4), LoadTimer::Join(9), LoadTimer::Arrive(1)]);
        assert_eq!(agenda.next_due(), Some(second * 2));
    }
}

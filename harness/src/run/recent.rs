//! Keeps the results of what ended a moment ago: if the host stops now, one of these may be the cause.
//!
//! Knows: nothing. Never knows: clocks, the results.
//!
//! Start at [`RecentResults`].

use std::collections::VecDeque;
use std::time::Duration;

/// If the host stops, what ended within this time before is suspected.
pub const RECENT: Duration = Duration::from_secs(2);
/// The maximum number of results that are suspected when the host stops.
const MAX_RECENT: usize = 16;

/// The results that came last, in order, each with the time at which it came.
#[derive(Debug)]
pub struct RecentResults<T>(VecDeque<(Duration, T)>);

impl<T> Default for RecentResults<T> {
    fn default() -> RecentResults<T> {
        RecentResults(VecDeque::new())
    }
}

impl<T> RecentResults<T> {
    /// Adds a result that came now. Returns the oldest result if there are too many.
    pub fn push(&mut self, now: Duration, result: T) -> Option<T> {
        let oldest = if self.0.len() < MAX_RECENT { None } else { self.0.pop_front() };
        self.0.push_back((now, result));
        oldest.map(|(_, result)| result)
    }

    /// Removes and returns the results that came at least `age` ago, the oldest first.
    pub fn older(&mut self, now: Duration, age: Duration) -> Vec<T> {
        let young = |(at, _): &(Duration, T)| now.saturating_sub(*at) < age;
        let end = self.0.iter().position(young).unwrap_or(self.0.len());
        self.0.drain(..end).map(|(_, result)| result).collect()
    }

    /// Removes and returns all results, the oldest first.
    pub fn take(&mut self) -> Vec<T> {
        self.0.drain(..).map(|(_, result)| result).collect()
    }

    /// Returns whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_until_they_are_old_or_too_many() {
        let second = Duration::from_secs;
        let mut recent = RecentResults::default();
        assert_eq!(recent.push(second(1), 'a'), None);
        assert_eq!(recent.push(second(2), 'b'), None);
        assert_eq!(recent.older(second(3), RECENT), ['a']);
        let evicted: Vec<char> =
            (0..MAX_RECENT).filter_map(|_| recent.push(second(4), 'c')).collect();
        assert_eq!(evicted, ['b']);
        assert_eq!(recent.take().len(), MAX_RECENT);
        assert!(recent.is_empty());
    }
}

//! Decides how many scenarios may be played at the same time, so that their traffic fits into the memory.
//!
//! Knows: the weights of the frames in the scenarios that ended last. Never knows: scenarios, targets.
//!
//! Start at [`RecentWeights::fitting`].

use std::collections::VecDeque;

/// The approximate memory that the frames of all scenarios that run at the same time may need, in bytes.
const MAX_TOGETHER: u64 = 48 << 20;
/// The number of scenarios that count: the scenarios that ended last.
const REMEMBERED: usize = 8;

/// The weights of the frames in the scenarios that ended last.
#[derive(Debug, Default)]
pub struct RecentWeights(VecDeque<u64>);

impl RecentWeights {
    /// Records the weight of the frames in a scenario that has ended, in bytes of memory.
    pub fn add(&mut self, weight: u64) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(weight);
    }

    /// Returns how many scenarios may be played at the same time, at most `wanted` and at least one. Their frames fit
    /// into the memory if each scenario receives as much as the heaviest of the last ones.
    pub fn fitting(&self, wanted: usize) -> usize {
        let heaviest = self.0.iter().max().copied().unwrap_or(0).max(1);
        let fit = usize::try_from(MAX_TOGETHER / heaviest).unwrap_or(usize::MAX);
        wanted.min(fit.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_traffic_leaves_room_for_fewer_scenarios() {
        let mut weights = RecentWeights::default();
        assert_eq!(weights.fitting(4), 4);
        weights.add(15 << 20);
        assert_eq!(weights.fitting(4), 3);
        weights.add(u64::MAX);
        assert_eq!(weights.fitting(4), 1);
        (0..8).for_each(|_| weights.add(0));
        assert_eq!(weights.fitting(4), 4, "the heavy scenarios are forgotten");
    }
}

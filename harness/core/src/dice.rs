//! A seeded random generator: the same seed gives the same choices on every machine.
//!
//! Knows: arithmetic. Never knows: the purpose of a choice.

/// A pseudo-random generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Creates a generator for one part of a run. Generators with different part numbers are independent.
    pub fn new(seed: u64, part: u64) -> Dice {
        let mut dice = Dice::seeded(seed);
        dice.state = dice.roll() ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        dice.roll();
        dice
    }

    /// Creates a generator from a seed alone.
    pub fn seeded(seed: u64) -> Dice {
        Dice { state: seed }
    }

    /// Returns the next number.
    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `count`; 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        if count < 2 {
            return 0;
        }
        // The remainder is below `count`, so the cast loses no information.
        (self.roll() % count as u64) as usize
    }

    /// Returns `true` with a probability of `percent` percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns a random item; `None` if the list is empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let rolls = |seed, part| {
            let mut dice = Dice::new(seed, part);
            [dice.roll(), dice.roll(), dice.roll()]
        };
        assert_eq!(rolls(1, 0), rolls(1, 0));
        assert_ne!(rolls(1, 0), rolls(1, 1));
        assert_ne!(rolls(1, 0), rolls(2, 0));
    }

    #[test]
    fn numbers_stay_below() {
        let mut dice = Dice::new(3, 3);
        assert_eq!(dice.below(0), 0);
        assert!((0..100).all(|_| dice.below(7) < 7));
        let mut items: Vec<_> = (0..20).collect();
        dice.shuffle(&mut items);
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert_ne!(items, sorted);
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}

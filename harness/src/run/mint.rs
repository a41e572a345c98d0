//! Generates identifiers and timestamps from a seed and from the time that is passed in, so runs are
//! reproducible.

use std::time::Duration;

use crate::dice::Dice;
use crate::scenario::bind::HoleFiller;
use crate::wire::timestamp;

/// A generator of the identifiers and timestamps in one case.
#[derive(Clone, Debug)]
pub struct IdMinter {
    dice: Dice,
    /// The Unix time at which the transcript began.
    epoch: Duration,
    /// The time since the transcript began, on the clock of the case.
    pub now: Duration,
}

impl IdMinter {
    /// Creates a generator for the case of this name.
    pub fn new(seed: u64, name: &str, epoch: Duration) -> IdMinter {
        // FNV-1a is stable across builds; the standard hasher does not guarantee this.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        IdMinter { dice: Dice::seeded(seed ^ hash), epoch, now: Duration::ZERO }
    }

    /// Returns the next random number.
    pub fn number(&mut self) -> u64 {
        self.dice.roll()
    }
}

impl HoleFiller for IdMinter {
    /// Returns a version 4 UUID, for names of sessions and chats.
    fn fresh(&mut self) -> String {
        let (high, low) = (self.number(), self.number());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            (low >> 48) & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff,
        )
    }

    fn now(&self) -> String {
        iso8601(self.epoch + self.now)
    }
}

/// Formats a Unix time as ISO 8601 text in UTC, with milliseconds.
pub fn iso8601(since_1970: Duration) -> String {
    let millis = i64::try_from(since_1970.as_millis()).ok();
    millis.and_then(timestamp::format).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mints_the_same_ids_from_the_same_seed() {
        let mint = |seed, name| IdMinter::new(seed, name, Duration::ZERO).fresh();
        assert_eq!(mint(1, "a"), mint(1, "a"));
        assert_ne!(mint(1, "a"), mint(2, "a"));
        assert_ne!(mint(1, "a"), mint(1, "b"));
        assert_eq!(mint(1, "a").len(), 36);
    }
}

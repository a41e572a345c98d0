//! Fresh ids and clock texts, all from a seed and the time passed in: the same run gives the same.

use std::time::Duration;

use crate::scenario::bind::Mint;

/// Mints ids for one case.
#[derive(Clone, Debug)]
pub struct Minter {
    state: u64,
    /// The wall clock when the transcript began, since 1970.
    epoch: Duration,
    /// The case's own time.
    pub now: Duration,
}

impl Minter {
    /// A minter for the case of this name.
    pub fn new(seed: u64, name: &str, epoch: Duration) -> Minter {
        // FNV-1a: stable across builds, which the standard hasher does not promise.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Minter { state: seed ^ hash, epoch, now: Duration::ZERO }
    }

    /// The next number of the sequence (splitmix64).
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Mint for Minter {
    /// A version 4 UUID: sessions and chats are named by one.
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

/// A time since 1970 as an ISO 8601 text in UTC, with milliseconds.
pub fn iso8601(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
        since_1970.subsec_millis(),
    )
}

/// Year, month and day of a count of days since 1970 (proleptic Gregorian calendar).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_iso_8601() {
        let check = |seconds, expected: &str| {
            assert_eq!(iso8601(Duration::from_secs(seconds)), expected);
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400, "2000-02-29T00:00:00.000Z");
        check(1_795_168_799, "2026-11-20T09:59:59.000Z");
    }

    #[test]
    fn mints_the_same_ids_from_the_same_seed() {
        let mint = |seed, name| Minter::new(seed, name, Duration::ZERO).fresh();
        assert_eq!(mint(1, "a"), mint(1, "a"));
        assert_ne!(mint(1, "a"), mint(2, "a"));
        assert_ne!(mint(1, "a"), mint(1, "b"));
        assert_eq!(mint(1, "a").len(), 36);
    }
}

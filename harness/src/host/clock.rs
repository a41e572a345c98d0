//! The time of the host: the time of the transcript, which its caller advances, and the wall time.
//!
//! Owns: the current time. Knows: timestamps. Never knows: the clock of the machine.
//!
//! Start at [`HostClock`].

use std::time::Duration;

use super::timestamp;

/// The time of the host.
#[derive(Debug)]
pub(super) struct HostClock {
    now: Duration,
    /// The wall time at the beginning of the transcript, in milliseconds since 1970.
    epoch_ms: u64,
}

impl HostClock {
    pub(super) fn new(epoch_ms: u64) -> HostClock {
        HostClock { now: Duration::ZERO, epoch_ms }
    }

    /// Advances the time. The time never goes back.
    pub(super) fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Returns the time since the beginning of the transcript.
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// Returns the wall time in milliseconds since 1970.
    pub(super) fn wall_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        self.epoch_ms.saturating_add(elapsed)
    }

    /// Returns the wall time in nanoseconds since 1970.
    pub(super) fn wall_ns(&self) -> u128 {
        u128::from(self.epoch_ms) * 1_000_000 + self.now.as_nanos()
    }

    /// Converts a wall time, in milliseconds since 1970, to a time since the beginning of the transcript.
    pub(super) fn at_wall(&self, wall_ms: u64) -> Duration {
        Duration::from_millis(wall_ms.saturating_sub(self.epoch_ms))
    }

    /// Returns the wall time as a timestamp.
    pub(super) fn timestamp(&self) -> String {
        timestamp::iso(self.wall_ms())
    }
}

/// The identifiers that a host makes. Hosts with different seeds make different identifiers.
#[derive(Debug)]
pub(super) struct HostIds {
    seed: u64,
    made: u64,
}

impl HostIds {
    pub(super) fn new(seed: u64) -> HostIds {
        HostIds { seed, made: 0 }
    }

    /// Makes an identifier that this host has not used.
    pub(super) fn next(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}-{:x}-{}", self.seed, self.made)
    }
}

//! Whether the host is still there: a client that has heard nothing for a while sends `ping`, and gives up the
//! connection if nothing comes then either.
//!
//! Knows: times. Never knows: connections.
//!
//! Start at [`HostPulse::next_due`].

use std::time::Duration;

/// The silence after which the client sends `ping`.
const QUIET: Duration = Duration::from_secs(10);
/// The silence after a `ping` that ends the connection.
const DEAD: Duration = Duration::from_secs(10);

/// The times at which the client heard of the host.
#[derive(Debug, Default)]
pub(super) struct HostPulse {
    heard: Duration,
    pinged: Option<Duration>,
}

/// What a silent host makes the client do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SilenceReaction {
    /// It sends `ping`.
    Ping,
    /// It gives up the connection.
    GiveUp,
}

impl HostPulse {
    /// Handles a frame of the host, or a new connection.
    pub(super) fn heard(&mut self, now: Duration) {
        *self = HostPulse { heard: now, pinged: None };
    }

    /// Returns the time at which the silence has lasted too long.
    pub(super) fn next_due(&self) -> Duration {
        self.pinged.map_or(self.heard + QUIET, |at| at + DEAD)
    }

    /// Returns what the client does at a time; `None` if it waits.
    pub(super) fn react(&mut self, now: Duration) -> Option<SilenceReaction> {
        if now < self.next_due() {
            return None;
        }
        match self.pinged.replace(now) {
            None => Some(SilenceReaction::Ping),
            Some(_) => Some(SilenceReaction::GiveUp),
        }
    }
}

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
    /// Whether the host does not answer `ping` with a result.
    stopped: bool,
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
        self.heard = now;
        self.pinged = None;
    }

    /// Sends no further `ping`.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns the time at which the silence has lasted too long; `None` if it does not matter.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let due = self.pinged.map_or(self.heard + QUIET, |at| at + DEAD);
        Some(due).filter(|_| !self.stopped)
    }

    /// Returns what the client does at a time; `None` if it waits.
    pub(super) fn react(&mut self, now: Duration) -> Option<SilenceReaction> {
        self.next_due().filter(|due| *due <= now)?;
        match self.pinged.replace(now) {
            None => Some(SilenceReaction::Ping),
            Some(_) => Some(SilenceReaction::GiveUp),
        }
    }
}

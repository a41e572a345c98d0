//! Detects a silent host: a client that has received nothing for a while sends `ping`, and gives up the connection if
//! it still receives nothing.
//!
//! Knows: times. Never knows: connections.
//!
//! Start at [`HostPulse::next_due`].

use std::time::Duration;

/// The silence after which the client sends `ping`.
const QUIET: Duration = Duration::from_secs(10);
/// The silence after a `ping` that ends the connection.
const DEAD: Duration = Duration::from_secs(10);

/// A detector of a silent host, with the times of the last frame of the host and of the last `ping`.
#[derive(Debug, Default)]
pub(super) struct HostPulse {
    heard: Duration,
    pinged: Option<Duration>,
    /// Whether no further `ping` is sent, because the host answered `ping` with an error.
    stopped: bool,
}

/// The reaction of the client to a silent host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SilenceReaction {
    /// The client sends `ping`.
    Ping,
    /// The client gives up the connection.
    GiveUp,
}

impl HostPulse {
    /// Records that a frame of the host arrived, or that a connection was opened.
    pub(super) fn heard(&mut self, now: Duration) {
        self.heard = now;
        self.pinged = None;
    }

    /// Stops the detection.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns the time at which the silence has lasted too long; `None` if the detection was stopped.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let due = self.pinged.map_or(self.heard + QUIET, |at| at + DEAD);
        Some(due).filter(|_| !self.stopped)
    }

    /// Returns the reaction of the client at the time `now`; `None` if the client keeps waiting.
    pub(super) fn react(&mut self, now: Duration) -> Option<SilenceReaction> {
        self.next_due().filter(|due| *due <= now)?;
        match self.pinged.replace(now) {
            None => Some(SilenceReaction::Ping),
            Some(_) => Some(SilenceReaction::GiveUp),
        }
    }
}

//! The limit on what the other side of a case may send, and the place in the transcript that the case has reached.
//!
//! Knows: the size of frames. Never knows: messages, steps, connections.
//!
//! Start at [`TrafficBudget`].

use std::fmt::{self, Display, Formatter};

use crate::wire::frame::Frame;

/// The maximum number of frames that a host may send in one scenario. Every scenario needs far fewer frames, and this
/// many frames still fit into the memory.
const MAX_FRAMES: u64 = 200_000;
/// The maximum number of bytes that a host may send in one scenario.
const MAX_BYTES: u64 = 64 << 20;

/// The frames that have arrived, and the last line of the transcript with an event for the case.
#[derive(Debug, Default)]
pub(super) struct TrafficBudget {
    frames: u64,
    bytes: u64,
    last_line: u64,
}

impl TrafficBudget {
    /// Counts a frame that arrived.
    pub(super) fn count(&mut self, line: u64, frame: &Frame) {
        self.reach(line);
        self.frames += 1;
        self.bytes += frame.len() as u64;
    }

    /// Records the line of an event that does not count towards the limit.
    pub(super) fn reach(&mut self, line: u64) {
        self.last_line = line;
    }

    /// Returns whether more has arrived than any scenario needs.
    pub(super) fn is_exceeded(&self) -> bool {
        self.frames > MAX_FRAMES || self.bytes > MAX_BYTES
    }

    /// Returns the line of the last event; 0 before the first event.
    pub(super) fn last_line(&self) -> u64 {
        self.last_line
    }
}

impl Display for TrafficBudget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames, {} bytes", self.frames, self.bytes)
    }
}

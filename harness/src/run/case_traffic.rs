//! The limit on what the other side of a case may send, and the place in the transcript that the case has reached.
//!
//! Knows: the size of frames and the number of their values. Never knows: messages, steps, connections.
//!
//! Start at [`TrafficBudget`].

use std::fmt::{self, Display, Formatter};

use crate::wire::frame::Frame;

/// The maximum number of frames that a host may send in one scenario. Every scenario needs far fewer frames, and this
/// many frames still fit into the memory.
const MAX_FRAMES: u64 = 200_000;
/// The maximum weight of all frames that a host may send in one scenario, in bytes. The heaviest scenarios need 28 MiB.
/// Several scenarios run at the same time, and most of what arrives may stay in memory, as part of a state or unread.
const MAX_WEIGHT: u64 = 36 << 20;
/// The weight of one JSON value, in bytes: its approximate size in memory, which for a number or an empty list is many
/// times the length of its text.
const VALUE_WEIGHT: u64 = 48;

/// The frames that have arrived, and the last line of the transcript with an event for the case.
#[derive(Debug, Default)]
pub(super) struct TrafficBudget {
    frames: u64,
    bytes: u64,
    values: u64,
    last_line: u64,
}

impl TrafficBudget {
    /// Counts a frame that arrived.
    pub(super) fn count(&mut self, line: u64, frame: &Frame) {
        self.reach(line);
        self.frames += 1;
        self.bytes += frame.len() as u64;
        self.values += frame.values() as u64;
    }

    /// Records the line of an event that does not count towards the limit.
    pub(super) fn reach(&mut self, line: u64) {
        self.last_line = line;
    }

    /// Returns whether more has arrived than any scenario needs.
    pub(super) fn is_exceeded(&self) -> bool {
        self.frames > MAX_FRAMES || self.weight() > MAX_WEIGHT
    }

    /// Returns the approximate memory that all received frames need, in bytes.
    pub(super) fn weight(&self) -> u64 {
        self.bytes + self.values * VALUE_WEIGHT
    }

    /// Returns the line of the last event; 0 before the first event.
    pub(super) fn last_line(&self) -> u64 {
        self.last_line
    }
}

impl Display for TrafficBudget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames, {} bytes, {} values", self.frames, self.bytes, self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_weigh_more_than_their_text() {
        let frame = |text: &str| Frame::Text(format!("[{}0]", text.repeat(100_000)));
        let mut text = TrafficBudget::default();
        let mut values = TrafficBudget::default();
        for line in 0..8 {
            text.count(line, &Frame::Text(format!("\"{}\"", "x".repeat(400_000))));
            values.count(line, &frame("[],"));
        }
        assert!(!text.is_exceeded(), "{text}");
        assert!(values.is_exceeded(), "{values}");
    }
}

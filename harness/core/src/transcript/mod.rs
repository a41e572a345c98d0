//! The traffic of the connections, in order. All verdicts are based only on the transcript.
//!
//! A [`TranscriptEntry`] is one event on one connection. [`mod@line`] writes and reads it as a line of JSON in the
//! capture format, which other recorders can also write; [`mod@format`] is the table of that format. [`ahp_log`] writes
//! and reads the connection logs of AHP software, and [`logs`] combines several logs into one transcript.
//!
//! Knows: `wire`. Never knows: scenarios, rules, the source and the storage of entries.

pub mod ahp_log;
mod entry;
pub mod format;
pub mod line;
pub mod logs;
pub mod reader;
mod same_log;

pub use entry::{
    BelowEvent, ClosingSide, ConnId, ConnectionEvent, HandshakeLines, SeenFrame, TranscriptEntry,
};

//! What crossed the wire, in order: the one thing that everything is judged from.
//!
//! An [`TranscriptEntry`] is one event on one connection; [`mod@line`] writes and reads it as a line of JSON, in
//! the capture format that other people's recordings use too; [`mod@format`] is the table of that format.
//! [`ahp_log`] writes and reads the lines of the logs that AHP software keeps of its connections, and
//! [`logs`] makes one transcript of several logs.
//!
//! Knows: `wire`. Never knows: scenarios, rules, where the entries come from or are kept.

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

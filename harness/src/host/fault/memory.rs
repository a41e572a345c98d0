//! The state that injected faults keep, in addition to the host's own state.
//!
//! Knows: no other module. Never knows: faults.

use std::collections::BTreeSet;

use litemap::LiteMap;

use crate::wire::json::Value;

/// The state that the injected faults of one host keep.
#[derive(Debug, Default)]
pub(in crate::host) struct FaultMemory {
    /// The highest `clientSeq` that each client has dispatched.
    pub(super) dispatched: LiteMap<String, i64>,
    /// The payload of the latest log record, as the host sent it to subscribers.
    pub(super) latest_record: Option<Value>,
    /// The number of text chunks of each turn so far, by the key of the turn.
    pub(super) texts: LiteMap<String, u64>,
    /// Whether the host has been restarted.
    pub(super) restarted: bool,
    /// Whether the host has stopped reading.
    pub(in crate::host) stalled: bool,
    /// The messages of all turns of each chat, by the URI of the chat.
    pub(super) asked: LiteMap<String, Vec<String>>,
    /// The summaries of disposed sessions, which a fault lists again.
    pub(super) returning: Vec<Value>,
    /// The transcripts of disposed chats, by the URI of the chat.
    pub(super) disposed: LiteMap<String, String>,
    /// The ids of input requests that were completed without answers.
    pub(super) unanswered: BTreeSet<String>,
    /// The actions that a fault delays. The key consists of the channel and the turn.
    pub(super) held: LiteMap<String, Value>,
}

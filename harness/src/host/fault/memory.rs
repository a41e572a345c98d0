//! The memory of injected faults, in addition to the host's own state.
//!
//! Knows: no other module. Never knows: faults.

use std::collections::BTreeSet;

use litemap::LiteMap;

use crate::wire::json::Value;

/// The memory of the injected faults of a host.
#[derive(Debug, Default)]
pub(in crate::host) struct FaultMemory {
    /// The highest `clientSeq` that each client has dispatched.
    pub(super) dispatched: LiteMap<String, i64>,
    /// The payload of the latest log record, as sent to subscribers.
    pub(super) latest_record: Option<Value>,
    /// The number of chunks of each turn so far.
    pub(super) texts: LiteMap<String, u64>,
    /// Whether the host was restarted.
    pub(super) restarted: bool,
    /// The messages of all turns of a chat, by URI.
    pub(super) asked: LiteMap<String, Vec<String>>,
    /// The summaries of disposed sessions.
    pub(super) returning: Vec<Value>,
    /// The transcripts of disposed chats, by URI.
    pub(super) disposed: LiteMap<String, String>,
    /// The input requests that were completed without answers.
    pub(super) unanswered: BTreeSet<String>,
    /// The delayed actions, by the key of the channel and the turn.
    pub(super) held: LiteMap<String, Value>,
}

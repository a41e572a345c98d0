//! What faults remember of a host beside its own state.
//!
//! Knows: nothing. Never knows: which fault remembers what.

use litemap::LiteMap;

use crate::wire::json::Value;

/// What faults remember of a host.
#[derive(Debug, Default)]
pub(in crate::host) struct FaultMemory {
    /// The highest number that each client has dispatched.
    pub(super) dispatched: LiteMap<String, i64>,
    /// The payload of the latest log record.
    pub(super) latest_record: Option<Value>,
    /// The number of texts of each turn.
    pub(super) texts: LiteMap<String, u64>,
    /// Actions that are held back, by their channel.
    pub(super) held: LiteMap<String, Value>,
}

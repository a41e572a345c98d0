//! The envelopes that the host delays, so that it can append later text to them.
//!
//! Owns: the delayed envelopes. Knows: nothing else. Never knows: connections, which actions can be merged.
//!
//! Start at [`HeldEnvelopes`].

use std::time::Duration;

use litemap::LiteMap;

use crate::transcript::ConnId;
use crate::wire::json::Value;

/// A delayed envelope to which later text may be appended.
#[derive(Debug)]
struct HeldEnvelope {
    params: Value,
    /// The end of the latency that the client allows.
    due: Duration,
}

/// The delayed envelopes.
#[derive(Debug, Default)]
pub(super) struct HeldEnvelopes {
    /// At most one envelope for each connection.
    by_connection: LiteMap<ConnId, HeldEnvelope>,
}

impl HeldEnvelopes {
    /// Delays an envelope until `due`. The connection must not have another delayed envelope.
    pub(super) fn hold(&mut self, conn: ConnId, params: Value, due: Duration) {
        self.by_connection.insert(conn, HeldEnvelope { params, due });
    }

    /// Returns the params of a connection's delayed envelope, to append text to them.
    pub(super) fn params_mut(&mut self, conn: ConnId) -> Option<&mut Value> {
        self.by_connection.get_mut(&conn).map(|held| &mut held.params)
    }

    /// Removes the delayed envelope of a connection and returns its params.
    pub(super) fn take(&mut self, conn: ConnId) -> Option<Value> {
        self.by_connection.remove(&conn).map(|held| held.params)
    }

    /// Drops all envelopes.
    pub(super) fn clear(&mut self) {
        self.by_connection.clear();
    }

    /// Returns the time at which the next delayed envelope is due; `None` if there is none.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.by_connection.values().map(|held| held.due).min()
    }

    /// Returns the connections whose delayed envelopes are due.
    pub(super) fn due(&self, now: Duration) -> Vec<ConnId> {
        let due = self.by_connection.iter().filter(|(_, held)| held.due <= now);
        due.map(|(conn, _)| *conn).collect()
    }
}

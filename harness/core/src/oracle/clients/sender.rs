//! Selects the connections of one client, by the name of a connection or by a `clientId`.
//!
//! Knows: handshakes. Never knows: rules.

use std::collections::HashSet;

use crate::transcript::ConnId;
use crate::wire::message::{Message, is_handshake};

/// The client that is judged, and the connections that are known to belong to it.
pub(super) struct NamedSender {
    name: String,
    conns: HashSet<ConnId>,
}

impl NamedSender {
    pub(super) fn new(name: &str) -> NamedSender {
        NamedSender { name: name.to_owned(), conns: HashSet::new() }
    }

    /// Selects a connection for judgement if the connection has the name of the client.
    pub(super) fn name_connection(&mut self, conn: ConnId, name: &str) {
        if name == self.name {
            self.conns.insert(conn);
        }
    }

    /// Selects a connection for judgement if the `clientId` in the handshake is the name of the client.
    pub(super) fn introduced(&mut self, conn: ConnId, message: &Message) {
        let handshake = message.method().is_some_and(is_handshake);
        if handshake && message.params()["clientId"] == *self.name {
            self.conns.insert(conn);
        }
    }

    /// Returns whether the connection belongs to the client that is judged.
    pub(super) fn is(&self, conn: ConnId) -> bool {
        self.conns.contains(&conn)
    }
}

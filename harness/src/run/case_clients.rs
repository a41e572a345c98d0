//! The clients of a case: its peers by name, by connection and by client id, and the numbers of their connections.
//!
//! Knows: peers. Never knows: the case, tasks, waits, the content of messages.
//!
//! Start at [`CaseClients`].

use std::ops::Range;

use crate::peer::client::ClientEngine;
use crate::transcript::ConnId;
use crate::wire::json::Value;

use super::case_peers::{CasePeer, PeerId};

/// The clients of a case, and the peer that represents the host, if there is one.
#[derive(Debug, Default)]
pub(super) struct CaseClients {
    peers: Vec<CasePeer>,
    next_conn: u32,
}

impl CaseClients {
    /// Returns the id of the next client.
    pub(super) fn next_id(&self) -> PeerId {
        self.peers.len()
    }

    /// Adds a client.
    pub(super) fn add(&mut self, peer: CasePeer) {
        self.peers.push(peer);
    }

    /// Returns a client.
    pub(super) fn get(&self, id: PeerId) -> Option<&CasePeer> {
        self.peers.get(id)
    }

    /// Returns a client, to change it.
    pub(super) fn get_mut(&mut self, id: PeerId) -> Option<&mut CasePeer> {
        self.peers.get_mut(id)
    }

    /// Returns the engine of a client.
    pub(super) fn engine(&mut self, id: PeerId) -> Option<&mut ClientEngine> {
        self.peers.get_mut(id).map(|peer| &mut peer.engine)
    }

    /// Returns the ids of all clients.
    pub(super) fn ids(&self) -> Range<PeerId> {
        0..self.peers.len()
    }

    /// Returns all clients, in the order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CasePeer> {
        self.peers.iter()
    }

    /// Returns the client that uses a connection.
    pub(super) fn on(&self, conn: ConnId) -> Option<PeerId> {
        self.peers.iter().position(|peer| peer.conn() == Some(conn))
    }

    /// Returns the client that uses a connection, to change it.
    pub(super) fn on_mut(&mut self, conn: ConnId) -> Option<&mut CasePeer> {
        self.peers.iter_mut().find(|peer| peer.conn() == Some(conn))
    }

    /// Returns the client with this name.
    pub(super) fn named(&self, name: &str) -> Option<PeerId> {
        self.peers.iter().position(|peer| peer.name() == name)
    }

    /// Returns the client with this client id.
    pub(super) fn with_client_id(&self, client_id: &Value) -> Option<PeerId> {
        self.peers.iter().position(|peer| *client_id == *peer.engine.client_id)
    }

    /// Returns whether any client completed a handshake.
    pub(super) fn shook_hands(&self) -> bool {
        self.peers.iter().any(|peer| peer.engine.version().is_some())
    }

    /// Returns the number of a new connection.
    pub(super) fn new_conn(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        conn
    }

    /// Sets the number of the next connection.
    pub(super) fn number_conns_from(&mut self, first: u32) {
        self.next_conn = first;
    }

    /// Makes all clients keep mirrors of the channels that they subscribe to.
    pub(super) fn keep_mirrors(&mut self) {
        self.peers.iter_mut().for_each(|peer| peer.engine.keep_mirrors());
    }

    /// Records that the messages that have arrived so far came before the next act.
    pub(super) fn arrive(&mut self) {
        self.peers.iter_mut().for_each(|peer| peer.mailbox.arrive());
    }

    /// Records that a restart of the host has ended all connections.
    pub(super) fn disconnect(&mut self) {
        self.peers.iter_mut().for_each(CasePeer::disconnect);
    }

    /// Ends the open connections, and returns them.
    pub(super) fn close(&mut self) -> Vec<ConnId> {
        let close = |peer: &mut CasePeer| {
            let conn = peer.open_conn()?;
            peer.disconnect();
            Some(conn)
        };
        self.peers.iter_mut().filter_map(close).collect()
    }
}

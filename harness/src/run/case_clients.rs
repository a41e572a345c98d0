//! The clients of a case: its peers by name, by connection and by client id, and the numbers of their connections.
//!
//! Knows: peers, the setup of the case. Never knows: tasks, waits, the content of messages.
//!
//! Start at [`CaseClients`].

use std::ops::Range;

use crate::peer::client::ClientEngine;
use crate::transcript::ConnId;
use crate::wire::json::{Value, json};

use super::case::ScenarioCase;
use super::case_peers::CasePeer;
use super::task::PeerId;

/// The clients of a case, and the peer that represents the host, if there is one.
#[derive(Debug, Default)]
pub(super) struct CaseClients {
    peers: Vec<CasePeer>,
    next_conn: u32,
}

impl CaseClients {
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

    /// Returns the client of a name.
    pub(super) fn named(&self, name: &str) -> Option<PeerId> {
        self.peers.iter().position(|peer| peer.name() == name)
    }

    /// Returns the client with a client id.
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

impl ScenarioCase {
    /// Adds a client of the scenario, or the peer that represents the host.
    pub(super) fn push_peer(&mut self, name: String, client_id: String, mirrors: bool) -> PeerId {
        let id = self.clients.peers.len();
        let engine = ClientEngine::new(client_id, mirrors);
        let peer = CasePeer::new(id, name, engine, self.edge(), self.setup());
        self.names.set(peer.seq_name(), json!(0));
        self.clients.peers.push(peer);
        id
    }

    /// Adds a client that the scenario does not name, such as an observer.
    pub(super) fn add_peer(&mut self, role: &str) -> PeerId {
        let number = self.clients.peers.len();
        let client_id = format!("ahp-harness-{:08x}-{role}", self.names.number() as u32);
        self.push_peer(format!("{role}-{number}"), client_id, false)
    }

    /// Returns the client of a name. For the name of the tested client, this is the peer that represents the host.
    pub(super) fn peer_named(&self, name: &str) -> PeerId {
        if let Some(tested) = self.tested.as_ref().filter(|tested| tested.name() == name) {
            return tested.host();
        }
        self.clients.named(name).unwrap_or_default()
    }

    /// Returns the name of a client, for messages.
    pub(super) fn name(&self, peer: PeerId) -> String {
        self.clients.get(peer).map(|peer| peer.name().to_owned()).unwrap_or_default()
    }

    /// Returns the client id of a client.
    pub(super) fn client_id(&self, peer: PeerId) -> &str {
        self.clients.get(peer).map_or("", |peer| peer.engine.client_id.as_str())
    }

    /// Returns whether a client is connected.
    pub(super) fn is_connected(&self, peer: PeerId) -> bool {
        self.clients.get(peer).is_some_and(CasePeer::is_connected)
    }
}

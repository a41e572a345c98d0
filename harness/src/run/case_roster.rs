//! The methods of a case that add a client, and that find a client by the name that steps use.
//!
//! Knows: clients, names, the tested client. Never knows: tasks, waits, messages.
//!
//! Start at [`ScenarioCase::peer_named`].

use crate::peer::client::ClientEngine;
use crate::wire::json::json;

use super::case::ScenarioCase;
use super::case_peers::{CasePeer, PeerId};

impl ScenarioCase {
    /// Adds a client of the scenario, or the peer that represents the host.
    pub(super) fn push_peer(&mut self, name: String, client_id: String, mirrors: bool) -> PeerId {
        let id = self.clients.next_id();
        let engine = ClientEngine::new(client_id, mirrors);
        let peer = CasePeer::new(id, name, engine, self.edge(), self.setup());
        self.names.set(peer.seq_name(), json!(0));
        self.clients.add(peer);
        id
    }

    /// Adds a client that the scenario does not name, such as an observer.
    pub(super) fn add_peer(&mut self, role: &str) -> PeerId {
        let number = self.clients.next_id();
        let client_id = format!("ahp-harness-{:08x}-{role}", self.names.number() as u32);
        self.push_peer(format!("{role}-{number}"), client_id, false)
    }

    /// Returns the client with this name. For the name of the tested client, this is the peer that represents the host.
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

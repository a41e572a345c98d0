//! The peers of a case: the harness's own clients, each with an engine and a mailbox, and the peer that represents the
//! host in scenarios that test a client.
//!
//! Knows: client engines, mailboxes. Never knows: tasks, waits.
//!
//! Start at [`CasePeer`].

use std::collections::VecDeque;
use std::sync::Arc;

use crate::peer::client::ClientEngine;
use crate::peer::client_folder::ClientFolder;
use crate::peer::guise::ClientGuise;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::json;

use super::case::ScenarioCase;
use super::expand;
use super::mailbox::ClientMailbox;
use super::serve::AgentClientSide;
use super::task::PeerId;

/// A client of the case.
#[derive(Debug)]
pub(super) struct CasePeer {
    pub(super) name: String,
    /// The name of the binding that holds the last `serverSeq` that the client has received.
    pub(super) seq_name: String,
    pub(super) engine: ClientEngine,
    pub(super) conn: Option<ConnId>,
    pub(super) connected: bool,
    pub(super) initialized: bool,
    pub(super) mailbox: ClientMailbox,
    pub(super) answers: VecDeque<(u64, Arc<SeenFrame>)>,
    /// The host's requests that no `asked` step has read yet; `None` if the steps of the scenario answer no requests.
    pub(super) asked: Option<VecDeque<(u64, Arc<SeenFrame>)>>,
    /// The transcript line at which the connection ended, and the reason.
    pub(super) ended: Option<(u64, String)>,
    /// The HTTP status with which the host refused the connection.
    pub(super) refused: Option<u16>,
    /// The credentials and the `Origin` header with which the client opens its connection.
    pub(super) guise: ClientGuise,
    /// The state with which the client serves the requests of an agent.
    pub(super) served: AgentClientSide,
    /// The folder that the client serves to the host.
    pub(super) folder: ClientFolder,
    /// The methods of requests that steps of the scenario answer, and not the client itself, although the client serves
    /// a folder.
    pub(super) withheld: Vec<String>,
}

impl ScenarioCase {
    pub(super) fn push_peer(&mut self, name: String, client_id: String, mirrors: bool) -> PeerId {
        let seq_name = format!("{name}.seq");
        let serves = expand::serves(&self.setup.scenario, &name, None);
        self.names.set(&seq_name, json!(0));
        self.peers.push(CasePeer {
            name,
            seq_name,
            engine: ClientEngine::new(client_id, mirrors)
                .of(self.setup.version.standard)
                .speaking(self.edge()),
            conn: None,
            connected: false,
            initialized: false,
            mailbox: ClientMailbox::default(),
            answers: VecDeque::new(),
            asked: serves.then(VecDeque::new),
            ended: None,
            refused: None,
            guise: ClientGuise::default(),
            served: AgentClientSide::of(&self.setup.side, self.peers.len()),
            folder: ClientFolder::default(),
            withheld: Vec::new(),
        });
        self.peers.len() - 1
    }

    /// Adds a client that the scenario does not name, such as an observer.
    pub(super) fn add_peer(&mut self, role: &str) -> PeerId {
        let number = self.peers.len();
        let client_id = format!("ahp-harness-{:08x}-{role}", self.names.number() as u32);
        self.push_peer(format!("{role}-{number}"), client_id, false)
    }

    pub(super) fn peer_named(&self, name: &str) -> PeerId {
        if let Some(tested) = self.tested.as_ref().filter(|tested| tested.name() == name) {
            return tested.host();
        }
        self.peers.iter().position(|peer| peer.name == name).unwrap_or_default()
    }

    pub(super) fn client_id(&self, peer: PeerId) -> &str {
        self.peers.get(peer).map_or("", |peer| peer.engine.client_id.as_str())
    }

    pub(super) fn is_connected(&self, peer: PeerId) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.connected)
    }

    pub(super) fn peer_of(&mut self, conn: ConnId) -> Option<&mut CasePeer> {
        self.peers.iter_mut().find(|peer| peer.conn == Some(conn))
    }
}

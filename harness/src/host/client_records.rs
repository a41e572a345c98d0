//! The host's records of clients: the clients that have completed a handshake, and the sessions in which they are
//! active.
//!
//! Owns: versions, visitors and grants of clients; the index of active clients. Knows: nothing else. Never knows:
//! connections, states.
//!
//! Start at [`ClientRecords`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use super::visitor::{EndpointVisitor, ResourceRight};

/// The maximum number of disconnected clients that the host remembers.
const MAX_CLIENTS: usize = 10_000;

/// A client that has completed a handshake.
#[derive(Clone, Debug)]
struct ClientRecord {
    /// The client's version, in the client's spelling.
    version: String,
    /// Whether the client shows MCP apps.
    apps: bool,
    /// The visitor to which the client id belongs.
    visitor: EndpointVisitor,
    /// The time at which the client lost its last connection, after which it may be removed from its sessions.
    gone_at: Option<Duration>,
    /// The files that the client was granted access to, each with the granted right.
    granted: HashSet<(String, ResourceRight)>,
}

/// The records of all clients, by client id. A method does nothing, or returns an empty value, for an unknown
/// client.
#[derive(Debug, Default)]
pub(super) struct ClientRecords {
    all: LiteMap<String, ClientRecord>,
    /// The sessions in which each client is active.
    active: LiteMap<String, HashSet<String>>,
}

impl ClientRecords {
    /// Records a client that completes a handshake; its grants are reset. At the limit, the client that has been
    /// disconnected for the longest time is forgotten.
    pub(super) fn remember(
        &mut self,
        client: &str,
        version: &str,
        apps: bool,
        visitor: EndpointVisitor,
    ) {
        if self.all.len() >= MAX_CLIENTS && !self.all.contains_key(client) {
            let gone = self.all.iter().filter(|(_, known)| known.gone_at.is_some());
            let oldest = gone.min_by_key(|(_, known)| known.gone_at).map(|(name, _)| name.clone());
            oldest.map(|name| self.all.remove(&name));
        }
        let version = version.to_owned();
        let known = ClientRecord { version, apps, visitor, gone_at: None, granted: HashSet::new() };
        self.all.insert(client.to_owned(), known);
    }

    pub(super) fn has(&self, client: &str) -> bool {
        self.all.contains_key(client)
    }

    /// Forgets every client.
    pub(super) fn forget(&mut self) {
        *self = ClientRecords::default();
    }

    /// Returns a client's version, in the client's spelling.
    pub(super) fn version_of(&self, client: &str) -> Option<&str> {
        self.all.get(client).map(|known| known.version.as_str())
    }

    /// Returns whether a client has announced that it shows MCP apps.
    pub(super) fn shows_apps(&self, client: &str) -> bool {
        self.all.get(client).is_some_and(|known| known.apps)
    }

    /// Returns the visitor to which a client id belongs.
    pub(super) fn visitor_of(&self, client: &str) -> Option<EndpointVisitor> {
        self.all.get(client).map(|known| known.visitor)
    }

    /// Gives a client id to another visitor. Returns the visitor to which it belonged; `None` if the client is
    /// unknown.
    pub(super) fn replace_visitor(
        &mut self,
        client: &str,
        visitor: EndpointVisitor,
    ) -> Option<EndpointVisitor> {
        let known = self.all.get_mut(client)?;
        Some(std::mem::replace(&mut known.visitor, visitor))
    }

    /// Records the time at which a client lost its last connection.
    pub(super) fn left(&mut self, client: &str, now: Duration) {
        if let Some(known) = self.all.get_mut(client) {
            known.gone_at = Some(now);
        }
    }

    /// Records that every client lost its last connection.
    pub(super) fn all_left(&mut self, now: Duration) {
        self.all.iter_mut().for_each(|(_, known)| known.gone_at = Some(now));
    }

    /// Records that a client has a connection again.
    pub(super) fn returned(&mut self, client: &str) {
        if let Some(known) = self.all.get_mut(client) {
            known.gone_at = None;
        }
    }

    pub(super) fn grant(&mut self, client: &str, path: String, right: ResourceRight) {
        if let Some(known) = self.all.get_mut(client) {
            known.granted.insert((path, right));
        }
    }

    /// Returns the granted accesses: the client, the path and the right.
    pub(super) fn grants(&self) -> impl Iterator<Item = (&str, &str, ResourceRight)> {
        self.all.iter().flat_map(|(client, known)| {
            let granted = known.granted.iter();
            granted.map(move |(path, right)| (client.as_str(), path.as_str(), *right))
        })
    }

    /// Records which clients are active in a session.
    pub(super) fn set_active(&mut self, session: &str, clients: Vec<String>) {
        for (client, sessions) in &mut self.active {
            if !clients.contains(client) {
                sessions.remove(session);
            }
        }
        self.active.retain(|_, sessions| !sessions.is_empty());
        for client in clients {
            self.active.entry(client).or_default().insert(session.to_owned());
        }
    }

    pub(super) fn is_active(&self, client: &str, session: &str) -> bool {
        self.active.get(client).is_some_and(|sessions| sessions.contains(session))
    }

    /// Returns the sessions in which a client is active, sorted by URI.
    pub(super) fn active_in(&self, client: &str) -> Vec<String> {
        let mut sessions: Vec<String> =
            self.active.get(client).into_iter().flatten().cloned().collect();
        sessions.sort();
        sessions
    }

    /// Returns the disconnected clients that are active in a session, with the times at which they lost their last
    /// connections.
    pub(super) fn gone(&self) -> impl Iterator<Item = (&String, Duration)> {
        self.active.keys().filter_map(|client| Some((client, self.all.get(client)?.gone_at?)))
    }
}

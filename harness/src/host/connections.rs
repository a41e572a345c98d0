//! The connections to the host: the handshake, the subscriptions and the tokens of each connection.
//!
//! Every change of a connection is a method of [`HostConnections`]; all other modules only read a
//! [`HostConnection`].
//!
//! Owns: the connections, and the visitors that have none yet. Knows: the tables of versions. Never knows: channels,
//! requests.
//!
//! Start at [`HostConnections`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use super::HostOutput;
use super::outbox::HostOutbox;
use super::visitor::EndpointVisitor;
use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::frame::Frame;
use crate::wire::protocol::Protocol;

/// The maximum number of connections. The host closes each further connection at once.
const MAX_CONNECTIONS: usize = 10_000;
/// The maximum number of frames that wait for one connection. A further frame closes the connection with code
/// 1008.
const MAX_PENDING_FRAMES: usize = 100_000;
/// The maximum number of subscriptions of a connection.
pub(super) const MAX_SUBSCRIPTIONS: usize = 4_096;

/// A connection to the host.
#[derive(Debug, Default)]
pub(super) struct HostConnection {
    /// The visitor that the credentials of the connection identify.
    visitor: EndpointVisitor,
    /// The client id; `None` before the handshake.
    client: Option<String>,
    /// The tables of the negotiated version; `None` before the handshake.
    protocol: Option<&'static Protocol>,
    /// The index of the connection's view; `None` if the version of the connection needs no view.
    view: Option<usize>,
    /// The subscribed channels.
    subscriptions: HashSet<String>,
    /// The number of frames that wait to be polled.
    pending: usize,
    /// Whether the connection is closing; the host no longer reads or sends on a closing connection.
    closing: bool,
    /// The time for which the host may delay the envelopes of a channel to merge them.
    latencies: LiteMap<String, Duration>,
    /// The resources with a token, and the time at which each token expires; `None` for a token that does not
    /// expire.
    tokens: LiteMap<String, Option<Duration>>,
}

impl HostConnection {
    /// Returns the client id; `None` before the handshake.
    pub(super) fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// Returns the tables of the negotiated version; `None` before the handshake.
    pub(super) fn protocol(&self) -> Option<&'static Protocol> {
        self.protocol
    }

    /// Returns the index of the connection's view; `None` if the version of the connection needs no view.
    pub(super) fn view(&self) -> Option<usize> {
        self.view
    }

    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.contains(uri)
    }

    /// Returns the subscribed channels, in no particular order.
    pub(super) fn subscriptions(&self) -> impl Iterator<Item = &String> {
        self.subscriptions.iter()
    }

    /// Returns whether the connection receives the notifications of the root channel. Versions without channels
    /// send them to every connection.
    pub(super) fn hears_root(&self) -> bool {
        let broadcast = self.protocol.is_some_and(|it| !it.has(ProtocolFeature::Channels));
        broadcast || self.is_subscribed(ROOT)
    }

    /// Returns the time for which the host may delay the envelopes of a channel.
    pub(super) fn latency(&self, uri: &str) -> Option<Duration> {
        self.latencies.get(uri).copied()
    }

    /// Returns whether the connection has a token for a resource that has not expired.
    pub(super) fn has_token(&self, resource: &str, now: Duration) -> bool {
        let until = self.tokens.get(resource);
        until.is_some_and(|until| until.is_none_or(|until| until > now))
    }
}

/// The connections to the host. A method does nothing, or returns an empty value, for a connection that does not
/// exist.
#[derive(Debug, Default)]
pub(super) struct HostConnections {
    all: LiteMap<ConnId, HostConnection>,
    /// The visitors that were admitted and have no connection yet.
    visitors: LiteMap<ConnId, EndpointVisitor>,
}

impl HostConnections {
    /// Records the visitor that will open a connection. A visitor may never open the connection for which it was
    /// admitted, so the oldest visitor is forgotten at the limit.
    pub(super) fn admit(&mut self, conn: ConnId, visitor: EndpointVisitor) {
        if self.visitors.len() >= MAX_CONNECTIONS
            && let Some(first) = self.visitors.keys().next().copied()
        {
            self.visitors.remove(&first);
        }
        self.visitors.insert(conn, visitor);
    }

    /// Adds a connection. At the limit, the connection is closed at once.
    pub(super) fn open(&mut self, conn: ConnId, outbox: &mut HostOutbox) {
        let open = self.all.len();
        let visitor = self.visitors.remove(&conn).unwrap_or_default();
        self.all.insert(conn, HostConnection { visitor, ..HostConnection::default() });
        if open >= MAX_CONNECTIONS {
            self.close(conn, 1013, "too many connections", outbox);
        }
    }

    /// Returns whether the host reads from and sends to a connection.
    pub(super) fn is_open(&self, conn: ConnId) -> bool {
        self.get(conn).is_some_and(|it| !it.closing)
    }

    /// Closes a connection; does nothing if the connection is already closing.
    pub(super) fn close(&mut self, conn: ConnId, code: u16, reason: &str, outbox: &mut HostOutbox) {
        let Some(connection) = self.all.get_mut(&conn).filter(|it| !it.closing) else {
            return;
        };
        connection.closing = true;
        connection.subscriptions.clear();
        let reason = reason.to_owned();
        outbox.push(HostOutput::Close { conn, code, reason });
    }

    /// Removes a connection that has ended and returns it.
    pub(super) fn remove(&mut self, conn: ConnId) -> Option<HostConnection> {
        self.all.remove(&conn)
    }

    /// Drops every connection and every admitted visitor.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.visitors.clear();
    }

    /// Sends a frame. A connection that does not read is closed.
    pub(super) fn send(&mut self, conn: ConnId, frame: Frame, outbox: &mut HostOutbox) {
        let Some(connection) = self.all.get_mut(&conn).filter(|it| !it.closing) else {
            return;
        };
        if connection.pending >= MAX_PENDING_FRAMES {
            self.close(conn, 1008, "the client does not read", outbox);
            return;
        }
        connection.pending += 1;
        outbox.push(HostOutput::Send { conn, frame });
    }

    /// Records that a frame was polled.
    pub(super) fn sent(&mut self, conn: ConnId) {
        self.change(conn, |it| it.pending = it.pending.saturating_sub(1));
    }

    pub(super) fn get(&self, conn: ConnId) -> Option<&HostConnection> {
        self.all.get(&conn)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnId, &HostConnection)> {
        self.all.iter().map(|(conn, connection)| (*conn, connection))
    }

    /// Returns the client of a connection; `None` before the handshake.
    pub(super) fn client(&self, conn: ConnId) -> Option<&str> {
        self.get(conn)?.client()
    }

    /// Returns the visitor of a connection.
    pub(super) fn visitor(&self, conn: ConnId) -> EndpointVisitor {
        self.get(conn).map(|it| it.visitor).unwrap_or_default()
    }

    /// Returns the connections of a client.
    pub(super) fn of_client(&self, client: &str) -> impl Iterator<Item = ConnId> {
        self.iter().filter(move |(_, it)| it.client() == Some(client)).map(|(conn, _)| conn)
    }

    /// Sets the view of a connection, before the channels that exist for the connection are determined.
    pub(super) fn set_view(&mut self, conn: ConnId, view: Option<usize>) {
        self.change(conn, |it| it.view = view);
    }

    /// Completes the handshake of a connection.
    pub(super) fn complete_handshake(
        &mut self,
        conn: ConnId,
        client: String,
        protocol: &'static Protocol,
        subscriptions: HashSet<String>,
    ) {
        self.change(conn, |it| {
            it.client = Some(client);
            it.protocol = Some(protocol);
            it.subscriptions = subscriptions;
        });
    }

    /// Separates a connection from its client, since the client has another connection.
    pub(super) fn disown(&mut self, conn: ConnId) {
        self.change(conn, |it| it.client = None);
    }

    /// Subscribes a connection to a channel; `latency` is the time for which the envelopes of the channel may be
    /// delayed. Returns `false` if the connection has too many subscriptions.
    pub(super) fn subscribe(&mut self, conn: ConnId, uri: &str, latency: Option<Duration>) -> bool {
        let Some(connection) = self.all.get_mut(&conn) else {
            return true;
        };
        let full = connection.subscriptions.len() >= MAX_SUBSCRIPTIONS;
        if full && !connection.is_subscribed(uri) {
            return false;
        }
        connection.subscriptions.insert(uri.to_owned());
        match latency {
            Some(latency) => connection.latencies.insert(uri.to_owned(), latency),
            None => connection.latencies.remove(uri),
        };
        true
    }

    /// Ends a subscription. Returns whether the connection was subscribed.
    pub(super) fn unsubscribe(&mut self, conn: ConnId, uri: &str) -> bool {
        let Some(connection) = self.all.get_mut(&conn) else {
            return false;
        };
        connection.subscriptions.remove(uri) && {
            connection.latencies.remove(uri);
            true
        }
    }

    /// Replaces the subscriptions of a connection.
    pub(super) fn resubscribe(&mut self, conn: ConnId, subscriptions: HashSet<String>) {
        self.change(conn, |it| it.subscriptions = subscriptions);
    }

    /// Ends the subscriptions to a channel of all connections whose view does not meet the condition.
    pub(super) fn drop_channel(&mut self, uri: &str, keeps: impl Fn(Option<usize>) -> bool) {
        for (_, connection) in self.all.iter_mut() {
            if !keeps(connection.view) {
                connection.subscriptions.remove(uri);
            }
        }
    }

    /// Ends all subscriptions of all connections. Only an injected fault does this.
    pub(super) fn unsubscribe_all(&mut self) {
        self.all.iter_mut().for_each(|(_, it)| it.subscriptions.clear());
    }

    /// Returns the connections that are subscribed to a channel.
    pub(super) fn subscribers(&self, uri: &str) -> impl Iterator<Item = ConnId> {
        self.iter().filter(move |(_, it)| it.is_subscribed(uri)).map(|(conn, _)| conn)
    }

    pub(super) fn has_subscribers(&self, uri: &str) -> bool {
        self.subscribers(uri).next().is_some()
    }

    /// Stores a token for a resource; `until` is the time at which the token expires.
    pub(super) fn store_token(&mut self, conn: ConnId, resource: &str, until: Option<Duration>) {
        self.change(conn, |it| {
            it.tokens.insert(resource.to_owned(), until);
        });
    }

    pub(super) fn remove_token(&mut self, conn: ConnId, resource: &str) {
        self.change(conn, |it| {
            it.tokens.remove(resource);
        });
    }

    /// Returns the earliest expiry of a token; `None` if no token expires.
    pub(super) fn next_expiry(&self) -> Option<Duration> {
        let ends = self.all.values().flat_map(|it| it.tokens.values());
        ends.filter_map(|until| *until).min()
    }

    /// Removes the expired tokens. Returns their connections and resources.
    pub(super) fn expire_tokens(&mut self, now: Duration) -> Vec<(ConnId, String)> {
        let due = |until: &Option<Duration>| until.is_some_and(|until| until <= now);
        let mut ended = Vec::new();
        for (conn, connection) in self.all.iter_mut() {
            let over = connection.tokens.iter().filter(|(_, until)| due(until));
            let over: Vec<String> = over.map(|(resource, _)| resource.clone()).collect();
            for resource in over {
                connection.tokens.remove(&resource);
                ended.push((*conn, resource));
            }
        }
        ended
    }

    fn change(&mut self, conn: ConnId, change: impl FnOnce(&mut HostConnection)) {
        if let Some(connection) = self.all.get_mut(&conn) {
            change(connection);
        }
    }
}

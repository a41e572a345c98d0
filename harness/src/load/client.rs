//! A client of a load: its identity, its connection, and its open requests.
//!
//! Knows: the client engine. Never knows: other clients, sockets.
//!
//! Start at [`LoadClient`].

use std::time::Duration;

use litemap::LiteMap;

use crate::edge::VersionEdge;
use crate::peer::client::ClientEngine;
use crate::transcript::ConnId;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::Version;

/// The number of failures in a row after which a client gives up.
const ATTEMPTS: u32 = 20;

/// The stage of a client.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ClientStage {
    /// The client has no connection.
    #[default]
    Away,
    /// The connection is being opened.
    Connecting,
    /// The client waits for the answer to its handshake, its reconnect or a subscription.
    Joining,
    /// The client is subscribed and can act.
    Active,
    /// The client does not read from its connection.
    Held,
    /// The client has given up, because the host refused it too often.
    Failed,
}

/// The purpose of a request that a client has sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AskedFor {
    /// The handshake (`initialize`).
    Greeting,
    /// A `reconnect` that resumes the subscriptions of the previous connection.
    Resumption,
    /// The delivery of a token (`authenticate`).
    Token,
    /// The creation of a session.
    Creation,
    /// A subscription to the session, whose answer contains the session's state.
    SessionState,
    /// A subscription to the chat, whose answer contains the chat's state.
    ChatState,
    /// The disposal of a session.
    Disposal,
    /// A request that only reads, such as the list of sessions.
    Look,
}

/// A client of a load.
#[derive(Debug)]
pub struct LoadClient {
    /// The engine that has the client's identity and its subscriptions.
    engine: ClientEngine,
    /// The number of the client's current identity. It begins with 0 and grows each time the client returns as another
    /// client.
    identity: u32,
    session: usize,
    watches_root: bool,
    conn: Option<ConnId>,
    stage: ClientStage,
    /// The purposes of the open requests, by the id of the request.
    asked: LiteMap<u64, AskedFor>,
    /// The number of the client's dispatches that wait for their echo or rejection.
    unsettled: usize,
    /// The number of failed connections and subscriptions since the last success.
    failures: u32,
    /// The time at which the connection was opened.
    opened: Duration,
}

impl LoadClient {
    /// Creates a client without a connection. `session` is the index of the session that the client shares with others.
    /// `watches_root` says whether the client subscribes to the root channel.
    pub fn new(name: String, session: usize, watches_root: bool) -> LoadClient {
        LoadClient {
            engine: ClientEngine::new(name, false),
            identity: 0,
            session,
            watches_root,
            conn: None,
            stage: ClientStage::Away,
            asked: LiteMap::new(),
            unsettled: 0,
            failures: 0,
            opened: Duration::ZERO,
        }
    }

    /// Returns the `clientId`.
    pub fn name(&self) -> &str {
        &self.engine.client_id
    }

    /// Returns the number of the current identity.
    pub fn identity(&self) -> u32 {
        self.identity
    }

    /// Returns the index of the client's session. Several clients share a session.
    pub fn session(&self) -> usize {
        self.session
    }

    /// Returns whether the client subscribes to the root channel.
    pub fn watches_root(&self) -> bool {
        self.watches_root
    }

    /// Returns the connection; `None` if the client has no connection.
    pub fn conn(&self) -> Option<ConnId> {
        self.conn
    }

    /// Returns the stage of the client.
    pub fn stage(&self) -> ClientStage {
        self.stage
    }

    /// Returns the time at which the connection was opened.
    pub fn opened(&self) -> Duration {
        self.opened
    }

    /// Returns the difference between the version of the connection and the newest version.
    pub fn edge(&self) -> &VersionEdge {
        self.engine.edge()
    }

    /// Returns the version of the connection; `None` before the first handshake of this identity.
    pub fn version(&self) -> Option<Version> {
        self.engine.version()
    }

    /// Returns whether the client is subscribed to a channel.
    pub fn is_subscribed(&self, channel: &str) -> bool {
        self.engine.is_subscribed(channel)
    }

    /// Returns whether the client can act on a channel to which it is subscribed.
    pub fn acts_on(&self, channel: &str) -> bool {
        self.stage == ClientStage::Active && self.is_subscribed(channel)
    }

    /// Returns whether the client waits for the answer to a request with such a purpose.
    pub fn waits_for(&self, purpose: impl Fn(AskedFor) -> bool) -> bool {
        self.asked.values().any(|asked| purpose(*asked))
    }

    /// Returns whether the client can act and waits for no answer, echo or rejection.
    pub fn is_idle(&self) -> bool {
        self.stage == ClientStage::Active && self.unsettled == 0 && self.asked.is_empty()
    }

    /// Returns whether the client had an earlier connection with this identity, which it can resume.
    pub fn can_resume(&self) -> bool {
        self.version().is_some()
    }

    /// Records that a connection is being opened.
    pub fn connecting(&mut self, conn: ConnId) {
        self.conn = Some(conn);
        self.stage = ClientStage::Connecting;
    }

    /// Records that the connection was opened.
    pub fn connected(&mut self, now: Duration) {
        self.stage = ClientStage::Joining;
        self.opened = now;
    }

    /// Changes the stage. Only the list of clients calls this function, because it counts the clients of some stages.
    pub(super) fn enter(&mut self, stage: ClientStage) {
        self.stage = stage;
        if stage == ClientStage::Active {
            self.failures = 0;
            // The client stops waiting for its earlier dispatches, because the host need not answer a dispatch that was
            // sent before an `unsubscribe` or to a disposed session.
            self.unsettled = 0;
        }
    }

    /// Records a failure to connect or to join. Returns the number of failures in a row; `None` if there were so many
    /// that the client has to give up.
    pub(super) fn failed(&mut self) -> Option<u32> {
        self.failures += 1;
        (self.failures < ATTEMPTS).then_some(self.failures)
    }

    /// Handles the end of the connection.
    pub(super) fn lost(&mut self) {
        self.engine.lost();
        self.conn = None;
        self.stage = ClientStage::Away;
        self.asked.clear();
        self.unsettled = 0;
    }

    /// Gives the client a new identity without subscriptions, so that it returns as another client.
    pub(super) fn replace(&mut self, name: String) {
        let identity = self.identity + 1;
        *self = LoadClient { identity, ..LoadClient::new(name, self.session, self.watches_root) };
    }

    /// Creates a request and remembers its purpose.
    pub fn request(&mut self, method: &str, params: Value, asked: AskedFor) -> Message {
        let (id, message) = self.engine.request(method, params);
        self.asked.insert(id, asked);
        message
    }

    /// Creates the `reconnect` that resumes the subscriptions of the previous connection.
    pub fn resumption(&mut self) -> Message {
        let (id, message) = self.engine.reconnect(None, None);
        self.asked.insert(id, AskedFor::Resumption);
        message
    }

    /// Creates an `unsubscribe`.
    pub fn unsubscribe(&mut self, channel: &str) -> Message {
        self.engine.notification("unsubscribe", json!({"channel": channel}))
    }

    /// Creates a `dispatchAction`, whose echo or rejection the client waits for. Returns its `clientSeq` and the message.
    pub fn dispatch(&mut self, channel: &str, action: Value) -> (u64, Message) {
        self.unsettled += 1;
        self.engine.dispatch(channel, action, None)
    }

    /// Reads a message of the host. Returns the message with the names of the newest version, if they differ.
    pub fn handle(&mut self, message: &Message) -> Option<Message> {
        self.engine.handle(message)
    }

    /// Returns the purpose of the request with this id, which is no longer open.
    pub fn take_purpose(&mut self, id: u64) -> Option<AskedFor> {
        self.asked.remove(&id)
    }

    /// Records an act that the client is going to perform, so that it does not count as idle until then.
    pub fn reserve(&mut self) {
        self.unsettled += 1;
    }

    /// Records that a dispatch was answered, or that a reserved act begins.
    pub fn settle(&mut self) {
        self.unsettled = self.unsettled.saturating_sub(1);
    }
}

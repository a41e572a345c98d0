//! A client of a load: its identity, its connection, and its open requests.
//!
//! Knows: the client engine. Never knows: other clients, sockets.
//!
//! Start at [`LoadClient`].

use std::time::Duration;

use litemap::LiteMap;

use crate::peer::client::ClientEngine;
use crate::transcript::ConnId;

use super::delay::DispatchKey;

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
    pub engine: ClientEngine,
    /// The number of the client's current identity. It begins with 0 and grows each time the client returns as another
    /// client.
    pub identity: u32,
    /// The index of the session that the client shares with others.
    pub session: usize,
    /// Whether the client subscribes to the root channel.
    pub root: bool,
    /// The connection; `None` if the client has no connection.
    pub conn: Option<ConnId>,
    /// The stage of the client.
    pub stage: ClientStage,
    /// The purposes of the open requests, by the id of the request.
    pub asked: LiteMap<u64, AskedFor>,
    /// The number of the client's dispatches that wait for their echo or rejection.
    pub unsettled: usize,
    /// The number of failed connections and subscriptions since the last success.
    pub failures: u32,
    /// The time at which the connection was opened.
    pub opened: Duration,
    /// The index in the list of clients that can act, if the client is in this list.
    pub place: Option<usize>,
}

impl LoadClient {
    /// Creates a client without a connection.
    pub fn new(name: String, session: usize, root: bool) -> LoadClient {
        LoadClient {
            engine: ClientEngine::new(name, false),
            identity: 0,
            session,
            root,
            conn: None,
            stage: ClientStage::Away,
            asked: LiteMap::new(),
            unsettled: 0,
            failures: 0,
            opened: Duration::ZERO,
            place: None,
        }
    }

    /// Handles the end of the connection.
    pub fn lost(&mut self) {
        self.engine.lost();
        self.conn = None;
        self.stage = ClientStage::Away;
        self.asked.clear();
        self.unsettled = 0;
    }

    /// Gives the client a new identity without subscriptions, so that it returns as another client.
    pub fn replace(&mut self, name: String) {
        let identity = self.identity + 1;
        *self = LoadClient { identity, ..LoadClient::new(name, self.session, self.root) };
    }

    /// Returns whether the client had an earlier connection with this identity, which it can resume.
    pub fn can_resume(&self) -> bool {
        self.engine.version().is_some()
    }

    /// Returns the key that identifies a dispatch of the client.
    pub fn key(&self, client: usize, seq: u64) -> DispatchKey {
        DispatchKey { client, identity: self.identity, seq }
    }
}

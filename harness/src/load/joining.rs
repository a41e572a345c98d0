//! Connects the clients of a load, lets them join their session, and lets them return after they have left.
//!
//! Knows: the engine. Never knows: the acts of clients.

use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;

use super::client::{AskedFor, ClientStage};
use super::engine::{LoadEngine, LoadOutput, LoadTimer};
use super::session::SessionStage;

/// The time between two attempts to connect or to join, which is multiplied by the number of failures in a row.
const AGAIN: Duration = Duration::from_millis(200);
/// The number of attempts in a row after which a client gives up.
const ATTEMPTS: u32 = 20;
/// The number of refused subscriptions in a row after which a session counts as lost.
const LOST_AFTER: u32 = 3;

impl LoadEngine {
    pub(super) fn connect(&mut self, client: usize) {
        if self.clients[client].conn.is_some() || !self.is_running() {
            return;
        }
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.by_conn.insert(conn, client);
        self.clients[client].conn = Some(conn);
        self.clients[client].stage = ClientStage::Connecting;
        let small_buffer = Self::may_stop_reading(client);
        self.outputs.push_back(LoadOutput::Open { conn, small_buffer });
    }

    pub(super) fn greet(&mut self, client: usize) {
        let name = self.clients[client].engine.client_id.clone();
        let mut params =
            json!({"channel": ROOT, "protocolVersions": self.plan.offers, "clientId": name});
        if self.clients[client].root {
            params["initialSubscriptions"] = json!([ROOT]);
        }
        self.request(client, "initialize", params, AskedFor::Greeting);
    }

    pub(super) fn join(&mut self, client: usize) {
        let place = self.clients[client].session;
        let asks = |asked: &AskedFor| {
            matches!(asked, AskedFor::Creation | AskedFor::SessionState | AskedFor::ChatState)
        };
        // When the host has answered the earlier request, this function is called again.
        if self.clients[client].asked.iter().any(|(_, asked)| asks(asked)) {
            return;
        }
        match self.sessions[place].stage {
            SessionStage::Absent => {
                self.sessions[place].stage = SessionStage::Creating;
                self.sessions[place].waiting.push(client);
                let mut params = json!({"channel": self.sessions[place].uri});
                if let Some(provider) = &self.plan.provider {
                    params["provider"] = json!(provider);
                }
                self.request(client, "createSession", params, AskedFor::Creation);
            }
            SessionStage::Creating | SessionStage::Ending => {
                let waiting = &mut self.sessions[place].waiting;
                if !waiting.contains(&client) {
                    waiting.push(client);
                }
            }
            SessionStage::Ready => {
                let uri = self.sessions[place].uri.clone();
                self.subscribe(client, &uri, AskedFor::SessionState);
            }
        }
    }

    /// Subscribes to a channel, and requests that the host delivers actions without delay, if the version supports this
    /// request.
    pub(super) fn subscribe(&mut self, client: usize, uri: &str, asked: AskedFor) {
        let mut params = json!({"channel": uri});
        if self.protocol.is_some_and(|protocol| protocol.has(ProtocolFeature::Delivery)) {
            params["delivery"] = json!({"maxLatencyMs": 0});
        }
        self.request(client, "subscribe", params, asked);
    }

    /// Tries again after a failure. After too many failures in a row, the client gives up.
    pub(super) fn failed(&mut self, now: Duration, client: usize) {
        let it = &mut self.clients[client];
        it.failures += 1;
        if it.failures >= ATTEMPTS {
            it.stage = ClientStage::Failed;
            self.counts.failed += 1;
            return;
        }
        let wait = AGAIN * it.failures;
        match it.conn {
            None => self.timer(now + wait, LoadTimer::Arrive(client)),
            Some(_) => self.timer(now + wait, LoadTimer::Join(client)),
        }
    }

    pub(super) fn answered(
        &mut self,
        now: Duration,
        client: usize,
        asked: AskedFor,
        message: &Message,
        line: u64,
    ) {
        let place = self.clients[client].session;
        if let Some(error) = message.error() {
            self.counts.errors += 1;
            if !matches!(asked, AskedFor::Look | AskedFor::Token) {
                self.trouble = error.to_text();
            }
        }
        let succeeded = message.error().is_none();
        self.counts.disposed += u64::from(succeeded && asked == AskedFor::Disposal);
        match (asked, succeeded) {
            (AskedFor::Greeting, true) => {
                let version = self.clients[client].engine.version();
                self.protocol = version.and_then(Protocol::of).or(self.protocol);
                self.push_tokens(client);
                self.join(client);
            }
            (AskedFor::Resumption, true) => self.resumed(now, client, message, line),
            // The host may have forgotten the client, so the client sends a new `initialize`.
            (AskedFor::Resumption, false) => self.greet(client),
            (AskedFor::Creation, true) => {
                self.counts.sessions += 1;
                self.sessions[place].stage = SessionStage::Ready;
                self.sessions[place].created = now;
                self.sessions[place].failures = 0;
                self.let_in(place);
            }
            (AskedFor::Creation, false) => {
                self.sessions[place].stage = SessionStage::Absent;
                self.sessions[place].failures += 1;
                let waiting = std::mem::take(&mut self.sessions[place].waiting);
                waiting.into_iter().for_each(|client| self.failed(now, client));
            }
            // Another client may have replaced the session in the meantime.
            (AskedFor::SessionState | AskedFor::ChatState, true) if !self.is_current(client) => {
                self.join(client);
            }
            (AskedFor::SessionState, true) => {
                self.sessions[place].failures = 0;
                let chat =
                    message.result().and_then(|it| it.pointer("/snapshot/state/defaultChat"));
                let chat = chat.and_then(Value::as_str).map(str::to_owned);
                let apart = self.clients[client].engine.edge().has_chats();
                // In versions without chat channels, the session is its own chat.
                let chat = if apart { chat } else { Some(self.sessions[place].uri.clone()) };
                self.sessions[place].chat.clone_from(&chat);
                match chat {
                    Some(chat) if apart => self.subscribe(client, &chat, AskedFor::ChatState),
                    _ => self.activate(client),
                }
            }
            (AskedFor::ChatState, true) => self.activate(client),
            (AskedFor::SessionState, false) if self.is_running() => {
                // If the host has lost the session, another session is created.
                self.sessions[place].failures += 1;
                if self.sessions[place].failures >= LOST_AFTER {
                    self.sessions[place].failures = 0;
                    self.renew_session(now, place);
                }
                self.failed(now, client);
            }
            (AskedFor::Greeting | AskedFor::SessionState | AskedFor::ChatState, false) => {
                self.failed(now, client);
            }
            (AskedFor::Disposal, _) if self.is_running() => {
                self.renew_session(now, place);
            }
            (AskedFor::Disposal | AskedFor::Token | AskedFor::Look, _) => {}
        }
    }

    fn push_tokens(&mut self, client: usize) {
        for (resource, token) in self.plan.tokens.clone() {
            let params = json!({"resource": resource, "token": token});
            self.request(client, "authenticate", params, AskedFor::Token);
        }
    }

    /// Handles the answer to `reconnect`.
    pub(super) fn resumed(&mut self, now: Duration, client: usize, message: &Message, line: u64) {
        if self.counts.crashes > 0 {
            // After a crash, the host may have lost the tokens.
            self.push_tokens(client);
        }
        let result = message.result().unwrap_or(&Value::Null);
        match result["actions"].as_array() {
            Some(actions) => {
                self.counts.replays += 1;
                for envelope in actions {
                    self.envelope(now, client, envelope, line);
                }
            }
            None => self.counts.snapshots += 1,
        }
        let place = self.clients[client].session;
        let session = &self.sessions[place];
        let engine = &self.clients[client].engine;
        let is_back = session.stage == SessionStage::Ready
            && engine.is_subscribed(&session.uri)
            && session.chat.as_ref().is_none_or(|chat| engine.is_subscribed(chat));
        match is_back {
            true => self.activate(client),
            false => self.join(client),
        }
    }

    /// Returns whether a client is subscribed to the session that it shares now, and not to a session that was
    /// replaced.
    fn is_current(&self, client: usize) -> bool {
        let session = &self.sessions[self.clients[client].session];
        session.stage == SessionStage::Ready
            && self.clients[client].engine.is_subscribed(&session.uri)
    }

    /// Replaces a session that has ended by a new session, and lets its clients join.
    fn renew_session(&mut self, now: Duration, place: usize) {
        let uri = self.session_uri();
        self.sessions[place].renew(uri);
        for member in self.sessions[place].members.clone() {
            if self.clients[member].stage == ClientStage::Joining {
                self.timer(now, LoadTimer::Join(member));
            }
        }
    }

    /// Subscribes the clients that wait for a session to be created.
    fn let_in(&mut self, place: usize) {
        let waiting = std::mem::take(&mut self.sessions[place].waiting);
        for client in waiting {
            if self.clients[client].stage == ClientStage::Joining {
                self.join(client);
            }
        }
    }

    /// Disposes of all sessions. For each session, one of its clients sends the request.
    pub(super) fn dispose_all(&mut self) {
        for place in 0..self.sessions.len() {
            let members = self.sessions[place].members.iter().copied();
            let mut able = members.filter(|it| {
                matches!(self.clients[*it].stage, ClientStage::Active | ClientStage::Joining)
                    && self.clients[*it].conn.is_some()
            });
            if self.sessions[place].stage == SessionStage::Ready
                && let Some(client) = able.next()
            {
                let params = json!({"channel": self.sessions[place].uri});
                self.request(client, "disposeSession", params, AskedFor::Disposal);
            }
        }
    }

    /// Handles the end of a client's connection.
    pub(super) fn away(&mut self, now: Duration, client: usize) {
        self.inactive(client);
        let place = self.clients[client].session;
        let mut asked = self.clients[client].asked.iter().map(|(_, asked)| *asked);
        let is_lost = asked.any(|it| matches!(it, AskedFor::Creation | AskedFor::Disposal));
        if self.clients[client].stage == ClientStage::Held {
            self.held -= 1;
        }
        self.meter.left(client);
        self.clients[client].lost();
        self.sessions[place].waiting.retain(|it| *it != client);
        if is_lost && self.is_running() {
            // It is unknown whether the host has created the session, so it is replaced.
            self.renew_session(now, place);
        }
    }
}

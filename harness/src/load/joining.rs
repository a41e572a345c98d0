//! Connects the clients of a load, lets them join their session, and lets them return after they have left.
//!
//! Knows: the engine. Never knows: the acts of clients.

use std::time::Duration;

use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::agenda::LoadTimer;
use super::client::{AskedFor, ClientStage};
use super::engine::LoadEngine;
use super::session::SessionStage;

/// The time between two attempts to connect or to join, which is multiplied by the number of failures in a row.
const AGAIN: Duration = Duration::from_millis(200);

impl LoadEngine {
    pub(super) fn connect(&mut self, client: usize) {
        if self.roster[client].conn().is_some() || !self.is_running() {
            return;
        }
        let conn = self.connections.open(client, Self::may_stop_reading(client));
        self.roster.get_mut(client).connecting(conn);
    }

    pub(super) fn greet(&mut self, client: usize) {
        let name = self.roster[client].name();
        let mut params =
            json!({"channel": ROOT, "protocolVersions": self.plan.offers, "clientId": name});
        if self.roster[client].watches_root() {
            params["initialSubscriptions"] = json!([ROOT]);
        }
        self.request(client, "initialize", params, AskedFor::Greeting);
    }

    pub(super) fn join(&mut self, client: usize) {
        let place = self.roster[client].session();
        let asks = |asked: AskedFor| {
            matches!(asked, AskedFor::Creation | AskedFor::SessionState | AskedFor::ChatState)
        };
        // When the host has answered the earlier request, this function is called again.
        if self.roster[client].waits_for(asks) {
            return;
        }
        match self.sessions[place].stage() {
            SessionStage::Absent => {
                self.sessions[place].begin_creation(client);
                let mut params = json!({"channel": self.sessions[place].uri()});
                if let Some(provider) = &self.plan.provider {
                    params["provider"] = json!(provider);
                }
                self.request(client, "createSession", params, AskedFor::Creation);
            }
            SessionStage::Creating | SessionStage::Ending => {
                self.sessions[place].wait(client);
            }
            SessionStage::Ready => {
                let uri = self.sessions[place].uri().to_owned();
                self.subscribe(client, &uri, AskedFor::SessionState);
            }
        }
    }

    /// Subscribes to a channel, and requests that the host delivers actions without delay, if the version supports this
    /// request.
    pub(super) fn subscribe(&mut self, client: usize, uri: &str, asked: AskedFor) {
        let mut params = json!({"channel": uri});
        if self.protocol().is_some_and(|protocol| protocol.has(ProtocolFeature::Delivery)) {
            params["delivery"] = json!({"maxLatencyMs": 0});
        }
        self.request(client, "subscribe", params, asked);
    }

    /// Tries again after a failure. After too many failures in a row, the client gives up.
    pub(super) fn failed(&mut self, now: Duration, client: usize) {
        let Some(failures) = self.roster.failed(client) else {
            self.counts.failed += 1;
            return;
        };
        let next = match self.roster[client].conn() {
            None => LoadTimer::Arrive(client),
            Some(_) => LoadTimer::Join(client),
        };
        self.agenda.set(now + AGAIN * failures, next);
    }

    pub(super) fn answered(
        &mut self,
        now: Duration,
        client: usize,
        asked: AskedFor,
        message: &Message,
        line: u64,
    ) {
        let place = self.roster[client].session();
        if let Some(error) = message.error() {
            self.counts.errors += 1;
            if !matches!(asked, AskedFor::Look | AskedFor::Token) {
                self.note_trouble(error);
            }
        }
        let succeeded = message.error().is_none();
        self.counts.disposed += u64::from(succeeded && asked == AskedFor::Disposal);
        match (asked, succeeded) {
            (AskedFor::Greeting, true) => {
                self.negotiated(self.roster[client].version());
                self.push_tokens(client);
                self.join(client);
            }
            (AskedFor::Resumption, true) => self.resumed(now, client, message, line),
            // The host may have forgotten the client, so the client sends a new `initialize`.
            (AskedFor::Resumption, false) => self.greet(client),
            (AskedFor::Creation, true) => {
                self.counts.sessions += 1;
                for client in self.sessions[place].is_created(now) {
                    if self.roster[client].stage() == ClientStage::Joining {
                        self.join(client);
                    }
                }
            }
            (AskedFor::Creation, false) => {
                let waiting = self.sessions[place].is_not_created();
                waiting.into_iter().for_each(|client| self.failed(now, client));
            }
            // Another client may have replaced the session in the meantime.
            (AskedFor::SessionState | AskedFor::ChatState, true) if !self.is_current(client) => {
                self.join(client);
            }
            (AskedFor::SessionState, true) => {
                let chat =
                    message.result().and_then(|it| it.pointer("/snapshot/state/defaultChat"));
                let chat = chat.and_then(Value::as_str).map(str::to_owned);
                let apart = self.roster[client].edge().has_chats();
                // In versions without chat channels, the session is its own chat.
                let chat = if apart { chat } else { Some(self.sessions[place].uri().to_owned()) };
                self.sessions[place].subscribed(chat.clone());
                match chat {
                    Some(chat) if apart => self.subscribe(client, &chat, AskedFor::ChatState),
                    _ => self.roster.activate(client),
                }
            }
            (AskedFor::ChatState, true) => self.roster.activate(client),
            (AskedFor::SessionState, false) if self.is_running() => {
                // If the host has lost the session, another session is created.
                if self.sessions[place].refused() {
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
        let it = &self.roster[client];
        let chat = self.sessions[it.session()].chat();
        let is_back = self.is_current(client) && chat.is_none_or(|chat| it.is_subscribed(chat));
        match is_back {
            true => self.roster.activate(client),
            false => self.join(client),
        }
    }

    /// Returns whether a client is subscribed to the session that it shares now, and not to a session that was
    /// replaced.
    fn is_current(&self, client: usize) -> bool {
        let it = &self.roster[client];
        let session = &self.sessions[it.session()];
        session.stage() == SessionStage::Ready && it.is_subscribed(session.uri())
    }

    /// Replaces a session that has ended by a new session, and lets its clients join.
    fn renew_session(&mut self, now: Duration, place: usize) {
        let uri = self.session_uri();
        self.sessions[place].renew(uri);
        for member in self.sessions[place].members() {
            if self.roster[*member].stage() == ClientStage::Joining {
                self.agenda.set(now, LoadTimer::Join(*member));
            }
        }
    }

    /// Disposes of all sessions. For each session, one of its clients sends the request.
    pub(super) fn dispose_all(&mut self) {
        for place in 0..self.sessions.len() {
            let session = &self.sessions[place];
            let mut able = session.members().iter().copied().filter(|it| {
                matches!(self.roster[*it].stage(), ClientStage::Active | ClientStage::Joining)
                    && self.roster[*it].conn().is_some()
            });
            if session.stage() == SessionStage::Ready
                && let Some(client) = able.next()
            {
                let params = json!({"channel": session.uri()});
                self.request(client, "disposeSession", params, AskedFor::Disposal);
            }
        }
    }

    /// Handles the end of a client's connection.
    pub(super) fn away(&mut self, now: Duration, client: usize) {
        let place = self.roster[client].session();
        let decides = |asked: AskedFor| matches!(asked, AskedFor::Creation | AskedFor::Disposal);
        let is_lost = self.roster[client].waits_for(decides);
        self.meter.left(client);
        self.roster.lost(client);
        self.sessions[place].stop_waiting(client);
        if is_lost && self.is_running() {
            // It is unknown whether the host has created the session, so it is replaced.
            self.renew_session(now, place);
        }
    }
}

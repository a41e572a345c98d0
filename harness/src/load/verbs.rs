//! The acts of clients during a load, as methods of the engine.
//!
//! Knows: the engine. Never knows: when acts are performed.

use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::agent::script::{CASE, HEADER};
use crate::edge::ChangeContext;
use crate::run::mint::iso8601;
use crate::scenario::bind::HoleFiller as _;
use crate::wire::json::{Value, json};

use super::acts::{SCRIPTS, message};
use super::agenda::LoadTimer;
use super::client::{AskedFor, ClientStage};
use super::delay::DispatchKey;
use super::engine::LoadEngine;
use super::plan::LONG_TEXT;
use super::session::{PendingCall, SessionStage};
use super::stalls;

/// The shortest and the longest absence of a client that leaves, in milliseconds.
const ABSENCE: (usize, usize) = (20, 800);
/// The percentage of departures without a closing handshake.
const ABRUPT: usize = 50;
/// The percentage of departures after which the client returns as another client.
const SOMEBODY_ELSE: usize = 25;
/// The minimum time for which a client stays connected. Without this minimum, clients that act as fast as possible
/// would mostly connect and leave.
const STAY: Duration = Duration::from_secs(2);
/// The minimum time for which a session exists, for the same reason.
const SESSION_LIFE: Duration = Duration::from_secs(5);
/// The pause after a long message.
const LONG_TEXT_GAP: Duration = Duration::from_millis(10);
/// The pause after a short message.
const SHORT_TEXT_GAP: Duration = Duration::from_millis(50);
/// At most one of this many clients may stop reading at the same time. In a load with fewer clients, one client may
/// stop reading.
const HELD_SHARE: usize = 500;

impl LoadEngine {
    /// Dispatches an action on the session of a client. Returns false if the client is not subscribed, or if the
    /// version does not have the action.
    pub(super) fn on_session(&mut self, now: Duration, client: usize, action: Value) -> bool {
        let place = self.roster[client].session();
        let uri = self.sessions[place].uri().to_owned();
        self.dispatch(now, client, &uri, action)
    }

    /// Dispatches an action on the chat of a client. Returns false if there is no chat, if the client is not
    /// subscribed, or if the version does not have the action.
    pub(super) fn on_chat(&mut self, now: Duration, client: usize, action: Value) -> bool {
        let place = self.roster[client].session();
        let Some(chat) = self.sessions[place].chat().map(str::to_owned) else { return false };
        self.dispatch(now, client, &chat, action)
    }

    fn dispatch(&mut self, now: Duration, client: usize, channel: &str, action: Value) -> bool {
        let it = &self.roster[client];
        let edge = it.edge();
        if !it.acts_on(channel)
            || !edge.is_plain()
                && edge.lower_action(channel, &action, ChangeContext::NOTHING).is_none()
        {
            return false;
        }
        let (identity, place) = (it.identity(), it.session());
        let (seq, message) = self.roster.get_mut(client).dispatch(channel, action);
        let key = DispatchKey { client, identity, seq };
        let hears = |it: &usize| self.roster[*it].acts_on(channel);
        let subscribers = self.sessions[place].members().iter().copied().filter(hears).collect();
        self.meter.dispatched(now, key, subscribers);
        self.counts.dispatched += 1;
        self.send(client, message, Some((key, place)));
        true
    }

    /// Returns another client of the same session that can act.
    pub(super) fn together(&mut self, client: usize) -> Option<usize> {
        let place = self.roster[client].session();
        let mut others = self.roster.active_of(self.sessions[place].members());
        others.retain(|it| *it != client);
        self.dice.pick(&others).copied()
    }

    /// Starts a turn whose script the agent plays.
    pub(super) fn start_turn(&mut self, now: Duration, client: usize) -> bool {
        let place = self.roster[client].session();
        let Some(agent) = self.plan.turns.filter(|_| self.sessions[place].turn().is_none()) else {
            return false;
        };
        let script = self.dice.pick(SCRIPTS).copied().unwrap_or_default();
        let turn = self.mint.fresh();
        let text = match agent {
            AgentMode::Host => format!("{HEADER}\n{script}"),
            _ => format!("{HEADER}\n{CASE} stress {place}\n{script}"),
        };
        let action = json!({
            "type": "chat/turnStarted",
            "turnId": turn,
            "startedAt": iso8601(self.plan.epoch + now),
            "message": message(&text),
        });
        let begun = self.on_chat(now, client, action);
        if begun {
            self.counts.turns += 1;
            self.sessions[place].started(turn);
        }
        begun
    }

    /// Cancels the turn of the client's session.
    pub(super) fn cancel_turn(&mut self, now: Duration, client: usize) -> bool {
        let place = self.roster[client].session();
        let Some(turn) = self.sessions[place].turn().map(str::to_owned) else { return false };
        self.on_chat(
            now,
            client,
            json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 5}),
        )
    }

    /// Lets two clients decide on a tool call at the same time. In about half of the cases, at least one of them denies
    /// the call.
    pub(super) fn decide(&mut self, now: Duration, place: usize, call: &PendingCall) {
        let mut able = self.roster.active_of(self.sessions[place].members());
        self.dice.shuffle(&mut able);
        for client in able.into_iter().take(2) {
            let PendingCall { turn, call } = call;
            let action = match self.dice.chance(70) {
                true => {
                    json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call,
                    "approved": true, "confirmed": "user-action"})
                }
                false => {
                    json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call,
                    "approved": false, "reason": "denied"})
                }
            };
            self.counts.decisions += u64::from(self.on_chat(now, client, action));
        }
    }

    /// Disconnects a client with or without a closing handshake. The client returns later, either with its
    /// subscriptions or as another client.
    pub(super) fn leave(&mut self, now: Duration, client: usize) -> bool {
        if now < self.roster[client].opened() + STAY {
            return false;
        }
        let graceful = !self.dice.chance(ABRUPT);
        self.close(now, client, graceful);
        if self.dice.chance(SOMEBODY_ELSE) {
            self.replace(client);
            self.counts.newcomers += 1;
        }
        let (least, most) = ABSENCE;
        let absence = Duration::from_millis((least + self.dice.below(most - least)) as u64);
        self.agenda.set(now + absence, LoadTimer::Arrive(client));
        true
    }

    /// Unsubscribes from the chat and subscribes again at once.
    pub(super) fn rejoin_chat(&mut self, _: Duration, client: usize) -> bool {
        let place = self.roster[client].session();
        let Some(chat) = self.sessions[place].chat().map(str::to_owned) else { return false };
        if !self.roster[client].edge().has_chats() {
            return false;
        }
        self.roster.rejoin(client);
        self.meter.left(client);
        self.unsubscribe(client, &chat);
        self.subscribe(client, &chat, AskedFor::ChatState);
        true
    }

    fn unsubscribe(&mut self, client: usize, channel: &str) {
        let message = self.roster.get_mut(client).unsubscribe(channel);
        self.send(client, message, None);
    }

    /// Requests the turns of the chat.
    pub(super) fn read_turns(&mut self, _: Duration, client: usize) -> bool {
        let place = self.roster[client].session();
        let Some(chat) = self.sessions[place].chat().map(str::to_owned) else { return false };
        self.request(client, "fetchTurns", json!({"channel": chat}), AskedFor::Look);
        true
    }

    /// Requests the list of sessions.
    pub(super) fn list_sessions(&mut self, _: Duration, client: usize) -> bool {
        self.request(client, "listSessions", json!({}), AskedFor::Look);
        true
    }

    /// Makes a client stop reading for some time, while other clients write long messages.
    pub(super) fn stop_reading(&mut self, now: Duration, client: usize) -> bool {
        let it = &self.roster[client];
        let (place, conn) = (it.session(), it.conn());
        let most = (self.roster.len() / HELD_SHARE).max(1);
        if !LoadEngine::may_stop_reading(client)
            || self.roster.held() >= most
            || self.stalls.watches(place)
            || self.together(client).is_none()
        {
            return false;
        }
        let Some(conn) = conn else { return false };
        self.roster.hold(client);
        self.meter.left(client);
        self.counts.pauses += 1;
        self.stalls.held(client, place);
        self.connections.hold(conn, true);
        let until = now + stalls::HELD;
        self.agenda.set(until, LoadTimer::Release(client));
        self.sessions[place].begin_filling();
        self.agenda.set(now, LoadTimer::Write(place, until));
        true
    }

    /// Resumes reading if the client does not read.
    pub(super) fn read_again(&mut self, now: Duration, client: usize) {
        let it = &self.roster[client];
        let Some(conn) = it.conn().filter(|_| it.stage() == ClientStage::Held) else { return };
        self.stalls.released(now, client);
        self.connections.hold(conn, false);
        self.roster.activate(client);
    }

    /// Writes messages in a session until the given time: long messages until the buffers of the client that does not
    /// read are full, and short messages afterwards.
    pub(super) fn write_text(&mut self, now: Duration, place: usize, until: Duration) {
        if now >= until {
            return;
        }
        let is_full = self.sessions[place].is_filled();
        let able = self.roster.active_of(self.sessions[place].members());
        if let Some(client) = self.dice.pick(&able).copied() {
            let mut text = format!("text of {client} at {} ms ", now.as_millis());
            if !is_full {
                text.extend(std::iter::repeat_n('x', LONG_TEXT - text.len()));
            }
            let length = text.len();
            let draft = message(&text);
            if self.on_chat(now, client, json!({"type": "chat/draftChanged", "draft": draft})) {
                self.sessions[place].wrote(length);
            }
        }
        let gap = if is_full { SHORT_TEXT_GAP } else { LONG_TEXT_GAP };
        self.agenda.set(now + gap, LoadTimer::Write(place, until));
    }

    /// Disposes of the session. Its clients then join a new session.
    pub(super) fn replace_session(&mut self, now: Duration, client: usize) -> bool {
        let place = self.roster[client].session();
        if now < self.sessions[place].created() + SESSION_LIFE
            || self.sessions[place].stage() != SessionStage::Ready
            || self.stalls.watches(place)
        {
            return false;
        }
        let chat = self.sessions[place].begin_disposal();
        let uri = self.sessions[place].uri().to_owned();
        for member in self.roster.active_of(self.sessions[place].members()) {
            self.roster.rejoin(member);
            self.meter.left(member);
            // The clients unsubscribe from the channels of the session, so that they do not resume these channels when
            // they return.
            for channel in [Some(&uri), chat.as_ref()].into_iter().flatten() {
                self.unsubscribe(member, channel);
            }
        }
        self.request(client, "disposeSession", json!({"channel": uri}), AskedFor::Disposal);
        true
    }
}

//! The state of a tested client: its connections, the frames that are held back, and the rules for its responses.
//!
//! Knows: connections, the states that result from the received frames. Never knows: the case, steps, the host.
//!
//! Start at [`TestedClient`].

use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::peer::received::ReceivedStates;
use crate::scenario::bind::NameBindings;
use crate::scenario::pattern::ValuePattern;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::case_peers::PeerId;
use super::driver_talk::ClientDriverTalk;
use super::response_rule::ResponseRule;

/// The maximum number of requests from steps to the tested client whose ids are remembered.
const MAX_ASKED: usize = 200_000;
/// The maximum number of frames that are held back because a step delays them.
const MAX_HELD_BACK: usize = 10_000;

/// The tested client of a case.
#[derive(Debug)]
pub(super) struct TestedClient {
    name: String,
    /// The peer that represents the host.
    host: PeerId,
    /// The open connections of the client, oldest first.
    conns: Vec<ConnId>,
    received: ReceivedStates,
    /// Whether the client has sent `initialize` or `reconnect`.
    introduced: bool,
    pub(super) driver: ClientDriverTalk,
    rules: Vec<ResponseRule>,
    /// The requests whose response a rule changes, by the text of their id.
    changed: LiteMap<String, ResponseRule>,
    /// The requests of steps to the client, by the text of their id.
    asked: LiteMap<String, ()>,
    /// The frames that are held back, each with the time at which it is sent.
    held_back: Vec<(Duration, ConnId, Arc<SeenFrame>)>,
    /// The transcript line and the reason of the end of the connection that the client closed last; `None` after the
    /// client has opened the next connection.
    left: Option<(u64, String)>,
    /// The number of the client's next connections to refuse, and the HTTP status of the refusal.
    refusals: (u64, u16),
}

impl TestedClient {
    /// Creates a client without connections. `host` is the peer that represents the host.
    pub(super) fn new(name: String, host: PeerId) -> TestedClient {
        TestedClient {
            name,
            host,
            conns: Vec::new(),
            received: ReceivedStates::default(),
            introduced: false,
            driver: ClientDriverTalk::default(),
            rules: Vec::new(),
            changed: LiteMap::new(),
            asked: LiteMap::new(),
            held_back: Vec::new(),
            left: None,
            refusals: (0, 0),
        }
    }

    /// Returns the name of the client.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the peer that represents the host.
    pub(super) fn host(&self) -> PeerId {
        self.host
    }

    /// Returns the states that result from the frames that were sent to the client.
    pub(super) fn received(&self) -> &ReceivedStates {
        &self.received
    }

    /// Returns whether the client has begun a handshake.
    pub(super) fn introduced(&self) -> bool {
        self.introduced
    }

    /// Returns the time at which the next frame that is held back is sent.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.held_back.iter().map(|(at, ..)| *at).min()
    }
    /// Records that the client has begun a handshake.
    pub(super) fn introduce(&mut self) {
        self.introduced = true;
    }

    // Methods about connections.

    /// Decides about a new connection.
    ///
    /// # Errors
    /// Returns the HTTP status if a step refuses the connection.
    pub(super) fn admit(&mut self) -> Result<(), u16> {
        match self.refusals {
            (0, _) => Ok(()),
            (left, status) => {
                self.refusals.0 = left - 1;
                Err(status)
            }
        }
    }

    /// Refuses the next connections.
    pub(super) fn refuse(&mut self, times: u64, status: u16) {
        self.refusals = (times, status);
    }

    /// Records an opened connection. Returns whether no other connection is open.
    pub(super) fn opened(&mut self, conn: ConnId) -> bool {
        let is_only = self.conns.is_empty();
        if is_only {
            self.left = None;
        }
        self.conns.push(conn);
        is_only
    }

    /// Records the end of a connection; `end` has the transcript line and the reason if the client closed it. Returns
    /// whether the connection was open.
    pub(super) fn closed(&mut self, conn: ConnId, end: Option<&(u64, String)>) -> bool {
        let open = self.conns.len();
        self.conns.retain(|it| *it != conn);
        if self.conns.len() == open {
            return false;
        }
        self.held_back.retain(|(_, it, _)| *it != conn);
        if end.is_some() {
            self.left = end.cloned();
        }
        if self.conns.is_empty() {
            self.received.lost();
            self.changed.clear();
        }
        true
    }

    /// Returns the open connections, oldest first.
    pub(super) fn conns(&self) -> &[ConnId] {
        &self.conns
    }

    /// Returns the newest open connection.
    pub(super) fn newest_conn(&self) -> Option<ConnId> {
        self.conns.last().copied()
    }

    /// Returns the transcript line and the reason of the end of the connection that the client closed last; `None` if
    /// the client has opened the next connection.
    pub(super) fn left(&self) -> Option<&(u64, String)> {
        self.left.as_ref()
    }

    // Methods about messages.

    /// Records a message of the client, which may change the states that the client keeps.
    pub(super) fn sent(&mut self, message: &Message) {
        self.received.sent(message);
    }

    /// Applies a message for the client to the states that it has received.
    pub(super) fn told(&mut self, message: &Message) {
        self.received.received(message);
    }

    /// Records the id of a request that a step sends to the client.
    pub(super) fn ask(&mut self, id: &Value) {
        if self.asked.len() < MAX_ASKED {
            self.asked.insert(id.to_string(), ());
        }
    }

    /// Returns whether a step has sent a request with this id to the client.
    pub(super) fn was_asked(&self, id: &Value) -> bool {
        self.asked.contains_key(&id.to_string())
    }

    /// Holds a frame for the client back until its time. Returns the frame if too many frames are held back.
    pub(super) fn hold_back(
        &mut self,
        until: Duration,
        conn: ConnId,
        seen: Arc<SeenFrame>,
    ) -> Option<Arc<SeenFrame>> {
        if self.held_back.len() >= MAX_HELD_BACK {
            return Some(seen);
        }
        self.held_back.push((until, conn, seen));
        None
    }

    /// Removes and returns the frames whose time has come.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<(ConnId, Arc<SeenFrame>)> {
        let is_due = |(at, ..): &mut (Duration, ConnId, Arc<SeenFrame>)| *at <= now;
        let due = self.held_back.extract_if(.., is_due);
        due.map(|(_, conn, seen)| (conn, seen)).collect()
    }

    // Methods about rules for responses.

    /// Adds a rule that changes the host's responses.
    pub(super) fn add_rule(&mut self, rule: ResponseRule) {
        self.rules.push(rule);
    }

    /// Returns the first rule that applies to a message of the client, and counts the message.
    pub(super) fn use_rule(
        &mut self,
        method: &str,
        params: &Value,
        bindings: &NameBindings,
    ) -> Option<ResponseRule> {
        let fits = |rule: &&mut ResponseRule| {
            let fits =
                |pattern: &ValuePattern| pattern.matches(Some(params), bindings, false).is_ok();
            rule.times > 0 && rule.method == method && rule.params.as_ref().is_none_or(fits)
        };
        let rule = self.rules.iter_mut().find(fits)?;
        rule.times -= 1;
        Some(rule.clone())
    }

    /// Makes a rule change the host's response to the request with this id.
    pub(super) fn change_response(&mut self, id: &Value, rule: ResponseRule) {
        self.changed.insert(id.to_string(), rule);
    }

    /// Removes and returns the rule that changes the host's response with this id.
    pub(super) fn take_change(&mut self, id: &Value) -> Option<ResponseRule> {
        self.changed.remove(&id.to_string())
    }

    /// Removes all rules.
    pub(super) fn drop_rules(&mut self) {
        self.rules.clear();
        self.changed.clear();
    }
}

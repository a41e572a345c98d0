//! The tested client of a case: its connections, its driver, and the host's behaviour towards it.
//!
//! The steps of the scenario name the host as if it were a client, so the case has a peer that represents the host.
//! This peer's mailbox holds the messages of the tested client, and the frames that this peer sends go to the tested
//! client. Frames that no step changes are passed on between the tested client and the reference host.
//!
//! Knows: the tasks about a tested client, the states that result from the received frames. Never knows: sockets,
//! processes.
//!
//! Start at [`ScenarioCase::handle_tested_frame`] and [`ScenarioCase::handle_host_frame`].

use std::sync::Arc;
use std::time::Duration;

use crate::edge::VersionEdge;
use crate::scenario::verbs::HOST;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind, is_handshake};
use crate::wire::protocol::Protocol;

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::output::DriverOutput;
use super::response_rule::{ResponseChange, ResponseRule};
use super::tested_client::TestedClient;

/// The first number of the connections of the harness's own clients in a scenario about a client. The tested client's
/// connections are numbered from 0, by the server that accepts them.
const FIRST_CONN: u32 = 1 << 20;
/// The first id of the requests that a step sends to the tested client. The reference host numbers its own
/// requests from 1.
const FIRST_ID: u64 = 1 << 40;
/// The JSON-RPC code for an error that a step does not specify.
const INTERNAL: i64 = -32603;

impl ScenarioCase {
    /// Adds the tested client, and the peer that represents the host.
    pub(super) fn add_tested(&mut self, name: String) {
        let host = self.push_peer(HOST.to_owned(), HOST.to_owned(), false);
        if let Some(peer) = self.clients.get_mut(host) {
            peer.engine.number_from(FIRST_ID);
        }
        self.clients.number_conns_from(FIRST_CONN);
        self.names.set(&format!("{name}.id"), Value::Null);
        self.names.set(&format!("{name}.seq"), json!(0));
        self.tested = Some(TestedClient::new(name, host));
    }

    /// Returns whether a peer represents the host.
    pub(super) fn is_host(&self, peer: PeerId) -> bool {
        self.tested.as_ref().is_some_and(|tested| tested.host() == peer)
    }

    /// Returns whether a connection belongs to the tested client.
    pub(super) fn is_tested(&self, conn: ConnId) -> bool {
        self.tested.is_some() && conn.0 < FIRST_CONN
    }

    /// Returns the transcript line and the reason of the end of the connection that the tested client closed last;
    /// `None` if the client has opened another connection since then. A client may open the next connection before it
    /// closes the last one.
    pub(super) fn left_host(&self, peer: PeerId) -> Option<(u64, String)> {
        self.tested.as_ref().filter(|tested| tested.host() == peer)?.left().cloned()
    }

    // Methods about the connections of the tested client.

    /// Decides about a connection of the tested client.
    ///
    /// # Errors
    /// Returns the HTTP status if a step refuses the connection.
    pub fn admit_tested(&mut self) -> Result<(), u16> {
        self.tested.as_mut().map_or(Ok(()), TestedClient::admit)
    }

    /// Handles an opened connection of the tested client.
    pub fn handle_tested_opened(&mut self, now: Duration, conn: ConnId) {
        self.expire(now);
        let Some(tested) = &mut self.tested else { return };
        let (host, is_only) = (tested.host(), tested.opened(conn));
        if let Some(peer) = self.clients.get_mut(host) {
            peer.joined(conn, is_only);
        }
        self.advance(now);
    }

    /// Handles the end of a connection by the tested client.
    pub fn handle_tested_closed(&mut self, now: Duration, conn: ConnId, line: u64, reason: &str) {
        self.expire(now);
        self.traffic.reach(line);
        self.tested_left(conn, Some((line, reason.to_owned())));
        self.advance(now);
    }

    /// Handles the end of a connection by the host.
    pub fn handle_tested_dropped(&mut self, now: Duration, conn: ConnId, line: u64) {
        self.expire(now);
        self.traffic.reach(line);
        self.tested_left(conn, None);
        self.advance(now);
    }

    fn tested_left(&mut self, conn: ConnId, end: Option<(u64, String)>) {
        let Some(tested) = &mut self.tested else { return };
        if !tested.closed(conn, end.as_ref()) {
            return;
        }
        let (host, newest) = (tested.host(), tested.newest_conn());
        if let Some(peer) = self.clients.get_mut(host) {
            match newest {
                Some(newest) => peer.remain_on(newest),
                None => peer.end(end),
            }
        }
    }

    /// Ends the connections of the tested client.
    pub(super) fn cut_tested(&mut self, graceful: bool) {
        let conns = self.tested.as_ref().map(|tested| tested.conns().to_vec()).unwrap_or_default();
        for conn in conns {
            self.outputs.push(DriverOutput::Close { conn, graceful });
            self.tested_left(conn, None);
        }
    }

    /// Refuses the next connections.
    pub(super) fn refuse(&mut self, times: u64, status: u16) {
        if let Some(tested) = &mut self.tested {
            tested.refuse(times, status);
        }
    }

    // Methods about the frames of the tested client.

    /// Handles a frame of the tested client, and passes it on to the host unless a step answers it.
    pub fn handle_tested_frame(
        &mut self,
        now: Duration,
        conn: ConnId,
        line: u64,
        seen: &Arc<SeenFrame>,
    ) {
        self.expire(now);
        self.traffic.count(line, &seen.frame);
        if self.traffic.is_exceeded() {
            self.flooded(line);
            return;
        }
        let message = seen.message();
        if let (Some(tested), Some(message)) = (&mut self.tested, message) {
            tested.sent(message);
        }
        let passes = match message {
            Some(message) => self.tested_message(now, conn, line, seen, message),
            None => true,
        };
        if passes {
            self.outputs.push(DriverOutput::ToHost { conn, seen: Arc::clone(seen) });
        }
        self.advance(now);
    }

    /// Returns whether a message of the tested client is passed on to the host.
    fn tested_message(
        &mut self,
        now: Duration,
        conn: ConnId,
        line: u64,
        seen: &Arc<SeenFrame>,
        message: &Message,
    ) -> bool {
        let Some(tested) = &self.tested else { return true };
        let host = tested.host();
        match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                let Some(peer) = self.clients.get_mut(host) else { return true };
                let own = message.id().is_some_and(|id| tested.was_asked(id));
                if own {
                    if let Some(method) = peer.accepted_request(message) {
                        self.log.accepted("request", &method);
                    }
                    peer.engine.handle(message);
                    peer.keep_answer(line, seen);
                }
                !own
            }
            MessageKind::Request | MessageKind::Notification => {
                self.introduce(message);
                let lifted = self.lifted(message);
                let lifted =
                    lifted.map_or_else(|| Arc::clone(seen), |it| Arc::new(SeenFrame::of(it)));
                if let Some(peer) = self.clients.get_mut(host) {
                    peer.mailbox.push(line, Arc::clone(&lifted));
                }
                self.hold_against_watches(host, line, lifted.message().unwrap_or(message));
                !self.intercept(now, conn, lifted.message().unwrap_or(message))
            }
            _ => true,
        }
    }

    /// Returns the translation between the version of the tested client and the vocabulary of the steps; `None` if they
    /// are the same.
    pub(super) fn tested_edge(&self) -> Option<VersionEdge> {
        self.tested.as_ref()?;
        Some(self.edge()).filter(|edge| !edge.is_plain())
    }

    /// Translates a message of the tested client to the vocabulary of the steps; `None` if it needs no translation.
    fn lifted(&self, message: &Message) -> Option<Message> {
        // A message to an MCP server may have its channel beside the params. Source: mcp-channel.md, wire format.
        let beside = &message.value()["channel"];
        if beside.is_string() && message.params()["channel"].is_null() {
            let mut value = message.value().clone();
            value["params"]["channel"] = beside.clone();
            return Some(Message::new(value));
        }
        let (edge, method) = (self.tested_edge()?, message.method()?);
        let mut value = message.value().clone();
        value["params"] = match method {
            "dispatchAction" => edge.lift_envelope(message.params()),
            _ => edge.lift_params(method, message.params().clone()),
        };
        Some(Message::new(value))
    }

    /// Binds the id of the tested client from its handshake. A `reconnect` does not change a known id, because a client
    /// resumes with the id of its `initialize`.
    fn introduce(&mut self, message: &Message) {
        if !message.method().is_some_and(is_handshake) {
            return;
        }
        let Some(tested) = &mut self.tested else { return };
        tested.introduce();
        let id = message.params()["clientId"].clone();
        let name = format!("{}.id", tested.name());
        let is_known = self.names.get(&name).is_some_and(Value::is_string);
        if id.is_string() && (message.method() == Some("initialize") || !is_known) {
            self.names.set(&name, id);
        }
    }

    /// Applies the rules of `respond` steps to a request or a notification. Returns whether a rule answers the
    /// request, or ignores the notification, so that the host does not see it.
    fn intercept(&mut self, now: Duration, conn: ConnId, message: &Message) -> bool {
        let Some(method) = message.method() else { return false };
        let Some(tested) = &mut self.tested else { return false };
        let rule = tested.use_rule(method, message.params(), self.names.bindings());
        let Some(rule) = rule else { return false };
        let Some(id) = message.id().cloned() else {
            return matches!(rule.change, ResponseChange::Silence);
        };
        let response = match &rule.change {
            // The host still receives the handshake, because otherwise it would not serve the connection. The response
            // of the host is replaced later.
            ResponseChange::Result(_) if is_handshake(method) => {
                tested.change_response(&id, rule);
                return false;
            }
            ResponseChange::Result(result) => Message::success(id, result.clone()),
            ResponseChange::Error(error) => {
                let code = error["code"].as_i64().unwrap_or(INTERNAL);
                let text = error["message"].as_str().unwrap_or("scripted");
                Message::failure(id, code, text, error["data"].clone())
            }
            _ => {
                tested.change_response(&id, rule);
                return false;
            }
        };
        self.send_later(now, conn, rule.delay, Arc::new(SeenFrame::of(response)));
        true
    }

    /// Handles a frame of the host for the tested client, and passes it on, changed by the rules of `respond` steps.
    pub fn handle_host_frame(&mut self, now: Duration, conn: ConnId, seen: &Arc<SeenFrame>) {
        self.expire(now);
        let message = seen.message();
        let answers = message.filter(|message| {
            matches!(message.kind(), MessageKind::Success | MessageKind::Failure)
        });
        let id = answers.and_then(Message::id);
        let rule = id.and_then(|id| self.tested.as_mut()?.take_change(id));
        let Some((rule, message)) = rule.zip(message) else {
            self.send_to_tested(conn, Arc::clone(seen));
            // A step may wait for the response to the handshake.
            return self.advance(now);
        };
        match &rule.change {
            ResponseChange::Silence => {}
            ResponseChange::Cut => self.cut_tested(false),
            ResponseChange::Twice => {
                self.send_later(now, conn, rule.delay, Arc::clone(seen));
                self.send_later(now, conn, rule.delay, Arc::clone(seen));
            }
            ResponseChange::Merge(patch) => {
                let mut result = message.result().cloned().unwrap_or_default();
                merge(&mut result, patch);
                let id = message.id().cloned().unwrap_or_default();
                let changed = Message::success(id, result);
                self.send_later(now, conn, rule.delay, Arc::new(SeenFrame::of(changed)));
            }
            ResponseChange::Result(result) => {
                let id = message.id().cloned().unwrap_or_default();
                let changed = Message::success(id, result.clone());
                self.send_later(now, conn, rule.delay, Arc::new(SeenFrame::of(changed)));
            }
            ResponseChange::Nothing | ResponseChange::Error(_) => {
                self.send_later(now, conn, rule.delay, Arc::clone(seen));
            }
        }
        self.advance(now);
    }

    fn send_later(
        &mut self,
        now: Duration,
        conn: ConnId,
        delay: Option<Duration>,
        seen: Arc<SeenFrame>,
    ) {
        let now_due = match (delay, &mut self.tested) {
            (Some(delay), Some(tested)) => tested.hold_back(now + delay, conn, seen),
            _ => Some(seen),
        };
        if let Some(seen) = now_due {
            self.send_to_tested(conn, seen);
        }
    }

    /// Sends the frames whose time has come.
    pub(super) fn release_held_back(&mut self, now: Duration) {
        let due = self.tested.as_mut().map(|tested| tested.take_due(now)).unwrap_or_default();
        for (conn, seen) in due {
            self.send_to_tested(conn, seen);
        }
    }

    /// Sends a frame to the tested client, and applies it to the states that the client has received. Every frame for
    /// the client goes through this function.
    fn send_to_tested(&mut self, conn: ConnId, seen: Arc<SeenFrame>) {
        let Some(tested) = &mut self.tested else { return };
        if let Some(message) = seen.message() {
            tested.told(message);
            let (name, host) = (format!("{}.seq", tested.name()), format!("{HOST}.seq"));
            let last_seen = json!(tested.received().last_seen());
            self.names.set(&name, last_seen.clone());
            self.names.set(&host, last_seen);
        }
        self.outputs.push(DriverOutput::Send { conn, seen });
    }

    /// Sends a frame of a step to the tested client, over its newest connection.
    pub(super) fn send_as_host(&mut self, seen: Arc<SeenFrame>) {
        let Some(tested) = &mut self.tested else { return };
        let request = seen.message().filter(|message| message.kind() == MessageKind::Request);
        if let Some(id) = request.and_then(Message::id) {
            tested.ask(id);
        }
        if let Some(conn) = tested.newest_conn() {
            self.send_to_tested(conn, seen);
        }
    }

    /// Adds a rule that changes the host's responses.
    pub(super) fn respond(&mut self, rule: ResponseRule, value: Option<Value>) {
        let value = value.unwrap_or_default();
        let change = match rule.change {
            ResponseChange::Result(_) => ResponseChange::Result(value),
            ResponseChange::Error(_) => ResponseChange::Error(value),
            ResponseChange::Merge(_) => ResponseChange::Merge(value),
            other => other,
        };
        if let Some(tested) = &mut self.tested {
            tested.add_rule(ResponseRule { change, ..rule });
        }
    }

    /// Returns the table of the version that the tested client negotiated.
    pub(super) fn wire_protocol(&self) -> Option<&'static Protocol> {
        Protocol::of(self.tested.as_ref()?.received().version()?)
    }

    /// Removes the rules of `respond` steps after the last step, so that the client can finish its work.
    pub(super) fn drop_rules(&mut self) {
        if let Some(tested) = &mut self.tested {
            tested.drop_rules();
        }
    }
}

/// Applies a JSON Merge Patch (RFC 7396).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in members {
        let Some(object) = target.as_object_mut() else { return };
        match value {
            Value::Null => drop(object.remove(name.as_str())),
            value => merge(object.entry(name.as_str()).or_insert_with(|| Value::Null), value),
        }
    }
}

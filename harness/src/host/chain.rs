//! A chain of rewriters between clients and the reference host: injected faults are next to the host, and legal
//! variants are next to the clients.
//!
//! A rewriter sees every message with the names of the negotiated version. A rewriter may change, drop, repeat
//! or delay a message, answer a client itself, send a message to another connection, or close connections.
//! [`SeenTraffic`] records earlier traffic.
//!
//! Knows: messages, versions, subscriptions. Never knows: states, faults, variants, rules.
//!
//! Start at [`MessageRewriter`] and [`MessageChain`].

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::records::RecordVisitor;
use crate::wire::version::Version;

use super::HostOutput;

/// The maximum number of open requests that are remembered.
const MAX_ASKED: usize = 100_000;

/// Whether a message of a client is passed to the host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MessagePassage {
    /// The host receives the message.
    Onward,
    /// The host does not receive the message.
    Stopped,
}

/// Changes the messages between clients and the host.
pub(super) trait MessageRewriter: Send {
    /// Changes the headers of a request to open a connection.
    fn on_admission(&mut self, _headers: &mut Vec<(String, String)>) {}
    /// Handles a raw frame of a client before it is parsed.
    fn on_client_frame(
        &mut self,
        _link: &MessageLink<'_>,
        _frame: &Frame,
        _out: &mut RewriterOutput,
    ) -> MessagePassage {
        MessagePassage::Onward
    }
    /// Rewrites a message of a client. A returned message is sent to the client as the response, and the host does not
    /// receive the request.
    fn edit_client_message(
        &mut self,
        _link: &MessageLink<'_>,
        _message: &mut Value,
    ) -> Option<Value> {
        None
    }
    /// Handles a message of a client; the default calls [`MessageRewriter::edit_client_message`]. The chain
    /// sends the messages in `out` to clients at once.
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        out: &mut RewriterOutput,
    ) -> MessagePassage {
        match self.edit_client_message(link, message) {
            Some(response) => {
                out.send(response);
                MessagePassage::Stopped
            }
            None => MessagePassage::Onward,
        }
    }
    /// Rewrites a message of the host: the chain sends the messages in `out`, in their order, in place of the
    /// message.
    fn on_host_message(
        &mut self,
        _link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        out.send(message);
    }
    /// Returns the JSON text of a message; `None` keeps the text that the host would send.
    fn spelled(&self, _message: &Value) -> Option<String> {
        None
    }
    /// Returns the delay of a message to a client. The order of messages on a connection does not change.
    fn delay(&mut self, _link: &MessageLink<'_>, _message: &Value) -> Duration {
        Duration::ZERO
    }
    /// Returns the delay of a message that later messages of the connection may overtake; `None` if the order
    /// must not change.
    fn overtaken(&self, _link: &MessageLink<'_>) -> Option<Duration> {
        None
    }
}

/// A message that a rewriter sends, or a connection that it closes.
#[derive(Debug)]
enum ConnectionEffect {
    Send(ConnId, Value),
    Close(ConnId, u16, &'static str),
}

/// Collects the messages that a rewriter sends and the connections that it closes.
#[derive(Debug)]
pub(super) struct RewriterOutput {
    conn: ConnId,
    effects: Vec<ConnectionEffect>,
}

impl RewriterOutput {
    fn new(conn: ConnId) -> RewriterOutput {
        RewriterOutput { conn, effects: Vec::new() }
    }

    /// Sends a message to the connection of the link.
    pub(super) fn send(&mut self, message: Value) {
        self.effects.push(ConnectionEffect::Send(self.conn, message));
    }

    /// Sends a message to another connection.
    pub(super) fn send_to(&mut self, conn: ConnId, message: Value) {
        self.effects.push(ConnectionEffect::Send(conn, message));
    }

    /// Closes a connection with a WebSocket code, after the messages that were sent on the connection before.
    pub(super) fn close(&mut self, conn: ConnId, code: u16, reason: &'static str) {
        self.effects.push(ConnectionEffect::Close(conn, code, reason));
    }
}

/// The context of a message: its connection, the request that it answers, and earlier traffic.
#[derive(Clone, Copy, Debug)]
pub struct MessageLink<'a> {
    /// The connection to which the message belongs.
    pub conn: ConnId,
    /// The method of the request, if the message is a response.
    pub answers: Option<&'a str>,
    /// The request that the message answers, as the client sent it; `None` if the message is not a response.
    pub request: Option<&'a Value>,
    /// The version that the client and the host have negotiated; before the handshake, the newest version.
    pub protocol: &'static Protocol,
    /// The current time of the host.
    pub now: Duration,
    pub(super) seen: &'a SeenTraffic,
}

impl MessageLink<'_> {
    /// Calls `visit` for each object of a message with the name of the object's type; leaves out actions of
    /// clients.
    pub(super) fn visit_records(&self, message: &mut Value, visit: &mut RecordVisitor<'_>) {
        self.protocol.visit_records(message, self.answers, visit);
    }

    /// Returns the channel of the `subscribe` request that the message answers; `None` for other messages.
    pub(super) fn subscribed(&self) -> Option<&str> {
        let request = self.request.filter(|_| self.answers == Some("subscribe"));
        request.and_then(|request| subject_of(&request["params"]))
    }

    /// Returns the observed state of the connection; `None` if the connection is unknown.
    pub(super) fn own(&self) -> Option<&SeenConnection> {
        self.seen.connections.get(&self.conn)
    }
}

/// Calls `visit` for each list of envelopes in the result of a `reconnect`.
pub(super) fn each_envelope_list(message: &mut Value, visit: &mut dyn FnMut(&mut Vec<Value>)) {
    let result = message.get_mut("result").and_then(|result| result.get_mut("actions"));
    result.and_then(Value::as_array_mut).into_iter().for_each(visit);
}

/// Returns the channel that the params of `subscribe` and `unsubscribe` name; older versions name the channel
/// in `resource`.
pub(super) fn subject_of(params: &Value) -> Option<&str> {
    params.get("channel").or_else(|| params.get("resource")).and_then(Value::as_str)
}

/// The state of a connection, as seen in its messages.
#[derive(Debug, Default)]
pub(super) struct SeenConnection {
    /// The client id of the connection, after the handshake.
    pub(super) client: Option<String>,
    /// The version that the connection has negotiated.
    pub(super) protocol: Option<&'static Protocol>,
    /// The subscribed channels, in the spelling of the connection and in the order of subscription.
    pub(super) subscriptions: Vec<String>,
    /// The number of requests received so far.
    pub(super) requests: u64,
    /// Whether the client has stopped reading.
    pub(super) held: bool,
    /// Whether a rewriter has closed the connection; no further message passes.
    closing: bool,
}

impl SeenConnection {
    /// Returns whether the connection is subscribed to a channel.
    pub(super) fn hears(&self, channel: &str) -> bool {
        self.subscriptions.iter().any(|own| own == channel)
    }
}

/// The state of all connections, as seen in their messages.
#[derive(Debug, Default)]
pub(super) struct SeenTraffic {
    /// The open connections.
    pub(super) connections: BTreeMap<ConnId, SeenConnection>,
    /// The versions that the host supports, newest first.
    pub(super) served: Vec<Version>,
    /// The version of each client that has completed a handshake. A `reconnect` does not name a version.
    clients: HashMap<String, &'static Protocol>,
    /// The version that was negotiated last.
    latest: Option<&'static Protocol>,
}

impl SeenTraffic {
    fn protocol(&self, conn: ConnId) -> &'static Protocol {
        let own = self.connections.get(&conn).and_then(|it| it.protocol);
        own.or(self.latest).unwrap_or_else(Protocol::newest)
    }

    fn hear_client(&mut self, conn: ConnId, message: &Value) {
        let known = self.connections.entry(conn).or_default();
        if message.get("method").is_some() && message.get("id").is_some() {
            known.requests += 1;
        }
        if message["method"] == "unsubscribe"
            && let Some(channel) = subject_of(&message["params"])
        {
            known.subscriptions.retain(|own| own != channel);
        }
    }

    fn hear_response(&mut self, conn: ConnId, request: &Value, response: &Value) {
        let Some(result) = response.get("result") else {
            return;
        };
        let params = &request["params"];
        let client = params["clientId"].as_str().map(str::to_owned);
        let texts = |list: &Value| -> Vec<String> {
            let list = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            list.map(str::to_owned).collect()
        };
        let protocol = match request["method"].as_str() {
            Some("initialize") => negotiated(result),
            Some("reconnect") => client.as_ref().and_then(|name| self.clients.get(name)).copied(),
            _ => None,
        };
        let known = self.connections.entry(conn).or_default();
        match request["method"].as_str() {
            Some("initialize") => {
                known.subscriptions = texts(&params["initialSubscriptions"]);
                if let Some(protocol) = protocol {
                    self.latest = Some(protocol);
                    self.clients.extend(client.clone().map(|name| (name, protocol)));
                }
            }
            Some("reconnect") => {
                let gone = texts(&result["missing"]);
                known.subscriptions = texts(&params["subscriptions"]);
                known.subscriptions.retain(|channel| !gone.contains(channel));
            }
            Some("subscribe") => {
                let channel = subject_of(params).filter(|channel| !known.hears(channel));
                known.subscriptions.extend(channel.map(str::to_owned));
                return;
            }
            _ => return,
        }
        known.client = client;
        known.protocol = protocol.or(known.protocol);
    }
}

/// Returns the version in the result of an `initialize`. Version 1 of the specification is a number.
fn negotiated(result: &Value) -> Option<&'static Protocol> {
    let version = result.get("protocolVersion")?;
    let text = version.as_str().map_or_else(|| version.to_text(), str::to_owned);
    Protocol::of(text.parse::<Version>().ok()?)
}

/// The rewriters of a host, and the outputs that wait to be sent.
#[derive(Default)]
pub(super) struct MessageChain {
    /// The rewriters, in order from the host to the clients.
    rewriters: Vec<Box<dyn MessageRewriter>>,
    /// The requests that have no response yet, by connection and request id.
    asked: HashMap<(ConnId, String), Value>,
    /// Outputs with the time at which each is due.
    waiting: VecDeque<(Duration, HostOutput)>,
    /// The time at which the last message of each connection is due.
    last: HashMap<ConnId, Duration>,
    seen: SeenTraffic,
    now: Duration,
}

impl fmt::Debug for MessageChain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MessageChain")
            .field("rewriters", &self.rewriters.len())
            .field("waiting", &self.waiting)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl MessageChain {
    /// Creates a chain of rewriters, in order from the host to the clients; `served` are the versions that the
    /// host supports.
    pub(super) fn new(
        rewriters: Vec<Box<dyn MessageRewriter>>,
        served: Vec<Version>,
    ) -> MessageChain {
        let seen = SeenTraffic { served, ..SeenTraffic::default() };
        MessageChain { rewriters, seen, ..MessageChain::default() }
    }

    /// Returns whether there are no rewriters.
    pub(super) fn is_empty(&self) -> bool {
        self.rewriters.is_empty()
    }

    /// Advances the time to `now`.
    pub(super) fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Returns the headers that the host sees in a request to open a connection.
    pub(super) fn admission(&mut self, headers: &[(String, String)]) -> Vec<(String, String)> {
        let mut headers = headers.to_vec();
        self.rewriters.iter_mut().rev().for_each(|one| one.on_admission(&mut headers));
        headers
    }

    /// Records an opened connection.
    pub(super) fn opened(&mut self, conn: ConnId) {
        self.seen.connections.insert(conn, SeenConnection::default());
    }

    /// Records that the client of a connection has stopped or resumed reading.
    pub(super) fn held(&mut self, conn: ConnId, held: bool) {
        self.seen.connections.entry(conn).or_default().held = held;
    }

    /// Forgets a closed connection and discards its waiting output.
    pub(super) fn closed(&mut self, conn: ConnId) {
        let mine = |output: &HostOutput| matches!(output, HostOutput::Send { conn: of, .. } | HostOutput::Close { conn: of, .. } if *of == conn);
        self.waiting.retain(|(_, output)| !mine(output));
        self.last.remove(&conn);
        self.seen.connections.remove(&conn);
        self.asked.retain(|(of, _), _| *of != conn);
    }

    /// Forgets all connections after a crash of the host.
    pub(super) fn restarted(&mut self) {
        self.waiting.clear();
        self.last.clear();
        self.asked.clear();
        self.seen.connections.clear();
    }

    /// Returns the frame that the host receives for a client's frame; `None` if a rewriter has stopped the
    /// frame.
    pub(super) fn incoming(&mut self, conn: ConnId, frame: &Frame) -> Option<Frame> {
        if self.seen.connections.get(&conn).is_some_and(|known| known.closing) {
            return None;
        }
        // The rewriter farthest from the host comes first.
        for place in (0..self.rewriters.len()).rev() {
            let mut out = RewriterOutput::new(conn);
            let link = link(&self.seen, self.now, conn, None);
            let passage = self.rewriters.get_mut(place)?.on_client_frame(&link, frame, &mut out);
            self.carry(out.effects, None, place + 1);
            if passage == MessagePassage::Stopped {
                return None;
            }
        }
        let Frame::Text(text) = frame else { return Some(frame.clone()) };
        let Some(mut message) = object(text) else { return Some(frame.clone()) };
        self.seen.hear_client(conn, &message);
        let before = message.clone();
        let id = message.get("id").map(Value::to_text);
        if let Some(id) = id.filter(|_| message["method"].is_string())
            && self.asked.len() < MAX_ASKED
        {
            self.asked.insert((conn, id), message.clone());
        }
        for place in (0..self.rewriters.len()).rev() {
            let mut out = RewriterOutput::new(conn);
            let link = link(&self.seen, self.now, conn, None);
            let rewriter = self.rewriters.get_mut(place)?;
            let passage = rewriter.on_client_message(&link, &mut message, &mut out);
            let stopped = passage == MessagePassage::Stopped;
            let answers = |effect: &ConnectionEffect| matches!(effect, ConnectionEffect::Send(to, sent) if *to == conn && answers(sent, &before));
            let request = (stopped && out.effects.iter().any(answers))
                .then(|| self.answered(conn, &before))
                .flatten();
            self.carry(out.effects, request.as_ref(), place + 1);
            if stopped {
                return None;
            }
        }
        // A message that no rewriter has changed keeps the bytes of the original frame.
        Some(if message == before { frame.clone() } else { Frame::json(&message) })
    }

    /// Passes an output of the host through the rewriters.
    pub(super) fn outgoing(&mut self, output: HostOutput) {
        match output {
            HostOutput::Send { conn, frame } => {
                let text = std::str::from_utf8(frame.bytes()).ok();
                match text.and_then(object) {
                    Some(message) => {
                        let response = message.get("method").is_none();
                        let request = response.then(|| self.answered(conn, &message)).flatten();
                        if let Some(request) = &request {
                            self.seen.hear_response(conn, request, &message);
                        }
                        self.carry(
                            vec![ConnectionEffect::Send(conn, message)],
                            request.as_ref(),
                            0,
                        );
                    }
                    None => self.send(conn, Duration::ZERO, HostOutput::Send { conn, frame }),
                }
            }
            HostOutput::Close { conn, .. } => self.send(conn, Duration::ZERO, output),
            output => self.waiting.push_back((self.now, output)),
        }
    }

    /// Returns the next output that is due; `None` if there is none.
    pub(super) fn poll(&mut self) -> Option<HostOutput> {
        let due = self.waiting.iter().position(|(due, _)| *due <= self.now)?;
        self.waiting.remove(due).map(|(_, output)| output)
    }

    /// Returns the time at which the next output is due; `None` if no output waits.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.waiting.iter().map(|(due, _)| *due).min()
    }

    /// Removes the request that a response answers from the open requests.
    fn answered(&mut self, conn: ConnId, response: &Value) -> Option<Value> {
        self.asked.remove(&(conn, response.get("id")?.to_text()))
    }

    /// Passes messages through the rewriters from index `from` on; `request` is the request that the messages
    /// answer.
    fn carry(&mut self, mut effects: Vec<ConnectionEffect>, request: Option<&Value>, from: usize) {
        let Some(ConnectionEffect::Send(first, _)) = effects.first() else {
            return effects.into_iter().for_each(|effect| self.act(effect, Duration::ZERO, None));
        };
        let first = *first;
        let mut delay = Duration::ZERO;
        let overtaken = {
            let link = link(&self.seen, self.now, first, request);
            self.rewriters.iter().filter_map(|one| one.overtaken(&link)).max()
        };
        for rewriter in self.rewriters.iter_mut().skip(from) {
            let mut passed = Vec::new();
            for effect in effects {
                match effect {
                    ConnectionEffect::Send(conn, message) => {
                        let mut out = RewriterOutput::new(conn);
                        let link = link(&self.seen, self.now, conn, request);
                        rewriter.on_host_message(&link, message, &mut out);
                        passed.extend(out.effects);
                    }
                    close @ ConnectionEffect::Close(..) => passed.push(close),
                }
            }
            effects = passed;
            if let Some(ConnectionEffect::Send(conn, message)) = effects.first() {
                let link = link(&self.seen, self.now, *conn, request);
                delay = delay.max(rewriter.delay(&link, message));
            }
        }
        effects.into_iter().for_each(|effect| self.act(effect, delay, overtaken));
    }

    fn act(&mut self, effect: ConnectionEffect, delay: Duration, overtaken: Option<Duration>) {
        match effect {
            ConnectionEffect::Send(conn, message) => {
                if self.seen.connections.get(&conn).is_some_and(|known| known.closing) {
                    return;
                }
                let spelled = self.rewriters.iter().rev().find_map(|one| one.spelled(&message));
                let frame = Frame::Text(spelled.unwrap_or_else(|| message.to_text()));
                let output = HostOutput::Send { conn, frame };
                match overtaken {
                    Some(late) => {
                        // Later messages may overtake this message, but this message does not overtake an earlier one.
                        let due = self.in_order(conn, delay);
                        self.waiting.push_back((due + late, output));
                    }
                    None => self.send(conn, delay, output),
                }
            }
            ConnectionEffect::Close(conn, code, reason) => {
                let known = self.seen.connections.entry(conn).or_default();
                if !std::mem::replace(&mut known.closing, true) {
                    let reason = reason.to_owned();
                    self.send(conn, delay, HostOutput::Close { conn, code, reason });
                }
            }
        }
    }

    /// Returns the time at which a message is due after all earlier messages of its connection.
    fn in_order(&self, conn: ConnId, delay: Duration) -> Duration {
        let last = self.last.get(&conn).copied().unwrap_or_default();
        (self.now + delay).max(last)
    }

    fn send(&mut self, conn: ConnId, delay: Duration, output: HostOutput) {
        let due = self.in_order(conn, delay);
        self.last.insert(conn, due);
        self.waiting.push_back((due, output));
    }
}

fn link<'a>(
    seen: &'a SeenTraffic,
    now: Duration,
    conn: ConnId,
    request: Option<&'a Value>,
) -> MessageLink<'a> {
    let answers = request.and_then(|request| request["method"].as_str());
    MessageLink { conn, answers, request, protocol: seen.protocol(conn), now, seen }
}

/// Returns whether a message is the response to a request.
fn answers(message: &Value, request: &Value) -> bool {
    message.get("method").is_none() && message.get("id") == request.get("id")
}

/// Parses a string as a JSON object; `None` if it is not a JSON object.
fn object(text: &str) -> Option<Value> {
    Value::read(text).ok().filter(Value::is_object)
}

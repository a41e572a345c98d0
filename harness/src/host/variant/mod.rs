//! Legal variants: behaviour that the specification permits and that the reference host does not show.
//!
//! An injected fault proves that a check can fail. A variant proves that no check fails on a legal host. Variants
//! are not branches of the reference host: each is a struct that rewrites the messages between clients and host,
//! so that several can be combined. `catalogue` lists them with the text that permits each.
//!
//! Knows: the reference host, messages. Never knows: rules, scenarios.
//!
//! Start at [`LegalVariant`] and [`VariantHost`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::peer::errand::Errand;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::records::RecordVisitor;
use crate::wire::spelling::walk;
use crate::wire::version::Version;

use super::engine::{Config, RefHost};
use super::{Host, Output, shell};

mod absence;
mod catalogue;
mod companions;
mod delivery;
mod names;
mod omission;
mod settings;
mod spelling;
mod traffic;
mod values;

pub use catalogue::{VARIANTS, VariantRow};

/// One legal choice of a host.
pub trait LegalVariant: Send {
    /// Changes the configuration of the reference host.
    fn set_up(&self, _config: &mut Config) {}
    /// Rewrites a message of a client. A returned message is sent to the client as the response, and the host
    /// does not receive the request.
    fn on_client_message(
        &mut self,
        _link: &MessageLink<'_>,
        _message: &mut Value,
    ) -> Option<Value> {
        None
    }
    /// Rewrites a message of the host: pushes the messages that are sent instead, in order.
    fn on_host_message(&mut self, _link: &MessageLink<'_>, message: Value, out: &mut Vec<Value>) {
        out.push(message);
    }
    /// The serialized text of a message; `None` for the usual one.
    fn spelled(&self, _message: &Value) -> Option<String> {
        None
    }
    /// The delay of a message to a client. The order of messages on a connection does not change.
    fn delay(&mut self, _link: &MessageLink<'_>, _message: &Value) -> Duration {
        Duration::ZERO
    }
    /// The delay of a message that later messages of the connection may overtake; `None` for a message that
    /// keeps its place.
    fn overtaken(&self, _link: &MessageLink<'_>) -> Option<Duration> {
        None
    }
}

/// Where a message is sent, and what it answers.
#[derive(Clone, Copy, Debug)]
pub struct MessageLink<'a> {
    /// The connection.
    pub conn: ConnId,
    /// The method of the request, if the message is a response.
    pub answers: Option<&'a str>,
    /// The version that the client and the host speak; before the handshake, the newest one.
    pub protocol: Option<&'static Protocol>,
    /// The time of the host.
    pub now: Duration,
}

impl MessageLink<'_> {
    /// Calls `visit` for each object of a message with the name of its type, but not for actions of clients.
    fn visit_records(&self, message: &mut Value, visit: &mut RecordVisitor<'_>) {
        if let Some(protocol) = self.protocol {
            protocol.visit_records(message, self.answers, visit);
        }
    }
}

/// Calls `visit` for each list of envelopes in the result of a `reconnect`.
fn each_envelope_list(message: &mut Value, visit: &mut dyn FnMut(&mut Vec<Value>)) {
    let result = message.get_mut("result").and_then(|result| result.get_mut("actions"));
    result.and_then(Value::as_array_mut).into_iter().for_each(visit);
}

/// The reference host behind a chain of variants.
pub struct VariantHost {
    inner: RefHost,
    variants: Vec<Box<dyn LegalVariant>>,
    /// The methods of requests that have no response yet, by connection and request id.
    asked: HashMap<(ConnId, String), String>,
    /// Outputs with the time at which each is due.
    waiting: VecDeque<(Duration, Output)>,
    /// When the last message of each connection is due.
    last: HashMap<ConnId, Duration>,
    /// The versions that were negotiated.
    spoken: HashMap<ConnId, &'static Protocol>,
    /// The version that was negotiated last. A connection that begins with `reconnect` negotiates none.
    latest: Option<&'static Protocol>,
    now: Duration,
}

/// Requests whose methods are remembered.
const MAX_ASKED: usize = 100_000;

impl VariantHost {
    /// A reference host with these variants, the first one next to the host.
    pub fn new(rows: &[&VariantRow], mut config: Config) -> VariantHost {
        let variants: Vec<_> = rows.iter().map(|row| row.make()).collect();
        variants.iter().for_each(|variant| variant.set_up(&mut config));
        VariantHost {
            inner: RefHost::new(config),
            variants,
            asked: HashMap::new(),
            waiting: VecDeque::new(),
            last: HashMap::new(),
            spoken: HashMap::new(),
            latest: None,
            now: Duration::ZERO,
        }
    }

    fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// The frame that the host receives for a client's frame; `None` if a variant has answered it.
    fn incoming(&mut self, conn: ConnId, frame: &Frame) -> Option<Frame> {
        let Frame::Text(text) = frame else { return Some(frame.clone()) };
        let Some(mut message) = object(text) else { return Some(frame.clone()) };
        let before = message.clone();
        let id = message.get("id").map(Value::to_text);
        if let Some((id, method)) = id.zip(message["method"].as_str())
            && self.asked.len() < MAX_ASKED
        {
            self.asked.insert((conn, id), method.to_owned());
        }
        let link = self.link(conn, None);
        // The variant farthest from the host comes first.
        for place in (0..self.variants.len()).rev() {
            let variant = self.variants.get_mut(place)?;
            if let Some(answer) = variant.on_client_message(&link, &mut message) {
                self.outgoing(conn, answer, place + 1);
                return None;
            }
        }
        // A message that no variant has changed keeps its bytes.
        Some(if message == before { frame.clone() } else { Frame::json(&message) })
    }

    /// Sends a message through the variants, beginning with the one at `from`.
    fn outgoing(&mut self, conn: ConnId, message: Value, from: usize) {
        let method = message.get("method").is_none().then(|| message.get("id")).flatten();
        let method = method.and_then(|id| self.asked.remove(&(conn, id.to_text())));
        if method.as_deref() == Some("initialize") {
            self.negotiated(conn, &message);
        }
        let link = self.link(conn, method.as_deref());
        let mut messages = vec![message];
        let mut delay = Duration::ZERO;
        let overtaken = self.variants.iter().filter_map(|variant| variant.overtaken(&link)).max();
        for variant in self.variants.iter_mut().skip(from) {
            let mut out = Vec::new();
            messages
                .into_iter()
                .for_each(|message| variant.on_host_message(&link, message, &mut out));
            messages = out;
            delay =
                delay.max(messages.first().map_or(Duration::ZERO, |it| variant.delay(&link, it)));
        }
        for message in messages {
            let spelled = self.variants.iter().rev().find_map(|variant| variant.spelled(&message));
            let frame = Frame::Text(spelled.unwrap_or_else(|| message.to_text()));
            let output = Output::Send { conn, frame };
            match overtaken {
                Some(late) => self.waiting.push_back((self.now + delay + late, output)),
                None => self.send(conn, delay, output),
            }
        }
    }

    fn link<'a>(&self, conn: ConnId, answers: Option<&'a str>) -> MessageLink<'a> {
        let newest = || Protocol::known().first().and_then(|version| Protocol::of(*version));
        let protocol = self.spoken.get(&conn).copied().or(self.latest).or_else(newest);
        MessageLink { conn, answers, protocol, now: self.now }
    }

    fn negotiated(&mut self, conn: ConnId, answer: &Value) {
        let version = answer.pointer("/result/protocolVersion").and_then(Value::as_str);
        let version = version.and_then(|text| text.parse::<Version>().ok());
        if let Some(protocol) = version.and_then(Protocol::played) {
            self.latest = Some(protocol);
            self.spoken.insert(conn, protocol);
        }
    }

    fn send(&mut self, conn: ConnId, delay: Duration, output: Output) {
        let last = self.last.entry(conn).or_default();
        *last = (self.now + delay).max(*last);
        self.waiting.push_back((*last, output));
    }

    fn drain(&mut self) {
        while let Some(output) = self.inner.poll_output() {
            match output {
                Output::Send { conn, frame } => {
                    let text = std::str::from_utf8(frame.bytes()).ok();
                    match text.and_then(object) {
                        Some(message) => self.outgoing(conn, message, 0),
                        None => self.send(conn, Duration::ZERO, Output::Send { conn, frame }),
                    }
                }
                Output::Close { conn, .. } => self.send(conn, Duration::ZERO, output),
                output => self.waiting.push_back((self.now, output)),
            }
        }
    }
}

/// Reads a text that is a JSON object.
fn object(text: &str) -> Option<Value> {
    Value::read(text).ok().filter(Value::is_object)
}

impl Host for VariantHost {
    fn admit(
        &mut self,
        now: Duration,
        conn: ConnId,
        headers: &[(String, String)],
    ) -> Result<(), u16> {
        self.pass(now);
        self.inner.admit(now, conn, headers)
    }

    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.pass(now);
        self.inner.handle_open(now, conn);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.pass(now);
        if let Some(frame) = self.incoming(conn, frame) {
            self.inner.handle_frame(now, conn, &frame);
        }
        self.drain();
    }

    fn handle_held(&mut self, now: Duration, conn: ConnId, held: bool) {
        self.inner.handle_held(now, conn, held);
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.pass(now);
        let mine = |output: &Output| matches!(output, Output::Send { conn: of, .. } | Output::Close { conn: of, .. } if *of == conn);
        self.waiting.retain(|(_, output)| !mine(output));
        self.last.remove(&conn);
        self.spoken.remove(&conn);
        self.asked.retain(|(of, _), _| *of != conn);
        self.inner.handle_close(now, conn);
        self.drain();
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.pass(now);
        self.inner.handle_timeout(now);
        self.drain();
    }

    fn next_timeout(&self) -> Option<Duration> {
        let waiting = self.waiting.iter().map(|(due, _)| *due).min();
        waiting.into_iter().chain(self.inner.next_timeout()).min()
    }

    fn handle_agent(&mut self, now: Duration, line: Option<&str>) {
        self.pass(now);
        self.inner.handle_agent(now, line);
        self.drain();
    }

    fn handle_shell(&mut self, now: Duration, terminal: &str, said: shell::Said) {
        self.pass(now);
        self.inner.handle_shell(now, terminal, said);
        self.drain();
    }

    fn release(&mut self, now: Duration, hold: &str) {
        self.pass(now);
        self.inner.release(now, hold);
        self.drain();
    }

    fn handle_errand(&mut self, now: Duration, errand: &Errand) -> Vec<Value> {
        self.inner.handle_errand(now, errand)
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.drain();
        let due = self.waiting.iter().position(|(due, _)| *due <= self.now)?;
        self.waiting.remove(due).map(|(_, output)| output)
    }

    fn restart(&mut self, now: Duration) {
        self.pass(now);
        self.waiting.clear();
        self.last.clear();
        self.asked.clear();
        self.inner.restart(now);
    }
}

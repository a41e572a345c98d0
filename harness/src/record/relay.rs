//! Decides which bytes are forwarded between the two sides of a connection, and applies faults, without sockets or a
//! clock.
//!
//! A connection has two lanes (queues of data), one for each direction. Data from one side is queued in the lane until
//! it may be sent to the other side. Unless a fault delays the data, it may be sent immediately. If there are no rules
//! for faults, bytes are forwarded as they arrive. Otherwise, a message is forwarded only when it is complete, because
//! only a complete message shows whether a fault applies.
//!
//! The record has the messages as the *host* sends and receives them: messages from the host are recorded when they
//! arrive, and messages to the host when they are forwarded. The host is therefore never blamed for an injected fault:
//! a faulty message to a client is recorded as the host sent it, and a faulty message to the host is recorded as the
//! host received it.
//!
//! Knows: frames in byte streams, faults. Never knows: sockets, files, rules of the protocol.
//!
//! Start at [`ConnectionRelay::bytes`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use litemap::LiteMap;

use crate::transcript::{ClosingSide, ConnId, ConnectionEvent, HandshakeLines, SeenFrame};
use crate::transport::tap::{DirectionTap, FrameEnd};
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind, is_handshake};

use super::fault::{ProxyFault, TransportFault};

/// The maximum time for which `swap` and `behind` wait for another message.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// The maximum number of bytes that wait in a lane. From this number on, the relay accepts no more data for the lane.
const MAX_HELD: usize = 8 << 20;
/// The maximum number of open requests whose methods are remembered.
const MAX_REQUESTS: usize = 1_024;

/// An item that is recorded: a message or another event.
#[derive(Debug, PartialEq)]
pub enum RecordedItem {
    /// A message, and the side that sent it.
    Message(ClosingSide, Frame),
    /// An event other than a message.
    Event(ConnectionEvent),
}

/// An item of the record, with its connection.
#[derive(Debug, PartialEq)]
pub struct RelayNote {
    /// The connection to which the item belongs.
    pub conn: ConnId,
    /// The item that is recorded.
    pub what: RecordedItem,
}

/// The data that leaves a lane.
#[derive(Debug, Default, PartialEq)]
pub struct LaneOutput {
    /// The bytes to send to the receiving side.
    pub bytes: Vec<u8>,
    /// The state of the lane after these bytes.
    pub then: LaneFollowUp,
}

/// What follows in a lane after some bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LaneFollowUp {
    /// More bytes may follow later.
    #[default]
    More,
    /// No more bytes follow in this direction.
    End,
    /// The connection must be closed in both directions at once, without a closing handshake.
    Cut,
}

/// All connections, and the rules for faults.
#[derive(Debug, Default)]
pub struct ConnectionRelay {
    rules: Vec<(TransportFault, bool)>,
    wires: LiteMap<ConnId, RelayedConnection>,
    notes: Vec<RelayNote>,
    /// Whether some rule lets a lane wait for another lane (`behind`), and whether a message was forwarded since the
    /// last call of [`ConnectionRelay::has_stirred`] (`passed`).
    behind: bool,
    passed: bool,
}

/// One connection.
#[derive(Debug)]
struct RelayedConnection {
    name: String,
    client_id: Option<String>,
    /// The methods of the open requests, by the id of the request.
    requests: HashMap<String, String>,
    lanes: [RelayLane; 2],
    /// Whether the end of the connection is recorded; no item is recorded after the end.
    closed: bool,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct RelayLane {
    tap: DirectionTap,
    /// The bytes of an incomplete message, including control frames between its fragments.
    begun: Vec<u8>,
    queue: VecDeque<HeldBytes>,
    held: usize,
    /// The messages that the next message overtakes, each with the time at which it stops waiting.
    aside: Vec<(HeldBytes, Duration)>,
    /// The number of messages that have arrived (`came`), and the number of messages that were forwarded (`passed`).
    came: u64,
    passed: u64,
}

/// Bytes that wait in a lane.
#[derive(Debug)]
struct HeldBytes {
    bytes: Vec<u8>,
    until: HoldUntil,
    /// The items that are recorded when the bytes are forwarded.
    notes: Vec<RecordedItem>,
    /// Whether these bytes are the last bytes of a message.
    message: bool,
    then: LaneFollowUp,
}

/// The condition under which bytes may be forwarded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HoldUntil {
    Now,
    At(Duration),
    /// The bytes are forwarded when the lane of this connection in the same direction has forwarded this many messages,
    /// or at this time at the latest.
    Passed(ConnId, u64, Duration),
}

impl HeldBytes {
    fn new(bytes: Vec<u8>) -> HeldBytes {
        HeldBytes {
            bytes,
            until: HoldUntil::Now,
            notes: Vec::new(),
            message: false,
            then: LaneFollowUp::More,
        }
    }
}

fn index(side: ClosingSide) -> usize {
    usize::from(side == ClosingSide::Host)
}

/// Returns the name of a connection: A to Z, then AA, AB and so on.
fn name_of(conn: ConnId) -> String {
    let mut rest = conn.0;
    let mut name = Vec::new();
    loop {
        name.insert(0, char::from(b'A' + (rest % 26) as u8));
        if rest < 26 {
            return name.into_iter().collect();
        }
        rest = rest / 26 - 1;
    }
}

impl ConnectionRelay {
    /// Creates a relay with these rules for faults.
    pub fn new(rules: Vec<TransportFault>) -> ConnectionRelay {
        ConnectionRelay {
            rules: rules.into_iter().map(|rule| (rule, false)).collect(),
            ..ConnectionRelay::default()
        }
    }

    /// Returns the rules that no message triggered.
    pub fn unused(&self) -> impl Iterator<Item = &TransportFault> {
        self.rules.iter().filter(|(_, used)| !used).map(|(rule, _)| rule)
    }

    /// Adds an open connection and returns its name.
    pub fn open(&mut self, conn: ConnId, handshake: HandshakeLines) -> String {
        let name = name_of(conn);
        let wire = RelayedConnection {
            name: name.clone(),
            client_id: None,
            requests: HashMap::new(),
            lanes: Default::default(),
            closed: false,
        };
        self.wires.insert(conn, wire);
        let event =
            ConnectionEvent::Open { client: name.clone(), handshake: Some(Box::new(handshake)) };
        self.notes.push(RelayNote { conn, what: RecordedItem::Event(event) });
        name
    }

    /// Returns the name of a connection, even if it was never opened.
    pub fn name(conn: ConnId) -> String {
        name_of(conn)
    }

    /// Accepts bytes from one side.
    pub fn bytes(&mut self, now: Duration, conn: ConnId, from: ClosingSide, bytes: &[u8]) {
        let Some(wire) = self.wires.get_mut(&conn) else {
            return;
        };
        let mut tap = std::mem::take(&mut wire.lanes[index(from)].tap);
        if self.rules.is_empty() {
            let mut held = HeldBytes::new(bytes.to_vec());
            let mut broken = false;
            tap.feed(bytes, |_, found| {
                broken |= matches!(found, FrameEnd::Broken(_));
                held.message |= matches!(found, FrameEnd::Message(_));
                held.notes.extend(what_of(from, found));
            });
            if broken {
                held.then = LaneFollowUp::Cut;
            }
            self.put(conn, from, held);
        } else {
            tap.feed(bytes, |raw, found| self.piece(now, conn, from, raw, found));
        }
        if let Some(wire) = self.wires.get_mut(&conn) {
            wire.lanes[index(from)].tap = tap;
        }
    }

    /// Records that one side has ended, with or without a closing handshake.
    pub fn ended(&mut self, conn: ConnId, from: ClosingSide, reason: &str) {
        let Some(wire) = self.wires.get_mut(&conn) else {
            return;
        };
        let lane = &mut wire.lanes[index(from)];
        let (rest, begun) = lane.tap.rest();
        let mut bytes = std::mem::take(&mut lane.begun);
        if !self.rules.is_empty() {
            // If there are no rules for faults, these bytes have already been forwarded.
            bytes.extend_from_slice(&rest);
        }
        let mut held = HeldBytes::new(bytes);
        held.then = LaneFollowUp::End;
        held.notes.extend(
            begun.map(|frame| RecordedItem::Event(ConnectionEvent::Cut { by: from, frame })),
        );
        let closed = ConnectionEvent::Closed { by: from, code: None, reason: reason.to_owned() };
        held.notes.push(RecordedItem::Event(closed));
        self.put(conn, from, held);
    }

    /// Records that a connection could not be opened.
    pub fn failed(&mut self, conn: ConnId, reason: String) {
        let event = ConnectionEvent::Closed { by: ClosingSide::Host, code: None, reason };
        self.notes.push(RelayNote { conn, what: RecordedItem::Event(event) });
    }

    /// Records that the host refused the handshake of a connection.
    pub fn refused(&mut self, conn: ConnId, handshake: HandshakeLines) {
        let event = ConnectionEvent::Refused(Box::new(handshake));
        self.notes.push(RelayNote { conn, what: RecordedItem::Event(event) });
    }

    /// Closes a connection. Data that is still in its lanes is discarded.
    pub fn close(&mut self, conn: ConnId, by: ClosingSide, reason: &str) {
        self.note(
            conn,
            RecordedItem::Event(ConnectionEvent::Closed {
                by,
                code: None,
                reason: reason.to_owned(),
            }),
        );
        self.passed = true;
        self.wires.remove(&conn);
    }

    /// Returns every open connection.
    pub fn open_connections(&self) -> Vec<ConnId> {
        self.wires.keys().copied().collect()
    }

    /// Removes data from the lane of the side `from` and returns it: the data that may now be sent to the other side.
    pub fn take(&mut self, now: Duration, conn: ConnId, from: ClosingSide) -> LaneOutput {
        let mut taken = LaneOutput::default();
        while taken.then == LaneFollowUp::More {
            let Some(held) = self.pop(now, conn, from) else {
                break;
            };
            if taken.bytes.is_empty() {
                taken.bytes = held.bytes;
            } else {
                taken.bytes.extend_from_slice(&held.bytes);
            }
            taken.then = held.then;
            for what in held.notes {
                self.note(conn, what);
            }
        }
        taken
    }

    /// Returns the next time at which waiting data may be sent; `None` if no data waits for a time.
    pub fn next_timeout(&self, conn: ConnId, from: ClosingSide) -> Option<Duration> {
        let lane = &self.wires.get(&conn)?.lanes[index(from)];
        let first = lane.queue.front().and_then(|held| match held.until {
            HoldUntil::Now => None,
            HoldUntil::At(at) | HoldUntil::Passed(.., at) => Some(at),
        });
        let aside = lane.aside.iter().map(|(_, until)| *until).min();
        [first, aside].into_iter().flatten().min()
    }

    /// Returns whether the relay accepts more data from this side.
    pub fn has_room(&self, conn: ConnId, from: ClosingSide) -> bool {
        self.wires.get(&conn).is_some_and(|wire| wire.lanes[index(from)].held < MAX_HELD)
    }

    /// Returns whether, since the last call, a message was forwarded for which another lane may have waited. If so, the
    /// caller must check all lanes for data that may now be sent.
    pub fn has_stirred(&mut self) -> bool {
        std::mem::take(&mut self.passed) && self.behind
    }

    /// Returns the items that have to be recorded since the last call, in order, and removes them.
    pub fn notes(&mut self) -> Vec<RelayNote> {
        std::mem::take(&mut self.notes)
    }

    /// Adds an item to the record, unless the connection's end is already recorded.
    fn note(&mut self, conn: ConnId, what: RecordedItem) {
        let Some(wire) = self.wires.get_mut(&conn).filter(|wire| !wire.closed) else {
            return;
        };
        wire.closed = matches!(what, RecordedItem::Event(ConnectionEvent::Closed { .. }));
        self.notes.push(RelayNote { conn, what });
    }

    /// Reserves space for bytes in the lane of the side `from`, and returns the lane. If the bytes come from the host,
    /// their items are recorded now; if they come from the client, their items are recorded when the bytes are
    /// forwarded.
    fn take_in(
        &mut self,
        conn: ConnId,
        from: ClosingSide,
        held: &mut HeldBytes,
    ) -> Option<&mut RelayLane> {
        if from == ClosingSide::Host {
            for what in std::mem::take(&mut held.notes) {
                self.note(conn, what);
            }
        }
        let lane = &mut self.wires.get_mut(&conn)?.lanes[index(from)];
        lane.held += held.bytes.len();
        Some(lane)
    }

    /// Appends bytes to the lane of the side `from`.
    fn put(&mut self, conn: ConnId, from: ClosingSide, mut held: HeldBytes) {
        if let Some(lane) = self.take_in(conn, from, &mut held) {
            lane.queue.push_back(held);
        }
    }

    /// Accepts a frame, and applies a fault if the frame completes a matching message.
    fn piece(
        &mut self,
        now: Duration,
        conn: ConnId,
        from: ClosingSide,
        raw: &[u8],
        found: FrameEnd,
    ) {
        let Some(wire) = self.wires.get_mut(&conn) else {
            return;
        };
        let begun = &mut wire.lanes[index(from)].begun;
        begun.extend_from_slice(raw);
        if found == FrameEnd::Fragment || found == FrameEnd::Part && begun.len() > raw.len() {
            return;
        }
        let mut held = HeldBytes::new(std::mem::take(begun));
        let FrameEnd::Message(frame) = found else {
            if matches!(found, FrameEnd::Broken(_)) {
                held.then = LaneFollowUp::Cut;
            }
            held.notes.extend(what_of(from, found));
            return self.put(conn, from, held);
        };
        held.message = true;
        let rule = self.rule_for(conn, from, &frame);
        if let Some(rule) = &rule {
            self.note(
                conn,
                RecordedItem::Event(ConnectionEvent::Fault { what: rule.text.clone() }),
            );
        }
        held.notes.push(RecordedItem::Message(from, frame));
        match rule {
            Some(rule) => self.disturb(now, conn, from, held, &rule.fault),
            None => self.put(conn, from, held),
        }
        self.overtaken(conn, from);
    }

    /// Returns the rule that a message triggers, and updates the state of the connection from the message.
    fn rule_for(
        &mut self,
        conn: ConnId,
        from: ClosingSide,
        frame: &Frame,
    ) -> Option<TransportFault> {
        let seen = SeenFrame::new(frame.clone());
        let message = seen.message();
        let wire = self.wires.get_mut(&conn)?;
        let lane = &mut wire.lanes[index(from)];
        lane.came += 1;
        let number = lane.came;
        let method = message.and_then(|message| wire.learn(from, message));
        let mine = |rule: &TransportFault| {
            rule.client.as_ref().is_none_or(|client| {
                *client == wire.name || Some(client) == wire.client_id.as_ref()
            })
        };
        let (rule, used) = self.rules.iter_mut().find(|(rule, used)| {
            (rule.every || !used)
                && rule.from == from
                && mine(rule)
                && rule.fits(message, number, method.as_deref())
        })?;
        *used = true;
        Some(rule.clone())
    }

    /// Applies a fault to a message.
    fn disturb(
        &mut self,
        now: Duration,
        conn: ConnId,
        from: ClosingSide,
        mut held: HeldBytes,
        fault: &ProxyFault,
    ) {
        let ends = |reason: &str, code| {
            let reason = format!("fault: {reason}");
            RecordedItem::Event(ConnectionEvent::Closed { by: ClosingSide::Client, code, reason })
        };
        match fault {
            ProxyFault::Drop => {
                self.put(conn, from, held);
                let mut end = HeldBytes::new(Vec::new());
                end.notes.push(ends("drop", None));
                end.then = LaneFollowUp::Cut;
                self.put(conn, from, end);
            }
            ProxyFault::Close(code) => {
                self.put(conn, from, held);
                for lane in [from, other(from)] {
                    let mut end = HeldBytes::new(close_frame(*code, lane));
                    end.notes.push(ends("close", Some(*code)));
                    end.then = LaneFollowUp::End;
                    self.put(conn, lane, end);
                }
            }
            ProxyFault::Cut(bytes) => {
                // If a fault cuts a message from the host, the message is recorded, because the host sent it
                // completely. A cut message from the client is not recorded, because the host does not receive it
                // completely.
                if from == ClosingSide::Client {
                    held.notes.clear();
                }
                held.bytes.truncate(bytes.unwrap_or(held.bytes.len() / 2));
                held.message = false;
                held.notes.push(ends("cut", None));
                held.then = LaneFollowUp::Cut;
                self.put(conn, from, held);
            }
            ProxyFault::Lose => {
                held.bytes.clear();
                held.message = false;
                if from == ClosingSide::Client {
                    held.notes.clear();
                }
                self.put(conn, from, held);
            }
            ProxyFault::Delay(by) => {
                held.until = HoldUntil::At(now.saturating_add(*by));
                self.put(conn, from, held);
            }
            ProxyFault::Duplicate => {
                let mut again = HeldBytes::new(held.bytes.clone());
                again.message = true;
                if from == ClosingSide::Client {
                    again.notes.extend(held.notes.iter().filter_map(RecordedItem::again));
                }
                self.put(conn, from, held);
                self.put(conn, from, again);
            }
            ProxyFault::Swap => {
                if let Some(lane) = self.take_in(conn, from, &mut held) {
                    // This message overtakes the messages that were set aside earlier, although it is itself set aside
                    // until the next message.
                    lane.aside.push((held, now.saturating_add(MAX_WAIT)));
                }
            }
            ProxyFault::Behind(client) => {
                let named = |wire: &RelayedConnection| {
                    wire.name == *client || wire.client_id.as_ref() == Some(client)
                };
                let ahead = self.wires.iter().find(|(id, wire)| **id != conn && named(wire));
                let latest = now.saturating_add(MAX_WAIT);
                held.until = match ahead {
                    Some((id, wire)) => {
                        HoldUntil::Passed(*id, wire.lanes[index(from)].passed + 1, latest)
                    }
                    None => HoldUntil::Now,
                };
                self.behind = true;
                self.put(conn, from, held);
            }
        }
    }

    /// Appends the messages that were set aside to the queue, after the message that overtakes them.
    fn overtaken(&mut self, conn: ConnId, from: ClosingSide) {
        let Some(wire) = self.wires.get_mut(&conn) else {
            return;
        };
        let lane = &mut wire.lanes[index(from)];
        if lane.queue.back().is_some_and(|last| last.message) {
            lane.queue.extend(lane.aside.drain(..).map(|(held, _)| held));
        }
    }

    fn pop(&mut self, now: Duration, conn: ConnId, from: ClosingSide) -> Option<HeldBytes> {
        let lane = index(from);
        let wire = self.wires.get(&conn)?;
        let ready = match wire.lanes[lane].queue.front().map(|held| held.until) {
            None => false,
            Some(HoldUntil::Now) => true,
            Some(HoldUntil::At(at)) => at <= now,
            Some(HoldUntil::Passed(other, number, latest)) => {
                let other = self.wires.get(&other);
                latest <= now || other.is_none_or(|wire| wire.lanes[lane].passed >= number)
            }
        };
        let lane = &mut self.wires.get_mut(&conn)?.lanes[lane];
        let held = if ready {
            lane.queue.pop_front()?
        } else {
            // The time has passed in which a message could overtake this message.
            let late = lane.aside.iter().position(|(_, until)| *until <= now)?;
            lane.aside.remove(late).0
        };
        lane.held = lane.held.saturating_sub(held.bytes.len());
        lane.passed += u64::from(held.message);
        self.passed |= held.message;
        Some(held)
    }
}

impl RelayedConnection {
    /// Records the client's identifier and the methods of the client's open requests. Returns the method of the request
    /// that a response answers.
    fn learn(&mut self, from: ClosingSide, message: &Message) -> Option<String> {
        let id = message.id().map(Value::to_string);
        match (from, message.kind()) {
            (ClosingSide::Client, MessageKind::Request) => {
                let method = message.method().unwrap_or_default();
                if is_handshake(method) {
                    self.client_id = message.params()["clientId"].as_str().map(str::to_owned);
                }
                if self.requests.len() < MAX_REQUESTS {
                    self.requests.insert(id.unwrap_or_default(), method.to_owned());
                }
                None
            }
            (ClosingSide::Host, MessageKind::Success | MessageKind::Failure) => {
                self.requests.remove(&id?)
            }
            _ => None,
        }
    }
}

impl RecordedItem {
    /// Returns a copy of the item if it is a message; `None` if it is another event.
    fn again(&self) -> Option<RecordedItem> {
        match self {
            RecordedItem::Message(side, frame) => Some(RecordedItem::Message(*side, frame.clone())),
            RecordedItem::Event(_) => None,
        }
    }
}

fn other(side: ClosingSide) -> ClosingSide {
    match side {
        ClosingSide::Client => ClosingSide::Host,
        ClosingSide::Host => ClosingSide::Client,
    }
}

/// Returns the item to record for a frame.
fn what_of(from: ClosingSide, found: FrameEnd) -> Option<RecordedItem> {
    match found {
        FrameEnd::Part | FrameEnd::Fragment => None,
        FrameEnd::Message(frame) => Some(RecordedItem::Message(from, frame)),
        FrameEnd::Close(code, reason) => {
            Some(RecordedItem::Event(ConnectionEvent::Closed { by: from, code, reason }))
        }
        FrameEnd::Broken(broken) => {
            let reason = broken.to_string();
            Some(RecordedItem::Event(ConnectionEvent::Closed { by: from, code: None, reason }))
        }
    }
}

/// Returns a close frame from the side `from`. Frames from clients must be masked (RFC 6455, 5.3); this
/// function uses a mask of zeros.
fn close_frame(code: u16, from: ClosingSide) -> Vec<u8> {
    let [high, low] = code.to_be_bytes();
    match from {
        ClosingSide::Client => vec![0x88, 0x82, 0, 0, 0, 0, high, low],
        ClosingSide::Host => vec![0x88, 0x02, high, low],
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;

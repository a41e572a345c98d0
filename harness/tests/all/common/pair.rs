//! Several clients and a reference host in virtual time, with delayed delivery.
//!
//! Each connection has two queues, one for each direction. Frames in one queue stay in order; frames in different
//! queues may overtake each other, depending on the delays. The transcript contains the events as the clients see them,
//! because a harness cannot observe more of a host.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::{HostOutput, SansIoHost};
use ahp_harness::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use ahp_harness::wire::channel::ROOT;
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::message::Message;
use ahp_harness::wire::version::Version;

use super::seat::{ClientSeat, SeatRequest};
use super::step::{ChannelRole, ClientAct, PlayScript, PlayStep, new_chat};

const SESSION: &str = "ahp-session:/s";
/// The time after which a conversation has come to rest. It is longer than the turn of any script, and shorter than the
/// time for which the host keeps a disconnected client, and than the oracle's deadline for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// An item in transit in one direction of a connection.
enum TransitItem {
    Frame(Frame),
    Close,
}

type TransitQueue = VecDeque<(Duration, TransitItem)>;

/// A frame that the host sent.
pub struct SentFrame {
    /// The negotiated version.
    pub version: Version,
    /// The method of the request that the frame answers.
    pub answers: Option<String>,
    /// The message.
    pub message: Message,
}

/// The host, its clients, and the transcript.
pub struct HostPair {
    host: RefHost,
    now: Duration,
    /// Whether the host's clock is stopped.
    frozen: bool,
    seats: Vec<ClientSeat>,
    ups: BTreeMap<ConnId, TransitQueue>,
    downs: BTreeMap<ConnId, TransitQueue>,
    owners: BTreeMap<ConnId, usize>,
    chat: String,
    chats: u32,
    /// The events as the clients saw them.
    pub entries: Vec<TranscriptEntry>,
    /// Every frame from the host that reached a client.
    pub said: Vec<SentFrame>,
}

/// Plays a script, checks the rules of a conversation, and returns the result.
pub fn play(script: &PlayScript) -> HostPair {
    let mut pair = HostPair::new(script);
    for step in &script.steps {
        match step {
            PlayStep::By(who, act) => pair.act(who % script.clients.len(), act),
            PlayStep::Pass(ms) => pair.advance(Duration::from_millis(*ms)),
            PlayStep::Settle => pair.settle(),
        }
    }
    pair.settle();
    pair
}

impl HostPair {
    fn new(script: &PlayScript) -> HostPair {
        let versions = script.host.iter().map(|text| text.parse().unwrap()).collect();
        let config =
            HostConfig { versions, replay_capacity: script.replay, ..HostConfig::default() };
        let mut pair = HostPair {
            host: RefHost::new(config),
            now: Duration::ZERO,
            frozen: false,
            seats: Vec::new(),
            ups: BTreeMap::new(),
            downs: BTreeMap::new(),
            owners: BTreeMap::new(),
            chat: String::new(),
            chats: 0,
            entries: Vec::new(),
            said: Vec::new(),
        };
        for (at, offer) in script.clients.iter().enumerate() {
            let channels = json!([ROOT, SESSION, pair.chat]);
            let at_seat = pair.join(&format!("c{at}"), offer, channels);
            if at == 0 {
                pair.request(at_seat, "createSession", json!({"channel": SESSION}));
                pair.request(at_seat, "subscribe", json!({"channel": SESSION}));
                pair.advance(PATIENCE);
                let state = pair.seats[0].optimistic(SESSION);
                pair.chat = state["defaultChat"].as_str().unwrap().to_owned();
                let chat = json!({"channel": pair.chat});
                pair.request(at_seat, "subscribe", chat);
                pair.advance(Duration::ZERO);
            }
        }
        pair
    }

    fn join(&mut self, name: &str, offer: &'static str, channels: Value) -> usize {
        let at = self.seats.len();
        self.seats.push(ClientSeat::new(name, offer));
        self.open(at);
        let params = json!({"protocolVersions": [offer], "clientId": name,
            "initialSubscriptions": channels});
        self.request(at, "initialize", params);
        self.advance(Duration::ZERO);
        assert!(self.seats[at].ready);
        let held: Vec<String> = self.seats[at].engine.subscriptions().map(str::to_owned).collect();
        self.seats[at].wanted.extend(held);
        at
    }

    fn uri(&self, on: ChannelRole) -> String {
        match on {
            ChannelRole::Root => ROOT.to_owned(),
            ChannelRole::Session => SESSION.to_owned(),
            ChannelRole::Chat => self.chat.clone(),
            ChannelRole::Side => format!("ahp-chat:/{}", self.chats),
        }
    }

    fn act(&mut self, at: usize, act: &ClientAct) {
        let seat = &mut self.seats[at];
        match (seat.conn, seat.ready, act) {
            (_, _, ClientAct::Lag(up, down)) => seat.lag = (*up, *down),
            (None, _, ClientAct::Reconnect) => self.reconnect(at),
            (Some(conn), _, ClientAct::Drop(lossy)) => self.drop(at, conn, *lossy),
            (Some(_), true, act) => self.act_connected(at, act),
            _ => {}
        }
    }

    fn act_connected(&mut self, at: usize, act: &ClientAct) {
        let seat = &self.seats[at];
        let name = seat.engine.client_id.clone();
        if let Some((on, action)) = act.action(&name, |on| seat.optimistic(&self.uri(on))) {
            let uri = self.uri(on);
            let (seq, message) = self.seats[at].engine.dispatch(&uri, action.clone(), None);
            self.seats[at].dispatched(seq, &uri, &action, on != ChannelRole::Side);
            return self.send(at, message);
        }
        match *act {
            ClientAct::NewChat(source) => {
                self.chats += 1;
                let params = new_chat(SESSION, &self.chat, &self.uri(ChannelRole::Side), source);
                self.request(at, "createChat", params);
            }
            ClientAct::EndChat => {
                let uri = self.uri(ChannelRole::Side);
                self.request(at, "disposeChat", json!({"channel": uri}));
            }
            ClientAct::Subscribe(on) => self.subscribe(at, on, Value::Null),
            ClientAct::View(on, turns) => self.subscribe(at, on, json!({"turns": turns})),
            ClientAct::Unsubscribe(on) => self.unsubscribe(at, &self.uri(on)),
            ClientAct::FetchTurns(on) => {
                let uri = self.uri(on);
                self.request(at, "fetchTurns", json!({"channel": uri}));
            }
            ClientAct::ListSessions => self.request(at, "listSessions", json!({})),
            ClientAct::Ping => self.request(at, "ping", json!({})),
            _ => {}
        }
    }

    fn subscribe(&mut self, at: usize, on: ChannelRole, view: Value) {
        let uri = self.uri(on);
        let mut params = json!({"channel": uri});
        if view.is_object() {
            params["view"] = view;
        }
        self.seats[at].wanted.insert(uri);
        self.request(at, "subscribe", params);
    }

    fn unsubscribe(&mut self, at: usize, uri: &str) {
        let message = self.seats[at].engine.notification("unsubscribe", json!({"channel": uri}));
        self.seats[at].left(uri);
        self.send(at, message);
    }

    fn request(&mut self, at: usize, method: &str, params: Value) {
        let channel = params["channel"].as_str().unwrap_or_default().to_owned();
        let seat = &mut self.seats[at];
        let (id, message) = seat.engine.request(method, params);
        seat.asked.insert(id, SeatRequest { method: method.to_owned(), channel });
        self.send(at, message);
    }

    fn open(&mut self, at: usize) {
        let conn = ConnId(u32::try_from(self.owners.len()).unwrap());
        self.owners.insert(conn, at);
        self.ups.insert(conn, TransitQueue::new());
        self.downs.insert(conn, TransitQueue::new());
        self.seats[at].conn = Some(conn);
        let client = self.seats[at].engine.client_id.clone();
        self.record(conn, ConnectionEvent::open(client));
        self.host.handle_open(self.now, conn);
        self.drain();
    }

    fn reconnect(&mut self, at: usize) {
        self.open(at);
        let seat = &mut self.seats[at];
        seat.wanted = seat.engine.subscriptions().map(str::to_owned).collect();
        let (id, message) = seat.engine.reconnect(None, None);
        seat.asked
            .insert(id, SeatRequest { method: "reconnect".to_owned(), channel: String::new() });
        self.send(at, message);
    }

    /// Disconnects a client; the host notices this after the delay of the connection.
    fn drop(&mut self, at: usize, conn: ConnId, lossy: bool) {
        if lossy && let Some(queue) = self.ups.get_mut(&conn) {
            queue.clear();
        }
        self.post_up(at, conn, TransitItem::Close);
        self.closed(at, conn, ClosingSide::Client);
    }

    fn closed(&mut self, at: usize, conn: ConnId, by: ClosingSide) {
        self.downs.remove(&conn);
        self.seats[at].lost();
        self.record(conn, ConnectionEvent::Closed { by, code: None, reason: String::new() });
    }

    fn record(&mut self, conn: ConnId, event: ConnectionEvent) {
        let line = self.entries.len() as u64 + 1;
        self.entries.push(TranscriptEntry { line, at: self.now, conn, event });
    }

    fn send(&mut self, at: usize, message: Message) {
        let conn = self.seats[at].conn.unwrap();
        let frame = message.frame();
        self.record(conn, ConnectionEvent::Sent(Arc::new(SeenFrame::of(message))));
        self.post_up(at, conn, TransitItem::Frame(frame));
    }

    fn post_up(&mut self, at: usize, conn: ConnId, parcel: TransitItem) {
        let lag = Duration::from_millis(self.seats[at].lag.0);
        post(self.ups.entry(conn).or_default(), self.now + lag, parcel);
    }

    fn drain(&mut self) {
        while let Some(output) = self.host.poll_output() {
            let (conn, parcel) = match output {
                HostOutput::Send { conn, frame } => (conn, TransitItem::Frame(frame)),
                HostOutput::Close { conn, .. } => (conn, TransitItem::Close),
                HostOutput::ToAgent(line) => panic!("there is no agent to tell: {line}"),
                HostOutput::Shell(..) => panic!("there are no shells"),
                HostOutput::Asked(what) => panic!("no model is asked: {what}"),
                HostOutput::Called(what) => panic!("there is no tool to call: {what}"),
            };
            let lag = Duration::from_millis(self.seats[self.owners[&conn]].lag.1);
            if let Some(queue) = self.downs.get_mut(&conn) {
                post(queue, self.now + lag, parcel);
            }
        }
    }

    /// Lets this much time pass.
    fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        let first = |queues: &BTreeMap<ConnId, TransitQueue>| {
            let heads = queues.iter().filter_map(|(conn, queue)| Some((queue.front()?.0, *conn)));
            heads.min()
        };
        loop {
            let (up, down) = (first(&self.ups), first(&self.downs));
            let host = self.host.next_timeout().filter(|_| !self.frozen);
            let due = [up.map(|up| up.0), down.map(|down| down.0), host];
            let Some(next) = due.into_iter().flatten().min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if let Some((_, conn)) = down.filter(|down| down.0 == next) {
                self.arrive_down(conn);
            } else if let Some((_, conn)) = up.filter(|up| up.0 == next) {
                self.arrive_up(conn);
            } else {
                self.host.handle_timeout(self.now);
            }
            self.drain();
        }
        self.now = end;
    }

    fn arrive_up(&mut self, conn: ConnId) {
        match self.ups.get_mut(&conn).and_then(TransitQueue::pop_front) {
            Some((_, TransitItem::Frame(frame))) => self.host.handle_frame(self.now, conn, &frame),
            _ => self.host.handle_close(self.now, conn),
        }
    }

    fn arrive_down(&mut self, conn: ConnId) {
        let at = self.owners[&conn];
        let parcel = self.downs.get_mut(&conn).and_then(TransitQueue::pop_front);
        let Some((_, TransitItem::Frame(frame))) = parcel else {
            self.post_up(at, conn, TransitItem::Close);
            return self.closed(at, conn, ClosingSide::Host);
        };
        let seen = Arc::new(SeenFrame::new(frame));
        let message = seen.message().expect("the host sends messages").clone();
        self.record(conn, ConnectionEvent::Received(seen));
        let answers = self.seats[at].take(&message);
        let removed = message.params()["action"]["type"] == "session/chatRemoved";
        if removed && let Some(chat) = message.params()["action"]["chat"].as_str() {
            self.unsubscribe(at, chat);
        }
        self.said.push(SentFrame { version: self.seats[at].version(), answers, message });
    }

    /// Waits until nothing is in transit, and compares the clients' states with the host's.
    fn settle(&mut self) {
        self.advance(PATIENCE);
        // With a turn that never ends, the host would always have messages in transit. With a stopped clock, the host
        // sends no further messages.
        self.frozen = true;
        self.advance(PATIENCE);
        assert!(self.ups.values().chain(self.downs.values()).all(TransitQueue::is_empty));
        let clients = self.seats.len();
        let mut offers: Vec<&'static str> = self.seats.iter().map(|seat| seat.offer).collect();
        offers.sort_unstable();
        offers.dedup();
        for offer in offers {
            let uris: Vec<String> = [ChannelRole::Root, ChannelRole::Session, ChannelRole::Chat]
                .into_iter()
                .map(|on| self.uri(on))
                .chain((1..=self.chats).map(|chat| format!("ahp-chat:/{chat}")))
                .collect();
            let observer = self.join(
                &format!("observer-{offer}-{}", self.now.as_millis()),
                offer,
                json!(uris),
            );
            for at in 0..clients {
                self.compare(at, observer);
            }
            let conn = self.seats[observer].conn.unwrap();
            self.drop(observer, conn, false);
            self.advance(Duration::ZERO);
            self.seats.truncate(clients);
        }
        self.frozen = false;
    }

    fn compare(&self, at: usize, observer: usize) {
        let (seat, fresh) = (&self.seats[at], &self.seats[observer].engine);
        seat.check_at_rest(|uri| fresh.is_subscribed(uri));
        if !seat.ready || seat.offer != self.seats[observer].offer {
            return;
        }
        for uri in seat.engine.subscriptions() {
            let (Some(own), Some(fresh)) = (seat.engine.mirror(uri), fresh.mirror(uri)) else {
                continue;
            };
            let windowed = own.confirmed().get("turnsNextCursor").is_some();
            let masked = |state: &Value| comparable(state, seat.offer, windowed);
            let name = &seat.engine.client_id;
            assert_eq!(masked(own.confirmed()), masked(fresh.confirmed()), "{uri} at {name}");
        }
    }
}

fn post(queue: &mut TransitQueue, due: Duration, parcel: TransitItem) {
    let last = queue.back().map_or(due, |(last, _)| *last);
    queue.push_back((due.max(last), parcel));
}

/// Returns a state without the parts that actions do not determine: the bits of a session's status except
/// IsArchived; before 1.0.0, times and the read mark of a chat; the turns outside a window; and the difference
/// between a missing and an empty list.
fn comparable(state: &Value, version: &str, windowed: bool) -> Value {
    const IS_READ: u64 = 32;
    const IS_ARCHIVED: u64 = 64;
    let mut state = state.clone();
    let old = version == "0.9.0";
    let kept = |bits: &Value| bits.as_u64().map(|bits| if old { bits & !IS_READ } else { bits });
    for entry in state["chats"].as_array_mut().into_iter().flatten() {
        entry["modifiedAt"] = Value::Null;
    }
    state["status"] = match state["lifecycle"].is_null() {
        true => json!(kept(&state["status"])),
        false => json!(state["status"].as_u64().map(|bits| bits & IS_ARCHIVED)),
    };
    if old {
        state["modifiedAt"] = Value::Null;
    }
    if windowed {
        state["turns"] = Value::Null;
        state["turnsNextCursor"] = Value::Null;
    }
    let empty = |value: &Value| value.is_null() || *value == json!([]);
    state.as_object_mut().into_iter().for_each(|members| members.retain(|_, v| !empty(v)));
    state
}

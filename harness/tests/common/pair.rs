//! N clients and a reference host in virtual time, over lines that take their time.
//!
//! Each connection is two queues, one each way: frames on one of them stay in order, those on
//! different ones overtake each other as the delays have it. What happens is written down as the
//! clients see it, which is all that a harness ever sees of a host.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ahp_harness::host::engine::{Config, RefHost};
use ahp_harness::host::{Host, Output};
use ahp_harness::transcript::{ConnId, Entry, Event, Seen, Side};
use ahp_harness::wire::channel::ROOT;
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::message::Message;
use ahp_harness::wire::version::Version;

use super::seat::{Asked, Seat};
use super::step::{Act, On, Script, Step, new_chat};

const SESSION: &str = "ahp-session:/s";
/// Longer than any script, shorter than the grace of a lost client and than the oracle's deadline.
const PATIENCE: Duration = Duration::from_secs(4);

/// What is on its way on one direction of a connection.
enum Parcel {
    Frame(Frame),
    Close,
}

type Queue = VecDeque<(Duration, Parcel)>;

/// A frame that the host sent.
pub struct Said {
    /// The version that was agreed on.
    pub version: Version,
    /// The method of the request that it answers.
    pub answers: Option<String>,
    /// The message.
    pub message: Message,
}

/// The host, its clients, and everything that was said.
pub struct Pair {
    host: RefHost,
    now: Duration,
    /// Whether the host's own time stands still.
    frozen: bool,
    seats: Vec<Seat>,
    ups: BTreeMap<ConnId, Queue>,
    downs: BTreeMap<ConnId, Queue>,
    owners: BTreeMap<ConnId, usize>,
    chat: String,
    chats: u32,
    /// What happened, as the clients saw it.
    pub entries: Vec<Entry>,
    /// Every frame of the host that reached a client.
    pub said: Vec<Said>,
}

/// Plays a script, holds everything against the rules of a conversation, and returns what was
/// said.
pub fn play(script: &Script) -> Pair {
    let mut pair = Pair::new(script);
    for step in &script.steps {
        match step {
            Step::By(who, act) => pair.act(who % script.clients.len(), act),
            Step::Pass(ms) => pair.advance(Duration::from_millis(*ms)),
            Step::Settle => pair.settle(),
        }
    }
    pair.settle();
    pair
}

impl Pair {
    fn new(script: &Script) -> Pair {
        let versions = script.host.iter().map(|text| text.parse().unwrap()).collect();
        let config = Config { versions, replay_capacity: script.replay, ..Config::default() };
        let mut pair = Pair {
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
        self.seats.push(Seat::new(name, offer));
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

    fn uri(&self, on: On) -> String {
        match on {
            On::Root => ROOT.to_owned(),
            On::Session => SESSION.to_owned(),
            On::Chat => self.chat.clone(),
            On::Side => format!("ahp-chat:/{}", self.chats),
        }
    }

    fn act(&mut self, at: usize, act: &Act) {
        let seat = &mut self.seats[at];
        match (seat.conn, seat.ready, act) {
            (_, _, Act::Lag(up, down)) => seat.lag = (*up, *down),
            (None, _, Act::Reconnect) => self.reconnect(at),
            (Some(conn), _, Act::Drop(lossy)) => self.drop(at, conn, *lossy),
            (Some(_), true, act) => self.act_connected(at, act),
            _ => {}
        }
    }

    fn act_connected(&mut self, at: usize, act: &Act) {
        let seat = &self.seats[at];
        let name = seat.engine.client_id.clone();
        if let Some((on, action)) = act.action(&name, |on| seat.optimistic(&self.uri(on))) {
            let uri = self.uri(on);
            let (seq, message) = self.seats[at].engine.dispatch(&uri, action.clone(), None);
            self.seats[at].dispatched(seq, &uri, &action, on != On::Side);
            return self.send(at, message);
        }
        match *act {
            Act::NewChat(source) => {
                self.chats += 1;
                let params = new_chat(SESSION, &self.chat, &self.uri(On::Side), source);
                self.request(at, "createChat", params);
            }
            Act::EndChat => {
                let uri = self.uri(On::Side);
                self.request(at, "disposeChat", json!({"channel": uri}));
            }
            Act::Subscribe(on) => self.subscribe(at, on, Value::Null),
            Act::View(on, turns) => self.subscribe(at, on, json!({"turns": turns})),
            Act::Unsubscribe(on) => self.unsubscribe(at, &self.uri(on)),
            Act::FetchTurns(on) => {
                let uri = self.uri(on);
                self.request(at, "fetchTurns", json!({"channel": uri}));
            }
            Act::ListSessions => self.request(at, "listSessions", json!({})),
            Act::Ping => self.request(at, "ping", json!({})),
            _ => {}
        }
    }

    fn subscribe(&mut self, at: usize, on: On, view: Value) {
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
        seat.asked.insert(id, Asked { method: method.to_owned(), channel });
        self.send(at, message);
    }

    fn open(&mut self, at: usize) {
        let conn = ConnId(u32::try_from(self.owners.len()).unwrap());
        self.owners.insert(conn, at);
        self.ups.insert(conn, Queue::new());
        self.downs.insert(conn, Queue::new());
        self.seats[at].conn = Some(conn);
        let client = self.seats[at].engine.client_id.clone();
        self.record(conn, Event::open(client));
        self.host.handle_open(self.now, conn);
        self.drain();
    }

    fn reconnect(&mut self, at: usize) {
        self.open(at);
        let seat = &mut self.seats[at];
        seat.wanted = seat.engine.subscriptions().map(str::to_owned).collect();
        let (id, message) = seat.engine.reconnect(None, None);
        seat.asked.insert(id, Asked { method: "reconnect".to_owned(), channel: String::new() });
        self.send(at, message);
    }

    /// The client loses its connection, and the host learns of it when the line has carried it.
    fn drop(&mut self, at: usize, conn: ConnId, lossy: bool) {
        if lossy && let Some(queue) = self.ups.get_mut(&conn) {
            queue.clear();
        }
        self.post_up(at, conn, Parcel::Close);
        self.closed(at, conn, Side::Client);
    }

    fn closed(&mut self, at: usize, conn: ConnId, by: Side) {
        self.downs.remove(&conn);
        self.seats[at].lost();
        self.record(conn, Event::Closed { by, code: None, reason: String::new() });
    }

    fn record(&mut self, conn: ConnId, event: Event) {
        let line = self.entries.len() as u64 + 1;
        self.entries.push(Entry { line, at: self.now, conn, event });
    }

    fn send(&mut self, at: usize, message: Message) {
        let conn = self.seats[at].conn.unwrap();
        let frame = message.frame();
        self.record(conn, Event::Sent(Arc::new(Seen::of(message))));
        self.post_up(at, conn, Parcel::Frame(frame));
    }

    fn post_up(&mut self, at: usize, conn: ConnId, parcel: Parcel) {
        let lag = Duration::from_millis(self.seats[at].lag.0);
        post(self.ups.entry(conn).or_default(), self.now + lag, parcel);
    }

    fn drain(&mut self) {
        while let Some(output) = self.host.poll_output() {
            let (conn, parcel) = match output {
                Output::Send { conn, frame } => (conn, Parcel::Frame(frame)),
                Output::Close { conn, .. } => (conn, Parcel::Close),
                Output::ToAgent(line) => panic!("there is no agent to tell: {line}"),
                Output::Shell(..) => panic!("there are no shells"),
                Output::Called(what) => panic!("there is no tool to call: {what}"),
            };
            let lag = Duration::from_millis(self.seats[self.owners[&conn]].lag.1);
            if let Some(queue) = self.downs.get_mut(&conn) {
                post(queue, self.now + lag, parcel);
            }
        }
    }

    /// Lets so much time pass.
    fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        let first = |queues: &BTreeMap<ConnId, Queue>| {
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
        match self.ups.get_mut(&conn).and_then(Queue::pop_front) {
            Some((_, Parcel::Frame(frame))) => self.host.handle_frame(self.now, conn, &frame),
            _ => self.host.handle_close(self.now, conn),
        }
    }

    fn arrive_down(&mut self, conn: ConnId) {
        let at = self.owners[&conn];
        let parcel = self.downs.get_mut(&conn).and_then(Queue::pop_front);
        let Some((_, Parcel::Frame(frame))) = parcel else {
            self.post_up(at, conn, Parcel::Close);
            return self.closed(at, conn, Side::Host);
        };
        let seen = Arc::new(Seen::new(frame));
        let message = seen.message().expect("the host sends messages").clone();
        self.record(conn, Event::Received(seen));
        let answers = self.seats[at].take(&message);
        let removed = message.params()["action"]["type"] == "session/chatRemoved";
        if removed && let Some(chat) = message.params()["action"]["chat"].as_str() {
            self.unsubscribe(at, chat);
        }
        self.said.push(Said { version: self.seats[at].version(), answers, message });
    }

    /// Lets everything come to rest and compares what everybody has with what the host says.
    fn settle(&mut self) {
        self.advance(PATIENCE);
        // An endless turn would never rest: nothing more comes while the host's time stands.
        self.frozen = true;
        self.advance(PATIENCE);
        assert!(self.ups.values().chain(self.downs.values()).all(Queue::is_empty));
        let clients = self.seats.len();
        let mut offers: Vec<&'static str> = self.seats.iter().map(|seat| seat.offer).collect();
        offers.sort_unstable();
        offers.dedup();
        for offer in offers {
            let uris: Vec<String> = [On::Root, On::Session, On::Chat]
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

fn post(queue: &mut Queue, due: Duration, parcel: Parcel) {
    let last = queue.back().map_or(due, |(last, _)| *last);
    queue.push_back((due.max(last), parcel));
}

/// A state without what no action can tell: the bits of a session's status but for IsArchived,
/// times and the mark of a read chat before 1.0.0, the turns that a window leaves out, and the
/// difference between nothing and an empty list.
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

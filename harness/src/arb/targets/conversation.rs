//! Fuzz targets about whole conversations: several clients talk to the reference host, and the oracle judges the host.
//!
//! The clients' messages are generated from the tables: any request or action that a client may send, with
//! channels and identifiers that the client has received, so that most messages are meaningful. The host must not break
//! a rule, regardless of the clients' messages.
//!
//! Knows: client engines, the host, the oracle. Never knows: sockets.

use std::time::Duration;

use crate::arb::choices::ByteChoices;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::{HostOutput, SansIoHost};
use crate::oracle::{Oracle, OracleOptions};
use crate::peer::client::ClientEngine;
use crate::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::verdict::Weight;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, decode};
use crate::wire::protocol::{DispatchRight, Protocol};
use crate::wire::sample::SamplingOptions;
use crate::wire::version::Version;

const SESSION: &str = "ahp-session:/s";
/// The maximum number of client acts in a conversation.
const LONGEST: usize = 200;
/// The requests of clients. No request in this list ends the conversation.
const REQUESTS: &[&str] = &["fetchTurns", "listSessions", "ping", "subscribe", "createChat"];
/// The scripts of the turns.
const SCRIPTS: &[&str] = &[
    "say a b",
    "tool shell x confirm\nsay b",
    "tool client look b",
    "ask Q\nsay d",
    "endless",
    "fail net resumable\nsay after",
    "parallel\ntool read a confirm\ntool edit b\nend",
];

/// An act of a client, with its weight.
type DeedShare = (usize, ClientDeed);

#[derive(Clone, Copy, Debug)]
enum ClientDeed {
    Turn,
    Act,
    Ask,
    Leave,
    ComeBack,
    Wait,
}

/// Runs clients that mostly dispatch actions.
pub fn dispatch(data: &[u8]) {
    const SHARES: &[DeedShare] = &[
        (3, ClientDeed::Turn),
        (10, ClientDeed::Act),
        (3, ClientDeed::Ask),
        (1, ClientDeed::Leave),
        (3, ClientDeed::Wait),
    ];
    converse(data, SHARES, 10_000);
}

/// Runs clients that disconnect and reconnect, at a host with a short replay buffer.
pub fn reconnect(data: &[u8]) {
    const SHARES: &[DeedShare] = &[
        (2, ClientDeed::Turn),
        (4, ClientDeed::Act),
        (1, ClientDeed::Ask),
        (4, ClientDeed::Leave),
        (6, ClientDeed::ComeBack),
        (2, ClientDeed::Wait),
    ];
    converse(data, SHARES, 6);
}

fn converse(data: &[u8], shares: &[DeedShare], replay: usize) {
    let mut choices = ByteChoices::new(data);
    let Some(version) = choices.pick(Version::offered()).copied() else { return };
    let Some(mut room) = FuzzedHost::open(version, replay, 1 + choices.below(3)) else { return };
    for _ in 0..LONGEST {
        if choices.is_dry() {
            break;
        }
        let who = choices.below(room.clients.len());
        let mut place = choices.below(shares.iter().map(|(share, _)| share).sum());
        let deed = shares.iter().find(|(share, _)| match place.checked_sub(*share) {
            Some(rest) => {
                place = rest;
                false
            }
            None => true,
        });
        if let Some((_, deed)) = deed {
            room.act(who, *deed, &mut choices);
        }
    }
    room.rest();
    let oracle = room.oracle;
    for report in oracle.finish() {
        let heavy = |weight| matches!(weight, Weight::Must | Weight::Essential);
        let finding = report.findings.iter().find(|finding| heavy(finding.weight));
        assert!(finding.is_none(), "{finding:?}");
    }
}

/// The host, its clients and the oracle of one run.
struct FuzzedHost {
    protocol: &'static Protocol,
    version: Version,
    host: RefHost,
    oracle: Oracle,
    clients: Vec<FuzzedClient>,
    now: Duration,
    line: u64,
    conns: u32,
    turns: u32,
}

struct FuzzedClient {
    engine: ClientEngine,
    conn: Option<ConnId>,
}

impl FuzzedHost {
    /// Creates a host with a session, and clients that are subscribed to all its channels.
    fn open(version: Version, replay: usize, clients: usize) -> Option<FuzzedHost> {
        let mut room = FuzzedHost {
            protocol: Protocol::of(version)?,
            version,
            host: RefHost::new(HostConfig { replay_capacity: replay, ..HostConfig::default() }),
            oracle: Oracle::new(OracleOptions::default()),
            clients: Vec::new(),
            now: Duration::ZERO,
            line: 0,
            conns: 0,
            turns: 0,
        };
        for number in 0..clients {
            let engine = ClientEngine::new(format!("c{number}"), true);
            room.clients.push(FuzzedClient { engine, conn: None });
            room.connect(number);
            room.ask(
                number,
                "initialize",
                json!({
                    "protocolVersions": [(version.to_string())],
                    "clientId": (format!("c{number}")), "initialSubscriptions": [ROOT],
                }),
            );
            if number == 0 {
                room.ask(number, "createSession", json!({"channel": SESSION}));
                room.pass(Duration::from_secs(1));
            }
            room.ask(number, "subscribe", json!({"channel": SESSION}));
            let chats = room.chats(number);
            for chat in chats {
                room.ask(number, "subscribe", json!({"channel": chat}));
            }
        }
        Some(room)
    }

    fn tell(&mut self, conn: ConnId, event: ConnectionEvent) {
        self.line += 1;
        self.oracle.observe(&TranscriptEntry { line: self.line, at: self.now, conn, event });
    }

    fn connect(&mut self, who: usize) {
        let conn = ConnId(self.conns);
        self.conns += 1;
        self.clients[who].conn = Some(conn);
        let name = self.clients[who].engine.client_id.clone();
        self.tell(conn, ConnectionEvent::open(name));
        self.host.handle_open(self.now, conn);
        self.deliver();
    }

    fn leave(&mut self, who: usize) {
        let Some(conn) = self.clients[who].conn.take() else { return };
        self.clients[who].engine.lost();
        let (by, code, reason) = (ClosingSide::Client, None, String::new());
        self.tell(conn, ConnectionEvent::Closed { by, code, reason });
        self.host.handle_close(self.now, conn);
        self.deliver();
    }

    fn send(&mut self, who: usize, message: &Message) {
        let Some(conn) = self.clients[who].conn else { return };
        let frame = message.frame();
        self.tell(conn, ConnectionEvent::Sent(SeenFrame::new(frame.clone()).into()));
        self.host.handle_frame(self.now, conn, &frame);
        self.deliver();
    }

    fn ask(&mut self, who: usize, method: &str, params: Value) {
        let (_, message) = self.clients[who].engine.request(method, params);
        self.send(who, &message);
    }

    /// Delivers the host's output to its clients at once.
    fn deliver(&mut self) {
        while let Some(output) = self.host.poll_output() {
            match output {
                HostOutput::Send { conn, frame } => {
                    self.tell(
                        conn,
                        ConnectionEvent::Received(SeenFrame::new(frame.clone()).into()),
                    );
                    self.hear(conn, &frame);
                }
                HostOutput::Close { conn, code, reason } => {
                    let (by, code) = (ClosingSide::Host, Some(code));
                    self.tell(conn, ConnectionEvent::Closed { by, code, reason });
                    if let Some(client) = self.clients.iter_mut().find(|c| c.conn == Some(conn)) {
                        client.conn = None;
                        client.engine.lost();
                    }
                    self.host.handle_close(self.now, conn);
                }
                _ => {}
            }
        }
    }

    fn hear(&mut self, conn: ConnId, frame: &Frame) {
        let client = self.clients.iter_mut().find(|client| client.conn == Some(conn));
        if let (Some(client), DecodedFrame::Message(message)) = (client, decode(frame)) {
            client.engine.handle(&message);
        }
    }

    /// Advances the time, and handles the host's timeouts on the way.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.host.next_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.host.handle_timeout(self.now);
            self.deliver();
        }
        self.now = end;
    }

    /// Delivers everything to the connected clients, and lets a new client subscribe to all channels.
    fn rest(&mut self) {
        self.pass(Duration::from_secs(2));
        let late = self.clients.len();
        self.clients.push(FuzzedClient { engine: ClientEngine::new("late", true), conn: None });
        self.connect(late);
        let channels: Vec<Value> = self.known(0).iter().map(|uri| json!(uri)).collect();
        self.ask(
            late,
            "initialize",
            json!({
                "protocolVersions": [(self.version.to_string())],
                "clientId": "late", "initialSubscriptions": channels,
            }),
        );
    }

    /// Returns the chats that a client knows.
    fn chats(&self, who: usize) -> Vec<String> {
        let mirror = self.clients[who].engine.mirror(SESSION);
        let state = mirror.map(|mirror| mirror.confirmed().clone()).unwrap_or_default();
        let chats = state["chats"].as_array().into_iter().flatten();
        chats.filter_map(|chat| chat["resource"].as_str()).map(str::to_owned).collect()
    }

    /// Returns the channels that a client knows.
    fn known(&self, who: usize) -> Vec<String> {
        let mut known = vec![ROOT.to_owned(), SESSION.to_owned()];
        known.extend(self.chats(who));
        known
    }

    fn act(&mut self, who: usize, deed: ClientDeed, choices: &mut ByteChoices<'_>) {
        match deed {
            ClientDeed::Turn => self.turn(who, choices),
            ClientDeed::Act => self.dispatch(who, choices),
            ClientDeed::Ask => self.request(who, choices),
            ClientDeed::Leave => self.leave(who),
            ClientDeed::ComeBack => self.come_back(who),
            ClientDeed::Wait => self.pass(Duration::from_millis(1 << choices.below(10))),
        }
    }

    fn turn(&mut self, who: usize, choices: &mut ByteChoices<'_>) {
        let Some(chat) = choices.pick(&self.chats(who)).cloned() else { return };
        self.turns += 1;
        let script = choices.pick(SCRIPTS).copied().unwrap_or_default();
        let action = json!({
            "type": "chat/turnStarted", "turnId": (format!("t{}", self.turns)),
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": (format!("ahp-script: 1\n{script}")), "origin": {"kind": "user"}},
        });
        self.say(who, &chat, action);
    }

    fn say(&mut self, who: usize, channel: &str, action: Value) {
        let (_, message) = self.clients[who].engine.dispatch(channel, action, None);
        self.send(who, &message);
    }

    /// Dispatches an action of a channel, usually one that clients may dispatch, with identifiers from the
    /// state.
    fn dispatch(&mut self, who: usize, choices: &mut ByteChoices<'_>) {
        let Some(channel) = choices.pick(&self.known(who)).cloned() else { return };
        let kind = match channel.as_str() {
            ROOT => ChannelKind::Root,
            SESSION => ChannelKind::Session,
            _ => ChannelKind::Chat,
        };
        let forbidden = choices.below(8) == 0;
        let may = |dispatch: &DispatchRight| (*dispatch == DispatchRight::Client) != forbidden;
        let rows = self.protocol.actions().filter(|row| row.channel == kind && may(&row.dispatch));
        let types: Vec<&str> = rows.map(|row| row.action_type.as_str()).collect();
        let Some(name) = choices.pick(&types) else { return };
        let sampling = SamplingOptions::default();
        let mut choose = |count| choices.below(count);
        let generated = self.protocol.sampler(sampling, &mut choose).action(name);
        let Some(mut action) = generated else { return };
        let state = self.clients[who].engine.mirror(&channel).map(|mirror| mirror.optimistic());
        aim(&mut action, &state.unwrap_or_default(), &self.clients[who].engine.client_id, choices);
        self.say(who, &channel, action);
    }

    fn request(&mut self, who: usize, choices: &mut ByteChoices<'_>) {
        let Some(method) = choices.pick(REQUESTS).copied() else { return };
        let Some(channel) = choices.pick(&self.known(who)).cloned() else { return };
        let params = match method {
            "createChat" => {
                self.turns += 1;
                json!({"channel": SESSION, "chat": (format!("ahp-chat:/n{}", self.turns))})
            }
            "listSessions" => json!({"channel": ROOT}),
            _ => json!({"channel": channel}),
        };
        self.ask(who, method, params);
    }

    fn come_back(&mut self, who: usize) {
        self.leave(who);
        self.connect(who);
        let (_, message) = self.clients[who].engine.reconnect(None, None);
        self.send(who, &message);
    }
}

/// Replaces the identifiers of an action by identifiers of the state, with a probability of 75 percent.
fn aim(action: &mut Value, state: &Value, client: &str, choices: &mut ByteChoices<'_>) {
    let turn = &state["activeTurn"];
    let parts = turn["responseParts"].as_array().cloned().unwrap_or_default();
    let Some(members) = action.as_object_mut() else { return };
    for (name, value) in members.iter_mut() {
        if choices.below(4) == 0 {
            continue;
        }
        let ids = |place: &str| -> Vec<Value> {
            parts.iter().filter_map(|part| part.pointer(place)).cloned().collect()
        };
        let meant = match &**name {
            "turnId" => turn.get("id").cloned(),
            "toolCallId" => choices.pick(&ids("/toolCall/toolCallId")).cloned(),
            "requestId" => choices.pick(&ids("/request/id")).cloned(),
            "clientId" => Some(json!(client)),
            _ => None,
        };
        if let Some(meant) = meant {
            *value = meant;
        }
    }
}

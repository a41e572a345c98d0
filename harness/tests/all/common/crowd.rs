//! Many clients of the reference host. The clients write, start turns, truncate the history, disconnect and
//! reconnect, and the oracle receives the same messages as the clients.

use std::sync::Arc;
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::{HostOutput, SansIoHost};
use ahp_harness::oracle::{Oracle, OracleOptions};
use ahp_harness::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use ahp_harness::verdict::{CheckReport, Finding};
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};

const SESSION: &str = "ahp-session:/crowd";
const ROOT: &str = "ahp-root://";
/// The number of actions after which a client disconnects and reconnects.
const LEAVES: u64 = 100;
/// The number of actions after which a turn is played. `TURNS` is the number of turns after which the history is
/// truncated.
const TURN: u64 = 20;
const TURNS: u64 = 50;

/// The host, its clients and the oracle.
pub struct TestCrowd {
    host: RefHost,
    oracle: Oracle,
    now: Duration,
    line: u64,
    seats: Vec<CrowdSeat>,
    conns: u32,
    chat: String,
    /// The highest `serverSeq` that any client received.
    pub seq: u64,
    turns: u64,
    findings: Vec<Finding>,
}

struct CrowdSeat {
    conn: ConnId,
    last: u64,
    client_seq: u64,
}

impl TestCrowd {
    /// Makes a crowd with this many clients, subscribed to one session and its chat.
    pub fn new(clients: u32) -> TestCrowd {
        let mut crowd = TestCrowd {
            host: RefHost::new(HostConfig::default()),
            oracle: Oracle::new(OracleOptions::default()),
            now: Duration::ZERO,
            line: 0,
            seats: Vec::new(),
            conns: 0,
            chat: String::new(),
            seq: 0,
            turns: 0,
            findings: Vec::new(),
        };
        for place in 0..clients as usize {
            let conn = crowd.open();
            crowd.seats.push(CrowdSeat { conn, last: 0, client_seq: 0 });
            let hello = json!({"channel": ROOT, "protocolVersions": ["1.0.0"],
                "clientId": format!("c{place}"), "initialSubscriptions": [ROOT]});
            crowd.ask(place, "initialize", hello);
        }
        crowd.ask(0, "createSession", json!({"channel": SESSION}));
        crowd.pass(Duration::from_secs(1));
        for place in 0..clients as usize {
            crowd.ask(place, "subscribe", json!({"channel": SESSION}));
            // The answer to the first client's `subscribe` contains the URI of the chat, which the other clients need.
            let chat = crowd.chat.clone();
            crowd.ask(place, "subscribe", json!({"channel": chat}));
        }
        crowd
    }

    /// Performs one action of a client; the other clients receive the action.
    pub fn act(&mut self, number: u64) {
        let place = (number % self.seats.len() as u64) as usize;
        let text = format!("text {number}");
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let chat = self.chat.clone();
        if number % LEAVES == LEAVES - 1 {
            self.leave(place);
        } else if number % TURN == TURN - 1 {
            self.turns += 1;
            if self.turns.is_multiple_of(TURNS) {
                self.dispatch(place, &chat, json!({"type": "chat/truncated"}));
            }
            let id = format!("t{number}");
            let message = json!({"text": "say one two three", "origin": {"kind": "user"}});
            let start = json!({"type": "chat/turnStarted", "turnId": id, "message": message,
                "startedAt": "2026-01-01T00:00:00.000Z"});
            self.dispatch(place, &chat, start);
            self.pass(Duration::from_secs(1));
        } else if number.is_multiple_of(2) {
            self.dispatch(place, &chat, json!({"type": "chat/draftChanged", "draft": message}));
        } else {
            self.dispatch(place, SESSION, json!({"type": "session/titleChanged", "title": text}));
        }
    }

    /// Returns the findings of the oracle, and the reports of its checks at the end.
    pub fn finish(self) -> (Vec<Finding>, Vec<CheckReport>) {
        (self.findings, self.oracle.finish())
    }

    fn leave(&mut self, place: usize) {
        let conn = self.seats[place].conn;
        self.host.handle_close(self.now, conn);
        self.put(
            conn,
            ConnectionEvent::Closed { by: ClosingSide::Client, code: None, reason: String::new() },
        );
        let other = (place + 1) % self.seats.len();
        let missed = json!({"type": "session/titleChanged", "title": "missed"});
        self.dispatch(other, SESSION, missed);
        self.seats[place].conn = self.open();
        let (last, chat) = (self.seats[place].last, self.chat.clone());
        let params = json!({"channel": ROOT, "clientId": format!("c{place}"),
            "lastSeenServerSeq": last, "subscriptions": [ROOT, SESSION, chat]});
        self.ask(place, "reconnect", params);
        // Another client subscribes and disconnects. The oracle compares the snapshot that this client receives with
        // the earlier actions.
        let conn = self.open();
        let hello = json!({"channel": ROOT, "protocolVersions": ["1.0.0"], "clientId": "guest",
            "initialSubscriptions": [SESSION, self.chat]});
        self.send(conn, request("initialize", hello));
        self.host.handle_close(self.now, conn);
        self.put(
            conn,
            ConnectionEvent::Closed { by: ClosingSide::Client, code: None, reason: String::new() },
        );
    }

    fn open(&mut self) -> ConnId {
        let conn = ConnId(self.conns);
        self.conns += 1;
        self.put(conn, ConnectionEvent::open(conn.to_string()));
        self.host.handle_open(self.now, conn);
        conn
    }

    fn ask(&mut self, place: usize, method: &str, params: Value) {
        self.send(self.seats[place].conn, request(method, params));
    }

    fn dispatch(&mut self, place: usize, channel: &str, action: Value) {
        self.seats[place].client_seq += 1;
        let params = json!({"channel": channel, "clientSeq": self.seats[place].client_seq,
            "action": action});
        let said = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.send(self.seats[place].conn, said);
    }

    fn send(&mut self, conn: ConnId, message: Value) {
        let frame = Frame::json(&message);
        self.put(conn, ConnectionEvent::Sent(Arc::new(SeenFrame::new(frame.clone()))));
        self.now += Duration::from_millis(1);
        self.host.handle_frame(self.now, conn, &frame);
        self.drain();
    }

    /// Lets time pass, and handles the host's timeouts that become due.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.host.next_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.host.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        while let Some(output) = self.host.poll_output() {
            let HostOutput::Send { conn, frame } = output else {
                continue;
            };
            let seen = Arc::new(SeenFrame::new(frame));
            self.learn(conn, &seen);
            self.put(conn, ConnectionEvent::Received(seen));
        }
    }

    /// Stores the data that a client needs to continue.
    fn learn(&mut self, conn: ConnId, seen: &SeenFrame) {
        let Some(message) = seen.message() else {
            return;
        };
        let params = message.params();
        let seq = params.get("serverSeq").and_then(Value::as_u64).unwrap_or(0);
        self.seq = self.seq.max(seq);
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.conn == conn) {
            seat.last = seat.last.max(seq);
        }
        if let Some(chat) = message.result().and_then(|it| it.pointer(DEFAULT)) {
            chat.as_str().unwrap_or_default().clone_into(&mut self.chat);
        }
    }

    fn put(&mut self, conn: ConnId, event: ConnectionEvent) {
        self.line += 1;
        let entry = TranscriptEntry { line: self.line, at: self.now, conn, event };
        self.findings.extend(self.oracle.observe(&entry));
    }
}

/// The JSON pointer to the default chat in a session's snapshot.
const DEFAULT: &str = "/snapshot/state/defaultChat";

/// Returns a request. Every request is answered immediately, so one identifier suffices.
fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

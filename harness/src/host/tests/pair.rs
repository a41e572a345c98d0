//! A host and its clients in one process, in virtual time.
//!
//! Every frame of the host is checked against the tables. Every action is reduced into the snapshot that the
//! connection received: the action must have an effect, and the result must equal a later snapshot.

pub(super) use std::collections::BTreeMap;
pub(super) use std::time::Duration;

pub(super) use crate::wire::json::{Value, json};

pub(super) use super::super::engine::{HostConfig, RefHost};
pub(super) use super::super::shell::{ShellDeed, ShellEvent, TerminalSize};
use super::super::{HostOutput, SansIoHost};
use crate::model::{ActionOutcome, NoOp, apply};
pub(super) use crate::transcript::ConnId;
pub(super) use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::frame::Frame;
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

pub(super) const SESSION: &str = "ahp-session:/s1";
/// The time that [`TestPair::run`] plays. This time is longer than any script of these tests, and shorter than
/// the grace period of a lost client.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct TestSeat {
    pub(super) inbox: Vec<Value>,
    pub(super) states: BTreeMap<String, Value>,
    pub(super) asked: BTreeMap<String, String>,
    pub(super) version: Option<&'static Protocol>,
    pub(super) closed: Option<u16>,
    pub(super) seq: u64,
    pub(super) client_seq: u64,
}

pub(super) struct TestPair {
    pub(super) host: Box<dyn SansIoHost>,
    pub(super) now: Duration,
    pub(super) seats: BTreeMap<ConnId, TestSeat>,
    pub(super) next_id: u64,
    /// Whether the frames of the host are checked; false for hosts with injected faults.
    pub(super) strict: bool,
    /// The instructions that shells have received.
    pub(super) deeds: Vec<(String, ShellDeed)>,
}

impl TestPair {
    pub(super) fn over(host: Box<dyn SansIoHost>, strict: bool) -> TestPair {
        TestPair {
            host,
            now: Duration::ZERO,
            seats: BTreeMap::new(),
            next_id: 0,
            strict,
            deeds: Vec::new(),
        }
    }

    pub(super) fn new(config: HostConfig) -> TestPair {
        let strict = config.faults.is_empty();
        TestPair::over(Box::new(RefHost::new(config)), strict)
    }

    pub(super) fn open(&mut self, conn: u32) -> ConnId {
        let conn = ConnId(conn);
        self.seats.insert(conn, TestSeat::default());
        self.host.handle_open(self.now, conn);
        self.drain();
        conn
    }

    /// Opens a connection and performs the handshake as client `c<conn>`.
    pub(super) fn join(&mut self, conn: u32, version: &str, subscriptions: &[&str]) -> ConnId {
        let id = self.open(conn);
        let params = json!({
            "channel": ROOT, "protocolVersions": [version], "clientId": format!("c{conn}"),
            "initialSubscriptions": subscriptions, "capabilities": {"mcpApps": {}},
        });
        let result = self.ask(id, "initialize", params);
        assert_eq!(result["result"]["protocolVersion"], version, "{result}");
        id
    }

    /// Opens a connection and performs the handshake like [`TestPair::join`], without an assertion about the result.
    pub(super) fn join_loosely(&mut self, conn: u32, version: &str, channels: &[&str]) -> ConnId {
        let id = self.open(conn);
        let params = json!({
            "channel": ROOT, "protocolVersions": [version], "clientId": format!("c{conn}"),
            "initialSubscriptions": channels,
        });
        self.ask(id, "initialize", params);
        id
    }

    /// Lets a client stop or resume reading.
    pub(super) fn hold(&mut self, conn: ConnId, held: bool) {
        self.host.handle_held(self.now, conn, held);
    }

    /// Closes a connection on the client's side.
    pub(super) fn close(&mut self, conn: ConnId) {
        self.host.handle_close(self.now, conn);
        self.drain();
    }

    /// Sends a raw frame.
    pub(super) fn frame(&mut self, conn: ConnId, frame: &Frame) {
        self.host.handle_frame(self.now, conn, frame);
        self.drain();
    }

    /// Advances the time to the next timer of the host, however late this timer is.
    pub(super) fn step(&mut self) {
        if let Some(at) = self.host.next_timeout() {
            self.now = self.now.max(at);
            self.host.handle_timeout(self.now);
            self.drain();
        }
    }

    pub(super) fn raw(&mut self, conn: ConnId, text: &str) -> Vec<Value> {
        let from = self.seats[&conn].inbox.len();
        self.host.handle_frame(self.now, conn, &Frame::Text(text.to_owned()));
        self.drain();
        self.seats[&conn].inbox[from..].to_vec()
    }

    pub(super) fn ask(&mut self, conn: ConnId, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let seat = self.seats.get_mut(&conn).unwrap();
        seat.asked.insert(id.to_string(), method.to_owned());
        let said = self.raw(conn, &request.to_string());
        let answers: Vec<&Value> =
            said.iter().filter(|m| m["id"] == id && m.get("method").is_none()).collect();
        if self.strict {
            assert_eq!(answers.len(), 1, "{method}: {said:?}");
        }
        answers.first().copied().cloned().unwrap_or(Value::Null)
    }

    pub(super) fn subscribe(&mut self, conn: ConnId, channel: &str) -> Value {
        let answer = self.ask(conn, "subscribe", json!({"channel": channel}));
        answer["result"]["snapshot"]["state"].clone()
    }

    /// Passes an event of a terminal's shell to the host.
    pub(super) fn said(&mut self, terminal: &str, said: ShellEvent) {
        self.host.handle_shell(self.now, terminal, said);
        self.drain();
    }

    /// Dispatches an action. Returns the reason for the rejection, `accepted`, or `silence`.
    pub(super) fn dispatch(&mut self, conn: ConnId, channel: &str, action: Value) -> String {
        let seat = self.seats.get_mut(&conn).unwrap();
        seat.client_seq += 1;
        let seq = seat.client_seq;
        let params = json!({"channel": channel, "clientSeq": seq, "action": action});
        let text = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        let said = self.raw(conn, &text.to_string());
        let own = |m: &&Value| m["params"]["origin"]["clientSeq"] == seq;
        match said.iter().find(own) {
            Some(envelope) => {
                let reason = envelope["params"]["rejectionReason"].as_str();
                reason.unwrap_or("accepted").to_owned()
            }
            None => "silence".to_owned(),
        }
    }

    /// Advances the time until no timer is due within [`PATIENCE`].
    pub(super) fn run(&mut self) {
        let end = self.now + PATIENCE;
        while let Some(at) = self.host.next_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.host.handle_timeout(self.now);
            self.drain();
        }
    }

    pub(super) fn drain(&mut self) {
        while let Some(output) = self.host.poll_output() {
            match output {
                HostOutput::Send { conn, frame } => {
                    let value: Value = serde_json::from_str(&frame.display()).unwrap();
                    self.take(conn, value);
                }
                HostOutput::Close { conn, code, .. } => {
                    let seat = self.seats.get_mut(&conn).unwrap();
                    assert_eq!(seat.closed, None);
                    seat.closed = Some(code);
                }
                HostOutput::ToAgent(line) => panic!("there is no agent to tell: {line}"),
                HostOutput::Shell(terminal, deed) => self.deeds.push((terminal, deed)),
                HostOutput::Asked(what) => panic!("no model is asked: {what}"),
                HostOutput::Called(what) => panic!("there is no tool to call: {what}"),
            }
        }
    }

    pub(super) fn take(&mut self, conn: ConnId, value: Value) {
        let strict = self.strict;
        let seat = self.seats.get_mut(&conn).unwrap();
        assert!(seat.closed.is_none(), "after the close: {value}");
        let method = seat.asked.get(&value["id"].to_string()).cloned();
        if strict {
            let newest = Protocol::of("1.0.0".parse().unwrap()).unwrap();
            let protocol = seat.version.unwrap_or(newest);
            let message = Message::new(value.clone());
            assert_ne!(message.kind(), MessageKind::Malformed, "{value}");
            let errors = protocol.check_message(&message, MessageOrigin::Host, method.as_deref());
            assert!(errors.iter().all(|error| error.soft), "{errors:?}\n{value}");
        }
        if let Some(version) = value["result"]["protocolVersion"].as_str() {
            seat.version = version.parse().ok().and_then(Protocol::of);
        }
        let result = &value["result"];
        let mut snapshots = vec![result["snapshot"].clone()];
        snapshots.extend(result["snapshots"].as_array().cloned().unwrap_or_default());
        for snapshot in snapshots.iter().filter(|snapshot| !snapshot.is_null()) {
            let resource = snapshot["resource"].as_str().unwrap_or("").to_owned();
            seat.seq = seat.seq.max(snapshot["fromSeq"].as_u64().unwrap_or(0));
            seat.states.insert(resource, snapshot["state"].clone());
        }
        for envelope in result["actions"].as_array().into_iter().flatten() {
            fold(seat, envelope, strict);
        }
        if value["method"] == "action" {
            fold(seat, &value["params"], strict);
        }
        seat.inbox.push(value);
    }

    /// Asserts that a connection's reduced state of a channel equals a fresh snapshot.
    pub(super) fn converges(&mut self, conn: ConnId, channel: &str) {
        let mut folded = self.seats[&conn].states[channel].clone();
        let mut fresh = self.subscribe(conn, channel);
        if channel.starts_with("ahp-session") && !channel.ends_with("/annotations") {
            // No action sets the activity bits of a session's status, so the comparison ignores them.
            for state in [&mut folded, &mut fresh] {
                state["status"] = json!(state["status"].as_u64().unwrap() & !31);
            }
        }
        for state in [&mut folded, &mut fresh] {
            let members = state.as_object_mut().unwrap();
            members.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        assert_eq!(folded, fresh, "{channel}");
    }

    /// Returns a host with a session and its chat, and one client that is subscribed to both.
    pub(super) fn ready(config: HostConfig) -> (TestPair, ConnId, String) {
        let mut pair = TestPair::new(config);
        let a = pair.join(1, "1.0.0", &[ROOT]);
        let chat = pair.session(a);
        (pair, a, chat)
    }

    pub(super) fn session(&mut self, conn: ConnId) -> String {
        self.ask(conn, "createSession", json!({"channel": SESSION}));
        self.subscribe(conn, SESSION);
        self.run();
        let state = self.subscribe(conn, SESSION);
        assert_eq!(state["lifecycle"], "ready");
        let chat = state["defaultChat"].as_str().unwrap().to_owned();
        self.subscribe(conn, &chat);
        chat
    }

    pub(super) fn start(&mut self, conn: ConnId, chat: &str, turn: &str, script: &str) -> String {
        self.dispatch(conn, chat, turn_started(turn, script))
    }

    pub(super) fn state(&self, conn: ConnId, channel: &str) -> &Value {
        &self.seats[&conn].states[channel]
    }

    pub(super) fn call(&self, conn: ConnId, chat: &str) -> (String, String) {
        let parts = self.state(conn, chat)["activeTurn"]["responseParts"].as_array().unwrap();
        let call = &parts.iter().rfind(|part| part["kind"] == "toolCall").unwrap()["toolCall"];
        let text = |name: &str| call[name].as_str().unwrap().to_owned();
        (text("toolCallId"), text("status"))
    }
}

pub(super) fn fold(seat: &mut TestSeat, params: &Value, strict: bool) {
    let channel = params["channel"].as_str().unwrap_or("");
    if params.get("rejectionReason").is_some() {
        return;
    }
    let seq = params["serverSeq"].as_u64().unwrap_or(0);
    if strict {
        assert!(seq > seat.seq, "{seq} after {}", seat.seq);
        assert!(seat.states.contains_key(channel), "not subscribed: {params}");
    }
    seat.seq = seq;
    if params["action"]["type"] == "session/chatRemoved" {
        let gone = params["action"]["chat"].as_str().unwrap_or("");
        seat.states.remove(gone);
    }
    let Some(state) = seat.states.get_mut(channel) else {
        return;
    };
    let Some(kind) = ChannelKind::of_uri(channel) else {
        return;
    };
    let newest = || Protocol::of("1.0.0".parse().unwrap());
    let version = seat.version.or_else(newest).unwrap().version();
    let outcome = apply(version, kind, state, &params["action"]);
    let useful = matches!(
        outcome,
        ActionOutcome::Applied | ActionOutcome::NoOp(NoOp::RequestOnly | NoOp::EventOnly)
    );
    assert!(!strict || useful, "{outcome:?}: {params}");
}

pub(super) fn message(text: &str) -> Value {
    json!({"text": text, "origin": {"kind": "user"}})
}

pub(super) fn turn_started(turn: &str, script: &str) -> Value {
    let text = if script.is_empty() { "Hello.".into() } else { format!("ahp-script: 1\n{script}") };
    json!({
        "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-01T00:00:00.000Z",
        "message": message(&text),
    })
}

pub(super) fn actions(pair: &TestPair, conn: ConnId, channel: &str) -> String {
    let own = |m: &&Value| m["params"]["channel"] == channel && m["method"] == "action";
    let kind = |m: &Value| m["params"]["action"]["type"].as_str().unwrap().to_owned();
    let kinds: Vec<String> = pair.seats[&conn].inbox.iter().filter(own).map(kind).collect();
    kinds.join(" ").replace("chat/", "").replace("session/", "")
}

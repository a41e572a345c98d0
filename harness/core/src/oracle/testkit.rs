//! A compact script language for transcripts, for tests.
//!
//! Each line is one event: `A hello 5` opens a connection and performs the handshake, `A sub chat 5`
//! subscribes, `A got chat 6 start t1` delivers an action, `A sends chat 1 start t1` dispatches an action.
//! [`play`] defines all words.

use std::sync::Arc;
use std::time::Duration;

use crate::wire::json::{Value, json};

use crate::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::verdict::{CheckReport, Finding};
use crate::wire::frame::Frame;

use super::{JudgedParty, Oracle, OracleOptions};

/// The findings and reports of the oracle for a script.
pub(super) struct TestVerdict {
    pub findings: Vec<Finding>,
    pub reports: Vec<CheckReport>,
}

impl TestVerdict {
    /// Returns the ids of the checks with findings, in order and without repetitions. The check `shape.harness` is left
    /// out.
    pub(super) fn checks(&self) -> Vec<&'static str> {
        let mut checks: Vec<_> = self.reports.iter().filter(|it| !it.findings.is_empty()).collect();
        checks.retain(|it| it.check != "shape.harness");
        checks.into_iter().map(|it| it.check).collect()
    }
}

struct TestPlayer {
    oracle: Oracle,
    findings: Vec<Finding>,
    line: u64,
    at: Duration,
    /// The current connection of each client. The key is the client's name in the script.
    conns: Vec<(String, u32)>,
    next_conn: u32,
    next_id: u64,
}

/// Plays a script. The first word of a line names the client; `A2` is another connection of the client `A`.
pub(super) fn play(options: OracleOptions, script: &str) -> TestVerdict {
    play_with(Oracle::new(options), script)
}

/// Plays a script, and judges its clients or only the client with this name.
pub(super) fn play_clients(only: Option<&str>, script: &str) -> TestVerdict {
    let options = OracleOptions { party: JudgedParty::Clients, ..OracleOptions::default() };
    play_with(Oracle::of_client(options, only), script)
}

fn play_with(oracle: Oracle, script: &str) -> TestVerdict {
    let mut player = TestPlayer {
        oracle,
        findings: Vec::new(),
        line: 0,
        at: Duration::ZERO,
        conns: Vec::new(),
        next_conn: 0,
        next_id: 1000,
    };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        player.word(line);
    }
    TestVerdict { findings: player.findings, reports: player.oracle.finish() }
}

impl TestPlayer {
    fn word(&mut self, line: &str) {
        let (who, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let number = |index: usize| word(index).parse::<u64>().unwrap();
        match (who, verb) {
            ("restart", _) => self.put("A", ConnectionEvent::Restarted),
            ("wait", seconds) => self.at += Duration::from_secs_f64(seconds.parse().unwrap()),
            (_, "open") => self.open(who),
            (_, "hello") => {
                let version = words.get(1).copied().unwrap_or("1.0.0");
                self.hello(who, number(0), version);
            }
            (_, "close") => {
                let (by, reason) = (ClosingSide::Host, String::new());
                self.put(who, ConnectionEvent::Closed { by, code: None, reason });
            }
            (_, ">") => self.text(who, true, rest),
            (_, "<") => self.text(who, false, rest),
            (_, "ask") => {
                let params =
                    rest.splitn(3, ' ').nth(2).map_or(json!({"channel": uri("root")}), read);
                let request = json!({"id": number(0), "method": word(1), "params": params});
                self.message(who, true, request);
            }
            (_, "ok") => {
                let result = rest.split_once(' ').map_or(Value::Null, |(_, text)| read(text));
                self.message(who, false, json!({"id": number(0), "result": result}));
            }
            (_, "barrier") => {
                self.next_id += 1;
                let params = json!({"channel": uri("root")});
                let request = json!({"id": self.next_id, "method": "ping", "params": params});
                self.message(who, true, request);
                self.message(who, false, json!({"id": self.next_id, "result": null}));
            }
            (_, "sub") => {
                self.next_id += 1;
                let id = self.next_id;
                let params = json!({"channel": uri(word(0))});
                let request = json!({"id": id, "method": "subscribe", "params": params});
                self.message(who, true, request);
                let state = rest.splitn(3, ' ').nth(2).map_or_else(|| state(word(0)), read);
                let result = json!({"snapshot": snapshot(word(0), number(1), state)});
                self.message(who, false, json!({"id": id, "result": result}));
            }
            (_, "unsub") => {
                let params = json!({"channel": uri(word(0))});
                self.message(who, true, json!({"method": "unsubscribe", "params": params}));
            }
            (_, "got" | "echo" | "refused") => {
                let value = envelope(verb, rest);
                self.message(who, false, json!({"method": "action", "params": value}));
            }
            (_, "sends") => {
                let action = action(&words[2..]);
                let params =
                    json!({"channel": uri(word(0)), "clientSeq": number(1), "action": action});
                self.message(who, true, json!({"method": "dispatchAction", "params": params}));
            }
            (_, "back") => self.back(who, rest),
            _ => panic!("unknown line `{line}`"),
        }
    }

    fn open(&mut self, who: &str) {
        self.next_conn += 1;
        let conn = self.next_conn;
        self.conns.retain(|(known, _)| known != who);
        self.conns.push((who.to_owned(), conn));
        self.put(who, ConnectionEvent::open(who));
    }

    fn hello(&mut self, who: &str, seq: u64, version: &str) {
        self.open(who);
        let params = json!({
            "channel": uri("root"), "protocolVersions": [version], "clientId": client(who),
            "initialSubscriptions": [uri("root")],
        });
        self.message(who, true, json!({"id": 0, "method": "initialize", "params": params}));
        let result = json!({
            "protocolVersion": version, "serverSeq": seq,
            "snapshots": [snapshot("root", seq, state("root"))],
        });
        self.message(who, false, json!({"id": 0, "result": result}));
    }

    /// Reconnects a client. `A back 5 root,chat ok got chat 6 title x; got chat 7 ..` has a replay; `A back 5
    /// root,chat missing=chat` names missing channels.
    fn back(&mut self, who: &str, rest: &str) {
        self.open(who);
        let mut parts = rest.splitn(4, ' ');
        let mut part = || parts.next().unwrap_or_default();
        let (seq, wanted, missing, actions) = (part(), part(), part(), part());
        let list = |text: &str| -> Vec<String> {
            text.split(',').filter(|it| !it.is_empty()).map(uri).collect()
        };
        let params = json!({
            "channel": uri("root"), "clientId": client(who),
            "lastSeenServerSeq": seq.parse::<u64>().unwrap(), "subscriptions": list(wanted),
        });
        self.message(who, true, json!({"id": 0, "method": "reconnect", "params": params}));
        let actions = actions.split(';').map(str::trim).filter(|text| !text.is_empty());
        let actions: Vec<Value> = actions.map(|text| envelope("got", text)).collect();
        let missing = list(missing.trim_start_matches("missing="));
        let result = json!({"type": "replay", "actions": actions, "missing": missing});
        self.message(who, false, json!({"id": 0, "result": result}));
    }

    fn message(&mut self, who: &str, sent: bool, mut value: Value) {
        value["jsonrpc"] = "2.0".into();
        self.text(who, sent, &value.to_string());
    }

    fn text(&mut self, who: &str, sent: bool, text: &str) {
        let seen = Arc::new(SeenFrame::new(Frame::Text(text.to_owned())));
        self.put(
            who,
            if sent { ConnectionEvent::Sent(seen) } else { ConnectionEvent::Received(seen) },
        );
    }

    fn put(&mut self, who: &str, event: ConnectionEvent) {
        self.line += 1;
        self.at += Duration::from_millis(1);
        let conn = match self.conns.iter().find(|(known, _)| known == who) {
            Some((_, conn)) => *conn,
            None => {
                self.next_conn += 1;
                self.conns.push((who.to_owned(), self.next_conn));
                self.next_conn
            }
        };
        let entry = TranscriptEntry { line: self.line, at: self.at, conn: ConnId(conn), event };
        self.findings.extend(self.oracle.observe(&entry));
    }
}

fn client(who: &str) -> &str {
    who.trim_end_matches(char::is_numeric)
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn uri(name: &str) -> String {
    match name {
        "root" => "ahp-root://".to_owned(),
        "session" => "ahp-session:/1".to_owned(),
        "chat" => "ahp-chat:/1".to_owned(),
        other => other.to_owned(),
    }
}

fn snapshot(channel: &str, seq: u64, state: Value) -> Value {
    json!({"resource": uri(channel), "state": state, "fromSeq": seq})
}

/// Returns an empty state for the channel with this name in scripts.
pub(super) fn state(channel: &str) -> Value {
    let time = "2026-01-01T00:00:00.000Z";
    match channel {
        "root" => json!({"agents": []}),
        "session" => json!({
            "provider": "p", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
            "chats": [{"resource": uri("chat"), "title": "", "status": 1, "modifiedAt": time}],
        }),
        _ => json!({
            "resource": uri("chat"), "title": "", "status": 1, "modifiedAt": time, "turns": [],
        }),
    }
}

/// Parses an envelope such as `chat 6 start t1`. For `echo` and `refused`, the origin (`A 1`) precedes the
/// action.
fn envelope(verb: &str, text: &str) -> Value {
    let words: Vec<&str> = text.trim_start_matches("got ").split_whitespace().collect();
    let seq: u64 = words[1].parse().unwrap();
    let mut value = json!({"channel": uri(words[0]), "serverSeq": seq});
    let mut rest = &words[2..];
    if verb != "got" {
        let client_seq: i64 = words[3].parse().unwrap();
        value["origin"] = json!({"clientId": words[2], "clientSeq": client_seq});
        rest = &words[4..];
    }
    if verb == "refused" {
        value["rejectionReason"] = "no".into();
    }
    value["action"] = action(rest);
    value
}

/// Parses an action such as `start t1`.
fn action(words: &[&str]) -> Value {
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let turn = |name: &str, more: Value| {
        let mut action = json!({"type": format!("chat/{name}"), "turnId": word(1)});
        for (name, value) in more.as_object().into_iter().flatten() {
            action[name] = value.clone();
        }
        action
    };
    let tool = |name: &str, mut more: Value| {
        more["toolCallId"] = word(2).into();
        turn(name, more)
    };
    match word(0) {
        "title" => json!({"type": "session/titleChanged", "title": word(1)}),
        "agents" => json!({"type": "root/agentsChanged", "agents": []}),
        "sessions" => json!({"type": "root/activeSessionsChanged", "activeSessions": words.len()}),
        "start" => turn(
            "turnStarted",
            json!({
                "startedAt": "2026-01-01T00:00:01.000Z",
                "message": {"text": "hi", "origin": {"kind": "user"}},
            }),
        ),
        "end" => turn("turnComplete", json!({"duration": 5})),
        "cancel" => turn("turnCancelled", json!({"duration": 5})),
        "part" => turn(
            "responsePart",
            json!({
                "part": {"kind": "markdown", "id": word(2), "content": ""},
            }),
        ),
        "delta" => turn("delta", json!({"partId": word(2), "content": "x"})),
        "reasoning" => turn("reasoning", json!({"partId": word(2), "content": "x"})),
        "tool" => tool("toolCallStart", json!({"toolName": "t", "displayName": "T"})),
        "ready" => tool("toolCallReady", json!({"invocationMessage": "m"})),
        "approve" => {
            tool("toolCallConfirmed", json!({"approved": true, "confirmed": "user-action"}))
        }
        "complete" => {
            tool("toolCallComplete", json!({"result": {"success": true, "pastTenseMessage": "d"}}))
        }
        text if text.starts_with('{') => read(&words.join(" ")),
        other => panic!("unknown action `{other}`"),
    }
}

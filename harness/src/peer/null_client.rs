//! Clients that do nothing useful. No suite may pass with them.
//!
//! Knows: the lines of drivers, the first messages. Never knows: scenarios.
//!
//! Start at [`NullClient`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::transcript::{ConnId, SeenFrame};
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind};

use super::reference::{ClientOutput, SansIoClient};

/// The behaviour of a null client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NullClientBehaviour {
    /// The client neither connects nor answers.
    Mute,
    /// The client answers every command with success, and does nothing else.
    AgreesOnly,
    /// The client connects, answers every command with success, and sends nothing to the host.
    ConnectsOnly,
    /// The client sends every frame of the host back.
    Echoes,
    /// The client connects and disconnects at once, over and over.
    Leaves,
    /// The client performs the handshake, answers every command with success, and does nothing else.
    GreetsOnly,
    /// The client does the same as with `GreetsOnly`, and answers every request of the host with an error.
    GreetsAndRefuses,
}

impl NullClientBehaviour {
    /// Every behaviour.
    pub const ALL: &'static [NullClientBehaviour] = &[
        NullClientBehaviour::Mute,
        NullClientBehaviour::AgreesOnly,
        NullClientBehaviour::ConnectsOnly,
        NullClientBehaviour::Echoes,
        NullClientBehaviour::Leaves,
        NullClientBehaviour::GreetsOnly,
        NullClientBehaviour::GreetsAndRefuses,
    ];

    /// Returns whether the client sends messages to the host. Rules about single messages can hold only for a client
    /// that sends messages.
    pub fn sends(self) -> bool {
        self.greets() || self == NullClientBehaviour::Echoes
    }

    fn greets(self) -> bool {
        matches!(self, NullClientBehaviour::GreetsOnly | NullClientBehaviour::GreetsAndRefuses)
    }
}

/// A client that does nothing useful.
#[derive(Debug)]
pub struct NullClient {
    behaviour: NullClientBehaviour,
    version: String,
    next_conn: u32,
    outputs: VecDeque<ClientOutput>,
}

impl NullClient {
    /// Creates a null client. `version` is the version that the client offers if it performs the handshake.
    pub fn new(behaviour: NullClientBehaviour, version: &str) -> NullClient {
        NullClient {
            behaviour,
            version: version.to_owned(),
            next_conn: 0,
            outputs: VecDeque::new(),
        }
    }

    fn open(&mut self) {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.outputs.push_back(ClientOutput::Open { conn, url: String::new() });
    }

    fn send(&mut self, conn: ConnId, message: &Message) {
        let frame = Frame::json(message.value());
        self.outputs.push_back(ClientOutput::Send { conn, frame });
    }
}

impl SansIoClient for NullClient {
    fn handle_line(&mut self, _now: Duration, line: &str) {
        if self.behaviour == NullClientBehaviour::Mute {
            return;
        }
        let command: Value = serde_json::from_str(line).unwrap_or_default();
        let connects = self.behaviour != NullClientBehaviour::AgreesOnly;
        if command["do"] == "connect" && connects {
            self.open();
        }
        let answer = json!({"id": command["id"], "ok": {}});
        self.outputs.push_back(ClientOutput::Line(answer.to_string()));
    }

    fn handle_opened(&mut self, _now: Duration, conn: ConnId) {
        match self.behaviour {
            NullClientBehaviour::Leaves if self.next_conn < 10 => {
                self.outputs.push_back(ClientOutput::Close { conn });
                self.open();
            }
            behaviour if behaviour.greets() => {
                let params = json!({
                    "channel": "ahp-root://",
                    "clientId": "null-client",
                    "protocolVersions": [self.version.as_str()],
                    "initialSubscriptions": ["ahp-root://"],
                });
                self.send(conn, &Message::request(1, "initialize", params));
            }
            _ => {}
        }
    }

    fn handle_refused(&mut self, _now: Duration, _conn: ConnId, _status: Option<u16>) {}

    fn handle_frame(&mut self, _now: Duration, conn: ConnId, frame: &Frame) {
        let seen = SeenFrame::new(frame.clone());
        match self.behaviour {
            NullClientBehaviour::Echoes => {
                self.outputs.push_back(ClientOutput::Send { conn, frame: frame.clone() });
            }
            NullClientBehaviour::GreetsAndRefuses => {
                let asked = seen.message().filter(|it| it.kind() == MessageKind::Request);
                if let Some(id) = asked.and_then(Message::id) {
                    let refusal = Message::failure(id.clone(), -32601, "no", Value::Null);
                    self.send(conn, &refusal);
                }
            }
            _ => {}
        }
    }

    fn handle_closed(&mut self, _now: Duration, _conn: ConnId) {}

    fn handle_timeout(&mut self, _now: Duration) {}

    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    fn poll_output(&mut self) -> Option<ClientOutput> {
        self.outputs.pop_front()
    }
}

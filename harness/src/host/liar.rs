//! Hosts that shake hands properly and cheat afterwards: they may pass no more than their
//! handshake.
//!
//! Knows: the reference host, which does the honest part. Never knows: rules.
//!
//! Start at [`Liar`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::engine::{Config, RefHost};
use super::fault::Fault;
use super::{Host, Output};
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::message::{Decoded, Kind, Message, decode};

/// One way of cheating.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Liar {
    /// Says nothing after the handshake.
    MuteAfterHandshake,
    /// Answers every other request with an error and rejects every action.
    RefuseEverything,
    /// Accepts and echoes every action and applies none.
    EchoEverything,
    /// Answers every subscribe with one frozen snapshot.
    FrozenSnapshot,
    /// Forgets everything when a client reconnects.
    ForgetsOnReconnect,
}

impl Liar {
    /// Every one of them.
    pub const ALL: &'static [Liar] = &[
        Liar::MuteAfterHandshake,
        Liar::RefuseEverything,
        Liar::EchoEverything,
        Liar::FrozenSnapshot,
        Liar::ForgetsOnReconnect,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Liar::MuteAfterHandshake => "mute-after-handshake",
            Liar::RefuseEverything => "refuse-everything",
            Liar::EchoEverything => "echo-everything",
            Liar::FrozenSnapshot => "frozen-snapshot",
            Liar::ForgetsOnReconnect => "forgets-on-reconnect",
        }
    }

    /// What the reference host under it does wrong.
    fn faults(self) -> Vec<Fault> {
        match self {
            Liar::MuteAfterHandshake | Liar::RefuseEverything => Vec::new(),
            Liar::EchoEverything => vec![Fault::EchoesWithoutApplying],
            Liar::FrozenSnapshot => vec![Fault::SnapshotFrozen],
            Liar::ForgetsOnReconnect => vec![Fault::ReconnectForgets],
        }
    }
}

/// A host that cheats.
#[derive(Debug)]
pub struct LiarHost {
    kind: Liar,
    inner: RefHost,
    outputs: VecDeque<Output>,
    /// Connections that the honest part has closed.
    closed: HashSet<ConnId>,
}

impl LiarHost {
    /// Makes one.
    pub fn new(kind: Liar) -> LiarHost {
        let faults = kind.faults();
        LiarHost {
            kind,
            inner: RefHost::new(Config { faults, ..Config::default() }),
            outputs: VecDeque::new(),
            closed: HashSet::new(),
        }
    }

    fn refuse(&mut self, conn: ConnId, message: &Message) {
        let params = message.params();
        let answer = match (message.kind(), message.method()) {
            (Kind::Request, _) => json!({
                "jsonrpc": "2.0", "id": message.id(),
                "error": {"code": -32603, "message": "no"},
            }),
            (Kind::Notification, Some("dispatchAction")) => json!({
                "jsonrpc": "2.0", "method": "action", "params": {
                    "channel": params["channel"], "action": params["action"], "serverSeq": 0,
                    "origin": {"clientId": "", "clientSeq": params["clientSeq"]},
                    "rejectionReason": "no",
                },
            }),
            _ => Value::Null,
        };
        if !answer.is_null() {
            let frame = Frame::json(&answer);
            self.outputs.push_back(Output::Send { conn, frame });
        }
    }
}

impl Host for LiarHost {
    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.inner.handle_open(now, conn);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        if self.closed.contains(&conn) {
            return;
        }
        let message = match decode(frame) {
            Decoded::Message(message) => Some(message),
            _ => None,
        };
        let honest = message.as_ref().and_then(Message::method) == Some("initialize");
        match (self.kind, &message) {
            (Liar::MuteAfterHandshake, _) if !honest => {}
            (Liar::RefuseEverything, Some(message)) if !honest => self.refuse(conn, message),
            _ => self.inner.handle_frame(now, conn, frame),
        }
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.closed.remove(&conn);
        self.inner.handle_close(now, conn);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.inner.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.inner.next_timeout()
    }

    fn poll_output(&mut self) -> Option<Output> {
        let output = self.inner.poll_output();
        if let Some(Output::Close { conn, .. }) = &output {
            self.closed.insert(*conn);
        }
        output.or_else(|| self.outputs.pop_front())
    }

    fn restart(&mut self, now: Duration) {
        self.outputs.clear();
        self.closed.clear();
        self.inner.restart(now);
    }
}

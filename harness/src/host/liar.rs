//! Hosts that complete a correct handshake and violate the protocol afterwards. Only the handshake of such a
//! host may pass the checks.
//!
//! Knows: the reference host. Never knows: rules.
//!
//! Start at [`LiarBehaviour`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::engine::{HostConfig, RefHost};
use super::fault::HostFault;
use super::{HostOutput, SansIoHost};
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

/// The way in which a host violates the protocol.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum LiarBehaviour {
    /// Sends nothing after the handshake.
    MuteAfterHandshake,
    /// Answers every other request with an error and rejects every action.
    RefuseEverything,
    /// Accepts and sends every action but applies none.
    EchoEverything,
    /// Answers every `subscribe` with the same frozen snapshot.
    FrozenSnapshot,
    /// Forgets all sessions and channels when a client reconnects.
    ForgetsOnReconnect,
}

impl LiarBehaviour {
    /// All behaviours.
    pub const ALL: &'static [LiarBehaviour] = &[
        LiarBehaviour::MuteAfterHandshake,
        LiarBehaviour::RefuseEverything,
        LiarBehaviour::EchoEverything,
        LiarBehaviour::FrozenSnapshot,
        LiarBehaviour::ForgetsOnReconnect,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LiarBehaviour::MuteAfterHandshake => "mute-after-handshake",
            LiarBehaviour::RefuseEverything => "refuse-everything",
            LiarBehaviour::EchoEverything => "echo-everything",
            LiarBehaviour::FrozenSnapshot => "frozen-snapshot",
            LiarBehaviour::ForgetsOnReconnect => "forgets-on-reconnect",
        }
    }

    /// Returns the injected faults of the underlying reference host.
    fn faults(self) -> Vec<HostFault> {
        match self {
            LiarBehaviour::MuteAfterHandshake | LiarBehaviour::RefuseEverything => Vec::new(),
            LiarBehaviour::EchoEverything => vec![HostFault::EchoesWithoutApplying],
            LiarBehaviour::FrozenSnapshot => vec![HostFault::SnapshotFrozen],
            LiarBehaviour::ForgetsOnReconnect => vec![HostFault::ReconnectForgets],
        }
    }
}

/// A host that violates the protocol after its handshake.
#[derive(Debug)]
pub struct LiarHost {
    kind: LiarBehaviour,
    inner: RefHost,
    outputs: VecDeque<HostOutput>,
    /// The connections that the underlying reference host has closed.
    closed: HashSet<ConnId>,
}

impl LiarHost {
    /// Creates a host with this behaviour.
    pub fn new(kind: LiarBehaviour) -> LiarHost {
        let faults = kind.faults();
        LiarHost {
            kind,
            inner: RefHost::new(HostConfig { faults, ..HostConfig::default() }),
            outputs: VecDeque::new(),
            closed: HashSet::new(),
        }
    }

    fn refuse(&mut self, conn: ConnId, message: &Message) {
        let params = message.params();
        let answer = match (message.kind(), message.method()) {
            (MessageKind::Request, _) => json!({
                "jsonrpc": "2.0", "id": message.id(),
                "error": {"code": -32603, "message": "no"},
            }),
            (MessageKind::Notification, Some("dispatchAction")) => json!({
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
            self.outputs.push_back(HostOutput::Send { conn, frame });
        }
    }
}

impl SansIoHost for LiarHost {
    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.inner.handle_open(now, conn);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        if self.closed.contains(&conn) {
            return;
        }
        let message = match decode(frame) {
            DecodedFrame::Message(message) => Some(message),
            _ => None,
        };
        let honest = message.as_ref().and_then(Message::method) == Some("initialize");
        match (self.kind, &message) {
            (LiarBehaviour::MuteAfterHandshake, _) if !honest => {}
            (LiarBehaviour::RefuseEverything, Some(message)) if !honest => {
                self.refuse(conn, message)
            }
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

    fn poll_output(&mut self) -> Option<HostOutput> {
        let output = self.inner.poll_output();
        if let Some(HostOutput::Close { conn, .. }) = &output {
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

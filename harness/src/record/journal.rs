//! What passed, written down and judged as it comes.
//!
//! Knows: the capture format, the oracle. Never knows: sockets, how a message passed.

use std::sync::Arc;
use std::time::Duration;

use crate::oracle::{Oracle, OracleOptions};
use crate::report::redact::SecretRedactor;
use crate::run::play::TranscriptRecorder;
use crate::transcript::{ClosingSide, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::verdict::{CheckReport, Finding};
use crate::wire::message::{Message, MessageKind};

use super::relay::{ConnectionRelay, RecordedItem, RelayNote};

/// Judges a conversation while it is recorded.
pub struct RecordJournal {
    recorder: Box<dyn TranscriptRecorder>,
    redactor: SecretRedactor,
    oracle: Oracle,
    /// What was recorded.
    pub counts: RecordCounts,
}

/// How much was recorded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Serialize)]
pub struct RecordCounts {
    /// Connections that stood.
    pub connections: u64,
    /// Messages of clients.
    pub sent: u64,
    /// Messages of the host.
    pub received: u64,
    /// Faults of ours.
    pub faults: u64,
    /// Rules seen broken.
    pub findings: u64,
}

impl RecordJournal {
    /// A journal that has seen nothing yet.
    pub fn new(recorder: Box<dyn TranscriptRecorder>, redactor: SecretRedactor) -> RecordJournal {
        let options = OracleOptions { foreign: true, ..OracleOptions::default() };
        RecordJournal {
            recorder,
            redactor,
            oracle: Oracle::new(options),
            counts: RecordCounts::default(),
        }
    }

    /// Takes in what happened and returns what it proves wrong.
    pub fn take(&mut self, at: Duration, note: RelayNote) -> Vec<Finding> {
        let name = ConnectionRelay::name(note.conn);
        let event = match note.what {
            RecordedItem::Event(event) => event,
            RecordedItem::Message(side, frame) => {
                let seen = Arc::new(SeenFrame::new(frame));
                match side {
                    ClosingSide::Client => ConnectionEvent::Sent(seen),
                    ClosingSide::Host => ConnectionEvent::Received(seen),
                }
            }
        };
        match &event {
            ConnectionEvent::Open { .. } => {
                self.counts.connections += 1;
                // Its handshake may have told new ones.
                self.redactor.secrets().iter().for_each(|it| self.oracle.keep_secret(it));
            }
            ConnectionEvent::Sent(seen) => {
                self.counts.sent += 1;
                if let Some(token) = seen.message().and_then(token) {
                    self.redactor.learn(token);
                }
            }
            ConnectionEvent::Received(_) => self.counts.received += 1,
            ConnectionEvent::Fault { .. } => self.counts.faults += 1,
            ConnectionEvent::Refused(_)
            | ConnectionEvent::Closed { .. }
            | ConnectionEvent::Cut { .. }
            | ConnectionEvent::Below { .. }
            | ConnectionEvent::Gap { .. }
            | ConnectionEvent::Restarted => {}
        }
        let line = self.recorder.record(at, &name, &event);
        let findings = self.oracle.observe(&TranscriptEntry { line, at, conn: note.conn, event });
        self.counts.findings += findings.len() as u64;
        findings
    }

    /// What the always-on checks saw.
    pub fn finish(self) -> Vec<CheckReport> {
        self.oracle.finish()
    }
}

/// The token that a client pushes with `authenticate`.
fn token(message: &Message) -> Option<&str> {
    let pushes = message.kind() == MessageKind::Request && message.method() == Some("authenticate");
    pushes.then(|| message.params()["token"].as_str()).flatten()
}

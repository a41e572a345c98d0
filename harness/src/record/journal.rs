//! Writes the messages of a recording to a capture and judges them as they arrive.
//!
//! Knows: the capture format, the oracle. Never knows: sockets, forwarding.

use std::sync::Arc;
use std::time::Duration;

use crate::oracle::{Oracle, OracleOptions};
use crate::report::judged_subject::JudgedSubject;
use crate::report::redact::SecretRedactor;
use crate::run::play::TranscriptRecorder;
use crate::transcript::{ClosingSide, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::verdict::{CheckReport, Finding};
use crate::wire::message::{Message, MessageKind};

use super::relay::{ConnectionRelay, RecordedItem, RelayNote};

/// A journal that records and judges a conversation.
pub struct RecordJournal {
    recorder: Box<dyn TranscriptRecorder>,
    redactor: SecretRedactor,
    oracle: Oracle,
    /// Whether the names of connections are passed to the oracle.
    names: bool,
    /// The number of recorded events.
    pub counts: RecordCounts,
}

/// The number of recorded events of each kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Serialize)]
pub struct RecordCounts {
    /// The number of connections that were opened.
    pub connections: u64,
    /// The number of messages from clients.
    pub sent: u64,
    /// The number of messages from the host.
    pub received: u64,
    /// The number of injected faults.
    pub faults: u64,
    /// The number of findings of the always-on checks.
    pub findings: u64,
}

impl RecordJournal {
    /// Creates an empty journal.
    pub fn new(recorder: Box<dyn TranscriptRecorder>, redactor: SecretRedactor) -> RecordJournal {
        RecordJournal::of(recorder, redactor, &JudgedSubject::default())
    }

    /// Creates an empty journal that judges this party.
    pub fn of(
        recorder: Box<dyn TranscriptRecorder>,
        redactor: SecretRedactor,
        subject: &JudgedSubject,
    ) -> RecordJournal {
        let options = OracleOptions { foreign: true, ..OracleOptions::default() };
        let (oracle, names) = (subject.oracle(options), subject.is_client());
        RecordJournal { recorder, redactor, oracle, names, counts: RecordCounts::default() }
    }

    /// Records an event and returns the findings that the event causes.
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
                // The handshake of this connection may have revealed new secrets.
                self.redactor.secrets().iter().for_each(|it| self.oracle.keep_secret(it));
                if self.names {
                    self.oracle.name_connection(note.conn, &name);
                }
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
        let entry = TranscriptEntry { line, at, conn: note.conn, event };
        let findings = self.oracle.observe(&entry);
        self.counts.findings += findings.len() as u64;
        findings
    }

    /// Ends the recording, and returns the results of the always-on checks.
    pub fn finish(self) -> Vec<CheckReport> {
        self.oracle.finish()
    }
}

/// Returns the token in an `authenticate` request.
fn token(message: &Message) -> Option<&str> {
    let pushes = message.kind() == MessageKind::Request && message.method() == Some("authenticate");
    pushes.then(|| message.params()["token"].as_str()).flatten()
}

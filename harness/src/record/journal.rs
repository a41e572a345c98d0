//! What passed, written down and judged as it comes.
//!
//! Knows: the capture format, the oracle. Never knows: sockets, how a message passed.

use std::sync::Arc;
use std::time::Duration;

use crate::oracle::{Options, Oracle};
use crate::report::redact::Redactor;
use crate::run::play::Recorder;
use crate::transcript::{Entry, Event, Seen, Side};
use crate::verdict::{CheckReport, Finding};
use crate::wire::message::{Kind, Message};

use super::relay::{Note, Relay, What};

/// Judges a conversation while it is recorded.
pub struct Journal {
    recorder: Box<dyn Recorder>,
    redactor: Redactor,
    oracle: Oracle,
    /// What was recorded.
    pub counts: Counts,
}

/// How much was recorded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Serialize)]
pub struct Counts {
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

impl Journal {
    /// A journal that has seen nothing yet.
    pub fn new(recorder: Box<dyn Recorder>, redactor: Redactor) -> Journal {
        let options = Options { foreign: true, ..Options::default() };
        Journal { recorder, redactor, oracle: Oracle::new(options), counts: Counts::default() }
    }

    /// Takes in what happened and returns what it proves wrong.
    pub fn take(&mut self, at: Duration, note: Note) -> Vec<Finding> {
        let name = Relay::name(note.conn);
        let event = match note.what {
            What::Event(event) => event,
            What::Message(side, frame) => {
                let seen = Arc::new(Seen::new(frame));
                match side {
                    Side::Client => Event::Sent(seen),
                    Side::Host => Event::Received(seen),
                }
            }
        };
        match &event {
            Event::Open { .. } => {
                self.counts.connections += 1;
                // Its handshake may have told new ones.
                self.redactor.secrets().iter().for_each(|it| self.oracle.keep_secret(it));
            }
            Event::Sent(seen) => {
                self.counts.sent += 1;
                if let Some(token) = seen.message().and_then(token) {
                    self.redactor.learn(token);
                }
            }
            Event::Received(_) => self.counts.received += 1,
            Event::Fault { .. } => self.counts.faults += 1,
            Event::Refused(_)
            | Event::Closed { .. }
            | Event::Cut { .. }
            | Event::Below { .. }
            | Event::Gap { .. }
            | Event::Restarted => {}
        }
        let line = self.recorder.record(at, &name, &event);
        let findings = self.oracle.observe(&Entry { line, at, conn: note.conn, event });
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
    let pushes = message.kind() == Kind::Request && message.method() == Some("authenticate");
    pushes.then(|| message.params()["token"].as_str()).flatten()
}

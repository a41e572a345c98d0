//! Reads a capture without scenarios: determines its connections and its protocol, and judges it.
//!
//! Start at [`ForeignCapture::line`].

use std::collections::{HashMap, HashSet};

use crate::oracle::{Oracle, OracleOptions};
use crate::transcript::line::TranscriptLine;
use crate::transcript::{BelowEvent, ClosingSide, ConnId, ConnectionEvent, TranscriptEntry};
use crate::wire::version::{ProtocolStandard, Version};

use super::judged_subject::JudgedSubject;
use super::redact::REDACTED;

/// The maximum number of connection names in a capture.
const MAX_NAMES: usize = 100_000;

/// A capture without scenarios.
pub(super) struct ForeignCapture {
    /// The protocol of the capture; `None` until a line determines it.
    pub(super) standard: Option<ProtocolStandard>,
    assume: Option<Version>,
    subject: JudgedSubject,
    pub(super) oracle: Oracle,
    /// The latest connection with each name.
    conns: HashMap<String, ConnId>,
    /// The connections whose handshake has begun.
    begun: HashSet<ConnId>,
    /// The number of connections.
    pub(super) next: u32,
    /// The number of messages.
    pub(super) messages: u64,
}

impl ForeignCapture {
    pub(super) fn new(assume: Option<Version>, subject: JudgedSubject) -> ForeignCapture {
        ForeignCapture {
            standard: None,
            assume,
            oracle: oracle(assume, ProtocolStandard::Ahp, &subject),
            subject,
            conns: HashMap::new(),
            begun: HashSet::new(),
            next: 0,
            messages: 0,
        }
    }

    pub(super) fn line(&mut self, number: u64, line: TranscriptLine) -> Result<(), String> {
        let standard = self.standard.or_else(|| {
            let assumed = self.assume.map(|version| version.standard);
            let standard =
                assumed.filter(|it| *it == ProtocolStandard::Acp).or(standard_of(&line.event))?;
            self.oracle = oracle(self.assume, standard, &self.subject);
            self.standard = Some(standard);
            Some(standard)
        });
        if standard == Some(ProtocolStandard::Acp) && self.subject.is_client() {
            return Err("expected a conversation with a host, found one with an agent".to_owned());
        }
        let event = match standard {
            Some(ProtocolStandard::Acp) => of_acp(line.event),
            _ => line.event,
        };
        let known = self.conns.get(&line.conn).copied();
        let again = standard == Some(ProtocolStandard::Acp) && begins(&event);
        let again = again && known.is_some_and(|conn| self.begun.contains(&conn));
        let conn = match (known, &event) {
            (Some(conn), event) if !matches!(event, ConnectionEvent::Open { .. }) && !again => conn,
            (None, _) if self.conns.len() == MAX_NAMES => {
                return Err(format!("more than {MAX_NAMES} names of connections"));
            }
            _ => {
                let conn = ConnId(self.next);
                self.next += 1;
                if self.subject.is_client() {
                    self.oracle.name_connection(conn, &line.conn);
                }
                self.conns.insert(line.conn.clone(), conn);
                conn
            }
        };
        if let (Some(ended), true) = (known, again) {
            let event = ConnectionEvent::Closed {
                by: ClosingSide::Client,
                code: None,
                reason: String::new(),
            };
            self.oracle.observe(&TranscriptEntry { line: number, at: line.at, conn: ended, event });
        }
        match event {
            ConnectionEvent::Sent(_) | ConnectionEvent::Received(_) => self.messages += 1,
            _ => {}
        }
        if begins(&event) {
            self.begun.insert(conn);
        }
        self.oracle.observe(&TranscriptEntry { line: number, at: line.at, conn, event });
        Ok(())
    }
}

fn oracle(assume: Option<Version>, standard: ProtocolStandard, subject: &JudgedSubject) -> Oracle {
    let options = OracleOptions {
        assume_version: assume,
        foreign: true,
        standard,
        ..OracleOptions::default()
    };
    let mut oracle = subject.oracle(options);
    oracle.keep_secret(REDACTED);
    oracle
}

/// Returns the protocol of a capture that begins with this event. An AHP capture may also contain messages to an agent,
/// but a message of a client comes first.
fn standard_of(event: &ConnectionEvent) -> Option<ProtocolStandard> {
    match event {
        ConnectionEvent::Below { way: BelowEvent::ToAgent | BelowEvent::FromAgent, .. } => {
            Some(ProtocolStandard::Acp)
        }
        ConnectionEvent::Below { .. } => None,
        _ => Some(ProtocolStandard::Ahp),
    }
}

/// Converts an event between a client and an agent to an event of a connection.
fn of_acp(event: ConnectionEvent) -> ConnectionEvent {
    match event {
        ConnectionEvent::Below { way: BelowEvent::ToAgent, seen } => ConnectionEvent::Sent(seen),
        ConnectionEvent::Below { way: BelowEvent::FromAgent, seen } => {
            ConnectionEvent::Received(seen)
        }
        event => event,
    }
}

/// Returns whether a client begins a handshake with this event. If a second handshake has the same connection name, it
/// may come from a restarted process.
fn begins(event: &ConnectionEvent) -> bool {
    let ConnectionEvent::Sent(seen) = event else { return false };
    seen.message().is_some_and(|message| message.method() == Some("initialize"))
}

//! Converts a recorded conversation to a playable scenario.
//!
//! Messages from clients become steps, messages from the host become expectations, and values that were
//! generated during the conversation (identifiers of clients, sessions, chats, turns and tool calls, and numbers)
//! become names. Messages that no verb can send unchanged (text that is not JSON, messages with unusual members,
//! requests without an answer) are sent as raw frames.
//!
//! [`names`] finds the generated values, [`steps`] creates the steps, [`mod@write`] writes the scenario file.
//!
//! Knows: the transcript, the scenario language. Never knows: files, hosts.
//!
//! Start at [`scenario`].

mod host_requests;
mod names;
mod outcomes;
mod steps;

use crate::scenario::write::{self, WrittenTree};
use crate::transcript::line::TranscriptLine;
use crate::transcript::{ConnId, ConnectionEvent, TranscriptEntry};
use crate::wire::version::Version;

use steps::{AGAIN, ConvertedSteps};

/// The maximum number of events in a conversation that becomes a scenario.
pub const MAX_EVENTS: usize = 100_000;
/// The maximum number of bytes of the messages of a conversation that becomes a scenario.
pub const MAX_BYTES: usize = 4 << 20;

/// A scenario that was created from a conversation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConvertedScenario {
    /// The text of the scenario file.
    pub text: String,
    /// Notes about the parts of the conversation that are omitted, with reasons.
    pub notes: Vec<String>,
}

/// An error for a conversation that cannot become a scenario.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ConvertError {
    /// The conversation has no message of a client.
    #[error("no client sends a message here, so there is nothing to play")]
    Empty,
    /// The conversation is too long.
    #[error(
        "more than {MAX_EVENTS} events, or {} MiB of messages, cannot become a scenario (hint: \
         cut out the part that matters)",
        MAX_BYTES >> 20
    )]
    TooLong,
}

/// Returns the total size of the messages in these lines, in bytes.
pub fn bytes<'a>(lines: impl IntoIterator<Item = &'a (u64, TranscriptLine)>) -> usize {
    let length = |(_, line): &'a (u64, TranscriptLine)| match &line.event {
        ConnectionEvent::Sent(seen)
        | ConnectionEvent::Received(seen)
        | ConnectionEvent::Below { seen, .. } => seen.frame.len(),
        _ => 0,
    };
    lines.into_iter().map(length).sum()
}

/// Creates a scenario with the identifier `id` from a conversation.
///
/// # Errors
/// Returns an error if the conversation has no message from a client, or is too long.
pub fn scenario(
    id: &str,
    lines: Vec<(u64, TranscriptLine)>,
) -> Result<ConvertedScenario, ConvertError> {
    if lines.len() > MAX_EVENTS || bytes(&lines) > MAX_BYTES {
        return Err(ConvertError::TooLong);
    }
    let entries = entries(lines);
    if !entries.iter().any(|entry| matches!(entry.event, ConnectionEvent::Sent(_))) {
        return Err(ConvertError::Empty);
    }
    let made = ConvertedSteps::of(&entries);
    let mut head = vec![
        ("scenario", WrittenTree::text(id)),
        ("title", WrittenTree::text("The host behaves as in the recording")),
    ];
    if let Some(version) = made.version {
        head.push(("spec", WrittenTree::text(&format!(">={version}"))));
    }
    if made.turns {
        head.push(("profile", WrittenTree::text("agent")));
    }
    if let Some(within) = made.within() {
        head.push(("within", WrittenTree::text(&within)));
    }
    let again = vec![
        ("id", WrittenTree::text(AGAIN)),
        ("weight", WrittenTree::text("must")),
        ("text", WrittenTree::text("The host behaves as it did in the recording.")),
    ];
    head.push(("requirements", WrittenTree::List(vec![WrittenTree::map(again)])));
    head.push(("clients", WrittenTree::texts(&made.clients())));
    let mut text = String::new();
    for (key, value) in head {
        write::member(&mut text, 0, key, &value);
    }
    text.push_str("steps:\n");
    for step in &made.steps {
        write::step(&mut text, step);
    }
    Ok(ConvertedScenario { text, notes: made.notes })
}

/// Converts lines to entries. If a capture opens a connection with the name of an earlier connection, the later lines
/// with this name belong to the new connection.
fn entries(lines: Vec<(u64, TranscriptLine)>) -> Vec<TranscriptEntry> {
    let mut conns = std::collections::HashMap::new();
    let mut next = 0;
    let mut entries = Vec::new();
    for (number, line) in lines {
        let known = conns.get(&line.conn).copied();
        let conn = match known {
            Some(conn) if !matches!(line.event, ConnectionEvent::Open { .. }) => conn,
            _ => {
                let conn = ConnId(next);
                next += 1;
                conns.insert(line.conn.clone(), conn);
                conn
            }
        };
        entries.push(TranscriptEntry { line: number, at: line.at, conn, event: line.event });
    }
    entries
}

/// Returns the version in the host's answer to a handshake.
fn version(result: &crate::wire::json::Value) -> Option<Version> {
    result["protocolVersion"].as_str().and_then(|text| text.parse().ok())
}

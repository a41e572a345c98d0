//! A recorded conversation as a scenario that can be played.
//!
//! What clients sent becomes steps, what the host said becomes what they expect, and what was made
//! up on the day (ids of clients, sessions, chats, turns, calls, numbers) becomes names. Messages
//! that no verb sends as they were (not JSON, odd members, never answered) are sent raw.
//!
//! [`names`] finds what has to be a name, [`steps`] makes the steps, [`mod@write`] writes them.
//!
//! Knows: the transcript, the scenario language. Never knows: files, hosts.
//!
//! Start at [`scenario`].

mod names;
mod steps;

use crate::scenario::write::{self, WrittenTree};
use crate::transcript::line::TranscriptLine;
use crate::transcript::{ConnId, ConnectionEvent, TranscriptEntry};
use crate::wire::version::Version;

use steps::{AGAIN, ConvertedSteps};

/// Most events that a scenario is made of.
pub const MAX_EVENTS: usize = 100_000;

/// A scenario made of a conversation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConvertedScenario {
    /// The file.
    pub text: String,
    /// What of the conversation is not in it, and why.
    pub notes: Vec<String>,
}

/// A conversation that no scenario can be made of.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ConvertError {
    /// No client sends anything in it.
    #[error("no client sends anything here: there is nothing to play")]
    Empty,
    /// It is too long.
    #[error("more than {MAX_EVENTS} events are no scenario (hint: cut out the part that matters)")]
    TooLong,
}

/// Makes a scenario of a conversation, called `id`.
///
/// # Errors
/// The conversation is empty or too long.
pub fn scenario(
    id: &str,
    lines: Vec<(u64, TranscriptLine)>,
) -> Result<ConvertedScenario, ConvertError> {
    if lines.len() > MAX_EVENTS {
        return Err(ConvertError::TooLong);
    }
    let entries = entries(lines);
    if !entries.iter().any(|entry| matches!(entry.event, ConnectionEvent::Sent(_))) {
        return Err(ConvertError::Empty);
    }
    let made = ConvertedSteps::of(&entries);
    let mut head = vec![
        ("scenario", WrittenTree::text(id)),
        ("title", WrittenTree::text("What was recorded happens again")),
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
        ("text", WrittenTree::text("The host goes on as it did when this was recorded.")),
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

/// Lines as entries: a name that is opened again is a new connection.
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

/// The version that a handshake came to.
fn version(result: &crate::wire::json::Value) -> Option<Version> {
    result["protocolVersion"].as_str().and_then(|text| text.parse().ok())
}

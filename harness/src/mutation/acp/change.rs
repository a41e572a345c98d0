//! Changes that apply only to conversations with agents.
//!
//! Knows: captures, the meaning of their frames. Never knows: rules.

use std::time::Duration;

use crate::transcript::line::TranscriptLine;
use crate::transcript::{BelowEvent, ConnectionEvent};
use crate::wire::built_in::built_in;
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::super::capture::{message_of, put_frame, put_message};
use super::super::reading::{CaptureReading, EnvelopeSpot};
use super::prompts::{prompt_at, reports};

/// The time between a cancel and the forbidden tool call after it.
const WORKING: Duration = Duration::from_millis(1_500);
/// The delay of all later frames.
const LATER: Duration = Duration::from_secs(2);

/// A change of a conversation with an agent.
#[derive(Clone, Copy, Debug)]
pub enum AcpChange {
    /// The frame is sent after the answer to its turn's prompt.
    PastAnswer,
    /// This message follows the frame. Strings that begin with `$` are replaced by a member of the frame, such as
    /// `$params.sessionId`.
    Follow(&'static str),
    /// This message, filled in from the frame, follows the answer to the prompt of its turn.
    FollowAnswer(&'static str),
    /// All reports of the frame's tool call are removed.
    DropCall,
    /// The frame is sent again after the agent's next frame, regardless of the client's frames in between.
    AgainLater,
    /// The frame becomes a batch with one message.
    Batch,
    /// The agent calls a tool long after the cancel; the call is a copy of an earlier call in the conversation.
    WorksOn,
}

impl AcpChange {
    /// Applies the change to the lines of a conversation. Returns a description of the change, or `None` if the change
    /// is not possible at this place.
    pub fn apply(
        self,
        reading: &CaptureReading<'_>,
        spot: &EnvelopeSpot,
        lines: &mut Vec<TranscriptLine>,
    ) -> Option<String> {
        let at = spot.line;
        match self {
            AcpChange::PastAnswer => {
                let to = prompt_at(reading, at)?.answered;
                let late = TranscriptLine { at: lines[to].at, ..lines[at].clone() };
                lines.insert(to + 1, late);
                lines.remove(at);
                Some(format!("sent after the answer on line {}", to + 1))
            }
            AcpChange::Follow(template) => {
                let line = filled_line(reading, at, template)?;
                lines.insert(at + 1, line);
                Some(format!("after it {template}"))
            }
            AcpChange::FollowAnswer(template) => {
                let to = prompt_at(reading, at)?.answered;
                let line = filled_line(reading, at, template)?;
                lines.insert(to + 1, TranscriptLine { at: lines[to].at, ..line });
                Some(format!("after the answer on line {} {template}", to + 1))
            }
            AcpChange::DropCall => {
                let all = reports(reading, at);
                for line in all.iter().rev() {
                    lines.remove(*line);
                }
                Some(format!("all {} reports of the call left out", all.len()))
            }
            AcpChange::AgainLater => {
                let next = reading.next_received(at)?;
                let again = TranscriptLine { at: lines[next].at, ..lines[at].clone() };
                lines.insert(next + 1, again);
                Some(format!("sent again after line {}", next + 1))
            }
            AcpChange::Batch => {
                let value = message_of(&lines[at])?.to_text();
                put_frame(&mut lines[at], Frame::Text(format!("[{value}]")));
                Some("sent as a batch".to_owned())
            }
            AcpChange::WorksOn => {
                let called = (0..at).rev().find(|line| {
                    matches!(
                        reading.lines[*line].event,
                        ConnectionEvent::Below { way: BelowEvent::Tool, .. }
                    )
                })?;
                lines[at + 1..].iter_mut().for_each(|line| line.at += LATER);
                let again = TranscriptLine { at: lines[at].at + WORKING, ..lines[called].clone() };
                lines.insert(at + 1, again);
                Some(format!("the tool of line {} is called after it", called + 1))
            }
        }
    }
}

/// Returns a line of the agent with a message that is filled in from another line.
fn filled_line(reading: &CaptureReading<'_>, at: usize, template: &str) -> Option<TranscriptLine> {
    let mut message = built_in(template, Value::read(template));
    if !fill(&mut message, message_of(&reading.lines[at])?) {
        return None;
    }
    let mut line = reading.lines[at].clone();
    if let ConnectionEvent::Sent(seen) = &line.event {
        line.event = ConnectionEvent::Received(seen.clone());
    }
    put_message(&mut line, &message);
    Some(line)
}

fn fill(value: &mut Value, from: &Value) -> bool {
    match value {
        Value::String(text) => {
            let Some(place) = text.strip_prefix('$').filter(|place| place.contains('.')) else {
                return true;
            };
            let found = from.pointer(&format!("/{}", place.replace('.', "/"))).cloned();
            found.map(|found| *value = found).is_some()
        }
        Value::Array(items) => items.iter_mut().all(|item| fill(item, from)),
        Value::Object(map) => map.iter_mut().all(|(_, item)| fill(item, from)),
        _ => true,
    }
}

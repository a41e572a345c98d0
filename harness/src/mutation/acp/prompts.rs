//! Finds the prompt whose turn contains a frame, and the reports of a tool call.
//!
//! Knows: the meaning of frames. Never knows: operators.
//!
//! Start at [`prompt_at`].

use std::time::Duration;

use crate::transcript::{BelowEvent, ConnectionEvent};
use crate::wire::json::Value;

use super::super::capture::message_of;
use super::super::reading::{CaptureReading, FrameRole, text};

/// An agent that does not wait for its client is assumed to have received a cancel after this time plus the
/// time of its slowest answer.
const HEARD: Duration = Duration::from_secs(2);

/// A prompt and its outcome.
#[derive(Clone, Debug)]
pub(in crate::mutation) struct PromptFact {
    /// The line of the prompt.
    pub asked: usize,
    /// The line of the prompt's answer.
    pub answered: usize,
    /// The line of the first cancel before the answer.
    pub cancelled: Option<usize>,
    /// Whether the client cancelled the prompt with `$/cancel_request`.
    pub withdrawn: bool,
    /// The stop reason; empty if the prompt ended with an error.
    pub reason: String,
}

/// Returns the session that a frame names. For a response, returns the session that its request names.
pub(in crate::mutation) fn session_of(reading: &CaptureReading<'_>, line: usize) -> Option<String> {
    let fact = &reading.facts[line];
    let value = message_of(&reading.lines[fact.answers.unwrap_or(line)])?;
    Some(value.pointer("/params/sessionId")?.as_str()?.to_owned())
}

/// Returns the prompt whose turn contains a frame: the client sent the prompt before the frame, and the answer
/// is this frame or a later one.
pub(in crate::mutation) fn prompt_at(
    reading: &CaptureReading<'_>,
    line: usize,
) -> Option<PromptFact> {
    let (life, session) = (reading.facts[line].life, session_of(reading, line)?);
    let here = |at: &usize, role, name: &str| {
        let fact = &reading.facts[*at];
        fact.life == life
            && fact.role == role
            && fact.name == name
            && session_of(reading, *at).is_some_and(|it| it == session)
    };
    let asked = (0..=line).rev().find(|at| here(at, FrameRole::Request, "session/prompt"))?;
    let answered = *reading.answered.get(&asked).filter(|answered| **answered >= line)?;
    let cancelled =
        (asked..answered).find(|at| here(at, FrameRole::ClientNotice, "session/cancel"));
    let id = message_of(&reading.lines[asked])?.get("id");
    let withdrawn = (asked..answered).any(|at| {
        let fact = &reading.facts[at];
        let value = message_of(&reading.lines[at]);
        fact.life == life
            && fact.role == FrameRole::ClientNotice
            && fact.name == "$/cancel_request"
            && value.and_then(|it| it.pointer("/params/requestId")) == id
    });
    let answer = message_of(&reading.lines[answered])?;
    let reason = answer.get("result").map(|result| text(result, "stopReason")).unwrap_or_default();
    Some(PromptFact { asked, answered, cancelled, withdrawn, reason })
}

/// Returns whether a frame belongs to the replay of a session: the client has asked to load the frame's
/// session, and the request is not answered yet.
pub(in crate::mutation) fn is_replayed(reading: &CaptureReading<'_>, line: usize) -> bool {
    let (life, session) = (reading.facts[line].life, session_of(reading, line));
    let loads = |at: &usize| {
        let fact = &reading.facts[*at];
        fact.life == life
            && fact.role == FrameRole::Request
            && fact.name == "session/load"
            && session_of(reading, *at) == session
    };
    let asked = (0..line).rev().find(loads).filter(|_| session.is_some());
    asked.is_some_and(|asked| reading.answered.get(&asked).is_none_or(|answer| *answer > line))
}

impl PromptFact {
    /// Returns whether the turn ended without a cancel or an error.
    pub(in crate::mutation) fn is_whole(&self) -> bool {
        self.cancelled.is_none()
            && !self.withdrawn
            && !self.reason.is_empty()
            && self.reason != "cancelled"
    }

    /// Returns whether the client cancelled the prompt and the agent answered with `cancelled`.
    pub(in crate::mutation) fn is_cancelled(&self) -> bool {
        self.cancelled.is_some() && self.reason == "cancelled"
    }

    /// Returns whether the agent must have received the cancel before it ended the turn. This is certain if the
    /// agent was waiting for the client, or if its answer came long afterwards.
    pub(in crate::mutation) fn cancel_was_heard(&self, reading: &CaptureReading<'_>) -> bool {
        let Some(cancel) = self.cancelled else { return false };
        let waits = |at: usize| {
            let fact = &reading.facts[at];
            fact.role == FrameRole::HostRequest
                && fact.life == reading.facts[cancel].life
                && reading.answered.get(&at).is_none_or(|answer| *answer > cancel)
        };
        let slowest = reading.answered.iter().filter(|(asked, _)| **asked != self.asked);
        let slowest = slowest.map(|(asked, answer)| {
            reading.lines[*answer].at.saturating_sub(reading.lines[*asked].at)
        });
        let heard = HEARD + slowest.max().unwrap_or_default();
        let late = reading.lines[self.answered].at >= reading.lines[cancel].at + heard;
        late || (self.asked..cancel).any(waits)
    }

    /// Returns whether one of the harness's own tools was called in the turn.
    pub(in crate::mutation) fn has_witness(&self, reading: &CaptureReading<'_>) -> bool {
        reading.lines[self.asked..self.answered]
            .iter()
            .any(|line| matches!(line.event, ConnectionEvent::Below { way: BelowEvent::Tool, .. }))
    }
}

/// Returns the report of a tool call in a frame of the agent; `None` if there is none.
pub(in crate::mutation) fn report_of(value: &Value) -> Option<&Value> {
    let update = value.pointer("/params/update");
    let update = update.filter(|it| text(it, "sessionUpdate").starts_with("tool_call"));
    update.or_else(|| value.pointer("/params/toolCall"))
}

/// Returns the lines of all reports of a frame's tool call, in the same connection and session.
pub(in crate::mutation) fn reports(reading: &CaptureReading<'_>, line: usize) -> Vec<usize> {
    let own = |at: usize| {
        let report = message_of(&reading.lines[at]).and_then(report_of)?;
        let agent = matches!(reading.lines[at].event, ConnectionEvent::Received(_));
        agent.then(|| (session_of(reading, at), text(report, "toolCallId")))
    };
    let Some(key) = own(line) else { return Vec::new() };
    let life = reading.facts[line].life;
    let lines = reading.lives[life].begin..reading.lives[life].end;
    lines.filter(|at| reading.facts[*at].life == life && own(*at).as_ref() == Some(&key)).collect()
}

/// Returns the status of the tool call in a frame; empty if the frame has no status.
pub(in crate::mutation) fn status_at(reading: &CaptureReading<'_>, line: usize) -> String {
    let report = message_of(&reading.lines[line]).and_then(report_of);
    report.map(|report| text(report, "status")).unwrap_or_default()
}

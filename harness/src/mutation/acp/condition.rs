//! Conditions on places in a conversation with an agent.
//!
//! Knows: the meaning of frames. Never knows: the changes of operators.

use crate::transcript::{BelowEvent, ConnectionEvent};
use crate::wire::json::Value;

use super::super::capture::message_of;
use super::super::reading::{CaptureReading, EnvelopeSpot, FrameRole, text};
use super::prompts::{prompt_at, report_of, reports, session_of, status_at};

/// A condition on a place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AcpCondition {
    /// The frame belongs to a turn that ended without a cancel or an error, or answers the prompt of such a
    /// turn.
    InWholeTurn,
    /// The frame belongs to a turn that the client cancelled, or answers the prompt of such a turn.
    InCancelledTurn,
    /// No other report of the tool call contains the same status.
    OnlyStatus,
    /// A later report says that the tool call is completed, no permission for this call was refused, and the turn was
    /// not cancelled.
    CompletedLater,
    /// The next frame on the connection is a report of the same tool call.
    NextIsSameCall,
    /// The next frame on the connection reports the end of the tool call.
    NextEndsCall,
    /// An earlier report named the tool call's tool.
    NamedBefore,
    /// The agent does not ask for permission for the tool call after it reported the call as in progress.
    NotAskedInProgress,
    /// The agent asks for permission for the tool call later.
    AskedLater,
    /// Another tool call was reported before in the same session.
    AfterAnotherCall,
    /// Another session was created before on the connection.
    AfterAnotherSession,
    /// The agent sends a request of this method to the client later, on the same connection.
    AsksLater(&'static str),
    /// One of the harness's own tools is called later in the turn.
    ToolRunsLater,
    /// The client's capabilities have no value at this pointer.
    NotOffered(&'static str),
}

impl AcpCondition {
    /// Returns whether the condition holds at a place.
    pub fn holds(self, reading: &CaptureReading<'_>, spot: &EnvelopeSpot) -> bool {
        let line = spot.line;
        let next = || {
            let next = reading.next_received(line)?;
            (reading.next_line(line) == Some(next)).then_some(next)
        };
        match self {
            AcpCondition::InWholeTurn => prompt_at(reading, line).is_some_and(|it| it.is_whole()),
            AcpCondition::InCancelledTurn => {
                prompt_at(reading, line).is_some_and(|it| it.is_cancelled())
            }
            AcpCondition::OnlyStatus => {
                let status = status_at(reading, line);
                let same = reports(reading, line);
                same.iter().filter(|at| status_at(reading, **at) == status).count() == 1
            }
            AcpCondition::CompletedLater => completed_later(reading, line),
            AcpCondition::NextIsSameCall => {
                next().is_some_and(|next| reports(reading, line).contains(&next))
            }
            AcpCondition::NextEndsCall => next().is_some_and(|next| {
                reports(reading, line).contains(&next) && status_at(reading, next) == "completed"
            }),
            AcpCondition::NamedBefore => reports(reading, line).iter().any(|at| {
                let report = message_of(&reading.lines[*at]).and_then(report_of);
                *at < line && report.is_some_and(|it| !text(it, "name").is_empty())
            }),
            AcpCondition::NotAskedInProgress => {
                let all = reports(reading, line);
                let ran = all.iter().find(|at| status_at(reading, **at) == "in_progress");
                let asks = |at: &usize| reading.facts[*at].role == FrameRole::HostRequest;
                ran.is_none_or(|ran| !all.iter().any(|at| at >= ran && asks(at)))
            }
            AcpCondition::AskedLater => reports(reading, line)
                .iter()
                .any(|at| *at > line && reading.facts[*at].role == FrameRole::HostRequest),
            AcpCondition::AfterAnotherCall => {
                let session = session_of(reading, line);
                let own = reports(reading, line);
                (0..line).any(|at| {
                    let fact = &reading.facts[at];
                    fact.life == reading.facts[line].life
                        && fact.name == "tool_call"
                        && session_of(reading, at) == session
                        && !own.contains(&at)
                })
            }
            AcpCondition::AfterAnotherSession => (0..line).any(|at| {
                let fact = &reading.facts[at];
                let made = fact.role == FrameRole::Result && fact.name == "session/new";
                made && fact.life == reading.facts[line].life
            }),
            AcpCondition::AsksLater(method) => (line..reading.lines.len()).any(|at| {
                let fact = &reading.facts[at];
                let asks = fact.role == FrameRole::HostRequest && fact.name == method;
                asks && fact.life == reading.facts[line].life
            }),
            AcpCondition::NotOffered(place) => {
                let asked = reading.facts[..=line].iter().rposition(|fact| {
                    fact.life == reading.facts[line].life
                        && fact.role == FrameRole::Request
                        && fact.name == "initialize"
                });
                let asked = asked.and_then(|at| message_of(&reading.lines[at]));
                let offers = asked.and_then(|it| it.pointer("/params/clientCapabilities"));
                let offered = offers.and_then(|it| it.pointer(place));
                asked.is_some()
                    && offered.is_none_or(|it| it.is_null() || it.as_bool() == Some(false))
            }
            AcpCondition::ToolRunsLater => {
                let Some(prompt) = prompt_at(reading, line) else { return false };
                reading.lines[line..prompt.answered].iter().any(|line| {
                    matches!(line.event, ConnectionEvent::Below { way: BelowEvent::Tool, .. })
                })
            }
        }
    }
}

fn completed_later(reading: &CaptureReading<'_>, line: usize) -> bool {
    let all = reports(reading, line);
    let refused = all.iter().filter_map(|at| reading.answered.get(at)).any(|answer| {
        let answer = message_of(&reading.lines[*answer]);
        let chosen = answer.and_then(|it| it.pointer("/result/outcome/optionId"));
        !chosen.and_then(Value::as_str).is_some_and(|id| id.contains("allow"))
    });
    let cancelled = prompt_at(reading, line).is_none_or(|it| it.cancelled.is_some());
    let later = all.iter().any(|at| *at > line && status_at(reading, *at) == "completed");
    later && !refused && !cancelled
}

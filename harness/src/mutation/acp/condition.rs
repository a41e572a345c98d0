//! What has to hold at a place in a conversation with an agent.
//!
//! Knows: readings. Never knows: what is changed there.

use crate::transcript::{BelowEvent, ConnectionEvent};
use crate::wire::json::Value;

use super::super::capture::message_of;
use super::super::reading::{CaptureReading, EnvelopeSpot, FrameRole, text};
use super::prompts::{prompt_at, report_of, reports, session_of, status_at};

/// What has to hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AcpCondition {
    /// The frame is in a turn that ends by itself, or is its answer.
    InWholeTurn,
    /// The frame is in a turn that the client cancelled, or is its answer.
    InCancelledTurn,
    /// No other report of the call gives it the status that this one does.
    OnlyStatus,
    /// A later report says that the call is completed, and no permission for it was refused.
    CompletedLater,
    /// The next frame on the connection is a report of the same call.
    NextIsSameCall,
    /// The next frame on the connection is the report that the call has ended.
    NextEndsCall,
    /// An earlier report named the tool of the call.
    NamedBefore,
    /// Permission is not asked for the call after a report that it is in progress.
    NotAskedInProgress,
    /// Permission is asked for the call later.
    AskedLater,
    /// Another call was reported before in the same session.
    AfterAnotherCall,
    /// Another session was made before on the connection.
    AfterAnotherSession,
    /// The agent asks this of the client later, on the connection.
    AsksLater(&'static str),
    /// A tool of ours is called later in the turn.
    ToolRunsLater,
    /// The client does not offer what stands at this place of its capabilities.
    NotOffered(&'static str),
}

impl AcpCondition {
    /// Whether it holds.
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

//! Decides whether a capture contains evidence that a mutant's agent is at fault.
//!
//! Knows: the meaning of frames. Never knows: the findings of the always-on checks.

use super::super::reading::{CaptureReading, EnvelopeSpot};
use super::prompts::{prompt_at, reports};

/// The evidence of an agent's fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AcpEvidence {
    /// There is a later report of the same tool call.
    CallGoesOn,
    /// The turn ends without a cancel or an error.
    TurnEnds,
    /// One of the harness's own tools was called in the turn.
    ToolRan,
    /// The agent had received the cancel when it answered the prompt.
    CancelWasHeard,
}

impl AcpEvidence {
    /// Returns whether the capture contains the evidence.
    pub fn is_there(self, reading: &CaptureReading<'_>, spot: &EnvelopeSpot) -> bool {
        let prompt = prompt_at(reading, spot.line);
        match self {
            AcpEvidence::CallGoesOn => reports(reading, spot.line).iter().any(|at| *at > spot.line),
            AcpEvidence::TurnEnds => prompt.is_some_and(|it| it.is_whole()),
            AcpEvidence::ToolRan => prompt.is_some_and(|it| it.has_witness(reading)),
            AcpEvidence::CancelWasHeard => prompt.is_some_and(|it| it.cancel_was_heard(reading)),
        }
    }

    /// Returns why a mutant without the evidence is undecidable.
    pub fn missing(self) -> &'static str {
        match self {
            AcpEvidence::CallGoesOn => "no later report is about the call",
            AcpEvidence::TurnEnds => {
                "the capture does not show that the turn ends without a cancel or an error"
            }
            AcpEvidence::ToolRan => "the capture does not show which tools ran",
            AcpEvidence::CancelWasHeard => {
                "the agent may have sent the answer before it received the cancel"
            }
        }
    }
}

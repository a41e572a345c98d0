//! Whether anybody who has only the capture could know that a mutant's agent is at fault.
//!
//! Knows: readings. Never knows: what the always-on checks say.

use super::super::reading::{CaptureReading, EnvelopeSpot};
use super::prompts::{prompt_at, reports};

/// What shows a fault of an agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AcpEvidence {
    /// A later report is about the same call.
    CallGoesOn,
    /// The turn ends by itself.
    TurnEnds,
    /// A tool of ours was called in the turn.
    ToolRan,
    /// The agent had heard of the cancel when it answered.
    CancelWasHeard,
}

impl AcpEvidence {
    /// Whether it is there.
    pub fn is_there(self, reading: &CaptureReading<'_>, spot: &EnvelopeSpot) -> bool {
        let prompt = prompt_at(reading, spot.line);
        match self {
            AcpEvidence::CallGoesOn => reports(reading, spot.line).iter().any(|at| *at > spot.line),
            AcpEvidence::TurnEnds => prompt.is_some_and(|it| it.is_whole()),
            AcpEvidence::ToolRan => prompt.is_some_and(|it| it.has_witness(reading)),
            AcpEvidence::CancelWasHeard => prompt.is_some_and(|it| it.cancel_was_heard(reading)),
        }
    }

    /// Why a mutant without it is undecidable.
    pub fn missing(self) -> &'static str {
        match self {
            AcpEvidence::CallGoesOn => "nothing more is reported of the call",
            AcpEvidence::TurnEnds => "the turn does not end by itself in the capture",
            AcpEvidence::ToolRan => "nobody in the capture knows which tools were called",
            AcpEvidence::CancelWasHeard => "the answer may have been on its way before the cancel",
        }
    }
}

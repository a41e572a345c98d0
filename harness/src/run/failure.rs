//! The failures of a scenario's steps.
//!
//! Knows: places in a scenario, mismatches of patterns. Never knows: the case, waits, the meaning of a failure.
//!
//! Start at [`StepFailure`].

use crate::scenario::pattern::PatternMismatch;
use crate::scenario::source::SourceSpan;

/// An unmet expectation, or a step that could not be played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StepFailure {
    /// The location in the scenario file.
    pub span: SourceSpan,
    /// The problem in one line: the client, the expected message and the received message.
    pub message: String,
    /// The label for the marked source line.
    pub label: String,
    /// A second location with its label, such as the place where a name was bound.
    pub second: Option<(SourceSpan, String)>,
    /// The lines of the transcript that show the failure.
    pub lines: Vec<u64>,
    /// The index of the step in the scenario, if the failure belongs to a step.
    pub step: Option<usize>,
    /// The kind of failure.
    pub kind: FailureKind,
}

/// The kind of a step's failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FailureKind {
    /// The expected message arrived with other content. The scenario can continue.
    Content,
    /// The expected event did not occur, or its opposite occurred.
    Outcome,
    /// The host did not answer a request or an action of a client.
    Silence,
    /// The message that the step names in `unless` arrived. The sender was free to send it instead of the expected
    /// message.
    Alternative,
    /// The step could not be played. Such a failure is no evidence about the requirements of the step.
    Trouble,
}

/// The received message that is most similar to the message that a wait expects.
#[derive(Clone, Debug)]
pub(super) struct NearMiss {
    /// The line of the message in the transcript.
    pub(super) line: u64,
    /// The first place where the message does not match the expected pattern.
    pub(super) miss: Box<PatternMismatch>,
    /// Whether a message about another subject, such as another tool call, arrived after this message.
    pub(super) passed: bool,
}

impl NearMiss {
    pub(super) fn new(line: u64, miss: Box<PatternMismatch>) -> NearMiss {
        NearMiss { line, miss, passed: false }
    }

    /// Returns the message that is closer to the expected one. This is the newer message, unless the newer message is
    /// about another subject and the older one is not.
    pub(super) fn closer(older: Option<NearMiss>, newer: NearMiss) -> NearMiss {
        match older {
            Some(older) if newer.miss.named && !older.miss.named => {
                NearMiss { passed: true, ..older }
            }
            _ => newer,
        }
    }
}

//! Why a scenario did not go as written.

use crate::scenario::source::Span;

/// One expectation that was not met, or a step before it that could not be taken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// Where on the author's lines it shows.
    pub span: Span,
    /// What is wrong, in one line: who, what was expected, what came.
    pub message: String,
    /// What the author's line is told.
    pub label: String,
    /// A second place, such as where a name was bound.
    pub second: Option<(Span, String)>,
    /// The lines of the transcript that show it.
    pub lines: Vec<u64>,
    /// The requirement that the step alone proves, where it names one.
    pub rule: Option<String>,
    /// Whether it was a step that only prepares: then nothing was tested.
    pub setup: bool,
}

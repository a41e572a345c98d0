//! What a check can say: weights, findings, statuses. Plain data.
//!
//! Knows: nothing above it. Never knows: how a finding came about or how it is shown.

use serde::{Deserialize, Serialize};

/// How much a rule weighs. Every rule has exactly one weight.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Implied, optional or open; the reading taken is written down.
    Note,
    /// The text says SHOULD or SHOULD NOT.
    Should,
    /// No keyword, but the protocol cannot work without it; the argument is written down.
    Essential,
    /// The text says MUST or MUST NOT, or the schema fixes the shape.
    Must,
}

/// How one check or scenario ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The rule was exercised and held.
    Pass,
    /// An implied or open rule did not hold in the reading taken.
    Note,
    /// A SHOULD did not hold.
    Warn,
    /// A MUST, or a rule the protocol cannot work without, did not hold.
    Fail,
    /// Failed exactly as the baseline says.
    Known,
    /// Not applicable, with a reason.
    Skip,
    /// Applicable, but a prerequisite failed or nothing was observed.
    Untested,
    /// Not judged: the target could not be reached, or the harness is at fault.
    Error,
}

/// From which weight on a broken rule makes a run a failure.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FailOn {
    /// Any rule.
    Note,
    /// SHOULD and heavier.
    Should,
    /// MUST, and what the protocol cannot work without.
    #[default]
    Must,
}

impl FailOn {
    /// Every threshold, with its word on a command line.
    pub const ALL: [(&'static str, FailOn); 3] =
        [("note", FailOn::Note), ("should", FailOn::Should), ("must", FailOn::Must)];

    /// Whether something that ended like this makes a run a failure. What could not be tested does at
    /// any threshold.
    pub fn counts(self, status: Status) -> bool {
        match status {
            Status::Fail | Status::Untested | Status::Error => true,
            Status::Warn => self != FailOn::Must,
            Status::Note => self == FailOn::Note,
            Status::Pass | Status::Known | Status::Skip => false,
        }
    }
}

impl Weight {
    /// What breaking a rule of this weight amounts to.
    pub fn broken(self) -> Status {
        match self {
            Weight::Must | Weight::Essential => Status::Fail,
            Weight::Should => Status::Warn,
            Weight::Note => Status::Note,
        }
    }
}

impl Status {
    /// The status in a word, as reports show it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Note => "note",
            Status::Warn => "warn",
            Status::Fail => "FAIL",
            Status::Known => "known",
            Status::Skip => "skip",
            Status::Untested => "untested",
            Status::Error => "ERROR",
        }
    }
}

/// Which of its check's requirements a finding breaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FindingSubject {
    /// Not stated. If the check has one requirement, the finding breaks that one; otherwise it is unknown which.
    Unnamed,
    /// This one.
    Requirement(&'static str),
    /// None of them: the check covers more than its requirements say.
    Beyond,
}

/// One rule seen broken, with the proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The check that saw it, such as `sequence.grows`.
    pub check: &'static str,
    /// Which requirement it breaks.
    pub subject: FindingSubject,
    /// How much it weighs here; an exception may weigh less than the check's rule.
    pub weight: Weight,
    /// One sentence: what is wrong, expected before actual.
    pub message: String,
    /// The lines of the transcript that prove it, in order.
    pub lines: Vec<u64>,
    /// The smallest difference of the states involved, as `-` and `+` lines.
    pub diff: Option<String>,
    /// How often the same was found; the other members are of the first time.
    pub times: u64,
}

/// What an always-on check has to say after a transcript.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckReport {
    /// The check.
    pub check: &'static str,
    /// How often its rule was put to the test. Zero is "not exercised", never a pass.
    pub observations: u64,
    /// Observations of each requirement that is counted separately.
    pub apart: Vec<(&'static str, u64)>,
    /// How the rule was broken, each way once.
    pub findings: Vec<Finding>,
    /// Breaches that no finding counts, because there were too many ways.
    pub left_out: u64,
}

impl CheckReport {
    /// How often the rule was broken.
    pub fn breaches(&self) -> u64 {
        self.left_out + self.findings.iter().map(|finding| finding.times).sum::<u64>()
    }
}

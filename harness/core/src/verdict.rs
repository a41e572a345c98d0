//! The results of checks: weights, findings, statuses. The types are plain data.
//!
//! Knows: no other module. Never knows: the cause of a finding, reports.

use serde::{Deserialize, Serialize};

/// The weight of a rule. Every rule has exactly one weight.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// The rule is implied, optional or open; the check documents the chosen interpretation.
    Note,
    /// The specification says SHOULD or SHOULD NOT.
    Should,
    /// The rule has no keyword, but the protocol cannot work without it; the check documents the reason.
    Essential,
    /// The specification says MUST or MUST NOT, or the schema fixes the shape.
    Must,
}

/// The result of one check or scenario.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The rule was exercised, and was never broken.
    Pass,
    /// An implied or open rule was broken, according to the chosen interpretation.
    Note,
    /// A rule with SHOULD was broken.
    Warn,
    /// A rule with MUST was broken, or a rule that the protocol cannot work without.
    Fail,
    /// The check or scenario failed in exactly the way that the baseline (the list of accepted failures) states.
    Known,
    /// The check or scenario is not applicable; the report states the reason.
    Skip,
    /// The check or scenario is applicable, but a premise failed or nothing was observed.
    Untested,
    /// The check or scenario was not judged: the target could not be reached, or the harness is at fault.
    Error,
}

/// The threshold for a failed run: the smallest weight of a broken rule that makes the run fail.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FailOn {
    /// Any broken rule makes the run fail.
    Note,
    /// A broken rule of weight SHOULD or more makes the run fail.
    Should,
    /// A broken MUST, or a broken rule that the protocol cannot work without, makes the run fail.
    #[default]
    Must,
}

impl FailOn {
    /// Every threshold, with its name on the command line.
    pub const ALL: [(&'static str, FailOn); 3] =
        [("note", FailOn::Note), ("should", FailOn::Should), ("must", FailOn::Must)];

    /// Returns whether a result makes a run fail. `Untested` and `Error` make a run fail at any threshold.
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
    /// Returns the status that results from breaking a rule of this weight.
    pub fn broken(self) -> Status {
        match self {
            Weight::Must | Weight::Essential => Status::Fail,
            Weight::Should => Status::Warn,
            Weight::Note => Status::Note,
        }
    }
}

impl Status {
    /// Returns the status as it is written in reports.
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

/// The requirement that a finding breaks, among the requirements of its check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FindingSubject {
    /// The finding names no requirement. If the check has one requirement, the finding breaks this requirement; if it
    /// has several, the broken requirement is unknown.
    Unnamed,
    /// The finding breaks this requirement.
    Requirement(&'static str),
    /// The finding breaks no requirement of the check, because the check covers more than its requirements.
    Beyond,
}

/// A broken rule, with the proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The check that reported the finding, such as `sequence.grows`.
    pub check: &'static str,
    /// The requirement that the finding breaks.
    pub subject: FindingSubject,
    /// The weight of the finding, which may be smaller than the weight of the check's rule.
    pub weight: Weight,
    /// One sentence that describes the breach: first the expected, then the actual behaviour.
    pub message: String,
    /// The lines of the transcript that prove the finding, in order.
    pub lines: Vec<u64>,
    /// The difference between the expected and the actual state, reduced to the changed lines (`-` expected, `+`
    /// actual) and a few lines around them.
    pub diff: Option<String>,
    /// The number of similar findings that this finding stands for. The other members describe the first of them.
    pub times: u64,
}

/// The result of an always-on check after a transcript.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckReport {
    /// The id of the check, such as `sequence.grows`.
    pub check: &'static str,
    /// The number of times that the check's rule was exercised. Zero means that the rule was not exercised, which is
    /// never a pass.
    pub observations: u64,
    /// The observations of each requirement that is counted separately.
    pub apart: Vec<(&'static str, u64)>,
    /// The findings; similar findings are combined.
    pub findings: Vec<Finding>,
    /// The number of breaches without a finding, because there were too many different findings.
    pub left_out: u64,
}

impl CheckReport {
    /// Returns the number of times that the rule was broken.
    pub fn breaches(&self) -> u64 {
        self.left_out + self.findings.iter().map(|finding| finding.times).sum::<u64>()
    }
}

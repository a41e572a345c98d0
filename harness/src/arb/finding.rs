//! What a play of a drawn conversation found, and which findings are the same defect.
//!
//! Knows: verdicts. Never knows: where they come from.
//!
//! Start at [`findings`].

use crate::ledger::Ledger;
use crate::oracle::{CHECKS, alike};
use crate::run::play::Verdict;
use crate::verdict::{Status, Weight};

/// The check that judges our own frames, which are wrong on purpose here.
const OWN: &str = "shape.harness";

/// Something that a host did wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The check, or the requirement of the expectation, that does not hold.
    pub rule: String,
    /// How much it weighs.
    pub weight: Weight,
    /// What happened, for a person.
    pub message: String,
    /// What is the same for the same defect.
    pub key: String,
}

impl Finding {
    fn of(rule: &str, weight: Weight, message: &str) -> Finding {
        let key = format!("{rule} | {}", alike(message));
        Finding { rule: rule.to_owned(), weight, message: message.to_owned(), key }
    }

    /// The rule as a sentence.
    pub fn statement(&self) -> String {
        let check = CHECKS.iter().find(|row| row.id == self.rule);
        let check = check.map(|row| row.doc.split(" Source:").next().unwrap_or(row.doc).to_owned());
        let stated = || Ledger::look_up(&self.rule).map(|it| it.statement.to_owned());
        check.or_else(stated).unwrap_or_else(|| self.message.clone())
    }

    /// The requirement that a scenario about it proves.
    pub fn requirement(&self) -> &str {
        let check = CHECKS.iter().find(|row| row.id == self.rule);
        match check {
            Some(row) => row.requirements.first().copied().unwrap_or(super::draft::ANYTHING),
            None => &self.rule,
        }
    }
}

/// Everything that a play found, the heaviest first.
pub fn findings(verdict: &Verdict) -> Vec<Finding> {
    let mut all = Vec::new();
    for claim in &verdict.claims {
        if let Some(failure) = &claim.outcome.failure {
            all.push(Finding::of(&claim.rule, claim.weight, &failure.message));
        }
    }
    if all.is_empty() && verdict.status == Status::Untested {
        // What only prepares and fails all the same was legal on the stage: the host does not serve it.
        all.push(Finding::of(super::draft::ANYTHING, Weight::Essential, &verdict.reason));
    }
    for check in verdict.checks.iter().filter(|check| check.check != OWN) {
        for finding in check.findings.iter().filter(|it| !by_chance(it)) {
            let found = Finding::of(check.check, finding.weight, &finding.message);
            if !all.iter().any(|other| other.key == found.key) {
                all.push(found);
            }
        }
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    all
}

/// Whether a finding may come about by chance: what a client is refused may be just what the host says next.
fn by_chance(finding: &crate::verdict::Finding) -> bool {
    finding.check == "dispatch.rejection-without-effect" && finding.weight == Weight::Note
}

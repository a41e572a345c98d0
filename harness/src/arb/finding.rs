//! What a play of a drawn conversation found, and which findings are the same defect.
//!
//! A finding has an identity: the rule, the place (the verb of the step and the action or method that it is about; an
//! always-on check names it in its message) and the shape of the breach (the message without what differs from case to
//! case). Shrinking preserves it, and buckets and baselines go by it.
//!
//! Knows: verdicts, drafts. Never knows: where they come from.
//!
//! Start at [`findings`].

use crate::ledger::RequirementLedger;
use crate::oracle::{CHECKS, alike};
use crate::run::play::ScenarioVerdict;
use crate::verdict::{Status, Weight};
use crate::wire::json::Value;

use super::draft::ANYTHING;
use super::hold::StepExpectation;

/// The check that judges our own frames, which are wrong on purpose here.
const OWN: &str = "shape.harness";

/// Something that a host did wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FuzzFinding {
    /// The check, or the requirement of the expectation, that does not hold.
    pub rule: String,
    /// How much it weighs.
    pub weight: Weight,
    /// What happened, for a person.
    pub message: String,
    /// The identity.
    pub key: String,
}

impl FuzzFinding {
    /// A finding: the rule that was broken, and where.
    pub fn of(rule: &str, weight: Weight, place: &str, message: &str) -> FuzzFinding {
        let shape = alike(message);
        let key = match place {
            "" => format!("{rule} | {shape}"),
            place => format!("{rule} | {place} | {shape}"),
        };
        FuzzFinding { rule: rule.to_owned(), weight, message: message.to_owned(), key }
    }

    /// Whether an always-on check found it.
    pub fn is_of_check(&self) -> bool {
        CHECKS.iter().any(|row| row.id == self.rule)
    }

    /// The rule as a sentence.
    pub fn statement(&self) -> String {
        let check = CHECKS.iter().find(|row| row.id == self.rule);
        let check = check.map(|row| row.doc.split(" Source:").next().unwrap_or(row.doc).to_owned());
        let stated = || RequirementLedger::look_up(&self.rule).map(|it| it.statement.to_owned());
        check.or_else(stated).unwrap_or_else(|| self.message.clone())
    }
}

/// Everything that a play of these steps found, the heaviest first.
pub fn findings(steps: &[Value], verdict: &ScenarioVerdict) -> Vec<FuzzFinding> {
    let mut all = Vec::new();
    for claim in &verdict.claims {
        if let Some(failure) = &claim.outcome.failure {
            let place = place(failure.step.and_then(|step| steps.get(step)));
            all.push(FuzzFinding::of(&claim.rule, claim.weight, &place, &failure.message));
        }
    }
    for check in verdict.checks.iter().filter(|check| check.check != OWN) {
        for finding in check.findings.iter().filter(|it| !by_chance(it)) {
            let found = FuzzFinding::of(check.check, finding.weight, "", &finding.message);
            if !all.iter().any(|other| other.key == found.key) {
                all.push(found);
            }
        }
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    all
}

/// The same for a reference host. A step that only prepares was legal when it was drawn, so such a host has to serve it.
pub fn findings_of_reference(steps: &[Value], verdict: &ScenarioVerdict) -> Vec<FuzzFinding> {
    let mut all = findings(steps, verdict);
    let claims = verdict.claims.iter().any(|claim| claim.outcome.failure.is_some());
    if !claims && verdict.status == Status::Untested {
        all.push(FuzzFinding::of(ANYTHING, Weight::Essential, "", &verdict.reason));
        all.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    }
    all
}

/// Where a claim stands: the verb of its step, and the action or method.
fn place(step: Option<&Value>) -> String {
    let expectation = step.and_then(StepExpectation::of);
    expectation.map(|it| format!("{} {}", it.verb, it.about).trim().to_owned()).unwrap_or_default()
}

/// Whether a finding may come about by chance: what a client is refused may be just what the host says next.
fn by_chance(finding: &crate::verdict::Finding) -> bool {
    finding.check == "dispatch.rejection-without-effect" && finding.weight == Weight::Note
}

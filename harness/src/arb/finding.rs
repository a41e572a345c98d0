//! The findings of a play of a generated conversation, and which findings are the same defect.
//!
//! A finding has an identity: the rule, the place (the verb of the step and its action or method; an always-on
//! check names the place in its message) and the form of the breach (the message without variable parts).
//! Shrinking preserves the identity; buckets and baselines compare it.
//!
//! Knows: verdicts, drafts. Never knows: which host was played against.
//!
//! Start at [`findings`].

use crate::ledger::RequirementLedger;
use crate::oracle::{CHECKS, alike};
use crate::run::play::ScenarioVerdict;
use crate::verdict::{Status, Weight};
use crate::wire::json::Value;

use super::draft::ANYTHING;
use super::hold::StepExpectation;

/// The check of the harness's own frames, which are invalid on purpose here.
const OWN: &str = "shape.harness";

/// Something that a host did wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FuzzFinding {
    /// The check, or the requirement of the claim, that is broken.
    pub rule: String,
    /// The weight of the rule.
    pub weight: Weight,
    /// A description for people.
    pub message: String,
    /// The identity, as text.
    pub key: String,
}

impl FuzzFinding {
    /// Creates a finding from the broken rule, the place and the message.
    pub fn of(rule: &str, weight: Weight, place: &str, message: &str) -> FuzzFinding {
        let shape = alike(message);
        let key = match place {
            "" => format!("{rule} | {shape}"),
            place => format!("{rule} | {place} | {shape}"),
        };
        FuzzFinding { rule: rule.to_owned(), weight, message: message.to_owned(), key }
    }

    /// Returns whether an always-on check reported the finding.
    pub fn is_of_check(&self) -> bool {
        CHECKS.iter().any(|row| row.id == self.rule)
    }

    /// Returns the rule as a sentence.
    pub fn statement(&self) -> String {
        let check = CHECKS.iter().find(|row| row.id == self.rule);
        let check = check.map(|row| row.doc.split(" Source:").next().unwrap_or(row.doc).to_owned());
        let stated = || RequirementLedger::look_up(&self.rule).map(|it| it.statement.to_owned());
        check.or_else(stated).unwrap_or_else(|| self.message.clone())
    }
}

/// Returns all findings of a play of these steps, the heaviest first.
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

/// Returns all findings of a play against a reference host. Every premise was legal when it was generated, so a
/// premise that fails there is a finding, too.
pub fn findings_of_reference(steps: &[Value], verdict: &ScenarioVerdict) -> Vec<FuzzFinding> {
    let mut all = findings(steps, verdict);
    let claims = verdict.claims.iter().any(|claim| claim.outcome.failure.is_some());
    if !claims && verdict.status == Status::Untested {
        all.push(FuzzFinding::of(ANYTHING, Weight::Essential, "", &verdict.reason));
        all.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    }
    all
}

/// Returns the place of a claim: the verb of its step, and the action or method.
fn place(step: Option<&Value>) -> String {
    let expectation = step.and_then(StepExpectation::of);
    expectation.map(|it| format!("{} {}", it.verb, it.about).trim().to_owned()).unwrap_or_default()
}

/// Returns whether a finding may be a coincidence: the host may send by itself an action that equals a rejected
/// one.
fn by_chance(finding: &crate::verdict::Finding) -> bool {
    finding.check == "dispatch.rejection-without-effect" && finding.weight == Weight::Note
}

//! The findings in a generated conversation, and the rule by which two findings count as one defect.
//!
//! A finding has an identity: the rule, the place (the verb of the step and its action or method; an always-on
//! check names the place in its message) and the form of the breach (the message without variable parts).
//! Shrinking preserves the identity; buckets and baselines compare it.
//!
//! Knows: verdicts, drafts. Never knows: the host under test.
//!
//! Start at [`findings`].

use crate::ledger::RequirementLedger;
use crate::oracle::{CheckRow, alike, checks};
use crate::report::cause::family;
use crate::run::play::ScenarioVerdict;
use crate::verdict::{Status, Weight};
use crate::wire::json::Value;
use crate::wire::version::ProtocolStandard;

use super::draft::ANYTHING;
use super::expectation::StepExpectation;

/// The checks of the harness's own frames, which are invalid on purpose in generated conversations.
const OWN: [&str; 2] = ["shape.harness", "acp.wire.harness"];

/// A breach that was observed while a conversation was played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FuzzFinding {
    /// The broken rule: the id of a check, or the requirement of a claim.
    pub rule: String,
    /// The weight of the rule.
    pub weight: Weight,
    /// A description for people.
    pub message: String,
    /// The identity of the finding, as a string.
    pub key: String,
    /// The index of the step whose claim was broken; `None` for an always-on check. Not a part of the identity.
    pub step: Option<usize>,
}

impl FuzzFinding {
    /// Creates a finding from the broken rule, the place and the message.
    pub fn of(rule: &str, weight: Weight, place: &str, message: &str) -> FuzzFinding {
        let shape = alike(message);
        let key = match place {
            "" => format!("{rule} | {shape}"),
            place => format!("{rule} | {place} | {shape}"),
        };
        FuzzFinding { rule: rule.to_owned(), weight, message: message.to_owned(), key, step: None }
    }

    /// Returns a string that is probably equal for all findings of one defect: the first parts of the rule, and the
    /// message without any name or value. For example, a host that accepts one action that only hosts may dispatch
    /// usually accepts all of them; these findings have one cause. For a malformed frame, the cause is the malformed
    /// part of the frame, because a host that forwards malformed actions does so for every member of every action. The
    /// identity is more precise than the cause, because two defects may have the same cause by chance.
    pub fn cause(&self) -> String {
        let message = match part_of_frame(&self.message) {
            Some(part) if self.rule.starts_with(SHAPES) => part,
            _ => without_names(&self.message),
        };
        format!("{} | {message}", family(&self.rule))
    }

    /// Returns whether another finding is the same breach, perhaps in another form: it breaks the same rule, and
    /// the messages differ only in names and values, such as the notification that a client should not have received.
    pub fn is_form_of(&self, other: &FuzzFinding) -> bool {
        self.rule == other.rule && self.cause() == other.cause()
    }

    /// Returns whether an always-on check reported the finding.
    pub fn is_of_check(&self) -> bool {
        check_of(&self.rule).is_some()
    }

    /// Returns the rule as a sentence.
    pub fn statement(&self) -> String {
        let check = check_of(&self.rule);
        let check = check.map(|row| row.doc.split(" Source:").next().unwrap_or(row.doc).to_owned());
        let stated = || RequirementLedger::look_up(&self.rule).map(|it| it.statement.to_owned());
        check.or_else(stated).unwrap_or_else(|| self.message.clone())
    }
}

/// The prefix of the ids of all rules about the form of frames.
const SHAPES: &str = "shape.";
/// The number of members that name a part of a frame, such as `params.action`.
const PART: usize = 2;

/// Returns the part of a malformed frame that the message of a finding names.
fn part_of_frame(message: &str) -> Option<String> {
    let (_, place) = message.split_once(" at `")?;
    let (place, _) = place.split_once('`')?;
    Some(place.split('.').take(PART).collect::<Vec<_>>().join("."))
}

/// Returns a message without quoted strings and without numbers.
fn without_names(message: &str) -> String {
    let after = message.strip_prefix("client `").and_then(|rest| rest.split_once("`: "));
    let text = after.map_or(message, |(_, what)| what);
    let mut shape = String::new();
    for (place, part) in text.split(['`', '"']).enumerate() {
        match place % 2 {
            0 => shape.extend(part.chars().filter(|c| !c.is_ascii_digit())),
            _ => shape.push('_'),
        }
    }
    shape
}

/// Returns the always-on check with an id, of hosts or of agents; `None` if there is none.
fn check_of(id: &str) -> Option<&'static CheckRow> {
    let all = [ProtocolStandard::Ahp, ProtocolStandard::Acp].into_iter().flat_map(checks);
    all.into_iter().find(|row| row.id == id)
}

/// Returns all findings of these steps after they were played, the heaviest finding first.
pub fn findings(steps: &[Value], verdict: &ScenarioVerdict) -> Vec<FuzzFinding> {
    let mut all = Vec::new();
    for claim in &verdict.claims {
        if let Some(failure) = &claim.outcome.failure {
            let place = place(failure.step.and_then(|step| steps.get(step)));
            let found = FuzzFinding::of(&claim.rule, claim.weight, &place, &failure.message);
            all.push(FuzzFinding { step: failure.step, ..found });
        }
    }
    for check in verdict.checks.iter().filter(|check| !OWN.contains(&check.check)) {
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

/// Returns all findings after a draft was played against a reference host. Every premise was legal when it was
/// generated, so a premise that fails on the reference host is also a finding.
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

/// The checks whose notes may occur by chance. The host may send, by chance, a string that it has refused to a client.
/// The answer to a prompt may have been in transit when the client cancelled the prompt.
const BY_CHANCE: [&str; 3] =
    ["dispatch.rejection-without-effect", "acp.turns.cancelled", "acp.turns.no-abort-errors"];

/// Returns whether a finding may occur by chance.
fn by_chance(finding: &crate::verdict::Finding) -> bool {
    BY_CHANCE.contains(&finding.check) && finding.weight == Weight::Note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_actions_have_one_cause_and_other_frames_have_others() {
        let cause =
            |message: &str| FuzzFinding::of("shape.host", Weight::Must, "", message).cause();
        let kind =
            cause("expected one of `steering`, `queued` at `params.action.kind`, found nothing");
        let title = cause("expected a string at `params.action.title`, found number `5`");
        let error = cause("expected an object with `resources` at `error.data`, found nothing");
        assert_eq!(kind, title);
        assert_ne!(kind, error);
        let frame = cause("expected one JSON-RPC 2.0 message, found a batch of 2");
        assert!(frame != kind && frame != error);
    }
}

//! Explains the words that reports use for outcomes, weights and verdicts.
//!
//! Knows: words. Never knows: a run.

use super::area::{PROFILES, area, areas, or_core};
use crate::ledger::RequirementLedger;

use super::cause::family;

/// The words of reports, each with its meaning. Upper and lower case are not distinguished.
pub const WORDS: &[(&str, &str)] = &[
    (
        "pass",
        "outcome: the scenario was played, or the requirement was observed, and everything that was tested held",
    ),
    (
        "fail",
        "outcome: a MUST is broken, or a rule that the protocol cannot work without (essential); the run fails",
    ),
    ("warn", "outcome: a SHOULD is broken; the run fails with `--fail-on should`"),
    (
        "note",
        "outcome and weight: the specification only implies the rule, or leaves it open; the run fails with `--fail-on note`",
    ),
    ("known", "outcome: broken exactly as the `--baseline` lists it; the run does not fail"),
    (
        "untested",
        "outcome: the rule applies, but a preparing step failed or nothing was observed; neither a pass nor a finding against the host; the run fails",
    ),
    ("skip", "outcome: does not apply to this host or this run; the report gives the reason"),
    (
        "error",
        "outcome: not judged, because the target could not be reached, the run was interrupted, or the harness has a defect",
    ),
    (
        "flaky",
        "mark of a scenario that failed and then passed when it was played again (`--retries`)",
    ),
    (
        "out-of-reach",
        "outcome of a requirement: it may apply, but this run could not test it; the report says which option or ability was missing",
    ),
    ("excluded", "outcome of a requirement: no test can observe it; the report gives the reason"),
    ("unchecked", "outcome of a requirement: no scenario and no check of this harness tests it"),
    ("must", "weight: the specification says MUST; a breach fails the run"),
    (
        "essential",
        "weight: the specification only implies the rule, and the protocol cannot work without it; the argument is written down; a breach fails the run",
    ),
    ("should", "weight: the specification says SHOULD; a breach is a warning"),
    ("conformant", "verdict: every applicable MUST and essential rule was observed and held"),
    ("not-conformant", "verdict: at least one applicable MUST or essential rule is broken"),
    (
        "incomplete",
        "verdict: no MUST or essential rule is broken, but some were not observed, or were out of reach of the run",
    ),
    (
        "not-applicable",
        "verdict: the host offers nothing that the scenarios of the profile need, or the run did not include the profile",
    ),
    (
        "cause",
        "group of findings that are fixed in one place: rules with a common beginning, or one check",
    ),
    (
        "finding",
        "a broken rule with the frames that prove it; its name is the rule, `~`, and a number that is the same in every run with the same failure",
    ),
];

/// Returns the meaning of a word.
pub fn meaning(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase().replace(' ', "-");
    let word = WORDS.iter().find(|(word, _)| *word == name);
    word.map(|(_, meaning)| *meaning)
}

/// Returns the rule in the name of a finding, such as `session.create.duplicate~1f0c88d2`.
pub fn rule_of(finding: &str) -> Option<&str> {
    let (rule, hash) = finding.split_once('~')?;
    (hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(rule)
}

/// Returns the requirements of a cause. The name of a cause is the common prefix of the names of its requirements.
pub fn rules_of(cause: &str) -> Vec<&'static str> {
    let mut rules: Vec<&str> = RequirementLedger::all()
        .flat_map(RequirementLedger::iter)
        .map(|row| row.id)
        .filter(|id| *id != cause && family(id) == cause)
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Returns the profile of a scenario in certificates. `own` is the profile that its file names.
pub fn profile_of(scenario: &str, own: &str) -> String {
    area(scenario, or_core(own))
}

/// Returns whether certificates have a profile of this name.
pub fn is_profile(name: &str) -> bool {
    PROFILES.contains(&name) || areas().any(|profile| profile == name)
}

#[cfg(test)]
mod tests {
    use super::super::certificate::RequirementOutcome;
    use super::super::profile_verdict::ProfileVerdict;
    use super::super::summary::word;
    use super::*;
    use crate::verdict::{Status, Weight};

    #[test]
    fn every_outcome_weight_and_verdict_has_a_meaning() {
        let statuses = [
            Status::Pass,
            Status::Note,
            Status::Warn,
            Status::Fail,
            Status::Known,
            Status::Skip,
            Status::Untested,
            Status::Error,
        ];
        let verdicts = [
            ProfileVerdict::Conformant,
            ProfileVerdict::NotConformant,
            ProfileVerdict::Incomplete,
            ProfileVerdict::NotApplicable,
        ];
        let weights = [Weight::Must, Weight::Essential, Weight::Should, Weight::Note];
        let words = statuses.iter().map(|status| status.word());
        let words = words.chain(verdicts.iter().map(|verdict| verdict.words()));
        let words = words.chain(weights.iter().map(|weight| word(*weight)));
        let outcomes = RequirementOutcome::ALL;
        for it in words.chain(outcomes.iter().map(|outcome| outcome.word())) {
            assert!(meaning(it).is_some(), "`{it}` has no meaning");
        }
    }

    #[test]
    fn findings_and_causes_lead_to_rules() {
        assert_eq!(rule_of("session.create.duplicate~1f0c88d2"), Some("session.create.duplicate"));
        assert_eq!(rule_of("session.create.duplicate"), None);
        assert!(rules_of("dispatch.table.server-only").len() > 3);
        assert!(is_profile("core") && is_profile("terminals") && !is_profile("nothing"));
    }
}

//! What a play of a drawn conversation found, and which findings are the same defect.
//!
//! Knows: verdicts. Never knows: where they come from.
//!
//! Start at [`findings`].

use crate::ledger::Ledger;
use crate::oracle::CHECKS;
use crate::run::play::Verdict;
use crate::verdict::{Status, Weight};
use crate::wire::protocol::Protocol;
use crate::wire::version::PUBLISHED;

/// Longest message that tells buckets apart.
const LONG: usize = 160;
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
        let key = format!("{rule} | {}", normal(message));
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
    if !matches!(verdict.status, Status::Pass | Status::Skip | Status::Error) {
        // What only prepares and fails all the same was legal on the stage: the host does not serve it.
        let failed = verdict.status != Status::Untested;
        let rule = if failed { verdict.rule.as_str() } else { super::draft::ANYTHING };
        let weight = if failed { verdict.weight } else { Weight::Essential };
        all.push(Finding::of(rule, weight, &verdict.reason));
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

/// Whether a word is a method or the type of an action, in any version.
fn is_of_protocol(word: &str) -> bool {
    word.contains('/')
        && PUBLISHED
            .iter()
            .filter_map(|version| Protocol::of(*version))
            .any(|protocol| protocol.method(word).is_some() || protocol.action(word).is_some())
}

/// A message without what differs from case to case: names of clients, ids, numbers, values.
fn normal(message: &str) -> String {
    let mut result = String::new();
    let mut quoted = false;
    let mut word = String::new();
    for c in message.chars() {
        if c == '`' {
            if quoted {
                // What is a name of the protocol tells defects apart, what was made up does not.
                let plain = word.chars().all(|c| c.is_ascii_alphabetic() || c == '.');
                let known = plain && word.len() > 1 || is_of_protocol(&word);
                result.push_str(if known { &word } else { "_" });
            }
            word.clear();
            quoted = !quoted;
        } else if quoted {
            word.push(c);
        } else if c.is_ascii_digit() {
            if !result.ends_with('#') {
                result.push('#');
            }
        } else {
            result.push(c);
        }
    }
    result.chars().take(LONG).collect()
}

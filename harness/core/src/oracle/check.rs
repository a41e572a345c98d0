//! The trait of a family of checks, and the sink for its findings.
//!
//! Knows: the catalogue, steps. Never knows: the rules of any check.

use std::collections::HashMap;

use crate::verdict::{CheckReport, Finding, FindingSubject, Weight};
use crate::wire::foreign_text::beginning;

use super::alike::alike;
use super::context::OracleContext;
use super::rule::CheckRule;
use super::step::OracleStep;

/// Upper bound for the different findings that are kept per check. Further findings are only counted.
const MAX_FINDINGS: usize = 100;

/// A family of checks: a fold over the steps of a transcript.
pub(super) trait CheckFamily {
    /// Judges one step. `cx` contains the state just before the step takes effect.
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink);

    /// Judges what can be judged only at the end of the transcript.
    fn finish(&mut self, _cx: &OracleContext, _out: &mut FindingSink) {}
}

/// The index of each finding in its report. The key is the weight and the message without values.
type FindingKinds = HashMap<(Weight, String), usize>;

/// Adds a finding to a report. If the report has a similar finding, the counter of that finding grows instead.
fn enter(report: &mut CheckReport, kinds: &mut FindingKinds, finding: &Finding) {
    let kind = (finding.weight, alike(&finding.message));
    let known = kinds.get(&kind).and_then(|known| report.findings.get_mut(*known));
    if let Some(known) = known {
        known.times += 1;
    } else if report.findings.len() < MAX_FINDINGS {
        kinds.insert(kind, report.findings.len());
        report.findings.push(finding.clone());
    } else {
        report.left_out += 1;
    }
}

/// Returns the reports with their findings replaced by the given findings.
pub fn with_findings(mut reports: Vec<CheckReport>, findings: &[Finding]) -> Vec<CheckReport> {
    for report in &mut reports {
        let mut kinds = FindingKinds::new();
        (report.findings, report.left_out) = (Vec::new(), 0);
        let check = report.check;
        for finding in findings.iter().filter(|finding| finding.check == check) {
            enter(report, &mut kinds, finding);
        }
        count_breaches(report);
    }
    reports
}

/// Raises the observation counts of a report to at least the number of breaches.
fn count_breaches(report: &mut CheckReport) {
    report.observations = report.observations.max(report.breaches());
    for (requirement, seen) in &mut report.apart {
        let about = FindingSubject::Requirement(requirement);
        let broken = report.findings.iter().filter(|finding| finding.subject == about);
        *seen = (*seen).max(broken.map(|finding| finding.times).sum());
    }
}

/// A collector of observations and findings.
pub(super) struct FindingSink {
    reports: Vec<CheckReport>,
    /// For each report, the index of its findings by kind.
    kinds: Vec<FindingKinds>,
    fresh: Vec<Finding>,
    /// Whether observations are counted. Before a handshake no message exercises a check.
    counts: bool,
    /// Whether the party to which the current entry belongs is judged. If not, observations and findings do not count.
    judges: bool,
}

impl FindingSink {
    /// Creates a sink for the checks of a protocol.
    pub(super) fn new(rows: &[super::catalogue::CheckRow]) -> FindingSink {
        let report = |row: &super::catalogue::CheckRow| CheckReport {
            check: row.id,
            observations: 0,
            apart: row.apart.iter().map(|requirement| (*requirement, 0)).collect(),
            findings: Vec::new(),
            left_out: 0,
        };
        FindingSink {
            reports: rows.iter().map(report).collect(),
            kinds: rows.iter().map(|_| HashMap::new()).collect(),
            fresh: Vec::new(),
            counts: false,
            judges: true,
        }
    }

    /// Sets whether the sink counts observations from now on. The sink always counts findings.
    #[inline]
    pub(super) fn counts(&mut self, counts: bool) {
        self.counts = counts;
    }

    /// Sets whether observations and findings count from now on. They do not count for a client that is not judged.
    pub(super) fn judge(&mut self, judges: bool) {
        self.judges = judges;
    }

    /// Counts an observation of a rule, and, if the rule names a requirement, an observation of this requirement.
    #[inline]
    pub(super) fn seen(&mut self, rule: impl CheckRule) {
        if let Some(report) =
            self.reports.get_mut(rule.place()).filter(|_| self.counts && self.judges)
        {
            report.observations += 1;
        }
        if let FindingSubject::Requirement(requirement) = rule.subject() {
            self.seen_of(rule, requirement);
        }
    }

    /// Counts an observation of one requirement, but no observation of the check. Only the requirements in
    /// [`CheckRow::apart`](super::catalogue::CheckRow::apart) have separate counts.
    #[inline]
    pub(super) fn seen_of(&mut self, rule: impl CheckRule, requirement: &'static str) {
        let counts = self.counts && self.judges;
        let report = self.reports.get_mut(rule.place()).filter(|_| counts);
        let mut apart = report.into_iter().flat_map(|report| &mut report.apart);
        if let Some((_, seen)) = apart.find(|(known, _)| *known == requirement) {
            *seen += 1;
        }
    }

    /// Reports a breach of a rule with the full weight of the rule.
    pub(super) fn broken(&mut self, rule: impl CheckRule, message: String, lines: &[u64]) {
        self.weaker(rule, rule.row().weight, message, lines);
    }

    /// Reports a breach of a rule with a smaller weight than the rule has.
    pub(super) fn weaker(
        &mut self,
        rule: impl CheckRule,
        weight: Weight,
        message: String,
        lines: &[u64],
    ) {
        self.with_diff(rule, weight, message, lines, None);
    }

    /// Reports a breach of a rule with the difference between the states.
    pub(super) fn with_diff(
        &mut self,
        rule: impl CheckRule,
        weight: Weight,
        message: String,
        lines: &[u64],
        diff: Option<String>,
    ) {
        if !self.judges {
            return;
        }
        let mut lines: Vec<u64> = lines.iter().copied().filter(|line| *line > 0).collect();
        lines.sort_unstable();
        lines.dedup();
        let finding = Finding {
            check: rule.row().id,
            subject: rule.subject(),
            weight: weight.min(rule.row().weight),
            message: bounded(message),
            lines,
            diff: diff.map(|text| beginning(&text, MAX_DIFF).into_owned()),
            times: 1,
        };
        let place = rule.place();
        let (Some(report), Some(kinds)) = (self.reports.get_mut(place), self.kinds.get_mut(place))
        else {
            return;
        };
        enter(report, kinds, &finding);
        self.fresh.push(finding);
    }

    pub(super) fn take_fresh(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.fresh)
    }

    /// Returns the reports of all checks.
    pub(super) fn into_reports(mut self) -> Vec<CheckReport> {
        self.reports.iter_mut().for_each(count_breaches);
        self.reports
    }
}

/// Upper bounds for the text of a finding, in characters: the message, and the difference between states. The messages
/// quote names from the host, which may have 1 MiB each.
const MAX_MESSAGE: usize = 8 << 10;
const MAX_DIFF: usize = 256 << 10;
/// The length in bytes from which a quoted name in a long message is shortened, and the number of characters that are
/// kept at its beginning and at its end.
const MAX_QUOTED: usize = 300;
const QUOTED_START: usize = 200;
const QUOTED_END: usize = 60;

/// Returns a message of bounded length. Quoted names are shortened in the middle, so that the words around them,
/// which identify the finding, stay.
fn bounded(message: String) -> String {
    if message.len() <= MAX_MESSAGE {
        return message;
    }
    let mut short = String::new();
    for (place, part) in message.split('`').enumerate() {
        if place > 0 {
            short.push('`');
        }
        if place % 2 == 0 || part.len() <= MAX_QUOTED {
            short.push_str(part);
            continue;
        }
        short.extend(part.chars().take(QUOTED_START));
        short.push('…');
        let count = part.chars().count();
        short.extend(part.chars().skip(count.saturating_sub(QUOTED_END)));
    }
    beginning(&short, MAX_MESSAGE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_and_the_words_around_them_stay() {
        let name = "é\u{202e}".repeat(500_000);
        let message =
            format!("expected nothing on `{name}`, found `{name}`, after `a` of `{name}`");
        let short = bounded(message);
        assert!(short.len() < 4_000, "{}", short.len());
        assert!(short.starts_with("expected nothing on `é") && short.contains("`, found `é"));
        assert!(short.contains("`, after `a` of `é") && short.ends_with('`'), "{short}");
        assert_eq!(bounded("expected `a`, found `b`".to_owned()), "expected `a`, found `b`");
        let long = bounded("é".repeat(3 * MAX_MESSAGE));
        let (kept, rest) = long.split_once('…').unwrap();
        assert_eq!(kept.trim_end(), "é".repeat(MAX_MESSAGE));
        assert!(rest.len() < 40, "{rest}");
    }
}

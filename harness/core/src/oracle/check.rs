//! What a family of checks is, and where its findings go.
//!
//! Knows: the catalogue, steps. Never knows: what any check looks for.

use std::collections::HashMap;

use crate::verdict::{CheckReport, Finding, FindingSubject, Weight};

use super::alike::alike;
use super::context::OracleContext;
use super::rule::CheckRule;
use super::step::OracleStep;

/// Findings kept per check, each of another kind; the others are counted.
const MAX_FINDINGS: usize = 100;

/// A family of checks: a fold over steps.
pub(super) trait CheckFamily {
    /// Looks at one step. `cx` is as it was just before the step takes effect.
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink);

    /// Judges what can only be judged when nothing more comes.
    fn finish(&mut self, _cx: &OracleContext, _out: &mut FindingSink) {}
}

/// Where in a report the finding of a weight and of a message without its values is.
type FindingKinds = HashMap<(Weight, String), usize>;

/// Adds a finding to a report: to those of its kind, where there is one.
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

/// The same reports with these findings instead of their own.
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

/// What was found broken was put to the test, whoever counted it.
fn count_breaches(report: &mut CheckReport) {
    report.observations = report.observations.max(report.breaches());
    for (requirement, seen) in &mut report.apart {
        let about = FindingSubject::Requirement(requirement);
        let broken = report.findings.iter().filter(|finding| finding.subject == about);
        *seen = (*seen).max(broken.map(|finding| finding.times).sum());
    }
}

/// Collects observations and findings.
pub(super) struct FindingSink {
    reports: Vec<CheckReport>,
    /// What the findings of each report say, without what differs from case to case.
    kinds: Vec<FindingKinds>,
    fresh: Vec<Finding>,
    /// Whether observations count: nothing is put to the test before a handshake.
    counts: bool,
}

impl FindingSink {
    /// A sink for the checks of a protocol.
    pub(super) fn new(rows: &[super::CheckRow]) -> FindingSink {
        let report = |row: &super::CheckRow| CheckReport {
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
        }
    }

    /// Says whether observations count from here on. Findings always do.
    #[inline]
    pub(super) fn counts(&mut self, counts: bool) {
        self.counts = counts;
    }

    /// The rule was put to the test once more, and the requirement that it names, if any.
    #[inline]
    pub(super) fn seen(&mut self, rule: impl CheckRule) {
        if let Some(report) = self.reports.get_mut(rule.place()).filter(|_| self.counts) {
            report.observations += 1;
        }
        if let FindingSubject::Requirement(requirement) = rule.subject() {
            self.seen_of(rule, requirement);
        }
    }

    /// Counts an observation of one requirement without counting one of the check. Only requirements in `apart` have
    /// a count of their own.
    #[inline]
    pub(super) fn seen_of(&mut self, rule: impl CheckRule, requirement: &'static str) {
        let report = self.reports.get_mut(rule.place()).filter(|_| self.counts);
        let mut apart = report.into_iter().flat_map(|report| &mut report.apart);
        if let Some((_, seen)) = apart.find(|(known, _)| *known == requirement) {
            *seen += 1;
        }
    }

    /// The rule was broken, with its full weight.
    pub(super) fn broken(&mut self, rule: impl CheckRule, message: String, lines: &[u64]) {
        self.weaker(rule, rule.row().weight, message, lines);
    }

    /// The rule was broken in a way that weighs less.
    pub(super) fn weaker(
        &mut self,
        rule: impl CheckRule,
        weight: Weight,
        message: String,
        lines: &[u64],
    ) {
        self.with_diff(rule, weight, message, lines, None);
    }

    /// The rule was broken, with the difference of the states involved.
    pub(super) fn with_diff(
        &mut self,
        rule: impl CheckRule,
        weight: Weight,
        message: String,
        lines: &[u64],
        diff: Option<String>,
    ) {
        let mut lines: Vec<u64> = lines.iter().copied().filter(|line| *line > 0).collect();
        lines.sort_unstable();
        lines.dedup();
        let finding = Finding {
            check: rule.row().id,
            subject: rule.subject(),
            weight: weight.min(rule.row().weight),
            message,
            lines,
            diff,
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

    /// The reports.
    pub(super) fn into_reports(mut self) -> Vec<CheckReport> {
        self.reports.iter_mut().for_each(count_breaches);
        self.reports
    }
}

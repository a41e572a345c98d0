//! The summary of a run: the number of scenarios by status, the result of each check over all scenarios, and
//! the exit code.

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::oracle::{CheckRow, JudgedParty, alike, all_checks, checks_of};
use crate::verdict::{FailOn, Status, Weight};
use crate::wire::version::ProtocolStandard;

use super::event::{CaseReport, CheckLine, FindingLine};

/// The check of the frames that the harness itself sends. The results of this check are not evidence about a host.
pub const OWN_FRAMES: &str = "shape.harness";

/// The summary of a run's scenarios.
#[derive(Clone, Debug, Default)]
pub struct RunSummary {
    /// The number of scenarios by status.
    pub counts: LiteMap<Status, u64>,
    /// The always-on checks, by identifier.
    pub checks: LiteMap<String, CheckTotal>,
    /// The minimum weight at which a broken rule makes the run a failure.
    pub fail_on: FailOn,
    /// The number of flaky scenarios: scenarios that held, but not at the first attempt.
    pub flaky: u64,
}

/// The result of one always-on check over a whole run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CheckTotal {
    /// The number of times that the rule was tested.
    pub observations: u64,
    /// The number of times that the rule was broken.
    pub findings: u64,
    /// The status of the worst breach; `None` if the rule was never broken.
    pub worst: Option<Status>,
    /// The results of single requirements of the check.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    pub rules: LiteMap<String, RuleTotal>,
    /// Whether the check has a finding that may concern a requirement that the check does not count separately.
    #[serde(default)]
    pub unclear: bool,
    /// The worst findings of the check, and at least one finding of each requirement, each with the scenario in which
    /// it occurred.
    pub shown: Vec<(String, FindingLine)>,
}

/// The result of one requirement of an always-on check over a whole run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RuleTotal {
    /// The number of times that the requirement was tested; 0 unless the check counts the requirement
    /// separately.
    pub observations: u64,
    /// The status of the worst breach; `None` if the requirement was never broken.
    pub worst: Option<Status>,
}

/// The maximum number of findings of one check that a report shows in full.
const SHOWN: usize = 5;

impl RunSummary {
    /// Makes an empty summary that contains every check of AHP hosts.
    pub fn new(fail_on: FailOn) -> RunSummary {
        RunSummary::of(ProtocolStandard::Ahp, fail_on)
    }

    /// Makes an empty summary with every check of a protocol for its host or agent.
    pub fn of(standard: ProtocolStandard, fail_on: FailOn) -> RunSummary {
        RunSummary::of_party(standard, JudgedParty::Server, fail_on)
    }

    /// Makes an empty summary that contains every check of one party of a protocol.
    pub fn of_party(standard: ProtocolStandard, party: JudgedParty, fail_on: FailOn) -> RunSummary {
        let none = |row: &CheckRow| (row.id.to_owned(), CheckTotal::default());
        let checks = checks_of(standard, party).iter().map(none).collect();
        RunSummary { fail_on, checks, ..RunSummary::default() }
    }

    /// Adds the result of a scenario.
    pub fn add(&mut self, case: &CaseReport) {
        *self.counts.entry(case.status).or_default() += 1;
        self.flaky += u64::from(case.flaky.is_some());
        self.add_checks(&case.name(), &case.checks);
    }

    /// Adds the results of the always-on checks in the scenario with this name.
    pub fn add_checks(&mut self, scenario: &str, checks: &[CheckLine]) {
        for line in checks {
            let total = self.checks.entry(line.check.clone()).or_default();
            total.observations += line.observations;
            let breaches: u64 = line.findings.iter().map(|finding| finding.times).sum();
            total.findings += breaches + line.left_out;
            for (requirement, seen) in line.apart.iter() {
                total.rules.entry(requirement.clone()).or_default().observations += seen;
            }
            total.unclear |= line.left_out > 0;
            for finding in &line.findings {
                let status = if finding.known { Status::Known } else { finding.weight.broken() };
                worsen(&mut total.worst, status);
                match finding.of.as_deref() {
                    None => total.unclear = true,
                    Some("") => {}
                    Some(requirement) => {
                        let apart =
                            row(&line.check).is_some_and(|row| row.apart.contains(&requirement));
                        total.unclear |= !apart;
                        let rule = total.rules.entry(requirement.to_owned()).or_default();
                        worsen(&mut rule.worst, status);
                    }
                }
                let same = |shown: &&mut (String, FindingLine)| {
                    shown.1.weight == finding.weight
                        && shown.1.of == finding.of
                        && alike(shown.1.message.raw()) == alike(finding.message.raw())
                };
                if let Some((_, shown)) = total.shown.iter_mut().find(same) {
                    shown.times += finding.times;
                    continue;
                }
                // The worst findings come first; equally bad findings stay in the order of arrival.
                let place = total
                    .shown
                    .iter()
                    .position(|(_, shown)| shown.weight < finding.weight)
                    .unwrap_or(total.shown.len());
                total.shown.insert(place, (scenario.to_owned(), finding.clone()));
                total.shorten();
            }
        }
    }

    /// Returns the number of scenarios with a status.
    pub fn count(&self, status: Status) -> u64 {
        self.counts.get(&status).copied().unwrap_or_default()
    }

    /// Returns the number of scenarios.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the number of checks with a status. The status of a check is that of its worst finding; without a
    /// finding, the check passed or is untested.
    pub fn checks_with(&self, status: Status) -> u64 {
        self.checks.values().filter(|total| total.status() == status).count() as u64
    }

    /// Returns whether the run is a failure.
    pub fn failed(&self) -> bool {
        let scenarios = self.counts.iter().filter(|(_, count)| **count > 0);
        let checks = self.checks.values().filter_map(|total| total.worst);
        scenarios.map(|(status, _)| *status).chain(checks).any(|it| self.fail_on.counts(it))
    }
}

impl CheckTotal {
    /// If there are more than [`SHOWN`] findings, drops the last finding that is not the only one for its requirement.
    fn shorten(&mut self) {
        if self.shown.len() <= SHOWN {
            return;
        }
        let of = |(_, finding): &(String, FindingLine)| finding.of.clone();
        let many = |place: &usize| {
            let mine = self.shown.get(*place).map(of);
            mine == Some(None) || self.shown.iter().filter(|it| Some(of(it)) == mine).count() > 1
        };
        let last = (0..self.shown.len()).rev().find(many);
        last.map(|place| self.shown.remove(place));
    }

    /// Returns the status of the check over the run.
    pub fn status(&self) -> Status {
        match (self.worst, self.observations) {
            (Some(worst), _) => worst,
            (None, 0) => Status::Untested,
            (None, _) => Status::Pass,
        }
    }
}

/// Replaces the worst status if the new status is worse.
fn worsen(worst: &mut Option<Status>, status: Status) {
    if worst.is_none_or(|worst| severity(status) > severity(worst)) {
        *worst = Some(status);
    }
}

/// Returns the severity of a status, for comparisons.
fn severity(status: Status) -> u8 {
    match status {
        Status::Fail => 3,
        Status::Warn => 2,
        Status::Note => 1,
        _ => 0,
    }
}

/// Returns the row of a check.
pub fn row(check: &str) -> Option<&'static CheckRow> {
    all_checks().find(|row| row.id == check)
}

/// Returns a weight as a word.
pub fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Must => "MUST",
        Weight::Essential => "essential",
        Weight::Should => "SHOULD",
        Weight::Note => "note",
    }
}

//! Compares two runs: their scenarios, always-on checks and requirements.
//!
//! Start at [`RunChanges::between`].

use litemap::LiteMap;

use crate::verdict::Status;

use super::certificate::{HostCertificate, RequirementOutcome};
use super::finished::FinishedRun;

/// All differences between an older and a newer run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunChanges {
    /// Scenarios, checks and requirements whose result got worse, and new ones that fail.
    pub worse: Vec<RunChange>,
    /// Scenarios, checks and requirements whose result got better.
    pub better: Vec<RunChange>,
    /// Scenarios, checks and requirements that only the newer run contains or judged.
    pub new: Vec<RunChange>,
    /// Scenarios, checks and requirements that only the older run contains or judged.
    pub gone: Vec<RunChange>,
}

/// A scenario, check or requirement whose result differs between two runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunChange {
    /// `scenario`, `check` or `requirement`.
    pub kind: &'static str,
    /// The identifier of the scenario, check or requirement.
    pub id: String,
    /// The result in the older run; empty if the older run does not contain it.
    pub before: &'static str,
    /// The result in the newer run; empty if the newer run does not contain it.
    pub after: &'static str,
}

/// The result of one entry in one run: the result as a word, and its rank among results; a higher rank is
/// worse. `None` means that the entry was not judged.
type RunStanding = (&'static str, Option<u8>);

impl RunChanges {
    /// Compares the newer run with the older one.
    pub fn between(old: &FinishedRun, new: &FinishedRun) -> RunChanges {
        let mut changes = RunChanges::default();
        changes.of("scenario", &scenarios(old), &scenarios(new));
        changes.of("check", &checks(old), &checks(new));
        changes.of("requirement", &requirements(old), &requirements(new));
        changes
    }

    fn of(
        &mut self,
        kind: &'static str,
        old: &LiteMap<String, RunStanding>,
        new: &LiteMap<String, RunStanding>,
    ) {
        for (id, (after, badness)) in new {
            let (before, was) = old.get(id).copied().unwrap_or_default();
            if before == *after {
                continue;
            }
            let change = RunChange { kind, id: id.clone(), before, after };
            match (was, *badness) {
                (Some(was), Some(is)) if is > was => self.worse.push(change),
                (Some(_), Some(_)) => self.better.push(change),
                // A scenario, check or requirement that is new and fails counts as worse.
                (None, Some(is)) if is > HELD => self.worse.push(change),
                (None, Some(_)) => self.new.push(change),
                (Some(_), None) => self.gone.push(change),
                (None, None) => {}
            }
        }
        for (id, (before, was)) in old {
            if was.is_some() && new.get(id).is_none() {
                self.gone.push(RunChange { kind, id: id.clone(), before, after: "" });
            }
        }
    }
}

/// The rank of the result "pass". A higher rank is a worse result.
const HELD: u8 = 0;

fn badness(status: Status) -> Option<u8> {
    match status {
        Status::Pass => Some(HELD),
        Status::Note => Some(1),
        Status::Known => Some(2),
        Status::Warn => Some(3),
        Status::Untested | Status::Error => Some(4),
        Status::Fail => Some(5),
        Status::Skip => None,
    }
}

fn scenarios(run: &FinishedRun) -> LiteMap<String, RunStanding> {
    let mut standings: LiteMap<String, RunStanding> = LiteMap::new();
    for case in &run.cases {
        let standing = (case.report.status.word(), badness(case.report.status));
        // If a scenario was repeated, the worst result counts.
        let known = standings.entry(case.report.name()).or_insert(standing);
        if standing.1 > known.1 {
            *known = standing;
        }
    }
    standings
}

fn checks(run: &FinishedRun) -> LiteMap<String, RunStanding> {
    let standing = |status: Status| match status {
        // A check without observations is not judged, so it does not count as worse than a pass.
        Status::Untested => ("not exercised", None),
        status => (status.word(), badness(status)),
    };
    let checks = run.summary.checks.iter();
    checks.map(|(id, total)| (id.clone(), standing(total.status()))).collect()
}

fn requirements(run: &FinishedRun) -> LiteMap<String, RunStanding> {
    let badness = |outcome: RequirementOutcome| match outcome {
        RequirementOutcome::Pass => Some(HELD),
        RequirementOutcome::Note => Some(1),
        RequirementOutcome::Known => Some(2),
        RequirementOutcome::Warn => Some(3),
        RequirementOutcome::Untested => Some(4),
        RequirementOutcome::Fail => Some(5),
        RequirementOutcome::OutOfReach
        | RequirementOutcome::Skip
        | RequirementOutcome::Excluded
        | RequirementOutcome::Unchecked => None,
    };
    let rows = HostCertificate::of(run).requirements.into_iter();
    rows.map(|row| (row.id.to_owned(), (row.outcome.word(), badness(row.outcome)))).collect()
}

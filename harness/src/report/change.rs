//! What is different between two runs: of scenarios, of always-on checks and of requirements.
//!
//! Start at [`RunChanges::between`].

use litemap::LiteMap;

use crate::verdict::Status;

use super::certificate::{HostCertificate, RequirementOutcome};
use super::finished::FinishedRun;

/// Everything that is different in the newer run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunChanges {
    /// What got worse, or is new and does not hold.
    pub worse: Vec<RunChange>,
    /// What got better.
    pub better: Vec<RunChange>,
    /// What is new, or is judged now and was not before.
    pub new: Vec<RunChange>,
    /// What is not there any more, or not judged any more.
    pub gone: Vec<RunChange>,
}

/// One thing that is different.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunChange {
    /// `scenario`, `check` or `requirement`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// How it was; empty where it was not there.
    pub before: &'static str,
    /// How it is; empty where it is not there any more.
    pub after: &'static str,
}

/// How one thing stands in one run: in a word, and how bad that is. Without a badness nothing was
/// judged.
type RunStanding = (&'static str, Option<u8>);

impl RunChanges {
    /// Holds the newer run against the older one.
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
                // What does not hold from its first day on is no less bad for that.
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

/// The badness of what held.
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
        // Of repetitions the worst counts.
        let known = standings.entry(case.report.name()).or_insert(standing);
        if standing.1 > known.1 {
            *known = standing;
        }
    }
    standings
}

fn checks(run: &FinishedRun) -> LiteMap<String, RunStanding> {
    let standing = |status: Status| match status {
        // Nothing to see is not worse than something that held.
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

//! Known failures: each with its reason, and a failure itself once it no longer fails.
//!
//! ```yaml
//! known:
//!   - scenario: turns/cancel-stops-the-stream
//!     reason: "#1234, fixed in the next release"
//!   - check: jsonrpc.error-code
//!     reason: the old code is kept for old clients
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;

use litemap::LiteMap;

use crate::oracle::all_checks;
use crate::run::suite::Suite;
use crate::scenario::listing::{Form, read_list, reason, text};
use crate::scenario::node::Node;
use crate::scenario::source::closest;
use crate::verdict::{FailOn, Status};

use super::event::CaseReport;
use super::summary::Summary;

const FORM: Form = Form {
    what: "a baseline",
    list: "known",
    beside: &[],
    entry: &["scenario", "check", "reason"],
};

/// The reason of an entry that nobody has looked at yet.
const WHY: &str = "TODO: say why this is known";

/// The known failures of a target.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    scenarios: LiteMap<String, Known>,
    checks: LiteMap<String, Known>,
    /// Scenarios that failed and are not known.
    fresh: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Known {
    reason: String,
    /// Whether it was played and did fail, or did not.
    failed: Option<bool>,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// Every mistake in it, a line each: where, and what.
    pub fn parse(name: &str, text: &str, suite: &Suite) -> Result<Baseline, String> {
        let mut baseline = Baseline::default();
        read_list(name, text, &FORM, &mut |entry| baseline.entry(entry, suite))?;
        Ok(baseline)
    }

    fn entry(&mut self, entry: &Node, suite: &Suite) -> Result<(), String> {
        let known = Known { reason: reason(entry)?.to_owned(), failed: None };
        let (map, id, exists): (_, _, bool) = match (text(entry, "scenario"), text(entry, "check"))
        {
            (Some(id), None) => {
                let exists = suite.entries.iter().any(|entry| entry.scenario.id == id);
                (&mut self.scenarios, id, exists)
            }
            (None, Some(id)) => (&mut self.checks, id, all_checks().any(|row| row.id == id)),
            _ => return Err("expected either `scenario` or `check`".to_owned()),
        };
        if !exists {
            let names = suite.entries.iter().map(|entry| entry.scenario.id.as_str());
            let hint = closest(id, names.chain(all_checks().map(|row| row.id)));
            let hint =
                hint.map(|close| format!(" (hint: did you mean `{close}`?)")).unwrap_or_default();
            return Err(format!("nothing is called `{id}`{hint}"));
        }
        match map.insert(id.to_owned(), known) {
            Some(_) => Err(format!("`{id}` stands here twice")),
            None => Ok(()),
        }
    }

    /// Settles a scenario: a known failure becomes `known`.
    pub fn settle(&mut self, case: &mut CaseReport, fail_on: FailOn) {
        let Some(known) = self.scenarios.get_mut(&case.scenario) else {
            if fails(case.status, fail_on) {
                self.fresh.insert(case.scenario.clone());
            }
            return;
        };
        let failed = match case.status {
            Status::Skip | Status::Error => return,
            status => status != Status::Pass,
        };
        known.failed = Some(known.failed.unwrap_or_default() || failed);
        if failed {
            case.status = Status::Known;
            case.reason = format!("known: {} ({})", known.reason, case.reason.raw()).into();
        }
    }

    /// Settles the always-on checks of the whole run.
    pub fn settle_checks(&mut self, summary: &mut Summary) {
        for (id, known) in &mut self.checks {
            let Some(total) = summary.checks.get_mut(id) else {
                continue;
            };
            if total.worst.is_some() {
                total.worst = Some(Status::Known);
                known.failed = Some(true);
            } else if total.observations > 0 {
                known.failed = Some(false);
            }
        }
    }

    /// Entries that were played and no longer fail.
    pub fn stale(&self) -> Vec<String> {
        let stale = |(id, known): (&String, &Known)| {
            let line =
                format!("`{id}` is in the baseline ({}) and passes now: remove it", known.reason);
            (known.failed == Some(false)).then_some(line)
        };
        self.scenarios.iter().chain(&self.checks).filter_map(stale).collect()
    }

    /// The file anew, from a run that this baseline and the summary have settled: what still fails and
    /// what was not played stays with its reason, what passes goes, what is new comes with [`WHY`].
    pub fn renewed(&self, summary: &Summary) -> String {
        let failing = summary
            .checks
            .iter()
            .filter(|(_, total)| total.worst.is_some_and(|worst| fails(worst, summary.fail_on)));
        let parts = [
            ("scenario", &self.scenarios, self.fresh.iter().collect::<Vec<_>>()),
            ("check", &self.checks, failing.map(|(check, _)| check).collect()),
        ];
        let mut out = String::new();
        for (kind, known, fresh) in parts {
            let kept = known.iter().filter(|(_, known)| known.failed != Some(false));
            let kept = kept.map(|(id, known)| (id, known.reason.as_str()));
            let mut entries: Vec<_> = kept.chain(fresh.into_iter().map(|id| (id, WHY))).collect();
            entries.sort_unstable();
            for (id, reason) in entries {
                // A text of JSON is one of YAML, whatever is in it.
                let reason = serde_json::Value::from(reason);
                let _ = write!(out, "  - {kind}: {id}\n    reason: {reason}\n");
            }
        }
        if out.is_empty() { "known: []\n".to_owned() } else { format!("known:\n{out}") }
    }

    /// How many entries there are of what was not known before this run.
    pub fn fresh(&self, summary: &Summary) -> usize {
        let checks = summary.checks.values().filter_map(|total| total.worst);
        self.fresh.len() + checks.filter(|worst| fails(*worst, summary.fail_on)).count()
    }
}

/// Whether a status makes a run a failure that a baseline can know of.
fn fails(status: Status, fail_on: FailOn) -> bool {
    status != Status::Error && fail_on.counts(status)
}

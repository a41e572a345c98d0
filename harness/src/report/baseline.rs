//! The baseline: a list of known failures with reasons. If a listed failure no longer occurs, this is reported as a
//! failure.
//!
//! ```yaml
//! known:
//!   - finding: session.create.duplicate~1f0c88d2     # as reports name it
//!     seen_in: sessions/a-uri-in-use-is-refused
//!     reason: "#1234, fixed in the next release"
//!   - scenario: turns/cancel-stops-the-stream        # every failure in the scenario
//!     reason: only on slow machines
//!   - check: jsonrpc.error-code                      # every finding of the check
//!     reason: the old code is kept for old clients
//! ```
//!
//! A finding is identified by the broken rule and the way in which it is broken ([`BreachId`](super::cause::BreachId)),
//! so a known finding never hides a different finding.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use litemap::LiteMap;

use crate::oracle::all_checks;
use crate::run::suite::ScenarioSuite;
use crate::scenario::listing::{ListingForm, read_list, reason, text};
use crate::scenario::node::SourceNode;
use crate::scenario::source::closest;
use crate::verdict::{FailOn, Status};

use super::cause::{SeenBy, breaches_of};
use super::event::CaseReport;
use super::summary::RunSummary;

const FORM: ListingForm = ListingForm {
    what: "a baseline",
    list: "known",
    beside: &[],
    entry: &["scenario", "check", "finding", "seen_in", "what", "reason"],
};

/// The reason that the harness writes into a new entry, for a person to replace.
const WHY: &str = "TODO: give the reason";

/// The known failures of one target, such as a host.
#[derive(Clone, Debug, Default)]
pub struct FailureBaseline {
    scenarios: LiteMap<String, KnownFailure>,
    checks: LiteMap<String, KnownFailure>,
    findings: LiteMap<String, KnownFailure>,
    /// The new findings, each with the scenario in which it occurred first, and the message.
    fresh: BTreeMap<String, (String, String)>,
}

#[derive(Clone, Debug)]
struct KnownFailure {
    reason: String,
    /// The first scenario that showed the finding; empty if the file does not name one.
    seen_in: String,
    what: String,
    /// Whether the failure occurred in this run; `None` if the scenario was not played.
    failed: Option<bool>,
}

impl FailureBaseline {
    /// Parses a baseline.
    ///
    /// # Errors
    /// Returns all mistakes in the file, one per line with the place.
    pub fn parse(name: &str, text: &str, suite: &ScenarioSuite) -> Result<FailureBaseline, String> {
        let mut baseline = FailureBaseline::default();
        read_list(name, text, &FORM, &mut |entry| baseline.entry(entry, suite))?;
        Ok(baseline)
    }

    fn entry(&mut self, entry: &SourceNode, suite: &ScenarioSuite) -> Result<(), String> {
        let owned = |name| text(entry, name).unwrap_or_default().to_owned();
        let (seen_in, what) = (owned("seen_in"), owned("what"));
        let known = KnownFailure { reason: reason(entry)?.to_owned(), seen_in, what, failed: None };
        let named = ["scenario", "check", "finding"].map(|name| text(entry, name));
        let (map, id, exists): (_, _, bool) = match named {
            [Some(id), None, None] => {
                let exists = suite.entries.iter().any(|entry| entry.scenario.id == id);
                (&mut self.scenarios, id, exists)
            }
            [None, Some(id), None] => (&mut self.checks, id, all_checks().any(|row| row.id == id)),
            [None, None, Some(id)] => (&mut self.findings, id, id.contains('~')),
            _ => return Err("expected one of `scenario`, `check` and `finding`".to_owned()),
        };
        if !exists {
            let names = suite.entries.iter().map(|entry| entry.scenario.id.as_str());
            let hint = closest(id, names.chain(all_checks().map(|row| row.id)));
            let hint =
                hint.map(|close| format!(" (hint: did you mean `{close}`?)")).unwrap_or_default();
            return Err(format!("nothing is called `{id}`{hint}"));
        }
        match map.insert(id.to_owned(), known) {
            Some(_) => Err(format!("`{id}` is listed twice")),
            None => Ok(()),
        }
    }

    /// Applies the baseline to the report of a scenario: listed failures, and listed findings of the always-on checks,
    /// get the status `known`.
    pub fn settle(&mut self, case: &mut CaseReport, fail_on: FailOn) {
        let judged = !matches!(case.status, Status::Skip | Status::Error);
        if judged {
            let known = self.findings.iter_mut().map(|(_, known)| known);
            let seen_here = known.filter(|it| it.seen_in == case.scenario);
            seen_here.for_each(|known| known.failed = known.failed.or(Some(false)));
        }
        let mut all_known = true;
        let mut reasons = Vec::new();
        let whole = self.scenarios.contains_key(&case.scenario);
        for seen in breaches_of(case) {
            let id = seen.id.to_string();
            let of_check = seen.check.as_ref();
            if let Some(known) = self.findings.get_mut(&id) {
                known.failed = Some(true);
                reasons.push(known.reason.clone());
                for line in case.checks.iter_mut().filter(|line| of_check == Some(&line.check)) {
                    let same = |it: &&mut super::event::FindingLine| {
                        it.transcript == seen.place.transcript
                    };
                    line.findings.iter_mut().filter(same).for_each(|finding| finding.known = true);
                }
                continue;
            }
            let by_check = of_check.is_some_and(|check| self.checks.contains_key(check));
            if seen.id.seen_by != SeenBy::Check {
                all_known = false;
            }
            let counted = fails(seen.status, fail_on) && !by_check;
            if counted && (of_check.is_some() || !whole) {
                let place = (case.scenario.clone(), seen.place.message.line());
                self.fresh.entry(id).or_insert(place);
            }
        }
        let failed = judged && case.status != Status::Pass;
        if let Some(known) = self.scenarios.get_mut(&case.scenario).filter(|_| judged) {
            known.failed = Some(known.failed.unwrap_or_default() || failed);
            reasons = vec![known.reason.clone()];
            all_known = true;
        }
        if failed && all_known && !reasons.is_empty() {
            case.status = Status::Known;
            case.reason = format!("known: {} ({})", reasons.join("; "), case.reason.raw()).into();
        }
    }

    /// Applies the baseline to the always-on checks of the whole run.
    pub fn settle_checks(&mut self, summary: &mut RunSummary) {
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

    /// Returns a message for each entry of the baseline whose scenario was played but whose failure did not occur.
    pub fn stale(&self) -> Vec<String> {
        let stale = |(id, known): (&String, &KnownFailure)| {
            let line = format!(
                "`{id}` is in the baseline ({}) and passes now: remove the entry",
                known.reason
            );
            (known.failed == Some(false)).then_some(line)
        };
        let all = self.scenarios.iter().chain(&self.checks).chain(&self.findings);
        all.filter_map(stale).collect()
    }

    /// Returns the text of an updated baseline, after this baseline was applied to a run. Entries that still
    /// fail or were not played keep their reasons, entries that no longer fail are removed, and new findings
    /// get the reason [`WHY`].
    pub fn renewed(&self) -> String {
        let mut out = String::new();
        // A JSON string is valid YAML for all characters.
        let text = |text: &str| serde_json::Value::from(text).to_string();
        for (kind, known) in [("scenario", &self.scenarios), ("check", &self.checks)] {
            for (id, known) in known.iter().filter(|(_, known)| known.failed != Some(false)) {
                let _ = write!(out, "  - {kind}: {id}\n    reason: {}\n", text(&known.reason));
            }
        }
        let kept = self.findings.iter().filter(|(_, known)| known.failed != Some(false));
        let kept =
            kept.map(|(id, it)| (id, [&it.seen_in, &it.what, &it.reason].map(String::as_str)));
        let fresh = self.fresh.iter().map(|(id, (seen_in, what))| (id, [seen_in, what, WHY]));
        let mut entries: Vec<_> = kept.chain(fresh).collect();
        entries.sort_unstable();
        for (id, members) in entries {
            let _ = writeln!(out, "  - finding: {}", text(id));
            for (name, value) in ["seen_in", "what", "reason"].iter().zip(members) {
                if !value.is_empty() {
                    let _ = writeln!(out, "    {name}: {}", text(value));
                }
            }
        }
        if out.is_empty() { "known: []\n".to_owned() } else { format!("known:\n{out}") }
    }

    /// Returns the number of findings that the baseline did not contain before this run.
    pub fn fresh(&self) -> usize {
        self.fresh.len()
    }
}

/// Returns whether a failure with this status may be in a baseline.
fn fails(status: Status, fail_on: FailOn) -> bool {
    status != Status::Error && fail_on.counts(status)
}

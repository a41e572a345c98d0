//! Known failures: each with its reason, and a failure itself once it no longer fails.
//!
//! ```yaml
//! known:
//!   - scenario: turns/cancel-stops-the-stream
//!     reason: "#1234, fixed in the next release"
//!   - check: jsonrpc.error-code
//!     reason: the old code is kept for old clients
//! ```

use litemap::LiteMap;

use crate::oracle::CHECKS;
use crate::run::suite::Suite;
use crate::scenario::node::{Node, read};
use crate::scenario::source::{Source, closest};
use crate::verdict::Status;

use super::event::CaseReport;
use super::summary::Summary;

/// The known failures of a target.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    scenarios: LiteMap<String, Known>,
    checks: LiteMap<String, Known>,
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
        let source = Source::new(name, text);
        let (root, errors) = read(&source, 0);
        let place = |start| {
            let (line, column) = source.position(start);
            format!("{name}:{line}:{column}")
        };
        let mut mistakes: Vec<String> =
            errors.iter().map(|error| format!("{}: {error}", place(error.span.start))).collect();
        let mut baseline = Baseline::default();
        let known = root.as_ref().and_then(|root| root.get("known")).and_then(Node::as_list);
        if known.is_none() && mistakes.is_empty() {
            mistakes.push(format!("{name}:1:1: expected `known:` with a list of entries"));
        }
        for entry in known.unwrap_or_default() {
            if let Err(mistake) = baseline.entry(entry, suite) {
                mistakes.push(format!("{}: {mistake}", place(entry.span.start)));
            }
        }
        if mistakes.is_empty() { Ok(baseline) } else { Err(mistakes.join("\n")) }
    }

    fn entry(&mut self, entry: &Node, suite: &Suite) -> Result<(), String> {
        let text = |key: &str| entry.get(key).and_then(Node::as_str);
        for member in entry.as_map().unwrap_or_default() {
            if !["scenario", "check", "reason"].contains(&member.key.as_str()) {
                return Err(format!(
                    "an entry has no `{}` (hint: `scenario` or `check`, and `reason`)",
                    member.key
                ));
            }
        }
        let reason = text("reason").filter(|reason| !reason.trim().is_empty());
        let reason =
            reason.ok_or("expected a `reason`: nobody will remember why it was tolerated")?;
        let known = Known { reason: reason.to_owned(), failed: None };
        let (map, id, exists): (_, _, bool) = match (text("scenario"), text("check")) {
            (Some(id), None) => {
                let exists = suite.entries.iter().any(|entry| entry.scenario.id == id);
                (&mut self.scenarios, id, exists)
            }
            (None, Some(id)) => (&mut self.checks, id, CHECKS.iter().any(|row| row.id == id)),
            _ => return Err("expected either `scenario` or `check`".to_owned()),
        };
        if !exists {
            let names = suite.entries.iter().map(|entry| entry.scenario.id.as_str());
            let hint = closest(id, names.chain(CHECKS.iter().map(|row| row.id)));
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
    pub fn settle(&mut self, case: &mut CaseReport) {
        let Some(known) = self.scenarios.get_mut(&case.scenario) else {
            return;
        };
        let failed = match case.status {
            Status::Skip | Status::Error => return,
            status => status != Status::Pass,
        };
        known.failed = Some(known.failed.unwrap_or_default() || failed);
        if failed {
            case.status = Status::Known;
            case.reason = format!("known: {} ({})", known.reason, case.reason);
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
}

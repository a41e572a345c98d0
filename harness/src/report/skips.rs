//! Counts why scenarios were skipped.
//!
//! Knows: reports of scenarios. Never knows: the reports that show the reasons.
//!
//! Start at [`SkipReasons`].

use std::collections::HashMap;
use std::fmt::Write as _;

use super::event::CaseReport;
use crate::verdict::Status;

/// The maximum number of different reasons that are counted.
const COUNTED: usize = 1_000;
/// The number of reasons that are shown.
const SHOWN: usize = 5;

/// The reasons why scenarios were skipped, each with the number of its scenarios.
#[derive(Clone, Debug, Default)]
pub struct SkipReasons {
    counts: HashMap<String, u64>,
}

impl SkipReasons {
    /// Counts a scenario, if it was skipped for a reason.
    pub fn add(&mut self, case: &CaseReport) {
        if case.status != Status::Skip || case.reason.is_empty() {
            return;
        }
        let reason = case.reason.line();
        if self.counts.len() < COUNTED || self.counts.contains_key(&reason) {
            *self.counts.entry(reason).or_default() += 1;
        }
    }

    /// Returns the most frequent reasons, one per line, with control characters escaped; empty without a skipped
    /// scenario.
    pub fn lines(&self) -> String {
        let mut reasons: Vec<(&String, &u64)> = self.counts.iter().collect();
        reasons.sort_unstable_by(|(a, times), (b, others)| others.cmp(times).then(a.cmp(b)));
        let mut out = String::new();
        for (reason, times) in reasons.iter().take(SHOWN) {
            let _ = writeln!(out, "{times:>6} skipped: {reason}");
        }
        let rest: u64 = reasons.iter().skip(SHOWN).map(|(_, times)| **times).sum();
        if rest > 0 {
            let _ =
                writeln!(out, "{rest:>6} skipped for other reasons; `--format full` shows them");
        }
        out
    }
}

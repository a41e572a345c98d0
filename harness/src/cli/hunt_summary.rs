//! Formats the progress line and the summary of a campaign.
//!
//! Knows: a campaign and its findings. Never knows: how conversations are generated and played.
//!
//! Start at [`FuzzHunt::summary`].

use std::fmt::Write as _;

use crate::arb::campaign::{FindingBucket, FuzzCampaign, UnexaminedFinding};

use super::hunt::{FuzzHunt, STALE};

impl FuzzHunt<'_> {
    pub(super) fn progress(&self) -> String {
        let FuzzCampaign { sequences, steps, tried, seen, tally, took, .. } = &self.campaign;
        let rate = *steps as f64 / took.as_secs_f64().max(0.001);
        let news = match self.campaign.without_news() {
            stale if stale >= STALE => format!(", nothing new in the last {stale} conversations"),
            _ => String::new(),
        };
        format!(
            "{sequences} conversations, {steps} steps ({rate:.0} a second), {} kinds of actions, {} combinations of action, state and verdict{news}, refused {} %, {} findings of {} causes\n",
            tried.len(),
            seen.len(),
            tally.refused_percent(),
            self.campaign.failures().count(),
            self.campaign.causes().len()
        )
    }

    pub(super) fn summary(&self) -> String {
        let mut out = self.progress();
        if self.campaign.unsteady > 0 {
            let _ = writeln!(
                out,
                "    {} of them have expectations that the reference host does not meet when it \
                 plays them again; only the checks count for these",
                self.campaign.unsteady
            );
            for odd in &self.odd {
                let _ = writeln!(out, "        {odd}");
            }
        }
        let faults = &self.fuzz.fault;
        if !faults.is_empty() {
            let _ = writeln!(out, "    injected: {}", faults.join(", "));
        }
        for (key, variant) in &self.permitted {
            let _ = writeln!(out, "    permitted, as the legal variant `{variant}` shows: {key}");
        }
        for cause in self.campaign.causes() {
            for (place, bucket) in cause.into_iter().enumerate() {
                let FindingBucket { finding, scenario, times, order, .. } = bucket;
                // Findings with the same cause are indented below the first one.
                let (indent, verdict) = match place {
                    0 => ("    ", finding.weight.broken().word()),
                    _ => ("        ", "most likely the same defect:"),
                };
                let _ = writeln!(
                    out,
                    "{indent}{verdict} {}: {}\n{indent}    {}/{scenario}.yaml, found {times} times",
                    finding.rule,
                    finding.message,
                    self.fuzz.out.display()
                );
                if !order.is_empty() {
                    let _ = writeln!(out, "{indent}    {order}");
                }
            }
        }
        for bucket in self.campaign.buckets.iter().filter(|bucket| bucket.flaky) {
            let FindingBucket { finding, times, again, seed, .. } = bucket;
            let _ = writeln!(
                out,
                "    flaky {} (it would be {}): {}\n        --sequence-seed {seed:016x}, found {times} times, occurred again in {} of {} repetitions",
                finding.rule,
                finding.weight.broken().word(),
                finding.message,
                again.0,
                again.1
            );
        }
        for UnexaminedFinding { finding, seed } in &self.campaign.unexamined {
            let _ = writeln!(
                out,
                "    not examined, for lack of time {} (it would be {}): {}\n        --sequence-seed {seed:016x}; the campaign begins with it if it continues",
                finding.rule,
                finding.weight.broken().word(),
                finding.message,
            );
        }
        out
    }
}

//! The progress line and the summary of a campaign.
//!
//! Knows: a campaign and its findings. Never knows: how conversations are generated and played.
//!
//! Start at [`FuzzHunt::summary`].

use std::fmt::Write as _;

use crate::arb::campaign::{FindingBucket, FuzzCampaign};

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
            "{sequences} conversations, {steps} steps ({rate:.0} a second), {} ways of acting, {} of action x state x verdict{news}, refused {} %, {} findings\n",
            tried.len(),
            seen.len(),
            tally.refused_percent(),
            self.campaign.failures().count()
        )
    }

    pub(super) fn summary(&self) -> String {
        let mut out = self.progress();
        if self.campaign.unsteady > 0 {
            let _ = writeln!(
                out,
                "    {} were drawn whose expectations the reference host does not meet when it plays them once more; \
                 they count for nothing but checks",
                self.campaign.unsteady
            );
            for odd in &self.odd {
                let _ = writeln!(out, "        {odd}");
            }
        }
        let faults = self.fuzz.planted();
        if !faults.is_empty() {
            let _ = writeln!(out, "    injected: {}", faults.join(", "));
        }
        for (key, variant) in &self.permitted {
            let _ = writeln!(out, "    permitted, as the legal variant `{variant}` shows: {key}");
        }
        for bucket in &self.campaign.buckets {
            let FindingBucket { finding, scenario, times, again, .. } = bucket;
            let verdict = finding.weight.broken().word();
            if bucket.flaky {
                let _ = writeln!(
                    out,
                    "    flaky {} (it would be {verdict}): {}\n        --sequence-seed {:016x}, found {times} times, showed again {} times of {}",
                    finding.rule, finding.message, bucket.seed, again.0, again.1
                );
                continue;
            }
            let _ = writeln!(
                out,
                "    {verdict} {}: {}\n        {}/{scenario}.yaml, found {times} times",
                finding.rule,
                finding.message,
                self.fuzz.out.display()
            );
        }
        out
    }
}

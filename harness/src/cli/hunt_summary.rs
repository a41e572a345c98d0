//! Formats the progress line and the summary of a campaign.
//!
//! Knows: a campaign and its findings. Never knows: the generation and execution of conversations.
//!
//! Start at [`FuzzHunt::summary`].

use std::fmt::Write as _;

use crate::arb::campaign::{FindingBucket, FurtherForm, FuzzCampaign, UnexaminedFinding};

use super::hunt::{FuzzHunt, STALE};

/// For each cause, the maximum number of listed findings that were not examined because the cause was already known.
const SHOWN_FORMS: usize = 5;

impl FuzzHunt<'_> {
    pub(super) fn progress(&self) -> String {
        let FuzzCampaign { sequences, steps, tried, seen, tally, took, .. } =
            self.schedule.campaign();
        let rate = *steps as f64 / took.as_secs_f64().max(0.001);
        let news = match self.schedule.campaign().without_news() {
            stale if stale >= STALE => format!(", nothing new in the last {stale} conversations"),
            _ => String::new(),
        };
        let mut left = String::new();
        let (open, confirmed) = self.schedule.queue().lengths();
        if confirmed > 0 {
            let _ = write!(left, ", {confirmed} more to be minimised");
        }
        if open > 0 {
            let _ = write!(left, ", {open} to be confirmed");
        }
        format!(
            "{sequences} conversations, {steps} steps ({rate:.0} a second), {} kinds of actions, {} combinations of action, state and verdict{news}, refused {} %, {} findings of {} causes{left}\n",
            tried.len(),
            seen.len(),
            tally.refused_percent(),
            self.schedule.campaign().failures().count(),
            self.schedule.campaign().causes().len()
        )
    }

    pub(super) fn summary(&self) -> String {
        let mut out = self.progress();
        if self.schedule.campaign().unsteady > 0 {
            let _ = writeln!(
                out,
                "    {} of them have expectations that the reference host does not meet when it \
                 plays them again; only the checks count for these",
                self.schedule.campaign().unsteady
            );
            for odd in self.schedule.choice().odd() {
                let _ = writeln!(out, "        {odd}");
            }
        }
        let faults = &self.fuzz.fault;
        if !faults.is_empty() {
            let _ = writeln!(out, "    injected: {}", faults.join(", "));
        }
        for (key, variant) in self.schedule.queue().permitted() {
            let _ = writeln!(out, "    permitted, as the legal variant `{variant}` shows: {key}");
        }
        for cause in self.schedule.campaign().causes() {
            let first = cause.first().map(|bucket| bucket.finding.cause());
            for (place, bucket) in cause.into_iter().enumerate() {
                let FindingBucket { finding, scenario, times, order, minimised, .. } = bucket;
                // Findings with the same cause are indented below the first one.
                let (indent, verdict) = match place {
                    0 => ("    ", finding.weight.broken().word()),
                    _ => ("        ", "most likely the same defect:"),
                };
                let _ = writeln!(
                    out,
                    "{indent}{verdict} {}: {}\n{indent}    {}/{scenario}.yaml, found {times} times{}",
                    finding.rule,
                    finding.message,
                    self.fuzz.out.display(),
                    if *minimised { "" } else { ", not minimised" },
                );
                if !order.is_empty() {
                    let _ = writeln!(out, "{indent}    {order}");
                }
            }
            let same = |form: &&FurtherForm| Some(form.finding.cause()) == first;
            let forms: Vec<&FurtherForm> =
                self.schedule.campaign().forms.iter().filter(same).collect();
            for FurtherForm { finding, seed, times } in forms.iter().take(SHOWN_FORMS) {
                let _ = writeln!(
                    out,
                    "        most likely the same defect, not examined: {}: {}\n            --sequence-seed {seed:016x}, found {times} times",
                    finding.rule, finding.message
                );
            }
            if forms.len() > SHOWN_FORMS {
                let more = forms.len() - SHOWN_FORMS;
                let _ = writeln!(out, "        and {more} further forms of it, not examined");
            }
        }
        for cause in self.schedule.campaign().flaky_causes() {
            for (place, bucket) in cause.into_iter().enumerate() {
                let FindingBucket { finding, times, again, seed, .. } = bucket;
                let would_be = format!("(it would be {})", finding.weight.broken().word());
                let (indent, verdict) = match place {
                    0 => ("    ", format!("flaky {} {would_be}", finding.rule)),
                    _ => ("        ", format!("most likely the same defect: {}", finding.rule)),
                };
                let _ = writeln!(
                    out,
                    "{indent}{verdict}: {}\n{indent}    --sequence-seed {seed:016x}, found {times} times, occurred again in {} of {} repetitions",
                    finding.message, again.0, again.1
                );
            }
        }
        for UnexaminedFinding { finding, seed } in &self.schedule.campaign().unexamined {
            let _ = writeln!(
                out,
                "    not examined, because the time was over: {} (it would be {}): {}\n        --sequence-seed \
                    {seed:016x}; the campaign begins with it if it continues",
                finding.rule,
                finding.weight.broken().word(),
                finding.message,
            );
        }
        out
    }
}

//! The output of `variants`: a line for each set of variants, and the precision matrix.
//!
//! Knows: the results of variants. Never knows: how variants are played.
//!
//! Start at [`told`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::run::variants::VariantResult;
use crate::verdict::Weight;
use crate::wire::version::Version;

/// The maximum number of untested scenarios that the output names for each set of variants.
const SHOWN: usize = 3;

/// Prints the result of one set of variants.
pub(super) fn told(result: &VariantResult, version: Version, out: &mut String) {
    let _ = writeln!(
        out,
        "{version} {:<32} {} played{}, {} held, {} untested, {} false findings, {} notes",
        result.variants.join("+"),
        result.played,
        result.changed.map_or(String::new(), |changed| format!(" ({changed} with other frames)")),
        result.held,
        result.untested.len(),
        result.accused.len(),
        result.notes
    );
    if !result.lost.is_empty() {
        let _ = writeln!(out, "    not detected: {}", result.lost.join(", "));
    }
    for (rule, accusation) in &result.accused {
        let _ = writeln!(
            out,
            "    {:<5} {rule} ({} times), first in {}: {}",
            word_of(accusation.weight),
            accusation.times,
            accusation.scenario,
            accusation.message
        );
    }
    for (scenario, why) in result.untested.iter().take(SHOWN) {
        let _ = writeln!(out, "    untested {scenario}: {why}");
    }
    if let Some(more) = result.untested.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(out, "    and {more} more untested scenarios");
    }
}

fn word_of(weight: Weight) -> &'static str {
    weight.broken().word()
}

/// Prints the precision matrix: each rule that was reported as broken, with the variants.
pub(super) fn matrix(results: &[VariantResult], out: &mut String) {
    let mut rules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for result in results {
        for rule in result.accused.keys() {
            rules.entry(rule).or_default().push(result.variants.join("+"));
        }
    }
    for (rule, variants) in rules {
        let _ = writeln!(out, "reported broken: {rule} under {}", variants.join(", "));
    }
}

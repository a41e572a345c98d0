//! Formats a kill matrix (which injected faults make which checks and scenarios fail) as a page. The page lists each
//! rule, with the checks and scenarios that test it and the injected faults that they must detect. It also lists each
//! fault, with the checks and scenarios that detect it.
//!
//! Start at [`table`].

use std::fmt::Write as _;

use crate::fault::FaultKind;
use crate::run::kills::{KillDepth, KillMatrix, covers};
use crate::run::suite::ScenarioSuite;

use super::coverage::{LedgerCoverage, RequirementStanding};
use super::summary::word;

/// Formats the page as Markdown.
pub fn table<F: FaultKind>(matrix: &KillMatrix<F>, suite: &ScenarioSuite) -> String {
    let version = matrix.table.version;
    let mut out = format!(
        "# Injected faults of {}\n\n{} faults, {} scenarios, {} checks.\n\n\
         | rule | weight | tested by | broken by |\n|---|---|---|---|\n",
        version.title(),
        matrix.outcomes.len(),
        matrix.scenarios.len(),
        matrix.table.killable().count()
    );
    for row in LedgerCoverage::of(version, suite, &[]).rows {
        let tests = row.checks.iter().copied().chain(row.scenarios.iter().map(String::as_str));
        let tests: Vec<String> = tests.map(|name| format!("`{name}`")).collect();
        let tests = match row.standing() {
            RequirementStanding::Covered => tests.join(", "),
            RequirementStanding::Excluded => {
                format!("untested: {}", row.rule.excluded.unwrap_or_default())
            }
            RequirementStanding::Open => "untested".to_owned(),
        };
        let weight = word(row.rule.weight).to_lowercase();
        // If the scenarios of a fault are played only until the fault is detected, the result does not show everything
        // that the fault breaks.
        let faults = match matrix.table.depth {
            KillDepth::Whole => matrix.breakers(row.rule.id),
            KillDepth::Caught => row.faults,
        };
        let _ = writeln!(out, "| {} | {weight} | {tests} | {} |", row.rule.id, faults.join(", "));
    }
    let _ =
        writeln!(out, "\n| fault | description | detected by | also fails |\n|---|---|---|---|");
    for outcome in &matrix.outcomes {
        let doc = F::ALL.get(outcome.fault.place()).map_or("", |row| row.doc);
        let names: Vec<String> = outcome.tripped.names().collect();
        let caught = |name: &&String| outcome.named.iter().any(|named| covers(named, name));
        let caught: Vec<&str> = names.iter().filter(caught).map(String::as_str).collect();
        let (caught, besides) = (caught.join(", "), outcome.collateral.join(", "));
        let _ = writeln!(out, "| {} | {doc} | {caught} | {besides} |", outcome.fault.word());
    }
    out
}

//! `ahp-harness coverage`: which requirement is put to the test by what.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};

use crate::reducers::vector;
use crate::report::coverage::{Covered, Standing};
use crate::report::{coverage, summary};
use crate::run::suite::Suite;
use crate::verdict::Weight;
use crate::wire::json::json;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::context::Context;
use super::exit::{Code, Outcome, Stop};
use super::options;

/// Shows which requirement of a version is put to the test by which check, scenario, vector and
/// planted fault, and which by none.
#[derive(Args, Debug)]
pub struct Coverage {
    /// The protocol version; the newest unless given
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Form::Summary)]
    form: Form,
    /// Exit with 1 when a requirement of at least this weight is open
    #[arg(long, value_enum, value_name = "WEIGHT")]
    require: Option<AtLeast>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// Counts by weight, and the open requirements that are more than notes
    Summary,
    /// A line for each requirement
    Matrix,
    /// A JSON object a line for each requirement
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AtLeast {
    /// MUST
    Must,
    /// What the protocol cannot work without, too
    Essential,
    /// SHOULD, too
    Should,
    /// Every requirement
    Note,
}

impl AtLeast {
    fn weight(self) -> Weight {
        match self {
            AtLeast::Must => Weight::Must,
            AtLeast::Essential => Weight::Essential,
            AtLeast::Should => Weight::Should,
            AtLeast::Note => Weight::Note,
        }
    }
}

impl Coverage {
    pub(super) fn main(self, context: &Context) -> Outcome {
        let version = self.spec.or(Protocol::known().first().copied());
        let version = version.ok_or_else(|| Stop::fault("there is no protocol table"))?;
        let coverage = coverage::Coverage::of(version, &Suite::carried(), &vector::carried());
        context.say(&match self.form {
            Form::Summary => summary(&coverage),
            Form::Matrix => coverage.rows.iter().map(line).collect(),
            Form::Json => coverage.rows.iter().map(object).collect(),
        });
        let missing = self.require.is_some_and(|least| !coverage.open(least.weight()).is_empty());
        Ok(if missing { Code::Failed } else { Code::Ok })
    }
}

fn summary(coverage: &coverage::Coverage) -> String {
    let mut out = format!("{}: {} requirements\n\n", coverage.version.title(), coverage.rows.len());
    let _ = writeln!(
        out,
        "{:<10} {:<8} {:>5} {:>8} {:>9} {:>5}",
        "weight", "binds", "all", "covered", "excluded", "open"
    );
    for ((weight, party), tally) in coverage.tallies() {
        let _ = writeln!(
            out,
            "{:<10} {:<8} {:>5} {:>8} {:>9} {:>5}",
            summary::word(weight),
            party.to_string(),
            tally.all,
            tally.covered,
            tally.excluded,
            tally.open
        );
    }
    let open = coverage.open(Weight::Should);
    if !open.is_empty() {
        let _ = writeln!(out, "\nopen, and more than a note:");
        for row in open {
            let weight = summary::word(row.rule.weight);
            let _ = writeln!(out, "  {:<10} {:<52} {}", weight, row.rule.id, row.rule.statement);
        }
    }
    out
}

fn line(row: &Covered) -> String {
    let mut tests: Vec<String> = row.checks.iter().map(|id| (*id).to_owned()).collect();
    tests.extend(row.scenarios.iter().cloned());
    if row.vectors > 0 {
        tests.push(format!("{} vectors", row.vectors));
    }
    let tests = match row.standing() {
        Standing::Covered => tests.join(", "),
        Standing::Excluded => format!("excluded: {}", row.rule.excluded.unwrap_or_default()),
        Standing::Open => "open".to_owned(),
    };
    let weight = summary::word(row.rule.weight);
    format!("{:<52} {:<10} {:>3} faults  {tests}\n", row.rule.id, weight, row.faults.len())
}

fn object(row: &Covered) -> String {
    let standing = match row.standing() {
        Standing::Covered => "covered",
        Standing::Excluded => "excluded",
        Standing::Open => "open",
    };
    let value = json!({
        "id": row.rule.id,
        "weight": summary::word(row.rule.weight).to_lowercase(),
        "party": row.rule.party.to_string(),
        "standing": standing,
        "checks": row.checks,
        "scenarios": row.scenarios,
        "vectors": row.vectors,
        "faults": row.faults,
        "excluded": row.rule.excluded,
    });
    format!("{value}\n")
}

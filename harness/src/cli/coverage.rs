//! `ahp-harness coverage`: shows which tests each requirement has. With `--foreign`: shows the requirements that cannot
//! be tested on somebody else's host. With `--members`: shows the parts of the protocol tables that occurred in a run.

use std::fmt::Write as _;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use litemap::LiteMap;

use crate::reducers::vector;
use crate::report::coverage::{CoveredRequirement, HostKind, RequirementStanding};
use crate::report::places::ShownPlaces;
use crate::report::{coverage, summary};
use crate::run::suite::ScenarioSuite;
use crate::verdict::Weight;
use crate::wire::json::json;
use crate::wire::places::{PlaceKind, TablePlace};
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::options;

/// Shows which checks, scenarios, vectors and injected faults test each requirement of a version, and which
/// requirements nothing tests. With `--members`: shows which methods, actions, members, enumeration values and variants
/// of the version's tables occurred in a run.
#[derive(Args, Debug)]
pub struct CoverageArguments {
    /// The protocol version [default: the newest version; with `--members` the version of the run; with `--foreign`
    /// every version]
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// What to print
    #[arg(long, value_enum, default_value_t = CoverageForm::Summary)]
    form: CoverageForm,
    /// Exit with 1 if a requirement of at least this weight has no test
    #[arg(long, value_enum, value_name = "WEIGHT")]
    require: Option<AtLeast>,
    /// Show the MUST, essential and SHOULD requirements that cannot be tested on somebody else's host, with the
    /// reasons, even if the host offers every feature and the run has every option
    #[arg(long, conflicts_with_all = ["require", "members"])]
    foreign: bool,
    /// Show which parts of the version's tables occur in this run.jsonl; the exit code is 1 if a part is missing
    /// without a known reason
    #[arg(long, value_name = "FILE", conflicts_with = "require")]
    members: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CoverageForm {
    /// Counts by weight, and the requirements without a test, except notes
    Summary,
    /// One line per requirement
    Matrix,
    /// One JSON object per line and requirement
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AtLeast {
    /// MUST
    Must,
    /// Also rules that the protocol cannot work without
    Essential,
    /// Also SHOULD
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

impl CoverageArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        if let Some(path) = &self.members {
            return self.shown(context, path);
        }
        if self.foreign {
            return self.foreign(context);
        }
        let version = self.spec.unwrap_or(Version::NEWEST);
        let coverage = coverage::LedgerCoverage::of(
            version,
            &ScenarioSuite::all_carried(),
            &vector::carried(),
        );
        context.say(&match self.form {
            CoverageForm::Summary => summary(&coverage),
            CoverageForm::Matrix => coverage.rows.iter().map(line).collect(),
            CoverageForm::Json => coverage.rows.iter().map(object).collect(),
        });
        let missing = self.require.is_some_and(|least| !coverage.open(least.weight()).is_empty());
        Ok(if missing { CommandExit::Failed } else { CommandExit::Ok })
    }
}

impl CoverageArguments {
    fn foreign(&self, context: &CliContext) -> CommandOutcome {
        let versions = match self.spec {
            Some(version) => vec![version],
            None => Version::played().to_vec(),
        };
        let (suite, vectors) = (ScenarioSuite::all_carried(), vector::carried());
        for version in versions {
            let coverage = coverage::LedgerCoverage::of(version, &suite, &vectors);
            let rows = coverage.unreached(Weight::Should);
            context.say(&match self.form {
                CoverageForm::Summary => foreign_summary(&coverage, &rows),
                CoverageForm::Matrix => {
                    rows.iter().map(|(row, why)| foreign_line(row, why)).collect()
                }
                CoverageForm::Json => rows.iter().map(|(row, _)| object(row)).collect(),
            });
        }
        Ok(CommandExit::Ok)
    }

    fn shown(&self, context: &CliContext, path: &Path) -> CommandOutcome {
        let name = path.display();
        let shown = ShownPlaces::read(self.spec, BufReader::new(files::open(path)?))
            .map_err(|error| CommandStop::usage(format!("`{name}`: {error}")))?;
        context.say(&match self.form {
            CoverageForm::Summary => shown_summary(&shown),
            CoverageForm::Matrix => {
                shown.rows().iter().map(|row| format!("{:>7}  {}\n", row.seen, row.name)).collect()
            }
            CoverageForm::Json => {
                let line = |row: &TablePlace| json!({"place": row.name, "seen": row.seen});
                shown.rows().iter().map(|row| format!("{}\n", line(row))).collect()
            }
        });
        let whole = shown.lacking().all(|(_, why)| why.is_some());
        Ok(if whole { CommandExit::Ok } else { CommandExit::Failed })
    }
}

fn foreign_summary(
    coverage: &coverage::LedgerCoverage,
    rows: &[(&CoveredRequirement, &str)],
) -> String {
    let count = |weight| rows.iter().filter(|(row, _)| row.rule.weight == weight).count();
    let mut out = format!(
        "{}: {} MUST, {} essential and {} SHOULD requirements cannot be tested on a foreign host\n",
        coverage.version.title(),
        count(Weight::Must),
        count(Weight::Essential),
        count(Weight::Should)
    );
    for (row, why) in rows {
        let _ = write!(out, "  {}", foreign_line(row, why));
    }
    out.push('\n');
    out
}

fn foreign_line(row: &CoveredRequirement, why: &str) -> String {
    format!("{:<10} {:<52} {why}\n", summary::word(row.rule.weight), row.rule.id)
}

/// Describes which parts of the tables occurred in a run.
pub(super) fn shown_summary(shown: &ShownPlaces) -> String {
    let mut out = format!("{}: {} places\n\n", shown.version().title(), shown.rows().len());
    out.push_str(&tallies(shown));
    let (known, open): (Vec<_>, Vec<_>) = shown.lacking().partition(|(_, why)| why.is_some());
    for (title, rows) in [("never seen", open), ("never seen, with a reason", known)] {
        if !rows.is_empty() {
            let _ = writeln!(out, "\n{title}:");
        }
        for (row, why) in rows {
            let why = why.map(|why| format!("  ({why})")).unwrap_or_default();
            let _ = writeln!(out, "  {}{why}", row.name);
        }
    }
    out
}

/// Describes which parts of the tables occurred with one of several agents, and which parts occurred only with other
/// agents.
pub(super) fn agent_summary(provider: &str, shown: &ShownPlaces, whole: &ShownPlaces) -> String {
    let mut out = format!("\nwith the agent {provider}:\n{}", tallies(shown));
    let rows = shown.rows().iter().zip(whole.rows());
    let elsewhere: Vec<_> = rows.filter(|(row, all)| row.seen == 0 && all.seen > 0).collect();
    if !elsewhere.is_empty() {
        let _ = writeln!(out, "\nseen only with other agents:");
    }
    for (row, _) in elsewhere {
        let _ = writeln!(out, "  {}", row.name);
    }
    out
}

/// Counts, for each kind of place in the protocol tables, all places and the places that occurred.
fn tallies(shown: &ShownPlaces) -> String {
    let mut out = String::new();
    let mut tallies: LiteMap<PlaceKind, (usize, usize)> = LiteMap::new();
    for row in shown.rows() {
        let (all, seen) = tallies.entry(row.kind).or_default();
        *all += 1;
        *seen += usize::from(row.seen > 0);
    }
    let _ = writeln!(out, "{:<30} {:>5} {:>5}", "what the tables name", "all", "seen");
    for (kind, (all, seen)) in &tallies {
        let _ = writeln!(out, "{:<30} {all:>5} {seen:>5}", kind.plural());
    }
    out
}

fn summary(coverage: &coverage::LedgerCoverage) -> String {
    let mut out = format!("{}: {} requirements\n\n", coverage.version.title(), coverage.rows.len());
    let _ = write!(out, "{:<10} {:<8} {:>5} {:>8}", "weight", "binds", "all", "covered");
    for kind in HostKind::ALL {
        let _ = write!(out, " {:>8}", kind.heading());
    }
    let _ = writeln!(out, " {:>9} {:>5}", "excluded", "open");
    for ((weight, party), tally) in coverage.tallies() {
        let _ = write!(
            out,
            "{:<10} {:<8} {:>5} {:>8}",
            summary::word(weight),
            party.to_string(),
            tally.all,
            tally.covered
        );
        for count in tally.reached {
            let _ = write!(out, " {count:>8}");
        }
        let _ = writeln!(out, " {:>9} {:>5}", tally.excluded, tally.open);
    }
    out.push_str(
        "\ncovered: by a check, a scenario or a vector of reducers; anywhere: by a check or a scenario, on the \
         embedded host;\nforeign: on another host that offers everything; no agent, no files: the same host, but \
         without scripts for its agent,\nor without `--files`\n",
    );
    let open = coverage.open(Weight::Should);
    if !open.is_empty() {
        let _ = writeln!(out, "\nopen, and of a higher weight than a note:");
        for row in open {
            let weight = summary::word(row.rule.weight);
            let _ = writeln!(out, "  {:<10} {:<52} {}", weight, row.rule.id, row.rule.statement);
        }
    }
    out
}

fn line(row: &CoveredRequirement) -> String {
    let mut tests: Vec<String> = row.checks.iter().map(|id| (*id).to_owned()).collect();
    tests.extend(row.scenarios.iter().cloned());
    if row.vectors > 0 {
        tests.push(format!("{} vectors", row.vectors));
    }
    let tests = match row.standing() {
        RequirementStanding::Covered => tests.join(", "),
        RequirementStanding::Excluded => {
            format!("excluded: {}", row.rule.excluded.unwrap_or_default())
        }
        RequirementStanding::Open => "open".to_owned(),
    };
    let weight = summary::word(row.rule.weight);
    format!("{:<52} {:<10} {:>3} faults  {tests}\n", row.rule.id, weight, row.faults.len())
}

fn object(row: &CoveredRequirement) -> String {
    let standing = match row.standing() {
        RequirementStanding::Covered => "covered",
        RequirementStanding::Excluded => "excluded",
        RequirementStanding::Open => "open",
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
        "reached": row.reached.iter().map(|kind| kind.key()).collect::<Vec<_>>(),
        "unreached": row.unreached,
    });
    format!("{value}\n")
}

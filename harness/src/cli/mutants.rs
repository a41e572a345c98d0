//! `ahp-harness mutants`: proves that the suite can fail.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::host::fault::{FAULTS, Fault};
use crate::oracle::CHECKS;
use crate::report::summary::word;
use crate::run::mutants::{EXEMPT, Matrix, Outcome as Caught, UNTESTED};
use crate::scenario::source::did_you_mean;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::context::Context;
use super::exit::{Code, Outcome, Stop};
use super::files;
use super::options;

/// Names of one kind that a summary shows; the others are counted.
const SHOWN: usize = 12;
/// Broken rules that a summary shows.
const SHOWN_BROKEN: usize = 40;

/// Plays the suite against the reference host with one planted fault at a time: the kill matrix.
///
/// Each fault has a row that says beforehand which checks and scenarios must trip on it. A fault
/// that its row misses, a check or a scenario that no fault can break, and faults that trip much
/// besides their row, each make the command fail.
#[derive(Args, Debug)]
pub struct Mutants {
    /// Scenario files and folders; the suite that the binary carries unless given
    paths: Vec<PathBuf>,
    /// Play this fault only (repeatable); `ahp-harness list faults` names them
    #[arg(long)]
    fault: Vec<String>,
    /// Speak this protocol version; the newest unless given
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// Print every row with everything that tripped
    #[arg(long)]
    full: bool,
    /// Print rows as source, from what tripped: to begin with, not to end with
    #[arg(long, conflicts_with = "full")]
    write: bool,
}

impl Mutants {
    pub(super) fn main(self, context: &Context) -> Outcome {
        let suite = files::suite(&self.paths)?;
        if !suite.broken.is_empty() {
            context.error(&files::mistakes(context, &suite.broken));
            return Err(Stop::usage("mistakes in scenario files; nothing was played"));
        }
        let newest = Protocol::known().first().copied();
        let version = self.spec.or(newest);
        let version = version.ok_or_else(|| Stop::fault("there are no protocol tables"))?;
        let faults = self.faults()?;
        let began = Instant::now();
        let matrix = Matrix::play(&suite, version, &faults, on_all_cores);
        let took = began.elapsed().as_secs_f64();
        if self.write {
            context.say(&source(&matrix));
            return Ok(Code::Ok);
        }
        let mut out = String::new();
        if self.full {
            full(&matrix, &mut out);
        }
        let broken = matrix.broken(&suite);
        summary(&matrix, took, &mut out);
        for rule in broken.iter().take(SHOWN_BROKEN) {
            let _ = writeln!(out, "    broken: {rule}");
        }
        if let Some(more) = broken.len().checked_sub(SHOWN_BROKEN).filter(|more| *more > 0) {
            let _ = writeln!(out, "    and {more} more (hint: `--full` shows every row)");
        }
        context.say(&out);
        Ok(if broken.is_empty() { Code::Ok } else { Code::Failed })
    }

    fn faults(&self) -> Result<Vec<Fault>, Stop> {
        if self.fault.is_empty() {
            return Ok(FAULTS.iter().map(|row| row.fault).collect());
        }
        let names: Vec<_> = FAULTS.iter().map(|row| row.name).collect();
        let find = |name: &String| {
            Fault::by_name(name).ok_or_else(|| {
                let hint = did_you_mean(name, &names);
                Stop::usage(format!("no fault is called `{name}` (hint: {hint})"))
            })
        };
        self.fault.iter().map(find).collect()
    }
}

/// Does the same work on every core.
fn on_all_cores(work: &(dyn Fn() + Sync)) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
}

/// Every row: what it names, how that ended, and what tripped besides.
fn full(matrix: &Matrix, out: &mut String) {
    for outcome in &matrix.outcomes {
        let verdict = if outcome.is_caught() { "caught" } else { "MISSED" };
        let _ = writeln!(out, "{verdict} {}", outcome.fault.name());
        for name in &outcome.named {
            let how = if outcome.missed.contains(name) {
                "held, and should not have".to_owned()
            } else {
                how(outcome, name)
            };
            let _ = writeln!(out, "       {name:<52} {how}");
        }
        for name in &outcome.collateral {
            let _ = writeln!(out, "     + {name:<52} {}", how(outcome, name));
        }
    }
    out.push('\n');
}

/// How something ended that tripped.
fn how(outcome: &Caught, name: &str) -> String {
    let id = name.strip_prefix(UNTESTED).unwrap_or(name);
    let check = outcome.tripped.checks.get(id).map(|weight| word(*weight));
    let scenario = outcome.tripped.scenarios.get(id).map(|status| status.word());
    check.or(scenario).unwrap_or_default().to_owned()
}

fn summary(matrix: &Matrix, took: f64, out: &mut String) {
    let faults = matrix.outcomes.len();
    let (caught, pure) = (matrix.count(Caught::is_caught), matrix.count(Caught::is_pure));
    let checks = CHECKS.len() - EXEMPT.len();
    let scenarios = matrix.scenarios.len();
    let _ = writeln!(
        out,
        "{faults} faults, {scenarios} scenarios and {checks} checks at protocol {}, in {took:.1} s",
        matrix.version
    );
    let _ = writeln!(out, "    {caught} of {faults} faults are caught by what their row names");
    let unnoticed = matrix.count(|outcome| outcome.tripped.is_empty());
    if unnoticed > 0 {
        let _ = writeln!(out, "    {unnoticed} faults trip nothing at all");
    }
    if matrix.is_whole() {
        let (alive, idle) = (matrix.checks_alive(), matrix.scenarios_alive());
        let _ = writeln!(
            out,
            "    {} of {checks} checks and {} of {scenarios} scenarios are killed by a row{}{}",
            checks - alive.len(),
            scenarios - idle.len(),
            if alive.is_empty() && idle.is_empty() { "" } else { "; not " },
            few(alive.iter().chain(&idle).copied()),
        );
        let grazed = matrix.checks_grazed();
        if !grazed.is_empty() {
            let names = grazed.iter().map(|(check, _)| *check);
            let _ = writeln!(out, "    broken more lightly than they weigh: {}", few(names));
        }
    }
    let _ = writeln!(
        out,
        "    {pure} of {faults} faults ({} %) trip only what their row names",
        pure * 100 / faults.max(1)
    );
}

/// The first few names.
fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Rows as source.
fn source(matrix: &Matrix) -> String {
    let mut out = String::new();
    for outcome in &matrix.outcomes {
        let names: Vec<String> =
            outcome.tripped.names().map(|name| format!("\"{name}\"")).collect();
        let names = names.join(", ");
        let _ = writeln!(out, "    row(Fault::{:?}, &[{names}]),", outcome.fault);
    }
    out
}

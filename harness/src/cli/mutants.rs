//! `ahp-harness mutants`: proves that every check and every scenario can fail.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;

use crate::agent::acp::fault as acp;
use crate::arb::planted::{PlantedEffort, PlantedMeans, PlantedRow, PlantedTable, SoughtFault};
use crate::fault::FaultKind;
use crate::host::fault::HostFault;
use crate::peer::reference::fault as client;
use crate::report::kills;
use crate::report::summary::word;
use crate::run::kills::{KillDepth, KillMatrix, RowOutcome as Caught, UNTESTED};
use crate::run::suite::ScenarioSuite;
use crate::run::{agents, client_mutants, mutants};
use crate::system::thread_time;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::options;
use super::wire_mutants::WireOptions;

/// The maximum number of names of one kind that a summary lists.
const SHOWN: usize = 12;
/// The maximum number of broken rules that a summary lists.
const SHOWN_BROKEN: usize = 40;

/// Plays the suite against the reference host or the reference agent, with one injected fault at a time, and prints
/// which checks and scenarios fail (the kill matrix).
///
/// Each fault has a row that names the checks and scenarios that must fail. The command fails if one of them passes, if
/// a check or a scenario fails with no fault, or if more than a few faults break rules that their rows do not name.
#[derive(Args, Debug)]
pub struct MutantsArguments {
    /// Scenario files and folders [default: the built-in suite]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    on_wire: WireOptions,
    /// Inject only this fault (repeatable); `ahp-harness list faults` lists all names
    #[arg(long)]
    fault: Vec<String>,
    /// Speak this protocol version [default: the newest]
    #[arg(long, value_name = "VERSION", value_parser = options::version, conflicts_with = "acp")]
    spec: Option<Version>,
    /// Inject faults into the reference client, and play the scenarios about clients
    #[arg(long, conflicts_with_all = ["acp", "fuzz"])]
    pub(super) client: bool,
    /// Inject faults into the reference agent, and play the scenarios about agents, or with `--fuzz` generated
    /// conversations
    #[arg(long)]
    acp: bool,
    /// Stop playing a fault as soon as every check and scenario in its row has failed, and ignore other failures
    #[arg(long, conflicts_with_all = ["fuzz", "full", "write", "out"])]
    quick: bool,
    /// Print each fault with all checks and scenarios that failed: `+` marks those that are not in the row, `-` the MUST
    /// and essential rules that were reported broken, and `!` those of them that the fault should not break
    #[arg(long)]
    full: bool,
    /// Print a draft of the rows as source code, made from the checks and scenarios that failed
    #[arg(long, conflicts_with = "full")]
    write: bool,
    /// Let the fuzzer find the faults instead, and print the number of steps until each fault is found and the size of
    /// the smallest reproducer
    #[arg(long, conflicts_with_all = ["full", "write", "paths"])]
    fuzz: bool,
    /// With `--fuzz`: the number of steps of each seed
    #[arg(long, default_value_t = 40_000, requires = "fuzz")]
    steps: u64,
    /// With `--fuzz`: the time limit of each seed and fault, on one core
    #[arg(long, default_value = "60s", value_parser = options::duration, requires = "fuzz")]
    time: Duration,
    /// With `--fuzz`: the number of seeds for each fault
    #[arg(long, default_value_t = 3, requires = "fuzz")]
    seeds: u64,
    /// With `--fuzz`: do not shrink the reproducers
    #[arg(long, requires = "fuzz")]
    no_shrink: bool,
    /// Write the table to this file, as Markdown; `--fuzz` keeps its progress in a `.jsonl` file beside it and continues an
    /// interrupted run
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl MutantsArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let version = self.spec.unwrap_or(Version::NEWEST);
        if self.on_wire.is_wanted() {
            let version = if self.acp { Version::ACP_1 } else { version };
            return self.on_wire.main(context, version, &self.paths, self.out.as_deref());
        }
        let mut suite = files::suite(&self.paths)?;
        suite.entries.retain(|entry| entry.scenario.tested.is_some() == self.client);
        if !suite.broken.is_empty() {
            context.error(&files::mistakes(context, &suite.broken));
            return Err(CommandStop::usage("scenario files have mistakes; no scenario was played"));
        }
        let depth = if self.quick { KillDepth::Caught } else { KillDepth::Whole };
        if self.client {
            let faults: Vec<client::Fault> = self.faults()?;
            let began = Instant::now();
            let matrix = client_mutants::play_all(&suite, version, &faults, depth, on_all_cores);
            return self.matrix_outcome(context, &suite, &matrix, began);
        }
        if self.acp && self.fuzz {
            let faults: Vec<acp::Fault> = self.faults()?;
            return self.fuzzed(context, Version::ACP_1, &faults);
        }
        if self.acp {
            let faults: Vec<acp::Fault> = self.faults()?;
            let began = Instant::now();
            let matrix = agents::play_all(&suite, &faults, depth, on_all_cores);
            return self.matrix_outcome(context, &suite, &matrix, began);
        }
        let faults: Vec<HostFault> = self.faults()?;
        if self.fuzz {
            return self.fuzzed(context, version, &faults);
        }
        let began = Instant::now();
        let matrix = mutants::play_all(&suite, version, &faults, depth, on_all_cores);
        self.matrix_outcome(context, &suite, &matrix, began)
    }

    /// Prints a kill matrix. Returns an exit code that says whether each fault was caught by the checks and scenarios
    /// in its row.
    fn matrix_outcome<F: FaultKind>(
        &self,
        context: &CliContext,
        suite: &ScenarioSuite,
        matrix: &KillMatrix<F>,
        began: Instant,
    ) -> CommandOutcome {
        let took = began.elapsed().as_secs_f64();
        if self.write {
            context.say(&source(matrix));
            return Ok(CommandExit::Ok);
        }
        let mut out = String::new();
        if self.full {
            full(matrix, &mut out);
        }
        let broken = matrix.broken(suite);
        summary(matrix, took, &mut out);
        for rule in broken.iter().take(SHOWN_BROKEN) {
            let _ = writeln!(out, "    broken: {rule}");
        }
        if let Some(more) = broken.len().checked_sub(SHOWN_BROKEN).filter(|more| *more > 0) {
            let _ = writeln!(out, "    and {more} more (hint: `--full` shows every row)");
        }
        context.say(&out);
        if let Some(path) = &self.out {
            written(path, &kills::table(matrix, suite))?;
        }
        Ok(if broken.is_empty() { CommandExit::Ok } else { CommandExit::Failed })
    }

    /// Measures how quickly the fuzzer finds each fault.
    fn fuzzed<F: SoughtFault>(
        &self,
        context: &CliContext,
        version: Version,
        faults: &[F],
    ) -> CommandOutcome {
        let MutantsArguments { steps, time, seeds, .. } = *self;
        let effort = PlantedEffort { steps, time, seeds, shrinks: !self.no_shrink };
        let kept = self.out.as_ref().map(|path| path.with_extension("jsonl"));
        let known =
            kept.as_ref().map_or(Ok(Vec::new()), |path| kept_rows(path, version, effort))?;
        let file = Mutex::new(kept.map(|path| files::append(&path)).transpose()?);
        let keep = |row: &PlantedRow<F>| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(file) = file.as_mut() {
                // A write error is ignored: the fault of this row is then played again in the next run.
                let _ = writeln!(file, "{}", row.value().to_text());
            }
        };
        let means = PlantedMeans { clock: &thread_time, share: &on_all_cores, keep: &keep };
        let table = PlantedTable::play(version, faults, effort, known, &means);
        let text = fuzz_table(&table);
        context.say(&text);
        if let Some(path) = &self.out {
            written(path, &text)?;
        }
        let enough = table.found_percent() >= ENOUGH;
        Ok(if enough { CommandExit::Ok } else { CommandExit::Failed })
    }

    fn faults<F: FaultKind>(&self) -> Result<Vec<F>, CommandStop> {
        if self.fault.is_empty() {
            return Ok(F::ALL.iter().map(|row| row.fault).collect());
        }
        let find = |name: &String| options::fault(name).map_err(CommandStop::usage);
        self.fault.iter().map(find).collect()
    }
}

pub(super) fn written(path: &Path, text: &str) -> Result<(), CommandStop> {
    files::write(path, text)
}

/// The minimum percentage of faults that the fuzzer has to find.
const ENOUGH: usize = 90;

/// Reads the rows that an earlier run with the same settings has saved in this file. Makes the file if it does not
/// exist.
fn kept_rows<F: SoughtFault>(
    path: &Path,
    version: Version,
    effort: PlantedEffort,
) -> Result<Vec<PlantedRow<F>>, CommandStop> {
    let PlantedEffort { steps, time, seeds, shrinks } = effort;
    let head = json!({
        "planted": 1, "version": version.to_string(), "steps": steps, "time": time.as_secs(),
        "seeds": seeds, "shrinks": shrinks,
    });
    if !path.exists() {
        files::write(path, format!("{}\n", head.to_text()))?;
        return Ok(Vec::new());
    }
    let text = files::text(path)?;
    let mut lines = text.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
    if lines.next() != Some(head) {
        return Err(CommandStop::usage(format!(
            "`{}` belongs to a run with other settings (hint: choose another `--out`, or delete the file)",
            path.display()
        )));
    }
    Ok(lines.filter_map(|line| PlantedRow::of(&line)).collect())
}

/// Formats the results of the fuzzer for each fault as a Markdown table.
fn fuzz_table<F: SoughtFault>(table: &PlantedTable<F>) -> String {
    let mut out = String::new();
    let PlantedEffort { steps, seeds, .. } = table.effort;
    let sought = table.sought().count();
    let found = table.sought().filter(|row| row.steps().is_some()).count();
    let spec = match F::IS_OF_AGENTS {
        true => "--acp".to_owned(),
        false => format!("--spec {}", table.version),
    };
    let _ = writeln!(
        out,
        "# Injected faults, found by generated conversations\n\n`ahp-harness mutants --fuzz {spec} --steps {steps} \
         --seeds {seeds}`: {found} of {sought} faults were found with most of the seeds ({} %). The longest successful search took \
         {:.0} s on one core, including the time to generate conversations.",
        table.found_percent(),
        table.longest().as_secs_f64()
    );
    if let Some(more) = table.median_more() {
        let more = match more {
            0 => "as many steps as".to_owned(),
            more if more < 0 => format!("{} steps fewer than", -more),
            more => format!("{more} steps more than"),
        };
        let _ = writeln!(
            out,
            "The median shrunk reproducer has {more} the smallest hand-written scenario that detects the \
             fault."
        );
    }
    let all = F::ALL.len();
    if table.rows.len() < all {
        let _ = writeln!(out, "The table has {} of the {all} injected faults.", table.rows.len());
    }
    let _ = writeln!(
        out,
        "\n| fault | steps until found (median) | seeds that found it | broken rule | steps of the reproducer | steps of the smallest scenario |\n\
         |---|---|---|---|---|---|"
    );
    for row in &table.rows {
        let hits: Vec<_> = row.hits.iter().flatten().collect();
        let steps = match (row.unseen, row.steps()) {
            (Some(why), _) => format!("not searched for: {why}"),
            (None, Some(steps)) => steps.to_string(),
            (None, None) => "not found".to_owned(),
        };
        let rule = hits.first().map_or("", |hit| hit.rule.as_str());
        let small = row.small.map_or(String::new(), |steps| steps.to_string());
        let hand =
            row.by_hand.as_ref().map_or(String::new(), |(id, steps)| format!("{steps} ({id})"));
        let of = row.hits.len();
        let _ = writeln!(
            out,
            "| {} | {steps} | {} of {of} | {rule} | {small} | {hand} |",
            row.fault.word(),
            hits.len()
        );
    }
    out
}

/// Calls `work` on every core.
pub(super) fn on_all_cores(work: &(dyn Fn() + Sync)) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
}

/// Lists every row: the names in the row, the results, and the other rules and scenarios that failed.
fn full<F: FaultKind>(matrix: &KillMatrix<F>, out: &mut String) {
    for outcome in &matrix.outcomes {
        let verdict = match (outcome.foreign, outcome.is_caught(), outcome.named.is_empty()) {
            (true, ..) => "not applicable",
            (false, true, _) => "caught",
            (false, false, false) => "MISSED",
            (false, false, true) => "NO ROW",
        };
        let _ = writeln!(out, "{verdict} {}", outcome.fault.word());
        for name in &outcome.named {
            let how = if outcome.held.contains(name) && !outcome.foreign {
                match outcome.missed.contains(name) {
                    true => "held, but should fail".to_owned(),
                    false => "held".to_owned(),
                }
            } else {
                how(outcome, name)
            };
            let _ = writeln!(out, "       {name:<52} {how}");
        }
        for name in &outcome.collateral {
            let _ = writeln!(out, "     + {name:<52} {}", how(outcome, name));
        }
        for (rule, first) in outcome.tripped.accused.iter() {
            let sign = if outcome.wrongly_accused.contains(rule) { '!' } else { '-' };
            let _ = writeln!(out, "     {sign} {rule:<52} {}: {}", first.scenario, first.message);
        }
    }
    out.push('\n');
}

/// Describes how a rule or scenario failed.
fn how<F: FaultKind>(outcome: &Caught<F>, name: &str) -> String {
    let id = name.strip_prefix(UNTESTED).unwrap_or(name);
    let check = outcome.tripped.checks.get(id).map(|weight| word(*weight));
    let scenario = outcome.tripped.scenarios.get(id).map(|status| status.word());
    check.or(scenario).unwrap_or_default().to_owned()
}

fn summary<F: FaultKind>(matrix: &KillMatrix<F>, took: f64, out: &mut String) {
    let faults = matrix.count(|outcome| !outcome.foreign);
    let foreign = matrix.outcomes.len() - faults;
    let (caught, pure) = (matrix.count(Caught::is_caught), matrix.count(Caught::is_pure));
    let checks = matrix.table.killable().count();
    let scenarios = matrix.scenarios.len();
    let _ = writeln!(
        out,
        "{faults} faults, {scenarios} scenarios and {checks} checks at protocol {}, in {took:.1} s",
        matrix.table.version
    );
    let _ = writeln!(
        out,
        "    {caught} of {faults} faults make every check and scenario of their row fail"
    );
    if foreign > 0 {
        let _ = writeln!(
            out,
            "    {foreign} more faults are about features that this version does not have"
        );
    }
    let unnoticed = matrix.count(|outcome| !outcome.foreign && outcome.tripped.is_empty());
    if unnoticed > 0 {
        let _ = writeln!(out, "    {unnoticed} faults are detected by no check and no scenario");
    }
    if matrix.is_whole() {
        let (alive, idle) = (matrix.checks_alive(), matrix.scenarios_alive());
        let _ = writeln!(
            out,
            "    {} of {checks} checks and {} of {scenarios} scenarios fail under a fault whose row names them{}{}",
            checks - alive.len(),
            scenarios - idle.len(),
            if alive.is_empty() && idle.is_empty() { "" } else { "; not " },
            few(alive.iter().chain(&idle).copied()),
        );
        let grazed = matrix.checks_grazed();
        if !grazed.is_empty() && matrix.table.depth == KillDepth::Whole {
            let names = grazed.iter().map(|(check, _)| *check);
            let _ = writeln!(
                out,
                "    checks that fail only with less than their own weight: {}",
                few(names)
            );
        }
    }
    if matrix.table.depth == KillDepth::Whole {
        let _ = writeln!(
            out,
            "    {pure} of {faults} faults ({} %) are caught, and only break MUST and essential rules that their row or \
             `broken.json` names",
            pure * 100 / faults.max(1)
        );
    }
}

/// Lists the first few names.
fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Formats the rows of a kill matrix as source code.
fn source<F: FaultKind>(matrix: &KillMatrix<F>) -> String {
    let mut out = String::new();
    for outcome in &matrix.outcomes {
        let names: Vec<String> =
            outcome.tripped.names().map(|name| format!("\"{name}\"")).collect();
        let names = names.join(", ");
        let _ = writeln!(out, "    row({}, &[{names}]),", outcome.fault.constant());
    }
    out
}

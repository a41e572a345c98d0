//! `ahp-harness variants`: proves that no rule is reported as broken for a legal host.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::agent::mode::AgentMode;
use crate::arb::conditions::PlayConditions;
use crate::arb::draft::ScenarioDraft;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::expectation;
use crate::arb::generate::ConversationGenerator;
use crate::arb::generated_sequence::GeneratedSequence;
use crate::dice::Dice;
use crate::host::variant::{VARIANTS, VariantHost, VariantRow};
use crate::run::play::ScenarioPlay;
use crate::run::suite::ScenarioSuite;
use crate::run::variants::{VariantPlayer, VariantResult, VariantTrial};
use crate::scenario::source::did_you_mean;
use crate::wire::version::Version;

use super::agent_variants::AgentTrials;
use super::context::{CliContext, wall_clock};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::mutants::on_all_cores;
use super::options;
use super::place::PlayPlace;
use super::variant_report::{matrix, told};
use super::variant_sets::combination;

/// Plays the suite against the reference host, or with `--acp` against the reference agent, with one legal variant at a
/// time. No rule may be reported as broken.
///
/// A variant is a choice that the specification leaves to a host or an agent. `ahp-harness list variants` names them, and
/// `ahp-harness explain NAME` shows the text that permits a variant. The command fails if a rule with the weight of a
/// SHOULD or more is reported as broken under a variant. With `--variant`, it also fails if the variants change no frame
/// of any scenario, because nothing was tested then.
#[derive(Args, Debug)]
pub struct VariantsArguments {
    /// Scenario files and folders [default: the built-in suite]
    paths: Vec<PathBuf>,
    /// Play only this variant (repeatable; several variants are combined in one host)
    #[arg(long)]
    variant: Vec<String>,
    /// Speak this protocol version (repeatable) [default: the newest]
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Vec<Version>,
    /// Also play this many random combinations of two to eight variants
    #[arg(long, default_value_t = 0)]
    random: usize,
    /// Play only every N-th scenario with each single variant; each variant gets different scenarios
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parts)]
    part: usize,
    /// Play only every N-th scenario with each combination; each combination gets different scenarios
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = parts)]
    random_part: usize,
    /// Also play this many generated conversations with each variant and combination, in the same way as `fuzz` plays
    /// them against an external host
    #[arg(long, value_name = "N", default_value_t = 0)]
    fuzz: u64,
    /// Write each generated conversation with a false finding to this folder, as a scenario file
    #[arg(long, value_name = "FOLDER", requires = "fuzz")]
    keep: Option<PathBuf>,
    /// Play over sockets, each scenario on a separate loopback port
    #[arg(long)]
    loopback: bool,
    /// Test legal variants of the reference agent instead, with the scenarios for agents
    #[arg(long, conflicts_with_all = ["spec", "fuzz", "loopback"])]
    acp: bool,
}

fn parts(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number above 0".to_owned())
}

/// A host with some variants, and the part of the suite that is played with this host.
struct VariantSet {
    version: Version,
    rows: Vec<&'static VariantRow>,
    /// The number N: every N-th scenario is played.
    part: usize,
}

/// The number of scenarios per core that wait for sockets at the same time.
const WAITING: usize = 6;
/// The time limit of a wait over a socket.
const SOCKET_LIMIT: Duration = Duration::from_secs(5);

impl VariantsArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let mut suite = files::suite(&self.paths)?;
        // A client under test would need a driver.
        suite.entries.retain(|entry| entry.scenario.tested.is_none());
        if !suite.broken.is_empty() {
            context.error(&files::mistakes(context, &suite.broken));
            return Err(CommandStop::usage("scenario files have mistakes; no scenario was played"));
        }
        if self.acp {
            let (variants, parts) = (self.variant.as_slice(), (self.part, self.random_part));
            return AgentTrials { suite: &suite, variants, random: self.random, parts }
                .main(context);
        }
        let versions = if self.spec.is_empty() { vec![Version::NEWEST] } else { self.spec.clone() };
        self.known_at(&versions)?;
        if let Some(folder) = &self.keep {
            fs::create_dir_all(folder).map_err(|error| files::unwritable(folder, &error))?;
        }
        let mut sets = Vec::new();
        for version in &versions {
            sets.extend(self.sets(*version, context.seed)?);
        }
        let began = Instant::now();
        let results = self.play(&suite, &sets)?;
        let mut out = String::new();
        results.iter().zip(&sets).for_each(|(result, set)| told(result, set.version, &mut out));
        matrix(&results, &mut out);
        let accused = results.iter().filter(|result| !result.accused.is_empty()).count();
        let idle = results.iter().filter(|result| result.is_idle()).count();
        if idle > 0 {
            let _ = writeln!(
                out,
                "expected `{}` to change a frame of some scenario or to hide a capability, found no change, so nothing was \
                 tested (hint: play the whole suite, or correct the implementation of the variant)",
                self.variant.join("+")
            );
        }
        let versions = Version::listed(&versions);
        let _ = writeln!(
            out,
            "{} variants and combinations at protocol {}, {} scenario runs and {} generated conversations, in {:.1} s: \
             {} without a false finding, {accused} with one",
            results.len(),
            versions,
            results.iter().map(|result| result.played).sum::<usize>(),
            results.iter().map(|result| result.drawn).sum::<usize>(),
            began.elapsed().as_secs_f64(),
            results.len() - accused
        );
        context.say(&out);
        Ok(if accused + idle == 0 { CommandExit::Ok } else { CommandExit::Failed })
    }

    /// Returns an error if a variant that the user named does not exist at one of the versions.
    fn known_at(&self, versions: &[Version]) -> Result<(), CommandStop> {
        for row in named(&self.variant)? {
            if let Some(older) = versions.iter().find(|version| **version < row.since) {
                return Err(CommandStop::usage(format!(
                    "the variant `{}` exists since {}, and cannot be played at {older} (hint: `--spec {}`)",
                    row.name, row.since, row.since
                )));
            }
        }
        Ok(())
    }

    /// Returns the sets of variants to play at a version. Each set is played on one host.
    fn sets(&self, version: Version, seed: u64) -> Result<Vec<VariantSet>, CommandStop> {
        let set = |rows, part| VariantSet { version, rows, part };
        if !self.variant.is_empty() {
            return Ok(vec![set(named(&self.variant)?, self.part)]);
        }
        let all: Vec<_> = VARIANTS.iter().filter(|row| row.since <= version).collect();
        let mut sets: Vec<_> = all.iter().map(|row| set(vec![*row], self.part)).collect();
        let mut dice = Dice::seeded(seed);
        for _ in 0..self.random {
            let rows = combination(&mut dice, &all, |row, other| row.name == other.name);
            sets.push(set(rows, self.random_part));
        }
        Ok(sets)
    }

    /// Plays all sets on all cores. The results are in the order of the sets.
    fn play(
        &self,
        suite: &ScenarioSuite,
        sets: &[VariantSet],
    ) -> Result<Vec<VariantResult>, CommandStop> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let work = |player: VariantPlayer<'_>| {
            while let Some((place, set)) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                sets.get(place).map(|set| (place, set))
            } {
                let result = self.play_set(suite, place, set, player);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
            }
        };
        if self.loopback {
            std::thread::scope(|scope| {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                (0..cores * WAITING).for_each(|_| drop(scope.spawn(|| over_sockets(&work))));
            });
        } else {
            on_all_cores(&|| work(VariantPlayer::in_memory()));
        }
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if results.len() < sets.len() {
            return Err(CommandStop::fault("no runtime for sockets could be started"));
        }
        results.sort_by_key(|(place, _)| *place);
        let results: Result<_, io::Error> = results.into_iter().map(|(_, result)| result).collect();
        results.map_err(|error| {
            CommandStop::fault(format!("a set of variants could not be played: {error}"))
        })
    }

    fn play_set(
        &self,
        suite: &ScenarioSuite,
        place: usize,
        set: &VariantSet,
        player: VariantPlayer<'_>,
    ) -> io::Result<VariantResult> {
        let mut trial = VariantTrial::begin(set.version, &set.rows, player)?;
        if !self.variant.is_empty() && !self.loopback {
            trial.compare()?;
        }
        trial.play_suite(suite, |scenario| scenario % set.part == place % set.part)?;
        let seed = place as u64;
        let generator = ConversationGenerator::new(set.version, seed, PlayConditions::FOREIGN);
        let generator = generator.offering(trial.detected());
        let honest = EmbeddedGround::of(set.version, AgentMode::Host, &[]);
        let mut unmet = BTreeSet::new();
        for number in 0..self.fuzz {
            let Some(GeneratedSequence { mut draft, .. }) = generator.sequence(number) else {
                continue;
            };
            if !honest.found(&draft).is_empty() {
                continue;
            }
            expectation::fit(&mut draft, &unmet);
            if let Ok(scenario) = draft.scenario() {
                let (verdict, accuses) = trial.play_drawn(scenario)?;
                if accuses {
                    self.keep(set, &draft)?;
                }
                unmet.extend(expectation::missed(&draft, &verdict));
            }
        }
        Ok(trial.end())
    }

    /// Writes a generated conversation with a false finding, with the command that plays it again.
    fn keep(&self, set: &VariantSet, draft: &ScenarioDraft) -> io::Result<()> {
        let Some(folder) = &self.keep else { return Ok(()) };
        let path = folder.join(format!("{}-{}.yaml", set.version, draft.id.replace('/', "-")));
        let variants: String =
            set.rows.iter().map(|row| format!("--variant {} ", row.name)).collect();
        let again =
            format!("# ahp-harness variants --spec {} {variants}{}", set.version, path.display());
        files::write(&path, format!("{again}\n{}", draft.text()))
            .map_err(|stop| io::Error::other(stop.message))
    }
}

/// Looks up variants by name.
///
/// # Errors
/// Returns an error with the unknown name and the most similar known name.
pub(super) fn named(names: &[String]) -> Result<Vec<&'static VariantRow>, CommandStop> {
    let known: Vec<_> = VARIANTS.iter().map(|row| row.name).collect();
    let find = |name: &String| {
        VariantRow::named(name).ok_or_else(|| {
            let hint = did_you_mean(name, &known);
            CommandStop::usage(format!("no variant is called `{name}` (hint: {hint})"))
        })
    };
    names.iter().map(find).collect()
}

/// Calls `work` with a player that plays scenarios over sockets, with hosts that listen on loopback ports. Does nothing
/// if no runtime can be started.
fn over_sockets(work: &dyn Fn(VariantPlayer<'_>)) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    // No signal stops the player early.
    let (_keep, stop) = watch::channel(false);
    let play = |play: ScenarioPlay, host: VariantHost| {
        runtime.block_on(async {
            Ok(PlayPlace::own(Box::new(host)).await?.play(play, stop.clone()).await)
        })
    };
    let epoch = wall_clock();
    work(VariantPlayer { epoch, limit: SOCKET_LIMIT, play: &play });
}

//! `ahp-harness agent check`: plays the test vectors of AGENT_CONTRACT.md against the test provider of a host.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;

use crate::agent::mode::AgentMode;
use crate::host::engine::{HostConfig, RefHost};
use crate::run::contract::{ContractVector, StepResult, VectorStep, vectors};
use crate::run::detect::{self, DetectionResult, LookOptions};
use crate::run::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict};
use crate::run::probe::probe;
use crate::run::setup::CaseSetup;
use crate::run::sim;
use crate::run::suite::SuiteEntry;
use crate::run::words;
use crate::wire::version::Version;

use super::aim::RunAim;
use super::context::{CliContext, wall_clock};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::interrupt::{TimeBudget, ended_by, in_time, interrupts};
use super::options;
use super::place::PlayPlace;
use super::play_target::PlayTarget;
use super::target::scheme;

/// Plays the test vectors of the contract for test providers (AGENT_CONTRACT.md) against a host, and reports for each
/// step of a script whether the provider does what this step requires.
///
/// A failure is a mistake of the test provider. Without this check, scenarios of the profile `agent` would report it as
/// a mistake of the host. Without a target, the command tests the embedded reference host.
#[derive(Args, Debug)]
pub(super) struct AgentCheck {
    #[command(flatten)]
    aim: RunAim,
    /// Speak only this protocol version [default: the host chooses among all versions]
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// The time limit of each wait
    #[arg(long, default_value = "2s", value_parser = options::duration)]
    timeout: Duration,
    /// End the check after this time
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = options::duration)]
    budget: Duration,
    /// Print only the vectors that fail
    #[arg(long, short)]
    quiet: bool,
}

/// The number of vectors with each result.
#[derive(Default)]
struct VectorTally {
    held: usize,
    broken: usize,
    untested: usize,
    skipped: usize,
}

impl AgentCheck {
    /// Returns whether the command starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        self.aim.starts_processes()
    }

    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        if self.aim.is_outside() {
            context.error(&format!("ends after {:?} at the latest (`--budget`)\n", self.budget));
        }
        let budget = TimeBudget::begin(self.budget);
        in_time(Some(budget), self.checked(context, budget))
    }

    async fn checked(self, context: &CliContext, budget: TimeBudget) -> CommandOutcome {
        if self.aim.agent() != AgentMode::Host {
            return Err(CommandStop::usage(
                "expected a host with a test provider of its own, found `--agent-model` or \
                 `--agent-acp` (hint: these options replace the host's test provider by one of the \
                 harness)",
            ));
        }
        let target = self.aim.one_provider()?.configured_target(context, self.spec).await?;
        let outcome = self.played(context, &target, budget).await;
        if let PlayTarget::Remote(remote, _) = &target {
            remote.stop().await;
        }
        outcome
    }

    async fn played(
        &self,
        context: &CliContext,
        target: &PlayTarget,
        budget: TimeBudget,
    ) -> CommandOutcome {
        let stop = ended_by(interrupts(), Some(budget));
        let found = self.look(context, target).await?;
        let version = found.version.or(self.spec).unwrap_or(Version::NEWEST);
        let provider = self.aim.named_provider();
        let provider = provider.or_else(|| scheme(version, &found)).or(found.chosen.clone());
        let named = provider.as_ref().map(|it| format!(", provider {it}")).unwrap_or_default();
        let vectors = vectors();
        let host = found.name.unwrap_or_else(|| "the host".to_owned());
        let count = vectors.len();
        context.say(&format!("{count} vectors, {}, {host}{named}\n", version.title()));
        let mut tally = VectorTally::default();
        for vector in &vectors {
            if *stop.borrow() {
                tally.untested += 1;
                continue;
            }
            let entry = vector.entry().map_err(CommandStop::fault)?;
            if let Some(what) = words::lacks(&entry.scenario, version) {
                tally.skipped += 1;
                if !self.quiet {
                    context
                        .say(&format!("skip {}: protocol {version} has no {what}\n", vector.name));
                }
                continue;
            }
            let scenario = Arc::clone(&entry.scenario);
            let setup = CaseSetup {
                name: vector.name.clone(),
                authenticate: self.aim.authenticate.clone(),
                secrets: self.aim.secrets().collect(),
                provider: provider.clone(),
                ..CaseSetup::of(&scenario, version, context.seed, wall_clock(), self.timeout)
            };
            let shared = matches!(target, PlayTarget::Remote(..));
            let play = ScenarioPlay::new(setup, shared, Box::new(CountingRecorder::default()));
            let verdict = self.play(target, &entry, play, version, &stop).await?;
            let text = tally.add(vector, &verdict);
            let held = vector.results(&verdict).iter().all(StepResult::is_well);
            if !(held && self.quiet) {
                context.say(&text);
            }
        }
        context.say(&format!("\n{}\n", tally.words()));
        Ok(if tally.broken + tally.untested == 0 && tally.held > 0 {
            CommandExit::Ok
        } else {
            CommandExit::Failed
        })
    }

    async fn look(
        &self,
        context: &CliContext,
        target: &PlayTarget,
    ) -> Result<DetectionResult, CommandStop> {
        let PlayTarget::Remote(remote, _) = target else { return Ok(DetectionResult::default()) };
        let offers: Vec<Version> = match self.spec {
            Some(version) => vec![version],
            None => Version::offered().to_vec(),
        };
        let (named, trials) = (self.aim.named_provider(), detect::trials(context.seed));
        let options = LookOptions {
            provider: named.as_deref(),
            tokens: &self.aim.authenticate,
            trials: &trials,
            ..LookOptions::offering(&offers)
        };
        let found = probe(&remote.endpoint, &remote.shown(), options, self.timeout).await;
        found.map_err(CommandStop::unreachable)
    }

    async fn play(
        &self,
        target: &PlayTarget,
        entry: &SuiteEntry,
        play: ScenarioPlay,
        version: Version,
        stop: &watch::Receiver<bool>,
    ) -> Result<ScenarioVerdict, CommandStop> {
        let config = || sim::speaking(HostConfig::default(), version);
        let place = match target {
            PlayTarget::Remote(remote, behind) => {
                let name = entry.scenario.id.clone();
                PlayPlace::Remote(Arc::clone(remote), Arc::clone(behind), name)
            }
            PlayTarget::Loopback => PlayPlace::own(Box::new(RefHost::new(config())))
                .await
                .map_err(CommandStop::fault)?,
            PlayTarget::Embedded | PlayTarget::Agents(_) | PlayTarget::Clients(_) => {
                return Ok(sim::play(play, &mut RefHost::new(config())));
            }
        };
        Ok(place.play(play, stop.clone()).await)
    }
}

impl VectorTally {
    /// Counts a vector, and prints the result of each step of the vector.
    fn add(&mut self, vector: &ContractVector, verdict: &ScenarioVerdict) -> String {
        let results = vector.results(verdict);
        let is_broken = |result: &StepResult| matches!(result, StepResult::Broken(_));
        let (count, word) = match () {
            () if results.iter().any(is_broken) => (&mut self.broken, "FAIL"),
            () if results.iter().all(StepResult::is_well) => (&mut self.held, "pass"),
            () => (&mut self.untested, "untested"),
        };
        *count += 1;
        let mut text = format!("{word} {}\n", vector.name);
        for line in &vector.script {
            let _ = writeln!(text, "       | {line}");
        }
        for (step, result) in vector.steps.iter().zip(&results) {
            let what = match step {
                VectorStep::In(action) => format!("the client dispatches {action}"),
                VectorStep::Out(action) => action.clone(),
                VectorStep::End => "no further steps".to_owned(),
            };
            let line = match result {
                StepResult::Held => format!("pass   {what}"),
                StepResult::Done => format!("       {what}"),
                StepResult::Broken(why) => format!("FAIL   {what}: {why}"),
                StepResult::Untested(why) if why.is_empty() => {
                    format!("-      {what}: not checked")
                }
                StepResult::Untested(why) => format!("-      {what}: not checked: {why}"),
            };
            let _ = writeln!(text, "  {line}");
        }
        text
    }

    fn words(&self) -> String {
        let mut text = format!("{} vectors held, {} did not", self.held, self.broken);
        if self.untested > 0 {
            let _ = write!(
                text,
                ", {} could not be played because of the host (hint: `run --profile core` shows what is wrong)",
                self.untested
            );
        }
        if self.skipped > 0 {
            let _ = write!(text, ", {} are of other versions", self.skipped);
        }
        text
    }
}

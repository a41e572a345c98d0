//! `ahp-harness agent check`: the vectors of the contract, played against the test provider of a host.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::agent::mode::Mode;
use crate::host::engine::{Config, RefHost};
use crate::run::case::Setup;
use crate::run::contract::{StepResult, Vector, VectorStep, vectors};
use crate::run::detect::{self, Found, LookOptions};
use crate::run::play::{Counting, Play, Verdict};
use crate::run::probe::probe;
use crate::run::sim;
use crate::run::suite::Entry;
use crate::run::words;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::aim::{Aim, Target};
use super::context::{Context, wall_clock};
use super::exit::{Code, Outcome, Stop};
use super::interrupt::interrupts;
use super::options;
use super::place::Place;
use super::target::scheme;

/// Plays the vectors of the contract for test providers (AGENT_CONTRACT.md) against a host, and says of each step whether the
/// provider does what the script says.
///
/// What fails here is the provider's mistake, which scenarios of the profile `agent` would charge to the host. Without a
/// target the embedded reference host is played.
#[derive(Args, Debug)]
pub(super) struct AgentCheck {
    #[command(flatten)]
    aim: Aim,
    /// Speak this protocol version; the host chooses among all unless given
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// How long each wait may take
    #[arg(long, default_value = "2s", value_parser = options::duration)]
    timeout: Duration,
    /// Say nothing about vectors that hold
    #[arg(long, short)]
    quiet: bool,
}

/// How many vectors ended how.
#[derive(Default)]
struct Tally {
    held: usize,
    broken: usize,
    untested: usize,
    skipped: usize,
}

impl AgentCheck {
    pub(super) async fn main(self, context: &Context) -> Outcome {
        if self.aim.agent() != Mode::Host {
            return Err(Stop::usage(
                "expected a host with a test provider of its own, found `--agent-model` or `--agent-acp` (hint: what these play \
                 is the harness's own)",
            ));
        }
        let target = self.aim.one_provider()?.configured_target(context, self.spec).await?;
        let outcome = self.played(context, &target).await;
        if let Target::Remote(remote, _) = &target {
            remote.stop().await;
        }
        outcome
    }

    async fn played(&self, context: &Context, target: &Target) -> Outcome {
        let found = self.look(context, target).await?;
        let newest = Protocol::known().first().copied();
        let version = found.version.or(self.spec).or(newest);
        let version = version.ok_or_else(|| Stop::fault("there are no protocol tables"))?;
        let provider = self.aim.named_provider();
        let provider = provider.or_else(|| scheme(version, &found)).or(found.chosen.clone());
        let named = provider.as_ref().map(|it| format!(", provider {it}")).unwrap_or_default();
        let vectors = vectors().map_err(Stop::fault)?;
        let host = found.name.unwrap_or_else(|| "the host".to_owned());
        let count = vectors.len();
        context.say(&format!("{count} vectors, {}, {host}{named}\n", version.title()));
        let mut tally = Tally::default();
        for vector in &vectors {
            let entry = vector.entry().map_err(Stop::fault)?;
            if let Some(what) = words::lacks(&entry.scenario, version) {
                tally.skipped += 1;
                if !self.quiet {
                    context
                        .say(&format!("skip {}: protocol {version} has no {what}\n", vector.name));
                }
                continue;
            }
            let scenario = Arc::clone(&entry.scenario);
            let setup = Setup {
                name: vector.name.clone(),
                authenticate: self.aim.authenticate.clone(),
                secrets: self.aim.secrets().collect(),
                provider: provider.clone(),
                ..Setup::of(&scenario, version, context.seed, wall_clock(), self.timeout)
            };
            let shared = matches!(target, Target::Remote(..));
            let play = Play::new(setup, shared, Box::new(Counting::default()));
            let verdict = self.play(target, &entry, play, version).await?;
            let text = tally.add(vector, &verdict);
            let held = vector.results(&verdict).iter().all(StepResult::is_well);
            if !(held && self.quiet) {
                context.say(&text);
            }
        }
        context.say(&format!("\n{}\n", tally.words()));
        Ok(if tally.broken + tally.untested == 0 && tally.held > 0 {
            Code::Ok
        } else {
            Code::Failed
        })
    }

    async fn look(&self, context: &Context, target: &Target) -> Result<Found, Stop> {
        let Target::Remote(remote, _) = target else { return Ok(Found::default()) };
        let offers: Vec<String> = match self.spec {
            Some(version) => vec![version.to_string()],
            None => Protocol::known().iter().map(Version::to_string).collect(),
        };
        let (named, trials) = (self.aim.named_provider(), detect::trials(context.seed));
        let options = LookOptions {
            provider: named.as_deref(),
            tokens: &self.aim.authenticate,
            trials: &trials,
            ..LookOptions::offering(&offers)
        };
        let found = probe(&remote.endpoint, &remote.shown(), options, self.timeout).await;
        found.map_err(Stop::unreachable)
    }

    async fn play(
        &self,
        target: &Target,
        entry: &Entry,
        play: Play,
        version: Version,
    ) -> Result<Verdict, Stop> {
        let config = || sim::speaking(Config::default(), version);
        let place = match target {
            Target::Remote(remote, behind) => {
                let name = entry.scenario.id.clone();
                Place::Remote(Arc::clone(remote), Arc::clone(behind), name)
            }
            Target::Loopback => {
                Place::own(Box::new(RefHost::new(config()))).await.map_err(Stop::fault)?
            }
            Target::Embedded | Target::Agents(_) => {
                return Ok(sim::play(play, &mut RefHost::new(config())));
            }
        };
        Ok(place.play(play, interrupts()).await)
    }
}

impl Tally {
    /// Counts a vector, and says how its steps ended.
    fn add(&mut self, vector: &Vector, verdict: &Verdict) -> String {
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
                VectorStep::End => "nothing more is said".to_owned(),
            };
            let line = match result {
                StepResult::Held => format!("pass   {what}"),
                StepResult::Done => format!("       {what}"),
                StepResult::Broken(why) => format!("FAIL   {what}: {why}"),
                StepResult::Untested(why) if why.is_empty() => {
                    format!("-      {what}: not looked at")
                }
                StepResult::Untested(why) => format!("-      {what}: not looked at: {why}"),
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
                ", {} could not be played: that is the host's affair (hint: `run --profile core` says what is wrong)",
                self.untested
            );
        }
        if self.skipped > 0 {
            let _ = write!(text, ", {} are of other versions", self.skipped);
        }
        text
    }
}

//! Where the conversations of a campaign are played: the target, with what they are played with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::agent::mode::Mode;
use crate::arb::draft::Draft;
use crate::arb::embedded::Ground;
use crate::arb::finding::{Finding, findings};
use crate::arb::gauge::Gauge;
use crate::arb::shrink::Shows;
use crate::host::engine::{Config, RefHost};
use crate::host::fault::Fault;
use crate::run::case::Setup;
use crate::run::play::{Play, Verdict};
use crate::run::sim;
use crate::wire::version::Version;

use super::aim::Target;
use super::context::Context;
use super::fuzz::Fuzz;
use super::interrupt::{ended_by, interrupts};
use super::place::Place;

/// Where conversations are played.
pub(super) struct Stage {
    pub(super) target: Target,
    pub(super) faults: Vec<Fault>,
    pub(super) setup:
        Box<dyn Fn(Arc<crate::scenario::parse::Scenario>, String) -> Setup + Send + Sync>,
    pub(super) config: Config,
    pub(super) agent: Mode,
    /// Turns true when the campaign has to end.
    pub(super) stop: watch::Receiver<bool>,
}

impl Stage {
    /// Whether the target is the reference host without faults.
    pub(super) fn is_honest(&self) -> bool {
        self.faults.is_empty() && !matches!(self.target, Target::Remote(..))
    }

    pub(super) fn of(fuzz: &Fuzz, context: &Context, target: Target, version: Version) -> Stage {
        let embedded = matches!(target, Target::Embedded);
        let epoch_ms = Config::default().epoch_ms;
        let epoch = if embedded { Duration::from_millis(epoch_ms) } else { context.epoch };
        let (limit, seed) = (fuzz.timeout, context.seed);
        let (authenticate, provider) = (fuzz.aim.authenticate.clone(), fuzz.aim.named_provider());
        let (agent, secrets) = (fuzz.aim.agent(), fuzz.aim.secrets().collect::<Vec<_>>());
        let setup = move |scenario: Arc<_>, name: String| Setup {
            name,
            authenticate: authenticate.clone(),
            provider: provider.clone(),
            secrets: secrets.clone(),
            agent,
            ..Setup::of(&scenario, version, if embedded { 7 } else { seed }, epoch, limit)
        };
        let epoch_ms = u64::try_from(epoch.as_millis()).unwrap_or(epoch_ms);
        let acp = (agent == Mode::Acp && embedded).then(|| "/".to_owned());
        let config =
            Config { seed: 7, faults: fuzz.fault.clone(), epoch_ms, acp, ..Config::default() };
        let config = sim::speaking(config, version);
        let stop = ended_by(interrupts(), fuzz.budget().map(|budget| Instant::now() + budget));
        Stage { target, faults: fuzz.fault.clone(), setup: Box::new(setup), config, agent, stop }
    }

    /// Plays a draft in fresh sessions.
    pub(super) async fn play(&self, draft: &Draft, name: String, gauge: &Gauge) -> Option<Verdict> {
        let scenario = Arc::new(draft.scenario().ok()?);
        let setup = (self.setup)(scenario, name.clone());
        let shared = matches!(self.target, Target::Remote(..));
        let play = Play::new(setup, shared, Box::new(gauge.clone()));
        let place = match &self.target {
            Target::Embedded => {
                let verdict = sim::play(play, &mut RefHost::new(self.config.clone()));
                tokio::task::yield_now().await;
                return Some(verdict);
            }
            Target::Loopback => {
                Place::own(Box::new(RefHost::new(self.config.clone()))).await.ok()?
            }
            Target::Remote(remote, behind) => {
                Place::Remote(Arc::clone(remote), Arc::clone(behind), name)
            }
            // Conversations are drawn for hosts; no option of `fuzz` names an agent.
            Target::Agents(_) => return None,
        };
        Some(place.play(play, self.stop.clone()).await)
    }
}

/// Whether a candidate still shows it, in fresh sessions on the target.
pub(super) struct OnStage<'a> {
    pub(super) stage: &'a Stage,
    pub(super) finding: &'a Finding,
    /// Whether the message has to be the same, too.
    pub(super) exactly: bool,
    pub(super) version: Version,
    pub(super) played: u64,
}

impl Shows for OnStage<'_> {
    async fn shows(&mut self, draft: &Draft) -> bool {
        self.played += 1;
        if *self.stage.stop.borrow() {
            return false;
        }
        // What the reference host does too is no finding.
        let honest = Ground::of(self.version, self.stage.agent, &[]);
        if !self.stage.is_honest() && !honest.found(draft).is_empty() {
            return false;
        }
        let name = format!("{}#again-{}", draft.id, self.played);
        let verdict = self.stage.play(draft, name, &Gauge::default()).await;
        let same = |found: &Finding| match self.exactly {
            true => found.key == self.finding.key,
            false => found.rule == self.finding.rule,
        };
        verdict.is_some_and(|it| findings(&it).iter().any(same))
    }
}

//! Drawn conversations on the reference host in memory.
//!
//! Knows: the simulation, faults. Never knows: how tables are shown.
//!
//! Start at [`Ground`].

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::agent::mode::Mode;
use crate::host::Host;
use crate::host::engine::{Config, RefHost};
use crate::host::fault::Fault;
use crate::run::case::Setup;
use crate::run::play::{Counting, Play, Recorder, Verdict};
use crate::run::sim;
use crate::scenario::parse::Scenario;
use crate::wire::version::Version;

use super::draft::Draft;
use super::finding::{Finding, findings_of_reference};
use super::gauge::Gauge;
use super::shrink::{self, MAX_TRIES, Shows};

/// How long a wait may take, in virtual time.
const LIMIT: Duration = Duration::from_secs(2);
/// The seed of the hosts: another one than the stage's, so that an id that only the stage knows shows.
const SEED: u64 = 7;

/// A reference host in memory, a new one for each play.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The version that is spoken.
    pub version: Version,
    agent: Mode,
    faults: Vec<Fault>,
}

impl Ground {
    /// Hosts with these faults, whose agent is played in this way.
    pub fn of(version: Version, agent: Mode, faults: &[Fault]) -> Ground {
        Ground { version, agent, faults: faults.to_vec() }
    }

    /// The same without faults.
    fn honest(&self) -> Ground {
        Ground { faults: Vec::new(), ..self.clone() }
    }

    /// Plays a scenario.
    pub fn play(&self, scenario: Scenario) -> Verdict {
        let config = self.config(&scenario);
        self.play_on(scenario, &mut RefHost::new(config))
    }

    /// The settings of the host of a scenario.
    pub fn config(&self, scenario: &Scenario) -> Config {
        let epoch = Duration::from_millis(Config::default().epoch_ms);
        let mut config = sim::settings_with(scenario, SEED, epoch, self.agent);
        config.faults.clone_from(&self.faults);
        sim::speaking(config, self.version)
    }

    /// Plays a scenario on some other host.
    pub fn play_on(&self, scenario: Scenario, host: &mut dyn Host) -> Verdict {
        self.play_recorded(scenario, host, Box::new(Counting::default()))
    }

    /// The same, and something keeps the transcript.
    pub fn play_recorded(
        &self,
        scenario: Scenario,
        host: &mut dyn Host,
        recorder: Box<dyn Recorder>,
    ) -> Verdict {
        let epoch = Duration::from_millis(Config::default().epoch_ms);
        let setup = Setup::of(&Arc::new(scenario), self.version, SEED, epoch, LIMIT);
        let setup = Setup { agent: self.agent, ..setup };
        sim::play(Play::new(setup, false, recorder), host)
    }

    /// What a draft finds.
    pub fn found(&self, draft: &Draft) -> Vec<Finding> {
        let Ok(scenario) = draft.scenario() else { return Vec::new() };
        findings_of_reference(&draft.steps, &self.play(scenario))
    }

    /// What a draft finds, and what it puts to the test.
    pub fn measured(&self, draft: &Draft) -> (Vec<Finding>, Gauge) {
        let gauge = Gauge::default();
        let Ok(scenario) = draft.scenario() else { return (Vec::new(), gauge) };
        let host = &mut RefHost::new(self.config(&scenario));
        let verdict = self.play_recorded(scenario, host, Box::new(gauge.clone()));
        (findings_of_reference(&draft.steps, &verdict), gauge)
    }

    /// Makes a draft small that finds this.
    pub fn small(&self, draft: Draft, finding: &Finding) -> Draft {
        now(shrink::shrink(draft, &mut Planted { ground: self, key: &finding.key }, MAX_TRIES))
    }
}

struct Planted<'a> {
    ground: &'a Ground,
    key: &'a str,
}

impl Shows for Planted<'_> {
    async fn shows(&mut self, draft: &Draft) -> bool {
        let found = self.ground.found(draft);
        // What an honest host does too is our own mistake.
        found.iter().any(|finding| finding.key == self.key)
            && self.ground.honest().found(draft).is_empty()
    }
}

/// The value of a future that never waits.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

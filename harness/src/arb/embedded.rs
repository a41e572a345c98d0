//! Plays generated conversations against the reference host in memory.
//!
//! Knows: the simulation, faults. Never knows: how tables are shown.
//!
//! Start at [`EmbeddedGround`].

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::host::SansIoHost;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::fault::HostFault;
use crate::run::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use crate::run::setup::CaseSetup;
use crate::run::sim;
use crate::scenario::parse::ParsedScenario;
use crate::wire::version::Version;

use super::draft::ScenarioDraft;
use super::finding::{FuzzFinding, findings_of_reference};
use super::gauge::AnswerGauge;
use super::shrink::{self, DraftTrial, MAX_TRIES};

/// The time limit of a wait, in virtual time.
const LIMIT: Duration = Duration::from_secs(2);
/// The seed of the hosts. It differs from the stage's seed, so that a stage's identifier that leaked into the
/// scenario is detected.
const SEED: u64 = 7;

/// A factory for in-memory reference hosts: each play uses a new one.
#[derive(Clone, Debug)]
pub struct EmbeddedGround {
    /// The protocol version.
    pub version: Version,
    agent: AgentMode,
    faults: Vec<HostFault>,
}

impl EmbeddedGround {
    /// Creates a factory of hosts with these faults and with an agent that is played in this mode.
    pub fn of(version: Version, agent: AgentMode, faults: &[HostFault]) -> EmbeddedGround {
        EmbeddedGround { version, agent, faults: faults.to_vec() }
    }

    /// Returns the same factory without faults.
    fn honest(&self) -> EmbeddedGround {
        EmbeddedGround { faults: Vec::new(), ..self.clone() }
    }

    /// Plays a scenario.
    pub fn play(&self, scenario: ParsedScenario) -> ScenarioVerdict {
        let config = self.config(&scenario);
        self.play_on(scenario, &mut RefHost::new(config))
    }

    /// Returns the host's configuration for a scenario.
    pub fn config(&self, scenario: &ParsedScenario) -> HostConfig {
        let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
        let mut config = sim::settings_with(scenario, SEED, epoch, self.agent);
        config.faults.clone_from(&self.faults);
        sim::speaking(config, self.version)
    }

    /// Plays a scenario against another host.
    pub fn play_on(&self, scenario: ParsedScenario, host: &mut dyn SansIoHost) -> ScenarioVerdict {
        self.play_recorded(scenario, host, Box::new(CountingRecorder::default()))
    }

    /// Plays a scenario against another host, with the given recorder.
    pub fn play_recorded(
        &self,
        scenario: ParsedScenario,
        host: &mut dyn SansIoHost,
        recorder: Box<dyn TranscriptRecorder>,
    ) -> ScenarioVerdict {
        let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
        let setup = CaseSetup::of(&Arc::new(scenario), self.version, SEED, epoch, LIMIT);
        let setup = CaseSetup { agent: self.agent, ..setup };
        sim::play(ScenarioPlay::new(setup, false, recorder), host)
    }

    /// Returns the findings of a draft.
    pub fn found(&self, draft: &ScenarioDraft) -> Vec<FuzzFinding> {
        let Ok(scenario) = draft.scenario() else { return Vec::new() };
        findings_of_reference(&draft.steps, &self.play(scenario))
    }

    /// Returns the findings of a draft, and what it tests.
    pub fn measured(&self, draft: &ScenarioDraft) -> (Vec<FuzzFinding>, AnswerGauge) {
        let gauge = AnswerGauge::default();
        let Ok(scenario) = draft.scenario() else { return (Vec::new(), gauge) };
        let host = &mut RefHost::new(self.config(&scenario));
        let verdict = self.play_recorded(scenario, host, Box::new(gauge.clone()));
        (findings_of_reference(&draft.steps, &verdict), gauge)
    }

    /// Shrinks a draft while it still shows this finding.
    pub fn small(&self, draft: ScenarioDraft, finding: &FuzzFinding) -> ScenarioDraft {
        now(shrink::shrink(draft, &mut PlantedHost { ground: self, key: &finding.key }, MAX_TRIES))
    }
}

struct PlantedHost<'a> {
    ground: &'a EmbeddedGround,
    key: &'a str,
}

impl DraftTrial for PlantedHost<'_> {
    async fn shows(&mut self, draft: &ScenarioDraft) -> bool {
        let found = self.ground.found(draft);
        // A finding that also appears without faults is a mistake of the harness.
        found.iter().any(|finding| finding.key == self.key)
            && self.ground.honest().found(draft).is_empty()
    }
}

/// Returns the value of a future that never waits.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

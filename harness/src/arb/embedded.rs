//! Plays generated conversations against the reference host, or the reference agent, in memory.
//!
//! Knows: the simulation, faults. Never knows: the presentation of tables.
//!
//! Start at [`EmbeddedGround`].

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::agent::acp::AgentConfig;
use crate::agent::acp::fault::{AgentFaults, Fault as AgentFault};
use crate::agent::acp::variant::AGENT_VARIANTS;
use crate::agent::mode::AgentMode;
use crate::host::SansIoHost;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::fault::HostFault;
use crate::host::subject::AgentSubject;
use crate::host::variant::{VARIANTS, VariantHost};
use crate::run::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use crate::run::setup::CaseSetup;
use crate::run::sim;
use crate::scenario::parse::ParsedScenario;
use crate::wire::version::Version;

use super::draft::ScenarioDraft;
use super::finding::{FuzzFinding, findings, findings_of_reference};
use super::gauge::AnswerGauge;
use super::shrink::{self, DraftTrial, MAX_TRIES};

/// The time limit of a wait, in virtual time.
const LIMIT: Duration = Duration::from_secs(2);
/// The time limit of a wait for an agent, in virtual time; an agent's tools take longer.
const AGENT_LIMIT: Duration = Duration::from_secs(10);
/// The seed of the hosts. This seed differs from the stage's seed. Therefore, an identifier of the stage that was left
/// in the scenario by mistake is detected.
const SEED: u64 = 7;

/// A factory of reference hosts or agents in memory; each conversation gets a new one.
#[derive(Clone, Debug)]
pub struct EmbeddedGround {
    /// The protocol version.
    pub version: Version,
    subject: EmbeddedSubject,
}

/// The kind of the reference implementation, a host or an agent, with its injected faults.
#[derive(Clone, Debug)]
enum EmbeddedSubject {
    Host { agent: AgentMode, faults: Vec<HostFault> },
    Agent { faults: Vec<AgentFault> },
}

/// A legal variant of the host or agent: its name, and a subject with this behaviour.
type NamedSubject = (&'static str, Box<dyn SansIoHost + Send>);

impl EmbeddedGround {
    /// Creates a factory of hosts with these faults. `agent` is the component that plays the host's agent.
    pub fn of(version: Version, agent: AgentMode, faults: &[HostFault]) -> EmbeddedGround {
        let subject = EmbeddedSubject::Host { agent, faults: faults.to_vec() };
        EmbeddedGround { version, subject }
    }

    /// Creates a factory of agents under test with these faults.
    pub fn of_agent(faults: &[AgentFault]) -> EmbeddedGround {
        let subject = EmbeddedSubject::Agent { faults: faults.to_vec() };
        EmbeddedGround { version: Version::ACP_1, subject }
    }

    /// Returns the same factory without faults.
    fn honest(&self) -> EmbeddedGround {
        match &self.subject {
            EmbeddedSubject::Host { agent, .. } => EmbeddedGround::of(self.version, *agent, &[]),
            EmbeddedSubject::Agent { .. } => EmbeddedGround::of_agent(&[]),
        }
    }

    /// Creates the host or agent for a scenario.
    pub fn subject(&self, scenario: &ParsedScenario) -> Box<dyn SansIoHost + Send> {
        match &self.subject {
            EmbeddedSubject::Host { .. } => Box::new(RefHost::new(self.config(scenario))),
            EmbeddedSubject::Agent { faults } => Box::new(AgentSubject::new(AgentConfig {
                faults: AgentFaults::of(faults),
                ..AgentConfig::default()
            })),
        }
    }

    /// Creates the legal variants of the host or agent without faults, for a scenario.
    pub fn variants(&self, scenario: &ParsedScenario) -> Vec<NamedSubject> {
        match &self.subject {
            EmbeddedSubject::Host { .. } => {
                let config = || self.honest().config(scenario);
                let rows = VARIANTS.iter().filter(|row| row.since <= self.version);
                rows.map(|row| -> NamedSubject {
                    (row.name, Box::new(VariantHost::new(&[row], config())))
                })
                .collect()
            }
            EmbeddedSubject::Agent { .. } => AGENT_VARIANTS
                .iter()
                .map(|row| -> NamedSubject {
                    (row.name, Box::new(AgentSubject::varied(AgentConfig::default(), &[row])))
                })
                .collect(),
        }
    }

    /// Plays a scenario.
    pub fn play(&self, scenario: ParsedScenario) -> ScenarioVerdict {
        let mut subject = self.subject(&scenario);
        self.play_on(scenario, &mut *subject)
    }

    /// Returns the host's configuration for a scenario.
    pub fn config(&self, scenario: &ParsedScenario) -> HostConfig {
        let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
        let (agent, faults) = match &self.subject {
            EmbeddedSubject::Host { agent, faults } => (*agent, faults.clone()),
            EmbeddedSubject::Agent { .. } => Default::default(),
        };
        let mut config = sim::settings_with(scenario, SEED, epoch, agent);
        config.faults = faults;
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
        let (agent, limit) = match &self.subject {
            EmbeddedSubject::Host { agent, .. } => (*agent, LIMIT),
            EmbeddedSubject::Agent { .. } => (AgentMode::default(), AGENT_LIMIT),
        };
        let facts = match &self.subject {
            EmbeddedSubject::Host { .. } => sim::facts(&scenario, self.version),
            EmbeddedSubject::Agent { .. } => Vec::new(),
        };
        let setup = CaseSetup::of(&Arc::new(scenario), self.version, SEED, epoch, limit);
        let setup = CaseSetup { agent, facts, side: sim::side(Some(self.version)), ..setup };
        sim::play(ScenarioPlay::new(setup, false, recorder), host)
    }

    /// Plays a generated scenario, and returns what its checks and claims found.
    pub fn found(&self, draft: &ScenarioDraft) -> Vec<FuzzFinding> {
        let Ok(scenario) = draft.scenario() else { return Vec::new() };
        self.findings(draft, &self.play(scenario))
    }

    /// Returns the broken claims and checks of a draft. Failed premises are not findings.
    pub fn broken(&self, draft: &ScenarioDraft) -> Vec<FuzzFinding> {
        let Ok(scenario) = draft.scenario() else { return Vec::new() };
        findings(&draft.steps, &self.play(scenario))
    }

    /// Plays a draft and returns the findings. A host (with or without faults) and an agent without faults have to meet
    /// every step of the draft. An agent with faults is judged like any other agent.
    pub fn findings(&self, draft: &ScenarioDraft, verdict: &ScenarioVerdict) -> Vec<FuzzFinding> {
        match &self.subject {
            EmbeddedSubject::Agent { faults } if !faults.is_empty() => {
                findings(&draft.steps, verdict)
            }
            _ => findings_of_reference(&draft.steps, verdict),
        }
    }

    /// Returns the findings of a draft, and the combinations that it tests.
    pub fn measured(&self, draft: &ScenarioDraft) -> (Vec<FuzzFinding>, AnswerGauge) {
        let gauge = AnswerGauge::default();
        let Ok(scenario) = draft.scenario() else { return (Vec::new(), gauge) };
        let mut subject = self.subject(&scenario);
        let verdict = self.play_recorded(scenario, &mut *subject, Box::new(gauge.clone()));
        (self.findings(draft, &verdict), gauge)
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
        // A finding that also occurs without faults is a mistake of the harness.
        found.iter().any(|finding| finding.key == self.key)
            && self.ground.honest().found(draft).is_empty()
    }
}

/// Returns the value of a future that is ready at once.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

//! The parameters of one play of a scenario.
//!
//! Knows: scenarios, versions, who plays the agent. Never knows: connections, time, the result of the play.
//!
//! Start at [`CaseSetup`].

use std::sync::Arc;
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::scenario::parse::ParsedScenario;
use crate::wire::version::Version;

use super::side::AgentSide;

/// The parameters of a case.
#[derive(Clone, Debug)]
pub struct CaseSetup {
    /// The scenario to play.
    pub scenario: Arc<ParsedScenario>,
    /// The protocol version to test.
    pub version: Version,
    /// The versions that clients offer unless a step says otherwise.
    pub offers: Vec<String>,
    /// The seed of all identifiers.
    pub seed: u64,
    /// The name of the case, which distinguishes repetitions of one scenario.
    pub name: String,
    /// The Unix time at which the transcript began.
    pub epoch: Duration,
    /// The time limit of a wait.
    pub limit: Duration,
    /// The resources and tokens that each client sends after the handshake.
    pub authenticate: Vec<(String, String)>,
    /// Values from the first look, by the names that scenarios use, such as `protected-agent.provider`.
    pub facts: Vec<(String, String)>,
    /// The secrets that the host's frames must not contain, besides the tokens that clients send.
    pub secrets: Vec<String>,
    /// The provider of the sessions that `open` creates; `None` leaves the choice to the host.
    pub provider: Option<String>,
    /// Whether observers join at random points.
    pub observe: bool,
    /// The component that plays the agent.
    pub agent: AgentMode,
    /// The agent under test, in a case of ACP.
    pub side: AgentSide,
}

impl CaseSetup {
    /// Creates a setup for a scenario at one version, without secrets and with the host's own agent.
    pub fn of(
        scenario: &Arc<ParsedScenario>,
        version: Version,
        seed: u64,
        epoch: Duration,
        limit: Duration,
    ) -> CaseSetup {
        CaseSetup {
            scenario: Arc::clone(scenario),
            version,
            offers: vec![version.to_string()],
            seed,
            name: scenario.id.clone(),
            epoch,
            limit,
            authenticate: Vec::new(),
            facts: Vec::new(),
            secrets: Vec::new(),
            provider: None,
            observe: false,
            agent: AgentMode::default(),
            side: AgentSide::default(),
        }
    }
}

//! What one play of a scenario needs to know before it begins.
//!
//! Knows: scenarios, versions, who plays the agent. Never knows: connections, time, what comes of the play.
//!
//! Start at [`CaseSetup`].

use std::sync::Arc;
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::scenario::parse::ParsedScenario;
use crate::wire::version::Version;

use super::side::AgentSide;

/// What a case needs to know before it begins.
#[derive(Clone, Debug)]
pub struct CaseSetup {
    /// What is played.
    pub scenario: Arc<ParsedScenario>,
    /// The version that the run is about.
    pub version: Version,
    /// The versions that clients offer unless a step says otherwise.
    pub offers: Vec<String>,
    /// The seed of every id.
    pub seed: u64,
    /// Tells repetitions of one scenario apart.
    pub name: String,
    /// The wall clock when the transcript began, since 1970.
    pub epoch: Duration,
    /// How long a wait may take.
    pub limit: Duration,
    /// Resources and tokens that each client pushes after its handshake.
    pub authenticate: Vec<(String, String)>,
    /// What is known of the target, by the names that scenarios use: `protected-agent.provider`.
    pub facts: Vec<(String, String)>,
    /// What no frame of the host may contain, besides what clients push.
    pub secrets: Vec<String>,
    /// The provider of the sessions that `open` creates; the host's own choice where it is `None`.
    pub provider: Option<String>,
    /// Whether further clients come and look.
    pub observe: bool,
    /// Who plays the agent.
    pub agent: AgentMode,
    /// The agent that is put to the test, in a case of ACP.
    pub side: AgentSide,
}

impl CaseSetup {
    /// A scenario at one version, its ids from `seed`, with nobody's secrets and the host's own agent.
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

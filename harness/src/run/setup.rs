//! The parameters for playing a scenario once.
//!
//! Knows: scenarios, versions, who plays the agent. Never knows: connections, time, results.
//!
//! Start at [`CaseSetup`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::mode::AgentMode;
use crate::scenario::capability::{CLIENT_FOLDER, TOKEN};
use crate::scenario::parse::{ParsedScenario, ScenarioStep};
use crate::scenario::verbs::StepVerb;
use crate::wire::version::Version;

use super::side::AgentSide;

/// The scheme of session URIs, unless the user sets another scheme.
const SESSION_SCHEME: &str = "ahp-session";

/// The parameters of a case.
#[derive(Clone, Debug)]
pub struct CaseSetup {
    /// The scenario to play.
    pub scenario: Arc<ParsedScenario>,
    /// The protocol version to test.
    pub version: Version,
    /// The versions that clients offer unless a step says otherwise.
    pub offers: Vec<Version>,
    /// The seed of all identifiers.
    pub seed: u64,
    /// The name of the case, which distinguishes repetitions of one scenario.
    pub name: String,
    /// The Unix time at which the transcript began.
    pub epoch: Duration,
    /// The time limit of a wait.
    pub limit: Duration,
    /// The protected resources and their tokens, which each client sends after the handshake.
    pub authenticate: Vec<(String, String)>,
    /// The resources for which each agent of the host requires a token, by the provider of the agent.
    pub required_tokens: BTreeMap<String, Vec<String>>,
    /// Values from the first look, by the names that scenarios use, such as `protected-agent.provider`.
    pub facts: Vec<(String, String)>,
    /// The URI forms that clients use.
    pub forms: UriForms,
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
    /// The client under test, in a scenario that tests a client.
    pub tested: TestedClientSetup,
}

/// How the client under test is reached.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TestedClientSetup {
    /// The URL at which the harness listens for the client.
    pub url: String,
    /// Whether a driver controls the client. Without a driver, the client is only started with the URL.
    pub driven: bool,
    /// Whether the client connects without being started, so that there is no process to write commands to.
    pub comes_by_itself: bool,
}

/// The URI forms that a user can set for a host. `None` is the default form.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct UriForms {
    /// The URI at which other clients reach the folder that a client serves, with `{client}` for the client id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_files: Option<String>,
    /// The scheme of the sessions that `open` creates, with `{provider}` for the provider of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_scheme: Option<String>,
}

impl UriForms {
    /// Returns the URI at which other clients reach the folder that a client serves.
    pub fn client_files(&self, client: &str) -> String {
        self.client_files.as_deref().unwrap_or(CLIENT_FOLDER).replace("{client}", client)
    }

    /// Returns the URI of a session with this id, on an agent of this provider.
    pub fn session(&self, id: &str, provider: Option<&str>) -> String {
        let scheme = self.session_scheme.as_deref().unwrap_or(SESSION_SCHEME);
        format!("{}:/{id}", scheme.replace("{provider}", provider.unwrap_or(SESSION_SCHEME)))
    }
}

impl CaseSetup {
    /// Returns whether the scenario can be played only if the host accepts the token for this resource.
    pub fn needs_token(&self, resource: &String) -> bool {
        let provider = self.provider.as_ref();
        let required = provider.and_then(|provider| self.required_tokens.get(provider));
        // If the agent is unknown, it may require the token. A scenario that lists `token` in `needs` uses the agent
        // that requires it.
        let is_open = required.is_none() || self.scenario.needs.iter().any(|need| need == TOKEN);
        is_open || required.is_some_and(|required| required.contains(resource))
    }

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
            offers: vec![version],
            seed,
            name: scenario.id.clone(),
            epoch,
            limit,
            authenticate: Vec::new(),
            required_tokens: BTreeMap::new(),
            facts: Vec::new(),
            forms: UriForms::default(),
            secrets: Vec::new(),
            provider: None,
            observe: false,
            agent: AgentMode::default(),
            side: AgentSide::default(),
            tested: TestedClientSetup::default(),
        }
    }

    /// Returns whether steps of the scenario answer requests that the host sends to this client. If `method` is given,
    /// only requests of that method count.
    pub(super) fn serves(&self, client: &str, method: Option<&str>) -> bool {
        let asked = |step: &ScenarioStep| {
            step.verb == StepVerb::Asked
                && step.clients("at").iter().any(|it| it == client)
                && method.is_none_or(|method| step.text("method") == Some(method))
        };
        self.scenario.steps.iter().any(asked)
    }

    /// Returns whether any step looks at the client's own mirror of a channel's state.
    pub(super) fn needs_mirrors(&self) -> bool {
        self.scenario.steps.iter().any(|step| step.verb == StepVerb::Mirror)
    }
}

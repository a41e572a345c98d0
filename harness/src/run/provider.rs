//! For a host that has several agents, decides which scenarios are played with each agent and which only once.
//!
//! The decision is derived from the steps of a scenario. A scenario depends on the agent if it creates a session with
//! the run's agent and then needs the agent to work, or needs a capability of the agent. All other scenarios are only
//! about the host.
//!
//! Knows: steps, capabilities. Never knows: hosts by name, connections.
//!
//! Start at [`plan_for`].

use crate::scenario::bind::ValueTemplate;
use crate::scenario::capability::{self, CapabilitySource};
use crate::scenario::parse::{ParsedScenario, ScenarioStep};
use crate::scenario::verbs::StepVerb;

use super::detect::{AgentOfHost, DetectedFeature};
use super::plan::{PlannedAgent, PlannedScenario, TargetAbilities, plan};
use super::suite::SuiteEntry;

/// The profile of scenarios that contain a script for the agent.
const AGENT: &str = "agent";
/// The actions that make a host's agent work.
const WORK: [&str; 3] = ["chat/turnStarted", "chat/turnResume", "chat/pendingMessageSet"];

/// Returns whether a scenario's result may differ between the agents of a host.
pub fn depends_on_agent(scenario: &ParsedScenario) -> bool {
    let opens = scenario.steps.iter().any(|step| step.verb == StepVerb::Open);
    let declared = |name: &String| {
        let row = capability::named(name).map(|row| row.shown);
        matches!(row, Some(CapabilitySource::Agent(_) | CapabilitySource::Probe(_)))
    };
    opens
        && (scenario.profile == AGENT
            || scenario.needs.iter().any(declared)
            || scenario.steps.iter().any(has_agent_work))
}

/// Returns whether a step makes the agent work.
fn has_agent_work(step: &ScenarioStep) -> bool {
    match step.verb {
        StepVerb::Turn => true,
        StepVerb::Dispatch => {
            let members = step.template("action").map(ValueTemplate::members).unwrap_or_default();
            let named = members.iter().find(|(name, _)| name == "type");
            let named = named.and_then(|(_, it)| it.without_holes()?.as_str().map(str::to_owned));
            named.is_some_and(|action| WORK.contains(&action.as_str()))
        }
        _ => false,
    }
}

/// Returns the capabilities of a host with one of its agents. If the host and the agent have a capability of
/// the same name, the result contains the capability of the agent.
pub fn with_agent(detected: &[DetectedFeature], agent: &AgentOfHost) -> Vec<DetectedFeature> {
    let own =
        |it: &&DetectedFeature| agent.detected.iter().all(|own| own.capability != it.capability);
    detected.iter().filter(own).chain(&agent.detected).cloned().collect()
}

/// Decides for each scenario whether the target can play it. A scenario that does not depend on the agent is planned
/// once; any other scenario is planned once for each agent that can be tested. If a scenario is skipped for the same
/// reason with all agents, it is listed once.
pub fn plan_for(
    entries: &[&SuiteEntry],
    abilities: &TargetAbilities,
    agents: &[AgentOfHost],
) -> Vec<PlannedScenario> {
    let tested = agents.iter().enumerate().filter(|(_, agent)| agent.untested.is_none());
    let each: Vec<(usize, &AgentOfHost, TargetAbilities)> = tested
        .map(|(place, agent)| {
            let detected = with_agent(&abilities.detected, agent);
            (place, agent, TargetAbilities { detected, ..abilities.clone() })
        })
        .collect();
    let mut planned = Vec::new();
    for entry in entries {
        let once = plan(&[*entry], abilities);
        if each.is_empty() || !depends_on_agent(&entry.scenario) {
            planned.extend(once);
            continue;
        }
        let plans = each.iter().flat_map(|(place, agent, abilities)| {
            let agent = PlannedAgent { place: place + 1, provider: agent.provider.clone() };
            let of_agent = plan(&[*entry], abilities).into_iter();
            of_agent.map(move |it| PlannedScenario { agent: Some(agent.clone()), ..it })
        });
        let plans: Vec<PlannedScenario> = plans.collect();
        let alike = |it: &PlannedScenario| {
            it.skip.is_some() && plans.first().is_some_and(|first| first.skip == it.skip)
        };
        match plans.iter().all(alike) {
            true => {
                planned.extend(
                    plans.into_iter().take(1).map(|it| PlannedScenario { agent: None, ..it }),
                );
            }
            false => planned.extend(plans),
        }
    }
    planned
}

#[cfg(test)]
mod tests {
    use super::super::plan::HostRestarts;
    use super::*;
    use crate::agent::mode::AgentMode;
    use crate::run::suite::ScenarioSuite;
    use crate::wire::protocol::Protocol;
    use crate::wire::version::{ProtocolStandard, Version};

    fn agent(provider: &str, untested: Option<&str>, forks: bool) -> AgentOfHost {
        AgentOfHost {
            provider: provider.to_owned(),
            untested: untested.map(str::to_owned),
            detected: vec![DetectedFeature::new("multipleChats.fork", forks, "")],
        }
    }

    fn planned(agents: &[AgentOfHost]) -> Vec<PlannedScenario> {
        let suite = ScenarioSuite::carried();
        let of_hosts =
            suite.entries.iter().filter(|it| it.scenario.spec.standard() == ProtocolStandard::Ahp);
        let abilities = TargetAbilities {
            version: Version::NEWEST,
            profiles: vec!["all".to_owned()],
            embedded: true,
            restarts: HostRestarts::Crashes,
            detected: vec![DetectedFeature::new("multipleChats.fork", true, "")],
            agent: AgentMode::Host,
            aggressive: true,
        };
        plan_for(&of_hosts.collect::<Vec<_>>(), &abilities, agents)
    }

    fn of<'a>(planned: &'a [PlannedScenario], id: &str) -> Vec<(Option<&'a str>, bool)> {
        let mine = planned.iter().filter(|it| it.entry.scenario.id == id);
        let agent =
            |it: &'a PlannedScenario| it.agent.as_ref().map(|agent| agent.provider.as_str());
        mine.map(|it| (agent(it), it.skip.is_none())).collect()
    }

    #[test]
    fn the_actions_that_make_an_agent_work_are_in_the_protocol() {
        let newest = Protocol::newest();
        assert!(WORK.iter().all(|action| newest.action(action).is_some()));
    }

    #[test]
    fn only_scenarios_about_agents_are_played_with_each_agent() {
        let agents = [
            agent("a", None, true),
            agent("b", None, false),
            agent("c", Some("it needs a token"), true),
        ];
        let planned = planned(&agents);
        assert_eq!(of(&planned, "dispatch/one-clients-order-is-kept"), [(None, true)]);
        assert_eq!(of(&planned, "handshake/server-seq-is-current"), [(None, true)]);
        let both = [(Some("a"), true), (Some("b"), true)];
        assert_eq!(of(&planned, "turns/cancel-keeps-what-was-said"), both);
        assert_eq!(of(&planned, "tools/denied-once"), both);
        let one = [(Some("a"), true), (Some("b"), false)];
        assert_eq!(of(&planned, "chats/a-fork-goes-its-own-way"), one);
        let each = planned.iter().filter(|it| it.agent.is_some()).count();
        let once = planned.len() - each;
        assert!(each > 2 * 200 && once > 100, "{each} {once}");
    }

    #[test]
    fn a_scenario_that_no_agent_can_play_is_listed_once() {
        let planned = planned(&[agent("a", None, false), agent("b", None, false)]);
        let id = "chats/a-fork-goes-its-own-way";
        assert_eq!(of(&planned, id), [(None, false)]);
    }

    #[test]
    fn a_single_agent_is_not_named() {
        assert!(planned(&[]).iter().all(|it| it.agent.is_none()));
    }
}

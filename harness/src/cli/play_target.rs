//! The target that scenarios are played against, with its limits.
//!
//! Knows: hosts, agents and clients outside of this process. Never knows: the options that name a target.
//!
//! Start at [`PlayTarget`].

use std::sync::Arc;
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::run::plan::{self, PlannedScenario};
use crate::run::profile::AgentProfile;
use crate::wire::version::ProtocolStandard;

use super::agents::AgentOutside;
use super::clients::ClientOutside;
use super::place::AgentBehind;
use super::target::RemoteHost;

/// The default time limits of a wait: for hosts, and for agents. An agent may have to be started first, by the harness
/// or by the host.
const HOST_LIMIT: Duration = Duration::from_secs(2);
const AGENT_LIMIT: Duration = Duration::from_secs(10);
/// The number of scenarios that are played at the same time.
const JOBS: u16 = 4;

/// The target that scenarios are played against.
pub(super) enum PlayTarget {
    /// The reference host in memory.
    Embedded,
    /// A reference host on a loopback port for each scenario.
    Loopback,
    /// A host outside of this process.
    Remote(Arc<RemoteHost>, Arc<AgentBehind>),
    /// An ACP agent outside of this process.
    Agents(Box<AgentOutside>),
    /// A client of AHP outside of this process.
    Clients(Box<ClientOutside>),
}

impl PlayTarget {
    /// Returns the profile of an external agent; `None` for any other target.
    pub(super) fn profile(&self) -> Option<&AgentProfile> {
        match self {
            PlayTarget::Agents(agents) => Some(&agents.profile),
            _ => None,
        }
    }

    /// Returns the time limit of a wait: the requested limit, or else the limit in the profile, or else the default.
    pub(super) fn limit(
        &self,
        asked: Option<Duration>,
        standard: ProtocolStandard,
        agent: AgentMode,
    ) -> Duration {
        let own = self.profile().and_then(|profile| profile.timeout);
        let starts_agents = matches!(self, PlayTarget::Remote(..)) && agent != AgentMode::Host;
        let usual = match standard {
            ProtocolStandard::Ahp if !starts_agents => HOST_LIMIT,
            ProtocolStandard::Ahp | ProtocolStandard::Acp => AGENT_LIMIT,
        };
        asked.or(own).unwrap_or(usual)
    }

    /// Returns the number of scenarios that are played at the same time.
    pub(super) fn jobs(&self, asked: Option<u16>) -> usize {
        let own = self.profile().and_then(|profile| profile.jobs);
        if let PlayTarget::Clients(client) = self
            && client.comes_by_itself()
        {
            return usize::from(asked.unwrap_or(u16::MAX));
        }
        usize::from(asked.or(own).unwrap_or(JOBS))
    }

    /// Returns whether the target is the embedded reference host.
    pub(super) fn is_embedded(&self) -> bool {
        matches!(self, PlayTarget::Embedded | PlayTarget::Loopback)
    }
}

/// Returns whether a scenario needs exclusive use of a host that other scenarios also use.
pub(super) fn plays_alone(target: &PlayTarget, planned: &PlannedScenario) -> bool {
    let shared = matches!(target, PlayTarget::Remote(..)) && planned.skip.is_none();
    shared && plan::plays_alone(&planned.entry.scenario)
}

//! The properties of a target that decide which moves are possible.
//!
//! Knows: who plays the agent, how a host can be restarted. Never knows: moves, capabilities.
//!
//! Start at [`PlayConditions`].

use crate::agent::mode::AgentMode;
use crate::run::plan::HostRestarts;

/// The properties of a target that decide which moves are possible.
#[derive(Clone, Copy, Debug)]
pub struct PlayConditions {
    /// The mode in which an agent plays scripts; `None` if no agent does.
    pub agent: Option<AgentMode>,
    /// How the host can be restarted.
    pub restarts: HostRestarts,
    /// Whether messages that may harm the host are permitted.
    pub aggressive: bool,
    /// Whether the target is the reference host, whose files, shells and settings are known.
    pub reference: bool,
}

impl PlayConditions {
    /// The properties of the reference host, with which every move is possible.
    pub const ALL: PlayConditions = PlayConditions {
        agent: Some(AgentMode::Host),
        restarts: HostRestarts::Crashes,
        aggressive: true,
        reference: true,
    };
    /// The properties of an external host whose agent plays scripts.
    pub const FOREIGN: PlayConditions = PlayConditions {
        agent: Some(AgentMode::Host),
        restarts: HostRestarts::Never,
        aggressive: false,
        reference: false,
    };
}

//! Creates reference hosts: finds the implementations of the injected faults that a configuration names.
//!
//! Knows: the tables of faults. Never knows: single faults.
//!
//! Start at [`RefHost::new`].

use super::engine::{HostConfig, HostInjections, RefHost};
use super::fault;
use super::injected::HostHooks;

impl RefHost {
    /// Creates a host without sessions or connections.
    pub fn new(config: HostConfig) -> RefHost {
        RefHost::with_hooks(config, Vec::new())
    }

    /// Creates a host like [`RefHost::new`], with legal variants in its behaviour.
    pub(super) fn with_hooks(
        mut config: HostConfig,
        variants: Vec<&'static dyn HostHooks>,
    ) -> RefHost {
        let faults = &config.faults;
        let injections = HostInjections {
            rewriters: fault::rewriters(faults),
            hooks: variants.into_iter().chain(fault::in_host(faults)).collect(),
            state_faults: fault::in_states(faults).collect(),
        };
        config.asks_model |= faults.iter().any(|fault| fault.is_behind_model());
        RefHost::with_injections(config, injections)
    }
}

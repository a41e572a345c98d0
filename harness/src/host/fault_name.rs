//! The names of the injected faults of the reference host.
//!
//! Knows: nothing else. Never knows: what a fault does ([`fault`](super::fault)).

/// An injected fault, identified by its name on the command line.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostFault(&'static str);

impl HostFault {
    /// Creates the fault of a row in the tables of faults.
    pub(super) const fn of_row(name: &'static str) -> HostFault {
        HostFault(name)
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        self.0
    }
}

//! The planted faults of the reference host: one row each, small, named, switched at run time.
//!
//! The rows stand in `catalogue`. A fault of a rule or a consequence is a row of a table by protocol concept: the rules
//! that it lifts, or what it does at a hook of `injected`. Of the others each is one `if self.has(Fault::X)` where the rule
//! that it breaks is kept. What a fault must trip is not said here: that is the business of the kill matrix.
//!
//! Knows: nothing. Never knows: which check finds which fault.

mod actions;
mod automations;
mod catalogue;
mod changesets;
mod chats;
mod generic;
mod resources;
mod sessions;
mod terminals;
mod tokens;
mod tool_calls;
mod turns;

pub use catalogue::{FAULTS, Fault};

use super::injected::HostFault;

/// A fault, and what it does in the host.
type HostFaultRow = (Fault, &'static dyn HostFault);

/// The faults that take part in what the host does, by protocol concept.
const IN_HOST: &[&[HostFaultRow]] = &[
    actions::FAULTS,
    turns::FAULTS,
    tool_calls::FAULTS,
    sessions::FAULTS,
    chats::FAULTS,
    terminals::FAULTS,
    tokens::FAULTS,
    resources::FAULTS,
    automations::FAULTS,
    changesets::FAULTS,
];

/// What these faults do in the host, where it is said as hooks.
pub(super) fn in_host(faults: &[Fault]) -> impl Iterator<Item = &'static dyn HostFault> {
    let rows = IN_HOST.iter().copied().flatten();
    rows.filter(|(fault, _)| faults.contains(fault)).map(|(_, does)| *does)
}

/// A set of faults.
pub type FaultSet = crate::fault::Set<Fault>;

/// Faults that only show on a host which speaks ACP to its agent.
pub const BELOW: &[Fault] = &[
    Fault::DenialAllowedBelow,
    Fault::AllowedUnasked,
    Fault::CancelKept,
    Fault::ChunkLostBelow,
    Fault::ChunksSwapped,
    Fault::CallToldTwice,
];

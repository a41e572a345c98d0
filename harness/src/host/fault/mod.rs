//! The injected faults of the reference host: one row each, small, named, switched at run time.
//!
//! `catalogue` lists them. A fault that changes messages only is a [`MessageRewriter`]; one that changes the behaviour of
//! the host is a [`HostFault`], whose hooks the host calls. `reduction` has the faults that change how an action is
//! reduced. The modules are by protocol concept, each with a table of its faults. The remaining faults are a check
//! `self.has(Fault::X)` in the host.
//! What a fault must trip is not said here: that is the business of the kill matrix.
//!
//! Knows: messages, what passed on connections. Never knows: which check finds which fault.
//!
//! Start at [`rewriters`] and [`in_host`].

use super::chain::MessageRewriter;

mod actions;
mod automations;
mod catalogue;
mod changesets;
mod chats;
mod delivery;
mod frames;
mod generic;
mod handshake;
mod lists;
mod notices;
mod parts;
pub(super) mod reduction;
mod replay;
mod resources;
mod responses;
mod sequence;
mod sessions;
mod settlement;
mod shapes;
mod snapshots;
mod terminals;
mod tokens;
mod tool_calls;
mod turns;

pub use catalogue::{FAULTS, Fault};

use super::injected::HostFault;

/// A fault, and what it does in the host.
type HostFaultRow = (Fault, &'static dyn HostFault);

/// The faults with hooks in the host, by protocol concept.
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

/// The implementations of those of these faults that have hooks in the host.
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

/// A fault and how its rewriter is made.
type MessageFault = (Fault, fn() -> Box<dyn MessageRewriter>);

/// The faults that show in messages alone, by protocol concept.
const MESSAGE_FAULTS: &[&[MessageFault]] = &[
    sequence::FAULTS,
    delivery::FAULTS,
    settlement::FAULTS,
    replay::FAULTS,
    handshake::FAULTS,
    responses::FAULTS,
    lists::FAULTS,
    frames::FAULTS,
    snapshots::FAULTS,
    shapes::FAULTS,
    notices::FAULTS,
];

/// The rewriters of those of these faults that show in messages alone.
pub(super) fn rewriters(faults: &[Fault]) -> Vec<Box<dyn MessageRewriter>> {
    let rows = MESSAGE_FAULTS.iter().copied().flatten();
    rows.filter(|(fault, _)| faults.contains(fault)).map(|(_, make)| make()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_one_rewriter() {
        for row in FAULTS {
            let made = rewriters(&[row.fault]).len();
            assert!(made <= 1, "expected at most one rewriter for `{}`, found {made}", row.name);
        }
        let rows = MESSAGE_FAULTS.iter().copied().flatten().count();
        let all: Vec<Fault> = FAULTS.iter().map(|row| row.fault).collect();
        assert_eq!(rewriters(&all).len(), rows);
    }
}

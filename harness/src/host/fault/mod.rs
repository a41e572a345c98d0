//! The injected faults of the reference host: one row each, small, named, switched at run time.
//!
//! The rows stand in `catalogue`. A fault that shows in messages alone is a [`MessageRewriter`] before the host, in a
//! module by protocol concept, each with the table of its faults. `reduction` has those that change what an action makes
//! of a state. Any other one is one `if self.has(Fault::X)` in the host where the rule that it breaks is kept. What a fault must trip is not said here: that is the
//! business of the kill matrix.
//!
//! Knows: messages, what passed on connections. Never knows: which check finds which fault.
//!
//! Start at [`rewriters`].

use super::chain::MessageRewriter;

mod catalogue;
mod delivery;
mod frames;
mod handshake;
mod lists;
mod notices;
mod parts;
pub(super) mod reduction;
mod replay;
mod responses;
mod sequence;
mod settlement;
mod shapes;
mod snapshots;

pub use catalogue::{FAULTS, Fault};

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

//! The planted faults of the reference host: one row each, small, named, switched at run time.
//!
//! The rows stand in `catalogue`. A fault is implemented as one `if self.faults.has(Fault::X)` where the rule that it breaks is
//! kept. What a fault must trip is not said here: that is the business of the kill matrix.
//!
//! Knows: nothing. Never knows: which check finds which fault.

mod catalogue;

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

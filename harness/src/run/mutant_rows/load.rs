//! The rows of the kill matrix for faults that can be observed only under load. `tests/all/stress.rs` plays a load
//! against the reference host with each of these faults.

use crate::host::fault::HostFault;

use super::super::mutants::MutantRow;
use super::row;

pub(super) const ROWS: &[MutantRow] = &[
    row(HostFault::CrossingActionOvertaken, &["sequence.grows"]),
    row(HostFault::ReplayMissesCrossing, &["reconnect.replay-complete"]),
    row(HostFault::SessionsCollide, &["fanout.subscribed-only"]),
    row(HostFault::CrossingActionsShareNumber, &["sequence.one-envelope"]),
    row(HostFault::CrossingDecisionsWin, &["tools.one-decision"]),
    row(HostFault::SlowReaderStopsSession, &["load.readers-independent"]),
    row(HostFault::SnapshotBehindRename, &["state.snapshot-agrees"]),
    row(HostFault::CrossingEchoLost, &["fanout.complete"]),
];

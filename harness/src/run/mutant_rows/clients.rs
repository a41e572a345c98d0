//! The rows of faults of the reference client.

use crate::peer::reference::fault::Fault;
use crate::run::kills::KillRow;

/// One row for each fault, written from what the fault does.
pub const ROWS: &[KillRow<Fault>] = &[KillRow {
    fault: Fault::RejectionsApplied,
    trips: &["client/state/foreign-rejection-changes-nothing"],
}];

//! What each planted fault must trip, said beforehand.
//!
//! A row is written from what the fault does, not from what happened to trip: when a row is missed,
//! a check or a scenario is missing or does not look closely enough, and the row stays.
//!
//! Knows: faults, the ids of checks and scenarios. Never knows: how they are played.
//!
//! Start at [`ROWS`]; `ahp-harness mutants --write` prints rows to begin with.

use crate::host::fault::Fault;

use super::mutants::Row;

const fn row(fault: Fault, trips: &'static [&'static str]) -> Row {
    Row { fault, trips }
}

/// A row for each fault, in the order of the faults.
pub const ROWS: &[Row] = &[row(Fault::SequenceRepeats, &["sequence.grows"])];

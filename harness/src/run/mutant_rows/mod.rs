//! What each planted fault must trip, said beforehand.
//!
//! A row is written from what the fault does, not from what happened to trip: when a row is missed,
//! a check or a scenario is missing or does not look closely enough, and the row stays. Faults that
//! break so much that naming it would say nothing name only what they break at first hand.
//!
//! Knows: faults, the ids of checks and scenarios. Never knows: how they are played.
//!
//! Start at [`rows`]; `ahp-harness mutants --write` prints rows to begin with.

use crate::host::fault::HostFault;
use crate::wire::version::ProtocolStandard;

use super::mutants::MutantRow;

pub mod acp;
mod actions;
mod agent;
mod answers;
mod auth;
mod automations;
mod below;
pub mod broken;
mod chats;
mod content;
mod customizations;
mod invariants;
mod older;
mod origins;
mod requests;
mod state;

/// What faults have to trip besides in versions that have scenarios of their own.
pub use older::ROWS as OLDER;

/// A row for each fault.
pub fn rows() -> impl Iterator<Item = &'static MutantRow> {
    let agents = actions::ROWS.iter().chain(agent::ROWS).chain(below::ROWS);
    let later = content::ROWS.iter().chain(customizations::ROWS).chain(automations::ROWS);
    let later = later.chain(auth::ROWS).chain(chats::ROWS).chain(answers::ROWS);
    let wire =
        origins::ROWS.iter().chain(invariants::ROWS).chain(state::ROWS).chain(requests::ROWS);
    agents.chain(wire).chain(later)
}

/// What each fault must trip that hosts, or agents, can be given: its name, and names of checks and scenarios.
pub fn named(standard: ProtocolStandard) -> Vec<(&'static str, Vec<&'static str>)> {
    match standard {
        ProtocolStandard::Ahp => rows().map(|row| (row.fault.name(), row.trips.to_vec())).collect(),
        ProtocolStandard::Acp => {
            acp::ROWS.iter().map(|row| (row.fault.name(), row.trips.to_vec())).collect()
        }
    }
}

const fn row(fault: HostFault, trips: &'static [&'static str]) -> MutantRow {
    MutantRow { fault, trips }
}

//! The names of the checks and scenarios that must trip (report a failure) under each injected fault, declared in
//! advance.
//!
//! A row is derived from the effect of the fault, not from the result of a run. If a name in a row does not trip, the
//! suite is wrong: a check or a scenario is missing or not strict enough. The row must not be changed to fit the run.
//! The row of a fault that breaks almost everything lists only what the fault breaks directly.
//!
//! Knows: faults, the ids of checks and scenarios. Never knows: the execution of faults.
//!
//! Start at [`rows`]. `ahp-harness mutants --write` prints what fails in a run as rows, to compare them with those that
//! were derived.

use crate::host::fault::HostFault;
use crate::peer::reference::fault::Fault as ClientFault;
use crate::wire::version::ProtocolStandard;

use super::kills::KillRow;
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
mod client_features;
mod clients;
mod content;
mod customizations;
mod invariants;
mod load;
mod model;
mod older;
mod origins;
mod requests;
mod state;

/// The additional names that must trip (fail) at older versions, which have scenarios of their own, by fault.
pub use older::ROWS as OLDER;

/// Returns the rows of all faults.
pub fn rows() -> impl Iterator<Item = &'static MutantRow> {
    let agents = actions::ROWS.iter().chain(agent::ROWS).chain(below::ROWS).chain(model::ROWS);
    let later = content::ROWS.iter().chain(customizations::ROWS).chain(automations::ROWS);
    let later = later.chain(auth::ROWS).chain(chats::ROWS).chain(answers::ROWS);
    let wire =
        origins::ROWS.iter().chain(invariants::ROWS).chain(state::ROWS).chain(requests::ROWS);
    agents.chain(wire).chain(later)
}

/// Returns the rows of the faults of the reference client.
pub fn client_rows() -> impl Iterator<Item = &'static KillRow<ClientFault>> {
    clients::ROWS.iter().chain(client_features::ROWS)
}

/// Returns the rows of the faults that can be observed only under load, and not by a scenario.
pub fn load_rows() -> impl Iterator<Item = &'static MutantRow> {
    load::ROWS.iter()
}

/// Returns each fault with the names that must trip: the faults of the host and the client for AHP, and of the agent
/// for ACP.
pub fn named(standard: ProtocolStandard) -> Vec<(&'static str, Vec<&'static str>)> {
    match standard {
        ProtocolStandard::Ahp => {
            let hosts = rows().chain(load_rows()).map(|row| (row.fault.name(), row.trips.to_vec()));
            let clients = client_rows().map(|row| (row.fault.name(), row.trips.to_vec()));
            hosts.chain(clients).collect()
        }
        ProtocolStandard::Acp => {
            acp::ROWS.iter().map(|row| (row.fault.name(), row.trips.to_vec())).collect()
        }
    }
}

const fn row(fault: HostFault, trips: &'static [&'static str]) -> MutantRow {
    MutantRow { fault, trips }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::fault::FaultKind;
    use crate::oracle::all_checks;
    use crate::run::kills::{UNTESTED, covers};
    use crate::run::suite::ScenarioSuite;

    /// Checks the rows of one kind of faults. The rules in `load` rows are about loads, and belong to a higher module.
    fn check<'a, F: FaultKind>(
        rows: impl Iterator<Item = &'a KillRow<F>>,
        load: impl Iterator<Item = &'a KillRow<F>>,
    ) {
        let suite = ScenarioSuite::all_carried();
        let mut counts: BTreeMap<F, u32> = F::ALL.iter().map(|row| (row.fault, 0)).collect();
        for row in rows {
            *counts.entry(row.fault).or_default() += 1;
            for name in row.trips {
                let id = name.strip_prefix(UNTESTED).unwrap_or(name);
                let exists = all_checks().any(|check| covers(id, check.id))
                    || suite.entries.iter().any(|entry| covers(id, &entry.scenario.id));
                let fault = row.fault.word();
                assert!(
                    exists,
                    "expected checks and scenarios in the row of `{fault}`, found `{name}`"
                );
            }
        }
        load.for_each(|row| *counts.entry(row.fault).or_default() += 1);
        for (fault, count) in counts {
            let fault = fault.constant();
            assert_eq!(
                count, 1,
                "expected one row for `{fault}` in run/mutant_rows, found {count}"
            );
        }
    }

    #[test]
    fn each_fault_has_one_row_whose_names_exist() {
        check(rows(), load_rows());
        check(client_rows(), [].iter());
        check(acp::ROWS.iter(), [].iter());
    }

    #[test]
    fn a_draft_of_a_row_names_the_constant_of_the_fault() {
        assert_eq!(HostFault::CountsStuck.constant(), "HostFault::CountsStuck");
    }
}

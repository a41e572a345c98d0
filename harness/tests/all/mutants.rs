//! Tests that the suite can fail: the checks and scenarios in the row of each injected fault report this fault, and
//! every scenario and check detects at least one fault. The test plays each fault until every check and scenario in its
//! row has reported the fault; `ahp-harness mutants` plays the whole suite with each fault and also judges all other
//! failures.

use std::collections::HashSet;

use ahp_harness::agent::acp::fault as acp;
use ahp_harness::host::fault::{FAULTS, HostFault};
use ahp_harness::ledger::RequirementLedger;
use ahp_harness::oracle::all_checks;
use ahp_harness::peer::reference::fault as client;
use ahp_harness::run::kills::KillDepth;
use ahp_harness::run::mutant_rows::broken::{BrokenRules, FaultOwner};
use ahp_harness::run::mutants::{play_all, play_other_agents};
use ahp_harness::wire::version::Version;

use crate::common::priority;
use crate::common::suite::carried;

fn on_all_cores(work: &(dyn Fn() + Sync)) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
}

fn every_fault_is_caught(version: Version) {
    priority::lower();
    let suite = carried();
    assert!(suite.broken.is_empty(), "there are mistakes in scenario files");
    let faults: Vec<HostFault> = FAULTS.iter().map(|row| row.fault).collect();
    let matrix = play_all(suite, version, &faults, KillDepth::Caught, on_all_cores);
    let broken = matrix.broken(suite);
    assert!(broken.is_empty(), "{version}: {}", broken.join("\n"));
}

#[test]
fn rows_of_broken_rules_name_existing_faults_and_rules() {
    let rules: HashSet<&str> = RequirementLedger::all()
        .flat_map(RequirementLedger::iter)
        .map(|row| row.id)
        .chain(all_checks().map(|row| row.id))
        .collect();
    let hosts: HashSet<&str> = FAULTS.iter().map(|row| row.name).collect();
    let agents: HashSet<&str> = acp::FAULTS.iter().map(|row| row.name).collect();
    let clients: HashSet<&str> = client::FAULTS.iter().map(|row| row.name).collect();
    let owners = [FaultOwner::Host, FaultOwner::Agent, FaultOwner::Client];
    for (owner, faults) in owners.into_iter().zip([hosts, agents, clients]) {
        assert!(!BrokenRules::all(owner).is_empty(), "the file cannot be read");
        for (fault, row) in BrokenRules::all(owner) {
            assert!(faults.contains(fault.as_str()), "no fault is called `{fault}`");
            for rule in row.breaks.iter().chain(row.follows.keys()) {
                assert!(rules.contains(rule.as_str()), "{fault}: no rule is called `{rule}`");
            }
            for rule in &row.breaks {
                assert!(
                    !row.follows.contains_key(rule),
                    "{fault}: `{rule}` is both in `breaks` and in `follows`"
                );
            }
            for reason in row.follows.values() {
                let known = BrokenRules::reasons().contains_key(reason);
                assert!(known, "{fault}: no reason is called `{reason}`");
            }
        }
    }
    let all = owners.map(BrokenRules::all);
    let named: HashSet<&String> =
        all.iter().flat_map(|it| it.values()).flat_map(|row| row.follows.values()).collect();
    for reason in BrokenRules::reasons().keys() {
        assert!(named.contains(reason), "nothing follows by `{reason}`");
    }
}

/// The versions at which this test verifies that every injected fault is detected.
const HELD: [Version; 4] = [Version::V1_0, Version::V0_9, Version::V0_2, Version::V0_1];

#[test]
fn every_fault_makes_the_checks_and_scenarios_of_its_row_fail() {
    HELD.into_iter().for_each(every_fault_is_caught);
}

/// Checks that the host without faults has no failure in the other versions, whichever agent it has. The host's own
/// agent is tested by `scenarios::the_suite_passes_on_the_reference_host_at_every_version`.
#[test]
fn reference_host_without_faults_trips_no_check() {
    priority::lower();
    let suite = carried();
    let mut exercised = 0;
    for version in Version::played().iter().filter(|version| !HELD.contains(version)) {
        for (host, tripped) in play_other_agents(suite, *version) {
            assert!(
                tripped.is_empty(),
                "{host}, {version}: {:?}",
                tripped.names().collect::<Vec<_>>()
            );
            assert!(tripped.exercised.len() > 30, "{host}, {version}: {:?}", tripped.exercised);
            exercised += 1;
        }
    }
    assert_eq!(exercised, 2 * (Version::played().len() - HELD.len()));
}

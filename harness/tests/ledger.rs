//! Tests that the ledger, the checks, the scenarios and the vectors are consistent.

use std::collections::BTreeSet;

use ahp_harness::ledger::{BoundParty, RequirementLedger};
use ahp_harness::oracle::CHECKS;
use ahp_harness::reducers::vector;
use ahp_harness::report::coverage::{HostKind, LedgerCoverage, RequirementStanding};
use ahp_harness::run::suite::ScenarioSuite;
use ahp_harness::verdict::Weight;
use ahp_harness::wire::protocol::Protocol;
use ahp_harness::wire::version::Version;

#[test]
fn every_check_has_its_requirement() {
    for check in CHECKS {
        for id in check.requirements {
            assert!(
                RequirementLedger::look_up(id).is_some(),
                "{}: no requirement `{id}`",
                check.id
            );
        }
    }
}

#[test]
fn every_rule_of_reducers_has_vectors() {
    let (suite, vectors) = (ScenarioSuite::carried(), vector::carried());
    for ledger in RequirementLedger::all() {
        for row in LedgerCoverage::of(ledger.version, &suite, &vectors).rows {
            let reducers = row.rule.party == BoundParty::Reducer;
            assert!(!reducers || row.vectors > 0, "{} {}", ledger.version, row.rule.id);
        }
    }
}

#[test]
fn excluded_requirements_are_not_tested() {
    let (suite, vectors) = (ScenarioSuite::carried(), vector::carried());
    for ledger in RequirementLedger::all() {
        for row in LedgerCoverage::of(ledger.version, &suite, &vectors).rows {
            let both =
                row.rule.excluded.is_some() && row.standing() == RequirementStanding::Covered;
            assert!(!both, "{} {}: excluded, and yet tested", ledger.version, row.rule.id);
        }
    }
}

#[test]
fn every_requirement_above_a_note_is_covered() {
    for version in [Version::V1_0, Version::V0_9] {
        let coverage = LedgerCoverage::of(version, &ScenarioSuite::carried(), &vector::carried());
        let open = coverage.open(Weight::Should);
        let names: Vec<_> = open.iter().map(|row| row.rule.id).collect();
        assert!(names.is_empty(), "{version}: {names:?}");
    }
}

/// The MUST, essential and SHOULD requirements that no check, scenario or vector tests on a foreign host with
/// every capability.
const UNREACHED: &str = include_str!("files/unreached.txt");

#[test]
fn no_further_requirement_is_untestable_on_foreign_hosts() {
    let (suite, vectors) = (ScenarioSuite::carried(), vector::carried());
    let mut found = BTreeSet::new();
    for &version in Protocol::all_played() {
        let coverage = LedgerCoverage::of(version, &suite, &vectors);
        for (row, why) in coverage.unreached(Weight::Should) {
            assert!(!why.is_empty(), "{version} {}: no reason", row.rule.id);
            found.insert(format!("{version} {}", row.rule.id));
        }
    }
    let held: BTreeSet<String> =
        UNREACHED.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let lost: Vec<_> = found.difference(&held).collect();
    assert!(
        lost.is_empty(),
        "no longer tested on foreign hosts (see `coverage --foreign`): {lost:#?}"
    );
    let gained: Vec<_> = held.difference(&found).collect();
    assert!(
        gained.is_empty(),
        "tested on foreign hosts: delete from tests/files/unreached.txt {gained:#?}"
    );
}

#[test]
fn coverage_names_the_kinds_of_hosts_that_are_reached() {
    let (suite, vectors) = (ScenarioSuite::carried(), vector::carried());
    let coverage = LedgerCoverage::of(Version::V1_0, &suite, &vectors);
    let row = |id: &str| coverage.rows.iter().find(|row| row.rule.id == id).unwrap();
    // An agent without scripts starts no turn on request; a handshake does not need scripts.
    let turn = &row("chat.attachment.chat.pin-latest").reached;
    assert!(
        turn.contains(&HostKind::Foreign) && !turn.contains(&HostKind::WithoutAgent),
        "{turn:?}"
    );
    let handshake = &row("lifecycle.initialize.version-selected-from-offer").reached;
    assert_eq!(handshake[..], HostKind::ALL);
    // Every requirement tested on a host with fewer capabilities is also tested on a host with all
    // capabilities.
    for row in &coverage.rows {
        let foreign = row.reached.contains(&HostKind::Foreign);
        let lesser = [HostKind::WithoutAgent, HostKind::WithoutFiles];
        let less = lesser.iter().any(|kind| row.reached.contains(kind));
        assert!(foreign || !less, "{}", row.rule.id);
        assert!(!foreign || row.reached.contains(&HostKind::Embedded), "{}", row.rule.id);
        assert_eq!(foreign, row.unreached.is_none(), "{}", row.rule.id);
    }
}

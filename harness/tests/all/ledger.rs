//! Tests that the ledger, the checks, the scenarios and the vectors are consistent.

use std::collections::BTreeSet;

use ahp_harness::ledger::{BoundParty, ObservationNeed, RequirementLedger};
use ahp_harness::oracle::{JudgedParty, all_checks, checks_of};
use ahp_harness::reducers::vector;
use ahp_harness::report::coverage::{HostKind, LedgerCoverage, RequirementStanding};
use ahp_harness::verdict::Weight;
use ahp_harness::wire::version::{ProtocolStandard, Version};

use ahp_harness::run::suite::ScenarioSuite;

use crate::common::suite::carried;

#[test]
fn every_check_has_its_requirement() {
    for check in all_checks() {
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
    let (suite, vectors) = (carried(), vector::carried());
    for ledger in RequirementLedger::all() {
        for row in LedgerCoverage::of(ledger.version, suite, &vectors).rows {
            let reducers = row.rule.party == BoundParty::Reducer;
            assert!(!reducers || row.vectors > 0, "{} {}", ledger.version, row.rule.id);
        }
    }
}

#[test]
fn excluded_requirements_are_not_tested() {
    let (suite, vectors) = (carried(), vector::carried());
    for ledger in RequirementLedger::all() {
        for row in LedgerCoverage::of(ledger.version, suite, &vectors).rows {
            let both =
                row.rule.excluded.is_some() && row.standing() == RequirementStanding::Covered;
            assert!(!both, "{} {}: excluded, and yet tested", ledger.version, row.rule.id);
        }
    }
}

/// Checks that the row of each rule about clients says how a breach is observed, or why it cannot be observed. If a
/// rule can be observed in a capture alone, a check has to judge the rule.
#[test]
fn every_requirement_of_clients_is_observed_or_excluded() {
    let (suite, vectors) = (ScenarioSuite::of_clients(), vector::carried());
    // The first version of a scenario may be later than the first version of its requirement.
    let newest = LedgerCoverage::of(Version::NEWEST, &suite, &vectors).rows;
    let played: BTreeSet<&str> =
        newest.iter().filter(|row| !row.scenarios.is_empty()).map(|row| row.rule.id).collect();
    for ledger in RequirementLedger::all().filter(|it| it.version != Version::ACP_1) {
        for row in LedgerCoverage::of(ledger.version, &suite, &vectors).rows {
            let (place, rule) = (format!("{} {}", ledger.version, row.rule.id), row.rule);
            let Some(observation) = rule.observation else {
                // The interpretations of a version's specification apply to all parties.
                let reading = rule.id.starts_with("reading.");
                let client = rule.party == BoundParty::Client;
                assert!(!client || reading || rule.excluded.is_some(), "{place}: not observed");
                continue;
            };
            assert_eq!(rule.party, BoundParty::Client, "{place}");
            let checked = !row.checks.is_empty();
            let judged = checked || played.contains(rule.id) || !row.scenarios.is_empty();
            assert_eq!(judged, rule.excluded.is_none(), "{place}: a test of it is missing or new");
            assert_eq!(checked, observation.needs == ObservationNeed::Capture, "{place}");
        }
    }
}

/// Checks that the weight of each check is the greatest weight of its requirements.
#[test]
fn checks_of_clients_weigh_as_the_ledger_says() {
    for check in checks_of(ProtocolStandard::Ahp, JudgedParty::Clients) {
        let rules = check.requirements.iter().filter_map(|id| RequirementLedger::look_up(id));
        let heaviest = rules.map(|rule| rule.weight).max().unwrap_or(Weight::Note);
        assert_eq!(check.weight, heaviest, "{}", check.id);
    }
}

#[test]
fn every_requirement_above_a_note_is_covered() {
    for version in [Version::V1_0, Version::V0_9] {
        let coverage =
            LedgerCoverage::of(version, &ScenarioSuite::all_carried(), &vector::carried());
        let open = coverage.open(Weight::Should);
        let names: Vec<_> = open.iter().map(|row| row.rule.id).collect();
        assert!(names.is_empty(), "{version}: {names:?}");
    }
}

/// The MUST, essential and SHOULD requirements that no check, scenario or vector tests on a foreign host with
/// every capability.
const UNREACHED: &str = include_str!("../files/unreached.txt");

#[test]
fn no_further_requirement_is_untestable_on_foreign_hosts() {
    let (suite, vectors) = (carried(), vector::carried());
    let mut found = BTreeSet::new();
    for &version in Version::played() {
        let coverage = LedgerCoverage::of(version, suite, &vectors);
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
    let (suite, vectors) = (carried(), vector::carried());
    let coverage = LedgerCoverage::of(Version::V1_0, suite, &vectors);
    let row = |id: &str| coverage.rows.iter().find(|row| row.rule.id == id).unwrap();
    // A requirement about turns needs an agent that plays scripts; a requirement about the handshake does not.
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

//! Tests that the suite for clients can fail: every scenario fails with at least one injected fault, and clients that
//! do nothing pass no scenario.

use ahp_harness::ledger::RequirementLedger;
use ahp_harness::peer::null_client::{NullClient, NullClientBehaviour};
use ahp_harness::peer::reference::fault::{FAULTS, Fault};
use ahp_harness::peer::reference::variant::{VARIANTS, VariantClient};
use ahp_harness::run::client_mutants::{client_for, earns_nothing, play_all, play_with, playable};
use ahp_harness::run::kills::KillDepth;
use ahp_harness::run::suite::ScenarioSuite;
use ahp_harness::verdict::Status;
use ahp_harness::wire::version::Version;

fn on_all_cores(work: &(dyn Fn() + Sync)) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
}

#[test]
fn every_fault_of_a_client_is_detected_and_every_scenario_can_fail() {
    let suite = ScenarioSuite::of_clients();
    let faults: Vec<Fault> = FAULTS.iter().map(|row| row.fault).collect();
    // With each fault, scenarios are played only until everything in the row of the fault has failed. The command
    // `client mutants` plays all scenarios and also judges all other failures, which takes a minute.
    let matrix = play_all(&suite, Version::V1_0, &faults, KillDepth::Caught, on_all_cores);
    let broken = matrix.broken(&suite);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// No rule may report a finding for a choice that the protocol leaves to a client.
#[test]
fn no_rule_accuses_a_legal_variant() {
    let version = Version::V1_0;
    let entries = playable(&ScenarioSuite::of_clients(), version);
    let mut accused = Vec::new();
    for variant in VARIANTS {
        let mut passed = 0;
        for entry in &entries {
            let mut client = VariantClient::new(client_for(entry, &[]), variant);
            let verdict = play_with(entry, version, &mut client);
            passed += usize::from(verdict.status == Status::Pass);
            let findings = verdict.checks.iter().flat_map(|check| &check.findings);
            accused.extend(
                findings.map(|it| format!("{}: {}: {}", variant.name, it.check, it.message)),
            );
            if matches!(verdict.status, Status::Fail | Status::Warn | Status::Note) {
                accused
                    .push(format!("{}: {}: {}", variant.name, entry.scenario.id, verdict.reason));
            }
        }
        assert!(2 * passed > entries.len(), "{}: only {passed} scenarios passed", variant.name);
    }
    assert!(accused.is_empty(), "\n{}", accused.join("\n"));
}

/// Scenarios that need an optimistic state are skipped for a client without one. They do not end with a failed premise.
#[test]
fn a_client_without_an_optimistic_state_is_not_asked_for_one() {
    let version = Version::V1_0;
    let variant = VARIANTS.iter().find(|it| it.name == "not-optimistic").unwrap();
    let mut skipped = 0;
    for entry in playable(&ScenarioSuite::of_clients(), version) {
        let mut client = VariantClient::new(client_for(&entry, &[]), variant);
        let verdict = play_with(&entry, version, &mut client);
        let (id, reason) = (&entry.scenario.id, &verdict.reason);
        let fine = matches!(verdict.status, Status::Pass | Status::Skip);
        assert!(fine, "{id}: {:?} {reason}", verdict.status);
        skipped += u32::from(verdict.status == Status::Skip);
    }
    assert!(skipped > 10, "{skipped}");
}

/// If a client that does nothing passed a scenario, the scenario would test nothing.
#[test]
fn null_clients_pass_no_scenario() {
    const UNSERVED: [&str; 2] = [
        "client/resources/files-of-the-machine-are-refused",
        "client/resources/nothing-served-is-refused",
    ];
    let version = Version::V1_0;
    let entries = playable(&ScenarioSuite::of_clients(), version);
    assert!(!entries.is_empty());
    for behaviour in NullClientBehaviour::ALL {
        for entry in &entries {
            let mut client = NullClient::new(*behaviour, &version.to_string());
            let verdict = play_with(entry, version, &mut client);
            let (id, reason) = (&entry.scenario.id, &verdict.reason);
            // A client that sends messages passes the scenarios about these messages: a client that performs handshakes
            // passes the scenarios about handshakes, and a client that also answers every request with an error passes
            // the scenarios about responses and about files that it does not serve.
            let done = id.starts_with("client/handshake/")
                || (*behaviour == NullClientBehaviour::GreetsAndRefuses
                    && (id.starts_with("client/requests/") || UNSERVED.contains(&id.as_str())));
            let earned = if behaviour.sends() {
                verdict.status == Status::Pass && !done
            } else {
                !earns_nothing(&verdict)
            };
            assert!(!earned, "{behaviour:?} {id}: {:?} {reason}", verdict.status);
        }
    }
}

/// The reference client uses the vocabulary of each version in its commands, states and frames.
#[test]
fn the_reference_client_passes_at_every_version() {
    for version in Version::played().iter().copied().filter(|it| it.to_string().contains('.')) {
        for entry in playable(&ScenarioSuite::of_clients(), version) {
            let verdict = play_with(&entry, version, &mut client_for(&entry, &[]));
            let id = &entry.scenario.id;
            let fine = matches!(verdict.status, Status::Pass | Status::Skip);
            assert!(fine, "{version} {id}: {:?} {}", verdict.status, verdict.reason);
        }
    }
}

#[test]
fn requirements_of_client_scenarios_bind_clients() {
    for entry in ScenarioSuite::of_clients().entries {
        for id in &entry.scenario.proves {
            let rule = RequirementLedger::look_up(id);
            let party = rule.map(|rule| rule.party.to_string());
            assert_eq!(party.as_deref(), Some("client"), "{}: {id}", entry.scenario.id);
        }
    }
}

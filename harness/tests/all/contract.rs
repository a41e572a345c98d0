//! Tests of the contract vectors (`contract/vectors.json`): the reference host's own agent follows the contract, and
//! `agent check` names the step in which a provider fails.
#![cfg(feature = "cli")]
#![expect(clippy::expect_used, reason = "a test that cannot play has failed")]

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::fault::HostFault;
use ahp_harness::run::contract::{ContractVector, StepResult, vectors};
use ahp_harness::run::play::{CountingRecorder, ScenarioPlay};
use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::sim;
use ahp_harness::wire::version::Version;

/// Plays a vector with an agent that has these faults and returns the results of the steps.
fn play(vector: &ContractVector, faults: &[HostFault]) -> Vec<StepResult> {
    let entry = vector.entry().expect("a scenario");
    let version = Version::NEWEST;
    let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
    let scenario = Arc::clone(&entry.scenario);
    let setup = CaseSetup::of(&scenario, version, 1, epoch, Duration::from_secs(2));
    let play = ScenarioPlay::new(setup, false, Box::new(CountingRecorder::default()));
    let mut host = RefHost::new(HostConfig { faults: faults.to_vec(), ..HostConfig::default() });
    vector.results(&sim::play(play, &mut host))
}

fn keeps(results: &[StepResult]) -> bool {
    results.iter().all(StepResult::is_well)
}

#[test]
fn the_reference_hosts_agent_keeps_the_contract() {
    let vectors = vectors();
    assert!(vectors.len() > 20);
    for vector in vectors {
        let results = play(&vector, &[]);
        assert!(keeps(&results), "{}: {results:?}\n{}", vector.name, vector.text);
        assert!(results.contains(&StepResult::Held), "{}", vector.name);
    }
}

/// Checks that agents with faults fail the vectors, because a vector that no agent can fail would be useless.
#[test]
fn an_agent_that_breaks_the_contract_is_noticed() {
    let check = |fault: HostFault, name: &str| {
        let vectors = vectors();
        let vector = vectors.iter().find(|vector| vector.name == name).expect(name);
        let results = play(vector, &[fault]);
        assert!(!keeps(&results), "{}", fault.name());
        assert!(
            results.iter().any(|it| matches!(it, StepResult::Broken(_))),
            "{}: {results:?}",
            fault.name()
        );
    };
    check(HostFault::DeltaBeforePart, "text comes as one part");
    check(HostFault::RunsAfterDenial, "a denied call does not run, and the turn goes on");
    check(HostFault::ToolRunsTwice, "a call that nobody is asked about runs once");
    check(HostFault::TurnNeverEnds, "tokens are reported");
    check(HostFault::CallsTheAbsent, "a client's tool is the client's to run");
    check(HostFault::ErrorCompletesTurn, "a failure ends the turn, and nothing after it happens");
}

/// Runs `agent check` on a host with these options and returns the exit code and the output.
fn checked(version: &str, more: &[&str]) -> (Option<i32>, String) {
    let own = env!("CARGO_BIN_EXE_ahp-harness");
    let serve =
        format!("'{own}' serve --listen 127.0.0.1:{{port}} --spec {version} {}", more.join(" "));
    let arguments = ["agent", "check", "--spec", version, "--command", &serve];
    let output = Command::new(own).args(arguments).output();
    let output = output.expect("the harness");
    let text = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    (output.status.code(), text.concat())
}

#[test]
fn a_provider_that_keeps_the_contract_passes_over_sockets() {
    for version in ["1.0.0", "0.9.0", "0.5.2"] {
        let (code, said) = checked(version, &[]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("21 vectors"), "{said}");
    }
}

#[test]
fn the_step_that_a_provider_gets_wrong_is_named() {
    let (code, said) = checked("1.0.0", &["--fault", "runs-after-denial"]);
    assert_eq!(code, Some(1), "{said}");
    let after = said.split("FAIL a denied call does not run").nth(1).expect("the vector");
    let vector = after.split("\nFAIL ").next().unwrap_or_default();
    let vector = vector.split("\npass ").next().unwrap_or_default();
    let step = vector.lines().find(|line| line.trim_start().starts_with("FAIL"));
    let step = step.expect("the step");
    assert!(
        step.contains("expected `chat/responsePart`")
            && step.contains("chat/toolCallContentChanged"),
        "{vector}"
    );
    assert!(said.contains("pass text comes as one part"), "{said}");
}

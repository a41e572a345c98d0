//! Tests of observers: every built-in scenario gives the same result with and without observers, the same seed
//! gives the same transcript, and observers lead to far more comparisons of snapshots.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::fault::HostFault;
use ahp_harness::run::play::{ScenarioPlay, ScenarioVerdict};
use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::sim;
use ahp_harness::run::suite::SuiteEntry;
use ahp_harness::verdict::Status;

use crate::common::priority;
use crate::common::sheet::SharedSheet;
use crate::common::suite::carried;

const EPOCH: Duration = Duration::from_secs(1_767_225_600);

fn play(entry: &SuiteEntry, observe: bool) -> (ScenarioVerdict, String) {
    play_on(entry, observe, Vec::new())
}

fn play_on(entry: &SuiteEntry, observe: bool, faults: Vec<HostFault>) -> (ScenarioVerdict, String) {
    let scenario = Arc::clone(&entry.scenario);
    let config = HostConfig { faults, ..sim::settings(&scenario, 1, EPOCH) };
    let version = config.versions[0];
    let limit = Duration::from_secs(2);
    let setup = CaseSetup {
        observe,
        facts: sim::facts(&scenario, version),
        ..CaseSetup::of(&scenario, version, 1, EPOCH, limit)
    };
    let sheet = SharedSheet::default();
    let play = ScenarioPlay::new(setup, false, Box::new(sheet.clone()));
    let verdict = sim::play(play, &mut RefHost::new(config));
    (verdict, sheet.lines().join("\n"))
}

fn compared(verdict: &ScenarioVerdict) -> u64 {
    let state = verdict.checks.iter().filter(|check| check.check == "state.snapshot-agrees");
    state.map(|check| check.observations).sum()
}

#[test]
fn observers_change_no_verdict() {
    priority::lower();
    let (mut with, mut without) = (0, 0);
    for entry in &carried().entries {
        let id = &entry.scenario.id;
        let (plain, _) = play(entry, false);
        let (observed, text) = play(entry, true);
        assert_eq!(observed.status, plain.status, "{id}: {}", observed.reason);
        let worst = |verdict: &ScenarioVerdict| -> Vec<String> {
            let findings = verdict.checks.iter().flat_map(|check| &check.findings);
            let bad = findings.filter(|finding| finding.weight.broken() != Status::Note);
            bad.map(|finding| format!("{}: {}", finding.check, finding.message)).collect()
        };
        assert_eq!(worst(&observed), worst(&plain), "{id}\n{text}");
        // If the scenario reaches its last step, the last observer connects after that step.
        let newest = HostConfig::default().versions[0];
        let ended = plain.status != Status::Pass || !entry.scenario.spec.includes(newest);
        assert!(text.contains("observing-1") || ended, "{id}: nobody came");
        let (_, again) = play(entry, true);
        assert_eq!(text, again, "{id}: the same seed, another transcript");
        with += compared(&observed);
        without += compared(&plain);
    }
    assert!(with > 2 * without, "{with} snapshots compared, {without} without observers");
}

/// Checks that an observer finds a stale snapshot. With only one subscriber and no observer, no snapshots are compared.
/// An observer requests another snapshot, which is compared with the first one.
#[test]
fn observers_detect_a_stale_snapshot() {
    priority::lower();
    let found = |observe: bool| -> BTreeSet<String> {
        let suite = carried();
        let wrong = suite.entries.iter().filter(|entry| {
            let faults = vec![HostFault::SnapshotStale];
            let (verdict, _) = play_on(entry, observe, faults);
            verdict
                .checks
                .iter()
                .any(|check| check.check == "state.snapshot-agrees" && !check.findings.is_empty())
        });
        wrong.map(|entry| entry.scenario.id.clone()).collect()
    };
    let (with, without) = (found(true), found(false));
    assert!(with.is_superset(&without), "{:?}", without.difference(&with));
    assert!(with.len() > without.len() + 10, "{} with, {} without", with.len(), without.len());
}

//! Property tests of clients and the reference host, in virtual time with delayed delivery: for all actions of the
//! clients, the conversation follows the rules and no check reports a finding.
//!
//! A failure prints the shortest failing conversation. `PROPTEST_CASES=2000` and `PROPTEST_RNG_SEED=<n>` extend the
//! search.

use std::collections::BTreeSet;

use ahp_harness::oracle::{Oracle, OracleOptions};
use ahp_harness::transcript::TranscriptEntry;
use ahp_harness::verdict::Weight;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::common::cases::cases;
use crate::common::pair::play;
use crate::common::step::scripts;

/// Returns the findings of the always-on checks for the events that the clients saw.
fn accusations(entries: &[TranscriptEntry]) -> Vec<String> {
    let mut oracle = Oracle::new(OracleOptions::default());
    for entry in entries {
        oracle.observe(entry);
    }
    let heavy = |weight: Weight| matches!(weight, Weight::Must | Weight::Essential);
    let reports = oracle.finish();
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings
        .filter(|finding| heavy(finding.weight))
        .map(|finding| format!("{} {} {:?}", finding.check, finding.message, finding.lines))
        .collect()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn the_reference_host_has_no_finding_for_random_clients(script in scripts(60)) {
        let pair = play(&script);
        prop_assert!(!pair.said.is_empty());
        prop_assert_eq!(accusations(&pair.entries), Vec::<String>::new());
    }
}

/// The behaviours that the conversations must cover, so that the property test is meaningful.
const COVERED: &[&str] = &[
    "0.9.0",
    "1.0.0",
    "replay",
    "snapshot",
    "chat/turnStarted",
    "chat/turnStarted refused",
    "chat/turnComplete",
    "chat/turnCancelled",
    "chat/turnCancelled refused",
    "chat/turnResume",
    "chat/error",
    "chat/truncated",
    "chat/delta refused",
    "chat/toolCallConfirmed",
    "chat/toolCallConfirmed refused",
    "chat/toolCallResultConfirmed",
    "chat/toolCallComplete",
    "chat/inputCompleted",
    "chat/inputCompleted refused",
    "chat/pendingMessageSet",
    "chat/pendingMessageRemoved",
    "chat/draftChanged",
    "session/titleChanged",
    "session/chatAdded",
    "session/chatRemoved",
    "session/activeClientSet",
    "session/configChanged refused",
    "root/configChanged",
];

#[test]
fn random_plays_cover_enough_actions() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..250 {
        let script = scripts(60).new_tree(&mut runner).unwrap().current();
        for said in play(&script).said {
            let envelope = said.message.params();
            let kind = envelope["action"]["type"].as_str().unwrap_or_default();
            let refused = if envelope["rejectionReason"].is_null() { "" } else { " refused" };
            seen.insert(format!("{kind}{refused}"));
            seen.insert(said.version.to_string());
            let result =
                said.message.result().filter(|_| said.answers.as_deref() == Some("reconnect"));
            seen.extend(result.and_then(|result| result["type"].as_str()).map(str::to_owned));
        }
    }
    let lacking: Vec<&&str> = COVERED.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(lacking.is_empty(), "never seen: {lacking:?}");
}

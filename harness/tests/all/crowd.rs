//! Tests the reference host with many clients: the checks report no finding, and observe every rule that these
//! clients can exercise. The bench `crowd` does the same with 32 clients and 100,000 actions, and measures the
//! memory.

use crate::common::crowd::TestCrowd;

const CLIENTS: u32 = 8;
const ACTIONS: u64 = 400;
/// The checks that the conversation of many clients must exercise.
const TESTED: &[&str] = &[
    "sequence.grows",
    "sequence.one-envelope",
    "sequence.causal",
    "fanout.complete",
    "dispatch.settled-once",
    "dispatch.in-order",
    "state.snapshot-agrees",
    "turns.one-end",
    "turns.unique-ids",
    "reconnect.replay-complete",
];

#[test]
fn a_crowd_of_clients_has_no_finding() {
    let mut crowd = TestCrowd::new(CLIENTS);
    (0..ACTIONS).for_each(|number| crowd.act(number));
    assert!(crowd.seq > ACTIONS, "{}", crowd.seq);
    let (findings, reports) = crowd.finish();
    assert!(findings.is_empty(), "{:#?}", findings.first());
    for report in reports {
        assert!(report.findings.is_empty(), "{:#?}", report.findings.first());
        let tested = !TESTED.contains(&report.check) || report.observations > 0;
        assert!(tested, "{} was not tested", report.check);
    }
}

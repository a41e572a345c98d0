//! A crowd of clients at the reference host: nobody is accused, and every rule that they can put to
//! the test is. The bench `crowd` does the same for 32 clients and 100,000 actions, and looks at the
//! memory.

#[path = "common/crowd.rs"]
mod crowd;

use crowd::TestCrowd;

const CLIENTS: u32 = 8;
const ACTIONS: u64 = 400;
/// What the crowd brings about.
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
fn nobody_is_accused() {
    let mut crowd = TestCrowd::new(CLIENTS);
    (0..ACTIONS).for_each(|number| crowd.act(number));
    assert!(crowd.seq > ACTIONS, "{}", crowd.seq);
    let (findings, reports) = crowd.finish();
    assert!(findings.is_empty(), "{:#?}", findings.first());
    for report in reports {
        assert!(report.findings.is_empty(), "{:#?}", report.findings.first());
        let tested = !TESTED.contains(&report.check) || report.observations > 0;
        assert!(tested, "{} was not put to the test", report.check);
    }
}

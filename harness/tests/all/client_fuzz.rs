//! Tests that generated conversations find injected faults that corrupt a client's state, and report no finding for a
//! client without faults.

use ahp_harness::arb::client_conversation::ClientConversations;
use ahp_harness::arb::client_ground::{ClientGround, GroundTrial};
use ahp_harness::arb::embedded::now;
use ahp_harness::arb::shrink::{MAX_TRIES, shrink};
use ahp_harness::peer::reference::fault::Fault;
use ahp_harness::peer::reference::variant::VARIANTS;
use ahp_harness::wire::version::Version;

fn conversations(version: Version) -> ClientConversations {
    ClientConversations {
        version,
        reconnects: true,
        dispatches: true,
        unsubscribes: true,
        left_out: Vec::new(),
    }
}

/// Plays conversations until one has a finding. Returns the number of this conversation, and the number of steps of the
/// smallest conversation that still shows the finding.
fn hunt(fault: Fault, limit: u64) -> Option<(u64, usize)> {
    let version = Version::V1_0;
    let ground = ClientGround { faults: vec![fault], ..ClientGround::honest(version) };
    (0..limit).find_map(|number| {
        let draft = conversations(version).draft(1, number)?;
        let finding = ground.found(&draft).into_iter().next()?;
        let mut trial = GroundTrial { ground: &ground, key: &finding.key };
        let small = now(shrink(draft, &mut trial, MAX_TRIES));
        Some((number, small.steps.len()))
    })
}

#[test]
fn generated_conversations_find_the_faults_that_spoil_a_state() {
    const FAULTS: &[Fault] = &[
        Fault::RejectionsApplied,
        Fault::OwnRejectionsApplied,
        Fault::OwnRejectionsIgnored,
        Fault::OldApplied,
        Fault::EarlyDropped,
        Fault::EarlyApplied,
        Fault::ReconnectSnapshotsIgnored,
        Fault::PendingKept,
        Fault::OwnPayloadKept,
        Fault::ForeignDropped,
        Fault::EchoIgnored,
        Fault::NullOriginDropped,
        Fault::ForeignOnTop,
        Fault::ReplayIgnored,
        Fault::EchoKeepsPending,
        Fault::ShownStale,
    ];
    let missed: Vec<_> = FAULTS.iter().filter(|fault| hunt(**fault, 300).is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn generated_conversations_accuse_no_client_without_a_fault() {
    for version in [Version::V1_0, Version::V0_9, Version::V0_4, Version::V0_2] {
        let ground = ClientGround::honest(version);
        let mut held = 0;
        for number in 0..300 {
            let draft = conversations(version).draft(2, number).unwrap();
            let (findings, observations) = ground.played(&draft);
            assert!(findings.is_empty(), "{version} {number}: {findings:?}\n{}", draft.text());
            held += observations;
        }
        assert!(held > 500, "{version}: {held} comparisons");
    }
}

#[test]
fn generated_conversations_accuse_no_legal_variant() {
    let version = Version::V1_0;
    for variant in VARIANTS {
        let ground = ClientGround { variant: Some(variant), ..ClientGround::honest(version) };
        for number in 0..20 {
            let draft = conversations(version).draft(3, number).unwrap();
            let findings = ground.found(&draft);
            let name = variant.name;
            assert!(findings.is_empty(), "{name} {number}: {findings:?}\n{}", draft.text());
        }
    }
}

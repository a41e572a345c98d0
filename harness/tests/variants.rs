//! No rule is reported broken on a host that makes another legal choice: a fixed part of what
//! `ahp-harness variants` plays.

use ahp_harness::host::variant::{VARIANTS, VariantRow};
use ahp_harness::run::suite::Suite;
use ahp_harness::run::variants::{VariantPlayer, VariantResult, VariantTrial};
use ahp_harness::wire::version::Version;

/// Each variant plays one part of so many.
const PARTS: usize = 24;

fn play(
    suite: &Suite,
    version: Version,
    rows: &[&'static VariantRow],
    share: impl Fn(usize) -> bool,
) -> VariantResult {
    let mut trial = VariantTrial::begin(version, rows, VariantPlayer::in_memory())
        .expect("the host has these variants");
    trial.play_suite(suite, share).expect("the suite can be played");
    trial.end()
}

fn nobody_is_accused(result: &VariantResult) {
    assert!(result.accused.is_empty(), "{:?}: {:#?}", result.variants, result.accused);
}

#[test]
fn each_variant_keeps_every_rule() {
    let suite = Suite::carried();
    for (number, row) in VARIANTS.iter().enumerate() {
        let result = play(&suite, Version::V1_0, &[row], |place| place % PARTS == number % PARTS);
        assert!(result.held > 0, "{}: nothing was played", row.name);
        // A feature that is no longer detected is no longer tested.
        assert!(row.offers_less || result.lost.is_empty(), "{}: {:?}", row.name, result.lost);
        nobody_is_accused(&result);
    }
}

#[test]
fn several_variants_keep_every_rule_together() {
    let suite = Suite::carried();
    for version in [Version::V1_0, Version::V0_3] {
        let rows: Vec<&VariantRow> = VARIANTS.iter().filter(|row| row.since <= version).collect();
        for (number, rows) in rows.chunks(6).enumerate() {
            let result = play(&suite, version, rows, |place| place % PARTS == number);
            assert!(result.held > 0, "{:?}: nothing was played", result.variants);
            nobody_is_accused(&result);
        }
    }
}

/// What was wrong when a variant was first played.
#[test]
fn what_was_accused_once_is_not_accused_again() {
    const FOUND: &[(&str, Version, &str)] = &[
        ("numbers-with-fraction", Version::V1_0, "handshake/version-is-an-offered-text"),
        (
            "ids-with-fraction",
            Version::V1_0,
            "subscriptions/a-dispatch-right-after-a-subscription-comes-back",
        ),
        ("extension-members", Version::V1_0, "input/one-answer-counts"),
        ("extension-members", Version::V1_0, "order/everything-agrees-at-rest"),
        ("extension-members", Version::V1_0, "terminals/commands-come-in-pairs"),
        ("extension-members", Version::V0_3, "watches/filters-hold"),
        ("text-in-small-pieces", Version::V1_0, "reconnect/turn-twice-away"),
        ("slow-answers", Version::V1_0, "tools/result-of-a-client-waits-for-its-approval"),
        ("without-forks", Version::V1_0, "chats/side-chats-that-no-agent-offers-are-refused"),
        ("a-locked-agent-first", Version::V1_0, "auth/a-token-opens-the-agent"),
        ("empty-lists", Version::V1_0, "auth/a-token-opens-the-agent"),
        ("agents-reversed", Version::V1_0, "metadata/the-first-directory-stays"),
    ];
    /// What was accused, and now cannot be tested on such a host.
    const UNTESTED: &[(&str, &str)] = &[
        ("one-simple-agent", "metadata/what-there-is-is-told-anew"),
        ("without-risk-assessments", "tools/what-is-said-of-a-call-stays-with-it"),
        ("other-texts-of-tools", "tools/what-is-said-of-a-call-stays-with-it"),
        ("without-background-work", "chats/what-runs-by-itself-can-be-watched"),
    ];
    let play_one = |variant: &str, version, scenario: &str| {
        let mut suite = Suite::carried();
        suite.entries.retain(|entry| entry.scenario.id == scenario);
        assert_eq!(suite.entries.len(), 1, "{scenario}");
        let row = VariantRow::named(variant).expect(variant);
        let result = play(&suite, version, &[row], |_| true);
        nobody_is_accused(&result);
        result
    };
    for (variant, version, scenario) in FOUND {
        let result = play_one(variant, *version, scenario);
        assert!(result.untested.is_empty(), "{variant}: {:?}", result.untested);
    }
    for (variant, scenario) in UNTESTED {
        play_one(variant, Version::V1_0, scenario);
    }
}

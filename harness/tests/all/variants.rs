//! Tests that no rule is reported as broken for a legal variant of a host or an agent: a fixed part of
//! `ahp-harness variants` and `ahp-harness variants --acp`.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_harness::agent::acp::AgentConfig;
use ahp_harness::agent::acp::variant::{AGENT_VARIANTS, AgentVariantRow};
use ahp_harness::host::subject::AgentSubject;
use ahp_harness::host::variant::{VARIANTS, VariantRow};
use ahp_harness::run::play::TranscriptRecorder;
use ahp_harness::run::suite::{CarriedFiles, ScenarioSuite, SuiteEntry};
use ahp_harness::run::variants::{VariantPlayer, VariantResult, VariantTrial};
use ahp_harness::run::{agent_variants, agents, sim};
use ahp_harness::transcript::ConnectionEvent;
use ahp_harness::wire::version::Version;

use crate::common::priority;
use crate::common::suite::{carried, only};

/// The number of parts of the suite; each variant plays one part.
const PARTS: usize = 24;

fn play(
    suite: &ScenarioSuite,
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
    priority::lower();
    let suite = carried();
    let mut idle = Vec::new();
    for (number, row) in VARIANTS.iter().enumerate() {
        let rows = [row];
        let mut trial = VariantTrial::begin(Version::V1_0, &rows, VariantPlayer::in_memory())
            .expect("the host has this variant");
        trial.compare().expect("the usual host can be played");
        trial
            .play_suite(suite, |place| place % PARTS == number % PARTS)
            .expect("the suite can be played");
        // A variant that changes no frame would prove nothing. Some change only a few scenarios.
        for part in (0..PARTS).filter(|part| *part != number % PARTS) {
            if trial.changed() > 0 {
                break;
            }
            trial
                .play_suite(suite, |place| place % PARTS == part)
                .expect("the suite can be played");
        }
        let result = trial.end();
        if result.is_idle() {
            idle.push(row.name);
        }
        assert!(result.held > 0, "{}: nothing was played", row.name);
        // If a variant hid a capability, the scenarios about this capability would not be played.
        assert!(row.offers_less || result.lost.is_empty(), "{}: {:?}", row.name, result.lost);
        nobody_is_accused(&result);
    }
    assert!(
        idle.is_empty(),
        "expected each variant to change a frame of some scenario, found {idle:?}"
    );
}

#[test]
fn several_variants_keep_every_rule_together() {
    priority::lower();
    let suite = carried();
    for version in [Version::V1_0, Version::V0_3] {
        let rows: Vec<&VariantRow> = VARIANTS.iter().filter(|row| row.since <= version).collect();
        for (number, rows) in rows.chunks(6).enumerate() {
            let result = play(suite, version, rows, |place| place % PARTS == number % PARTS);
            assert!(result.held > 0, "no scenario can be played with {:?}", result.variants);
            nobody_is_accused(&result);
        }
    }
}

/// Plays variants for which a check has reported a false finding in the past.
#[test]
fn earlier_false_findings_about_variants_do_not_return() {
    priority::lower();
    const FOUND: &[(&str, Version, &str)] = &[
        ("numbers-with-fraction", Version::V1_0, "handshake/version-is-an-offered-text"),
        ("numbers-with-fraction", Version::V1, "auth/a-token-opens-the-agent"),
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
        ("chats-in-one-form-only", Version::V1_0, "sessions/further-chats-come-and-go"),
        ("a-slow-client+slow-answers", Version::V1_0, "chats/what-runs-by-itself-can-be-watched"),
        ("agents-reversed", Version::V1_0, "metadata/the-first-directory-stays"),
        ("creating-for-a-second", Version::V1_0, "turns/what-a-message-carries-is-kept"),
    ];
    /// Scenarios that had a false finding in the past, and that the named variant makes untestable now.
    const UNTESTED: &[(&str, &str)] = &[
        ("one-simple-agent", "metadata/what-there-is-is-told-anew"),
        ("without-risk-assessments", "tools/what-is-said-of-a-call-stays-with-it"),
        ("other-texts-of-tools", "tools/what-is-said-of-a-call-stays-with-it"),
        ("without-background-work", "chats/what-runs-by-itself-can-be-watched"),
        ("reasoning-is-not-shown", "order/host-and-clients-agree-at-the-end"),
        ("needs-no-approval", "order/denial-meets-denial"),
        ("needs-no-approval", "tools/failure-of-one-spares-the-other"),
        ("asks-about-every-tool", "tools/tool-of-nobody-holds-up-nothing"),
        ("asks-about-every-result", "chats/workers-of-workers-come-to-an-end"),
        ("asks-about-every-result", "tools/confirmation-names-a-pending-call"),
        ("asks-about-every-result", "tools/failure-does-not-end-the-turn"),
        ("asks-about-every-result", "tools/parallel-calls-are-independent"),
        ("asks-twice", "below/a-denied-call-never-reaches-its-tool"),
        ("asks-twice", "reconnect/turn-waits-for-its-only-client"),
        ("late-files+slow-answers+replays-little+one-agent+asks-twice", "tools/confirmed-once"),
    ];
    let play_one = |variant: &str, version, scenario: &str| {
        let suite = only(scenario);
        let rows = variant.split('+').map(|name| VariantRow::named(name).expect(name));
        let rows: Vec<&VariantRow> = rows.collect();
        let result = play(&suite, version, &rows, |_| true);
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

/// Plays a scenario, given as a string, against a host with legal variants. `variants` lists their names, separated
/// by `+`.
fn play_text(path: &str, text: &str, version: Version, variants: &str) {
    let suite = ScenarioSuite::of([(path.to_owned(), text.to_owned())], &CarriedFiles);
    assert_eq!(suite.entries.len(), 1, "{:?}", suite.broken);
    let rows = variants.split('+').map(|name| VariantRow::named(name).expect(name));
    let rows: Vec<&VariantRow> = rows.collect();
    let result = play(&suite, version, &rows, |_| true);
    assert_eq!(result.held, 1, "{variants}: {:?}", result.untested);
    nobody_is_accused(&result);
}

/// Checks that the variants about other users' sessions follow the rules: a session that was not in an earlier list
/// would have to be announced.
#[test]
fn sessions_of_other_users_do_not_appear_after_an_empty_list() {
    let text = r#"
scenario: lists/an-empty-list-first
title: The list is empty, and then has the session that was created
clients: [A]
steps:
  - connect: A
  - initialize: { by: A, subscribe: ["ahp-root://"] }
  - request: { by: A, method: listSessions, params: { channel: "ahp-root://" }, result: { items: [] }, proves: root.listSessions.contains-created }
  - open: { by: A }
  - rest: 2s
  - request: { by: A, method: listSessions, params: { channel: "ahp-root://" }, result: {} }
"#;
    for variant in ["other-peoples-sessions", "other-peoples-newest-session"] {
        play_text("lists/an-empty-list-first.yaml", text, Version::V1_0, variant);
    }
}

/// Checks that all subscribers are notified of the same sessions that other users create and remove.
#[test]
fn brief_sessions_of_other_users_are_the_same_for_every_subscriber() {
    let text = r#"
scenario: lists/a-later-subscriber
title: A client that subscribes later hears of the same sessions
spec: "0.3.0"
clients: [A, B, C]
steps:
  - connect: { by: [A, B] }
  - initialize: { by: [A, B], subscribe: ["ahp-root://"], tokens: false }
  - open: { by: [A, B], root: false }
  - open: { by: C, root: true }
  - dispatch: { by: B, channel: "${chat}", action: { duration: 7, turnId: host-echo, type: chat/turnCancelled }, refused: true, proves: dispatch.chat.turnCancelled.no-active }
  - request: { by: C, method: createSession, params: { channel: "ahp-session:/${new made}" }, result: true }
  - rest: 3s
"#;
    let variants = "a-slow-client+other-peoples-brief-sessions";
    play_text("lists/a-later-subscriber.yaml", text, Version::V0_3, variants);
}

/// Checks that a message is split at the same places for every subscriber, because all subscribers receive the same
/// actions.
#[test]
fn texts_in_small_pieces_are_the_same_for_every_subscriber() {
    let text = r#"
scenario: deliveries/divided-and-merged
title: A subscriber that allows a delay receives the texts of the others
agent:
  - say "One" "!"
clients: [A, B]
steps:
  - open: { by: [A, B] }
  - subscribe: { by: B, channel: "${chat}", params: { delivery: { maxLatencyMs: 200 } } }
  - turn: { by: A, id: t1 }
  - expect: { at: [A, B], type: chat/turnComplete, where: { action: { turnId: t1 } } }
  - mirror: { at: [A, B], of: "${chat}", state: { turns: { $length: 1 } }, proves: chat.stream.content-exact }
"#;
    play_text("deliveries/divided-and-merged.yaml", text, Version::V1_0, "text-in-small-pieces");
}

/// Checks that messages may overtake a late response, but that the response does not overtake messages that were sent
/// before it.
#[test]
fn a_late_response_overtakes_no_earlier_message() {
    let text = r#"
scenario: deliveries/late-pongs
title: What was sent before an unsubscription arrives before the answer to a later ping
clients: [A, B]
steps:
  - open: { by: [A, B] }
  - dispatch: { by: B, channel: "${session}", action: { type: session/titleChanged, title: late } }
  - unsubscribe: { by: A, channel: "${session}" }
  - request: { by: A, method: ping, result: true, proves: ping.response }
  - rest: 1s
  - barrier: { by: B, channel: "${session}" }
"#;
    play_text("deliveries/late-pongs.yaml", text, Version::V1_0, "late-pongs+slow-notifications");
}

/// The number of parts of the suite for agents; each variant plays one part.
const AGENT_PARTS: usize = 5;

#[test]
fn each_variant_of_an_agent_keeps_every_rule() {
    let suite = carried();
    for (number, row) in AGENT_VARIANTS.iter().enumerate() {
        let share = |place| place % AGENT_PARTS == number % AGENT_PARTS;
        let result = agent_variants::play(suite, &[row], share);
        assert!(result.held + result.untested.len() > 0, "{}: nothing was played", row.name);
        // If a variant hid a capability, the scenarios about this capability would not be played.
        assert!(
            row.offers_less || result.untested.is_empty(),
            "{}: {:?}",
            row.name,
            result.untested
        );
        nobody_is_accused(&result);
    }
}

#[test]
fn several_variants_of_an_agent_keep_every_rule_together() {
    let suite = carried();
    let all: Vec<&AgentVariantRow> = AGENT_VARIANTS.iter().collect();
    // The combinations are groups of neighbouring rows of the table, which concern the same topic, and groups of
    // distant rows.
    let neighbours = all.chunks(6).map(<[_]>::to_vec);
    let groups = all.len().div_ceil(8);
    let strangers =
        (0..groups).map(|first| all.iter().skip(first).step_by(groups).copied().collect());
    for (number, rows) in neighbours.chain(strangers).enumerate() {
        let rows: Vec<_> = rows;
        let share = |place| place % AGENT_PARTS == number % AGENT_PARTS;
        nobody_is_accused(&agent_variants::play(suite, &rows, share));
    }
}

/// A recorder that keeps the transcript as text.
struct TranscriptText(Arc<Mutex<String>>, u64);

impl TranscriptRecorder for TranscriptText {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut text = self.0.lock().expect("one thread");
        let _ = writeln!(text, "{at:?} {client} {event:?}");
        self.1 += 1;
        self.1
    }
}

/// Returns the transcript of a scenario.
fn kept(entry: &SuiteEntry, rows: &[&'static AgentVariantRow]) -> String {
    let text = Arc::new(Mutex::new(String::new()));
    let recorder = Box::new(TranscriptText(Arc::clone(&text), 0));
    let side = sim::side(Some(Version::ACP_1));
    let mut agent = AgentSubject::varied(AgentConfig::default(), rows);
    agents::play_recorded(entry, &mut agent, side, recorder);
    std::mem::take(&mut *text.lock().expect("one thread"))
}

#[test]
fn each_variant_of_an_agent_changes_some_play() {
    let entries = agents::playable(carried());
    let usual: Vec<_> = entries.iter().map(|entry| kept(entry, &[])).collect();
    for row in AGENT_VARIANTS.iter() {
        let shows = entries.iter().zip(&usual).any(|(entry, usual)| kept(entry, &[row]) != *usual);
        assert!(shows, "{}: no scenario passes in another way", row.name);
    }
}

/// Plays variants of an agent for which a check has reported a false finding in the past.
#[test]
fn earlier_false_findings_about_agents_do_not_return() {
    const FOUND: &[(&[&str], &str)] = &[
        (&["acp-numbers-with-exponent"], "acp/turn/prompt-is-answered"),
        (&["acp-ids-with-fraction"], "acp/turn/prompt-is-answered"),
        (&["rejected-calls-complete"], "acp/permission/reject-once-stops"),
        (&["calls-completed-by-a-cancel"], "acp/cancel/while-asked"),
        (&["released-long-after-the-turn"], "acp/cancel/while-a-terminal-runs"),
        (
            &["cancelled-requests-are-cancels", "acp-sent-in-bursts", "acp-slow-answers"],
            "acp/kinds/search",
        ),
    ];
    /// Scenarios that had a false finding in the past, and that the named variant of the agent makes untestable now.
    const UNTESTED: &[(&str, &str)] = &[
        ("asks-twice", "acp/permission/two-at-a-time"),
        ("asks-twice", "acp/reports/pending-then-in-progress-then-completed"),
    ];
    let play_with = |names: &[&str], scenario: &str| {
        let suite = only(scenario);
        let rows: Vec<_> =
            names.iter().map(|name| AgentVariantRow::named(name).expect(name)).collect();
        let result = agent_variants::play(&suite, &rows, |_| true);
        nobody_is_accused(&result);
        result
    };
    for (names, scenario) in FOUND {
        let result = play_with(names, scenario);
        assert!(result.untested.is_empty(), "{names:?}: {:?}", result.untested);
    }
    for (name, scenario) in UNTESTED {
        let result = play_with(&[name], scenario);
        assert!(!result.untested.is_empty(), "{name}: {scenario} can be tested");
    }
}

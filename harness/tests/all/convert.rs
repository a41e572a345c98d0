//! Tests of the conversion of recorded conversations to scenarios: every built-in scenario is played and
//! recorded, the recording is converted, and the resulting scenario must pass.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp_harness::host::engine::RefHost;
use ahp_harness::record::convert::{ConvertError, ConvertedScenario, scenario};
use ahp_harness::run::play::{ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::sim;
use ahp_harness::scenario::bind::TextPiece;
use ahp_harness::scenario::load::{FileSource, load};
use ahp_harness::scenario::parse::{ParsedScenario, ScenarioStep};
use ahp_harness::transcript::ConnectionEvent;
use ahp_harness::transcript::line::{TranscriptLine, read};
use ahp_harness::verdict::Status;

use crate::common::priority;
use crate::common::suite::carried;

const EPOCH: Duration = Duration::from_secs(1_767_225_600);
/// The scenarios whose recordings have messages that are too long to be converted.
const FLOODS: [&str; 3] = [
    "dispatch/large-payloads-starve-nobody",
    "jsonrpc/huge-frames-harm-nobody-else",
    "transport/a-slow-reader-loses-nothing",
];
/// The seeds of the recorded run and of the second run. They differ, so that every identifier differs.
const SEEDS: [u64; 2] = [1, 2];

/// A recorder that holds the transcript in memory.
#[derive(Clone, Default)]
struct WireSheet(Arc<Mutex<Vec<TranscriptLine>>>);

impl TranscriptRecorder for WireSheet {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut lines = self.0.lock().unwrap();
        let line = TranscriptLine { case: None, at, conn: client.to_owned(), event: event.clone() };
        lines.push(line);
        lines.len() as u64
    }
}

struct NoNames;

impl FileSource for NoNames {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path} is nowhere"))
    }
}

fn play(
    scenario: &Arc<ParsedScenario>,
    seed: u64,
) -> (ScenarioVerdict, Vec<(u64, TranscriptLine)>) {
    let config = sim::settings(scenario, seed, EPOCH);
    let version = config.versions[0];
    let setup = CaseSetup::of(scenario, version, seed, EPOCH, Duration::from_secs(2));
    let sheet = WireSheet::default();
    let play = ScenarioPlay::new(setup, false, Box::new(sheet.clone()));
    let verdict = sim::play(play, &mut RefHost::new(config));
    let lines = sheet.0.lock().unwrap().clone();
    (verdict, (1..).zip(lines).collect())
}

/// Loads a converted scenario, which must have no mistakes.
fn loaded(made: &ConvertedScenario) -> Arc<ParsedScenario> {
    let loaded = load("recorded/x.yaml", &made.text, &NoNames);
    assert_eq!(loaded.errors, [], "{}", made.text);
    Arc::new(loaded.scenario.unwrap())
}

/// The members of steps whose effect is not visible in a recording.
const LOST: &[&str] = &["flood", "mangle", "credentials", "origin"];

/// Returns whether the text of a prompt contains a client identifier, which differs when the recording is
/// played again.
fn names_a_client(step: &ScenarioStep) -> bool {
    let mut named = false;
    if let Some(text) = step.template("text") {
        text.holes(&mut |_, piece| {
            named |= matches!(piece, TextPiece::Use(name) if name.ends_with(".id"));
        });
    }
    named
}

#[test]
fn every_carried_scenario_plays_again() {
    priority::lower();
    let (mut played, mut too_long) = (0, Vec::new());
    for entry in &carried().entries {
        // Some scenarios cannot be restored from a recording. Settings of the host and credentials of a client
        // are not part of the conversation. A flood is too long to be kept. Answers to several malformed
        // requests with the same identifier are ambiguous.
        let lost = |step: &ScenarioStep| step.members.iter().any(|(name, ..)| LOST.contains(name));
        let is_own = !entry.scenario.host.is_empty() || entry.scenario.embedded_only.is_some();
        if is_own || entry.scenario.steps.iter().any(|step| lost(step) || names_a_client(step)) {
            continue;
        }
        let (verdict, lines) = play(&entry.scenario, SEEDS[0]);
        if verdict.status != Status::Pass {
            continue;
        }
        let id = &entry.scenario.id;
        let made = match scenario("recorded/x", lines) {
            Err(ConvertError::TooLong) => {
                too_long.push(id.clone());
                continue;
            }
            made => made.unwrap(),
        };
        let again = loaded(&made);
        let (verdict, _) = play(&again, SEEDS[1]);
        let failure = verdict.failure.as_ref().map(|failure| &failure.label);
        assert_eq!(
            verdict.status,
            Status::Pass,
            "{id}: {} {failure:?}\n{}",
            verdict.reason,
            made.text
        );
        let broken: Vec<_> = verdict
            .checks
            .iter()
            .flat_map(|check| &check.findings)
            .filter(|finding| finding.weight.broken() == Status::Fail)
            .collect();
        assert!(broken.is_empty(), "{id}: {broken:?}\n{}", made.text);
        played += 1;
    }
    assert!(played > 150, "only {played} were played");
    too_long.sort_unstable();
    assert_eq!(too_long, FLOODS);
}

fn made(lines: &[&str]) -> Result<ConvertedScenario, ConvertError> {
    scenario("recorded/x", (1..).zip(lines.iter().map(|line| read(line).unwrap())).collect())
}

#[test]
fn generated_ids_of_a_capture_become_names() {
    let uuid = "11111111-2222-4333-8444-555555555555";
    let shake = r#"{"conn":"x","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","clientId":"me-1","protocolVersions":["1.0.0"]}}}"#;
    let shaken = r#"{"conn":"x","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":7}}}"#;
    let open = format!(
        r#"{{"conn":"x","dir":"c2s","msg":{{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{{"channel":"ahp-session:/{uuid}"}}}}}}"#
    );
    let opened = r#"{"conn":"x","dir":"s2c","msg":{"jsonrpc":"2.0","id":2,"result":{"snapshot":{"state":{"chats":[{"resource":"ahp-chat:/9"}]},"fromSeq":7}}}}"#;
    let act = r#"{"conn":"x","dir":"c2s","msg":{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-chat:/9","clientSeq":1,"action":{"type":"chat/isReadChanged","note":"$5"}}}}"#;
    let echo = r#"{"conn":"x","dir":"s2c","msg":{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/9","serverSeq":8,"origin":{"clientId":"me-1","clientSeq":1},"action":{"type":"chat/isReadChanged"}}}}"#;
    let made = made(&[shake, shaken, &open, opened, act, echo]).unwrap();
    for expected in [
        "requirements:\n  - { id: recorded.again, weight: must, text: ",
        "  - initialize: { by: A, result: {}, proves: recorded.again }\n",
        "      channel: \"ahp-session:/${new session}\"\n",
        "{ resource: \"$bind chat\" }",
        "      channel: \"${chat}\"\n",
        "note: \"$$5\"",
        "      accept: true\n",
    ] {
        assert!(made.text.contains(expected), "expected `{expected}` in\n{}", made.text);
    }
    loaded(&made);
}

#[test]
fn refuses_a_capture_without_messages() {
    assert_eq!(made(&[]).unwrap_err(), ConvertError::Empty);
    assert_eq!(made(&[r#"{"conn":"A","dir":"open"}"#]).unwrap_err(), ConvertError::Empty);
}

//! Tests of failed steps: a claim breaks only its own requirements, a premise breaks none.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::sync::Arc;
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::report::certificate::{HostCertificate, RequirementOutcome};
use ahp_harness::report::event::{CaseReport, FORMAT};
use ahp_harness::report::finished::FinishedRun;
use ahp_harness::run::play::{CountingRecorder, ScenarioPlay};
use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::sim;
use ahp_harness::run::suite::{CarriedFiles, ScenarioSuite, SuiteEntry};
use ahp_harness::verdict::Status;
use ahp_harness::wire::version::Version;

const OPEN: &str = "  - open: { by: [A, B] }\n";
/// The members of two `snapshot` steps: every session has the state in `RIGHT`, and no session has the state in
/// `WRONG`.
const RIGHT: &str = r#"of: "${session}", state: { lifecycle: ready }"#;
const WRONG: &str = r#"of: "${session}", state: { lifecycle: nowhere }"#;
/// Three requirements, one of each weight.
const MUST: &str = "chat.create.source.unknown-chat";
const ESSENTIAL: &str = "subscribe.late-joiner-state";
const NOTE: &str = "chat.turn.error-status";

fn entry(steps: &str) -> SuiteEntry {
    let text = format!("scenario: claims/one\ntitle: t\nclients: [A, B]\nsteps:\n{OPEN}{steps}");
    let mut suite = ScenarioSuite::of([("claims/one.yaml".to_owned(), text)], &CarriedFiles);
    let errors: Vec<String> = suite
        .broken
        .iter()
        .flat_map(|loaded| loaded.errors.iter().map(ToString::to_string))
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{steps}");
    suite.entries.pop().unwrap()
}

fn play(steps: &str) -> CaseReport {
    play_within(steps, Duration::from_millis(100))
}

/// Plays a scenario with this time limit for each wait.
fn play_within(steps: &str, limit: Duration) -> CaseReport {
    let entry = entry(steps);
    let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
    let setup = CaseSetup::of(&entry.scenario, Version::V1_0, 1, epoch, limit);
    let config = sim::settings(&entry.scenario, 0, epoch);
    let play = ScenarioPlay::new(setup, false, Box::new(CountingRecorder::default()));
    CaseReport::of(0, &entry, &sim::play(play, &mut RefHost::new(config)))
}

/// Returns the status of each claim as a word, such as `pass` or `FAIL`.
fn words(report: &CaseReport) -> Vec<&'static str> {
    report.claims.iter().map(|claim| claim.status.word()).collect()
}

fn check(steps: &[String], status: Status, expected: &[&str]) -> CaseReport {
    let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
    let report = play(&steps);
    let claims = format!("{:#?}", report.claims);
    assert_eq!(words(&report), expected, "{steps}{claims}");
    assert_eq!(report.status, status, "{steps}{claims}");
    report
}

fn snapshot(what: &str, rule: &str) -> String {
    let proves = if rule.is_empty() { String::new() } else { format!(", proves: [{rule}]") };
    format!("snapshot: {{ {what}{proves} }}")
}

/// Returns a step that waits for a message that never arrives; the step proves `rule`.
fn nothing(rule: &str, more: &str) -> String {
    format!("expect: {{ at: A, type: chat/usage{more}, proves: [{rule}] }}")
}

#[test]
fn a_failed_claim_breaks_only_its_own_requirements() {
    let steps = [snapshot(WRONG, NOTE), snapshot(RIGHT, MUST)];
    let report = check(&steps, Status::Note, &["note", "pass"]);
    let failure = report.failure.as_ref().unwrap();
    assert_eq!((failure.rule.as_str(), report.observations), (NOTE, 1));
    // The heaviest failed claim decides the status, and the report lists all failed claims.
    let steps = [snapshot(WRONG, NOTE), snapshot(WRONG, ESSENTIAL), snapshot(RIGHT, MUST)];
    let report = check(&steps, Status::Fail, &["note", "FAIL", "pass"]);
    let rules: Vec<&str> = report.failures().map(|failure| failure.rule.as_str()).collect();
    assert_eq!(rules, [ESSENTIAL, NOTE]);
    // A step may test two requirements at once.
    let report =
        check(&[snapshot(WRONG, &format!("{NOTE}, {ESSENTIAL}"))], Status::Fail, &["FAIL"]);
    assert_eq!(report.failure.unwrap().rule, ESSENTIAL);
}

#[test]
fn a_failed_premise_breaks_no_requirement() {
    let steps = [snapshot(RIGHT, MUST), snapshot(WRONG, ""), snapshot(RIGHT, ESSENTIAL)];
    let report = check(&steps, Status::Untested, &["pass", "untested"]);
    assert_eq!(report.failure.as_ref().unwrap().rule, "");
    let why = &report.claims[1].untested.raw();
    assert!(why.contains("earlier step, `snapshot`") && why.contains("nowhere"), "{why}");
    let certificate = certificate(&report);
    assert_eq!(certificate(MUST).0, RequirementOutcome::Pass);
    let (outcome, reason) = certificate(ESSENTIAL);
    assert_eq!(outcome, RequirementOutcome::Untested);
    assert!(reason.contains("nowhere"), "{reason}");
    // The failure of an independent premise has no effect on other steps.
    let lone = "expect: { at: A, type: chat/usage, independent: true }".to_owned();
    check(&[lone, snapshot(RIGHT, MUST)], Status::Pass, &["pass"]);
}

#[test]
fn claims_after_a_choice_of_the_host_are_skipped() {
    let choice = |step: &str| format!("{step}, choice: the host is nowhere }}");
    let other = choice(&format!("snapshot: {{ {WRONG}"));
    let steps = [snapshot(RIGHT, MUST), other.clone(), snapshot(RIGHT, ESSENTIAL)];
    let report = check(&steps, Status::Pass, &["pass", "skip"]);
    let (outcome, reason) = certificate(&report)(ESSENTIAL);
    assert_eq!((outcome, reason.as_str()), (RequirementOutcome::Skip, "the host is nowhere"));
    let report = check(&[other, snapshot(RIGHT, ESSENTIAL)], Status::Skip, &["skip"]);
    assert_eq!(report.reason, "the host is nowhere");
    // A missing message is also a choice of the host; an error or silence is not a choice.
    let wait = choice("await: { at: A, type: chat/usage");
    check(&[wait, snapshot(RIGHT, MUST)], Status::Skip, &["skip"]);
    let forgotten = choice("drop: A\n  - reconnect: { by: A, lastSeen: -1");
    check(&[forgotten, snapshot(RIGHT, MUST)], Status::Skip, &["skip"]);
    let refused = choice("request: { by: A, method: noSuchMethod, result: {}");
    check(&[refused, snapshot(RIGHT, MUST)], Status::Untested, &["untested"]);
    // If the host fulfils the premise, the claims decide the status.
    let held = choice(&format!("snapshot: {{ {RIGHT}"));
    check(&[held, snapshot(RIGHT, MUST)], Status::Pass, &["pass"]);
}

#[test]
fn dropped_messages_leave_a_claim_untested() {
    let flood = |times: usize| {
        format!(
            r#"send: {{ by: B, times: {times}, json: {{ jsonrpc: "2.0", method: dispatchAction, params: {{ channel: "${{session}}", clientSeq: "${{count}}", action: {{ type: session/titleChanged, title: T }} }} }} }}"#
        )
    };
    let barrier = "barrier: { by: B, channel: \"${session}\" }".to_owned();
    check(&[flood(100), barrier.clone(), nothing(ESSENTIAL, "")], Status::Fail, &["FAIL"]);
    let report =
        check(&[flood(20_100), barrier, nothing(ESSENTIAL, "")], Status::Untested, &["untested"]);
    assert!(report.reason.raw().contains("messages were dropped"), "{}", report.reason.raw());
    // A forbidden message is evidence, regardless of the messages that were dropped.
    let never = |kind: &str| format!("never: {{ at: A, type: {kind}, proves: {ESSENTIAL} }}");
    let archive = r#"dispatch: { by: B, channel: "${session}", action: { type: session/isArchivedChanged, isArchived: true } }"#;
    let barrier = |client: &str| format!(r#"barrier: {{ by: {client}, channel: "${{session}}" }}"#);
    for (kind, status, claim) in
        [("session/isArchivedChanged", Status::Fail, "FAIL"), ("chat/usage", Status::Pass, "pass")]
    {
        let flood = [flood(20_100), barrier("B"), barrier("A")];
        let then = [never(kind), archive.to_owned(), barrier("B"), barrier("A")];
        let steps = [flood.as_slice(), then.as_slice()].concat();
        check(&steps, status, &[claim]);
    }
}

#[test]
fn a_missing_message_ends_the_scenario_unless_the_step_is_independent() {
    let steps = [nothing(NOTE, ""), snapshot(RIGHT, ESSENTIAL)];
    check(&steps, Status::Note, &["note", "untested"]);
    let steps = [nothing(NOTE, ", independent: true"), snapshot(RIGHT, ESSENTIAL)];
    check(&steps, Status::Note, &["note", "pass"]);
    let refused =
        format!(r#"request: {{ by: A, method: ping, error: true, proves: {ESSENTIAL} }}"#);
    check(&[refused, snapshot(RIGHT, MUST)], Status::Fail, &["FAIL", "untested"]);
}

#[test]
fn a_message_about_something_else_leaves_later_claims_untested() {
    let title = r#"dispatch: { by: A, channel: "${session}", action: { type: session/titleChanged, title: T } }"#;
    let expect = |pattern: &str| {
        format!(
            "expect: {{ at: A, type: session/titleChanged, where: {{ {pattern} }}, proves: {ESSENTIAL} }}"
        )
    };
    let after = snapshot(RIGHT, MUST);
    // The message arrived with other content, so the later steps can still be tested.
    let other = [title.to_owned(), expect("action: { title: U }"), after.clone()];
    check(&other, Status::Fail, &["FAIL", "pass"]);
    // If the message that arrived is about another client, or is an acceptance although the step expects a rejection,
    // the expected message did not arrive.
    let foreign = expect(r#"origin: { clientId: "${B.id}" }"#);
    let report =
        check(&[title.to_owned(), foreign, after.clone()], Status::Fail, &["FAIL", "untested"]);
    let message = report.failure.unwrap().message.raw().to_owned();
    assert!(message.contains("none came; the closest message has"), "{message}");
    // A message about the same subject is closer to the expectation than a later message about another subject.
    let other = r#"dispatch: { by: B, channel: "${session}", action: { type: session/titleChanged, title: V } }"#;
    let own = expect(r#"origin: { clientId: "${A.id}" }, action: { title: U }"#);
    let steps = [title.to_owned(), other.to_owned(), own, after.clone()];
    let report = check(&steps, Status::Fail, &["FAIL", "untested"]);
    let message = report.failure.unwrap().message.raw().to_owned();
    assert!(
        message.contains(r#"`action.title` `"U"`, none came; the closest message has `"T"`"#),
        "{message}"
    );
    let accepted = expect("rejectionReason: { $matches: .+ }");
    check(&[title.to_owned(), accepted, after], Status::Fail, &["FAIL", "untested"]);
}

#[test]
fn a_failed_binding_affects_only_the_steps_that_use_it() {
    let finds = format!(
        r#"snapshot: {{ of: "${{session}}", state: {{ nowhere: $bind n }}, proves: {NOTE} }}"#
    );
    let uses = format!(
        r#"snapshot: {{ of: "${{session}}", state: {{ title: "${{n}}" }}, proves: {MUST} }}"#
    );
    let report = check(
        &[finds.clone(), uses, snapshot(RIGHT, ESSENTIAL)],
        Status::Note,
        &["note", "untested", "pass"],
    );
    assert!(report.claims[1].untested.raw().contains("`${n}` has no value"), "{report:?}");
    // A later step sends the bound value, so the harness cannot play this step.
    let acts = r#"request: { by: A, method: "subscribe", params: { channel: "${n}" } }"#.to_owned();
    let report =
        check(&[finds, acts, snapshot(RIGHT, ESSENTIAL)], Status::Note, &["note", "untested"]);
    assert!(report.claims[1].untested.raw().contains("`${n}` has no value"), "{report:?}");
    // The name is bound to the answer, even if the answer does not match.
    let answer = format!(
        "request: {{ by: A, method: listSessions, result: {{ nowhere: $present }}, as: list, proves: {NOTE} }}"
    );
    let uses = format!(
        r#"request: {{ by: A, method: ping, params: {{ x: "${{list}}" }}, result: true, proves: {MUST} }}"#
    );
    check(&[answer, uses], Status::Note, &["note", "pass"]);
}

#[test]
fn a_broken_watch_leaves_other_watches_in_place() {
    let title = "dispatch: { by: A, channel: \"${session}\", action: { type: session/titleChanged, title: T } }";
    let never =
        |kind: &str, rule: &str| format!("never: {{ at: [A, B], type: {kind}, proves: {rule} }}");
    let steps = [
        never("session/titleChanged", NOTE),
        never("chat/usage", MUST),
        title.to_owned(),
        "barrier: A".to_owned(),
        snapshot(RIGHT, ESSENTIAL),
    ];
    check(&steps, Status::Note, &["note", "pass", "pass"]);
}

#[test]
fn order_is_judged_by_the_transcript() {
    let chat = r#"request: { by: A, method: createChat, params: { channel: "${session}", chat: "${new chat c}" }, as: made }"#;
    let added = |side: &str| {
        format!("expect: {{ at: A, type: session/chatAdded, {side}: made, proves: {NOTE} }}")
    };
    let before = check(&[chat.to_owned(), added("before")], Status::Pass, &["pass"]);
    assert_eq!(before.observations, 1);
    let report = check(&[chat.to_owned(), added("after")], Status::Note, &["note"]);
    assert!(report.reason.raw().contains("nothing came"), "{}", report.reason.raw());
    let title = "dispatch: { by: A, channel: \"${session}\", action: { type: session/titleChanged, title: T } }";
    let late =
        format!("expect: {{ at: A, type: session/titleChanged, before: made, proves: {NOTE} }}");
    let report = check(&[chat.to_owned(), title.to_owned(), late], Status::Note, &["note"]);
    assert!(report.reason.raw().contains("before the response"), "{}", report.reason.raw());
    assert_eq!(report.failure.unwrap().transcript.len(), 2);
}

#[test]
fn a_refusal_counts_beside_what_was_accepted() {
    let refused = |action: &str| {
        format!(
            r#"dispatch: {{ by: A, channel: "${{session}}", action: {action}, reject: true, proves: {MUST} }}"#
        )
    };
    let malformed = refused("{ type: session/titleChanged, title: 5 }");
    let report = check(std::slice::from_ref(&malformed), Status::Pass, &["pass"]);
    assert_eq!(report.claims[0].twin.as_deref(), Some("dispatch session/titleChanged"));
    let (outcome, reason) = certificate(&report)(MUST);
    assert_eq!(outcome, RequirementOutcome::Untested, "{reason}");
    assert!(reason.contains("`session/titleChanged`"), "{reason}");
    let sound = r#"dispatch: { by: A, channel: "${session}", action: { type: session/titleChanged, title: T }, accept: true }"#;
    let report = check(&[malformed, sound.to_owned()], Status::Pass, &["pass"]);
    assert_eq!(certificate(&report)(MUST).0, RequirementOutcome::Pass);
    // Clients may never dispatch such an action, so no legal dispatch of the same action type can show that the host
    // accepts dispatches. Any accepted dispatch proves that the host is able to accept.
    let report =
        check(&[refused("{ type: session/ready }"), sound.to_owned()], Status::Pass, &["pass"]);
    assert_eq!(report.claims[0].twin.as_deref(), Some("dispatch *"));
    assert_eq!(certificate(&report)(MUST).0, RequirementOutcome::Pass);
}

#[test]
fn a_scenario_without_a_handshake_breaks_no_requirement() {
    let text = format!(
        "scenario: claims/one\ntitle: t\nsteps:\n  - connect: A\n  - request: {{ by: A, method: ping, result: {{ x: 1 }}, proves: {MUST} }}\n"
    );
    let mut suite = ScenarioSuite::of([("claims/one.yaml".to_owned(), text)], &CarriedFiles);
    let entry = suite.entries.pop().unwrap();
    let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
    let setup = CaseSetup::of(&entry.scenario, Version::V1_0, 1, epoch, Duration::from_millis(100));
    let config = sim::settings(&entry.scenario, 0, epoch);
    let play = ScenarioPlay::new(setup, false, Box::new(CountingRecorder::default()));
    let report = CaseReport::of(0, &entry, &sim::play(play, &mut RefHost::new(config)));
    assert_eq!((report.status, words(&report)), (Status::Untested, vec!["untested"]));
}

/// Returns the requirement outcomes of a certificate for a run of one scenario.
fn certificate(report: &CaseReport) -> impl Fn(&str) -> (RequirementOutcome, String) {
    let header = serde_json::json!({
        "run": "header", "format": FORMAT, "harness": "0", "seed": 1, "target": "embedded",
        "host": null, "version": "1.0.0", "offers": ["1.0.0"], "started": "", "epoch_us": 0,
        "limit_ms": 1, "shared": false, "authenticated": [],
    });
    let mut result = serde_json::to_value(report).unwrap();
    result["run"] = "result".into();
    let case = serde_json::json!({
        "run": "case", "case": 0, "scenario": report.scenario, "name": "x", "sources": [],
    });
    let text = format!("{header}\n{case}\n{result}\n");
    let run = FinishedRun::read(text.as_bytes()).unwrap();
    let certificate = Arc::new(HostCertificate::of(&run));
    move |rule| {
        let mut rows = certificate.requirements.iter();
        let row = rows.find(|row| row.id == rule).unwrap();
        (row.outcome, row.reason.raw().to_owned())
    }
}

/// A user may raise the limit of the run for a slow host, so a shorter limit in a scenario must not end a wait earlier.
#[test]
fn a_limit_of_a_step_never_shortens_the_limit_of_the_run() {
    let steps = "  - expect: { at: A, method: root/sessionRemoved, within: 1s, proves: root.sessionAdded.emitted }\n";
    for (limit, expected) in [(Duration::from_secs(6), 6_000), (Duration::from_millis(200), 1_000)]
    {
        let report = play_within(steps, limit);
        let took = u128::from(report.took_ms);
        assert!((expected..expected + 500).contains(&took), "{limit:?}: {took} ms");
    }
}

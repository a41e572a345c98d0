//! Tests that hosts without function pass no scenario and no check, and that hosts that only perform the handshake pass
//! only the rules about the handshake.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot write a report has failed")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ahp_harness::host::SansIoHost;
use ahp_harness::host::liar::{LiarBehaviour, LiarHost};
use ahp_harness::host::null::{NullBehaviour, NullHost};
use ahp_harness::report::event::CaseReport;
use ahp_harness::report::junit::JunitReport;
use ahp_harness::report::summary::RunSummary;
use ahp_harness::run::mutants::{play_on, playable};
use ahp_harness::verdict::{FailOn, Status};
use ahp_harness::wire::version::Version;

use crate::common::priority;
use crate::common::suite::carried;

/// The time limit of a run against a silent host with default timeouts: four rounds of 2 s until the run stops, and a
/// margin for busy machines. If the run did not stop early, it would take a quarter of an hour.
const MUTE_LIMIT: Duration = Duration::from_secs(60);

/// The results of a suite against a host.
struct SuiteResult {
    /// The identifiers of scenarios and checks that passed.
    passed: BTreeSet<String>,
    /// The identifiers of scenarios and checks that only broke a requirement with the weight "note".
    noted: BTreeSet<String>,
    /// The names of the passed test cases in the JUnit file: the test cases without a failure, an error or a
    /// skip.
    green: BTreeSet<String>,
    /// The number of test cases in the JUnit file.
    cases: usize,
}

/// Plays the whole suite; each scenario gets a new host.
fn play(version: Version, mut host: impl FnMut() -> Box<dyn SansIoHost>) -> SuiteResult {
    priority::lower();
    let mut summary = RunSummary::new(FailOn::default());
    let mut junit = JunitReport::default();
    let mut results: Vec<(String, Status)> = Vec::new();
    for (case, entry) in playable(carried(), version).iter().enumerate() {
        let verdict = play_on(entry, version, host().as_mut());
        let report = CaseReport::of(u32::try_from(case).unwrap(), entry, &verdict);
        results.push((report.scenario.clone(), report.status));
        summary.add(&report);
        junit.add(&report);
    }
    results.extend(summary.checks.iter().map(|(check, total)| (check.clone(), total.status())));
    let of = |wanted: &[Status]| {
        let chosen = results.iter().filter(|(_, status)| wanted.contains(status));
        chosen.map(|(id, _)| id.clone()).collect()
    };
    let (passed, noted) = (of(&[Status::Pass]), of(&[Status::Note, Status::Warn]));
    let mut text = Vec::new();
    junit.write(&summary, &[], &mut text).unwrap();
    let (green, cases) = green(&String::from_utf8(text).unwrap());
    SuiteResult { passed, noted, green, cases }
}

/// Returns the passed test cases of a JUnit file, and the number of all test cases.
fn green(text: &str) -> (BTreeSet<String>, usize) {
    let mut green = BTreeSet::new();
    let cases = text.split("<testcase ").skip(1);
    let count = cases.clone().count();
    for case in cases {
        let name = case.split("name=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let body = case.split("</testcase>").next().unwrap();
        if !["<failure", "<error", "<skipped"].iter().any(|tag| body.contains(tag)) {
            green.insert(name.to_owned());
        }
    }
    (green, count)
}

#[test]
fn reads_junit() {
    let text = r#"<testcase name="a" time="0"/><testcase classname="x" name="b"><failure/>
        </testcase><testcase name="c"><skipped message="m"/></testcase>"#;
    assert_eq!(green(text), (BTreeSet::from(["a".to_owned()]), 3));
}

#[test]
fn null_hosts_pass_no_scenario() {
    for version in [Version::V1_0, Version::V0_9, Version::V0_2, Version::V0_1, Version::V1] {
        for null in NullBehaviour::ALL {
            let said = play(version, || Box::new(NullHost::new(*null)));
            let which = format!("{} at {version}", null.name());
            assert!(said.cases > 30, "{which}: {} test cases", said.cases);
            assert_eq!(said.passed, BTreeSet::new(), "{which}");
            assert_eq!(said.noted, BTreeSet::new(), "{which}");
            assert_eq!(said.green, BTreeSet::new(), "{which}");
        }
    }
}

/// Returns the identifiers of the scenarios and checks that a host with false answers may pass; the host must not pass
/// any others. An entry that ends with `*` matches all identifiers with that prefix.
fn earned(liar: LiarBehaviour) -> &'static [&'static str] {
    match liar {
        // These rules can be observed in the handshake alone.
        LiarBehaviour::MuteAfterHandshake => &[
            "handshake.agreed",
            "handshake.refusal",
            "sequence.real-time",
            "state.given",
            "state.unique-ids",
            "handshake/client-id-is-needed",
            "handshake/empty-offer-is-refused",
            "handshake/highest-offered-version-wins",
            "handshake/malformed-versions-are-passed-over",
            "handshake/unknown-members-are-ignored",
            "handshake/version-is-an-offered-text",
            "handshake/versions-in-a-named-range-are-accepted",
            "jsonrpc.no-stray-response",
            "shape.host",
            "shape.null-optional",
            "state.snapshot-agrees",
            "telemetry.payload",
            "handshake/a-refusal-names-the-versions",
            "handshake/unknown-initial-subscription-is-passed-over",
            "handshake/unknown-version-is-refused",
            "handshake/what-a-client-is-called-changes-nothing",
        ],
        // The host answers every request with the same error, and sends messages only on channels that the
        // client is subscribed to.
        LiarBehaviour::RefuseEverything => &[
            "handshake.agreed",
            "handshake.refusal",
            "requests.refused",
            "sequence.real-time",
            "state.given",
            "state.unique-ids",
            "errors.no-internals",
            "handshake/client-id-is-needed",
            "handshake/empty-offer-is-refused",
            "handshake/highest-offered-version-wins",
            "handshake/malformed-versions-are-passed-over",
            "handshake/unknown-initial-subscription-is-passed-over",
            "handshake/unknown-members-are-ignored",
            "handshake/version-is-an-offered-text",
            "handshake/versions-in-a-named-range-are-accepted",
            "jsonrpc.answered-once",
            "jsonrpc.error-code",
            "jsonrpc.no-stray-response",
            "shape.host",
            "shape.null-optional",
            "state.snapshot-agrees",
            "secrets.kept",
            "telemetry.payload",
            "handshake/a-refusal-names-the-versions",
            "handshake/unknown-version-is-refused",
            "handshake/what-a-client-is-called-changes-nothing",
        ],
        // The host's requests, session list, initial states and delivery of echoes are correct. Rejections and the
        // effects of actions are wrong.
        LiarBehaviour::EchoEverything => &[
            "chats/a-chat-needs-a-session-that-there-is",
            "metadata/nothing-is-completed-of-what-is-not-there",
            "metadata/the-configuration-to-be-is-resolved",
            "reconnect/a-stranger-is-no-client-that-was-here",
            "reconnect/from-the-very-beginning",
            "reconnect/the-list-is-what-is-wanted",
            "chats/what-is-not-there-has-no-turns",
            "handshake.agreed",
            "handshake.refusal",
            "requests.refused",
            "sessions.announced-to-all",
            "state.given",
            "state.unique-ids",
            "annotations/they-go-with-their-session",
            "catalog.one-owner",
            "catalog.updated-known",
            "chats/completions-come-promptly",
            // These scenarios and checks need only requests and their answers, and no action.
            "metadata/what-may-be-said-is-offered",
            "customizations.enablement-order",
            "customizations.unique-ids",
            "directories.within-session",
            "dispatch.echo-first",
            "dispatch.in-order",
            "dispatch.no-forged-origin",
            "dispatch.payload-kept",
            "dispatch.settled-once",
            "dispatch/client-numbers-are-the-clients-own",
            "dispatch/disposed-channels-are-ignored",
            "dispatch/large-payloads-starve-nobody",
            "dispatch/origins-cannot-be-forged",
            "dispatch/unknown-actions-do-no-harm",
            "dispatch/unknown-channels-are-ignored",
            "errors.no-internals",
            "fanout.after-removal",
            "fanout.after-snapshot",
            "fanout.complete",
            "fanout.known-actions",
            "fanout.notifications-subscribed",
            "fanout.subscribed-only",
            "handshake/*",
            "history.whole",
            "identity.kept",
            "jsonrpc.*",
            "jsonrpc/*",
            "progress.ends",
            "progress.forward",
            "reconnect.*",
            "reconnect/a-short-gap-is-replayed-from-a-small-buffer",
            "reconnect/coming-back-twice-is-coming-back-once",
            "reconnect/incomplete-reconnects-are-refused",
            "reconnect/missed-actions-come-in-the-answer",
            "reconnect/nothing-missed-is-an-empty-replay",
            "reconnect/numbers-go-on-after-a-restart",
            "reconnect/only-what-is-listed-comes-back",
            "reconnect/unknown-channels-spoil-nothing",
            "reconnect/what-is-gone-is-missing",
            "reconnect/what-was-missed-is-replayed",
            "resources/*",
            "restart.opens",
            "secrets.kept",
            "sequence.*",
            "sessions.announced-once",
            "sessions.listed-once",
            "sessions/*",
            "shape.null-optional",
            "shape.scalars",
            "state.dead-host-action",
            "state.merged-agrees",
            "status.chat-derived",
            "status.one-activity",
            "status.session-aggregates",
            "subscriptions/a-dispatch-right-after-a-subscription-comes-back",
            "subscriptions/a-session-is-not-its-chats",
            "subscriptions/a-subscription-begins-with-the-state",
            "subscriptions/subscribing-changes-nothing",
            "terminal.exit-final",
            "terminal.no-shell-markers",
            "terminal.whole-characters",
            "turns.after-ready",
            "turns.explained",
            "turns.unique-ids",
            "turns.unique-parts",
            "watch.batch",
            "watch.below-root",
            "watch.descriptor",
            "watches/filters-hold",
            "watches/released-with-the-last-to-listen",
            "auth/*",
            "telemetry.level",
            "telemetry.payload",
            "telemetry/channels-have-no-state",
            "transport/a-slow-reader-loses-nothing",
            "catalog.reorder-permutes",
            "dispatch/an-action-needs-a-number",
            "reconnect/own-actions-are-settled-by-the-replay",
            "subscriptions/sessions-are-kept-apart",
            "subscriptions/unknown-channels-are-refused",
            "terminal.command-pairs",
            "terminal.one-command",
            "turns.error-parts",
            "turns/a-turn-before-the-session-is-ready-is-not-lost",
            "metadata/what-is-offered-is-the-hosts-own",
            "reconnect/a-gap-too-old-is-answered-with-snapshots",
        ],
        // The host delivers actions correctly; only its states are wrong.
        LiarBehaviour::FrozenSnapshot => &[
            "chats/a-chat-needs-a-session-that-there-is",
            "metadata/nothing-is-completed-of-what-is-not-there",
            "metadata/the-configuration-to-be-is-resolved",
            "reconnect/a-stranger-is-no-client-that-was-here",
            "reconnect/from-the-very-beginning",
            "reconnect/the-list-is-what-is-wanted",
            "sessions/an-address-is-free-again-or-never",
            "handshake.agreed",
            "handshake.refusal",
            "requests.refused",
            "sessions.announced-to-all",
            "state.unique-ids",
            "status.session-aggregates",
            "automation.run-count",
            "catalog.default-chat",
            "catalog.one-owner",
            "catalog.updated-known",
            "chats/completions-come-promptly",
            // These scenarios and checks need only requests and their answers, the content of actions, or the content
            // of the first snapshot.
            "sessions/the-list-shows-what-its-chats-do",
            "chats/workers-of-workers-come-to-an-end",
            "turns/a-turn-before-the-session-is-ready-is-not-lost",
            "clients.own-entry",
            "customizations.enablement-order",
            "customizations.unique-ids",
            "customizations/only-the-host-lists-them",
            "directories.within-session",
            "dispatch.*",
            "dispatch/client-numbers-are-the-clients-own",
            "dispatch/clients-cannot-speak-for-the-host",
            "dispatch/disposed-channels-are-ignored",
            "dispatch/large-payloads-starve-nobody",
            "dispatch/origins-cannot-be-forged",
            "dispatch/unknown-actions-do-no-harm",
            "dispatch/unknown-channels-are-ignored",
            "errors.no-internals",
            "fanout.after-removal",
            "fanout.after-snapshot",
            "fanout.family",
            "fanout.known-actions",
            "fanout.notifications-subscribed",
            "fanout.subscribed-only",
            "handshake/*",
            "identity.kept",
            "input.rollup-mirrors",
            "jsonrpc.*",
            "jsonrpc/*",
            "mcp.side-channel",
            "progress.ends",
            "progress.forward",
            "reconnect.*",
            "reconnect/a-crash-brings-no-session-back",
            "reconnect/a-short-gap-is-replayed-from-a-small-buffer",
            "reconnect/coming-back-twice-is-coming-back-once",
            "reconnect/incomplete-reconnects-are-refused",
            "reconnect/missed-actions-come-in-the-answer",
            "reconnect/news-are-not-replayed",
            "reconnect/nothing-missed-is-an-empty-replay",
            "reconnect/numbers-go-on-after-a-restart",
            "reconnect/only-what-is-listed-comes-back",
            "reconnect/unknown-channels-spoil-nothing",
            "resources/*",
            "restart.opens",
            "restart.undoes-nothing",
            "secrets.kept",
            "sequence.causal",
            "sequence.grows",
            "sequence.one-envelope",
            "sequence.order-agreement",
            "session.lifecycle-once",
            "sessions.active-count",
            "sessions.announced-once",
            "sessions.list-agrees",
            "sessions.listed-once",
            "sessions/a-disposed-session-falls-silent",
            "sessions/a-session-is-listed-until-disposed",
            "sessions/a-session-lives-at-the-uri-asked-for",
            "sessions/a-shell-message-counts-as-use",
            "sessions/an-unknown-session-cannot-be-disposed",
            "sessions/bad-session-uris-are-refused",
            "sessions/chats-leave-before-their-session",
            "sessions/disposing-ends-everything",
            "sessions/new-sessions-are-announced-once",
            "sessions/of-two-at-once-one-is-created",
            "sessions/the-latest-comes-first",
            "sessions/the-list-comes-in-pages",
            "sessions/the-root-channel-is-no-session",
            "sessions/unknown-cursors-are-refused",
            "shape.host",
            "shape.null-optional",
            "shape.scalars",
            "state.dead-host-action",
            "status.flags-kept",
            "status.one-activity",
            "subscriptions/a-dispatch-right-after-a-subscription-comes-back",
            "subscriptions/a-session-is-not-its-chats",
            "subscriptions/root-news-go-to-root-subscribers",
            "subscriptions/subscribing-changes-nothing",
            "terminal.command-pairs",
            "terminal.exit-final",
            "terminal.no-shell-markers",
            "terminal.one-command",
            "terminal.whole-characters",
            "terminals/nobody-acts-in-anothers-name",
            "watch.batch",
            "watch.below-root",
            "auth/*",
            "telemetry.*",
            "telemetry/*",
            "directories.within-session",
            "resources.right-client",
            "transport/a-slow-reader-loses-nothing",
            "terminals/a-flood-of-output-is-bounded",
            "dispatch/an-action-needs-a-number",
            "dispatch/every-payload-is-checked",
            "dispatch/payloads-about-directories-are-checked",
            "metadata/the-first-directory-is-replaced",
            "reconnect/own-actions-are-settled-by-the-replay",
            "sessions/unknown-providers-are-refused",
            "subscriptions/sessions-are-kept-apart",
            "subscriptions/unknown-channels-are-refused",
            "terminal.listed",
            "tools/forged-completion-is-no-result",
            "turns/a-chat-without-turns-may-be-attached",
            "metadata/what-is-offered-is-the-hosts-own",
            "reconnect/a-gap-too-old-is-answered-with-snapshots",
            "terminals/a-late-reader-holds-up-nobody",
        ],
        // The host behaves correctly until a client reconnects.
        LiarBehaviour::ForgetsOnReconnect => &[
            "reconnect/a-stranger-is-no-client-that-was-here",
            "handshake.agreed",
            "handshake.refusal",
            "requests.refused",
            "annotations.*",
            "annotations/*",
            "auth/*",
            "automation.*",
            "automations/*",
            "below/*",
            "canvases/*",
            "catalog.*",
            "changeset.*",
            "changesets/*",
            "chats/*",
            "clients.*",
            "customizations.*",
            "customizations/*",
            "directories.*",
            "context/*",
            "dispatch.*",
            "dispatch/*",
            "errors.*",
            "fanout.*",
            "handshake/*",
            "history.*",
            "identity.*",
            "input.*",
            "input/*",
            "jsonrpc.*",
            "jsonrpc/*",
            "mcp.*",
            "mcp/*",
            "metadata/*",
            "order/*",
            "progress.*",
            "queue.*",
            "queue/*",
            "reconnect.no-notification-replay",
            "reconnect/incomplete-reconnects-are-refused",
            "reconnect/a-crash-answers-no-question",
            "reconnect/a-crash-brings-no-session-back",
            "reconnect/a-crash-ends-a-running-call",
            "reconnect/a-crash-undoes-*",
            "reconnect/a-restart-*",
            "reconnect/numbers-go-on-after-a-restart",
            "reconnect/turn-fails-when-the-host-crashes",
            "resources.*",
            "restart.*",
            "resources/*",
            "secrets.*",
            "security/*",
            "sequence.*",
            "session.*",
            "sessions.*",
            "sessions/*",
            "shape.*",
            "state.*",
            "status.*",
            "steering.*",
            "steering/*",
            "subscriptions/*",
            "telemetry.*",
            "telemetry/*",
            "terminal.*",
            "terminals/*",
            "tools.*",
            "tools/*",
            "transport/*",
            "turns.*",
            "turns/*",
            "watch.*",
            "watches/*",
        ],
    }
}

/// Returns whether an identifier equals an entry of a list, or begins with an entry that ends with `*`.
fn listed(list: &[&str], id: &str) -> bool {
    list.iter().any(|name| match name.strip_suffix('*') {
        Some(area) => id.starts_with(area),
        None => *name == id,
    })
}

/// Checks that a run against a silent host on a socket takes a bounded time, and that nothing passes.
#[test]
fn a_mute_host_costs_a_bounded_time() {
    let program = env!("CARGO_BIN_EXE_ahp-harness");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(env!("CARGO_TARGET_TMPDIR")).stdout(Stdio::piped());
        command
    };
    let mut host = command(&["serve", "--null", "mute"]).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let began = Instant::now();
    let output = command(&["run", "--url", url.trim()]).stderr(Stdio::piped()).output().unwrap();
    let took = began.elapsed();
    host.kill().unwrap();
    host.wait().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("    pass ") && !said.contains(" passed"), "{said}");
    assert!(took < MUTE_LIMIT, "{took:?}");
}

#[test]
fn lying_hosts_pass_only_the_listed_requirements() {
    let mut wrong = Vec::new();
    for liar in LiarBehaviour::ALL {
        let said = play(Version::NEWEST, || Box::new(LiarHost::new(*liar)));
        let (name, earned) = (liar.name(), earned(*liar));
        let unearned = said.passed.iter().filter(|id| !listed(earned, id));
        wrong.extend(unearned.map(|id| {
            format!(
                "{name}: expected {id} not to pass (add it to `earned` in tests/all/null_hosts.rs only if the answers \
                 of this host that it reads are correct, see host/liar.rs; otherwise the rule is too weak)"
            )
        }));
        let lost = earned.iter().filter(|name| !said.passed.iter().any(|id| listed(&[name], id)));
        wrong.extend(lost.map(|id| format!("{name}: expected {id} to pass, as `earned` says")));
        let green = said.green.difference(&said.passed).filter(|id| !said.noted.contains(*id));
        wrong.extend(
            green.map(|id| {
                format!("{name}: expected {id} not to be green, because it was not tested")
            }),
        );
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

//! Tests of the command line: exit codes and output.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ahp_harness::wire::version::Version;
use serde_json::Value;

/// Runs the program in a separate folder, so that the program writes no files next to the sources.
fn run(arguments: &[&str]) -> Output {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_ahp-harness");
    Command::new(program)
        .args(arguments)
        .current_dir(&folder)
        .env_remove("NO_COLOR")
        .output()
        .unwrap()
}

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name).display().to_string()
}

fn said(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    format!("{out}{err}")
}

fn check(arguments: &[&str], code: i32, expected: &[&str]) -> String {
    let output = run(arguments);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{said}");
    for part in expected {
        assert!(said.contains(part), "{arguments:?}: expected `{part}` in\n{said}");
    }
    said
}

/// Compares output with its golden file; `UPDATE=1` updates the file.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    // The output must not depend on the path of the sources.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).display().to_string();
    let text = text.replace(&here, "HARNESS");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, text, "{} (hint: `UPDATE=1 cargo test` writes it anew)", path.display());
}

#[test]
fn draws_every_mistake_of_a_file() {
    let output = run(&["check", &file("ten-mistakes.yaml")]);
    assert_eq!(output.status.code(), Some(2));
    golden("ten-mistakes.txt", &said(&output));
}

#[test]
fn check_does_not_read_the_schema_as_a_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    check(&["check", &folder.display().to_string()], 0, &["no mistakes"]);
}

#[test]
fn plays_nothing_when_a_file_has_mistakes() {
    check(
        &["run", &file("ten-mistakes.yaml")],
        2,
        &["nothing was played", "did you mean `expect`?"],
    );
}

#[test]
fn missing_files_and_unknown_names_are_refused() {
    check(&["run", "none.yaml"], 2, &["`none.yaml` could not be read: no such file"]);
    check(&["check", "none.yaml"], 2, &["no such file"]);
    check(&["judge", "none.jsonl"], 2, &["`none.jsonl` could not be read"]);
    check(&["run", "--baseline", "none.yaml"], 2, &["`none.yaml` could not be read"]);
    check(&["run", "--id", "tools/confirmed-onse"], 2, &["did you mean `tools/confirmed-once`?"]);
    check(&["run", "--tag", "nosuch"], 2, &["no scenario matches --tag `nosuch`"]);
    check(&["run", "--requirement", "nosuch"], 2, &["no scenario matches --requirement"]);
    check(&["explain", "sequence.growz"], 2, &["did you mean `sequence.grows`?"]);
    check(&["serve", "--fault", "sequence-repeat"], 2, &["did you mean `sequence-repeats`?"]);
    check(&["nosuch"], 2, &["unrecognized subcommand"]);
    check(&["run", "--timeout", "5"], 2, &["expected a duration such as `500ms`, `2s` or `9m30s`"]);
    check(
        &["run", "--report", "html=x"],
        2,
        &["expected the kind `junit`, `jsonl`, `sarif` or `ahp-log`, found `html`"],
    );
    check(&["run", "--spec", "0.0.1"], 2, &["one of ", "1.0.0, 0.9.0"]);
    check(&["run", "--url", "http://127.0.0.1:1"], 2, &["begins with `ws://` or `wss://`"]);
    check(&["serve", "--listen", "0.0.0.0:0"], 2, &["expected a loopback address"]);
}

#[test]
fn a_case_for_an_older_version_is_played_there() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../corpus/conversations/found-answered-question-loaded.yaml"
    );
    let report = format!("jsonl={}", folder().join("older.jsonl").display());
    let run = |more: &[&str], expected: &[&str]| {
        let arguments = [&["run", file, "--report", &report], more].concat();
        check(&arguments, 0, expected);
    };
    run(&[], &["1 scenarios, protocol 0.5.1", "1 passed"]);
    run(&["--loopback"], &["1 scenarios, protocol 0.5.1", "1 passed"]);
    run(&["--spec", "1.0.0"], &["does not apply to protocol 1.0.0", "1 skipped"]);
}

#[test]
fn a_scenario_sends_the_time_at_which_it_is_played() {
    let path = folder().join("clock.jsonl");
    let report = format!("jsonl={}", path.display());
    let id = "turns/goes-on-without-its-client";
    let play = ["run", "--loopback", "--jobs", "1", "--repeat", "2", "--id", id, "--report"];
    check(&[&play[..], &[&report]].concat(), 0, &["2 passed"]);
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let began: Vec<u64> = lines
        .iter()
        .filter(|line| line["run"] == "case")
        .map(|line| line["epoch_us"].as_u64().unwrap_or_default())
        .collect();
    // The first scenario rests for 1.2 s.
    let [first, second] = began[..] else { panic!("{began:?}") };
    assert!(second >= first + 1_200_000, "{began:?}");
    let started: Vec<&str> = lines
        .iter()
        .filter(|line| line["dir"] == "c2s")
        .filter_map(|line| line.pointer("/msg/params/action/startedAt")?.as_str())
        .collect();
    let [first, second] = started[..] else { panic!("{started:?}") };
    assert_ne!(first[..19], second[..19]);
    check(&["judge", &path.display().to_string()], 0, &["2 passed"]);
}

#[test]
fn says_when_a_target_cannot_be_reached() {
    check(&["run", "--url", "ws://127.0.0.1:1"], 3, &["could not be reached: connection refused"]);
    check(&["run", "--command", "true"], 3, &["ended without printing a `ws://` URL"]);
    check(&["run", "--command", "exit 7 # {port}"], 3, &["ended before it listened"]);
}

#[test]
fn never_shows_tokens() {
    let report = folder().join("tokens.jsonl");
    let report = format!("jsonl={}", report.display());
    let arguments = [
        "run",
        "--loopback",
        "--id",
        "tools/confirmed-once",
        "--report",
        &report,
        "--token",
        "s3cret-token",
        "--authenticate",
        "https://x.example=hidden=value",
    ];
    let said = said(&run(&arguments));
    let kept = fs::read_to_string(folder().join("tokens.jsonl")).unwrap();
    for secret in ["s3cret-token", "hidden=value"] {
        assert!(!said.contains(secret) && !kept.contains(secret), "{secret} in\n{said}\n{kept}");
    }
    assert!(kept.contains("«redacted»"), "{kept}");
}

/// Checks that a pattern that matches words of the protocol and of the harness leaves a file that can be judged.
#[test]
fn a_redacted_report_can_be_judged_again() {
    let jsonl = folder().join("redacted.jsonl").display().to_string();
    let report = format!("jsonl={jsonl}");
    check(
        &[
            "run",
            "--id",
            "tools/",
            "--redact",
            "^(header|result|pass|host|user|base64|Run command)$",
            "--report",
            &report,
        ],
        0,
        &["passed", "always-on checks"],
    );
    assert!(fs::read_to_string(&jsonl).unwrap().contains("«redacted 1»"));
    let said = check(&["judge", &jsonl], 0, &["passed", "always-on checks"]);
    assert!(!said.contains("cannot be read") && !said.contains("another frame"), "{said}");
}

#[test]
fn writes_reports_that_can_be_judged_again() {
    let (jsonl, junit) = (folder().join("run.jsonl"), folder().join("run.xml"));
    let arguments = [
        "run",
        "--report",
        &format!("jsonl={}", jsonl.display()),
        "--report",
        &format!("junit={}", junit.display()),
    ];
    check(&arguments, 0, &["passed", "always-on checks"]);
    let kept = fs::read_to_string(&jsonl).unwrap();
    assert!(kept.starts_with('{') && kept.lines().last().unwrap().contains("\"run\":\"footer\""));
    check(&["judge", &jsonl.display().to_string()], 0, &["passed", "always-on checks"]);
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<testcase name=\"tools/confirmed-once\""), "{xml}");
    assert!(xml.contains("failures=\"0\""), "{xml}");
}

#[test]
fn a_stale_or_unknown_baseline_entry_fails() {
    let path = folder().join("known.yaml");
    let with = |text: &str| {
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let only = ["--id", "tools/confirmed-once"];
    let entry = |id: &str| format!("known:\n  - scenario: {id}\n    reason: because\n");
    let known = with(&entry("tools/confirmed-once"));
    check(
        &[&["run", "--baseline", &known][..], &only].concat(),
        1,
        &["passes now: remove the entry"],
    );
    let known = with(&entry("tools/confirmed-onc"));
    check(
        &["run", "--baseline", &known],
        2,
        &["known.yaml:2:5", "did you mean `tools/confirmed-once`?"],
    );
    let known = with("known:\n  - scenario: tools/confirmed-once\n");
    check(&["run", "--baseline", &known], 2, &["expected `reason`"]);
    let known = with("{}");
    check(&["run", "--baseline", &known], 2, &["expected `known:`"]);
}

#[test]
fn explains_and_lists() {
    check(&["explain", "sequence.grows"], 0, &["always-on check sequence.grows", "invariant A1"]);
    check(&["explain", "chat/delta"], 0, &["chat/delta in ", "1.0.0, 0.9.0", "the host alone"]);
    check(&["explain", "initialize"], 0, &["step `initialize`", "params.clientId"]);
    check(
        &["explain", "tools/confirmed-once"],
        0,
        &["proves: dispatch.chat.toolCallConfirmed.twice"],
    );
    check(&["explain", "sequence-repeats"], 0, &["injected fault", "must break: "]);
    check(&["explain", "needs"], 0, &["capability automations: ", "capability terminals: "]);
    check(&["explain", "sequence.grows"], 0, &["must detect: ", "sequence-repeats"]);
    check(&["explain", "dispatch.chat.toolCallConfirmed.twice"], 0, &["requirement", "source:"]);
    for what in ["scenarios", "checks", "requirements", "faults", "steps", "versions"] {
        check(&["list", what], 0, &[]);
    }
    check(&["list", "actions"], 0, &["chat/delta", "dispatched by the host alone"]);
    check(&["list", "methods"], 0, &["createSession", "session/prompt"]);
    check(&["list", "capabilities"], 0, &["terminals"]);
    // The author of a scenario needs the members of an action.
    check(&["explain", "chat/turnCancelled"], 0, &["duration                     integer\n"]);
    // A member may have a type of the protocol.
    check(
        &["explain", "Turn"],
        0,
        &["type, object", "responseParts                ResponsePart[]"],
    );
    check(&["explain", "ResponsePart"], 0, &["distinguished by `kind`", "kind: toolCall"]);
    check(&["explain", "Trun"], 2, &["did you mean `Turn`?"]);
    // Explain the outcomes, findings, causes and profiles of a report.
    check(&["explain", "out-of-reach"], 0, &["out-of-reach in reports: outcome"]);
    check(&["explain", "FAIL"], 0, &["a MUST is broken"]);
    let finding = "dispatch.chat.toolCallConfirmed.twice~0123abcd";
    check(&["explain", finding], 0, &["requirement dispatch.chat.toolCallConfirmed.twice"]);
    let cause = "dispatch.table.server-only";
    check(&["explain", cause], 0, &["cause dispatch.table.server-only", "chat.delta: "]);
    check(&["explain", "multi-chat"], 0, &["profile multi-chat of certificates"]);
    let said = check(&["explain", "chat/turnCancelled", "--format", "json"], 0, &[]);
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    let members = value["explained"][0]["described"][0]["members"].as_array().unwrap();
    assert!(members.iter().any(|it| it["name"] == "duration" && it["optional"] == false), "{said}");
}

/// Returns the path of a capture of clients in the corpus.
fn of_clients(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/captures/clients");
    folder.join(name).display().to_string()
}

#[test]
fn judges_the_clients_of_a_capture() {
    let twice = of_clients("P7-a-second-completion.jsonl");
    check(
        &["judge", &twice, "--of", "clients"],
        1,
        &["clients.tool-once", "expected one completion of the tool call `c1`"],
    );
    check(&["judge", &twice, "--of", "clients", "--client", "A"], 1, &["clients.tool-once"]);
    let nobody = ["judge", &twice, "--of", "clients", "--client", "B"];
    check(&nobody, 1, &["nothing could be judged", "no message of the client `B`"]);
    check(&["judge", &twice, "--client", "A"], 2, &["`--client` needs `--of clients`"]);
    let kept = of_clients("kept-P7-a-completion-that-got-lost.jsonl");
    check(&["judge", &kept, "--of", "clients"], 0, &[]);
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/acp/clean.jsonl");
    let agent = agent.display().to_string();
    check(&["judge", &agent, "--of", "clients"], 2, &["found one with an agent"]);
    check(&["explain", "client.terminal.escape-safety"], 0, &["not testable: "]);
    let observed = ["observed if the host plays a part: "];
    check(&["explain", "client.mcp.reread-channel"], 0, &observed);
    check(&["explain", "client.initialize.first"], 0, &["observed in a capture: "]);
}

#[test]
fn a_dry_run_shows_what_it_would_send() {
    let arguments = ["run", "--dry-run", "--spec", "1.0.0", "--id", "tools/confirmed-once"];
    let said = check(&arguments, 0, &["nothing was sent", "open", "chat/toolCallConfirmed"]);
    golden("dry-run.txt", &said);
}

#[test]
fn help_is_worth_reading() {
    for (name, arguments) in [
        ("help.txt", &["--help"][..]),
        ("help-run.txt", &["run", "--help"]),
        ("help-judge.txt", &["judge", "--help"]),
        ("help-check.txt", &["check", "--help"]),
        ("help-serve.txt", &["serve", "--help"]),
        ("help-record.txt", &["record", "--help"]),
        ("help-scenario.txt", &["scenario", "from", "--help"]),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0));
        golden(name, &said(&output));
    }
}

#[test]
fn every_published_version_is_known_by_its_actions_and_methods() {
    let said = check(&["list", "versions"], 0, &["methods"]);
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let versions = Version::played().iter().chain([&Version::ACP_1]);
    assert_eq!(names, versions.map(Version::to_string).collect::<Vec<_>>());
    let explained = check(&["explain", "initialize"], 0, &[]);
    let words: Vec<&str> = explained.split([',', ':', ' ', '\n']).collect();
    for version in Version::played() {
        assert!(words.contains(&version.to_string().as_str()), "{version}: {explained}");
    }
    // Explain an action of an older version that the newest versions do not have.
    let expected = ["session/delta in 0.3.0: action on session channels"];
    check(&["explain", "session/delta", "--spec", "0.3.0"], 0, &expected);
    check(&["explain", "session/delta", "--spec", "1.0.0"], 2, &[]);
    // Explain an action of the newest version that has another name in an older version.
    let expected = ["called `session/delta`"];
    check(&["explain", "chat/delta", "--spec", "0.3.0"], 0, &expected);
    let id = "chat.stream.kind-match";
    check(&["explain", id], 0, &["since 0.4.0)", "chat/delta targets"]);
    check(&["explain", id, "--spec", "0.3.0"], 0, &["since 1)", "session/delta targets"]);
}

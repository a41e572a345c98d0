//! Tests of the first look at a host, over a socket: whether the agent behind a host plays scripts.
#![cfg(all(feature = "cli", unix))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::{HostOutput, SansIoHost};
use ahp_harness::transcript::ConnId;
use ahp_harness::transport::serve::{ServedBehind, serve};
use ahp_harness::wire::frame::Frame;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// A scenario that every host passes, because these tests are only about the result of the first look.
const SCENARIO: &str = "title: A ping is answered
steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: listSessions, result: true, proves: jsonrpc.response.exactly-one }
";
/// An agent that performs the handshake, opens sessions, and answers a prompt with the shell code in `PROMPT`.
/// The code has the variables `id`, the identifier of the request, and `text`, the text of the prompt.
const AGENT: &str = r#"while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  text=$(printf '%s' "$line" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
    *'"session/prompt"'*) PROMPT ;;
  esac
done
"#;
const ENDS: &str =
    r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id""#;
const FAILS: &str =
    r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no model"}}\n' "$id""#;
/// Shell code that answers with the prompt itself, including the script.
const ECHOES: &str = r#"printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$text""#;

/// A host that is stopped at the end of the test.
struct TestHost {
    process: Child,
    url: String,
}

impl TestHost {
    fn new(arguments: &[&str]) -> TestHost {
        let mut process = Command::new(PROGRAM)
            .arg("serve")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        TestHost { process, url: url.trim().to_owned() }
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-look").join(name);
    std::fs::create_dir_all(folder.join("look")).unwrap();
    std::fs::write(folder.join("look/ping.yaml"), format!("scenario: look/ping\n{SCENARIO}"))
        .unwrap();
    folder
}

/// Returns whether a certificate lists `agentScripts` as offered, the evidence for this, and the output of the run.
fn look(name: &str, serve: &[&str], certify: &[&str]) -> (bool, String, String) {
    let folder = folder(name);
    let host = TestHost::new(serve);
    let output = Command::new(PROGRAM)
        .args(["certify", "--url", &host.url, "--out"])
        .arg(folder.join("certificate"))
        .args(certify)
        .arg(folder.join("look/ping.yaml"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read_to_string(folder.join("certificate/certificate.json"));
    let text = text.unwrap_or_else(|error| panic!("{error}: {said}{wrong}"));
    let certificate: Value = serde_json::from_str(&text).unwrap();
    let rows = certificate["detected"].as_array().unwrap();
    let scripts: Vec<&Value> =
        rows.iter().filter(|row| row["capability"] == "agentScripts").collect();
    let [scripts] = scripts[..] else { panic!("{name}: {scripts:?}") };
    (scripts["offered"] == true, scripts["how"].as_str().unwrap().to_owned(), said)
}

/// Returns the arguments of a host whose agent answers prompts with this code.
fn agent(name: &str, prompt: &str) -> String {
    let path = folder(name).join("agent.sh");
    std::fs::write(&path, AGENT.replace("PROMPT", prompt)).unwrap();
    format!("sh {}", path.display())
}

fn plays_no_scripts(name: &str, serve: &[&str], certify: &[&str], expected: &str) {
    let (offered, how, said) = look(name, serve, certify);
    assert!(!offered && how.contains(expected), "{name}: {offered} {how}");
    // The output names each option that would make more tests possible once.
    assert_eq!(said.matches("--agent-model").count(), 1, "{name}: {said}");
    assert!(!said.contains("agentScripts"), "{name}: {said}");
}

#[test]
fn an_agent_that_plays_scripts_is_found_in_every_version() {
    for version in ["1.0.0", "0.9.0", "0.3.0", "0.1.0"] {
        let serve = ["--spec", version];
        let (offered, how, _) = look(&format!("plays-{version}"), &serve, &["--spec", version]);
        assert!(offered, "{version}: {how}");
    }
}

#[test]
fn an_agent_that_only_ends_its_turns_plays_none() {
    let command = agent("ends", ENDS);
    plays_no_scripts(
        "ends",
        &["--agent-command", &command],
        &[],
        "a turn that a script makes fail on purpose",
    );
}

#[test]
fn an_agent_that_says_the_script_back_plays_none() {
    let command = agent("echoes", &format!("{ECHOES}; {ENDS}"));
    plays_no_scripts(
        "echoes",
        &["--agent-command", &command],
        &[],
        "a turn that a script makes fail on purpose",
    );
}

#[test]
fn an_agent_that_takes_its_time_plays_none() {
    let command = agent("slow", &format!("sleep 4; {ENDS}"));
    plays_no_scripts(
        "slow",
        &["--agent-command", &command],
        &[],
        "a turn that a script makes fail on purpose",
    );
}

#[test]
fn an_agent_that_fails_by_itself_plays_none() {
    let command = agent("fails", FAILS);
    plays_no_scripts(
        "fails",
        &["--agent-command", &command],
        &[],
        "a turn that a script makes fail on purpose",
    );
    let command = agent("dies", "exit 1");
    plays_no_scripts(
        "dies",
        &["--agent-command", &command],
        &[],
        "a turn that a script makes fail on purpose",
    );
}

#[test]
fn an_agent_that_needs_a_token_plays_none_without_it() {
    plays_no_scripts(
        "token",
        &[],
        &["--provider", "guarded"],
        "a turn that a script makes fail on purpose",
    );
}

#[test]
fn an_agent_that_never_answers_plays_none() {
    let command = agent("never", ":");
    let short = ["--timeout", "2s"];
    plays_no_scripts("never", &["--agent-command", &command], &short, "nothing came");
}

/// A scenario that passes if the greeting of the host is `hello`, also after a restart.
const GREETED: &str = r#"scenario: look/greeted
title: The greeting is the one that was set before the run
alone: true
clients: [A]
steps:
  - connect: A
  - initialize: { by: A, subscribe: ["ahp-root://"] }
  - snapshot: { of: "ahp-root://", state: { config: { values: { greeting: hello } } }, proves: root.action.configChanged-merge }
  - restart: {}
  - snapshot: { of: "ahp-root://", state: { config: { values: { greeting: hello } } }, proves: root.action.configChanged-merge }
"#;

/// Returns the result of a run with these settings, against a host that the run starts and that loses its
/// settings on restart.
fn set(name: &str, version: &str, settings: &[&str]) -> (Option<i32>, String) {
    let path = folder(name).join("look/greeted.yaml");
    std::fs::write(&path, GREETED).unwrap();
    let command = format!("{PROGRAM} serve --spec {version} --listen 127.0.0.1:{{port}}");
    let mut arguments = vec!["run", "--spec", version, "--fail-on", "note", "--command", &command];
    arguments.extend(settings.iter().flat_map(|setting| ["--setting", setting]));
    arguments.extend(path.to_str());
    harness(&arguments)
}

/// Returns the exit code and the output of the program.
fn harness(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn settings_are_made_before_the_run_and_after_each_restart() {
    for version in ["1.0.0", "0.3.0", "0.1.0"] {
        let settings = ["greeting=\"away\"", "greeting=\"hello\""];
        let (code, said) = set(&format!("set-{version}"), version, &settings);
        assert_eq!(code, Some(0), "{version}: {said}");
        assert!(said.contains("set before the run: greeting"), "{version}: {said}");
        let (code, said) = set(&format!("unset-{version}"), version, &[]);
        assert_eq!(code, Some(1), "{version}: {said}");
    }
}

/// Checks that the scenarios about files are played on a host without a shared disk, in a folder that the user has
/// prepared. The files of the reference host are in memory.
#[test]
fn a_prepared_folder_is_used_on_a_host_without_a_shared_disk() {
    let host = TestHost::new(&[]);
    let scenarios = [
        "resources/a-grant-is-for-one-client",
        "resources/nothing-outside-is-reached",
        "resources/nothing-outside-is-changed",
        "resources/what-stands-on-the-disk-is-read",
        "chats/attached-files-are-no-way-out",
    ];
    let run = |options: &[&str]| {
        let mut arguments = vec!["run", "--url", &host.url, "--profile", "all", "--aggressive"];
        arguments.extend(scenarios.iter().flat_map(|id| ["--id", id]));
        arguments.extend(options);
        harness(&arguments)
    };
    let (_, said) = run(&[]);
    assert!(said.contains("5 skipped"), "{said}");
    let (code, said) = run(&["--prepared-folder", "file:///"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("5 passed"), "{said}");
    let (_, said) = run(&["--prepared-folder", "file:///elsewhere"]);
    assert!(said.contains("shown/canary.txt` in the prepared folder file:///elsewhere"), "{said}");
}

#[test]
fn a_setting_that_the_host_rejects_ends_the_run() {
    let (code, said) = set("rejected", "1.0.0", &["verbosity=7"]);
    assert_eq!(code, Some(3), "{said}");
    let expected = "the setting `verbosity` could not be applied: the host rejected it:";
    assert!(said.contains(expected), "{said}");
}

/// A host that answers an offer of an older version as if the request were malformed.
struct NewestOnlyHost {
    inner: RefHost,
    refusals: VecDeque<HostOutput>,
}

impl SansIoHost for NewestOnlyHost {
    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.inner.handle_open(now, conn);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        let message: Value = match frame {
            Frame::Text(text) => serde_json::from_str(text).unwrap_or_default(),
            _ => Value::Null,
        };
        let offers = message["params"]["protocolVersions"].as_array().cloned().unwrap_or_default();
        let newest = offers.is_empty() || offers.iter().any(|offer| *offer == "1.0.0");
        if message["method"] != "initialize" || newest {
            return self.inner.handle_frame(now, conn, frame);
        }
        let error = json!({"code": -32602, "message": "something is missing"});
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
        self.refusals.push_back(HostOutput::Send { conn, frame: Frame::Text(answer.to_string()) });
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.inner.handle_close(now, conn);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.inner.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.inner.next_timeout()
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.refusals.pop_front().or_else(|| self.inner.poll_output())
    }

    fn restart(&mut self, now: Duration) {
        self.inner.restart(now);
    }
}

#[test]
fn a_version_whose_handshake_is_refused_with_any_error_is_not_spoken() {
    let (done, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            done.send(listener.local_addr().unwrap()).unwrap();
            let inner = RefHost::new(HostConfig::default());
            let host = NewestOnlyHost { inner, refusals: VecDeque::new() };
            let (_served, task) = serve(listener, Box::new(host), ServedBehind::nothing());
            let _ = task.await;
        });
    });
    let url = format!("ws://{}", address.recv().unwrap());
    let output = Command::new(PROGRAM)
        .args(["run", "--spec", "all", "--id", "handshake/ping-needs-no-handshake", "--url", &url])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("1 passed").count(), 1, "{said}");
    // The host refuses the versions 0.1.0 to 0.9.0. The handshake of version 1 has another form, which this
    // host forwards.
    assert!(said.matches("not supported by the host").count() >= 11, "{said}");

    // If the user requests a version that the host does not support, the output names the supported versions
    // and the remedy.
    let served = TestHost::new(&["--listen", "127.0.0.1:0"]);
    let output =
        Command::new(PROGRAM).args(["run", "--spec", "0.3.0", "--url", &served.url]).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in [
        "offered 0.3.0",
        "it supports [\"^1.0.0\",\"^0.9.0\"] (hint: `--spec 1.0.0`",
        "`--spec all`",
    ] {
        assert!(said.contains(part), "expected `{part}` in {said}");
    }
}

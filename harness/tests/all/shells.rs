//! Tests of terminals with real shells: input runs on a pseudo-terminal, a flood does not block other clients, and no
//! process is left running.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
const TOKEN: &str = "a-token-of-this-test";

/// A host with shells that is stopped at the end of the test.
struct ShellHost {
    process: Child,
    url: String,
}

impl ShellHost {
    fn new(shell: &str) -> ShellHost {
        let mut process = Command::new(PROGRAM)
            .args(["serve", "--shell", shell, "--token", TOKEN])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        ShellHost { process, url: url.trim().to_owned() }
    }

    /// Plays the scenarios in a file or folder.
    fn run(&self, path: &Path) -> Output {
        let report = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("shells-{}.jsonl", self.process.id()));
        Command::new(PROGRAM)
            .args(["run", "--url", &self.url, "--token", TOKEN, "--report"])
            .arg(format!("jsonl={}", report.display()))
            .arg(path)
            .output()
            .unwrap()
    }

    /// Returns the shells that the host has started, and their descendants.
    fn shells(&self) -> Vec<String> {
        let mark = format!("AHP_HARNESS_PROCESS={}-", self.process.id());
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let marked = entries.filter(|entry| {
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|it| it.starts_with(mark.as_bytes()))
        });
        marked.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Waits until all shells of the host have exited.
    fn none_left(&self) {
        let began = Instant::now();
        while !self.shells().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10), "left: {:?}", self.shells());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for ShellHost {
    fn drop(&mut self) {
        // A host that is asked to exit also stops its shells.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// Writes a scenario of this test to a file whose name matches its identifier.
fn scenario(id: &str, text: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{id}.yaml"));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("scenario: {id}\n{text}")).unwrap();
    file
}

fn passes(output: &Output, expected: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains(expected),
        "expected `{expected}`: {said}{wrong}"
    );
}

#[test]
fn the_suite_plays_on_real_shells() {
    let host = ShellHost::new("sh");
    let output = host.run(Path::new("../scenarios/ahp/terminals"));
    passes(&output, "11 passed, 3 skipped");
    // The harness disposes of terminals that scenarios have left, and the host stops their shells.
    host.none_left();
}

#[test]
fn the_flood_of_a_shell_blocks_nobody_and_ends_with_its_terminal() {
    let host = ShellHost::new("sh");
    let text = r#"
title: A shell that prints without end holds up nobody
clients: [A, B, C]
steps:
  - connect: { by: [A, B, C] }
  - initialize: { by: [A, B, C] }
  - request: { by: A, method: createTerminal, params: { channel: "ahp-terminal:/${new t}", claim: { kind: client, clientId: "${A.id}" } } }
  - subscribe: { by: [A, B], channel: "ahp-terminal:/${t}" }
  - pause: B
  - dispatch: { by: A, channel: "ahp-terminal:/${t}", action: { type: terminal/input, data: "(sleep 300 &) ; yes grüße\r" } }
  - expect: { at: A, type: terminal/data, where: { action: { data: { $matches: "(grüße\\s+){3}" } } }, within: 20s }
  - request: { by: C, method: ping, result: true, within: 5s, proves: terminal.data.backpressure }
  - expect: { at: A, type: terminal/cleared, within: 20s }
  - request: { by: C, method: ping, result: true, within: 5s }
  - request: { by: A, method: disposeTerminal, params: { channel: "ahp-terminal:/${t}" }, within: 20s }
  - request: { by: C, method: ping, result: true, within: 5s }
"#;
    passes(&host.run(&scenario("shells/flood", text)), "1 passed");
    host.none_left();
}

#[test]
fn serving_a_shell_requires_a_token() {
    let output = Command::new(PROGRAM).args(["serve", "--shell", "sh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--token"), "{output:?}");
}

#[test]
fn a_terminal_whose_shell_cannot_be_started_exits() {
    let host = ShellHost::new("no-such-shell-anywhere");
    let text = r#"
title: A terminal whose shell cannot be started exits
clients: [A]
steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: createTerminal, params: { channel: "ahp-terminal:/${new t}", claim: { kind: client, clientId: "${A.id}" } } }
  - rest: 500ms
  - snapshot: { of: "ahp-terminal:/${t}", state: { lifecycle: { status: exited, exitCode: 127 } }, proves: terminal.exited }
"#;
    passes(&host.run(&scenario("shells/none", text)), "1 passed");
}

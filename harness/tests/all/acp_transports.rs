//! Tests of the reference agent as a process on both transports. The suite for agents passes on standard input
//! and output and on a loopback WebSocket, and an injected fault is detected on both.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");

/// An agent that listens on a WebSocket, and that is stopped at the end of the test.
struct TestListener(Child, String);

impl TestListener {
    fn agent(more: &[&str]) -> TestListener {
        let mut child = Command::new(PROGRAM)
            .args(["agent", "acp", "--listen", "127.0.0.1:0"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("ws://127.0.0.1:"), "{line}");
        TestListener(child, line.trim().to_owned())
    }
}

impl Drop for TestListener {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Plays the suite or a part of it against the agent at this address.
fn run(name: &str, how: &str, arguments: &[&str]) -> (Output, String, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("acp-by-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let profile = format!("agent: reference\n{how}\nstimulus: script\ntimeout: 20s\njobs: 4\n");
    fs::write(folder.join("profile.yaml"), profile).unwrap();
    let output = Command::new(PROGRAM)
        .current_dir(&folder)
        .args(["run", "--format", "full", "--acp", "profile.yaml", "--report", "jsonl=run.jsonl"])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, said, folder)
}

/// Judges the file of a run and returns the exit code, which must equal the exit code of the run.
fn judged(folder: &Path) -> Option<i32> {
    let mut judge = Command::new(PROGRAM);
    judge.current_dir(folder).args(["judge", "run.jsonl"]).output().unwrap().status.code()
}

/// Checks that every scenario passes and is really played: tools run, including the tool of the harness's MCP
/// server.
fn holds(name: &str, how: &str) {
    let (output, said, folder) = run(name, how, &[]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(" passed") && !said.contains("untested"), "{said}");
    // The agent needs no authentication.
    for line in said.lines().filter(|line| line.trim_start().starts_with("skip")) {
        assert!(line.ends_with("does not offer `auth`"), "{line}");
    }
    assert_eq!(judged(&folder), Some(0));
}

#[test]
fn the_suite_passes_over_standard_input_and_output() {
    holds("pipes", &format!("command: ['{PROGRAM}', agent, acp, --sessions, '{{home}}/sessions']"));
}

#[test]
fn the_suite_passes_over_a_websocket() {
    let sessions = Path::new(env!("CARGO_TARGET_TMPDIR")).join("acp-sessions");
    let _ = fs::remove_dir_all(&sessions);
    let agent = TestListener::agent(&["--sessions", sessions.to_str().unwrap()]);
    holds("websocket", &format!("url: {}", agent.1));
}

#[test]
fn a_fault_is_detected_over_both_transports() {
    let check = |name: &str, how: &str| {
        let (output, said, folder) = run(name, how, &["--id", "acp/cancel/while-asked"]);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("FAIL acp.turns.cancelled"), "{said}");
        assert_eq!(judged(&folder), Some(1));
    };
    check(
        "pipes-fault",
        &format!("command: ['{PROGRAM}', agent, acp, --fault, end-turn-after-cancel]"),
    );
    let agent = TestListener::agent(&["--fault", "end-turn-after-cancel"]);
    check("websocket-fault", &format!("url: {}", agent.1));
}

#[test]
fn a_session_is_loaded_after_a_restart() {
    let id = ["--id", "acp/load/*", "--id", "acp/params/load"];
    let how = |more: &str| format!("command: ['{PROGRAM}', agent, acp{more}]");
    let kept = ", --sessions, '{home}/sessions'";
    let (output, said, _) = run("kept", &how(kept), &id);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(" passed") && !said.contains("skip"), "{said}");
    let (output, said, _) =
        run("kept-fault", &how(&format!("{kept}, --fault, loads-without-history")), &id);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("FAIL acp/load/tells-the-conversation-again"), "{said}");
    let (output, said, _) = run("not-kept", &how(""), &id);
    assert!(said.contains("skip acp/load/tells-the-conversation-again"), "{said}");
    assert_ne!(output.status.code(), Some(1), "{said}");
}

#[test]
fn the_profile_gives_the_authentication_method() {
    let id = ["--id", "acp/turn/prompt-is-answered"];
    let how = format!("command: ['{PROGRAM}', agent, acp, --auth]");
    // If the agent opens no session, the run ends with the error of the agent.
    let (output, said, _) = run("unauthenticated", &how, &id);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("-32000"), "{error}");
    let (output, said, _) = run("authenticated", &format!("{how}\nauth: scripted"), &id);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

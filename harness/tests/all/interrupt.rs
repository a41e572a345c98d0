//! Tests that an interrupted run leaves a valid report, and no process.
#![cfg(all(feature = "cli", unix))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");

/// A process that is killed at the end of the test.
struct TestProcess(Child);

impl Drop for TestProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(arguments: &[&str]) -> (TestProcess, String) {
    let mut child =
        Command::new(PROGRAM).arg("serve").args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (TestProcess(child), url.trim().to_owned())
}

#[test]
fn an_interrupted_run_writes_a_complete_report() {
    let (_host, url) = serve(&[]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let report = folder.join("interrupted.jsonl");
    let _ = std::fs::remove_file(&report);
    let mut run = Command::new(PROGRAM)
        .args(["run", "--url", &url, "--profile", "all", "--repeat", "10", "--report"])
        .arg(format!("jsonl={}", report.display()))
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The run has started when the report grows, which takes a while on a busy machine.
    let written = || std::fs::metadata(&report).map_or(0, |file| file.len());
    let began = Instant::now();
    while written() < 100_000 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let sent = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(run.wait().unwrap().code(), Some(130));

    let kept = std::fs::read_to_string(&report).unwrap();
    let footer = kept.lines().last().unwrap();
    assert!(
        footer.contains("\"run\":\"footer\"") && footer.contains("\"interrupted\":true"),
        "{footer}"
    );
    let judged = Command::new(PROGRAM).arg("judge").arg(&report).output().unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(said.contains("scenarios in"), "{said}{}", String::from_utf8_lossy(&judged.stderr));
    assert_ne!(judged.status.code(), Some(70), "{}", String::from_utf8_lossy(&judged.stderr));

    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/nothing-left.yaml");
    let left = Command::new(PROGRAM).args(["run", "--url", &url]).arg(probe).output().unwrap();
    assert_eq!(left.status.code(), Some(0), "{}", String::from_utf8_lossy(&left.stdout));
}

/// A pipe that is open but is not read blocks the command, so that only another thread can notice a signal.
#[test]
fn a_second_interrupt_ends_a_command_that_is_blocked() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut run = Command::new(PROGRAM)
        .args(["run", "--profile", "all", "--report"])
        .arg(format!("jsonl={}", pipe.display()))
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let reader = std::fs::File::open(&pipe).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(run.try_wait().unwrap().is_none(), "expected the command to wait for its reader");
    let interrupt = |run: &Child| {
        let sent = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
        assert!(sent.unwrap().success());
        std::thread::sleep(Duration::from_millis(500));
    };
    interrupt(&run);
    interrupt(&run);
    let ended = run.try_wait().unwrap();
    let _ = run.kill();
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
    drop(reader);
}

#[test]
fn a_started_host_is_killed_with_its_subprocesses() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let pids = folder.join("pids");
    // The host and a `sleep` process are grandchildren of the harness; `sleep` would outlive the host.
    let command = format!(
        "sleep 1000 & echo $! > {0}; echo $$ >> {0}; {PROGRAM} serve --listen 127.0.0.1:{{port}}",
        pids.display()
    );
    let run = Command::new(PROGRAM)
        .args(["run", "--command", &command, "--id", "tools/confirmed-once", "--profile", "all"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stdout));
    for pid in std::fs::read_to_string(&pids).unwrap().lines() {
        // A process that has exited but was not reaped has no command line.
        let alive =
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
        assert!(!alive, "process {pid} is still there");
    }
}

#[test]
fn an_interrupted_load_writes_its_report_and_disposes_of_its_sessions() {
    let (_host, url) = serve(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut load = Command::new(PROGRAM)
        .args(["stress", "--url", &url, "--time", "5m", "--clients", "12", "--sessions", "3"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(4));
    let sent = Command::new("kill").args(["-INT", &load.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let began = Instant::now();
    assert_eq!(load.wait().unwrap().code(), Some(130));
    // The run takes two seconds; without the interrupt, it would take minutes.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let figures = std::fs::read_to_string(folder.path().join("stress-report/stress.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let counts = &figures["counts"];
    assert!(counts["dispatched"].as_u64() > Some(0), "{figures}");
    assert_eq!(
        counts["sessions"], counts["disposed"],
        "a session that the load created was not disposed of: {counts}"
    );
}

//! Tests that no reported result is lost if the process is killed with SIGKILL at any moment.
#![cfg(all(feature = "cli", unix))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// The number of moments at which each command is killed in `cargo test`. `MANY` is the number in the long test.
const FEW: u64 = 3;
const MANY: u64 = 50;
/// The maximum size in bytes that a file may reach before the test kills the process that writes it.
const LARGEST: u64 = 10_000;
/// The longest time that a test waits for a file to grow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that is killed at the end of the test.
struct ListeningProcess(Child);

impl Drop for ListeningProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program that prints its address on the first line.
fn listening(arguments: &[&str]) -> (ListeningProcess, String) {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    // A thread reads the pipe until its end; the program would block on a full pipe.
    std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    (ListeningProcess(child), url.trim().to_owned())
}

/// Waits until a file has a size that depends on the number, and then for up to 50 ms. A moment that depends only on
/// the clock could come before the first report on a busy machine.
fn wait_for_moment(number: u64, file: &Path, largest: u64) {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let began = Instant::now();
    let size = || fs::metadata(file).map_or(0, |file| file.len());
    while size() < spread % largest && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(spread % 51));
}

/// Runs a command, kills it at the moment with this number, and returns its output.
fn killed(number: u64, arguments: &[&str], folder: &Path, largest: u64) -> String {
    let printed = folder.join("printed");
    let out = File::create(&printed).unwrap();
    let errors = out.try_clone().unwrap();
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .current_dir(folder)
        .stdout(out)
        .stderr(errors)
        .spawn()
        .unwrap();
    wait_for_moment(number, &printed, largest);
    child.kill().unwrap();
    child.wait().unwrap();
    let text = fs::read_to_string(printed).unwrap();
    // An incomplete last line is dropped, because the command has reported only whole lines.
    text[..text.rfind('\n').map_or(0, |end| end + 1)].to_owned()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("killed-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns how often each result occurs in the file of a run, as `STATUS SCENARIO`.
fn results(file: &Path) -> HashMap<String, usize> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut results = HashMap::new();
    for line in lines.filter(|line| line["run"] == "result") {
        let result =
            format!("{} {}", line["status"].as_str().unwrap(), line["scenario"].as_str().unwrap());
        *results.entry(result).or_default() += 1;
    }
    results
}

/// Checks that each printed result of a run is in the run's file, and that the file is still readable.
fn results_are_kept(number: u64, printed: &str, file: &Path) -> usize {
    let mut kept = results(file);
    let statuses = ["pass", "fail", "warn", "note", "untested", "error"];
    let mut count = 0;
    for line in printed.lines() {
        let mut words = line.split_whitespace();
        let (Some(status), Some(scenario)) = (words.next(), words.next()) else { continue };
        let status = status.to_ascii_lowercase();
        if !statuses.contains(&status.as_str()) || !scenario.contains('/') {
            continue;
        }
        let result = format!("{status} {scenario}");
        let left = kept.get_mut(&result).filter(|left| **left > 0);
        *left.unwrap_or_else(|| {
            panic!("moment {number}: `{line}` was printed and is not in the file")
        }) -= 1;
        count += 1;
    }
    if fs::metadata(file).is_ok_and(|file| file.len() > 0) {
        let out = file.with_extension("certificate");
        let report =
            Command::new(PROGRAM).arg("report").arg(file).arg("--out").arg(&out).output().unwrap();
        let said = String::from_utf8_lossy(&report.stderr).into_owned();
        // A file that was cut off in its first line does not contain a run yet.
        let whole = fs::read_to_string(file).unwrap().contains('\n');
        // The exit code is 0, 1, or 130 for an interrupted run.
        let ended = matches!(report.status.code(), Some(0 | 1 | 130));
        assert!(ended || !whole, "moment {number}: {said}");
    }
    count
}

fn run_keeps_its_results(name: &str, moments: u64) {
    let (_host, url) = listening(&["serve"]);
    let folder = folder(name);
    let mut reported = 0;
    for number in 1..=moments {
        let file = folder.join("run.jsonl");
        let _ = fs::remove_file(&file);
        let arguments = [
            "run",
            "--url",
            &url,
            "--profile",
            "all",
            "--repeat",
            "20",
            "--format",
            "full",
            "--report",
            "jsonl=run.jsonl",
        ];
        let printed = killed(number, &arguments, &folder, LARGEST);
        reported += results_are_kept(number, &printed, &file);
    }
    assert!(reported > 0, "nothing was reported before any of the moments");
}

fn certify_keeps_its_results(name: &str, moments: u64) {
    let (_host, url) = listening(&["serve"]);
    let folder = folder(name);
    let mut reported = 0;
    for number in 1..=moments {
        let file = folder.join("out/run.jsonl");
        let _ = fs::remove_file(&file);
        let arguments = ["certify", "--url", &url, "--format", "full", "--out", "out"];
        let printed = killed(number, &arguments, &folder, LARGEST);
        reported += results_are_kept(number, &printed, &file);
    }
    assert!(reported > 0, "nothing was reported before any of the moments");
}

/// Checks that each message that a client got from the host through the recorder is in the capture.
fn record_keeps_its_messages(name: &str, moments: u64) {
    let (_host, url) = listening(&["serve"]);
    let folder = folder(name);
    let mut passed = 0;
    for number in 1..=moments {
        let capture = folder.join("capture.jsonl");
        let _ = fs::remove_file(&capture);
        let _ = fs::remove_file(folder.join("client.jsonl"));
        let (mut recorder, through) =
            listening(&["record", "--url", &url, "--out", capture.to_str().unwrap()]);
        let client = Command::new(PROGRAM)
            .args(["run", "--url", &through, "--repeat", "20", "--report", "jsonl=client.jsonl"])
            .args(["--budget", "1m", "--timeout", "500ms"])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let client = ListeningProcess(client);
        wait_for_moment(number, &folder.join("client.jsonl"), 20 * LARGEST);
        recorder.0.kill().unwrap();
        recorder.0.wait().unwrap();
        drop(client);
        let captured = frames(&capture, |line| line["dir"] == "s2c");
        for (frame, times) in frames(&folder.join("client.jsonl"), |line| line["dir"] == "s2c") {
            let kept = captured.get(&frame).copied().unwrap_or(0);
            assert!(
                kept >= times,
                "moment {number}: {times} times received, {kept} times captured: {frame}"
            );
            passed += times;
        }
        if fs::metadata(&capture).is_ok_and(|file| file.len() > 0) {
            let judged = Command::new(PROGRAM).arg("judge").arg(&capture).output().unwrap();
            let code = judged.status.code();
            assert!(matches!(code, Some(0..=2)), "moment {number}: {code:?}");
        }
    }
    assert!(passed > 0, "no message was passed on before any of the moments");
}

/// Returns the frames of a transcript, and the number of occurrences of each frame.
fn frames(file: &Path, which: impl Fn(&Value) -> bool) -> HashMap<String, usize> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut frames = HashMap::new();
    for line in lines.filter(|line| which(line) && !line["msg"].is_null()) {
        *frames.entry(line["msg"].to_string()).or_default() += 1;
    }
    frames
}

/// Checks that each finding that a campaign has printed is in the campaign's folder, and that the campaign
/// continues with its earlier counts.
fn fuzz_keeps_its_campaign(name: &str, moments: u64) {
    let (_host, url) =
        listening(&["serve", "--fault", "echo-never", "--fault", "title-not-applied"]);
    let folder = folder(name);
    let campaign = folder.join("campaign");
    let mut findings = 0;
    let mut before = 0;
    for number in 0..moments {
        let seed = format!("{}", number / 5);
        if number % 5 == 0 {
            // Every few moments, a new campaign begins; in between, the same campaign is killed and continued.
            let _ = fs::remove_dir_all(&campaign);
            before = 0;
        }
        let arguments = [
            "fuzz",
            "--url",
            &url,
            "--seed",
            &seed,
            "--timeout",
            "300ms",
            "--time",
            "1m",
            "--out",
            "campaign",
        ];
        let printed = killed(number, &arguments, &folder, LARGEST / 20);
        let counted = printed
            .lines()
            .filter_map(|line| line.split_once(" conversations, ")?.0.trim().parse::<u64>().ok());
        let counted = counted.max().unwrap_or(0);
        assert!(
            counted == 0 || counted >= before,
            "moment {number}: {counted} conversations after {before}"
        );
        before = before.max(counted);
        let state = fs::read_to_string(campaign.join("campaign.jsonl")).unwrap_or_default();
        for line in printed.lines().filter(|line| line.starts_with("finding ")) {
            let rule = line.split(": ").nth(1).unwrap().split(' ').next().unwrap();
            let known = state.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let known = known.filter(|line| line["finding"]["rule"] == rule).count();
            assert!(known > 0, "moment {number}: `{line}` was printed and is not in the campaign");
            findings += 1;
        }
    }
    assert!(findings > 0, "no finding was printed before any of the moments");
}

#[test]
fn run_loses_no_result() {
    run_keeps_its_results("run", FEW);
}

#[test]
fn certify_loses_no_result() {
    certify_keeps_its_results("certify", FEW);
}

#[test]
fn record_loses_no_message() {
    record_keeps_its_messages("record", FEW);
}

#[test]
#[ignore = "takes minutes; `cargo test --release --test all killed:: -- --ignored` tries 50 moments of each command"]
fn run_loses_no_result_at_fifty_moments() {
    run_keeps_its_results("run-long", MANY);
}

#[test]
#[ignore = "takes minutes, see above"]
fn certify_loses_no_result_at_fifty_moments() {
    certify_keeps_its_results("certify-long", MANY);
}

#[test]
#[ignore = "takes minutes, see above"]
fn record_loses_no_message_at_fifty_moments() {
    record_keeps_its_messages("record-long", MANY);
}

#[test]
#[ignore = "takes minutes, see above"]
fn fuzz_loses_no_finding_at_fifty_moments() {
    fuzz_keeps_its_campaign("fuzz-long", MANY);
}

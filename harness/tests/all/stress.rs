//! Tests of loads on the reference host: many clients in memory and in virtual time, and a few clients over sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ahp_harness::agent::mode::AgentMode;
use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::fault::HostFault;
use ahp_harness::load::acts::ACTS;
use ahp_harness::load::evidence;
use ahp_harness::load::plan::{LoadPace, LoadPlan};
use ahp_harness::load::recent::KeptEntry;
use ahp_harness::load::result::{LoadFinding, LoadResult};
use ahp_harness::load::sim;
use ahp_harness::oracle::{Oracle, OracleOptions};
use ahp_harness::run::mutant_rows::load_rows;

use crate::common::priority;

fn plan() -> LoadPlan {
    LoadPlan {
        clients: 48,
        sessions: 6,
        time: Duration::from_secs(40),
        pace: LoadPace::PerSecond(60.0),
        turns: Some(AgentMode::Host),
        ..LoadPlan::default()
    }
}

fn played(plan: LoadPlan, config: HostConfig) -> LoadResult {
    priority::lower();
    sim::play(plan, &mut RefHost::new(config))
}

fn found_in(result: &LoadResult) -> String {
    let finding = |it: &LoadFinding| {
        format!("{} {:?}: {}", it.finding.check, it.finding.lines, it.finding.message)
    };
    result.findings.iter().map(finding).collect::<Vec<_>>().join("\n")
}

fn shown(result: &LoadResult) -> String {
    format!("{:#?}\n{}", result.counts, found_in(result))
}

#[test]
fn the_reference_host_has_no_finding() {
    let result = played(plan(), HostConfig::default());
    assert!(result.findings.is_empty(), "{}", shown(&result));
    let counts = &result.counts;
    // The load has to contain each kind of event, because a load without them would test nothing.
    for (what, count) in [
        ("turns", counts.turns),
        ("decisions", counts.decisions),
        ("replays", counts.replays),
        ("newcomers", counts.newcomers),
        ("pauses", counts.pauses),
        ("rejected actions", counts.rejected),
    ] {
        assert!(count > 0, "no {what}: {counts:#?}");
    }
    assert!(result.judged_pauses > 0, "{counts:#?}");
    assert_eq!((counts.failed, result.delays.late), (0, 0), "{counts:#?}");
    assert!(ACTS.iter().all(|act| counts.acts.contains_key(act.name)), "{:#?}", counts.acts);
}

#[test]
fn a_host_that_is_killed_has_no_finding() {
    let crashes = Some(Duration::from_secs(3));
    let result = played(LoadPlan { crashes, ..plan() }, HostConfig::default());
    assert!(result.findings.is_empty(), "{}", shown(&result));
    let counts = &result.counts;
    assert!(counts.crashes > 8 && counts.turns > 20 && counts.snapshots > 0, "{counts:#?}");
    let opens = result.checks.iter().find(|it| it.check == "restart.opens").unwrap();
    assert!(opens.observations > 0, "{opens:?}");
}

#[test]
fn the_same_seed_gives_the_same_load() {
    let short = LoadPlan { time: Duration::from_secs(5), ..plan() };
    let result = || played(short.clone(), HostConfig::default());
    let (first, second) = (result(), result());
    assert_eq!((first.counts, first.frames), (second.counts, second.frames));
}

#[test]
fn each_fault_that_shows_under_load_is_found() {
    let mut missed = Vec::new();
    for row in load_rows() {
        let config = HostConfig { faults: vec![row.fault], ..HostConfig::default() };
        let result = played(plan(), config);
        let found: Vec<&str> = result.findings.iter().map(|it| it.finding.check).collect();
        if !row.trips.iter().all(|check| found.contains(check)) {
            missed.push(format!("{} ({:?}):\n{}", row.fault.name(), row.trips, found_in(&result)));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn captures_show_their_findings() {
    let fault = HostFault::by_name("crossing-echo-lost").unwrap();
    let config = HostConfig { faults: vec![fault], ..HostConfig::default() };
    let result = played(LoadPlan { time: Duration::from_secs(10), ..plan() }, config);
    let found = result.findings.iter().find(|it| it.finding.check == "fanout.complete").unwrap();
    let reduced = evidence::reduce(&found.evidence, &found.finding, None);
    assert_eq!(reduced.shows, Some(true));
    let (before, after) = (found.evidence.entries.len(), reduced.entries.len());
    assert!(after < 60 && after < before, "{before} frames became {after}");
    // The reduced capture is judged like any other capture. The same check must have a finding, proved by the same
    // lines.
    let options = OracleOptions { foreign: true, ..OracleOptions::default() };
    let mut oracle = Oracle::new(options);
    let entries = reduced.entries.iter().map(KeptEntry::entry);
    let mut findings: Vec<_> = entries.flat_map(|entry| oracle.observe(&entry)).collect();
    findings.extend(oracle.finish_with_findings().1);
    let same = findings.iter().filter(|it| it.check == found.finding.check);
    assert_eq!(same.map(|it| &it.lines).collect::<Vec<_>>(), [&found.finding.lines]);
    // The reduced capture has no other finding, for example about an action that was removed.
    assert!(findings.iter().all(|it| it.check == found.finding.check), "{findings:#?}");
}

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");

/// Runs `stress` for some seconds, and writes its report to a folder. Returns the exit code and the output.
fn stressed(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let out = folder.join("report").display().to_string();
    let output = Command::new(PROGRAM)
        .args(["stress", "--out", &out, "--seed", "4", "--arrivals", "200"])
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_killed_host_with_a_state_folder_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    let host = format!("exec {PROGRAM} serve --state {state} --listen 127.0.0.1:{{port}}");
    let junit = folder.path().join("junit.xml");
    let load = ["--clients", "8", "--sessions", "2", "--rate", "40", "--time", "5s"];
    let more = ["--crash-every", "1s", "--command", &host, "--junit", junit.to_str().unwrap()];
    let (code, text) = stressed(folder.path(), &[&load[..], &more[..]].concat());
    assert_eq!(code, Some(0), "{text}");
    let report = folder.path().join("report");
    let figures = std::fs::read_to_string(report.join("stress.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    assert!(figures["counts"]["crashes"].as_u64() > Some(0), "{text}");
    assert_eq!(figures["findings"], serde_json::json!([]), "{text}");
    let page = std::fs::read_to_string(report.join("index.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("load.readers-independent") && junit.contains("restart.opens"));
}

#[test]
fn a_fault_over_sockets_has_a_capture_that_judge_reads() {
    let folder = tempfile::tempdir().unwrap();
    let load = ["--clients", "30", "--sessions", "3", "--rate", "300", "--time", "4s"];
    let more = ["--fault", "crossing-echo-lost"];
    let (code, text) = stressed(folder.path(), &[&load[..], &more[..]].concat());
    assert_eq!(code, Some(1), "{text}");
    let capture = folder.path().join("report/finding-01-fanout-complete.jsonl");
    let judged = Command::new(PROGRAM).arg("judge").arg(capture).output().unwrap();
    let judged = String::from_utf8(judged.stdout).unwrap();
    assert!(judged.contains("fanout.complete") && judged.contains("FAIL"), "{text}\n{judged}");
}

#[test]
fn a_host_that_cannot_be_killed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _) = stressed(folder.path(), &["--url", "ws://127.0.0.1:9", "--crash-every", "1s"]);
    assert_eq!(code, Some(2));
}

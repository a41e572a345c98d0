//! Tests of runs that test each agent of a host: the selection of scenarios for each agent is correct, and all output
//! files of such a run agree with the selection.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot run the harness has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Three scenarios: the first does not depend on the agent, every agent can play the second, and only some
/// agents can play the third.
const IDS: [&str; 3] = [
    "handshake/server-seq-is-current",
    "turns/error-ends-the-turn",
    "chats/a-fork-goes-its-own-way",
];
/// The agents of the reference host that need no token, in the order of the host.
const AGENTS: [&str; 5] = ["scripted", "obliging", "plain", "single", "roaming"];

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn harness(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ahp-harness")).args(arguments).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), format!("{out}{err}"))
}

/// Plays the scenarios with every agent of the embedded host; `more` holds additional arguments. Returns the exit
/// code and the output.
fn play(file: &Path, more: &[&str]) -> (Option<i32>, String) {
    let report = format!("jsonl={}", file.display());
    let mut arguments = vec!["run", "--provider", "all", "--report", &report];
    IDS.iter().for_each(|id| arguments.extend(["--id", id]));
    arguments.extend(more);
    harness(&arguments)
}

/// Plays the scenarios, and checks that none of them fails or is untested.
fn run(file: &Path, more: &[&str]) -> String {
    let (code, said) = play(file, more);
    assert_eq!(code, Some(0), "{said}");
    said
}

fn lines(file: &Path, about: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["run"] == about).collect()
}

/// Returns the scenario, the provider and the status of each result.
fn results(file: &Path) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = lines(file, "result");
    let row = |it: &Value| (text(&it["scenario"]), text(&it["provider"]), text(&it["status"]));
    let mut rows: Vec<_> = results.iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn scenarios_about_the_agent_are_played_with_every_agent() {
    let file = folder("providers-run").join("run.jsonl");
    let said = run(&file, &[]);
    assert!(said.contains("not tested: agent guarded: it needs a token for"), "{said}");
    let results = results(&file);
    let of = |id: &str| -> Vec<(&str, &str)> {
        let mine = results.iter().filter(|(scenario, ..)| scenario == id);
        mine.map(|(_, provider, status)| (provider.as_str(), status.as_str())).collect()
    };
    assert_eq!(of(IDS[0]), [("", "pass")]);
    let mut sorted = AGENTS;
    sorted.sort_unstable();
    assert_eq!(of(IDS[1]), sorted.map(|agent| (agent, "pass")));
    let forks = sorted.map(|agent| match agent {
        "plain" | "single" => (agent, "skip"),
        _ => (agent, "pass"),
    });
    assert_eq!(of(IDS[2]), forks);
    // The recorded frames must contain a session of each agent.
    let named = |line: &Value| line["provider"].as_str().map(str::to_owned);
    let mut began: Vec<String> = lines(&file, "case").iter().filter_map(named).collect();
    let text = std::fs::read_to_string(&file).unwrap();
    for agent in AGENTS {
        let creates = "\"method\":\"createSession\",\"params\":{\"channel\":";
        let uses = format!("\"provider\":\"{agent}\"");
        let sent = text.lines().any(|line| line.contains(creates) && line.contains(&uses));
        assert!(sent, "no session of {agent}");
    }
    began.dedup();
    assert_eq!(began.len(), 3 + 5, "{began:?}");
    let (code, judged) = harness(&["judge", file.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{judged}");
    assert!(!judged.contains("in the file"), "{judged}");
}

#[test]
fn the_certificate_lists_the_results_of_every_agent() {
    let folder = folder("providers-certificate");
    let file = folder.join("run.jsonl");
    run(&file, &[]);
    let out = folder.join("certificate");
    let (code, said) = harness(&["report", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    // The profiles are incomplete, because the run has only a few scenarios.
    assert_eq!(code, Some(1), "{said}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let certificate: Value = serde_json::from_str(&read("certificate.json")).unwrap();
    let agents = certificate["agents"].as_array().unwrap();
    let untested: Vec<&str> = agents
        .iter()
        .filter(|agent| agent["verdict"].is_null())
        .filter_map(|agent| agent["untested"].as_str())
        .collect();
    let [why] = untested[..] else { panic!("{agents:?}") };
    assert!(why.contains("--authenticate"), "{why}");
    let requirement = |id: &str| {
        let rows = certificate["requirements"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == id).unwrap().clone()
    };
    let fork = requirement("chat.create.fork.history");
    assert_eq!(fork["outcome"], "pass");
    assert_eq!(
        (&fork["agents"]["scripted"], &fork["agents"]["plain"]),
        (&"pass".into(), &"skip".into())
    );
    assert!(fork["agents"]["guarded"].is_null());
    assert!(said.contains("with the agent guarded: untested"), "{said}");
    for name in ["summary.md", "report.html", "members.txt"] {
        let text = read(name);
        assert!(AGENTS.iter().all(|agent| text.contains(agent)), "{name}");
        assert!(text.contains("needs a token"), "{name}");
    }
    assert!(read("members.txt").contains("with the agent roaming:"));
}

#[test]
fn merged_shards_equal_the_whole_run() {
    let folder = folder("providers-parts");
    let whole = folder.join("whole.jsonl");
    run(&whole, &[]);
    let parts = ["1/2", "2/2"].map(|part| {
        let file = folder.join(format!("{}.jsonl", &part[..1]));
        run(&file, &["--shard", part]);
        file
    });
    let joined = folder.join("joined.jsonl");
    let [first, second] = &parts;
    let (code, said) = harness(&[
        "merge",
        first.to_str().unwrap(),
        second.to_str().unwrap(),
        "--out",
        joined.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(results(&whole), results(&joined));
    let (code, said) = harness(&["diff", whole.to_str().unwrap(), joined.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
}

/// The host refuses the token for one agent. The other agents must be tested nevertheless.
#[test]
fn a_refused_token_concerns_only_the_agent_that_requires_it() {
    let file = folder("providers-token").join("run.jsonl");
    play(&file, &["--authenticate", "https://agent.ahp-harness.example/api=wrong"]);
    let results = results(&file);
    for (_, agent, status) in results.iter().filter(|(id, ..)| id == IDS[1]) {
        let expected = if agent == "guarded" { "untested" } else { "pass" };
        assert_eq!(status, expected, "{agent}");
    }
    assert!(results.iter().any(|(_, agent, _)| agent == "guarded"), "{results:?}");
}

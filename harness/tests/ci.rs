//! What a run in CI needs besides a verdict: to stop early, to be shared among machines and joined
//! again, to accept what is known.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of its own for each test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ci").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn harness(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("GITHUB_ACTIONS")
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), format!("{out}{err}"))
}

/// Runs it, and holds it to its exit code and to what it says.
fn check(folder: &Path, arguments: &[&str], code: i32, expected: &[&str]) -> String {
    let (found, said) = harness(folder, arguments);
    assert_eq!(found, Some(code), "{arguments:?}\n{said}");
    for part in expected {
        assert!(said.contains(part), "{arguments:?}: expected `{part}` in\n{said}");
    }
    said
}

/// Writes a scenario that holds, or one that expects a refusal where there is none.
fn scenario(folder: &Path, id: &str, holds: bool) {
    let outcome = if holds { "accept: {}" } else { "reject: {}" };
    let text = format!(
        "scenario: {id}\ntitle: A title is set\nproves: [dispatch.chat.toolCallConfirmed.twice]\nclients: [A]\nsteps:\n  \
         - open: {{ by: [A] }}\n  - dispatch:\n      by: A\n      channel: ${{session}}\n      \
         action: {{ type: session/titleChanged, title: Tea }}\n      {outcome}\n"
    );
    let path = folder.join("suite").join(format!("{id}.yaml"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn stops_at_the_first_failure() {
    let here = folder("fail-fast");
    for (id, holds) in [("mine/a", true), ("mine/b", false), ("mine/c", true), ("mine/d", false)] {
        scenario(&here, id, holds);
    }
    check(&here, &["run", "suite"], 1, &["2 passed, 2 failed"]);
    let fast = ["run", "suite", "--fail-fast", "--report", "jsonl=run.jsonl"];
    let said = check(
        &here,
        &fast,
        1,
        &["1 passed, 1 failed, 2 not judged", "not played: `mine/b` did not hold (--fail-fast)"],
    );
    assert!(!said.contains("`mine/d`"), "{said}");
    let kept = fs::read_to_string(here.join("run.jsonl")).unwrap();
    assert_eq!(kept.matches("\"run\":\"case\"").count(), 2, "{kept}");

    // What is known is no reason to stop; a certificate stops like a run.
    let known =
        "known:\n  - scenario: mine/b\n    reason: x\n  - scenario: mine/d\n    reason: x\n";
    fs::write(here.join("known.yaml"), known).unwrap();
    let fast = ["run", "suite", "--fail-fast", "--baseline", "known.yaml"];
    check(&here, &fast, 0, &["2 passed, 2 known"]);
    check(&here, &["certify", "suite", "--fail-fast"], 1, &["2 not judged"]);
}

#[test]
fn plays_a_part_of_the_selection() {
    let here = folder("shard");
    for id in ["mine/e", "mine/c", "mine/a", "mine/d", "mine/b"] {
        scenario(&here, id, true);
    }
    let mut played = Vec::new();
    for (shard, expected) in [("1/2", ["a", "c", "e"].as_slice()), ("2/2", &["b", "d"])] {
        let count = format!("{} scenarios (shard {shard})", expected.len());
        let said = check(&here, &["run", "suite", "--shard", shard], 0, &[&count]);
        let ids = said.lines().filter_map(|line| line.trim_start().strip_prefix("pass mine/"));
        let ids: Vec<String> = ids.map(|id| id[..1].to_owned()).collect();
        assert_eq!(ids, expected, "{said}");
        played.extend(ids);
    }
    played.sort();
    assert_eq!(played, ["a", "b", "c", "d", "e"]);
    check(&here, &["run", "suite", "--shard", "6/6"], 2, &["shard 6/6 of 5 scenarios has none"]);
    for (shard, why) in [
        ("0/4", "expected a part from 1"),
        ("5/4", "expected a part from 1"),
        ("1/0", "expected a part from 1"),
        ("1", "such as `1/4`"),
        ("a/b", "such as `1/4`"),
    ] {
        check(&here, &["run", "suite", "--shard", shard], 2, &[why]);
    }
    check(&here, &["certify", "suite", "--shard", "1/2"], 2, &["about the whole suite"]);
    check(
        &here,
        &["run", "suite", "--shard", "2/2", "--dry-run"],
        0,
        &["2 scenarios of shard 2/2"],
    );
}

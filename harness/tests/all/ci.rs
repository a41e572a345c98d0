//! Tests of the features for CI: stopping early, sharing a run among machines, merging the parts, and accepting
//! known failures.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Makes an empty folder for a test.
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

/// Runs the program, and checks its exit code and output.
fn check(folder: &Path, arguments: &[&str], code: i32, expected: &[&str]) -> String {
    let (found, said) = harness(folder, arguments);
    assert_eq!(found, Some(code), "{arguments:?}\n{said}");
    for part in expected {
        assert!(said.contains(part), "{arguments:?}: expected `{part}` in\n{said}");
    }
    said
}

/// Writes a scenario that passes if `holds` is set. Otherwise, the scenario expects a refusal that does not happen.
fn scenario(folder: &Path, id: &str, holds: bool) {
    let outcome = if holds { "accept: {}" } else { "reject: {}" };
    let text = format!(
        "scenario: {id}\ntitle: A title is set\nclients: [A]\nsteps:\n  \
         - open: {{ by: [A] }}\n  - dispatch:\n      by: A\n      channel: ${{session}}\n      \
         action: {{ type: session/titleChanged, title: Tea }}\n      {outcome}\n      \
         proves: chat.create.source.unknown-chat\n"
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
        &[
            "1 passed, 1 failed, 2 not judged",
            "not played: the run failed at `mine/b` (--fail-fast)",
        ],
    );
    assert!(!said.contains("`mine/d`"), "{said}");
    let kept = fs::read_to_string(here.join("run.jsonl")).unwrap();
    assert_eq!(kept.matches("\"run\":\"case\"").count(), 2, "{kept}");

    // A failure that the baseline lists does not stop the run. `--fail-fast` stops `certify` as it stops `run`.
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
    check(
        &here,
        &["run", "suite", "--shard", "6/6"],
        2,
        &["shard 6/6 has none of the 5 selected scenarios"],
    );
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

/// Returns the lines of one kind, such as `result`, that describe the run.
fn about(text: &str, kind: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["run"] == kind).collect()
}

/// Returns for each result the scenario and the lines that the result refers to, sorted by scenario.
fn proofs(text: &str) -> Vec<(String, Vec<Value>)> {
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut all: Vec<_> = about(text, "result")
        .iter()
        .map(|result| {
            let mut found = Vec::new();
            let failure = result["failure"]["transcript"].as_array().into_iter().flatten();
            let checks = result["checks"].as_array().unwrap().iter();
            let findings = checks.flat_map(|check| check["findings"].as_array().unwrap());
            let findings = findings.flat_map(|finding| finding["transcript"].as_array().unwrap());
            for line in failure.chain(findings) {
                let line = &lines[usize::try_from(line.as_u64().unwrap()).unwrap() - 1];
                assert_eq!(line["case"], result["case"], "{line}");
                found.push(line["msg"].clone());
            }
            (result["scenario"].as_str().unwrap().to_owned(), found)
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

#[test]
fn merges_shards_into_the_run_that_they_are_parts_of() {
    let here = folder("merge");
    let suite = folder("merge/known");
    let ids = ["mine/a", "mine/b", "mine/c", "mine/d", "mine/e"];
    for id in ids {
        scenario(&suite, id, id != "mine/b" && id != "mine/e");
    }
    let play = |name: &str, more: &[&str]| {
        let report = format!("jsonl={name}");
        let fixed = ["run", "known/suite", "--report", &report, "--seed"];
        check(&here, &[&fixed, more].concat(), 1, &["1 failed"]);
    };
    // Each shard runs on a separate machine, so it has its own seed.
    let whole = ["run", "known/suite", "--report", "jsonl=whole.jsonl", "--seed", "7"];
    check(&here, &whole, 1, &["3 passed, 2 failed"]);
    play("1.jsonl", &["7", "--shard", "1/2"]);
    play("2.jsonl", &["8", "--shard", "2/2"]);
    let merge = ["merge", "2.jsonl", "1.jsonl", "--out", "run.jsonl"];
    let said = check(&here, &merge, 0, &["5 scenarios of 2 files in run.jsonl: 3 pass, 2 FAIL"]);
    assert!(!said.contains("not among the files"), "{said}");

    let read = |name: &str| fs::read_to_string(here.join(name)).unwrap();
    let (whole, merged) = (read("whole.jsonl"), read("run.jsonl"));
    assert_eq!(whole.lines().count(), merged.lines().count());
    let footer = |text: &str| about(text, "footer").pop().unwrap();
    let (one, other) = (footer(&whole), footer(&merged));
    assert_eq!(one["scenarios"], other["scenarios"]);
    assert_eq!(one["exit"], other["exit"]);
    for (check, total) in one["checks"].as_object().unwrap() {
        assert_eq!(total["observations"], other["checks"][check]["observations"], "{check}");
        assert_eq!(total["worst"], other["checks"][check]["worst"], "{check}");
    }
    let cases: BTreeSet<u64> =
        about(&merged, "result").iter().map(|result| result["case"].as_u64().unwrap()).collect();
    assert_eq!(cases, (0..5).collect());
    let methods = |text: &str| -> Vec<_> {
        let of = |(id, lines): (String, Vec<Value>)| {
            (id, lines.iter().map(|line| line["method"].clone()).collect::<Vec<_>>())
        };
        proofs(text).into_iter().map(of).collect()
    };
    assert_eq!(methods(&whole), methods(&merged));
    assert_eq!(methods(&merged).iter().filter(|(_, lines)| !lines.is_empty()).count(), 2);

    // Every command that reads a run reads the merged run: the verdicts are the same, and the identifiers have
    // both seeds.
    check(&here, &["judge", "run.jsonl"], 1, &["5 scenarios", "3 passed, 2 failed"]);
    check(&here, &["diff", "whole.jsonl", "run.jsonl"], 0, &["no difference"]);
    check(&here, &["report", "run.jsonl"], 1, &["report.html"]);
    check(&here, &["merge", "1.jsonl", "--out", "half.jsonl"], 0, &["shard 2/2 is not among"]);

    // A part of a run cannot certify the host, before or after a merge; a whole run can.
    for (file, complete) in [("run.jsonl", true), ("half.jsonl", false), ("1.jsonl", false)] {
        check(&here, &["report", file], 1, &[]);
        let certificate: Value =
            serde_json::from_str(&read("certificate/certificate.json")).unwrap();
        assert_eq!(certificate["complete"], complete, "{file}");
    }
}

#[test]
fn merges_nothing_that_is_not_one_run() {
    let here = folder("merge-refused");
    for id in ["mine/a", "mine/b", "mine/c"] {
        scenario(&here, id, true);
    }
    for shard in ["1/2", "2/2", "1/3", "2/3"] {
        let report = format!("jsonl={}.jsonl", shard.replace('/', "of"));
        check(&here, &["run", "suite", "--shard", shard, "--report", &report], 0, &[]);
    }
    let old = ["run", "suite", "--shard", "2/2", "--spec", "0.9.0", "--report", "jsonl=old.jsonl"];
    check(&here, &old, 0, &[]);
    let text = fs::read_to_string(here.join("2of2.jsonl")).unwrap();
    let with = |name: &str, text: &str| fs::write(here.join(name), text).unwrap();
    let target = |target: &str| text.replacen("\"target\":\"embedded\"", target, 1);
    with("other.jsonl", &target("\"target\":\"ws://other\""));
    with("near.jsonl", &target("\"target\":\"ws://127.0.0.1:1/a\""));
    with("nearer.jsonl", &target("\"target\":\"ws://127.0.0.1:2/a\"").replace("mine/b", "mine/x"));
    with("cut.jsonl", &text[..text.trim_end().rfind('\n').unwrap() + 1]);
    with("odd.jsonl", &text.replace("\"case\":0,\"t\"", "\"case\":4294967295,\"t\""));
    with("none.jsonl", "{\"t\":0,\"conn\":\"A\",\"dir\":\"open\"}\n");
    for (other, why) in [
        ("old.jsonl", "`version` is \"1.0.0\" in 1of2.jsonl and \"0.9.0\" in old.jsonl"),
        ("other.jsonl", "`target` is \"embedded\" in 1of2.jsonl and \"ws://other\" in other.jsonl"),
        ("1of2.jsonl", "`mine/a` is also in an earlier file"),
        ("2of3.jsonl", "shard 1/2 is 1of2.jsonl and shard 2/3 is 2of3.jsonl"),
        ("cut.jsonl", "cut.jsonl: expected a footer"),
        ("odd.jsonl", "there are too many cases"),
        ("none.jsonl", "none.jsonl:1: expected the header of a run"),
        ("nosuch.jsonl", "`nosuch.jsonl` could not be read"),
    ] {
        check(&here, &["merge", "1of2.jsonl", other], 2, &[why]);
        assert!(
            !here.join("run.jsonl").exists() && !here.join("run.jsonl.part").exists(),
            "{other}"
        );
    }
    // The port of a local address is random, so it may differ.
    check(&here, &["merge", "near.jsonl", "nearer.jsonl"], 0, &["2 scenarios of 2 files"]);
    // A blank line shifts the numbers of the later lines, and the references to these lines.
    with("blank.jsonl", &text.replacen("\n{\"case\":0,\"t\"", "\n\n{\"case\":0,\"t\"", 1));
    check(&here, &["merge", "1of2.jsonl", "blank.jsonl"], 0, &["3 scenarios of 2 files"]);
    check(&here, &["judge", "run.jsonl"], 0, &["3 passed"]);
}

#[test]
fn writes_the_baseline_anew() {
    let here = folder("baseline");
    for (id, holds) in [("mine/a", true), ("mine/b", false), ("mine/c", false)] {
        scenario(&here, id, holds);
    }
    let file = here.join("known.yaml");
    let kept = || fs::read_to_string(&file).unwrap();
    let update = ["run", "suite", "--baseline", "known.yaml", "--update-baseline"];
    check(&here, &["run", "suite", "--update-baseline"], 2, &["--baseline <FILE>"]);
    // Both scenarios fail for the same cause.
    check(&here, &update, 0, &["1 passed, 2 failed", "baseline: known.yaml, 1 new entries"]);
    let written = kept();
    assert!(written.contains("finding: \"chat.create.source.unknown-chat~"), "{written}");
    assert!(written.contains("seen_in: \"mine/b\""), "{written}");
    assert!(written.contains("TODO: give the reason"), "{written}");
    let known = ["run", "suite", "--baseline", "known.yaml"];
    check(&here, &known, 0, &["1 passed, 2 known"]);

    // A known failure does not hide another failure, even in the same scenario.
    let path = here.join("suite/mine/b.yaml");
    let before = fs::read_to_string(&path).unwrap();
    let more = "  - open: { by: [A] }\n  - request: { by: A, method: ping, result: { x: 1 }, proves: ping.response }\n";
    fs::write(&path, before.replace("  - open: { by: [A] }\n", more)).unwrap();
    check(&here, &known, 1, &["1 passed, 1 failed, 1 known", "ping.response"]);
    fs::write(&path, before).unwrap();

    // An update of the baseline keeps the user's reasons, whatever characters they contain, and also keeps entries
    // whose scenarios were not played.
    let odd = r##""it's #1: \"so\" \\ – [x]""##;
    fs::write(&file, written.replace("\"TODO: give the reason\"", odd)).unwrap();
    check(&here, &[&update[..], &["--id", "mine/a"]].concat(), 0, &["1 passed", "0 new entries"]);
    assert!(kept().contains(odd), "{}", kept());

    // An entry that no longer fails is a failure in every report.
    scenario(&here, "mine/b", true);
    scenario(&here, "mine/c", true);
    let reports = ["--report", "junit=run.xml"];
    check(&here, &[&known[..], &reports].concat(), 1, &["is in the baseline", "passes now"]);
    let xml = fs::read_to_string(here.join("run.xml")).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("type=\"stale\""), "{xml}");
    check(&here, &update, 0, &["3 passed"]);
    assert_eq!(kept(), "known: []\n");
    check(&here, &known, 0, &["3 passed"]);
}

#[test]
fn a_junit_file_tells_where_and_what() {
    let here = folder("junit");
    scenario(&here, "mine/a", true);
    scenario(&here, "mine/b", false);
    check(&here, &["run", "suite", "--report", "junit=run.xml", "--seed", "7"], 1, &[]);
    let xml = fs::read_to_string(here.join("run.xml")).unwrap();
    let case = xml.split("<testcase ").find(|case| case.contains("name=\"mine/b\"")).unwrap();
    assert!(case.contains("file=\"suite/mine/b.yaml\"") && case.contains(" line=\""), "{case}");
    let body = case.split("<failure ").nth(1).unwrap().split_once('>').unwrap().1;
    assert!(body.contains("requirement: chat.create.source.unknown-chat"), "{body}");
    let again = "ahp-harness run suite --profile all --seed 7 --id mine/b";
    assert!(body.contains(again), "{body}");
    assert!(xml.contains("<property name=\"seed\" value=\"7\""), "{xml}");
    // JUnit readers require timestamps in whole seconds.
    let stamp = xml.split("timestamp=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(stamp.len() == 19 && !stamp.contains('.'), "{stamp}");
}

#[test]
fn failed_of_plays_only_what_failed() {
    let here = folder("failed-of");
    for (id, holds) in [("mine/a", true), ("mine/b", false), ("mine/c", true)] {
        scenario(&here, id, holds);
    }
    check(&here, &["run", "suite", "--report", "jsonl=run.jsonl"], 1, &["2 passed, 1 failed"]);
    let again = ["run", "suite", "--failed-of", "run.jsonl"];
    check(&here, &again, 1, &["1 scenarios", "1 failed"]);
    scenario(&here, "mine/b", true);
    check(&here, &["run", "suite", "--report", "jsonl=run.jsonl"], 0, &["3 passed"]);
    check(&here, &again, 0, &["everything that was played passed"]);
}

#[test]
fn a_settings_file_gives_default_options() {
    let here = folder("settings");
    scenario(&here, "mine/a", true);
    scenario(&here, "mine/b", false);
    fs::write(here.join("ahp-harness.toml"), "[run]\nid = [\"mine/a\"]\n").unwrap();
    check(&here, &["run", "suite"], 0, &["1 scenarios", "1 passed"]);
    check(&here, &["run", "suite", "--id", "mine/b"], 1, &["1 failed"]);
    fs::write(here.join("ahp-harness.toml"), "[run]\nidd = \"mine/a\"\n").unwrap();
    check(&here, &["run", "suite"], 2, &["`run` has no option `idd` (hint: did you mean `id`?)"]);
}

#[test]
fn a_conversation_can_be_shown() {
    let here = folder("show");
    scenario(&here, "mine/b", false);
    check(&here, &["run", "suite", "--report", "jsonl=run.jsonl"], 1, &[]);
    let show = ["show", "run.jsonl", "--case", "mine/b"];
    let said = check(&here, &show, 0, &["→ session/titleChanged clientSeq 1", "! "]);
    // The report shows the dispatched action and its echo in full.
    assert!(said.contains("\"title\": \"Tea\"") && said.contains("\"serverSeq\":"), "{said}");
    check(&here, &["show", "run.jsonl", "--case", "mine/x"], 2, &["no scenario `mine/x`"]);
    check(&here, &["view", "run.jsonl"], 0, &["view.html"]);
    let page = fs::read_to_string(here.join("view.html")).unwrap();
    for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!("id=\"{link}\"")), "`{link}` leads nowhere");
    }
    assert!(page.contains("href=\"#l-") && page.contains("data-client=\"A\""), "{page}");
}

#[test]
fn a_token_is_read_from_a_file() {
    let here = folder("token-file");
    scenario(&here, "mine/a", true);
    fs::write(here.join("token"), "s3cret-of-a-file\n").unwrap();
    let play =
        ["run", "suite", "--loopback", "--token-file", "token", "--report", "jsonl=run.jsonl"];
    check(&here, &play, 0, &["1 passed"]);
    let kept = fs::read_to_string(here.join("run.jsonl")).unwrap();
    assert!(!kept.contains("s3cret-of-a-file") && kept.contains("$AHP_TOKEN"), "{kept}");
    fs::write(here.join("token"), "\n").unwrap();
    check(&here, &play, 2, &["expected a token in `token`, found nothing"]);
}

/// Reads a file of the repository's GitHub configuration.
fn github(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github");
    fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn the_action_downloads_only_targets_that_the_release_builds() {
    let (release, action) =
        (github("workflows/release.yml"), github("actions/ahp-harness/action.yml"));
    let made: BTreeSet<&str> = release
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("- { target: "))
        .filter_map(|rest| rest.split(',').next())
        .collect();
    let taken: BTreeSet<&str> = action
        .lines()
        .filter_map(|line| line.trim_end_matches(" ;;").split_once(") target="))
        .map(|(_, target)| target)
        .collect();
    assert_eq!(made.len(), 5);
    assert_eq!(made, taken);
}

#[cfg(unix)]
#[test]
fn the_action_certifies_with_the_options_it_is_given() {
    let here = folder("action");
    scenario(&here, "mine/it holds", true);
    let action = github("actions/ahp-harness/action.yml");
    // The second script in the file of the action, without its indentation of eight spaces.
    let script = action.split("      run: |\n").nth(2).unwrap();
    let script: Vec<&str> =
        script.lines().map_while(|line| line.strip_prefix("        ")).collect();
    let run = |url: &str, command: &str| {
        let program = env!("CARGO_BIN_EXE_ahp-harness");
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script.join("\n")])
            .current_dir(&here)
            .env_remove("GITHUB_ACTIONS")
            .envs([("PROGRAM", program), ("URL", url), ("COMMAND", command), ("OUT", "a b")])
            .env("ARGS", "suite/mine/it holds.yaml\n--spec\n0.9.0\n")
            .output()
            .unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let said = run("", "");
    assert!(said.contains("expected the input url or command"), "{said}");
    let serve = format!("{} serve --listen 127.0.0.1:{{port}}", env!("CARGO_BIN_EXE_ahp-harness"));
    let said = run("", &serve);
    assert!(said.contains("1 scenarios, protocol 0.9.0") && said.contains("1 passed"), "{said}");
    assert!(here.join("a b/certificate.json").exists(), "{said}");
    let said = run("ws://127.0.0.1:1", "");
    assert!(said.contains("could not be reached"), "{said}");
}

#[test]
fn reports_of_an_older_version_use_its_names() {
    let here = folder("words");
    let text = "scenario: mine/words\ntitle: A text comes by itself\nclients: [A]\nsteps:\n  \
                - open: { by: A }\n  - expect: { at: A, type: chat/delta, within: 1s, \
                proves: dispatch.table.server-only.chat.delta }\n";
    fs::create_dir_all(here.join("suite/mine")).unwrap();
    fs::write(here.join("suite/mine/words.yaml"), text).unwrap();
    let full = ["run", "suite", "--spec", "0.3.0", "--format", "full"];
    let reports = ["--report", "jsonl=run.jsonl", "--report", "junit=run.xml"];
    let words = ["`session/delta`", "since 1): A client dispatch", "action session/delta"];
    let said = check(&here, &[&full[..], &reports].concat(), 1, &words);
    let judged = check(&here, &["judge", "run.jsonl"], 1, &words);
    let xml = fs::read_to_string(here.join("run.xml")).unwrap();
    let lines = fs::read_to_string(here.join("run.jsonl")).unwrap();
    let result = lines.lines().find(|line| line.contains("\"run\":\"result\"")).unwrap();
    check(&here, &["report", "run.jsonl", "--out", "page"], 1, &[]);
    let page = fs::read_to_string(here.join("page/report.html")).unwrap();
    let article = page.split("The protocol says").nth(1).unwrap().split("</p>").next().unwrap();
    for (name, text) in [("junit", &*xml), ("result", result), ("page", article)] {
        assert!(text.contains("session/delta"), "{name}: {text}");
        assert!(!text.contains("chat/delta"), "{name}: {text}");
    }
    assert!(article.contains("since 1)"), "{article}");
    // The report shows the line of the scenario exactly as its author wrote it.
    let quoted = |text: &str| text.lines().filter(|line| line.contains("chat/delta")).count();
    assert_eq!((quoted(&said), quoted(&judged)), (1, 1), "{said}");
}

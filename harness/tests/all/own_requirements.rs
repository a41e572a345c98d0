//! Tests of an author's own requirements, in a file next to the scenarios, and of the minimum weight at which a run
//! fails.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");

/// Makes a folder with these requirements and a scenario whose only claim fails.
fn folder(name: &str, rule: &str, requirements: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("team")).unwrap();
    let text = format!(
        "scenario: team/title\ntitle: A new session has our title\nsteps:\n  - open: A\n  \
         - snapshot: {{ of: \"${{session}}\", state: {{ title: Ours }}, proves: {rule} }}\n"
    );
    fs::write(folder.join("team/title.yaml"), text).unwrap();
    fs::write(folder.join("requirements.yaml"), requirements).unwrap();
    folder
}

fn run(folder: &Path, command: &str, more: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM).arg(command).args(more).arg(folder).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&said).into_owned())
}

fn list(weight: &str) -> String {
    format!(
        "requirements:\n  - id: team.title\n    weight: {weight}\n    text: A session of ours is called Ours.\n"
    )
}

#[test]
fn own_requirements_are_judged_and_shown_like_any_other() {
    let folder = folder("must", "team.title", &list("must"));
    let jsonl = folder.join("run.jsonl");
    let junit = folder.join("junit.xml");
    let reports = [format!("jsonl={}", jsonl.display()), format!("junit={}", junit.display())];
    let scenario = folder.join("team");
    let more = ["--report", &reports[0], "--report", &reports[1]];
    let (code, said) = run(&scenario, "run", &more);
    assert_eq!(code, 1, "{said}");
    let shown = "team.title (MUST, your own): A session of ours is called Ours.";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(shown), "{said}");
    assert!(fs::read_to_string(junit).unwrap().contains("requirement: team.title"));
    // The file of the run is enough to judge and certify the run again.
    let (code, said) = run(&jsonl, "judge", &[]);
    assert_eq!(code, 1, "{said}");
    assert!(!said.contains("differ"), "{said}");
    let out = folder.join("certificate");
    let (_, said) = run(&jsonl, "report", &["--out", &out.display().to_string()]);
    let certificate = fs::read_to_string(out.join("certificate.json"))
        .unwrap_or_else(|error| panic!("{error}: {said}"));
    let certificate: serde_json::Value = serde_json::from_str(&certificate).unwrap();
    let rows = certificate["requirements"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "team.title").unwrap();
    assert_eq!((&row["outcome"], &row["profile"]), (&"fail".into(), &"own".into()));
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("A session of ours is called Ours."));
}

#[test]
fn the_threshold_decides_which_weights_fail_a_run() {
    for (weight, expected) in
        [("must", [1, 1, 1]), ("essential", [1, 1, 1]), ("should", [0, 1, 1]), ("note", [0, 0, 1])]
    {
        let folder = folder(&format!("weights-{weight}"), "team.title", &list(weight));
        for (threshold, expected) in ["must", "should", "note"].into_iter().zip(expected) {
            let (code, said) = run(&folder, "run", &["--fail-on", threshold]);
            assert_eq!(code, expected, "{weight} {threshold}: {said}");
        }
        let (code, _) = run(&folder, "run", &["--strict"]);
        assert_eq!(code, expected[1], "{weight}");
    }
    let folder = folder("threshold", "team.title", &list("must"));
    let (code, said) = run(&folder, "run", &["--fail-on", "all"]);
    assert!(code == 2 && said.contains("expected `note`, `should` or `must`"), "{said}");
}

#[test]
fn mistakes_in_own_requirements_are_shown_at_their_place() {
    let check = |name: &str, rule: &str, requirements: &str, expected: &[&str]| {
        let (code, said) = run(&folder(name, rule, requirements), "check", &[]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, if expected.is_empty() { 0 } else { 2 }, "{said}");
        for expected in expected {
            assert!(said.contains(expected), "{name}: {expected}\n{said}");
        }
    };
    check("right", "team.title", &list("note"), &[]);
    let hint = "define your own in `requirements.yaml` beside the scenario";
    check("unknown", "team.other", &list("note"), &["no requirement is called `team.other`", hint]);
    check("weight", "team.title", &list("heavy"), &["one of must, essential, should, note"]);
    let more = list("must") + "    colour: red\n";
    check("member", "team.title", &more, &["a requirement has no `colour`"]);
    check("blank", "team.title", "requirements:\n  - id: team.title\n", &["needs `weight`"]);
    check("form", "team.title", "requirements: 5\n", &["a list of requirements"]);
}

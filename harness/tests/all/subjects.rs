//! Tests of `ahp-harness reducers` with subjects that have various defects.
//!
//! The subjects are the harness's reducer behind filters in a shell.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const BIN: &str = env!("CARGO_BIN_EXE_ahp-harness");

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("subjects");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn held(subject: &str, arguments: &[&str]) -> Output {
    let subject = subject.replace("REDUCE", &format!("{BIN} reduce --spec 1.0.0"));
    Command::new(BIN)
        .args(["reducers", "--spec", "1.0.0", "--seed", "1", "--subject", &subject])
        .args(arguments)
        .current_dir(folder())
        .output()
        .unwrap()
}

fn check(subject: &str, arguments: &[&str], code: i32, expected: &[&str]) -> String {
    let output = held(subject, arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{subject}\n{said}");
    for part in expected {
        assert!(said.contains(part), "{subject}: expected `{part}` in\n{said}");
    }
    said
}

const VECTORS: &[&str] = &["--cases", "0", "--no-round-trips"];

#[test]
fn our_own_reducer_agrees() {
    let expected = ["0 disagreements, 0 warnings, 0 notes", "agreement, by action"];
    check("REDUCE", &["--cases", "40"], 0, &expected);
}

#[test]
fn subjects_that_never_answer_are_unreachable() {
    check("exit 3", VECTORS, 3, &["the subject ended (exit status: 3) instead of answering"]);
    check("no-such-program-here", VECTORS, 3, &["not found"]);
    check("yes nonsense", VECTORS, 3, &["expected an answer, found `nonsense`"]);
    check("yes | tr -d '\\n'", VECTORS, 3, &["expected an answer of at most 262144 bytes"]);
    check("sleep 100", VECTORS, 3, &["did not answer within 10000 ms"]);
}

#[test]
fn broken_subjects_are_found_and_the_case_is_named() {
    let begun = Instant::now();
    let broken = |subject: &str, what: &[&str]| {
        let mut expected = vec!["FAIL"];
        expected.extend(what);
        check(subject, &["--cases", "0", "--no-round-trips", "--timeout", "300ms"], 1, &expected)
    };
    let said = broken("sed -u 9q | REDUCE", &["breaks the protocol (ended)", "not asked"]);
    assert!(said.contains("state "), "{said}");
    broken("sed -u 9q | REDUCE; sleep 100", &["(silent)", "did not answer within 300 ms"]);
    broken("REDUCE | sed -u '9s/.*/{\"x\":1}/'", &["(garbage)", "expected a member `id`"]);
    broken("REDUCE | sed -u '9s/\"state\"/\"stat\"/'", &["(garbage)", "expected a member `state`"]);
    broken("REDUCE | sed -u '9s/.*/\\xff/'", &["(garbage)", "expected an answer, found"]);
    broken("REDUCE | sed -u '9s/\"id\":9/\"id\":99/'", &["(out of order)", "to question 99"]);
    broken("REDUCE | sed -u '9p'", &["(answered twice)", "question 9 was answered twice"]);
    // The subjects are started about sixty times, with two processes each. This takes much less time than one timeout.
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
}

#[test]
fn an_endless_line_is_cut_off() {
    let begun = Instant::now();
    let arguments = ["--cases", "0", "--no-round-trips", "--timeout", "10s"];
    let subject = "sed -u 9q | REDUCE; yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | tr -d '\\n'";
    check(subject, &arguments, 1, &["(endless line)", "at most 262144 bytes"]);
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
}

#[test]
fn a_reducer_that_does_nothing_fails_nearly_everywhere() {
    let identity = "sed -u 's/\"actions\":\\[.*\\],\"now\"/\"actions\":[],\"now\"/' | REDUCE \
                    | sed -u 's/\"outcomes\":\\[\\]/\"outcomes\":null/'";
    check(identity, VECTORS, 1, &["state session/titleChanged /title", "warnings"]);
}

/// A subject with an injected defect: the title of a session never changes.
const PLANTED: &str = "sed -u 's#session/titleChanged#session/nothing#' | REDUCE";

#[test]
fn a_planted_defect_is_found_reported_written_and_known() {
    let folder = folder().join("planted");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let place = |name: &str| folder.join(name).display().to_string();
    let (cases, junit) = (place("cases"), format!("junit={}", place("r.xml")));
    let (jsonl, baseline) = (format!("jsonl={}", place("r.jsonl")), place("known.yaml"));
    let none = place("none.yaml");
    fs::write(&none, VECTOR).unwrap();
    let run = |more: &[&str], code: i32, expected: &[&str]| {
        let mut arguments = vec!["--cases", "120", "--no-round-trips", none.as_str()];
        arguments.extend(more);
        check(PLANTED, &arguments, code, expected)
    };
    let key = "state session/titleChanged /title";
    let markdown = format!("markdown={}", place("r.md"));
    let defects = place("defects.yaml");
    fs::write(&defects, DEFECTS).unwrap();
    let told = ["--report", &markdown, "--defects", &defects];
    let reports = ["--write", &cases, "--report", &junit, "--report", &jsonl];
    run(&reports, 1, &[key, "1 disagreements", "session-state-session-titleChanged-title.yaml"]);
    let written = Path::new(&cases).join("session-state-session-titleChanged-title.yaml");
    let text = fs::read_to_string(&written).unwrap();
    assert!(text.contains("type\":\"session/titleChanged"), "{text}");
    // The written file is a vector file that shows the injected defect; the harness's own reducer passes the
    // file.
    let written = written.display().to_string();
    check(PLANTED, &["--cases", "0", "--no-round-trips", &written], 1, &[key, "0 of 1 vectors"]);
    check("REDUCE", &["--cases", "0", "--no-round-trips", &written], 0, &["1 of 1 vectors pass"]);
    let xml = fs::read_to_string(place("r.xml")).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains(key), "{xml}");
    let lines = fs::read_to_string(place("r.jsonl")).unwrap();
    assert!(lines.contains("\"line\":\"disagreement\"") && lines.contains(key), "{lines}");

    run(&["--baseline", &baseline], 2, &["could not be read"]);
    run(&["--baseline", &baseline, "--update-baseline"], 0, &["written:"]);
    run(&["--baseline", &baseline], 0, &["0 disagreements", "1 known", "not looked at yet"]);
    let named = fs::read_to_string(&baseline).unwrap().replace("not looked at yet", "title: seen");
    fs::write(&baseline, named).unwrap();
    run(&[&["--baseline", baseline.as_str()][..], &told].concat(), 0, &["1 known"]);
    let written = fs::read_to_string(place("r.md")).unwrap();
    let expected = ["### Titles stay\n", key, "ahp-harness reducers --spec 1.0.0 --seed 1"];
    assert!(expected.iter().all(|part| written.contains(part)), "{written}");
    let arguments = ["--cases", "120", "--no-round-trips", &none, "--baseline", &baseline];
    check("REDUCE", &arguments, 1, &["no longer occurs: remove it"]);
}

const DEFECTS: &str = "
defects: [{ id: title, title: Titles stay, what: w, decides: d, means: m, remedy: r }]
";

const VECTOR: &str = "
reducer: root
vectors:
  - name: agents
    title: The list of agents is replaced
    state: { agents: [{ provider: z, displayName: z, description: z, models: [] }] }
    actions: [{ type: root/agentsChanged, agents: [] }]
    changes: { /agents: [] }
  - name: no-agents
    title: Another action changes nothing
    state: { agents: [] }
    actions: [{ type: session/titleChanged, title: t }]
    expected: unchanged
    outcomes: [out-of-scope]
    twin: agents
";

#[test]
fn the_example_subjects_pass() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let vectors = folder().join("small.yaml").display().to_string();
    fs::write(&vectors, VECTOR).unwrap();
    let arguments =
        ["--cases", "0", "--no-round-trips", "--only", "root,session", vectors.as_str()];
    for (program, file) in [("node", "subject.mjs"), ("python3", "subject.py")] {
        let there = Command::new(program).arg("--version").output().is_ok();
        if there {
            let subject = format!("{program} {}", examples.join(file).display());
            check(&subject, &arguments, 0, &["2 of 2 vectors pass"]);
            // The harness reports a missing reducer as an error, and the process continues.
            let more = ["--cases", "6", "--timeout", "20s", vectors.as_str()];
            let refused = "(chat state): the subject refuses it (";
            let said = check(&subject, &more, 1, &[refused, "(terminal state): the subject"]);
            assert!(!said.contains("breaks the protocol"), "{said}");
        }
    }
    if Command::new("node").arg("--version").output().is_ok() {
        // A reducer may have a third parameter, such as a log. The index that `Array.reduce` passes must not become
        // that argument.
        let text = fs::read_to_string(examples.join("subject.mjs")).unwrap();
        let strict = "root: (...all) => { if (all.length !== 2) throw new Error(`got ${all.length}`); return agents(...all); }";
        let file = folder().join("strict.mjs");
        fs::write(&file, text.replace("root: agents", strict)).unwrap();
        check(&format!("node {}", file.display()), &arguments, 0, &["2 of 2 vectors pass"]);
    }
    // Cargo builds the example next to the program if it builds all tests.
    let subject = Path::new(BIN).with_file_name("examples").join("subject");
    if subject.exists() {
        let subject = format!("{} 1.0.0", subject.display());
        check(&subject, &["--cases", "20"], 0, &["0 disagreements"]);
    }
}

#[test]
fn mistakes_of_the_author_are_drawn() {
    let place = folder().join("mistakes.yaml");
    let text = "reducer: chatt\nspec: new\nvectors:\n  - name: a\n    titel: x\n    state: none\n    \
                actions: []\n    outcomes: [{ nop: x }]\n    expected: unchanged\n  - 7\n";
    fs::write(&place, text).unwrap();
    let place = place.display().to_string();
    let output = Command::new(BIN).args(["check", &place]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in [
        "did you mean `chat`",
        "expected versions such as",
        "a vector has no `titel`",
        "did you mean `title`",
        "a vector needs `title`",
        "expected the name of an earlier state",
        "`{ noop: <reason> }`",
        "expected a vector",
        ":6:12",
    ] {
        assert!(said.contains(part), "expected `{part}` in\n{said}");
    }
    check("REDUCE", &[&place], 2, &["the vectors have mistakes"]);
}

#[test]
fn a_selection_that_matches_nothing_is_a_mistake() {
    let place = folder().join("old.yaml");
    let text = VECTOR.replace("reducer: root", "reducer: root\nspec: \"<0.2.0\"");
    fs::write(&place, text).unwrap();
    let place = place.display().to_string();
    check("REDUCE", &[&place], 2, &["no vector of these files applies to 1.0.0"]);
}

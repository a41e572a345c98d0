//! Tests with a host that exits, hangs or restarts: only the scenario that causes the outage gets a finding.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// The requirement that a host breaks by an outage.
const OUTLIVES: &str = "security.no-crash-fuzz";
/// A scenario that does not harm the host.
const CALM: &str = r#"
  - open: { by: A }
  - dispatch: { by: A, channel: "${session}", action: { type: session/titleChanged, title: calm }, accept: {}, proves: dispatch.table.client.session.titleChanged }
"#;
/// Scenarios, by name. Each of them stops a host that has the matching weakness.
const DEADLY: &[(&str, &str)] = &[
    (
        "dispatch",
        r#"
  - open: { by: A }
  - dispatch: { by: A, channel: "${session}", action: { type: session/titleChanged, title: deadly }, accept: {}, proves: dispatch.table.client.session.titleChanged }
"#,
    ),
    (
        "handshake",
        r#"
  - connect: { by: A }
  - initialize: { by: A, params: { _meta: { word: deadly } }, result: { protocolVersion: "${version}" }, proves: lifecycle.version.highest-in-range }
"#,
    ),
    (
        "disposal",
        r#"
  - open: { by: A }
  - dispatch: { by: A, channel: "${session}", action: { type: session/titleChanged, title: calm }, accept: {}, proves: dispatch.table.client.session.titleChanged }
  - request: { by: A, method: disposeSession, params: { channel: "${session}", _meta: { word: deadly } } }
"#,
    ),
    (
        "reconnect",
        r#"
  - open: { by: A }
  - drop: A
  - reconnect: { by: A, subscriptions: ["${session}", "ahp-session:/deadly"], result: { type: { $in: [replay, snapshot] } }, proves: reconnect.as-first-message }
"#,
    ),
];
/// The weaknesses of `examples/dying_host.rs` that a single scenario can trigger, each with the name of this scenario.
const WAYS: &[(&str, &str)] = &[
    ("exits-at-a-handshake", "handshake"),
    ("exits-at-a-dispatch", "dispatch"),
    ("exits-with-zero", "dispatch"),
    ("exits-at-a-disposal", "disposal"),
    ("exits-at-a-reconnect", "reconnect"),
    ("aborts-at-a-dispatch", "dispatch"),
    ("exits-late", "dispatch"),
    ("hangs-at-a-dispatch", "dispatch"),
    ("hangs-at-a-handshake", "handshake"),
    ("hangs-at-a-disposal", "disposal"),
    ("falls-silent", "dispatch"),
    ("restarts", "dispatch"),
];

/// A process group that is killed at the end of the test.
struct StartedGroup(Child);

impl Drop for StartedGroup {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

/// Returns the program of the host that dies, which Cargo builds with the examples.
fn dying_host() -> PathBuf {
    let host = Path::new(PROGRAM).with_file_name("examples").join("dying_host");
    let hint = "hint: `cargo build --examples` builds it, and a plain `cargo test` does so, too";
    assert!(host.is_file(), "expected the program {} ({hint})", host.display());
    host
}

/// Makes a folder with three harmless scenarios and those scenarios in [`DEADLY`] that `deadly` names.
fn scenarios(name: &str, deadly: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dying-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let write = |id: &str, steps: &str| {
        let text =
            format!("scenario: {id}\ntitle: A host outlives it\nclients: [A]\nsteps:{steps}");
        fs::write(folder.join(format!("{id}.yaml")), text).unwrap();
    };
    for calm in ["calm-1", "calm-2", "calm-3"] {
        write(calm, CALM);
    }
    for (number, kind) in deadly.iter().enumerate() {
        let (_, steps) = DEADLY.iter().find(|(name, _)| name == kind).unwrap();
        write(&format!("deadly-{}", number + 1), steps);
    }
    folder
}

/// Plays the scenarios of a folder, and returns the result of each.
fn run(folder: &Path, arguments: &[&str]) -> (Output, BTreeMap<String, Value>) {
    let report = folder.join("run.jsonl");
    let output = Command::new(PROGRAM)
        .args(["run", "--jobs", "5", "--timeout", "500ms", "--report"])
        .arg(format!("jsonl={}", report.display()))
        .args(arguments)
        .arg(folder)
        .output()
        .unwrap();
    let text = fs::read_to_string(&report).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = lines.filter(|line| line["run"] == "result");
    let mut told = BTreeMap::new();
    for result in results {
        let before = told.insert(result["scenario"].as_str().unwrap().to_owned(), result);
        assert!(before.is_none(), "a scenario has two results: {before:?}");
    }
    (output, told)
}

/// Returns the scenarios with a finding about an outage, and checks that no scenario has another failure.
fn blamed(results: &BTreeMap<String, Value>) -> Vec<&str> {
    let failed = results.iter().filter(|(_, it)| it["status"] == "fail");
    failed
        .map(|(id, it)| {
            assert_eq!(it["failure"]["rule"], OUTLIVES, "{it}");
            let broken =
                it["claims"].as_array().unwrap().iter().filter(|it| it["status"] == "fail");
            assert_eq!(broken.count(), 1, "{it}");
            id.as_str()
        })
        .collect()
}

fn passed(results: &BTreeMap<String, Value>) -> Vec<&str> {
    let passed = results.iter().filter(|(_, it)| it["status"] == "pass");
    passed.map(|(id, _)| id.as_str()).collect()
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Starts a shell script in its own process group.
fn shell(script: &str) -> StartedGroup {
    use std::os::unix::process::CommandExt as _;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    StartedGroup(shell.spawn().unwrap())
}

fn wait_for(port: u16) {
    for _ in 0..200 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    panic!("nothing listens on port {port}");
}

const CALM_IDS: [&str; 3] = ["calm-1", "calm-2", "calm-3"];

#[test]
fn a_host_that_was_started_for_the_run_is_started_again_and_the_culprit_found() {
    std::thread::scope(|scope| {
        for (way, kind) in WAYS {
            scope.spawn(move || {
                let folder = scenarios(&format!("command-{way}"), &[kind]);
                let command = format!("exec {} {way} {{port}}", dying_host().display());
                let (output, results) = run(&folder, &["--command", &command]);
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(blamed(&results), ["deadly-1"], "{way}: {said}");
                assert_eq!(passed(&results), CALM_IDS, "{way}: {said}");
                assert_eq!(output.status.code(), Some(1), "{way}: {said}");
                // The result is the same when the harness judges the file.
                let judged =
                    Command::new(PROGRAM).arg("judge").arg(folder.join("run.jsonl")).output();
                let judged = String::from_utf8_lossy(&judged.unwrap().stdout).into_owned();
                assert!(!judged.contains("in the file,"), "{way}: {judged}");
                assert!(judged.contains("passed, 1 failed"), "{way}: {judged}");
            });
        }
    });
}

#[test]
fn a_host_at_a_url_is_restarted_by_the_users_command_or_by_whoever_watches_over_it() {
    std::thread::scope(|scope| {
        for (way, kind) in WAYS {
            // A host that only hangs is not restarted.
            let hangs = way.starts_with("hangs") || *way == "falls-silent";
            scope.spawn(move || {
                let folder = scenarios(&format!("url-{way}"), &[kind]);
                let port = free_port();
                let host = format!("{} {way} {port}", dying_host().display());
                let pid = folder.join("pid");
                let restart = format!(
                    "kill -9 $(cat {0}) 2>/dev/null; sleep 0.2; {host} >/dev/null 2>&1 & echo $! > {0}",
                    pid.display()
                );
                let started = match hangs {
                    true => shell(&format!("{restart}; wait")),
                    false => shell(&format!("while :; do {host}; done")),
                };
                wait_for(port);
                let url = format!("ws://127.0.0.1:{port}");
                let mut arguments = vec!["--url", &url];
                if hangs {
                    arguments.extend(["--restart-command", &restart]);
                }
                let (output, results) = run(&folder, &arguments);
                let left = fs::read_to_string(&pid).unwrap_or_default();
                if !left.is_empty() {
                    let _ = Command::new("kill").args(["-9", left.trim()]).status();
                }
                drop(started);
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(blamed(&results), ["deadly-1"], "{way}: {said}");
                assert_eq!(passed(&results), CALM_IDS, "{way}: {said}");
            });
        }
    });
}

#[test]
fn two_scenarios_that_end_a_host_together_are_both_blamed() {
    let folder = scenarios("pair", &["dispatch", "dispatch"]);
    let command = format!("exec {} exits-for-two {{port}}", dying_host().display());
    let (output, results) = run(&folder, &["--command", &command]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(blamed(&results), ["deadly-1", "deadly-2"], "{said}");
    assert_eq!(passed(&results), CALM_IDS, "{said}");
    assert!(said.contains("together with `deadly-2`"), "{said}");
}

#[test]
fn a_host_that_ends_by_itself_is_nobodys_fault() {
    let folder = scenarios("by-itself", &[]);
    let slow = format!(
        "scenario: slow\ntitle: It takes long\nclients: [A]\nsteps:{CALM}  - expect: {{ at: A, type: session/titleChanged, where: {{ action: {{ title: never }} }}, within: 1500ms }}\n"
    );
    fs::write(folder.join("slow.yaml"), slow).unwrap();
    let command = format!("exec {} expires {{port}}", dying_host().display());
    let (output, results) = run(&folder, &["--command", &command]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(blamed(&results).is_empty(), "{said}");
    assert!(said.contains("although no client used it"), "{said}");

    // This host exits after a number of connections, regardless of their messages. The harness judges each scenario,
    // and attributes the outage to no scenario.
    let folder = scenarios("connections", &["dispatch", "disposal", "reconnect"]);
    let command = format!("exec {} exits-after-connections {{port}}", dying_host().display());
    let (output, results) = run(&folder, &["--command", &command]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(blamed(&results).is_empty(), "{said}");
    assert_eq!(passed(&results).len(), 6, "{said}");
    assert!(said.contains("note: the host"), "{said}");
}

#[test]
fn a_host_that_stays_away_ends_the_run_with_one_reason() {
    let folder = scenarios("away", &["dispatch"]);
    let port = free_port();
    let host = shell(&format!("exec {} exits-at-a-dispatch {port}", dying_host().display()));
    wait_for(port);
    let (output, results) = run(&folder, &["--url", &format!("ws://127.0.0.1:{port}")]);
    drop(host);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(blamed(&results).is_empty(), "{said}");
    // The message that the host did not come back appears for the first scenario, for all other scenarios together, and
    // in the list of the worst causes.
    assert!((2..=5).contains(&said.matches("did not come back").count()), "{said}");
    assert!(said.contains("--restart-command"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn restarts_change_between_two_versions_of_a_host() {
    let folder = scenarios("upgrade", &[]);
    let steps = "  - open: { by: A }\n  - restart: {}\n  - connect: A\n  - initialize: A\n";
    let again = steps.replace("  - open: { by: A }\n", "");
    let text = format!(
        "scenario: upgrade\ntitle: The host is restarted twice\nalone: true\nclients: [A]\nsteps:\n{steps}{again}  - request: {{ by: A, method: listSessions, result: true, proves: reconnect.host-restart }}\n"
    );
    fs::write(folder.join("upgrade.yaml"), text).unwrap();
    let log = folder.join("versions.log");
    let command = |name: &str| {
        format!(
            "echo {name} >> {}; exec {PROGRAM} serve --listen 127.0.0.1:{{port}}",
            log.display()
        )
    };
    let (old, new) = (command("old"), command("new"));
    let arguments = ["--command", &old, "--upgrade-command", &new, "--id", "upgrade"];
    let (output, results) = run(&folder, &arguments);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(passed(&results), ["upgrade"], "{said}");
    assert_eq!(fs::read_to_string(log).unwrap(), "old\nnew\nold\n", "{said}");

    // The second version has to listen on the same port as the first one, so both commands need the port.
    let arguments = ["run", "--command", &old, "--upgrade-command", "echo ws://127.0.0.1:1"];
    let refused = Command::new(PROGRAM).args(arguments).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("expected `{port}` in both"), "{said}");
}

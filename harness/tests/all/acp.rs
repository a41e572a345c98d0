//! Tests of the agent as a process: on its own, as the agent of the reference host, and in runs of both.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ahp_harness::wire::json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");

/// Makes an empty folder with this name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes lines to a process and reads its output until it ends.
fn talk(arguments: &[&str], lines: &[String]) -> Vec<Value> {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    // The agent exits when its input is closed, so the test reads the expected output before it closes the input.
    let stdout = child.stdout.take().unwrap();
    let mut said = Vec::new();
    for line in std::io::BufRead::lines(std::io::BufReader::new(stdout)) {
        let line = Value::read(&line.unwrap()).unwrap();
        let over = line.pointer("/result/stopReason").is_some() || line["id"] == "last";
        said.push(line);
        if over {
            break;
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    said
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    let id: Value = id.into();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_text()
}

#[test]
fn tools_really_run_in_the_sessions_folder() {
    let folder = folder("acp-tools");
    let log = folder.join("log.jsonl");
    let script = "ahp-script: 1\ntool shell \"echo ahp-ran-$((6*7))\"\n\
                  tool write \"made.txt\\none\"\ntool edit \"made.txt\\none\\ntwo\"\n\
                  tool read \"made.txt\"\ntool read \"../outside.txt\"";
    let cwd = folder.display().to_string();
    // The first session identifier of a process depends only on the process, so this `session/new` is sent to a process
    // of its own.
    let begin = [
        request(1, "initialize", json!({"protocolVersion": 1})),
        request("last", "session/new", json!({"cwd": cwd, "mcpServers": []})),
    ];
    assert!(talk(&["agent", "acp"], &begin)[1]["result"]["sessionId"].is_string());

    let mut child = Command::new(PROGRAM)
        .args(["agent", "acp", "--log", &log.display().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut ended = Vec::new();
    for line in &begin {
        writeln!(stdin, "{line}").unwrap();
    }
    for line in std::io::BufRead::lines(stdout) {
        let line = Value::read(&line.unwrap()).unwrap();
        if let Some(session) = line.pointer("/result/sessionId") {
            let prompt = json!([{"type": "text", "text": script}]);
            let params = json!({"sessionId": session, "prompt": prompt});
            writeln!(stdin, "{}", request(3, "session/prompt", params)).unwrap();
        }
        let update = &line["params"]["update"];
        if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            let text = update["content"][0]["content"]["text"].as_str().unwrap().trim().to_owned();
            ended.push(format!("{} {text}", update["status"].as_str().unwrap()));
        }
        if line.pointer("/result/stopReason").is_some() {
            break;
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(
        ended[..4],
        ["completed ahp-ran-42", "completed written", "completed written", "completed two"]
    );
    assert!(ended[4].starts_with("failed expected a path below"), "{}", ended[4]);
    let log = fs::read_to_string(log).unwrap();
    assert!(log.lines().count() > 10);
    assert!(
        log.lines()
            .all(|line| line.contains("\"dir\":\"c2a\"") || line.contains("\"dir\":\"a2c\""))
    );
}

/// Plays a scenario against a reference host that starts the harness's agent.
fn run(fault: &[&str], name: &str) -> (Output, String) {
    let folder = folder(name);
    let faults: String = fault.iter().map(|fault| format!(" --fault {fault}")).collect();
    let serve = format!(
        "'{PROGRAM}' serve --listen 127.0.0.1:{{port}}{faults} --agent-command \"{{acp}}\""
    );
    let junit = folder.join("junit.xml");
    let output = Command::new(PROGRAM)
        .current_dir(&folder)
        .args(["run", "--format", "full", "--command", &serve, "--agent-acp"])
        .args(["--id", "below/a-denied*"])
        .args(["--report", &format!("junit={}", junit.display())])
        .args(["--report", "jsonl=run.jsonl"])
        .output()
        .unwrap();
    let junit = fs::read_to_string(junit).unwrap();
    let judged =
        Command::new(PROGRAM).current_dir(&folder).args(["judge", "run.jsonl"]).output().unwrap();
    assert_eq!(judged.status.code(), output.status.code(), "{judged:?}");
    (output, junit)
}

#[test]
fn a_denied_call_that_runs_below_the_host_is_a_finding() {
    let (clean, _) = run(&[], "acp-clean");
    assert_eq!(clean.status.code(), Some(0), "{clean:?}");
    let (broken, junit) = run(&["denial-allowed-below"], "acp-denied");
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    let said = String::from_utf8_lossy(&broken.stdout).into_owned();
    assert!(said.contains("FAIL below.denied-never-runs"), "{said}");
    assert!(said.contains("expected the denied tool call"), "{said}");
    assert!(junit.contains("below.denied-never-runs"), "{junit}");
}

/// Returns the command of a reference host whose agent is started by the given command line.
fn serve(agent: &str) -> String {
    format!("'{PROGRAM}' serve --listen 127.0.0.1:{{port}}{agent}")
}

/// Plays a turn on the host that a command starts. If the host left a process running, that process would keep standard
/// error open, and this function would not return.
fn below(serve: &str, how: &[&str], name: &str) -> Output {
    let folder = folder(name);
    let began = Instant::now();
    let output = Command::new(PROGRAM)
        .current_dir(&folder)
        .args(["run", "--command", serve, "--id", "turns/started-and*", "--timeout", "1s"])
        .args(how)
        .output()
        .unwrap();
    assert!(began.elapsed() < Duration::from_secs(60), "{name}: {:?}", began.elapsed());
    output
}

/// Checks that a turn that does not end is reported against the host, because clients see only the host; a note
/// points to the agent.
#[test]
fn unusable_agents_below_a_host_end_in_a_verdict() {
    let agents = [
        ("comes-never-back", "sleep 100"),
        ("is-gone-at-once", "exit 1"),
        ("never-stops", "yes nonsense"),
        ("never-ends-its-line", "cat /dev/zero"),
        (
            "answers-oddly",
            "while read line; do echo '{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":7}'; done",
        ),
    ];
    for (name, agent) in agents {
        let agent = format!(" --agent-command \"{agent}\"");
        let output = below(&serve(&agent), &["--agent-acp"], name);
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("FAIL turns/started-and"), "{name}: {said}");
        let noted = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(noted.contains("no agent has connected"), "{name}: {noted}");
    }
}

/// Tests two hosts. The first is started by a shell that exits before the host. The second ignores the request to exit,
/// so the harness kills this host before it can stop its agent.
#[cfg(target_os = "linux")]
#[test]
fn the_agent_of_a_host_ends_with_the_host() {
    let host = serve(" --agent-command \"sleep 100\"");
    for (name, serve) in
        [("shell-first", format!("{host}; true")), ("host-first", format!("setsid {host} & wait"))]
    {
        let output = below(&serve, &["--agent-acp"], name);
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
    }
}

#[test]
fn a_model_without_requests_is_noted() {
    let output = below(&serve(""), &["--agent-model", "127.0.0.1:0"], "model-unasked");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let noted = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(noted.contains("no agent has asked for a model"), "{noted}");
}

#[test]
fn calls_of_the_mcp_tool_are_recorded() {
    let folder = folder("mcp-calls");
    let log = folder.join("calls.jsonl").display().to_string();
    let call = json!({"name": "ahp_probe", "arguments": {"text": "a"}});
    let lines = [
        request(1, "initialize", json!({"protocolVersion": "2025-06-18"})),
        request("last", "tools/call", call),
    ];
    let said = talk(&["agent", "mcp", "--log", &log], &lines);
    assert_eq!(said[1]["result"]["content"][0]["text"], "ahp_probe was called: a");
    let kept = Value::read(fs::read_to_string(log).unwrap().trim()).unwrap();
    assert_eq!((&kept["called"], &kept["arguments"]["text"]), (&json!("ahp_probe"), &json!("a")));
}

/// Drafts a profile of an agent that a shell command starts, and returns the output of the command.
fn drafted(command: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_ahp-harness");
    let words = ["agent", "profile", "--timeout", "20s", "--command", command];
    Command::new(binary).args(words).output().unwrap()
}

#[test]
fn agent_profile_writes_a_profile_or_shows_the_output_of_a_silent_agent() {
    let output = drafted(&format!("'{}' agent acp --auth", env!("CARGO_BIN_EXE_ahp-harness")));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in ["#   scripted: Scripted, Takes anybody", "# auth: \"scripted\"", "error -32000"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let profile = ahp_harness::run::profile::AgentProfile::parse("p.yaml", &text).unwrap();
    assert_eq!(profile.agent, "ahp-harness");

    let output = drafted("for i in cause 2 3 4 5 6 end; do echo \"it is $i\" >&2; done; exit 1");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("it is cause") && error.contains("it is end"), "{error}");
}

/// Checks the table of reasons: each place of the protocol tables that does not occur in the suite needs a reason, and
/// no other place may have a reason. A place that a scenario now reaches must therefore be removed from the table.
#[test]
fn every_place_that_a_run_never_shows_has_a_reason() {
    use ahp_harness::report::places::ShownPlaces;
    use ahp_harness::wire::version::Version;

    let folder = folder("acp-members");
    let output = Command::new(PROGRAM)
        .current_dir(&folder)
        .args(["run", "--acp", "--quiet", "--report", "jsonl=run.jsonl"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let file = fs::File::open(folder.join("run.jsonl")).unwrap();
    let shown = ShownPlaces::read(Some(Version::ACP_1), std::io::BufReader::new(file)).unwrap();
    let open = shown.lacking().filter(|(_, why)| why.is_none());
    let open: Vec<&str> = open.map(|(place, _)| place.name.as_str()).collect();
    assert!(open.is_empty(), "never seen, and `protocol/unseen.json` has no reason: {open:?}");
    let stale: Vec<&str> = shown.stale().map(|place| place.name.as_str()).collect();
    assert!(stale.is_empty(), "seen, and `protocol/unseen.json` has a reason: {stale:?}");
}

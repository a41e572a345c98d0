//! Tests with malicious agents as real processes: each run ends, reports the misbehaviour, leaves no process running,
//! and changes nothing outside the agent's folder.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// The time limit of a run. Each run is bounded by its own timeouts. This limit is generous for busy machines; it only
/// distinguishes a bounded run from an endless run.
const ENDLESS: Duration = Duration::from_secs(240);
/// The functions of a shell agent: `say RESULT` answers a request; the scenario's prompt is `$1`.
const AGENT: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
ask() { printf '{"jsonrpc":"2.0","id":"%s","method":"%s","params":{"sessionId":"s",%s}}\n' "$1" "$2" "$3"; }
hear() { while IFS= read -r line; do case "$line" in *"\"id\":\"$1\""*) return ;; esac; done; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) say '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) say '{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*) prompt; say '{"stopReason":"end_turn"}' ;;
  esac
done
"#;

/// The result of a run.
struct HostileRun {
    said: String,
    transcript: String,
    code: Option<i32>,
    folder: PathBuf,
}

/// Plays a scenario against an agent with this script. `{mark}` in the script becomes a unique string.
fn play(name: &str, script: &str, id: &str) -> HostileRun {
    play_waiting("3s", name, script, id)
}

/// Plays a scenario with this timeout for answers. The timeout is long if the agent is busy before it answers.
fn play_waiting(timeout: &str, name: &str, script: &str, id: &str) -> HostileRun {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{name}"));
    let _ = fs::remove_dir_all(&folder);
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let program = folder.join("agent.sh");
    fs::write(&program, script).unwrap();
    let profile = format!(
        "agent: {name}\ncommand: [sh, '{}']\nenv: {{ AHP_TEST_MARK: '{}' }}\nstimulus: fixed\n\
         offers: [ask, shell, read, write, edit]\n",
        program.display(),
        mark(name)
    );
    fs::write(folder.join("profile.yaml"), profile).unwrap();
    let began = Instant::now();
    let Output { status, stdout, stderr } = Command::new(PROGRAM)
        .current_dir(&folder)
        .env("TMPDIR", &temporary)
        .args(["run", "--acp", "profile.yaml", "--id", id, "--timeout", timeout])
        .args(["--report", "jsonl=run.jsonl"])
        .output()
        .unwrap();
    assert!(began.elapsed() < ENDLESS, "{name}: {:?}", began.elapsed());
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(running(&mark(name)), Vec::<String>::new(), "{name} left these running\n{said}");
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().map(|it| it.path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{name} left these folders\n{said}");
    let transcript = fs::read_to_string(folder.join("run.jsonl")).unwrap_or_default();
    HostileRun { said, transcript, code: status.code(), folder }
}

fn mark(name: &str) -> String {
    // The delimiters prevent one mark from being part of another; the delimiters have no meaning in a shell.
    format!("@{name}@{}@", std::process::id())
}

/// Returns the processes that an agent with this mark has started. The function also finds a process that
/// cleared its environment: the mark is in the command line or in the environment.
fn running(mark: &str) -> Vec<String> {
    let has = |path: PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(mark)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let found = entries.filter(|path| has(path.join("environ")) || has(path.join("cmdline")));
    found.map(|path| path.display().to_string()).collect()
}

impl HostileRun {
    fn ends(self, code: i32, says: &[&str]) -> HostileRun {
        assert_eq!(self.code, Some(code), "{}", self.said);
        for part in says {
            let there = self.said.contains(part) || self.transcript.contains(part);
            assert!(there, "expected `{part}`\n{}\n{}", self.said, self.transcript);
        }
        self
    }
}

/// Returns an agent that runs this code for a prompt.
fn prompted(prompt: &str) -> String {
    format!("prompt() {{\n{prompt}\n}}\n{AGENT}")
}

const TURN: &str = "acp/turn/prompt-is-answered";

#[test]
fn an_agent_that_only_answers_passes() {
    play("honest", &prompted(":"), TURN).ends(0, &["1 passed"]);
}

#[test]
fn garbage_on_standard_output_is_reported() {
    let garbage = r#"echo 'starting up...'; head -c 3000 /dev/urandom; echo; echo '[[['"#;
    play("garbage", &prompted(garbage), TURN).ends(1, &["FAIL acp.wire.only-messages"]);
}

#[test]
fn endless_garbage_on_standard_output_is_bounded() {
    play("nothing-but-garbage", "exec yes nonsense", TURN).ends(1, &["acp.wire.only-messages"]);
}

#[test]
fn endless_lines_are_bounded() {
    let whole = play("endless-line", "exec cat /dev/zero", TURN);
    whole.ends(3, &["a line of more than 8 MiB"]);
    let prompt = "exec cat /dev/zero";
    play("endless-answer", &prompted(prompt), TURN).ends(1, &["a line of more than 8 MiB"]);
}

#[test]
fn deep_and_huge_json_is_a_finding() {
    let deep = r#"head -c 200000 /dev/zero | tr '\0' '['; echo; head -c 6000000 /dev/zero | tr '\0' '1'; echo"#;
    play("deep", &prompted(deep), TURN).ends(1, &["FAIL acp.tr-01"]);
}

#[test]
fn a_flood_of_messages_ends_the_scenario() {
    let flood = r#"exec yes '{"jsonrpc":"2.0","method":"_flood","params":{}}'"#;
    // On a slow machine, the only effect of the flood may be that the answer does not arrive in time.
    let said = play("flood", &prompted(flood), TURN).ends(1, &[]).said;
    let bounds = ["more than any scenario needs", "expected an answer within"];
    assert!(bounds.iter().any(|bound| said.contains(bound)), "{said}");
}

#[test]
fn standard_error_is_read_and_bounded() {
    let noise = "head -c 30000000 /dev/zero | tr '\\0' 'e' >&2; yes complaint | head -n 200000 >&2";
    let played = play_waiting("60s", "noise", &prompted(noise), TURN);
    let played = played.ends(0, &["1 passed", "lines, further output is left out"]);
    assert!(played.transcript.len() < 12 << 20, "{} bytes", played.transcript.len());
}

/// Checks that the output contains the agent's own error as the reason why nothing can be tested, and that no rule is
/// reported as broken.
#[test]
fn an_agent_that_cannot_be_tested_says_why() {
    let answer = |method: &str, error: &str| {
        format!("  case \"$line\" in *'\"method\":\"{method}\"'*) fail '{error}' ;; esac\n")
    };
    let agent = |answers: &str| {
        let fail =
            r#"fail() { printf '{"jsonrpc":"2.0","id":%s,"error":%s}\n' "$id" "$1"; continue; }"#;
        let begin = "  case \"$line\" in\n";
        format!("{fail}\n{}", prompted(":").replacen(begin, &format!("{answers}{begin}"), 1))
    };
    let dies =
        "echo 'Error: MY_KEY is not set' >&2; echo '    at main (index.js:12:3)' >&2; exit 3";
    let untold = |run: HostileRun| assert!(!run.said.contains("FAIL"), "{}", run.said);
    untold(play("dies", dies, TURN).ends(3, &["Error: MY_KEY is not set", "index.js:12:3"]));
    let config =
        r#"{"code":-32603,"message":"Internal error","data":{"details":"no config.toml"}}"#;
    let refuses = format!("echo 'run setup first' >&2\n{}", agent(&answer("initialize", config)));
    let said = ["refused `initialize`", "no config.toml", "run setup first"];
    untold(play("refuses", &refuses, TURN).ends(3, &said));
    let login = r#"{"code":-32000,"message":"Authentication required"}"#;
    let logs_in = agent(&answer("session/new", login)).replace(
        "\"agentCapabilities\":{}",
        "\"authMethods\":[{\"id\":\"key\",\"name\":\"API key\",\"description\":\"set MY_KEY\"}]",
    );
    let said = ["refused `session/new`", "Authentication required", "`key` (API key: set MY_KEY)"];
    untold(play("logs-in", &logs_in, TURN).ends(3, &said).ends(3, &["`auth: ID` in the profile"]));
    let silent = "echo 'open the browser to log in' >&2; exec sleep 600";
    let said = ["did not answer `initialize`", "open the browser to log in", "`--timeout`"];
    untold(play("silent", silent, TURN).ends(3, &said));
}

#[test]
fn an_agent_that_never_exits_is_killed() {
    let script = prompted(":") + "\ntrap '' TERM INT HUP\nwhile :; do sleep 1; done";
    play("never-exits", &script, TURN).ends(0, &["1 passed", "and was killed"]);
}

#[test]
fn subprocesses_of_the_agent_are_killed() {
    let mark = mark("forks");
    // The agent starts four children: one ignores signals, one has its own session, one has forked twice, and one has
    // cleared its environment.
    let forks = format!(
        "sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' {mark} >/dev/null 2>&1 &\n\
         setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' {mark} >/dev/null 2>&1 </dev/null &\n\
         (setsid sh -c '(while :; do sleep 1; done) & exit 0' {mark} >/dev/null 2>&1 </dev/null &)\n\
         (setsid env -i sh -c 'cd /; while :; do sleep 1; done' {mark} >/dev/null 2>&1 </dev/null &)\n\
         sleep 1"
    );
    play("forks", &prompted(&forks), TURN).ends(0, &["1 passed", "left processes running"]);
}

#[test]
fn an_agent_that_exits_leaves_no_subprocess() {
    let script = "setsid sleep 100000 </dev/null >/dev/null 2>&1 &\nexit 3";
    play("gone", script, TURN).ends(3, &["the agent ended"]);
}

/// Requests files outside the permitted folder in every possible way.
#[test]
fn files_outside_of_the_folder_stay_unchanged() {
    let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-outside");
    let _ = fs::remove_dir_all(&outside);
    fs::create_dir_all(&outside).unwrap();
    let secret = outside.join("secret");
    fs::write(&secret, "nobody may read this").unwrap();
    let out = outside.display();
    // Creates links within the folder, whose targets are outside of the folder.
    let prompt = format!(
        r#"w=$(pwd -P)
ln -s '{out}' "$w/away"; ln -s '{out}/new' "$w/dangling"; ln -s '{out}/secret' "$w/straight"
ln '{out}/secret' "$w/hard"; mkfifo "$w/pipe"; echo inside > "$w/plain"
n=0
for path in '{out}/a' "$w/../a" "$w/../../hostile-escape/tmp/b" "$w/away/c" "$w/dangling" "$w/straight" "$w/hard" "$w/pipe" 'd' '/dev/zero' "$w"; do
  n=$((n+1))
  ask "w$n" fs/write_text_file "\"path\":\"$path\",\"content\":\"touched\""
  ask "r$n" fs/read_text_file "\"path\":\"$path\""
done
ask t1 terminal/create "\"command\":\"touch\",\"args\":[\"e\"],\"cwd\":\"$w/away\""
ask t2 terminal/create "\"command\":\"touch\",\"args\":[\"f\"],\"cwd\":\"{out}\""
ask ok fs/read_text_file "\"path\":\"$w/plain\""
hear ok
rm "$w/plain"; mv "$w" "$w-moved"; ln -s '{out}' "$w"
ask late fs/write_text_file "\"path\":\"$w/g\",\"content\":\"touched\""
hear late
rm "$w""#
    );
    let script = prompted(&prompt);
    let played = play("escape", &script, "acp/tools/write-where-the-client-offers-everything");
    let there: Vec<_> =
        fs::read_dir(&outside).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(there, ["secret"], "{}", played.said);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "nobody may read this");
    let told = &played.transcript;
    assert!(!told.contains("nobody may read this"), "{told}");
    assert!(told.contains("inside\\n"), "{told}");
    assert!(told.contains("which is outside its folder: refused"), "{}", played.said);
    assert_eq!(fs::read_dir(played.folder.join("tmp")).unwrap().count(), 0);
}

/// Checks that the run does not wait for its last scenario, which would last for an hour.
#[test]
fn the_budget_ends_a_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-budget");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let script = prompted("sleep 1000");
    fs::write(folder.join("agent.sh"), script).unwrap();
    fs::write(
        folder.join("profile.yaml"),
        "agent: slow\ncommand: [sh, ../../agent.sh]\nstimulus: fixed\n"
            .replace("../../agent.sh", &folder.join("agent.sh").display().to_string()),
    )
    .unwrap();
    let began = Instant::now();
    let output = Command::new(PROGRAM)
        .current_dir(&folder)
        .args(["run", "--acp", "profile.yaml", "--timeout", "1000s", "--budget", "5s"])
        .output()
        .unwrap();
    assert!(began.elapsed() < ENDLESS, "{:?}", began.elapsed());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        !output.status.success() && said.contains("the budget of 5s for the run was over"),
        "{said}"
    );
}

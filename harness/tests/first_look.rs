//! The first look, over a socket: whether the agent behind a host plays scripts.
#![cfg(all(feature = "cli", unix))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// A scenario that any host can be certified by, since the first look is what is looked at.
const SCENARIO: &str = "title: A ping is answered
steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: listSessions, result: true, proves: jsonrpc.response.exactly-one }
";
/// An agent that shakes hands, opens sessions and answers a prompt by what stands in `PROMPT`. Its variables are
/// `id`, that of the request, and `text`, the text of the prompt.
const AGENT: &str = r#"while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  text=$(printf '%s' "$line" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
    *'"session/prompt"'*) PROMPT ;;
  esac
done
"#;
const ENDS: &str =
    r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id""#;
const FAILS: &str =
    r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no model"}}\n' "$id""#;
/// Says back what it was asked, the script included.
const ECHOES: &str = r#"printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$text""#;

/// A host that ends with the test.
struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn new(arguments: &[&str]) -> Served {
        let mut process = Command::new(PROGRAM)
            .arg("serve")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Served { process, url: url.trim().to_owned() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-look").join(name);
    std::fs::create_dir_all(folder.join("look")).unwrap();
    std::fs::write(folder.join("look/ping.yaml"), format!("scenario: look/ping\n{SCENARIO}"))
        .unwrap();
    folder
}

/// What a certificate says of `agentScripts`, and the lines that the run printed.
fn look(name: &str, serve: &[&str], certify: &[&str]) -> (bool, String, String) {
    let folder = folder(name);
    let host = Served::new(serve);
    let output = Command::new(PROGRAM)
        .args(["certify", "--url", &host.url, "--out"])
        .arg(folder.join("certificate"))
        .args(certify)
        .arg(folder.join("look/ping.yaml"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read_to_string(folder.join("certificate/certificate.json"));
    let text = text.unwrap_or_else(|error| panic!("{error}: {said}{wrong}"));
    let certificate: Value = serde_json::from_str(&text).unwrap();
    let rows = certificate["detected"].as_array().unwrap();
    let scripts: Vec<&Value> =
        rows.iter().filter(|row| row["capability"] == "agentScripts").collect();
    let [scripts] = scripts[..] else { panic!("{name}: {scripts:?}") };
    (scripts["offered"] == true, scripts["how"].as_str().unwrap().to_owned(), said)
}

/// The arguments of a host whose agent answers prompts like this.
fn agent(name: &str, prompt: &str) -> String {
    let path = folder(name).join("agent.sh");
    std::fs::write(&path, AGENT.replace("PROMPT", prompt)).unwrap();
    format!("sh {}", path.display())
}

fn plays_no_scripts(name: &str, serve: &[&str], certify: &[&str], expected: &str) {
    let (offered, how, said) = look(name, serve, certify);
    assert!(!offered && how.contains(expected), "{name}: {offered} {how}");
    // What is not offered is named once.
    assert_eq!(said.matches("agentScripts").count(), 1, "{name}: {said}");
}

#[test]
fn an_agent_that_plays_scripts_is_found_in_every_version() {
    for version in ["1.0.0", "0.9.0", "0.3.0", "0.1.0"] {
        let serve = ["--spec", version];
        let (offered, how, _) = look(&format!("plays-{version}"), &serve, &["--spec", version]);
        assert!(offered, "{version}: {how}");
    }
}

#[test]
fn an_agent_that_only_ends_its_turns_plays_none() {
    let command = agent("ends", ENDS);
    plays_no_scripts(
        "ends",
        &["--agent-command", &command],
        &[],
        "a turn that a script fails on purpose",
    );
}

#[test]
fn an_agent_that_says_the_script_back_plays_none() {
    let command = agent("echoes", &format!("{ECHOES}; {ENDS}"));
    plays_no_scripts(
        "echoes",
        &["--agent-command", &command],
        &[],
        "a turn that a script fails on purpose",
    );
}

#[test]
fn an_agent_that_takes_its_time_plays_none() {
    let command = agent("slow", &format!("sleep 4; {ENDS}"));
    plays_no_scripts(
        "slow",
        &["--agent-command", &command],
        &[],
        "a turn that a script fails on purpose",
    );
}

#[test]
fn an_agent_that_fails_by_itself_plays_none() {
    let command = agent("fails", FAILS);
    plays_no_scripts(
        "fails",
        &["--agent-command", &command],
        &[],
        "a turn that a script fails on purpose",
    );
    let command = agent("dies", "exit 1");
    plays_no_scripts(
        "dies",
        &["--agent-command", &command],
        &[],
        "a turn that a script fails on purpose",
    );
}

#[test]
fn an_agent_that_needs_a_token_plays_none_without_it() {
    plays_no_scripts(
        "token",
        &[],
        &["--provider", "guarded"],
        "a turn that a script fails on purpose",
    );
}

#[test]
fn an_agent_that_never_answers_plays_none() {
    let command = agent("never", ":");
    plays_no_scripts("never", &["--agent-command", &command], &[], "nothing came");
}

//! Tests of the agent from outside: they send lines and read lines, in virtual time.

use std::time::Duration;

use proptest::collection::vec;
use proptest::{prop_assert, proptest};

use super::{AcpAgent, AgentConfig, AgentOutput};
use crate::agent::script::HEADER;
use crate::wire::json::{Value, json};

/// The number of rounds after which a test gives up.
const ROUNDS: u32 = 20_000;

/// A client that answers all permission requests in the same way.
struct TestClient {
    agent: AcpAgent,
    now: Duration,
    /// A function that returns the result for a request with this method; `None` for no response.
    answers: fn(&str, &Value) -> Option<Value>,
    said: Vec<Value>,
}

impl TestClient {
    fn new(capabilities: Value, answers: fn(&str, &Value) -> Option<Value>) -> TestClient {
        let agent = AcpAgent::new(AgentConfig::default());
        let mut client = TestClient { agent, now: Duration::ZERO, answers, said: Vec::new() };
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.ask(json!("a"), "initialize", params);
        client.ask(json!("b"), "session/new", json!({"cwd": "/w", "mcpServers": []}));
        client.said.clear();
        client
    }

    fn ask(&mut self, id: Value, method: &str, params: Value) {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&line.to_text());
    }

    fn line(&mut self, line: &str) {
        self.agent.handle_line(self.now, line);
        self.drain();
    }

    fn prompt(&mut self, session: &str, script: &str) {
        let prompt = json!([{"type": "text", "text": (format!("<context/>\n{HEADER}\n{script}"))}]);
        self.ask(json!("p"), "session/prompt", json!({"sessionId": session, "prompt": prompt}));
    }

    fn drain(&mut self) {
        while let Some(output) = self.agent.poll_output() {
            match output {
                AgentOutput::Line(line) => {
                    assert!(!line.contains('\n'), "{line}");
                    let said = Value::read(&line).unwrap();
                    let asked = said.get("method").and_then(Value::as_str);
                    let asked = asked.filter(|_| said.get("id").is_some()).map(str::to_owned);
                    let answer = asked.and_then(|method| (self.answers)(&method, &said["params"]));
                    if let Some(result) = answer {
                        let id = said["id"].clone();
                        let line = json!({"jsonrpc": "2.0", "id": id, "result": result});
                        self.agent.handle_line(self.now, &line.to_text());
                    }
                    self.said.push(said);
                }
                AgentOutput::Run { token, effect } => {
                    self.agent.handle_ran(self.now, token, effect.pretended());
                }
                AgentOutput::Stop(_) | AgentOutput::Exit => {}
            }
        }
    }

    /// Advances the time until no timer is due within `most`.
    fn pass(&mut self, most: Duration) {
        let end = self.now + most;
        for _ in 0..ROUNDS {
            let Some(due) = self.agent.next_timeout().filter(|due| *due <= end) else {
                return;
            };
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
            self.drain();
        }
        panic!("the agent never rests");
    }

    /// Returns the messages of the agent, each as one word.
    fn words(&self) -> String {
        let words: Vec<String> = self.said.iter().map(word).collect();
        words.join(" ")
    }
}

fn word(said: &Value) -> String {
    let update = &said["params"]["update"];
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match update["sessionUpdate"].as_str() {
        Some("agent_message_chunk" | "agent_thought_chunk") => name(&update["content"]["text"]),
        Some("tool_call_update") => name(&update["status"]),
        Some(other) => other.to_owned(),
        None if said.get("result").is_some() => name(&said["result"]["stopReason"]),
        None if said.get("error").is_some() => format!("error {}", said["error"]["code"].to_text()),
        None => name(&said["method"]),
    }
}

fn silent(_: &str, _: &Value) -> Option<Value> {
    None
}

fn choose(option: &'static str) -> Option<Value> {
    Some(json!({"outcome": {"outcome": "selected", "optionId": option}}))
}

/// Checks the messages of the agent for a script, if the client answers with `answers`.
fn check(script: &str, answers: fn(&str, &Value) -> Option<Value>, expected: &str) {
    check_with(json!({}), script, answers, expected);
}

fn check_with(
    capabilities: Value,
    script: &str,
    answers: fn(&str, &Value) -> Option<Value>,
    expected: &str,
) {
    let mut client = TestClient::new(capabilities, answers);
    client.prompt("session-1", script);
    client.pass(Duration::from_secs(60));
    assert_eq!(client.words(), expected, "{script}");
}

#[test]
fn methods_that_are_not_offered_are_refused() {
    let mut client = TestClient::new(json!({}), |_, _| None);
    client.ask(json!(1), "initialize", json!({"protocolVersion": 1}));
    assert_eq!(client.said[0]["result"]["agentCapabilities"]["loadSession"], false);
    let params = json!({"sessionId": "session-1", "cwd": "/w", "mcpServers": []});
    for method in ["session/load", "session/resume", "session/list"] {
        client.said.clear();
        client.ask(json!(2), method, params.clone());
        assert_eq!(client.said[0]["error"]["code"], -32601, "{method}");
    }
}

#[test]
fn scripts_become_updates() {
    check("say a b\nthink c", silent, "a b c end_turn");
    check(
        "title t\nwait 50ms\nusage 1 2",
        silent,
        "session_info_update usage_update ahp-agent: an ACP agent reports how full its context is, but not the usage of a turn end_turn",
    );
    check("fail rate-limit", silent, "error -32603");
    check("fail auth", silent, "error -32000");
    check("fail refusal", silent, "refusal");
    check("tool shell ls", silent, "tool_call in_progress completed end_turn");
    check("tool read x fails\nsay a", silent, "tool_call in_progress failed a end_turn");
    check("tool read ../x", silent, "tool_call in_progress failed end_turn");
    check(
        "parallel\ntool shell a\ntool shell b\nend\nsay c",
        silent,
        "tool_call tool_call in_progress in_progress completed completed c end_turn",
    );
    check(
        "nonsense",
        silent,
        "line 3: expected a step, found `nonsense`\n(hint: say think tool parallel ask ask-multi-select ask-number ask-boolean ask-url wait hold usage title fail endless recall activity background canvas crash act) error -32603",
    );
}

#[test]
fn only_allowed_calls_run() {
    let script = "tool shell x confirm\nsay a";
    let asked = "tool_call session/request_permission";
    let ran = format!("{asked} in_progress completed a end_turn");
    let not = format!("{asked} failed a end_turn");
    check(script, |_, _| choose("allow"), &ran);
    check(script, |_, _| choose("allow-always"), &ran);
    check(script, |_, _| choose("reject"), &not);
    check(script, |_, _| choose("reject-always"), &not);
    check(script, |_, _| choose("no such option"), &not);
    check(script, |_, _| Some(json!({"outcome": {"outcome": "cancelled"}})), &not);
    check(script, |_, _| Some(json!({"outcome": "allow"})), &not);
    check(script, |_, _| Some(json!({})), &not);
    check(script, silent, asked);
    check(
        "tool shell x confirm deny-ends-turn\nsay a",
        |_, _| choose("reject"),
        &format!("{asked} failed end_turn"),
    );
    check(
        "tool shell x confirm\ntool shell y confirm\ntool read z confirm",
        |_, _| choose("allow-always"),
        &format!(
            "{asked} in_progress completed tool_call in_progress completed {asked} in_progress \
             completed end_turn"
        ),
    );
}

#[test]
fn tools_use_the_capabilities_of_the_client() {
    let all = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
    let answers = |method: &str, _: &Value| match method {
        "terminal/create" => Some(json!({"terminalId": "t"})),
        "terminal/wait_for_exit" => Some(json!({"exitCode": 0})),
        "terminal/output" => Some(json!({"output": "out", "truncated": false})),
        "fs/read_text_file" => Some(json!({"content": "old"})),
        _ => Some(json!({})),
    };
    check_with(
        all.clone(),
        "tool shell x",
        answers,
        "tool_call in_progress terminal/create  terminal/wait_for_exit terminal/output \
         terminal/release completed end_turn",
    );
    let file = |methods: &str| format!("tool_call in_progress {methods} completed end_turn");
    check_with(all.clone(), "tool read x", answers, &file("fs/read_text_file"));
    check_with(all.clone(), r#"tool write "x\ny""#, answers, &file("fs/write_text_file"));
    let edit = file("fs/read_text_file fs/write_text_file");
    check_with(all.clone(), r#"tool edit "x\nold\nnew""#, answers, &edit);
    check_with(
        all,
        r#"tool edit "x\nabsent\nnew""#,
        answers,
        "tool_call in_progress fs/read_text_file failed end_turn",
    );
}

#[test]
fn a_cancel_is_obeyed_everywhere() {
    let check = |script: &str, expected: &str| {
        let mut client = TestClient::new(json!({}), silent);
        client.prompt("session-1", script);
        client.pass(Duration::from_millis(30));
        client.said.clear();
        let params = json!({"sessionId": "session-1"});
        client.line(
            &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}).to_text(),
        );
        client.pass(Duration::from_secs(5));
        assert_eq!(client.words(), expected, "{script}");
        // The session is free for the next prompt.
        client.said.clear();
        client.prompt("session-1", "say again");
        client.pass(Duration::from_secs(5));
        assert_eq!(client.words(), "again end_turn", "{script}");
    };
    check("endless", "cancelled");
    check("wait 10s\nsay a", "cancelled");
    check("hold h\nsay a", "cancelled");
    check("tool shell x confirm", "failed cancelled");
    check("parallel\ntool shell x confirm\ntool shell y confirm\nend", "failed failed cancelled");
}

#[test]
fn holds_are_released_by_name_and_case() {
    let mut client = TestClient::new(json!({}), silent);
    client.prompt("session-1", "# ahp-case: one 1\nhold h\nsay a\nhold i\nsay b");
    client.agent.release(client.now, "one", "i");
    client.pass(Duration::from_secs(1));
    client.agent.release(client.now, "two", "h");
    client.pass(Duration::from_secs(1));
    assert_eq!(client.words(), "");
    client.agent.release(client.now, "one", "h");
    client.pass(Duration::from_secs(1));
    assert_eq!(client.words(), "a b end_turn");
}

#[test]
fn invalid_requests_are_answered_or_ignored() {
    let check = |line: &str, expected: &str| {
        let mut client = TestClient::new(json!({}), silent);
        client.line(line);
        assert_eq!(client.words(), expected, "{line}");
    };
    check("{", "error -32700");
    check("[]", "error -32600");
    check("7", "error -32600");
    check(r#"{"id":1}"#, "error -32600");
    check(r#"{"id":1,"method":"x"}"#, "error -32601");
    check(r#"{"method":"x"}"#, "");
    check(r#"{"id":99,"result":{}}"#, "");
    check(r#"{"id":"q","method":"session/new","params":{"cwd":"w"}}"#, "error -32602");
    check(
        r#"{"id":1,"method":"session/prompt","params":{"sessionId":"no","prompt":[]}}"#,
        "error -32002",
    );
    check(
        r#"{"id":1,"method":"session/prompt","params":{"sessionId":"session-1","prompt":3}}"#,
        "error -32602",
    );
    check(r#"{"method":"session/cancel","params":{"sessionId":"session-1"}}"#, "");
    check(r#"{"id":1,"method":"authenticate","params":{"methodId":"another"}}"#, "error -32602");
}

#[test]
fn a_session_may_need_authentication() {
    let mut agent = AcpAgent::new(AgentConfig { auth: true, ..AgentConfig::default() });
    let mut ask = |method: &str, params: Value| {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        agent.handle_line(Duration::ZERO, &line.to_text());
        match agent.poll_output() {
            Some(AgentOutput::Line(line)) => Value::read(&line).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let methods = ask("initialize", json!({"protocolVersion": 9}));
    assert_eq!(methods["result"]["protocolVersion"], 1);
    let id = methods["result"]["authMethods"][0]["id"].clone();
    let session = json!({"cwd": "/w", "mcpServers": []});
    assert_eq!(ask("session/new", session.clone())["error"]["code"], -32000);
    assert_eq!(ask("authenticate", json!({"methodId": id}))["result"], json!({}));
    assert!(ask("session/new", session)["result"]["sessionId"].is_string());
}

#[test]
fn sessions_are_kept_apart() {
    const SESSIONS: usize = 40;
    let mut client = TestClient::new(json!({}), |_, _| choose("allow"));
    let ids: Vec<String> = (0..SESSIONS)
        .map(|_| {
            client.ask(json!("n"), "session/new", json!({"cwd": "/w", "mcpServers": []}));
            let answer = client.said.iter().rev().find(|said| said.get("result").is_some());
            answer.unwrap()["result"]["sessionId"].as_str().unwrap().to_owned()
        })
        .collect();
    for (at, id) in ids.iter().enumerate() {
        let own = format!("say <{at}>\ntool shell <{at}> confirm\nwait {}ms\nsay <{at}>", at * 7);
        client.prompt(id, &own);
    }
    client.pass(Duration::from_secs(60));
    for (at, id) in ids.iter().enumerate() {
        let own = |said: &&Value| said["params"]["sessionId"] == id.as_str();
        let of_it: Vec<&Value> = client.said.iter().filter(own).collect();
        // The updates are the commands of the session, and the updates of the turn.
        assert_eq!(of_it.len(), 7, "{id}");
        let foreign = |said: &Value| {
            let text = said.to_text();
            (0..SESSIONS).any(|other| other != at && text.contains(&format!("<{other}>")))
        };
        assert!(!of_it.iter().any(|said| foreign(said)), "{id}");
    }
    let ends = client.said.iter().filter(|said| word(said) == "end_turn");
    assert_eq!(ends.count(), SESSIONS);
}

proptest! {
    /// Checks that every request gets a response and that nothing panics, for arbitrary messages of a client.
    #[test]
    fn no_message_of_a_client_stops_the_agent(picks in vec((0..10_usize, 0..5_usize), 0..30)) {
        let mut client = TestClient::new(json!({"fs": {"readTextFile": true}, "terminal": true}), silent);
        let mut requests = 0;
        for (at, (pick, id)) in picks.into_iter().enumerate() {
            let before = client.said.len();
            let own = json!({"sessionId": "session-1"});
            let script = ["endless", "tool shell x confirm", "tool read x", "hold h", "say a"][id];
            let result = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
            match pick {
                0 => client.line(&"[".repeat(id * 1000)),
                1 => client.line(&json!({"id": id, "result": result}).to_text()),
                2 => client.line(&json!({"id": id, "error": {"code": 1}}).to_text()),
                3 => client.line(&json!({"method": "session/cancel", "params": own}).to_text()),
                4 | 5 => client.prompt("session-1", script),
                6 => client.pass(Duration::from_millis(50)),
                7 => client.ask(json!(at), "session/prompt", json!({"prompt": [{"text": id}]})),
                8 => client.agent.release(client.now, "", "h"),
                _ => client.ask(json!(at), "initialize", json!({"clientCapabilities": id})),
            }
            requests += usize::from(matches!(pick, 7 | 9));
            prop_assert!(client.said.len() < before + 1_000);
        }
        let answers = client.said.iter().filter(|said| said["id"].is_u64() && said.get("method").is_none());
        prop_assert!(answers.count() >= requests);
    }
}

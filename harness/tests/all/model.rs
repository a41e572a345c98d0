//! Tests of the model stand-in over real sockets: many concurrent conversations, holds, and truncated answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot ask has failed")]

use std::sync::Arc;
use std::time::Duration;

use ahp_harness::agent::model::ModelFlavor;
use ahp_harness::transport::below::AgentHub;
use ahp_harness::transport::http::ServedStandIn;
use ahp_harness::transport::http_server::serve;
use ahp_harness::wire::json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Starts a stand-in on a free port, and returns its address.
async fn stand() -> (Arc<ServedStandIn>, String) {
    stand_for(Arc::default()).await
}

async fn stand_for(hub: Arc<AgentHub>) -> (Arc<ServedStandIn>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stand = ServedStandIn::new(
        ModelFlavor::named("plain").unwrap(),
        format!("http://{address}"),
        hub,
        None,
    );
    tokio::spawn(serve(listener, Arc::clone(&stand)));
    (stand, address)
}

async fn send(address: &str, line: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Sends a request and reads the whole answer.
async fn ask(address: &str, line: &str, body: &str) -> String {
    let mut text = String::new();
    send(address, line, body).await.read_to_string(&mut text).await.unwrap();
    text
}

/// Returns the request of an agent to its model after this many rounds of tool calls.
fn conversation(script: &str, rounds: usize) -> String {
    let mut messages =
        vec![json!({"role": "user", "content": (format!("ahp-script: 1\n{script}"))})];
    for _ in 0..rounds {
        messages.push(json!({"role": "assistant", "content": [{"type": "tool_use"}]}));
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}));
    }
    let schema = json!({"properties": {"command": {"type": "string"}}});
    let tool = json!({"name": "bash", "input_schema": (schema)});
    json!({"stream": true, "messages": (messages), "tools": [(tool)]}).to_text()
}

const MESSAGES: &str = "POST /v1/messages";

#[tokio::test]
async fn two_hundred_conversations_do_not_mix() {
    let (_stand, address) = stand().await;
    let mut talks = JoinSet::new();
    for talk in 0..200 {
        let address = address.clone();
        talks.spawn(async move {
            let mark = |part: &str| format!("<{part}-{talk:03}>");
            let script = format!(
                "say {}\nwait 5ms\ntool shell {}\nsay {}\ntool shell {}\nsay {}",
                mark("a"),
                mark("b"),
                mark("c"),
                mark("d"),
                mark("e")
            );
            let parts = [["a", "b"].as_slice(), &["c", "d"], &["e"]];
            for (round, said) in parts.iter().enumerate() {
                let text = ask(&address, MESSAGES, &conversation(&script, round)).await;
                for part in ["a", "b", "c", "d", "e"] {
                    let expected = said.contains(&part);
                    assert_eq!(
                        text.contains(&mark(part)),
                        expected,
                        "{talk} {round} {part}: {text}"
                    );
                }
                let foreign = text.match_indices("-0").chain(text.match_indices("-1"));
                let own = format!("-{talk:03}>");
                let mixed = foreign.filter(|(at, _)| !text[*at..].starts_with(&own)).count();
                assert_eq!(mixed, 0, "{talk}: {text}");
            }
        });
    }
    while let Some(talked) = talks.join_next().await {
        talked.unwrap();
    }
}

#[tokio::test]
async fn a_hold_waits_until_its_name_is_released() {
    let (stand, address) = stand().await;
    let mut stream = send(&address, MESSAGES, &conversation("say a\nhold go\nsay <b>", 0)).await;
    let mut text = String::new();
    let early = timeout(Duration::from_millis(300), stream.read_to_string(&mut text)).await;
    assert!(early.is_err(), "{text}");
    stand.release("", "other");
    let other = timeout(Duration::from_millis(100), stream.read_to_string(&mut text)).await;
    assert!(other.is_err(), "{text}");
    let released = ask(&address, "POST /ahp/release/go", "").await;
    assert!(released.starts_with("HTTP/1.1 200"), "{released}");
    timeout(Duration::from_secs(5), stream.read_to_string(&mut text)).await.unwrap().unwrap();
    assert!(text.contains("<b>"), "{text}");
    // An early release is stored; each release lets one answer continue.
    stand.release("", "go");
    assert!(ask(&address, MESSAGES, &conversation("hold go\nsay <c>", 0)).await.contains("<c>"));
    // A repeated request for the same answer does not wait again.
    assert!(ask(&address, MESSAGES, &conversation("hold go\nsay <c>", 0)).await.contains("<c>"));
    let held = conversation("hold go", 0);
    let again = ask(&address, MESSAGES, &held);
    assert!(timeout(Duration::from_millis(200), again).await.is_err());
}

#[tokio::test]
async fn the_log_has_each_request_and_whether_its_answer_was_read() {
    let (_stand, address) = stand().await;
    ask(&address, MESSAGES, &conversation("say a", 0)).await;
    let mut stream = send(&address, MESSAGES, &conversation("endless", 0)).await;
    let mut some = [0; 2000];
    stream.read_exact(&mut some).await.unwrap();
    drop(stream);
    let mut lines = Vec::new();
    for _ in 0..100 {
        let log = ask(&address, "GET /ahp/log?after=0", "").await;
        let body = log.split_once("\r\n\r\n").unwrap().1.to_owned();
        lines = body.lines().map(|line| Value::read(line).unwrap()).collect();
        if lines.len() == 4 {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    let ended = |serial: u64| {
        let line =
            lines.iter().find(|line| line["serial"] == serial && line.get("ended").is_some());
        line.map(|line| line["ended"].clone())
    };
    assert_eq!(ended(1), Some(json!("complete")));
    assert_eq!(ended(2), Some(json!("cut")));
    assert_eq!(lines[0]["says"], json!([{"text": "a"}]));
    let later = ask(&address, "GET /ahp/log?after=1", "").await;
    assert!(!later.contains("\"serial\":1,") && later.contains("\"serial\":2,"), "{later}");
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let (_stand, address) = stand().await;
    assert!(ask(&address, MESSAGES, "no").await.starts_with("HTTP/1.1 400"));
    assert!(ask(&address, "GET /ahp/nothing", "").await.starts_with("HTTP/1.1 404"));
    assert!(ask(&address, "GET /anything", "").await.starts_with("HTTP/1.1 200"));
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(b"\x16\x03\x01 no http\r\n\r\n").await.unwrap();
    let mut text = Vec::new();
    timeout(Duration::from_secs(5), stream.read_to_end(&mut text)).await.unwrap().unwrap();
    assert!(ask(&address, MESSAGES, &conversation("say a", 0)).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn stalled_connections_do_not_block_other_requests() {
    let (stand, address) = stand().await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        // Four connections: half of a head, half of a body, an answer that is not read, and an answer that waits at a
        // hold.
        let mut half = TcpStream::connect(&address).await.unwrap();
        half.write_all(b"POST /v1/messages HTTP/1.1\r\nHost").await.unwrap();
        let mut body = TcpStream::connect(&address).await.unwrap();
        body.write_all(b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
            .await
            .unwrap();
        let unread = send(&address, MESSAGES, &conversation("endless", 0)).await;
        let held = send(&address, MESSAGES, &conversation("hold never", 0)).await;
        silent.extend([half, body, unread, held]);
    }
    let body = conversation("say a", 0);
    let answer = ask(&address, MESSAGES, &body);
    let text = timeout(Duration::from_secs(5), answer).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    // The timeout of a head is ten seconds.
    let mut text = Vec::new();
    let half = silent.first_mut().unwrap();
    timeout(Duration::from_secs(20), half.read_to_end(&mut text)).await.unwrap().unwrap();
    drop(silent);
    assert!(stand.asked() >= 200, "{}", stand.asked());
}

#[tokio::test]
async fn the_log_reports_a_script_that_cannot_be_played() {
    let (_stand, address) = stand().await;
    let record = |script: &'static str| {
        let address = address.clone();
        async move {
            ask(&address, MESSAGES, &conversation(script, 0)).await;
            let log = ask(&address, "GET /ahp/log?after=0", "").await;
            let asked = log.lines().rfind(|line| line.contains("\"prompt\"")).unwrap().to_owned();
            Value::read(&asked).unwrap()
        }
    };
    let mistaken = record("dance").await;
    assert!(mistaken["problem"].to_text().contains("line 2: expected a step"), "{mistaken}");
    assert_eq!(mistaken["untestable"], true);
    let lacking = record("tool edit x").await;
    assert!(lacking["problem"].to_text().contains("no tool of the class `edit`"), "{lacking}");
    assert_eq!(lacking["untestable"], true);
    // A missing tool of a client is the host's fault, because the host passes the tools of clients to the agent.
    let hosts = record("tool client lint x").await;
    assert!(hosts["problem"].to_text().contains("no tool `lint` is offered"), "{hosts}");
    assert!(hosts.get("untestable").is_none(), "{hosts}");
    assert!(record("say a").await.get("problem").is_none());
}

#[tokio::test]
async fn a_scenario_receives_only_its_own_conversations() {
    let hub: Arc<AgentHub> = Arc::default();
    let (_stand, address) = stand_for(Arc::clone(&hub)).await;
    let mut heard = hub.join("area/one");
    for case in ["area/one", "area/other"] {
        let script = format!("# ahp-case: {case} 1\nsay {case}");
        assert!(ask(&address, MESSAGES, &conversation(&script, 0)).await.contains(case));
    }
    let asked = heard.recv().await.unwrap();
    let text = asked.seen.frame.display().into_owned();
    assert_eq!(asked.peer, "model");
    assert!(text.contains("area/one") && !text.contains("area/other"), "{text}");
    let ended = heard.recv().await.unwrap().seen.frame.display().into_owned();
    assert!(ended.contains("\"ended\":\"complete\""), "{ended}");
    assert!(heard.try_recv().is_err());
}

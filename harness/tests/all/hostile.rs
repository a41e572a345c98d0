//! Tests with hosts that try to hang, crash or exhaust the harness: the harness exits in time and reports the messages
//! that it received.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot start a server has failed")]

use std::future::Future;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ahp_harness::wire::json::{Value, json};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// The time limit for a run of one scenario against any hostile host. A run takes a few seconds. The limit is generous
/// for busy machines; it only distinguishes a bounded run from an endless run.
const LIMIT: Duration = Duration::from_secs(120);

/// Plays one scenario against a server with this behaviour.
fn play<F, B>(behave: B) -> Output
where
    B: Fn(TcpStream) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    play_waiting("300ms", behave)
}

/// Plays one scenario with this timeout for answers. The timeout is long if the server needs time before its
/// behaviour starts.
fn play_waiting<F, B>(timeout: &str, behave: B) -> Output
where
    B: Fn(TcpStream) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    // The server runs until the process of the test exits.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            listener.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(behave.clone()(stream));
            }
        });
    });
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .args(["run", "--url", &url, "--timeout", timeout, "--profile", "all"])
        .args(["--id", "tools/confirmed-once", "--format", "full"])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("the run did not end within {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn check(output: &Output, code: i32, expected: &str) {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    assert!(format!("{out}{err}").contains(expected), "expected `{expected}` in\n{out}{err}");
}

type HostileSocket = WebSocketStream<TcpStream>;

/// Performs a correct handshake, and returns the socket.
async fn shaken(stream: TcpStream) -> HostileSocket {
    let mut socket = accept_async(stream).await.unwrap();
    while let Some(Ok(message)) = socket.next().await {
        let Ok(text) = message.to_text() else { continue };
        let request: Value = serde_json::from_str(text).unwrap_or_default();
        if request["method"] == "initialize" {
            let version = request["params"]["protocolVersions"][0].clone();
            let result = json!({"protocolVersion": version, "serverSeq": 0, "snapshots": []});
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            let _ = socket.send(Message::text(answer.to_string())).await;
            return socket;
        }
    }
    socket
}

#[test]
fn a_host_without_a_websocket_handshake_is_unreachable() {
    let output = play(|mut stream: TcpStream| async move {
        let mut bytes = [0; 1024];
        while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
    });
    check(&output, 3, "the WebSocket handshake was not completed in time");
}

#[test]
fn a_host_that_answers_http_403_is_unreachable() {
    let output = play(|mut stream: TcpStream| async move {
        let answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
        let _ = stream.write_all(answer.as_bytes()).await;
    });
    check(&output, 3, "expected HTTP 101 (WebSocket), the host answered HTTP/1.1 403");
}

#[test]
fn a_host_that_closes_in_the_handshake_is_unreachable() {
    let output = play(|stream| async move {
        let mut socket = accept_async(stream).await.unwrap();
        let _ = socket.next().await;
        let _ = socket.close(None).await;
    });
    check(&output, 3, "closed the connection during the handshake");
}

#[test]
fn a_host_that_sends_single_bytes_is_unreachable() {
    let output = play(|mut stream: TcpStream| async move {
        for byte in b"HTTP/1.1 101 Switching Protocols\r\nX-Pad: ".iter().chain([&b'x'; 10_000]) {
            if stream.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    check(&output, 3, "in pieces so small");
}

#[test]
fn a_host_that_is_silent_after_the_handshake_fails_the_run() {
    let output = play(|stream| async move {
        let mut socket = shaken(stream).await;
        while let Some(Ok(_)) = socket.next().await {}
    });
    check(&output, 1, "expected an answer within 300ms, nothing came");
}

#[test]
fn an_endless_stream_of_messages_leaves_the_run_untested() {
    let output = play(|stream| async move {
        let mut socket = shaken(stream).await;
        let action = json!({"type": "root/activeSessionsChanged", "activeSessions": 1});
        for seq in 1_u64.. {
            let params = json!({"channel": "ahp-root://", "serverSeq": seq, "action": action});
            let frame = json!({"jsonrpc": "2.0", "method": "action", "params": params});
            if socket.send(Message::text(frame.to_string())).await.is_err() {
                return;
            }
        }
    });
    check(&output, 1, "untested");
}

#[test]
fn a_huge_message_is_bounded() {
    let output = play_waiting("10s", |stream| async move {
        let mut socket = shaken(stream).await;
        let _ = socket.send(Message::text("x".repeat(40 << 20))).await;
        while let Some(Ok(_)) = socket.next().await {}
    });
    check(&output, 1, "the host sent too much in one message");
}

#[test]
fn deeply_nested_json_is_a_finding() {
    let output = play(|stream| async move {
        let mut socket = shaken(stream).await;
        let _ = socket.send(Message::text("[".repeat(5 << 20))).await;
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        let _ = socket.send(Message::text(deep)).await;
        while let Some(Ok(_)) = socket.next().await {}
    });
    check(&output, 1, "shape.host");
}

#[test]
fn wrong_types_everywhere_are_findings() {
    let output = play(|stream| async move {
        let mut socket = accept_async(stream).await.unwrap();
        let odd = [
            json!({"jsonrpc": "2.0", "id": {}, "result": []}),
            json!({"jsonrpc": 2, "method": ["action"], "params": "x"}),
            json!({"jsonrpc": "2.0", "method": "action", "params": {"serverSeq": "1", "channel": 5}}),
            json!({"jsonrpc": "2.0", "method": "action", "params": {"serverSeq": -1, "action": []}}),
            json!([[], null, {"id": 1}]),
            json!(null),
        ];
        while let Some(Ok(message)) = socket.next().await {
            let request: Value =
                serde_json::from_str(message.to_text().unwrap_or("")).unwrap_or_default();
            for frame in &odd {
                let _ = socket.send(Message::text(frame.to_string())).await;
            }
            let result = json!({"protocolVersion": 1, "serverSeq": "x", "snapshots": {"a": 1}});
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            let _ = socket.send(Message::text(answer.to_string())).await;
            let _ = socket.send(Message::binary(vec![0xff; 100])).await;
        }
    });
    check(&output, 1, "shape.host");
}

#[test]
fn a_connection_that_ends_within_a_frame_is_reported() {
    let output = play(|stream| async move {
        let mut socket = shaken(stream).await;
        let _ = socket.next().await;
        // The host sends the header of a text frame of 100 bytes, and only two bytes of its content.
        let _ = socket.get_mut().write_all(&[0x81, 100, b'{', b'"']).await;
    });
    check(&output, 1, "the connection ended");
}

#[test]
fn a_host_that_never_reads_leaves_the_run_untested() {
    let output = play(|stream| async move {
        let socket = accept_async(stream).await.unwrap();
        tokio::time::sleep(LIMIT).await;
        drop(socket);
    });
    check(&output, 1, "untested");
}

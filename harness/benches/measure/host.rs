//! A minimal host, whose cost is the baseline of the measurements. The host has one session and one chat,
//! parses only the members that it needs, and builds its answers by concatenation.

use ahp_harness::wire::json::{Value, json};
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

use ahp_harness::transport::websocket::config;

/// The URI of the only chat.
pub const CHAT: &str = "ahp-chat:/bench";

/// The number of envelopes per flush.
const BATCH: u64 = 64;

/// Returns a listener on a free loopback port, and its URL.
pub fn listener() -> (std::net::TcpListener, String) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.set_nonblocking(true).expect("a listener that does not block");
    let url = format!("ws://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

/// Accepts the next connection.
pub async fn accepted(listener: &std::net::TcpListener) -> WebSocketStream<TcpStream> {
    let listener = listener.try_clone().and_then(TcpListener::from_std).expect("a listener");
    let (stream, _) = listener.accept().await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    accept_async_with_config(stream, Some(config())).await.expect("a handshake")
}

/// Echoes every message until the connection ends.
pub async fn echo(mut socket: WebSocketStream<TcpStream>) {
    while let Some(Ok(message)) = socket.next().await {
        if !message.is_text() || socket.send(message).await.is_err() {
            return;
        }
    }
}

/// Sends this many text frames and closes the connection.
pub async fn pour(mut socket: WebSocketStream<TcpStream>, count: u64) {
    let _ = socket.next().await;
    for seq in 1..=count {
        if socket.feed(Message::text(delta(seq))).await.is_err() {
            return;
        }
        if seq % BATCH == 0 && socket.flush().await.is_err() {
            return;
        }
    }
    let _ = socket.close(None).await;
}

/// Serves a client of the protocol. Echoes a `chat/draftChanged` as an envelope; echoes a `chat/turnStarted`
/// and then sends a turn of `deltas` envelopes.
pub async fn serve(mut socket: WebSocketStream<TcpStream>, deltas: u64) {
    let mut client_id = String::new();
    let mut seq = 0;
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        let Some((action, client_seq)) = dispatched(&text) else {
            if let Some(answer) = answer(&text, seq, &mut client_id)
                && socket.send(Message::text(answer)).await.is_err()
            {
                return;
            }
            continue;
        };
        seq += 1;
        let echo = envelope(action, seq, &client_id, client_seq);
        if socket.send(Message::text(echo)).await.is_err() {
            return;
        }
        if deltas > 0 && action.contains("chat/turnStarted") {
            let first = seq;
            for frame in turn(first, deltas) {
                seq += 1;
                if socket.feed(Message::text(frame)).await.is_err() {
                    return;
                }
                if seq % BATCH == 0 && socket.flush().await.is_err() {
                    return;
                }
            }
            if socket.flush().await.is_err() {
                return;
            }
        }
    }
}

/// Returns the action of a dispatch and its `clientSeq`, as parts of the frame's text. The action must be the last
/// member.
fn dispatched(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("\"clientSeq\":")?;
    let (client_seq, action) = rest.split_once(",\"action\":")?;
    Some((action.strip_suffix("}}")?, client_seq))
}

/// Returns the envelope with which the host echoes a client's action.
pub fn envelope(action: &str, seq: u64, client_id: &str, client_seq: &str) -> String {
    let parts = [
        "{\"jsonrpc\":\"2.0\",\"method\":\"action\",\"params\":{\"channel\":\"",
        CHAT,
        "\",\"action\":",
        action,
        ",\"serverSeq\":",
        &seq.to_string(),
        ",\"origin\":{\"clientId\":\"",
        client_id,
        "\",\"clientSeq\":",
        client_seq,
        "}}}",
    ];
    parts.concat()
}

/// Returns the envelopes of a started turn: the start of a part, `deltas` deltas of this part, and the end.
fn turn(started: u64, deltas: u64) -> impl Iterator<Item = String> {
    let part = json!({"type": "chat/responsePart", "turnId": "t1",
        "part": {"kind": "markdown", "id": "p1", "content": ""}});
    let end = json!({"type": "chat/turnComplete", "turnId": "t1", "duration": 5});
    let first = started + 2;
    std::iter::once(plain(&part.to_string(), started + 1))
        .chain((first..first + deltas).map(delta))
        .chain(std::iter::once(plain(&end.to_string(), first + deltas)))
}

/// Returns an envelope of the host's own action, about 230 bytes long.
pub fn delta(seq: u64) -> String {
    let action = "{\"type\":\"chat/delta\",\"turnId\":\"t1\",\"partId\":\"p1\",\"content\":\"lorem \
                  ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod\"}";
    plain(action, seq)
}

/// Returns an envelope without `origin`.
pub fn plain(action: &str, seq: u64) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"action\",\"params\":{{\"channel\":\"{CHAT}\",\"action\":\
         {action},\"serverSeq\":{seq}}}}}"
    )
}

/// Returns the answer to a request, from a state that never changes.
fn answer(text: &str, seq: u64, client_id: &mut String) -> Option<String> {
    let request: Value = serde_json::from_str(text).ok()?;
    let id = request.get("id")?;
    let params = &request["params"];
    let result = match request["method"].as_str()? {
        "initialize" => {
            *client_id = params["clientId"].as_str()?.to_owned();
            json!({"protocolVersion": "1.0.0", "serverSeq": seq, "snapshots": []})
        }
        "subscribe" => {
            let channel = params["channel"].as_str()?;
            let state = if channel == CHAT { chat(0) } else { session() };
            let snapshot = json!({"resource": channel, "fromSeq": seq, "state": state});
            json!({"snapshot": snapshot})
        }
        _ => Value::Null,
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

/// Returns the state of the session with its only chat.
pub fn session() -> Value {
    let chat = json!({"resource": CHAT, "title": "c", "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z"});
    json!({"provider": "bench", "title": "s", "status": 1, "lifecycle": "ready",
        "activeClients": [], "chats": [chat], "defaultChat": CHAT})
}

/// Returns the state of a chat with this many turns in its history.
pub fn chat(turns: u64) -> Value {
    let turn = |n: u64| {
        let part = json!({"kind": "markdown", "id": format!("p{n}"), "content": "lorem ipsum"});
        json!({"id": format!("old-{n}"), "state": "complete", "duration": 5,
            "startedAt": "2026-01-01T00:00:00.000Z", "responseParts": [part],
            "message": {"text": "hello", "origin": {"kind": "user"}}})
    };
    let turns: Vec<Value> = (0..turns).map(turn).collect();
    json!({"resource": CHAT, "title": "c", "status": 1, "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": turns})
}

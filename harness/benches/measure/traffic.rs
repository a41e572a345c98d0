//! Generates the traffic of one chat: connections subscribe to the chat, and turns follow one after another.

use std::sync::Arc;
use std::time::Duration;

use ahp_harness::oracle::{Oracle, OracleOptions};
use ahp_harness::transcript::{ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};

use super::host;

/// The parameters of the traffic.
#[derive(Clone, Copy)]
pub struct TrafficRow {
    /// The name of the row, which describes its difference from the base row.
    pub name: &'static str,
    /// The number of turns in the history of the chat.
    pub turns: u64,
    /// The number of additional channels to which the client is subscribed.
    pub channels: u64,
    /// The number of connections that are subscribed to the chat; each gets every envelope.
    pub clients: u32,
    /// The number of text envelopes per turn.
    pub deltas: u64,
    /// The number of envelopes, over all connections.
    pub frames: u64,
}

/// Returns an oracle that has seen the handshakes and subscriptions, and a function that creates the next
/// entries.
pub fn begun(row: &TrafficRow) -> (Oracle, impl FnMut(u32, ConnectionEvent) -> TranscriptEntry) {
    let mut oracle = Oracle::new(OracleOptions::default());
    let mut line = 0;
    let mut next = move |conn, event| {
        line += 1;
        TranscriptEntry { line, at: Duration::from_micros(line), conn: ConnId(conn), event }
    };
    for entry in opening(row, &mut next) {
        let findings = oracle.observe(&entry);
        assert!(findings.is_empty(), "{findings:?}");
    }
    (oracle, next)
}

/// Returns the frames of the handshakes and of the subscriptions to the channels.
fn opening(
    row: &TrafficRow,
    next: &mut impl FnMut(u32, ConnectionEvent) -> TranscriptEntry,
) -> Vec<TranscriptEntry> {
    let mut entries = Vec::new();
    for conn in 0..row.clients {
        entries.push(next(conn, ConnectionEvent::open(format!("C{conn}"))));
        let mut ask = |id: u64, method: &str, params: Value, result: Value| {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            entries.push(next(
                conn,
                ConnectionEvent::Sent(Arc::new(SeenFrame::new(Frame::json(&request)))),
            ));
            entries.push(next(
                conn,
                ConnectionEvent::Received(Arc::new(SeenFrame::new(Frame::json(&answer)))),
            ));
        };
        let hello = json!({"channel": "ahp-root://", "protocolVersions": ["1.0.0"],
            "clientId": format!("c{conn}")});
        let welcome = json!({"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []});
        ask(0, "initialize", hello, welcome);
        let mut subscribe = |id: u64, channel: &str, state: Value| {
            let snapshot = json!({"resource": channel, "fromSeq": 0, "state": state});
            ask(id, "subscribe", json!({"channel": channel}), json!({"snapshot": snapshot}));
        };
        subscribe(1, host::CHAT, host::chat(row.turns));
        for other in 0..row.channels {
            subscribe(2 + other, &format!("ahp-session:/{other}"), host::session());
        }
    }
    entries
}

/// Returns the frames of an endless sequence of turns.
pub fn stream(row: &TrafficRow) -> impl Iterator<Item = String> {
    let length = row.deltas + 3;
    (0..).map(move |index: u64| {
        let (turn, place) = (index / length, index % length);
        let id = format!("t{turn}");
        let action = match place {
            0 => json!({"type": "chat/turnStarted", "turnId": id,
                "startedAt": "2026-01-01T00:00:00.000Z",
                "message": {"text": "hello", "origin": {"kind": "agent"}}}),
            1 => json!({"type": "chat/responsePart", "turnId": id,
                "part": {"kind": "markdown", "id": "p1", "content": ""}}),
            place if place == length - 1 => {
                json!({"type": "chat/turnComplete", "turnId": id, "duration": 5})
            }
            _ => json!({"type": "chat/delta", "turnId": id, "partId": "p1",
                "content": "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do"}),
        };
        host::plain(&action.to_string(), index + 1)
    })
}

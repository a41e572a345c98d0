//! A hostile host: it listens, and shows one behaviour on every connection, each on a separate thread.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use ahp_harness::wire::json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept_with_config};

use super::between::{HonestChange, HonestFlood, HonestHost, between};

/// The behaviour of a host.
#[derive(Clone, Debug)]
pub enum GalleryBehaviour {
    /// Writes these bytes without WebSocket framing, at once or in blocks, and then closes or keeps the connection.
    Tcp { bytes: Vec<u8>, pieces: usize, pause: Duration, stays: bool },
    /// Never reads and never writes.
    Deaf,
    /// Performs the WebSocket and AHP handshakes, and then writes these bytes, once or repeatedly.
    Frames { bytes: Vec<u8>, again: bool, pause: Duration },
    /// Answers every request with this string; the identifier of the request replaces `"ID"`.
    Answers(String),
    /// Performs the handshake, and then answers every request with this string.
    Later(String),
    /// Answers like an ordinary host, with this string in place of every string. After the handshake, also sends the
    /// string in errors, titles and close reasons.
    Words(String),
    /// Answers like an ordinary host, but pauses before each answer.
    Slow(Duration),
    /// Reads the request, and then writes the first bytes once and repeats the others without end.
    TcpFlood { head: Vec<u8>, again: Vec<u8> },
    /// Performs the handshakes, and then closes its half of the connection.
    HalfClosed,
    /// Performs the handshakes, and then reads a byte every 50 ms.
    ReadsSlowly,
    /// Performs the handshakes, begins a message, and continues it without end.
    Endless { begin: Vec<u8>, again: Vec<u8> },
    /// Answers as the reference host does, with changed messages.
    Changed(HonestChange),
    /// Answers as the reference host does, and sends additional messages without end.
    Flooded(HonestFlood),
}

/// A hostile host.
pub struct GalleryHost {
    pub url: String,
    /// The reference host behind the hostile host.
    _honest: Option<HonestHost>,
}

/// Starts a host with this behaviour in a thread; the host stops when the test process exits.
pub fn host(behaviour: GalleryBehaviour, program: &str) -> GalleryHost {
    let deep = matches!(behaviour, GalleryBehaviour::Changed(_) | GalleryBehaviour::Flooded(_));
    let honest = deep.then(|| HonestHost::start(program));
    let behind = honest.as_ref().map(HonestHost::url).unwrap_or_default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (behaviour, behind) = (behaviour.clone(), behind.clone());
            std::thread::spawn(move || behave(stream, &behaviour, &behind));
        }
    });
    GalleryHost { url, _honest: honest }
}

fn behave(mut stream: TcpStream, behaviour: &GalleryBehaviour, behind: &str) -> Option<()> {
    let forever = Duration::from_secs(600);
    match behaviour {
        GalleryBehaviour::Deaf => std::thread::sleep(forever),
        GalleryBehaviour::Tcp { bytes, pieces, pause, stays } => {
            for piece in bytes.chunks((bytes.len() / pieces).max(1)) {
                stream.write_all(piece).ok()?;
                std::thread::sleep(*pause);
            }
            if *stays {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
        GalleryBehaviour::Frames { bytes, again, pause } => {
            let mut socket = shaken(stream)?;
            let stream = socket.get_mut();
            loop {
                stream.write_all(bytes).ok()?;
                if !again {
                    break;
                }
                std::thread::sleep(*pause);
            }
            while socket.read().is_ok() {}
        }
        GalleryBehaviour::Answers(text) => answer(accepted(stream)?, text)?,
        GalleryBehaviour::Later(text) => answer(shaken(stream)?, text)?,
        GalleryBehaviour::Words(word) => words(accepted(stream)?, word)?,
        GalleryBehaviour::TcpFlood { head, again } => {
            let _ = stream.read(&mut [0; 4096]).ok()?;
            stream.write_all(head).ok()?;
            loop {
                stream.write_all(again).ok()?;
            }
        }
        GalleryBehaviour::HalfClosed => {
            let mut socket = shaken(stream)?;
            socket.get_mut().shutdown(Shutdown::Write).ok()?;
            while socket.read().is_ok() {}
        }
        GalleryBehaviour::ReadsSlowly => {
            let mut socket = shaken(stream)?;
            while socket.get_mut().read(&mut [0; 1]).is_ok_and(|read| read > 0) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        GalleryBehaviour::Endless { begin, again } => {
            let mut socket = shaken(stream)?;
            let stream = socket.get_mut();
            stream.write_all(begin).ok()?;
            loop {
                stream.write_all(again).ok()?;
            }
        }
        GalleryBehaviour::Changed(change) => between(stream, behind, *change, None)?,
        GalleryBehaviour::Flooded(flood) => {
            between(stream, behind, |message| vec![message.value.to_string()], Some(*flood))?;
        }
        GalleryBehaviour::Slow(pause) => {
            let mut socket = accepted(stream)?;
            while let Some(request) = request(&mut socket) {
                std::thread::sleep(*pause);
                send(&mut socket, &ordinary(&request).to_text())?;
            }
        }
    }
    Some(())
}

pub type GallerySocket = WebSocket<TcpStream>;

pub fn accepted(stream: TcpStream) -> Option<GallerySocket> {
    let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    accept_with_config(stream, Some(config)).ok()
}

/// Reads the next request.
fn request(socket: &mut GallerySocket) -> Option<Value> {
    loop {
        let message = socket.read().ok()?;
        let Ok(text) = message.to_text() else { continue };
        let request: Value = serde_json::from_str(text).unwrap_or_default();
        if request.get("id").is_some() {
            return Some(request);
        }
    }
}

fn send(socket: &mut GallerySocket, text: &str) -> Option<()> {
    socket.send(Message::text(text.to_owned())).ok()
}

/// Returns the response of an ordinary host: a result for a handshake, a null result for any other request.
fn ordinary(request: &Value) -> Value {
    let offered = request["params"]["protocolVersions"].get(0).cloned();
    let result = match request["method"].as_str() {
        Some("initialize") if offered.as_ref().is_some_and(|it| it != "0.0.0") => {
            json!({"protocolVersion": offered, "serverSeq": 0, "snapshots": []})
        }
        _ => return json!({"jsonrpc": "2.0", "id": request["id"], "result": null}),
    };
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

fn shaken(stream: TcpStream) -> Option<GallerySocket> {
    let mut socket = accepted(stream)?;
    let first = request(&mut socket)?;
    send(&mut socket, &ordinary(&first).to_text())?;
    Some(socket)
}

fn answer(mut socket: GallerySocket, text: &str) -> Option<()> {
    while let Some(request) = request(&mut socket) {
        send(&mut socket, &text.replace("\"ID\"", &request["id"].to_text()))?;
    }
    Some(())
}

/// Sends the string in every place that a report could show.
fn words(mut socket: GallerySocket, word: &str) -> Option<()> {
    let mut asked = 0;
    while let Some(request) = request(&mut socket) {
        asked += 1;
        let version = &request["params"]["protocolVersions"][0];
        let id = &request["id"];
        let agent =
            json!({"provider": word, "displayName": word, "description": word, "models": []});
        let root = json!({"agents": [agent], "activeSessions": 0});
        let text = match request["method"].as_str() {
            Some("initialize") if *version == "0.0.0" => {
                json!({"jsonrpc": "2.0", "id": id, "error": {
                    "code": -32005, "message": word, "data": {"supportedVersions": [word, version]},
                }})
            }
            Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": version, "serverSeq": 0,
                "serverInfo": {"name": word, "version": word, "title": word},
                "snapshots": [{"resource": "ahp-root://", "state": root, "fromSeq": 0}],
                word: word,
            }}),
            _ if asked % 3 == 0 => {
                json!({"jsonrpc": "2.0", "id": id, "result": {word: word, "items": [{"title": word, "resource": word}]}})
            }
            _ => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32001, "message": word, "data": {word: word}}})
            }
        };
        send(&mut socket, &text.to_text())?;
        let action = json!({"type": word, "title": word, "error": {"message": word}});
        let params =
            json!({"channel": word, "serverSeq": asked, "action": action, "rejectionReason": word});
        send(
            &mut socket,
            &json!({"jsonrpc": "2.0", "method": "action", "params": params}).to_text(),
        )?;
        send(
            &mut socket,
            &json!({"jsonrpc": "2.0", "method": word, "params": {word: word}}).to_text(),
        )?;
        send(&mut socket, word)?;
        if asked == 12 {
            let reason: String = word.chars().take(30).collect();
            let reason = reason.as_str().into();
            let code = tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode::Error;
            let close = tokio_tungstenite::tungstenite::protocol::CloseFrame { code, reason };
            let _ = socket.close(Some(close));
        }
    }
    Some(())
}

//! Hostile hosts that answer like the reference host, with changed or additional messages. Such a host completes the
//! handshake, so that the harness keeps states, pages and sessions of the host.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::host::accepted;

/// A reference host to which a hostile host forwards its connections. Dropping this value stops it.
pub struct HonestHost(Child, String);

impl HonestHost {
    pub fn start(program: &str) -> HonestHost {
        let mut command = Command::new(program);
        command.arg("serve").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        HonestHost(child, url.trim().to_owned())
    }

    pub fn url(&self) -> String {
        self.1.clone()
    }
}

impl Drop for HonestHost {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A message of the reference host that is forwarded to a client.
pub struct HonestMessage {
    pub value: Value,
    /// The method of the request that the message answers; empty for other messages.
    pub method: String,
    /// The number of the message on its connection.
    pub number: u64,
}

/// Returns the text frames that are sent in place of a message.
pub type HonestChange = fn(HonestMessage) -> Vec<String>;
/// Returns the additional message with this number.
pub type HonestFlood = fn(u64) -> String;

/// Forwards messages between a client and the reference host.
pub fn between(
    stream: TcpStream,
    honest: &str,
    change: HonestChange,
    flood: Option<HonestFlood>,
) -> Option<()> {
    let back = stream.try_clone().ok()?;
    let mut from_client = accepted(stream)?;
    let to_client = Arc::new(Mutex::new(WebSocket::from_raw_socket(back, Role::Server, None)));
    let address = honest.trim_start_matches("ws://").trim_end_matches('/');
    let stream = TcpStream::connect(address).ok()?;
    let forth = stream.try_clone().ok()?;
    let (mut from_host, _) = client(honest, stream).ok()?;
    let mut to_host = WebSocket::from_raw_socket(forth, Role::Client, None);
    let methods: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let asked = Arc::clone(&methods);
    std::thread::spawn(move || {
        let mut number = 0;
        while let Ok(message) = from_host.read() {
            let Ok(text) = message.to_text() else { continue };
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            let id = value["id"].to_string();
            let method = asked.lock().unwrap().remove(&id).unwrap_or_default();
            number += 1;
            for text in change(HonestMessage { value, method, number }) {
                to_client.lock().unwrap().send(Message::text(text)).ok()?;
            }
            if let Some(flood) = flood.filter(|_| number == 1) {
                let to_client = Arc::clone(&to_client);
                std::thread::spawn(move || {
                    (0..).try_for_each(|number| {
                        to_client.lock().unwrap().send(Message::text(flood(number)))
                    })
                });
            }
        }
        Some(())
    });
    while let Ok(message) = from_client.read() {
        let value: Value =
            message.to_text().ok().and_then(|text| serde_json::from_str(text).ok())?;
        if let Some(method) = value["method"].as_str() {
            methods.lock().unwrap().insert(value["id"].to_string(), method.to_owned());
        }
        to_host.send(message).ok()?;
    }
    Some(())
}

fn as_it_is(message: HonestMessage) -> Vec<String> {
    vec![message.value.to_string()]
}

/// Applies a change to every value below `value`, except the members that address the message (such as ids).
fn walk(value: &mut Value, change: fn(&mut Value)) {
    const KEPT: [&str; 8] =
        ["jsonrpc", "id", "method", "protocolVersion", "channel", "resource", "type", "provider"];
    match value {
        Value::Object(members) => {
            let members = members.iter_mut().filter(|(name, _)| !KEPT.contains(&name.as_str()));
            members.for_each(|(_, value)| walk(value, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| walk(value, change)),
        _ => change(value),
    }
}

fn walked(mut message: HonestMessage, change: fn(&mut Value)) -> Vec<String> {
    walk(&mut message.value, change);
    as_it_is(message)
}

fn with_result(mut message: HonestMessage, name: &str, value: Value) -> Vec<String> {
    if let Some(result) = message.value["result"].as_object_mut() {
        result.insert(name.to_owned(), value);
    }
    as_it_is(message)
}

fn lists(message: &HonestMessage) -> bool {
    message.value["result"]["items"].is_array()
}

fn is_action(message: &HonestMessage) -> bool {
    message.value["method"] == "action"
}

/// The changes that hostile hosts make to the messages of the reference host, by name.
pub const CHANGES: &[(&str, HonestChange)] = &[
    ("pages without end", |message| match lists(&message) {
        true => {
            let cursor = json!(format!("c{}", message.number));
            with_result(message, "nextCursor", cursor)
        }
        false => as_it_is(message),
    }),
    ("the same cursor again", |message| match lists(&message) {
        true => with_result(message, "nextCursor", json!("same")),
        false => as_it_is(message),
    }),
    ("a cursor of 1 MiB", |message| match lists(&message) {
        true => {
            let cursor = format!("{}{}", "c".repeat(1 << 20), message.number);
            with_result(message, "nextCursor", json!(cursor))
        }
        false => as_it_is(message),
    }),
    ("pages of 10,000 sessions", |message| {
        let session = |at: u64| {
            json!({"resource": format!("ahp-session:/{at}"), "provider": "p", "title": "\u{1b}[2J",
                "status": 1, "createdAt": "2020-01-01T00:00:00Z", "modifiedAt": "2020-01-01T00:00:00Z"})
        };
        match lists(&message) {
            true => {
                let first = message.number * 10_000;
                let mut message = message;
                message.value["result"]["items"] = (first..first + 10_000).map(session).collect();
                let cursor = json!(format!("c{first}"));
                with_result(message, "nextCursor", cursor)
            }
            false => as_it_is(message),
        }
    }),
    ("each action a thousand times", |message| {
        let times = if is_action(&message) { 1_000 } else { 1 };
        vec![message.value.to_string(); times]
    }),
    ("each answer a hundred times", |message| vec![message.value.to_string(); 100]),
    ("500 snapshots of each", |mut message| {
        if let Some(snapshots) = message.value["result"]["snapshots"].as_array_mut() {
            let all = snapshots.clone();
            (0..500).for_each(|_| snapshots.extend(all.iter().cloned()));
        }
        as_it_is(message)
    }),
    ("every text with escapes", |message| {
        walked(message, |value| {
            if let Value::String(text) = value {
                text.push_str("\u{1b}[2J\u{202e}]]>\n::error file=forged::x");
            }
        })
    }),
    ("every text of 100 KB", |message| {
        walked(message, |value| {
            if let Value::String(text) = value {
                text.push_str(&"\u{202e}long".repeat(15_000));
            }
        })
    }),
    ("every number huge", |message| {
        walked(message, |value| {
            if value.is_number() {
                *value = json!(u64::MAX);
            }
        })
    }),
    ("every number negative", |message| {
        walked(message, |value| {
            if value.is_number() {
                *value = json!(-1.5e300);
            }
        })
    }),
    ("every value of another type", |message| {
        walked(message, |value| {
            *value = match value {
                Value::String(text) => json!([text]),
                Value::Bool(flag) => json!(flag.to_string()),
                _ => json!({"a": []}),
            }
        })
    }),
    ("every value null", |message| walked(message, |value| *value = Value::Null)),
    ("results null", |mut message| {
        if message.method != "initialize" && message.value.get("result").is_some() {
            message.value["result"] = Value::Null;
        }
        as_it_is(message)
    }),
    ("serverSeq without order", |mut message| {
        if is_action(&message) {
            let odd = [json!(0), json!(u64::MAX), json!(-1), json!(1.5), json!("7"), Value::Null];
            let place = (message.number % 6) as usize;
            message.value["params"]["serverSeq"] = odd[place].clone();
        }
        as_it_is(message)
    }),
    ("clocks out of range", |mut message| {
        fn times(value: &mut Value) {
            match value {
                Value::Object(members) => members.iter_mut().for_each(|(name, value)| {
                    match name.ends_with("At") && value.is_string() {
                        true => *value = json!("+275760-09-13T00:00:60.1Z"),
                        false => times(value),
                    }
                }),
                Value::Array(items) => items.iter_mut().for_each(times),
                _ => {}
            }
        }
        times(&mut message.value);
        as_it_is(message)
    }),
    ("ids of the next request", |mut message| {
        if let Some(id) = message.value["id"].as_u64().filter(|_| message.method != "initialize") {
            message.value["id"] = json!(id + 1);
        }
        as_it_is(message)
    }),
    ("ids as fractions", |message| {
        let text = message.value.to_string();
        match message.value["id"].as_u64() {
            Some(id) => vec![text.replace(&format!("\"id\":{id}"), &format!("\"id\":{id}.0"))],
            None => vec![text],
        }
    }),
    ("another version in each answer", |message| {
        let version = ["0.1.0", "0.9.0", "1.0.0", "\u{1b}"][(message.number % 4) as usize];
        with_result(message, "protocolVersion", json!(version))
    }),
    ("action types of 5 KB", |mut message| {
        if is_action(&message) {
            let kind = format!("session/\u{1b}[2J\u{202e}{}", "y".repeat(5_000));
            message.value["params"]["action"]["type"] = json!(kind);
        }
        as_it_is(message)
    }),
    ("errors of 3 MiB", |mut message| {
        if message.method != "initialize" && message.value.get("result").is_some() {
            let id = message.value["id"].clone();
            let text = format!("\u{1b}[31m{}", "m".repeat(3 << 20));
            message.value =
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": text}});
        }
        as_it_is(message)
    }),
    ("6 MiB beside each result", |message| {
        with_result(message, "_meta", json!({"pad": "p".repeat(6 << 20)}))
    }),
    ("60,000 objects beside each result", |message| {
        with_result(message, "_meta", json!({"pad": vec![json!({"a": 1}); 60_000]}))
    }),
    ("60,000 objects in each action", |mut message| {
        if is_action(&message) {
            message.value["params"]["action"]["_meta"] =
                json!({"pad": vec![json!({"a": 1}); 60_000]});
        }
        as_it_is(message)
    }),
    ("answers after the time limit", |message| {
        if !message.method.is_empty() && message.method != "initialize" {
            std::thread::sleep(std::time::Duration::from_millis(900));
        }
        as_it_is(message)
    }),
    ("nothing after twenty messages", |message| match message.number {
        0..20 => as_it_is(message),
        _ => Vec::new(),
    }),
];

/// The additional messages that hostile hosts send without end, by name.
pub const FLOODS: &[(&str, HonestFlood)] = &[
    ("sessions added", |number| {
        json!({"jsonrpc": "2.0", "method": "root/sessionAdded", "params": {"channel": "ahp-root://", "summary": {
            "resource": format!("ahp-session:/w{number}"), "provider": "p", "title": "t".repeat(200), "status": 1,
            "createdAt": "2020-01-01T00:00:00Z", "modifiedAt": "2020-01-01T00:00:00Z"}}})
        .to_string()
    }),
    ("actions on channels without end", |number| {
        let channel = format!("ahp-session:/z{number}/{}", "u".repeat(500));
        action(&channel, number, json!({"type": "session/titleChanged", "title": "t"}))
    }),
    ("actions on a channel of 1 MiB", |number| {
        let channel = format!("ahp-session:/{}{number}", "\u{1b}\u{202e}".repeat(250_000));
        action(&channel, number, json!({"type": "session/titleChanged", "title": "t"}))
    }),
    ("agents of the root", |number| {
        let agent = json!({"provider": format!("p{number}"), "displayName": "d", "description": "d", "models": []});
        action(
            "ahp-root://",
            number,
            json!({"type": "root/agentsChanged", "agents": vec![agent; 1_000]}),
        )
    }),
    ("titles of 2 MiB", |number| {
        let title = "t".repeat(2 << 20);
        action("ahp-root://", number, json!({"type": "root/titleChanged", "title": title}))
    }),
    ("requests to the client", |number| {
        json!({"jsonrpc": "2.0", "id": number, "method": "resourceRead", "params": {"uri": "file:///dev/zero"}})
            .to_string()
    }),
    ("requests with odd ids", |number| {
        let id = [Value::Null, json!({}), json!(1.5), json!(true), json!("i".repeat(10_000))];
        let id = &id[(number % 5) as usize];
        json!({"jsonrpc": "2.0", "id": id, "method": "\u{1b}[2J", "params": number}).to_string()
    }),
    ("notifications of 190,000 values", |_| {
        json!({"jsonrpc": "2.0", "method": "x", "params": vec![0; 190_000]}).to_string()
    }),
    ("answers to nothing", |number| {
        json!({"jsonrpc": "2.0", "id": number + 1_000_000, "result": {}}).to_string()
    }),
];

fn action(channel: &str, number: u64, action: Value) -> String {
    let params = json!({"channel": channel, "serverSeq": number, "action": action});
    json!({"jsonrpc": "2.0", "method": "action", "params": params}).to_string()
}

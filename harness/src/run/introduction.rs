//! A conversation that lets an agent introduce itself: a handshake, a session, and a turn whose prompt is a script.
//!
//! Knows: sockets, the methods of ACP that a client asks. Never knows: what is made of the answers.
//!
//! Start at [`introduce`].

use std::future::poll_fn;
use std::time::Duration;

use tokio::time::timeout;

use crate::peer::guise::Guise;
use crate::transport::link::{Endpoint, Link, LinkEvent};
use crate::wire::json::{Value, json};
use crate::wire::message::{Decoded, Kind, Message, decode};

use super::side::Side;

/// What a script has the agent say.
pub const SAYS: &str = "ahp-plays-scripts";
/// Texts of a turn that are kept, in bytes.
const MAX_SAID: usize = 64 << 10;

/// What an agent answered.
#[derive(Clone, Debug, Default)]
pub struct Introduction {
    /// The answer to `initialize`: the result, or the error.
    pub handshake: Option<Result<Value, Value>>,
    /// The answer to `session/new`.
    pub session: Option<Result<Value, Value>>,
    /// The answer to `session/prompt`.
    pub turn: Option<Result<Value, Value>>,
    /// What it said in the turn.
    pub said: String,
    /// Why the connection ended before that, in the agent's own words where there are any.
    pub ended: Option<String>,
}

/// Holds the conversation, and ends it.
pub async fn introduce(endpoint: &Endpoint, side: &Side, limit: Duration) -> Introduction {
    let mut link = Link::connect(endpoint, &Guise::default());
    let mut told = Introduction::default();
    if let Err(why) = converse(&mut link, side, limit, &mut told).await {
        told.ended = Some(why);
    }
    link.close(limit).await;
    told
}

async fn converse(
    link: &mut Link,
    side: &Side,
    limit: Duration,
    told: &mut Introduction,
) -> Result<(), String> {
    match timeout(limit, next(link)).await {
        Ok(LinkEvent::Opened) => {}
        Ok(LinkEvent::Ended { reason, .. }) => return Err(reason),
        _ => return Err("no connection in time".to_owned()),
    }
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    told.handshake = Some(ask(link, 1, "initialize", params, limit, told).await?);
    if let Some(method) = &side.auth {
        let params = json!({"methodId": (method.as_str())});
        if let Err(error) = ask(link, 2, "authenticate", params, limit, told).await? {
            told.session = Some(Err(error));
            return Ok(());
        }
    }
    let params = json!({"cwd": (side.work.as_str()), "mcpServers": []});
    let session = ask(link, 3, "session/new", params, limit, told).await?;
    told.session = Some(session.clone());
    let Some(id) = session.ok().map(|session| session["sessionId"].clone()) else { return Ok(()) };
    let prompt = json!([{"type": "text", "text": (format!("ahp-script: 1\nsay \"{SAYS}\""))}]);
    let params = json!({"sessionId": id, "prompt": prompt});
    told.turn = Some(ask(link, 4, "session/prompt", params, limit, told).await?);
    Ok(())
}

/// Asks, and waits for the answer: the result or the error.
///
/// # Errors
/// The agent ended, or gave no answer.
async fn ask(
    link: &mut Link,
    id: u64,
    method: &str,
    params: Value,
    limit: Duration,
    told: &mut Introduction,
) -> Result<Result<Value, Value>, String> {
    link.send(&Message::request(id, method, params).frame());
    let answer = async {
        loop {
            let frame = match next(link).await {
                LinkEvent::Frame(frame) => frame,
                LinkEvent::Ended { reason, .. } => return Err(reason),
                LinkEvent::Opened | LinkEvent::Refused(_) => continue,
            };
            let Decoded::Message(message) = decode(&frame) else { continue };
            match message.kind() {
                Kind::Request => refuse(link, &message),
                Kind::Notification if told.said.len() < MAX_SAID => {
                    let content = &message.params()["update"]["content"];
                    told.said.push_str(content["text"].as_str().unwrap_or_default());
                }
                Kind::Success if message.id() == Some(&json!(id)) => {
                    return Ok(Ok(message.result().cloned().unwrap_or_default()));
                }
                Kind::Failure if message.id() == Some(&json!(id)) => {
                    return Ok(Err(message.error().cloned().unwrap_or_default()));
                }
                _ => {}
            }
        }
    };
    match timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("`{method}` was not answered within {limit:?}")),
    }
}

/// Nothing is done for the agent, and nothing allowed.
fn refuse(link: &mut Link, message: &Message) {
    let id = message.id().cloned().unwrap_or_default();
    let answer = match message.method() {
        Some("session/request_permission") => {
            Message::success(id, json!({"outcome": {"outcome": "cancelled"}}))
        }
        _ => Message::failure(id, -32601, "nothing is offered", Value::Null),
    };
    link.send(&answer.frame());
}

async fn next(link: &mut Link) -> LinkEvent {
    poll_fn(|cx| link.poll(cx)).await
}

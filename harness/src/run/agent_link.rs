//! A connection to an agent outside, on which the harness asks and waits: what the first look and `agent profile` use.
//!
//! It does nothing for the agent: requests for permission are cancelled, all others are refused.
//!
//! Knows: connections, JSON-RPC. Never knows: which requests are made, and what the answers mean.
//!
//! Start at [`AgentLink::open`].

use std::time::Duration;

use tokio::time::timeout;

use crate::peer::guise::ClientGuise;
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink, refusal_text};
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

/// The most text of an agent that is kept, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// An open connection to an agent.
pub(super) struct AgentLink {
    link: TransportLink,
    limit: Duration,
    requests: u64,
    /// The text in the agent's updates so far.
    pub(super) text: String,
    /// It has asked for permission.
    pub(super) asked: bool,
}

/// Why a request has no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum RequestUnanswered {
    /// The connection ended, for this reason.
    Ended(String),
    /// The time limit was reached.
    Late,
}

impl AgentLink {
    /// Connects, or starts the agent. `limit` is the time limit for this and for each answer.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(super) async fn open(
        endpoint: &LinkEndpoint,
        limit: Duration,
    ) -> Result<AgentLink, String> {
        let mut link = TransportLink::connect(endpoint, &ClientGuise::default());
        match timeout(limit, link.next()).await {
            Ok(LinkEvent::Opened) => {
                Ok(AgentLink { link, limit, requests: 0, text: String::new(), asked: false })
            }
            Ok(LinkEvent::Ended { reason, .. }) => Err(reason),
            Ok(LinkEvent::Refused(head)) => Err(refusal_text(&head)),
            Ok(LinkEvent::Frame(_)) | Err(_) => Err("no connection in time".to_owned()),
        }
    }

    /// Sends a request and waits for its answer: the result, or the error.
    ///
    /// # Errors
    /// There is no answer.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, Value>, RequestUnanswered> {
        self.requests += 1;
        let id = json!(self.requests);
        self.link.send(&Message::request(self.requests, method, params).frame());
        let limit = self.limit;
        timeout(limit, self.answer(&id)).await.unwrap_or(Err(RequestUnanswered::Late))
    }

    async fn answer(&mut self, id: &Value) -> Result<Result<Value, Value>, RequestUnanswered> {
        loop {
            let frame = match self.link.next().await {
                LinkEvent::Frame(frame) => frame,
                LinkEvent::Ended { reason, .. } => return Err(RequestUnanswered::Ended(reason)),
                LinkEvent::Opened | LinkEvent::Refused(_) => continue,
            };
            let DecodedFrame::Message(message) = decode(&frame) else { continue };
            match message.kind() {
                MessageKind::Request => {
                    self.asked |= message.method() == Some("session/request_permission");
                    self.link.send(&refusal(&message).frame());
                }
                MessageKind::Notification if self.text.len() < MAX_TEXT => {
                    let content = &message.params()["update"]["content"];
                    self.text.push_str(content["text"].as_str().unwrap_or_default());
                }
                MessageKind::Success if message.id() == Some(id) => {
                    return Ok(Ok(message.result().cloned().unwrap_or_default()));
                }
                MessageKind::Failure if message.id() == Some(id) => {
                    return Ok(Err(message.error().cloned().unwrap_or_default()));
                }
                _ => {}
            }
        }
    }

    /// Ends the connection, and the agent if it was started.
    pub(super) async fn close(self) {
        self.link.close(self.limit).await;
    }
}

/// The answer to a request of the agent.
fn refusal(request: &Message) -> Message {
    let id = request.id().cloned().unwrap_or_default();
    match request.method() {
        Some("session/request_permission") => {
            Message::success(id, json!({"outcome": {"outcome": "cancelled"}}))
        }
        _ => Message::failure(id, -32601, "nothing is offered", Value::Null),
    }
}

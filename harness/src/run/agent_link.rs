//! A request-response connection to an external agent, for the first look and for `agent profile`.
//!
//! The harness offers the agent nothing here: it cancels requests for permission and refuses all other
//! requests.
//!
//! Knows: connections, JSON-RPC. Never knows: the content of requests and answers.
//!
//! Start at [`AgentLink::open`].

use std::time::Duration;

use tokio::time::timeout;

use crate::peer::guise::ClientGuise;
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink, refusal_text};
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

/// The maximum number of bytes of the agent's text that are kept.
const MAX_TEXT: usize = 64 << 10;

/// An open connection to an agent.
pub(super) struct AgentLink {
    link: TransportLink,
    limit: Duration,
    requests: u64,
    /// The text from the agent's updates so far.
    pub(super) text: String,
    /// Whether the agent has asked for permission.
    pub(super) asked: bool,
    /// Whether the agent has sent anything.
    pub(super) heard: bool,
}

/// Why a request has no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum RequestUnanswered {
    /// The connection ended; the string says why.
    Ended(String),
    /// The answer did not arrive within the time limit.
    Late,
}

impl AgentLink {
    /// Connects to the agent, or starts it. `limit` is the time limit for connecting and for each answer.
    ///
    /// # Errors
    /// Returns the reason if the connection cannot be established.
    pub(super) async fn open(
        endpoint: &LinkEndpoint,
        limit: Duration,
    ) -> Result<AgentLink, String> {
        let mut link = TransportLink::connect(endpoint, &ClientGuise::default());
        match timeout(limit, link.next()).await {
            Ok(LinkEvent::Opened) => {
                let text = String::new();
                Ok(AgentLink { link, limit, requests: 0, text, asked: false, heard: false })
            }
            Ok(LinkEvent::Ended { reason, .. }) => Err(reason),
            Ok(LinkEvent::Refused(head)) => Err(refusal_text(&head)),
            Ok(LinkEvent::Frame(_)) | Err(_) => {
                Err("the agent did not accept the connection in time".to_owned())
            }
        }
    }

    /// Sends a request and waits for its answer: the inner `Ok` is the result, the inner `Err` is the JSON-RPC
    /// error.
    ///
    /// # Errors
    /// Returns [`RequestUnanswered`] if no answer arrives.
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
            self.heard = true;
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

    /// Returns the lines that the agent wrote last to its standard error; empty if the agent wrote none, or if the
    /// harness did not start the agent.
    pub(super) fn last_words(&self) -> String {
        self.link.last_words()
    }

    /// Closes the connection and stops the agent if the harness started it.
    pub(super) async fn close(self) {
        self.link.close(self.limit).await;
    }
}

/// Returns a description of a JSON-RPC error: its code, its message and its data.
pub(super) fn error_words(error: &Value) -> String {
    let data = error.get("data").filter(|data| !data.is_null());
    let data = data.map(|data| format!(" ({})", data.to_text())).unwrap_or_default();
    let message = error["message"].as_str().unwrap_or_default();
    format!("error {}: {message}{data}", error["code"].to_text())
}

/// Returns the answer to a request from the agent: "cancelled" for a request for permission, and an error for
/// any other request.
fn refusal(request: &Message) -> Message {
    let id = request.id().cloned().unwrap_or_default();
    match request.method() {
        Some("session/request_permission") => {
            Message::success(id, json!({"outcome": {"outcome": "cancelled"}}))
        }
        _ => Message::failure(id, -32601, "nothing is offered", Value::Null),
    }
}

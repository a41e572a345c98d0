//! What a legal variant may do with the messages between a client and an agent, and how it reads and makes them.
//!
//! Knows: messages of ACP. Never knows: the reference agent, single variants.
//!
//! Start at [`AgentVariant`].

use std::collections::HashMap;
use std::time::Duration;

use crate::agent::acp::AgentConfig;
use crate::wire::json::{Map, Value, json};

/// A legal variant of an agent's behaviour.
pub trait AgentVariant: Send {
    /// Changes the configuration of the reference agent.
    fn set_up(&self, _config: &mut AgentConfig) {}
    /// Learns the id of a session that another process of the agent has stored.
    fn on_kept(&mut self, _session: &str) {}
    /// Handles a message of the client: pushes the messages that the agent receives instead, and messages to
    /// the client.
    fn on_client_message(
        &mut self,
        _link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        flow.to_agent.push(message);
    }
    /// Handles a message of the agent: pushes the messages that the client receives instead, and messages to
    /// the agent.
    fn on_agent_message(
        &mut self,
        _link: &VariantLink<'_>,
        message: Value,
        flow: &mut MessageFlow,
    ) {
        flow.to_client.push(message);
    }
    /// Returns the text of a message, in one line; `None` for the default text.
    fn spelled(&self, _message: &Value) -> Option<String> {
        None
    }
    /// Returns the delay of the client's messages to the agent.
    fn hears_after(&self) -> Duration {
        Duration::ZERO
    }
    /// Returns the delay of a message to the client. The order of messages does not change.
    fn delay(&mut self, _link: &VariantLink<'_>, _message: &Value) -> Duration {
        Duration::ZERO
    }
}

/// The messages that a variant sends.
#[derive(Debug, Default)]
pub struct MessageFlow {
    /// Messages to the client.
    pub to_client: Vec<Value>,
    /// Messages to the agent.
    pub to_agent: Vec<Value>,
}

/// The context in which a variant handles a message.
#[derive(Clone, Copy, Debug)]
pub struct VariantLink<'a> {
    /// The method of the client's request that the message answers; `None` for other messages.
    pub answers: Option<&'a str>,
    /// The client's capabilities from its `initialize`.
    pub offers: &'a Value,
    /// The current time on the agent's clock.
    pub now: Duration,
}

impl VariantLink<'_> {
    /// Returns whether the client has a capability, given as a JSON pointer.
    pub(super) fn offered(&self, pointer: &str) -> bool {
        let found = self.offers.pointer(pointer);
        found.is_some_and(|value| !value.is_null() && value.as_bool() != Some(false))
    }
}

/// Returns an id as a key; `1.0` is the same id as `1`.
pub(super) fn key(id: &Value) -> String {
    id.as_i64().map_or_else(|| id.to_text(), |number| number.to_string())
}

/// Returns a `session/update` notification.
pub(super) fn updating(session: &str, update: Value) -> Value {
    let params = json!({"sessionId": session, "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

/// Returns a response with a result.
pub(super) fn success(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": (id.clone()), "result": result})
}

pub(super) fn session_of(message: &Value) -> &str {
    message["params"]["sessionId"].as_str().unwrap_or_default()
}

/// The kind of a message about a tool call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallReportKind {
    /// The first report, `tool_call`.
    First,
    /// A `tool_call_update`.
    Update,
    /// The tool call in a permission request.
    Permission,
}

/// The part of a message that is about a tool call: its kind, the session, and the members.
pub(super) struct ToldCall<'a> {
    pub(super) told: CallReportKind,
    pub(super) session: String,
    pub(super) members: &'a mut Map,
}

impl ToldCall<'_> {
    /// Returns the session id and the call id.
    pub(super) fn key(&self) -> (String, String) {
        (self.session.clone(), self.text("toolCallId").to_owned())
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.members.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether the message reports the end of the call.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.text("status"), "completed" | "failed")
    }
}

/// Returns the part of an agent's message that is about a tool call; `None` if there is none.
pub(super) fn told_call(message: &mut Value) -> Option<ToldCall<'_>> {
    let session = session_of(message).to_owned();
    let method = message["method"].as_str().unwrap_or_default();
    let asks = method == "session/request_permission";
    let update = message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
    let told = match update {
        _ if asks => CallReportKind::Permission,
        "tool_call" => CallReportKind::First,
        "tool_call_update" => CallReportKind::Update,
        _ => return None,
    };
    let member = if asks { "toolCall" } else { "update" };
    let members = message.get_mut("params")?.get_mut(member)?.as_object_mut()?;
    Some(ToldCall { told, session, members })
}

/// Returns the text of a chunk of this kind; `None` for other messages.
pub(super) fn chunk_of(message: &mut Value, kind: &str) -> Option<String> {
    let update = &message["params"]["update"];
    let text = update["content"]["text"].as_str().filter(|_| update["sessionUpdate"] == kind)?;
    Some(text.to_owned())
}

/// Returns an update with a chunk of text.
pub(super) fn chunk(session: &str, kind: &str, text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    updating(session, json!({"sessionUpdate": kind, "content": content}))
}

/// The sessions of the client's open prompts.
#[derive(Debug, Default)]
pub(super) struct OpenPrompts {
    pub(super) sessions: HashMap<String, String>,
}

impl OpenPrompts {
    /// Records a prompt of the client and returns its session; `None` for other messages.
    pub(super) fn heard(&mut self, message: &Value) -> Option<String> {
        let id = message.get("id").filter(|_| message["method"] == "session/prompt")?;
        let session = session_of(message).to_owned();
        self.sessions.insert(key(id), session.clone());
        Some(session)
    }

    /// Removes the prompt that a message of the agent answers and returns its session; `None` for other
    /// messages.
    pub(super) fn ended(&mut self, link: &VariantLink<'_>, message: &Value) -> Option<String> {
        link.answers.filter(|method| *method == "session/prompt")?;
        self.sessions.remove(&key(message.get("id")?))
    }

    pub(super) fn is_open(&self, session: &str) -> bool {
        self.sessions.values().any(|open| open == session)
    }
}

//! The tools that the client offers. The client runs each approved call of its own tools once, and stops when the call
//! is cancelled.
//!
//! These tools have no effect: a call takes the configured time, and its result repeats the input.
//!
//! Knows: states of chats and sessions. Never knows: connections, real tools.
//!
//! Start at [`ReferenceClient::work`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::super::received::ReceivedStates;
use super::ReferenceClient;
use super::fault::Fault;

/// A tool that a driver's command offers.
#[derive(Clone, Debug)]
struct DriverTool {
    session: String,
    name: String,
    definition: Value,
    takes: Duration,
}

/// A running call.
#[derive(Clone, Debug)]
struct RunningCall {
    due: Duration,
    call: FoundCall,
    input: Value,
}

/// The identity of a tool call in the states.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct FoundCall {
    chat: String,
    turn: String,
    id: String,
    tool: String,
}

/// The tools of a client, with their calls.
#[derive(Debug, Default)]
pub(super) struct DriverTools {
    tools: Vec<DriverTool>,
    begun: HashSet<FoundCall>,
    /// The tool calls whose start the client has reported to its driver.
    started: HashSet<FoundCall>,
    /// Every start of a tool, oldest first.
    starts: Vec<Value>,
    denied: HashSet<FoundCall>,
    /// The input of each call when the client saw it for the first time.
    first_inputs: Vec<(FoundCall, Value)>,
    running: Vec<RunningCall>,
}

impl DriverTools {
    /// Adds a tool, and returns the action that offers all tools of the session.
    pub(super) fn offer(&mut self, client: &str, session: &str, command: &Value) -> Value {
        let name = command["name"].as_str().unwrap_or("probe").to_owned();
        let mut definition = json!({"name": name, "description": "Repeats its input."});
        if command["inputSchema"].is_object() {
            definition["inputSchema"] = command["inputSchema"].clone();
        }
        let takes = Duration::from_millis(command["takesMs"].as_u64().unwrap_or_default());
        self.tools.retain(|tool| tool.session != session || tool.name != name);
        self.tools.push(DriverTool { session: session.to_owned(), name, definition, takes });
        self.entry(client, session)
    }

    fn entry(&self, client: &str, session: &str) -> Value {
        let own = self.tools.iter().filter(|tool| tool.session == session);
        let tools: Value = own.map(|tool| tool.definition.clone()).collect();
        let entry = json!({"clientId": client, "tools": tools});
        json!({"type": "session/activeClientSet", "activeClient": entry})
    }

    /// Returns every start of a tool, oldest first.
    pub(super) fn starts(&self) -> Value {
        self.starts.iter().cloned().collect()
    }

    /// Returns the time at which the next call completes.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.running.iter().map(|call| call.due).min()
    }

    fn tool(&self, name: &str) -> Option<&DriverTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl ReferenceClient {
    /// Joins the sessions again from which the host removed the client while the client was disconnected.
    pub(super) fn join_again(&mut self) {
        if self.has(Fault::NotJoinedAgain) {
            return;
        }
        let mut sessions: Vec<String> =
            self.tools.tools.iter().map(|tool| tool.session.clone()).collect();
        sessions.dedup();
        for session in sessions {
            let Some(mirror) = self.states.channel(&session) else { continue };
            let clients = mirror.confirmed()["activeClients"].as_array();
            let joined =
                clients.into_iter().flatten().any(|it| it["clientId"] == self.client_id.as_str());
            if !joined {
                let entry = self.tools.entry(&self.client_id, &session);
                self.dispatch(&session, entry);
            }
        }
    }

    /// Starts those calls of the client's own tools that are approved, and completes the running calls whose time has
    /// passed.
    pub(super) fn work(&mut self, now: Duration) {
        if self.tools.tools.is_empty() {
            return;
        }
        let shown = self.has(Fault::RunsOnOwnApproval);
        for (call, state) in found_calls(&self.states, !self.has(Fault::ToolOnlyInChat), shown) {
            self.consider(now, call, &state);
        }
        if self.has(Fault::FailsOnCancel) {
            self.fail_cancelled();
        }
        let due: Vec<RunningCall> =
            self.tools.running.iter().filter(|call| call.due <= now).cloned().collect();
        self.tools.running.retain(|call| call.due > now);
        for call in due {
            self.complete(&call);
        }
    }

    fn consider(&mut self, now: Duration, call: FoundCall, state: &Value) {
        // Before 0.3.0 a call names its client in `toolClientId`.
        let owner = state["contributor"]["clientId"].as_str().or(state["toolClientId"].as_str());
        let own = owner == Some(self.client_id.as_str());
        let takes = own || owner.is_some() && self.has(Fault::ToolOfOthers);
        if !takes {
            return;
        }
        let status = state["status"].as_str().unwrap_or_default();
        let input = input_of(state);
        if !self.tools.first_inputs.iter().any(|(known, _)| *known == call) && !input.is_null() {
            self.tools.first_inputs.push((call.clone(), input.clone()));
        }
        let Some(tool) = self.tools.tool(&call.tool).cloned() else {
            let denies = status == "pending-confirmation" && !self.has(Fault::ToolUnknownIgnored);
            if own && denies && self.tools.denied.insert(call.clone()) {
                self.deny(&call);
            }
            return;
        };
        let runs =
            status == "running" || status == "pending-confirmation" && self.has(Fault::ToolEarly);
        if !runs {
            return;
        }
        let refused = !self.tools.begun.contains(&call)
            && self.consents.refuses(&tool.session, &call.tool)
            && !(self.has(Fault::HostConsents) && state["confirmed"] == "not-needed");
        if refused {
            if self.tools.denied.insert(call.clone()) {
                self.complete_failed(&call, "Not run", "the user has not consented to this call");
            }
            return;
        }
        if self.tools.started.insert(call.clone()) {
            self.start(&call, &input);
        }
        if !self.tools.begun.insert(call.clone()) {
            return;
        }
        let first = self.tools.first_inputs.iter().find(|(known, _)| *known == call);
        let input = match first.filter(|_| self.has(Fault::ToolInputCached)) {
            Some((_, first)) => first.clone(),
            None => input,
        };
        let running = RunningCall { due: now + tool.takes, call, input };
        self.tools.running.push(running.clone());
        if self.has(Fault::ToolTwice) {
            self.tools.running.push(running);
        }
    }

    /// Starts the tool of a call.
    fn start(&mut self, call: &FoundCall, input: &Value) {
        let start = json!({"toolCallId": call.id, "name": call.tool, "input": input});
        self.tools.starts.push(start.clone());
        let mut event = start;
        event["event"] = json!("tool");
        self.say(&event);
    }

    /// Injects the faults of a client that starts the tool of the same call more than once.
    pub(super) fn start_again(&mut self, action: &Value) {
        if self.has(Fault::ToolStartedAgain) {
            self.tools.started.clear();
        }
        if self.has(Fault::ToolStartedLate) && action["type"] == "chat/toolCallReady" {
            let again = self.tools.begun.iter().find(|call| action["toolCallId"] == *call.id);
            let running = |call: &FoundCall| self.tools.running.iter().any(|it| it.call == *call);
            if let Some(call) = again.filter(|call| !running(call)).cloned() {
                self.start(&call, &input_of(action));
            }
        }
    }

    /// Injects the fault of a client that completes each running call as failed once its turn is cancelled.
    fn fail_cancelled(&mut self) {
        let alive: Vec<FoundCall> =
            found_calls(&self.states, true, false).into_iter().map(|(call, _)| call).collect();
        let (kept, ended): (Vec<_>, Vec<_>) =
            self.tools.running.drain(..).partition(|running| alive.contains(&running.call));
        self.tools.running = kept;
        for RunningCall { call, .. } in ended {
            self.complete_failed(&call, "Failed", "the turn was cancelled");
        }
    }

    /// Completes a call without success.
    fn complete_failed(&mut self, call: &FoundCall, past_tense: &str, why: &str) {
        let action = json!({
            "type": "chat/toolCallComplete",
            "turnId": call.turn,
            "toolCallId": call.id,
            "result": {
                "success": false,
                "pastTenseMessage": past_tense,
                "content": [],
                "error": {"message": why},
            },
        });
        self.dispatch(&call.chat, action);
    }

    fn deny(&mut self, call: &FoundCall) {
        let action = json!({
            "type": "chat/toolCallConfirmed",
            "turnId": call.turn,
            "toolCallId": call.id,
            "approved": false,
            "reason": "denied",
        });
        self.dispatch(&call.chat, action);
    }

    /// Completes a call, unless the call is no longer running.
    fn complete(&mut self, running: &RunningCall) {
        let call = &running.call;
        let runs = found_calls(&self.states, true, false)
            .into_iter()
            .any(|(found, state)| found == *call && state["status"] != "cancelled");
        if !runs && !self.has(Fault::CompletesAfterCancel) {
            return;
        }
        let schema = self.tools.tool(&call.tool).map(|tool| tool.definition["inputSchema"].clone());
        let unchecked = self.has(Fault::ToolArgumentsUnchecked);
        let valid = unchecked || schema.is_none_or(|schema| fits(&schema, &running.input));
        let mut result = json!({
            "success": valid,
            "pastTenseMessage": "Repeated the input",
            "content": [{"type": "text", "text": running.input.to_string()}],
        });
        if !valid {
            result["error"] = json!({"message": "the input does not match the schema"});
        }
        let action = json!({
            "type": "chat/toolCallComplete",
            "turnId": call.turn,
            "toolCallId": call.id,
            "result": result,
        });
        let session = self.tools.tool(&call.tool).map(|tool| tool.session.clone());
        let channel = match session.filter(|_| self.has(Fault::ToolInSession)) {
            Some(session) => session,
            None => call.chat.clone(),
        };
        self.dispatch(&channel, action);
    }
}

/// Returns the input of a call. If the input is a string that contains JSON, the JSON is parsed.
fn input_of(state: &Value) -> Value {
    match &state["toolInput"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text.as_str())),
        other => other.clone(),
    }
}

/// Returns whether an input has the members that its schema requires, with their basic types.
fn fits(schema: &Value, input: &Value) -> bool {
    let required = schema["required"].as_array().into_iter().flatten();
    let given = required.filter_map(Value::as_str).all(|name| input.get(name).is_some());
    let typed = schema["properties"].as_object().into_iter().flatten().all(|(name, property)| {
        let Some(value) = input.get(name.as_str()) else { return true };
        match property["type"].as_str() {
            Some("string") => value.is_string(),
            Some("number" | "integer") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            _ => true,
        }
    });
    given && typed
}

/// Returns the tool calls of active turns. With `in_sessions`, the result also contains the calls in the `inputNeeded`
/// of sessions, which may belong to chats that the client is not subscribed to.
fn found_calls(states: &ReceivedStates, in_sessions: bool, shown: bool) -> Vec<(FoundCall, Value)> {
    let mut found: Vec<(FoundCall, Value)> = Vec::new();
    for channel in states.subscriptions() {
        let Some(mirror) = states.channel(channel) else { continue };
        let state = match shown {
            true => Cow::Owned(mirror.optimistic()),
            false => Cow::Borrowed(mirror.confirmed()),
        };
        let turn = &state["activeTurn"];
        let parts = turn["responseParts"].as_array().into_iter().flatten();
        for call in parts.map(|part| &part["toolCall"]).filter(|call| call.is_object()) {
            found.push((found_call(channel, turn["id"].as_str(), call), call.clone()));
        }
        let asked = state["inputNeeded"].as_array().into_iter().flatten();
        for entry in asked.filter(|_| in_sessions) {
            let chat = entry["chat"].as_str().unwrap_or_default();
            if entry["toolCall"].is_object() && states.channel(chat).is_none() {
                let call = &entry["toolCall"];
                found.push((found_call(chat, entry["turnId"].as_str(), call), call.clone()));
            }
        }
    }
    found
}

fn found_call(chat: &str, turn: Option<&str>, call: &Value) -> FoundCall {
    let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
    FoundCall {
        chat: chat.to_owned(),
        turn: turn.unwrap_or_default().to_owned(),
        id: text("toolCallId"),
        tool: text("toolName"),
    }
}

//! Translates the agent's updates into actions of the chat.
//!
//! The host appends chunks to a response part, and starts a new part after each tool call. A tool call starts
//! with the first update about the call. The call becomes ready when the agent asks for permission, or when the
//! call runs without permission. The call ends with the agent's final status.
//!
//! Knows: updates, actions. Never knows: lines, requests.
//!
//! Start at [`RefHost::updated`].

use super::super::engine::RefHost;
use super::super::reading::tool_call;
use super::link::KnownCall;
use crate::wire::json::{Value, json};

impl RefHost {
    /// Handles an update of the agent about a chat. Ignores updates after the end of the turn.
    pub(super) fn updated(&mut self, uri: &str, update: &Value) {
        let Some(turn) = self.talk(uri).and_then(|talk| talk.turn.clone()) else {
            return;
        };
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.text_came(uri, &turn, "markdown", update),
            "agent_thought_chunk" => self.text_came(uri, &turn, "reasoning", update),
            "tool_call" | "tool_call_update" => self.call_told(uri, &turn, update),
            "session_info_update" => {
                let session = self.chats.session_of(uri).map(str::to_owned);
                if let (Some(session), Some(title)) = (session, update["title"].as_str()) {
                    self.publish(&session, json!({"type": "session/titleChanged", "title": title}));
                }
            }
            _ => {}
        }
    }

    fn text_came(&mut self, uri: &str, turn: &str, kind: &'static str, update: &Value) {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let open = self.talk(uri).and_then(|talk| talk.part.clone());
        let part = match open.filter(|(open, _)| *open == kind) {
            Some((_, part)) => part,
            None => {
                let id = self.fresh_id("part");
                let part = json!({"kind": kind, "id": id, "content": ""});
                self.say(uri, json!({"type": "chat/responsePart", "turnId": turn, "part": part}));
                if let Some(talk) = self.talk(uri) {
                    talk.part = Some((kind, id.clone()));
                }
                id
            }
        };
        let action = if kind == "markdown" { "chat/delta" } else { "chat/reasoning" };
        self.say(uri, json!({"type": action, "turnId": turn, "partId": part, "content": text}));
    }

    /// Handles the first or a later update about a tool call.
    fn call_told(&mut self, uri: &str, turn: &str, update: &Value) {
        let Some(id) = update["toolCallId"].as_str() else {
            return;
        };
        let known = self.call_known(uri, turn, id, update);
        let status = update["status"].as_str().unwrap_or_default();
        let ended = matches!(status, "completed" | "failed");
        if !ended && status != "in_progress" {
            return;
        }
        if tool_call(self.state(uri), &known.call)["status"] == "streaming" {
            self.say(uri, ready(turn, &known, &Value::Null));
        }
        if !ended || tool_call(self.state(uri), &known.call)["status"] != "running" {
            return;
        }
        let success = status == "completed";
        if success {
            let folder = self.folder_of(uri);
            self.edit_told(uri, turn, &folder, &update["content"]);
        }
        let mut result = json!({
            "success": success, "pastTenseMessage": (format!("Called {}", known.title)),
            "content": (known.content),
        });
        if !success {
            result["error"] = json!({"message": (known.content[0]["text"])});
        }
        let action = json!({
            "type": "chat/toolCallComplete", "turnId": turn, "toolCallId": (known.call), "result": result,
        });
        self.say(uri, action);
    }

    /// Returns the record of a tool call after this update. Starts a call with the first update about it.
    fn call_known(&mut self, uri: &str, turn: &str, id: &str, update: &Value) -> KnownCall {
        let before = self.talk(uri).and_then(|talk| talk.calls.get(id).cloned());
        let new = before.is_none();
        let mut known = before.unwrap_or_default();
        if let Some(title) = update["title"].as_str() {
            title.clone_into(&mut known.title);
        }
        if let Some(input) = input_of(&update["rawInput"]) {
            known.input = input;
        }
        if let Some(content) = update["content"].as_array() {
            known.content = texts(content);
        }
        if new {
            known.call = self.begin_call(uri, turn, &known, update);
        }
        if let Some(talk) = self.talk(uri) {
            talk.calls.insert(id.to_owned(), known.clone());
            talk.part = None;
        }
        known
    }

    fn begin_call(&mut self, uri: &str, turn: &str, known: &KnownCall, update: &Value) -> String {
        let call = self.fresh_id("call");
        let name = update["name"].as_str().or(update["kind"].as_str()).unwrap_or("other");
        let display = if known.title.is_empty() { name } else { &known.title };
        self.say(
            uri,
            json!({
                "type": "chat/toolCallStart", "turnId": turn, "toolCallId": call, "toolName": name,
                "displayName": display,
            }),
        );
        self.stream_input(uri, turn, &call, &known.input);
        call
    }

    /// Handles the agent's permission request for a tool call.
    pub(super) fn permission_asked(&mut self, uri: &str, id: Value, params: &Value) {
        let options = &params["options"];
        let turn = self.talk(uri).and_then(|talk| talk.turn.clone());
        let call = params["toolCall"]["toolCallId"].as_str();
        let (Some(turn), Some(call)) = (turn, call) else {
            return self.answer_permission(id, &Value::Null, &Value::Null, false);
        };
        let known = self.call_known(uri, &turn, call, &params["toolCall"]);
        if let Some(known) = self.talk(uri).and_then(|talk| talk.calls.get_mut(call)) {
            known.permission = Some((id, options.clone()));
        }
        self.say(uri, ready(&turn, &known, options));
    }
}

/// Returns the action for a ready call: a pending confirmation if the agent offers options, a confirmed call if
/// not.
fn ready(turn: &str, known: &KnownCall, options: &Value) -> Value {
    let mut action = json!({
        "type": "chat/toolCallReady", "turnId": turn, "toolCallId": (known.call.as_str()),
        "invocationMessage": (format!("Call {}", known.title)), "toolInput": (known.input.as_str()),
    });
    let Some(options) = options.as_array() else {
        action["confirmed"] = json!("not-needed");
        return action;
    };
    let option = |option: &Value| {
        let allows = option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
        let kind = if allows { "approve" } else { "deny" };
        json!({"id": (option["optionId"]), "label": (option["name"]), "kind": kind})
    };
    action["confirmationTitle"] = json!("Allow this call?");
    action["editable"] = json!(false);
    action["options"] = options.iter().map(option).collect();
    action
}

/// Returns the input of a call as text: the value of the only member `command` or `path`, or JSON for any other
/// object. `None` if the input is no object.
fn input_of(raw: &Value) -> Option<String> {
    let members = raw.as_object()?;
    let alone =
        |name: &str| members.get(name).filter(|_| members.len() == 1).and_then(Value::as_str);
    let text = ["command", "path"].into_iter().find_map(alone);
    Some(text.map_or_else(|| raw.to_text(), str::to_owned))
}

/// Returns the strings of a call's content.
fn texts(content: &[Value]) -> Value {
    let texts = content.iter().filter_map(|item| item["content"]["text"].as_str());
    texts.map(|text| json!({"type": "text", "text": text})).collect()
}

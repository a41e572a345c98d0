//! The requests that the host's own agent sends to a model, if the agent is configured to ask one.
//!
//! Nothing answers these requests: the agent follows the script of the message. The caller that moves the frames
//! records each request in the form of the log of the model stand-in, so that the rules about the requests of an agent
//! to its model can be tested without a real agent.
//!
//! Knows: turns, tools. Never knows: the recorder of a request.
//!
//! Start at [`RefHost::ask_model`].

use crate::agent::model::{ModelFlavor, ModelRequest, ModelSetting, answer};
use crate::wire::json::{Value, json};

use super::HostOutput;
use super::engine::RefHost;
use super::injected::MadeValue;

/// The model for messages that do not select a model.
const MODEL: &str = "script-1";

impl RefHost {
    /// Records the request about the active turn of a chat, if the agent asks a model. `text` is the message.
    pub(super) fn ask_model(&mut self, uri: &str, message: &Value, text: &str) {
        if !self.config.asks_model {
            return;
        }
        let serial = self.questions.next_id();
        let body = self.made(&MadeValue::ModelRequest(uri), self.model_request(uri, message, text));
        let body = body.to_text();
        let Some(flavor) = ModelFlavor::named("plain") else { return };
        let request = ModelRequest {
            method: "POST",
            path: "/v1/chat/completions",
            query: "",
            token: None,
            body: body.as_bytes(),
        };
        let setting = ModelSetting { flavor: &flavor, base: "http://model", epoch: 0, serial };
        let mut record = answer(&request, &setting).record;
        // The answer is removed from the record: the stand-in has also played the script of the message, with tool
        // calls of its own.
        record["says"] = json!([]);
        self.outbox.push(HostOutput::Asked(record));
        self.outbox.push(HostOutput::Asked(json!({"serial": serial, "ended": "complete"})));
    }

    /// Returns the body of a request in the form of chat completions: the conversation, the tools, the selected model
    /// and its options.
    fn model_request(&self, uri: &str, message: &Value, text: &str) -> Value {
        let user = |text: &Value| json!({"role": "user", "content": text});
        let mut messages = Vec::new();
        for turn in self.state(uri)["turns"].as_array().into_iter().flatten() {
            messages.push(user(&turn["message"]["text"]));
            let parts = turn["responseParts"].as_array().into_iter().flatten();
            let said: String = parts.filter_map(|part| part["content"].as_str()).collect();
            messages.push(json!({"role": "assistant", "content": said}));
        }
        messages.push(user(&json!(text)));
        let tool = |name: &str| {
            let parameters = json!({"type": "object", "properties": {"input": {"type": "string"}}});
            json!({"type": "function", "function": {"name": name, "parameters": parameters}})
        };
        let session = self.chats.session_of(uri).unwrap_or_default();
        let clients = self.state(session)["activeClients"].as_array().into_iter().flatten();
        let offered = clients.filter_map(|client| client["tools"].as_array()).flatten();
        let mut names: Vec<&str> = offered.filter_map(|tool| tool["name"].as_str()).collect();
        names.extend(["shell", "read", "write", "edit"]);
        names.sort_unstable();
        names.dedup();
        let tools: Vec<Value> = names.into_iter().map(tool).collect();
        let model = message["model"]["id"].as_str().unwrap_or(MODEL);
        let mut body =
            json!({"model": model, "messages": messages, "tools": tools, "stream": true});
        for (name, option) in message["model"]["config"].as_object().into_iter().flatten() {
            body["options"][name.as_str()] = option.clone();
        }
        body
    }
}

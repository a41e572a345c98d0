//! The commands of a driver, as `CLIENT_DRIVER.md` describes them.
//!
//! Knows: the client's parts. Never knows: who sends the commands.
//!
//! Start at [`ReferenceClient::command`].

use std::time::Duration;

use crate::model;
use crate::peer::client_folder::ClientFolder;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::driver_words::{DRIVER_COMMANDS, RECONNECTS, STATE_COMMAND};
use super::fault::Fault;
use super::{ConnectionPhase, ReferenceClient, RequestReason};

impl ReferenceClient {
    /// Carries out a command.
    pub(super) fn command(&mut self, now: Duration, line: &str) {
        let command: Value = serde_json::from_str(line).unwrap_or(Value::Null);
        let Some(id) = command["id"].as_u64() else {
            self.say(&json!({"event": "error", "message": "expected a command with a number as its `id`"}));
            return;
        };
        if self.broken {
            return self.fail(id, "the client is broken");
        }
        let connected = self.phase == ConnectionPhase::Ready;
        let channel = command["channel"].as_str().unwrap_or_default().to_owned();
        match command["do"].as_str().unwrap_or_default() {
            "hello" => self.answer(
                id,
                json!({
                    "name": "ahp-harness reference client",
                    "version": env!("CARGO_PKG_VERSION"),
                    "does": [DRIVER_COMMANDS, &[STATE_COMMAND, RECONNECTS]].concat(),
                }),
            ),
            "connect" => self.begin_connecting(id, &command),
            "close" => {
                self.resumes = false;
                self.close();
                self.answer(id, json!({}));
            }
            "state" => self.tell_state(id, &channel, command["of"] == "shown"),
            "serve" => {
                let root = command["root"].as_str().unwrap_or_default();
                let writable = command["writable"] == true;
                self.folder = ClientFolder::new(root, &command["files"], writable);
                self.answer(id, json!({}));
            }
            "token" => {
                self.tokens.set_time(now);
                self.tokens.give(&command);
                self.answer(id, json!({}));
                self.deliver_tokens();
            }
            "calls" => {
                let calls = self.tools.starts();
                self.answer(id, json!({"calls": calls}));
            }
            _ if !connected => self.fail(id, "the client is not connected"),
            "subscribe" if self.has(Fault::DefaultChatOnly) && self.is_other_chat(&channel) => {
                self.fail(id, "this is not the default chat of its session");
            }
            "request" => {
                let method = command["method"].as_str().unwrap_or_default().to_owned();
                self.request(RequestReason::Command(id), &method, command["params"].clone());
            }
            "subscribe" => {
                let mut params = json!({"channel": channel});
                for (name, value) in command["params"].as_object().into_iter().flatten() {
                    params[name.as_str()] = value.clone();
                }
                self.request(RequestReason::Subscribe(id), "subscribe", params);
            }
            "unsubscribe" => {
                if !self.has(Fault::UnsubscribedKept) {
                    self.wanted.retain(|it| *it != channel);
                }
                self.send(Message::notification("unsubscribe", json!({"channel": channel})));
                self.answer(id, json!({}));
            }
            "dispatch" => {
                let seq = self.dispatch(&channel, command["action"].clone());
                self.answer(id, json!({"clientSeq": seq}));
            }
            "sync" => self.answer(id, json!({})),
            "tool" => {
                let client = match self.has(Fault::EntersAnother) {
                    true => "another",
                    false => self.client_id.as_str(),
                };
                let set = self.tools.offer(client, &channel, &command);
                self.dispatch(&channel, set);
                self.answer(id, json!({}));
            }
            "lists" => self.list(id),
            "type" => {
                let text = command["text"].as_str().unwrap_or_default().to_owned();
                self.type_text(now, &channel, &text);
                self.answer(id, json!({}));
            }
            "run" => {
                let automation = command["automation"].as_str().unwrap_or_default().to_owned();
                self.run_automation(id, &automation);
            }
            "mcp" => self.ask_server(id, &channel, &command),
            "choices" => self.show_choices(id, &channel, &command),
            "operate" => self.operate(id, &channel, &command),
            "consent" => {
                let tool = command["name"].as_str().unwrap_or_default();
                self.consents.set(&channel, tool, command["grants"] == true);
                self.answer(id, json!({}));
            }
            "logs" => {
                let level = command["level"].as_str().unwrap_or_default().to_owned();
                self.follow_logs(id, &level);
            }
            "records" => {
                let records: Value = self.logs.records().iter().cloned().collect();
                self.answer(id, json!({"records": records}));
            }
            other => {
                let message = format!("unknown command `{other}`");
                self.fail(id, &message);
            }
        }
    }

    fn begin_connecting(&mut self, id: u64, command: &Value) {
        if let Some(url) = command["url"].as_str() {
            url.clone_into(&mut self.url);
        }
        if let Some(client) = command["clientId"].as_str() {
            client.clone_into(&mut self.client_id);
        }
        let texts = |value: &Value| {
            let items = value.as_array()?.iter();
            Some(items.filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>())
        };
        let known = self.config.versions.iter().map(ToString::to_string).collect();
        self.offers = texts(&command["versions"]).unwrap_or(known);
        if let Some(initial) = texts(&command["subscriptions"]) {
            self.initial = initial;
        }
        if self.has(Fault::OffersReversed) {
            self.offers.reverse();
        }
        self.connecting = Some(id);
        self.attempts = 0;
        self.connect();
    }

    fn tell_state(&mut self, id: u64, channel: &str, shown: bool) {
        let Some(mirror) = self.states.channel(channel) else {
            self.fail(id, "the client has no state of this channel");
            return;
        };
        let mut state = if shown { mirror.optimistic() } else { mirror.confirmed().clone() };
        if shown && let Some(version) = self.states.version() {
            for action in self.frame_faults.on_top(channel) {
                model::apply(version, mirror.kind(), &mut state, action);
            }
        }
        let pending = mirror.pending();
        if shown && self.has(Fault::ShownStale) {
            match pending {
                0 => drop(self.stale.remove(channel)),
                _ => state = self.stale.entry(channel.to_owned()).or_insert(state).clone(),
            }
        }
        self.answer(id, json!({"state": state, "pending": pending}));
    }
}

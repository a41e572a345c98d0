//! The decisions of the client's user: the choices that the client shows for a tool call, the confirmation of an
//! operation on a changeset, and the consent to a call of a sensitive tool.
//!
//! There is no user. The commands of the driver contain the decisions.
//!
//! Knows: states of chats and changesets. Never knows: screens.
//!
//! Start at [`ReferenceClient::operate`].

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

/// The choices that the client shows for a tool call without `options`.
const PLAIN_CHOICES: [&str; 2] = ["approve", "deny"];

impl ReferenceClient {
    /// Answers with the choices that the client shows for a tool call that waits for its confirmation.
    pub(super) fn show_choices(&mut self, id: u64, chat: &str, command: &Value) {
        let state = self.states.channel(chat).map(|mirror| mirror.confirmed());
        let parts = state.and_then(|state| state["activeTurn"]["responseParts"].as_array());
        let mut calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
        let waiting = calls.find(|call| {
            call["toolCallId"] == command["toolCallId"] && call["status"] == "pending-confirmation"
        });
        let Some(call) = waiting else {
            return self.fail(id, "no such tool call waits for its confirmation");
        };
        let options = call["options"].as_array().filter(|_| !self.has(Fault::OptionsIgnored));
        let ids = options.map(|all| all.iter().filter_map(|option| option["id"].as_str()));
        let mut choices: Vec<&str> = match ids {
            Some(ids) => ids.collect(),
            None => PLAIN_CHOICES.to_vec(),
        };
        if self.has(Fault::OptionsSorted) {
            choices.sort_unstable();
        }
        let choices = json!(choices);
        self.answer(id, json!({"choices": choices}));
    }

    /// Starts an operation of a changeset, as the user would. If the operation has a confirmation text, the client
    /// shows it first, and the command contains the user's answer.
    pub(super) fn operate(&mut self, id: u64, changeset: &str, command: &Value) {
        let state = self.states.channel(changeset).map(|mirror| mirror.confirmed());
        let mut operations =
            state.and_then(|state| state["operations"].as_array()).into_iter().flatten();
        let Some(operation) = operations.find(|it| it["id"] == command["operation"]) else {
            return self.fail(id, "the changeset has no such operation");
        };
        let text = match &operation["confirmation"] {
            Value::Object(markdown) => markdown.get("markdown").and_then(Value::as_str),
            text => text.as_str(),
        };
        let own = operation["label"].as_str().filter(|_| self.config.confirms_each_operation);
        let asked = text.or(own).filter(|_| !self.has(Fault::OperationUnconfirmed));
        let asked = asked.map(str::to_owned);
        if asked.is_some() && command["confirms"] != true {
            return self.answer(id, json!({"asked": asked}));
        }
        let params = json!({"channel": changeset, "operationId": command["operation"]});
        let reason = RequestReason::Operation { command: id, asked };
        self.request(reason, "invokeChangesetOperation", params);
    }
}

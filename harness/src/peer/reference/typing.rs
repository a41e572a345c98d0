//! Typed text in the input of a chat: after a trigger character, the client requests completions with a debounce.
//!
//! Knows: `completions`. Never knows: the use of the completion items.
//!
//! Start at [`ReferenceClient::type_text`].

use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

/// The time without typing before completions are requested.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// The inputs of the chats.
#[derive(Debug, Default)]
pub(super) struct TypedInputs {
    /// The characters after which the host expects a request for completions.
    triggers: Vec<String>,
    texts: LiteMap<String, String>,
    /// The chats for which the client will request completions, each with the time at which the request is due.
    due: LiteMap<String, Duration>,
}

impl TypedInputs {
    /// Stores the trigger characters from the result of `initialize`.
    pub(super) fn greeted(&mut self, result: &Value) {
        let triggers = result["completionTriggerCharacters"].as_array().into_iter().flatten();
        self.triggers = triggers.filter_map(|it| it.as_str().map(str::to_owned)).collect();
    }

    /// Returns the time of the next request.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.due.values().min().copied()
    }

    /// Returns whether the word at the end of the text begins with a trigger character.
    fn completes(&self, text: &str) -> bool {
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        self.triggers.iter().any(|trigger| word.starts_with(trigger.as_str()))
    }
}

impl ReferenceClient {
    /// Types a text at the end of a chat's input, character by character and without a pause.
    pub(super) fn type_text(&mut self, now: Duration, chat: &str, text: &str) {
        for typed in text.chars() {
            let input = self.typing.texts.entry(chat.to_owned()).or_default();
            input.push(typed);
            let input = input.clone();
            if !self.typing.completes(&input) || self.has(Fault::CompletionsUnasked) {
                self.typing.due.remove(chat);
            } else if self.has(Fault::CompletionsAtOnce) {
                self.request_completions(chat);
            } else {
                self.typing.due.insert(chat.to_owned(), now + DEBOUNCE);
            }
        }
    }

    /// Sends the requests for completions whose time has come.
    pub(super) fn complete_inputs(&mut self, now: Duration) {
        let due = self.typing.due.iter().filter(|(_, at)| **at <= now);
        let due: Vec<String> = due.map(|(chat, _)| chat.clone()).collect();
        for chat in due {
            self.typing.due.remove(&chat);
            self.request_completions(&chat);
        }
    }

    fn request_completions(&mut self, chat: &str) {
        let text = self.typing.texts.get(chat).cloned().unwrap_or_default();
        let params = json!({
            "channel": chat,
            "kind": "userMessage",
            "text": text.as_str(),
            "offset": match self.has(Fault::OffsetInCharacters) {
                true => text.chars().count(),
                false => text.encode_utf16().count(),
            },
        });
        self.request(RequestReason::Own, "completions", params);
    }
}

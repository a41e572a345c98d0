//! Typed text in the input of a chat: after a trigger character, the client requests completions with a debounce.
//!
//! Knows: `completions`. Never knows: the use of the completion items.
//!
//! Start at [`ReferenceClient::type_text`].

use std::time::Duration;

use crate::wire::json::json;

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

/// The time without typing before completions are requested.
const DEBOUNCE: Duration = Duration::from_millis(100);

impl ReferenceClient {
    /// Types a text at the end of a chat's input, character by character and without a pause.
    pub(super) fn type_text(&mut self, now: Duration, chat: &str, text: &str) {
        for typed in text.chars() {
            let completes = self.typing.push(chat, typed);
            if !completes || self.has(Fault::CompletionsUnasked) {
                self.typing.cancel(chat);
            } else if self.has(Fault::CompletionsAtOnce) {
                self.request_completions(chat);
            } else {
                self.typing.plan(chat, now + DEBOUNCE);
            }
        }
    }

    /// Sends the requests for completions whose time has come.
    pub(super) fn complete_inputs(&mut self, now: Duration) {
        for chat in self.typing.take_due(now) {
            self.request_completions(&chat);
        }
    }

    fn request_completions(&mut self, chat: &str) {
        let text = self.typing.text(chat);
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

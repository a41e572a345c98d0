//! The texts in the inputs of chats, and the times at which completions are requested for them.
//!
//! Knows: trigger characters, times. Never knows: requests, the client.
//!
//! Start at [`TypedInputs`].

use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::Value;

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

    /// Adds a character to the end of a chat's text. Returns whether the word at the end of the text begins with a
    /// trigger character.
    pub(super) fn push(&mut self, chat: &str, typed: char) -> bool {
        let text = self.texts.entry(chat.to_owned()).or_default();
        text.push(typed);
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        self.triggers.iter().any(|trigger| word.starts_with(trigger.as_str()))
    }

    /// Returns the text of a chat.
    pub(super) fn text(&self, chat: &str) -> String {
        self.texts.get(chat).cloned().unwrap_or_default()
    }

    /// Plans a request for completions, in place of an earlier one.
    pub(super) fn plan(&mut self, chat: &str, at: Duration) {
        self.due.insert(chat.to_owned(), at);
    }

    /// Drops the planned request for completions.
    pub(super) fn cancel(&mut self, chat: &str) {
        self.due.remove(chat);
    }

    /// Removes and returns the chats whose requests are due.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<String> {
        let due = self.due.iter().filter(|(_, at)| **at <= now);
        let due: Vec<String> = due.map(|(chat, _)| chat.clone()).collect();
        for chat in &due {
            self.due.remove(chat);
        }
        due
    }
}

//! The context that an agent receives in addition to the message of a turn: attached chats, files and texts,
//! and the history that a chat inherits from its origin.
//!
//! The host collects the context when the turn starts; later changes do not affect the context.
//!
//! Interpretations where the specification is silent:
//! - A transcript holds the messages and the markdown of its turns, but no tool calls and no attachments.
//! - An attached file is included only if clients may read this file.
//! - The latest completed turn is the last turn that is not active, whatever its outcome.
//!
//! Knows: the states of chats, files. Never knows: how an agent reads the context.
//!
//! Start at [`RefHost::given`].

use data_encoding::BASE64;

use super::engine::RefHost;
use crate::agent::script;
use crate::wire::json::Value;

/// The maximum size in bytes of one text of the context.
const MAX_TEXT: usize = 1 << 20;

impl RefHost {
    /// Returns the context for the message of a turn: the chat's history and the attachments.
    pub(super) fn given(&self, uri: &str, message: &Value) -> Vec<String> {
        let known = self.chats.get(uri).map(|chat| chat.context.clone()).unwrap_or_default();
        let attachments = message["attachments"].as_array().into_iter().flatten();
        let attached = attachments.filter_map(|attachment| self.text_of(attachment)).map(cut);
        let mut given: Vec<String> = std::iter::once(known).chain(attached).collect();
        given.retain(|text| !text.is_empty());
        given
    }

    fn text_of(&self, attachment: &Value) -> Option<String> {
        let text = |name: &str| attachment[name].as_str();
        match text("type")? {
            "chat" => Some(self.transcript(text("resource")?, text("endTurn"))),
            "resource" => self.file_of(text("uri")?),
            "embeddedResource" => {
                let bytes = BASE64.decode(text("data")?.as_bytes()).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            "simple" => text("modelRepresentation").map(str::to_owned),
            _ => None,
        }
    }

    fn file_of(&self, uri: &str) -> Option<String> {
        let file = self.path_of(uri).and_then(|path| self.files.file(&path)).ok()?;
        Some(String::from_utf8_lossy(&file.bytes).into_owned())
    }

    /// Returns the transcript of a chat up to the turn `end`, or of all turns except the active turn.
    pub(super) fn transcript(&self, uri: &str, end: Option<&str>) -> String {
        let turns = self.state(uri)["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = end.and_then(|end| turns.iter().position(|turn| turn["id"] == end));
        let shown = &turns[..last.map_or(turns.len(), |at| at + 1)];
        shown.iter().map(|turn| self.told(turn)).collect()
    }

    /// Returns the transcript of a turn.
    pub(super) fn told(&self, turn: &Value) -> String {
        let mut lines = vec![turn["message"]["text"].as_str().unwrap_or_default().to_owned()];
        let parts = turn["responseParts"].as_array().into_iter().flatten();
        let texts = parts.filter(|part| part["kind"] == "markdown");
        lines.extend(texts.filter_map(|part| part["content"].as_str()).map(str::to_owned));
        lines.join("\n") + "\n"
    }

    /// Returns the agent's answer to a question: which of these words occur in the context of the active turn.
    pub(super) fn recall(&self, uri: &str, words: &[String]) -> String {
        let active = &self.state(uri)["activeTurn"]["message"];
        let mut given = self.runs.get(uri).map(|run| run.given.clone()).unwrap_or_default();
        given.push(self.transcript(uri, None));
        given.push(active["text"].as_str().unwrap_or_default().to_owned());
        script::recalled(words, &given.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Truncates a text to [`MAX_TEXT`] bytes, at a UTF-8 boundary.
fn cut(mut text: String) -> String {
    let mut end = MAX_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

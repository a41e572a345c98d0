//! The context that an agent receives in addition to the message of a turn: attached chats, files, annotations and
//! text, and the history that a chat inherits from its origin.
//!
//! The host collects the context when the turn starts; later changes do not affect the context.
//!
//! Interpretations where the specification is silent:
//! - A transcript holds the messages and the markdown of its turns, but no tool calls and no attachments.
//! - An attached file is included only if clients may read this file.
//! - The latest completed turn is the last turn that is not active, with any outcome.
//! - The agent of a chat knows its turns with the results of their tools and the answers to their questions, but
//!   not the attachments of earlier turns. It does not know turns that a truncation has removed.
//!
//! Knows: the states of chats, files. Never knows: agents.
//!
//! Start at [`RefHost::given`].

use data_encoding::BASE64;

use super::engine::RefHost;
use super::injected::MadeValue;
use crate::agent::script;
use crate::wire::json::{Value, json};

/// The maximum size in bytes of one string of the context.
const MAX_TEXT: usize = 1 << 20;

impl RefHost {
    /// Returns the context for the message of a turn: the chat's history and the attachments.
    pub(super) fn given(&self, uri: &str, message: &Value) -> Vec<String> {
        let known = self.chats.context(uri).to_owned();
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
            "annotations" => Some(self.annotations_of(text("resource")?, attachment)),
            _ => None,
        }
    }

    /// Returns the entries of the annotations that an attachment names. If the attachment has no ids, it names all
    /// annotations of the channel.
    fn annotations_of(&self, uri: &str, attachment: &Value) -> String {
        let ids = attachment["annotationIds"].as_array();
        let annotations = self.state(uri)["annotations"].as_array().into_iter().flatten();
        let named = annotations.filter(|it| ids.is_none_or(|ids| ids.contains(&it["id"])));
        let entries = named.filter_map(|it| it["entries"].as_array()).flatten();
        texts_of(&entries.map(|entry| entry["text"].clone()).collect()).join("\n")
    }

    fn file_of(&self, uri: &str) -> Option<String> {
        let file = self.files.file(&self.path_of(uri).ok()?).ok()?;
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
        let known = texts_of(&self.context_of(uri));
        script::recalled(words, &known.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the knowledge of the host's own agent in the active turn of a chat, by source.
    fn context_of(&self, uri: &str) -> Value {
        let state = self.state(uri);
        let turns = state["turns"].as_array().into_iter().flatten();
        let turns: Vec<&Value> = turns.chain(Some(&state["activeTurn"])).collect();
        let parts = || turns.iter().filter_map(|turn| turn["responseParts"].as_array()).flatten();
        let answers = parts().map(|part| &part["request"]).filter(|asked| asked.is_object());
        let answers = answers.map(|asked| json!({"id": asked["id"], "answers": asked["answers"]}));
        let session = self.chats.session_of(uri).unwrap_or_default();
        let clients = self.state(session)["activeClients"].as_array().into_iter().flatten();
        let known = json!({
            "context": (self.runs.given(uri)),
            "history": (turns.iter().map(|turn| self.told(turn)).collect::<Vec<_>>()),
            "results": (parts().map(|part| part["toolCall"]["content"].clone()).collect::<Value>()),
            "answers": (answers.collect::<Value>()),
            "steering": (self.runs.steered(uri)),
            "tools": (clients.map(|client| client["tools"].clone()).collect::<Value>()),
        });
        self.made(&MadeValue::ContextForAgent(uri), known)
    }

    /// Returns the context for a message to the agent subprocess. It includes the history of the chat if the agent has
    /// not received it yet.
    pub(super) fn context_for_subprocess(
        &self,
        uri: &str,
        given: Vec<String>,
        needs_history: bool,
    ) -> Vec<String> {
        // The history is quoted, so that the agent does not play the scripts of earlier messages.
        let quoted = |line: &str| format!("{}{line}\n", script::QUOTE);
        let history = if needs_history { self.transcript(uri, None) } else { String::new() };
        let history: String = history.lines().map(quoted).collect();
        let known = json!({"context": given, "history": history});
        let mut texts = texts_of(&self.made(&MadeValue::ContextForAgent(uri), known));
        texts.retain(|text| !text.is_empty());
        texts
    }
}

/// Returns all strings in a value.
fn texts_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.to_string()],
        Value::Array(items) => items.iter().flat_map(texts_of).collect(),
        Value::Object(members) => members.iter().flat_map(|(_, value)| texts_of(value)).collect(),
        _ => Vec::new(),
    }
}

/// Truncates a string to [`MAX_TEXT`] bytes, at a UTF-8 boundary.
fn cut(mut text: String) -> String {
    let mut end = MAX_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

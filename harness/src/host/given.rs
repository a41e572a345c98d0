//! What an agent is given beside the message that it is to answer: the chats, files and texts that are
//! attached to it, and what a chat takes over from the one that it came of.
//!
//! All of it is put together when the message is taken, and stays as it was then.
//!
//! Readings taken where the specification is silent:
//! - A transcript has the messages and the texts of its turns, and nothing of tools or of attachments.
//! - A file is given where every client may look, and left out elsewhere.
//! - The latest completed turn is the last one that is not active, however it ended.
//!
//! Knows: the states of chats, files. Never knows: how an agent reads it.
//!
//! Start at [`RefHost::given`].

use data_encoding::BASE64;

use super::engine::RefHost;
use crate::agent::script;
use crate::wire::json::Value;

/// The most bytes of one text that an agent is given.
const MAX_TEXT: usize = 1 << 20;

impl RefHost {
    /// The texts that come with the message of a turn of a chat.
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

    /// What was said in a chat, up to the end of a turn, or all of it but the active one.
    pub(super) fn transcript(&self, uri: &str, end: Option<&str>) -> String {
        let turns = self.state(uri)["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = end.and_then(|end| turns.iter().position(|turn| turn["id"] == end));
        let shown = &turns[..last.map_or(turns.len(), |at| at + 1)];
        shown.iter().map(|turn| self.told(turn)).collect()
    }

    /// What was said in a turn.
    pub(super) fn told(&self, turn: &Value) -> String {
        let mut lines = vec![turn["message"]["text"].as_str().unwrap_or_default().to_owned()];
        let parts = turn["responseParts"].as_array().into_iter().flatten();
        let texts = parts.filter(|part| part["kind"] == "markdown");
        lines.extend(texts.filter_map(|part| part["content"].as_str()).map(str::to_owned));
        lines.join("\n") + "\n"
    }

    /// Answers which of the words the agent of a chat was given, for the turn that it works on.
    pub(super) fn recall(&self, uri: &str, words: &[String]) -> String {
        let active = &self.state(uri)["activeTurn"]["message"];
        let mut given = self.runs.get(uri).map(|run| run.given.clone()).unwrap_or_default();
        given.push(self.transcript(uri, None));
        given.push(active["text"].as_str().unwrap_or_default().to_owned());
        script::recalled(words, &given.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// A text of the size that an agent takes.
fn cut(mut text: String) -> String {
    let mut end = MAX_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

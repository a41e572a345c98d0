//! Joins the chunks of a session's messages to strings. The boundaries between chunks have no meaning.
//!
//! Knows: chunks of messages. Never knows: sockets, the expectations of scenarios.
//!
//! Start at [`ConversationTexts::take`]. Source: agentclientprotocol.com, schema v1 › ContentChunk.

use litemap::LiteMap;

use crate::wire::json::{Value, json};
use crate::wire::message::Message;

/// The maximum number of sessions whose joined messages are kept.
const MAX_SESSIONS: usize = 100;
/// The maximum size of each string, in bytes. A chunk that would exceed this size is dropped.
const MAX_TEXT: usize = 64 << 10;

/// The joined messages of each session on one connection.
#[derive(Debug, Default)]
pub struct ConversationTexts {
    sessions: LiteMap<String, SessionTexts>,
}

#[derive(Debug, Default)]
struct SessionTexts {
    user: String,
    agent: String,
}

impl ConversationTexts {
    /// Handles a message of the agent. If it contains a chunk of a session's message, the text of the chunk is
    /// appended.
    pub fn take(&mut self, message: &Message) {
        if message.method() != Some("session/update") {
            return;
        }
        let params = message.params();
        let Some(session) = params["sessionId"].as_str() else { return };
        let Some(text) = params.pointer("/update/content/text").and_then(Value::as_str) else {
            return;
        };
        if !self.sessions.contains_key(session) {
            if self.sessions.len() == MAX_SESSIONS {
                return;
            }
            self.sessions.insert(session.to_owned(), SessionTexts::default());
        }
        let Some(texts) = self.sessions.get_mut(session) else { return };
        let whole = match params["update"]["sessionUpdate"].as_str() {
            Some("user_message_chunk") => &mut texts.user,
            Some("agent_message_chunk") => &mut texts.agent,
            _ => return,
        };
        if whole.len() + text.len() <= MAX_TEXT {
            *whole += text;
        }
    }

    /// Returns the strings of the user and of the agent in a session, as members `user` and `agent`.
    pub fn of(&self, session: &Value) -> Value {
        let texts = session.as_str().and_then(|session| self.sessions.get(session));
        let (user, agent) =
            texts.map_or(("", ""), |texts| (texts.user.as_str(), texts.agent.as_str()));
        json!({"user": user, "agent": agent})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_session_are_joined() {
        let mut texts = ConversationTexts::default();
        for (session, kind, text) in [
            ("s", "user_message_chunk", "a"),
            ("s", "agent_message_chunk", "b"),
            ("t", "agent_message_chunk", "x"),
            ("s", "agent_thought_chunk", "y"),
            ("s", "agent_message_chunk", "c"),
        ] {
            let content = json!({"type": "text", "text": text});
            let update = json!({"sessionUpdate": kind, "content": content});
            let params = json!({"sessionId": session, "update": update});
            texts.take(&Message::notification("session/update", params));
        }
        assert_eq!(texts.of(&json!("s")), json!({"user": "a", "agent": "bc"}));
        assert_eq!(texts.of(&json!("u")), json!({"user": "", "agent": ""}));
    }
}

//! A session of a load: the state of the session as far as its clients know it.
//!
//! Knows: URIs, the stages of a session, its turn, and the tool calls that wait for a decision. Never knows: clients,
//! connections.
//!
//! Start at [`LoadSession`].

use std::time::Duration;

use crate::wire::json::Value;

/// The maximum number of remembered tool calls that wait for a decision.
const MAX_CALLS: usize = 16;

/// The stage of a session.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SessionStage {
    /// No client has requested the creation of the session.
    #[default]
    Absent,
    /// A client has requested the creation of the session.
    Creating,
    /// Clients can subscribe to the session.
    Ready,
    /// A client has requested the disposal of the session.
    Ending,
}

/// A tool call that waits for a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PendingCall {
    /// The identifier of the turn.
    pub turn: String,
    /// The identifier of the tool call.
    pub call: String,
}

/// A session that some clients of the load share. When the session is disposed of, a new session replaces it.
#[derive(Clone, Debug, Default)]
pub struct LoadSession {
    /// The URI of the session.
    pub uri: String,
    /// The URI of the default chat; `None` until a snapshot shows it.
    pub chat: Option<String>,
    /// The stage of the session.
    pub stage: SessionStage,
    /// The clients that wait until they can subscribe.
    pub waiting: Vec<usize>,
    /// The clients that share the session.
    pub members: Vec<usize>,
    /// The id of the session's active turn, if a turn is active.
    pub turn: Option<String>,
    /// The tool calls that wait for a decision.
    pub calls: Vec<PendingCall>,
    /// The number of failed attempts to create the session or to subscribe to it.
    pub failures: u32,
    /// The time at which the session was created.
    pub created: Duration,
    /// The total length of the long messages that clients have written since another client stopped reading, in bytes.
    pub filled: usize,
    /// The highest `serverSeq` of the actions that [`LoadSession::read`] has read.
    seen: u64,
}

impl LoadSession {
    /// Replaces the session by another session with this URI.
    pub fn renew(&mut self, uri: String) {
        let members = std::mem::take(&mut self.members);
        let failures = self.failures;
        *self = LoadSession { uri, members, failures, ..LoadSession::default() };
    }

    /// Forgets the turn and the calls that a crash of the host has ended.
    pub fn crashed(&mut self) {
        self.turn = None;
        self.calls.clear();
        self.waiting.clear();
        self.seen = 0;
    }

    /// Reads an action of the session or its chat, with the names of the newest version. Every client of the session
    /// receives the action, but only its first arrival has an effect. Returns the tool call that waits for a decision
    /// because of this action.
    pub fn read(&mut self, seq: u64, action: &Value) -> Option<PendingCall> {
        if seq <= self.seen {
            return None;
        }
        self.seen = seq;
        let text = |member: &str| action[member].as_str().map(str::to_owned);
        match action["type"].as_str()? {
            "chat/turnStarted" => self.turn = text("turnId"),
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" => {
                self.turn = None;
                self.calls.clear();
            }
            "chat/toolCallReady" if action.get("confirmed").is_none_or(Value::is_null) => {
                let call = PendingCall { turn: text("turnId")?, call: text("toolCallId")? };
                if self.calls.len() < MAX_CALLS && !self.calls.contains(&call) {
                    self.calls.push(call.clone());
                    return Some(call);
                }
            }
            "chat/toolCallConfirmed" => {
                let decided = text("toolCallId")?;
                self.calls.retain(|it| it.call != decided);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn reads_each_action_once() {
        let mut session = LoadSession::default();
        let begun = json!({"type": "chat/turnStarted", "turnId": "t"});
        assert_eq!(session.read(1, &begun), None);
        assert_eq!(session.turn.as_deref(), Some("t"));
        let ready = json!({"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "c"});
        assert!(session.read(2, &ready).is_some());
        assert_eq!(session.read(2, &ready), None, "another client received the same action");
        let free = json!({"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "d", "confirmed": "not-needed"});
        assert_eq!(session.read(3, &free), None);
        session.read(4, &json!({"type": "chat/turnComplete", "turnId": "t"}));
        assert_eq!((session.turn, session.calls.len()), (None, 0));
    }
}

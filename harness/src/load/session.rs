//! A session of a load: the state of the session as far as its clients know it.
//!
//! Knows: URIs, the stages of a session, its turn, and the tool calls that wait for a decision. Never knows: clients,
//! connections.
//!
//! Start at [`LoadSession`].

use std::time::Duration;

use crate::wire::json::Value;

use super::plan::FILLING;

/// The number of refused subscriptions in a row after which a session counts as lost.
const LOST_AFTER: u32 = 3;
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
    uri: String,
    /// The URI of the default chat; `None` until a snapshot shows it.
    chat: Option<String>,
    stage: SessionStage,
    /// The clients that wait until they can subscribe.
    waiting: Vec<usize>,
    /// The clients that share the session.
    members: Vec<usize>,
    /// The id of the active turn, if a turn is active.
    turn: Option<String>,
    /// The tool calls that wait for a decision.
    calls: Vec<PendingCall>,
    /// The number of refused subscriptions since the last success.
    refusals: u32,
    /// The time at which the session was created.
    created: Duration,
    /// The total length of the messages that clients have written since another client stopped reading, in bytes.
    filled: usize,
    /// The highest `serverSeq` of the actions that [`LoadSession::read`] has read.
    seen: u64,
}

impl LoadSession {
    /// Creates a session that does not exist on the host yet.
    pub fn new(uri: String) -> LoadSession {
        LoadSession { uri, ..LoadSession::default() }
    }

    /// Adds a client that shares the session.
    pub fn add_member(&mut self, client: usize) {
        self.members.push(client);
    }

    /// Returns the URI of the session.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the URI of the default chat; `None` if it is not known.
    pub fn chat(&self) -> Option<&str> {
        self.chat.as_deref()
    }

    /// Returns the stage of the session.
    pub fn stage(&self) -> SessionStage {
        self.stage
    }

    /// Returns the clients that share the session.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// Returns the id of the active turn; `None` if no turn is active.
    pub fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// Returns the time at which the session was created.
    pub fn created(&self) -> Duration {
        self.created
    }

    /// Returns whether the messages that clients have written fill the buffers of a client that does not read.
    pub fn is_filled(&self) -> bool {
        self.filled >= FILLING
    }

    /// Replaces the session by another session with this URI.
    pub fn renew(&mut self, uri: String) {
        let members = std::mem::take(&mut self.members);
        let refusals = self.refusals;
        *self = LoadSession { uri, members, refusals, ..LoadSession::default() };
    }

    /// Records that a client requests the creation of the session.
    pub fn begin_creation(&mut self, client: usize) {
        self.stage = SessionStage::Creating;
        self.waiting.push(client);
    }

    /// Lets a client wait until it can subscribe.
    pub fn wait(&mut self, client: usize) {
        if !self.waiting.contains(&client) {
            self.waiting.push(client);
        }
    }

    /// Records that a client no longer waits.
    pub fn stop_waiting(&mut self, client: usize) {
        self.waiting.retain(|it| *it != client);
    }

    /// Records that the host has created the session. Returns the clients that waited for it.
    pub fn is_created(&mut self, now: Duration) -> Vec<usize> {
        self.stage = SessionStage::Ready;
        self.created = now;
        self.refusals = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Records that the host has refused to create the session. Returns the clients that waited for it.
    pub fn is_not_created(&mut self) -> Vec<usize> {
        self.stage = SessionStage::Absent;
        self.refusals += 1;
        std::mem::take(&mut self.waiting)
    }

    /// Records a subscription, whose snapshot shows the default chat.
    pub fn subscribed(&mut self, chat: Option<String>) {
        self.refusals = 0;
        self.chat = chat;
    }

    /// Records a refused subscription. Returns whether so many were refused in a row that the session counts as lost.
    pub fn refused(&mut self) -> bool {
        self.refusals += 1;
        let is_lost = self.refusals >= LOST_AFTER;
        if is_lost {
            self.refusals = 0;
        }
        is_lost
    }

    /// Records that a client has started a turn.
    pub fn started(&mut self, turn: String) {
        self.turn = Some(turn);
    }

    /// Records that a client stops reading, and that no message was written since then.
    pub fn begin_filling(&mut self) {
        self.filled = 0;
    }

    /// Records a message that a client has written while another client does not read.
    pub fn wrote(&mut self, length: usize) {
        self.filled += length;
    }

    /// Records that a client requests the disposal of the session. Returns the URI of the chat.
    pub fn begin_disposal(&mut self) -> Option<String> {
        self.stage = SessionStage::Ending;
        self.chat.take()
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

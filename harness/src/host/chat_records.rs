//! The host's records of chats: what the host knows about a chat in addition to the chat's state.
//!
//! Owns: the session of each chat, the windows of its snapshots, the progress of its turns, its use of storage.
//! Knows: nothing else. Never knows: states, connections, agents.
//!
//! Start at [`ChatRecords`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use litemap::LiteMap;

use super::agent::HostAgentOp;
use crate::wire::json::Value;

/// The record of one chat.
#[derive(Debug, Default)]
struct ChatRecord {
    /// The session to which the chat belongs.
    session: String,
    /// The ids of the first turns in shortened snapshots.
    windows: HashSet<String>,
    /// The time at which the active turn started.
    began: Duration,
    /// The remaining operations of a failed turn that can be resumed.
    rest: VecDeque<HostAgentOp>,
    /// Removed messages, which an injected fault delivers later.
    ghosts: Vec<Value>,
    /// The number of bytes that clients have stored permanently in the chat.
    stored: usize,
    /// The transcript of the origin chat that the agent receives.
    context: String,
}

/// The records of all chats, by URI. A method does nothing, or returns an empty value, for a chat without a
/// record.
#[derive(Debug, Default)]
pub(super) struct ChatRecords {
    all: LiteMap<String, ChatRecord>,
}

impl ChatRecords {
    pub(super) fn has(&self, uri: &str) -> bool {
        self.all.contains_key(uri)
    }

    /// Returns the URIs of all chats.
    pub(super) fn uris(&self) -> impl Iterator<Item = &String> {
        self.all.keys()
    }

    /// Returns the URIs of the chats of a session.
    pub(super) fn of_session(&self, session: &str) -> impl Iterator<Item = &String> {
        self.all.iter().filter(move |(_, chat)| chat.session == session).map(|(uri, _)| uri)
    }

    /// Returns the session to which a chat belongs.
    pub(super) fn session_of(&self, uri: &str) -> Option<&str> {
        self.all.get(uri).map(|chat| chat.session.as_str())
    }

    pub(super) fn add(&mut self, uri: &str, session: &str) {
        let chat = ChatRecord { session: session.to_owned(), ..ChatRecord::default() };
        self.all.insert(uri.to_owned(), chat);
    }

    /// Removes a chat and returns the session to which it belonged.
    pub(super) fn remove(&mut self, uri: &str) -> Option<String> {
        self.all.remove(uri).map(|chat| chat.session)
    }

    /// Removes all chats and returns their URIs.
    pub(super) fn remove_all(&mut self) -> Vec<String> {
        std::mem::take(&mut self.all).into_iter().map(|(uri, _)| uri).collect()
    }

    pub(super) fn move_to(&mut self, uri: &str, session: &str) {
        self.change(uri, |chat| session.clone_into(&mut chat.session));
    }

    /// Records that a snapshot of a chat begins with this turn, and that earlier turns were omitted.
    pub(super) fn add_window(&mut self, uri: &str, first_turn: String) {
        self.change(uri, |chat| {
            chat.windows.insert(first_turn);
        });
    }

    pub(super) fn has_window(&self, uri: &str, first_turn: &str) -> bool {
        self.all.get(uri).is_some_and(|chat| chat.windows.contains(first_turn))
    }

    /// Returns the first turns of the shortened snapshots, and forgets them.
    pub(super) fn take_windows(&mut self, uri: &str) -> HashSet<String> {
        self.take(uri, |chat| &mut chat.windows)
    }

    pub(super) fn turn_began(&mut self, uri: &str, now: Duration) {
        self.change(uri, |chat| chat.began = now);
    }

    /// Returns the time at which the active turn of a chat started.
    pub(super) fn turn_start(&self, uri: &str) -> Option<Duration> {
        self.all.get(uri).map(|chat| chat.began)
    }

    /// Stores the operations of a failed turn for its resumption.
    pub(super) fn keep_rest(&mut self, uri: &str, rest: VecDeque<HostAgentOp>) {
        self.change(uri, |chat| chat.rest = rest);
    }

    pub(super) fn take_rest(&mut self, uri: &str) -> VecDeque<HostAgentOp> {
        self.take(uri, |chat| &mut chat.rest)
    }

    /// Stores a removed message, which an injected fault delivers later.
    pub(super) fn keep_ghost(&mut self, uri: &str, message: Value) {
        self.change(uri, |chat| chat.ghosts.push(message));
    }

    pub(super) fn take_ghost(&mut self, uri: &str) -> Option<Value> {
        self.all.get_mut(uri)?.ghosts.pop()
    }

    /// Adds to the number of bytes that clients have stored in a chat.
    pub(super) fn store(&mut self, uri: &str, bytes: usize) {
        self.change(uri, |chat| chat.stored += bytes);
    }

    pub(super) fn stored(&self, uri: &str) -> usize {
        self.all.get(uri).map_or(0, |chat| chat.stored)
    }

    pub(super) fn set_context(&mut self, uri: &str, context: String) {
        self.change(uri, |chat| chat.context = context);
    }

    /// Returns the transcript of the origin chat that the agent of a chat receives.
    pub(super) fn context(&self, uri: &str) -> &str {
        self.all.get(uri).map_or("", |chat| &chat.context)
    }

    fn change(&mut self, uri: &str, change: impl FnOnce(&mut ChatRecord)) {
        if let Some(chat) = self.all.get_mut(uri) {
            change(chat);
        }
    }

    fn take<T: Default>(&mut self, uri: &str, of: fn(&mut ChatRecord) -> &mut T) -> T {
        self.all.get_mut(uri).map(|chat| std::mem::take(of(chat))).unwrap_or_default()
    }
}

//! Tracks which chats belong to which session, and which sessions have changed.
//!
//! Some rules compare the state of a session with the states of its chats. The actions of a session and of its chats
//! arrive on different channels, without a guaranteed order. Such rules therefore wait until the host is at rest, and
//! then judge only the sessions that have changed since.
//!
//! Knows: catalogues of chats, folds. Never knows: the comparisons.
//!
//! Start at [`SessionFamilies`].

use std::collections::{HashMap, HashSet};

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use super::budget::short;
use super::channel::{ChannelFold, ChannelId};
use super::context::OracleContext;
use super::members::{given, list, text};

/// Upper bound for the changed sessions that are remembered. Further sessions are not compared.
const MAX_TOUCHED: usize = 4_096;
/// Upper bound for the chats whose session is remembered.
const MAX_CHATS: usize = 65_536;

/// Frequent actions on chats that do not affect any rule about a session.
pub(super) const QUIET: &[&str] =
    &["chat/delta", "chat/reasoning", "chat/toolCallDelta", "chat/usage"];

/// The session of each chat, and the sessions that changed since the host was last at rest.
#[derive(Default)]
pub(super) struct SessionFamilies {
    sessions: HashMap<String, ChannelId>,
    touched: HashSet<ChannelId>,
}

impl SessionFamilies {
    /// Returns the session that last listed the chat.
    pub(super) fn session_of(&self, chat: &str) -> Option<ChannelId> {
        self.sessions.get(&*short(chat)).copied()
    }

    /// Removes and returns the changed sessions, in ascending order.
    pub(super) fn take_touched(&mut self) -> Vec<ChannelId> {
        let mut touched: Vec<ChannelId> = self.touched.drain().collect();
        touched.sort_unstable();
        touched
    }

    /// Records the chats of a snapshot, and marks its session as changed.
    pub(super) fn snapshot(&mut self, id: ChannelId, uri: &str, kind: ChannelKind, state: &Value) {
        match kind {
            ChannelKind::Session => {
                for chat in list(state, "chats").iter().filter_map(|it| text(it, "resource")) {
                    self.belongs(chat, id);
                }
                self.touch(id);
            }
            ChannelKind::Chat => self.touch_session_of(uri),
            _ => {}
        }
    }

    /// Records a chat that a folded action adds, and marks the session of the action as changed.
    pub(super) fn folded(&mut self, id: ChannelId, uri: &str, action: &Value, action_type: &str) {
        match ChannelKind::of_action(action_type) {
            Some(ChannelKind::Session) => {
                let added = given(action, "summary").filter(|_| action_type == "session/chatAdded");
                if let Some(chat) = added.and_then(|summary| text(summary, "resource")) {
                    self.belongs(chat, id);
                }
                self.touch(id);
            }
            Some(ChannelKind::Chat) if !QUIET.contains(&action_type) => self.touch_session_of(uri),
            _ => {}
        }
    }

    fn belongs(&mut self, chat: &str, session: ChannelId) {
        let chat = short(chat);
        if let Some(known) = self.sessions.get_mut(&*chat) {
            let before = std::mem::replace(known, session);
            if before != session {
                self.touch(before);
            }
        } else if self.sessions.len() < MAX_CHATS {
            self.sessions.insert(chat.into_owned(), session);
        }
    }

    fn touch_session_of(&mut self, chat: &str) {
        if let Some(session) = self.session_of(chat) {
            self.touch(session);
        }
    }

    fn touch(&mut self, session: ChannelId) {
        if self.touched.len() < MAX_TOUCHED {
            self.touched.insert(session);
        }
    }
}

/// A session whose state at least one connection follows.
pub(super) struct SessionFamily<'a> {
    pub id: ChannelId,
    pub uri: &'a str,
    pub fold: &'a ChannelFold,
}

impl<'a> SessionFamily<'a> {
    /// Returns the session; `None` if no connection follows it.
    pub(super) fn of(cx: &'a OracleContext, session: ChannelId) -> Option<SessionFamily<'a>> {
        let fold = cx.followed(session).filter(|fold| fold.kind == ChannelKind::Session)?;
        Some(SessionFamily { id: session, uri: cx.uri(session), fold })
    }

    /// Returns the entries of the session's catalogue of chats.
    pub(super) fn entries(&self) -> &'a [Value] {
        list(&self.fold.state, "chats")
    }

    /// Returns the followed chats of the session, with their URIs.
    pub(super) fn chats(
        &self,
        cx: &'a OracleContext,
    ) -> impl Iterator<Item = (&'a str, &'a ChannelFold)> {
        let uris = self.entries().iter().filter_map(|entry| text(entry, "resource"));
        uris.filter_map(|uri| Some((uri, followed_chat(cx, uri)?)))
    }

    /// Returns the followed states that have turns: the chats of the catalogue or, before chats existed, the
    /// session itself.
    pub(super) fn with_turns(
        &self,
        cx: &'a OracleContext,
    ) -> impl Iterator<Item = (&'a str, &'a ChannelFold)> {
        let own = self.fold.state.get("turns").map(|_| (self.uri, self.fold));
        self.chats(cx).chain(own)
    }

    /// Returns the lines of the session's snapshot and of its last action.
    pub(super) fn lines(&self) -> [u64; 2] {
        [self.fold.base_line, self.fold.last_line]
    }
}

/// Returns the folded state of a chat; `None` if no connection follows it.
pub(super) fn followed_chat<'a>(cx: &'a OracleContext, uri: &str) -> Option<&'a ChannelFold> {
    let fold = cx.followed(cx.channels.find(uri)?)?;
    (fold.kind == ChannelKind::Chat).then_some(fold)
}

//! Which chats belong to which session, and which sessions something happened in.
//!
//! Some rules compare a session with its chats. Their actions come on channels of their own, in no
//! certain order for a reader, so that such rules wait for the host to be at rest; then only
//! sessions are looked at that were touched since.
//!
//! Knows: catalogues of chats, folds. Never knows: what is compared.
//!
//! Start at [`SessionFamilies`].

use std::collections::{HashMap, HashSet};

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use super::channel::{ChannelFold, ChannelId};
use super::context::OracleContext;
use super::members::{given, list, text};

/// Sessions that may wait to be looked at; those beyond are not.
const MAX_TOUCHED: usize = 4_096;
/// Chats whose session is remembered.
const MAX_CHATS: usize = 65_536;

/// Actions on chats that no rule about a session depends on. They are many.
pub(super) const QUIET: &[&str] =
    &["chat/delta", "chat/reasoning", "chat/toolCallDelta", "chat/usage"];

/// The sessions of chats, and what was touched since the host was last at rest.
#[derive(Default)]
pub(super) struct SessionFamilies {
    sessions: HashMap<String, ChannelId>,
    touched: HashSet<ChannelId>,
}

impl SessionFamilies {
    /// The session that a chat was last seen in.
    pub(super) fn session_of(&self, chat: &str) -> Option<ChannelId> {
        self.sessions.get(chat).copied()
    }

    /// The touched sessions, once.
    pub(super) fn take_touched(&mut self) -> Vec<ChannelId> {
        let mut touched: Vec<ChannelId> = self.touched.drain().collect();
        touched.sort_unstable();
        touched
    }

    /// Learns from the snapshot of a channel of that kind.
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

    /// Learns from an action that was folded into the state of a channel.
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
        if let Some(known) = self.sessions.get_mut(chat) {
            let before = std::mem::replace(known, session);
            if before != session {
                self.touch(before);
            }
        } else if self.sessions.len() < MAX_CHATS {
            self.sessions.insert(chat.to_owned(), session);
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

/// A session that is followed.
pub(super) struct SessionFamily<'a> {
    pub id: ChannelId,
    pub uri: &'a str,
    pub fold: &'a ChannelFold,
}

impl<'a> SessionFamily<'a> {
    /// The session, if somebody listens to it.
    pub(super) fn of(cx: &'a OracleContext, session: ChannelId) -> Option<SessionFamily<'a>> {
        let fold = cx.followed(session).filter(|fold| fold.kind == ChannelKind::Session)?;
        Some(SessionFamily { id: session, uri: cx.uri(session), fold })
    }

    /// The entries of its catalogue.
    pub(super) fn entries(&self) -> &'a [Value] {
        list(&self.fold.state, "chats")
    }

    /// Those of its chats that somebody listens to, with their URIs.
    pub(super) fn chats(
        &self,
        cx: &'a OracleContext,
    ) -> impl Iterator<Item = (&'a str, &'a ChannelFold)> {
        let uris = self.entries().iter().filter_map(|entry| text(entry, "resource"));
        uris.filter_map(|uri| Some((uri, followed_chat(cx, uri)?)))
    }

    /// The states that have turns: of the chats of its catalogue that somebody listens to and, before there were
    /// chats, its own.
    pub(super) fn with_turns(
        &self,
        cx: &'a OracleContext,
    ) -> impl Iterator<Item = (&'a str, &'a ChannelFold)> {
        let own = self.fold.state.get("turns").map(|_| (self.uri, self.fold));
        self.chats(cx).chain(own)
    }

    /// The lines that its state was read from.
    pub(super) fn lines(&self) -> [u64; 2] {
        [self.fold.base_line, self.fold.last_line]
    }
}

/// The fold of a chat, if somebody listens to it.
pub(super) fn followed_chat<'a>(cx: &'a OracleContext, uri: &str) -> Option<&'a ChannelFold> {
    let fold = cx.followed(cx.channels.find(uri)?)?;
    (fold.kind == ChannelKind::Chat).then_some(fold)
}

//! Read access to the reference host without the wire. A generator of conversations uses this access to learn
//! which channels exist and which actions the host would accept.
//!
//! Knows: states, rules of the protocol. Never knows: recipients.

use std::borrow::Cow;

use super::dispatched::ActionOrigin;
use super::engine::RefHost;
use super::version_views::VersionView;
use crate::model::{ActionOutcome, NoOp, apply};
use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

impl RefHost {
    /// Returns the URIs of all channels that clients of a version see.
    pub fn uris_at(&self, version: Version) -> impl Iterator<Item = &str> {
        let view = self.view_at(version);
        let own = self.channels.uris().filter(move |_| view.is_none());
        let shown = view.into_iter().flat_map(|view| view.channels().map(|(uri, _)| uri));
        own.chain(shown).map(String::as_str)
    }

    /// Returns the channels that clients of a version see, with their kinds in the newest version. In versions whose
    /// chats have no channel, a session's channel is listed as a chat as well.
    pub fn kinds_at(&self, version: Version) -> Vec<(&str, ChannelKind)> {
        let Some(view) = self.view_at(version) else {
            return self.channels.kinds().collect();
        };
        let mut all = Vec::new();
        for (uri, shown) in view.channels() {
            if shown.kind() == ChannelKind::Session && !view.edge().has_chats() {
                all.push((uri.as_str(), ChannelKind::Chat));
            }
            all.push((uri.as_str(), shown.kind()));
        }
        all
    }

    /// Returns the state of a channel as clients of a version see it, translated to the newest version; `None`
    /// if these clients do not see the channel.
    pub fn state_at(&self, version: Version, uri: &str) -> Option<Cow<'_, Value>> {
        match self.view_at(version) {
            Some(view) => view
                .channel(uri)
                .map(|shown| Cow::Owned(view.edge().lift_state(shown.kind(), shown.state()))),
            None => self.channels.has(uri).then(|| Cow::Borrowed(self.channels.state(uri))),
        }
    }

    fn view_at(&self, version: Version) -> Option<&VersionView> {
        let view = Protocol::of(version).and_then(|protocol| self.view_for(protocol))?;
        self.views.get(view)
    }

    /// Returns the `serverSeq` of the last action.
    pub fn number(&self) -> u64 {
        self.log.seq()
    }

    /// Returns whether the host would accept an action of a client on a channel.
    pub fn would_take(&self, conn: ConnId, client: &str, uri: &str, action: &Value) -> bool {
        let origin =
            ActionOrigin { conn, client: client.to_owned(), client_seq: json!(0), sent: None };
        let Some(kind) = self.channels.kind(uri) else { return false };
        let state = self.channels.state(uri);
        // In versions without chat channels, chat actions on a session's channel apply to its default chat.
        if kind == ChannelKind::Session
            && action["type"].as_str().is_some_and(|it| it.starts_with("chat/"))
            && let Some(chat) = state["defaultChat"].as_str()
        {
            return self.would_take(conn, client, chat, action);
        }
        if self.judge(uri, action, &origin).is_err() {
            return false;
        }
        let mut state = state.clone();
        let outcome = apply(self.protocol.version(), kind, &mut state, action);
        let taken = [NoOp::Unchanged, NoOp::RequestOnly].map(ActionOutcome::NoOp);
        outcome == ActionOutcome::Applied || taken.contains(&outcome)
    }

    /// Returns the requirement that the last rejected action breaks; empty if no such requirement is known.
    pub fn refused_by(&self) -> &str {
        &self.refused_by
    }
}

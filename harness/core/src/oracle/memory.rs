//! What a check remembers of each channel of a kind, chats mostly, with a bound.
//!
//! What happened while nobody told of it is not known, so that what was before it says nothing any more: where a
//! fold begins anew, so does what is remembered beside it.
//!
//! Knows: numbers of channels, folds. Never knows: what is remembered.

use litemap::LiteMap;

use super::channel::{ChannelFold, ChannelId};

/// Chats that a check remembers something of; of further ones it says nothing.
pub(super) const MAX_CHATS: usize = 4_096;

/// Something of each chat.
pub(super) struct ChatMemory<T> {
    /// With the line that each fold began anew with.
    chats: LiteMap<ChannelId, (u64, T)>,
}

impl<T> Default for ChatMemory<T> {
    fn default() -> ChatMemory<T> {
        ChatMemory { chats: LiteMap::new() }
    }
}

impl<T: Default> ChatMemory<T> {
    /// What is remembered of a chat, from now on at least; `None` where there are too many.
    pub(super) fn of(&mut self, chat: ChannelId, fold: &ChannelFold) -> Option<&mut T> {
        let room = self.chats.len() < MAX_CHATS || self.chats.contains_key(&chat);
        let (since, known) = room.then(|| self.chats.entry(chat).or_default())?;
        if *since != fold.since_line {
            (*since, *known) = (fold.since_line, T::default());
        }
        Some(known)
    }

    /// What is remembered of a chat, where something is.
    pub(super) fn known(&mut self, chat: ChannelId) -> Option<&mut T> {
        self.chats.get_mut(&chat).map(|(_, known)| known)
    }

    /// Forgets a chat.
    pub(super) fn forget(&mut self, chat: ChannelId) {
        self.chats.remove(&chat);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.chats.clear();
    }
}

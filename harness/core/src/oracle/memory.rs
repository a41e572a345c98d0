//! What a check remembers of each channel of a kind, chats mostly, with a bound.
//!
//! Knows: numbers of channels. Never knows: what is remembered.

use litemap::LiteMap;

use super::channel::ChannelId;

/// Chats that a check remembers something of; of further ones it says nothing.
pub(super) const MAX_CHATS: usize = 4_096;

/// Something of each chat.
pub(super) struct Memory<T> {
    chats: LiteMap<ChannelId, T>,
}

impl<T> Default for Memory<T> {
    fn default() -> Memory<T> {
        Memory { chats: LiteMap::new() }
    }
}

impl<T: Default> Memory<T> {
    /// What is remembered of a chat, from now on at least; `None` where there are too many.
    pub(super) fn of(&mut self, chat: ChannelId) -> Option<&mut T> {
        let room = self.chats.len() < MAX_CHATS || self.chats.contains_key(&chat);
        room.then(|| self.chats.entry(chat).or_default())
    }

    /// What is remembered of a chat, where something is.
    pub(super) fn known(&mut self, chat: ChannelId) -> Option<&mut T> {
        self.chats.get_mut(&chat)
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

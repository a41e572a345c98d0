//! A bounded memory, with a value for each channel of one kind, usually for each chat.
//!
//! If actions of a channel are missing, earlier knowledge about the channel is not valid any more. The memory of a
//! channel is therefore cleared when the fold of the channel begins anew.
//!
//! Knows: ids of channels, folds. Never knows: the meaning of the stored values.

use litemap::LiteMap;

use super::channel::{ChannelFold, ChannelId};

/// Upper bound for the chats that a check remembers. Further chats are not judged.
pub(super) const MAX_CHATS: usize = 4_096;

/// The values that a check remembers, one for each chat.
pub(super) struct ChatMemory<T> {
    /// The values, each with the line at which the chat's fold began.
    chats: LiteMap<ChannelId, (u64, T)>,
}

impl<T> Default for ChatMemory<T> {
    fn default() -> ChatMemory<T> {
        ChatMemory { chats: LiteMap::new() }
    }
}

impl<T: Default> ChatMemory<T> {
    /// Returns the value of a chat, and creates the value if it is new; `None` if [`MAX_CHATS`] is reached.
    pub(super) fn of(&mut self, chat: ChannelId, fold: &ChannelFold) -> Option<&mut T> {
        let room = self.chats.len() < MAX_CHATS || self.chats.contains_key(&chat);
        let (since, known) = room.then(|| self.chats.entry(chat).or_default())?;
        if *since != fold.since_line {
            (*since, *known) = (fold.since_line, T::default());
        }
        Some(known)
    }

    /// Returns the value of a chat if there is one.
    pub(super) fn known(&mut self, chat: ChannelId) -> Option<&mut T> {
        self.chats.get_mut(&chat).map(|(_, known)| known)
    }

    /// Removes the value of a chat.
    pub(super) fn forget(&mut self, chat: ChannelId) {
        self.chats.remove(&chat);
    }

    /// Removes the values of all chats.
    pub(super) fn clear(&mut self) {
        self.chats.clear();
    }
}

//! What has arrived at a client and has not been looked at.
//!
//! Reading goes forward per channel: what a step takes, and everything before it on the same
//! channel, has been read. The order of messages on different channels is the host's own affair.
//!
//! What must not come must not have come either: whether it arrives before or after the step that
//! says so is a matter of speed. [`Mailbox::behind`] is what such a step looks at first.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use crate::transcript::Seen;
use crate::wire::message::Message;

/// Messages kept for a client. A host that floods loses the oldest ones here, never in the
/// transcript.
const MAX_ITEMS: usize = 20_000;

/// A message in a mailbox.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its line in the transcript.
    pub line: u64,
    seen: Arc<Seen>,
    read: bool,
}

impl Item {
    /// The message.
    pub fn message(&self) -> Option<&Message> {
        self.seen.message()
    }

    /// The frame it came in.
    pub fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen)
    }

    fn channel(&self) -> Option<&Value> {
        self.message().map(|message| &message.params()["channel"])
    }
}

/// The mailbox of one client.
#[derive(Debug, Default)]
pub struct Mailbox {
    items: VecDeque<Item>,
    /// How many messages were pushed out unread.
    pub lost: u64,
    /// The line up to which a channel was read by the expectations since [`arrive`](Self::arrive).
    positions: Vec<(Option<Value>, u64)>,
}

impl Mailbox {
    /// A message arrived.
    pub fn push(&mut self, line: u64, seen: Arc<Seen>) {
        if self.items.len() == MAX_ITEMS {
            let oldest = self.items.pop_front();
            self.lost += u64::from(oldest.is_some_and(|item| !item.read));
        }
        self.items.push_back(Item { line, seen, read: false });
    }

    /// Everything unread, in order, with its place.
    pub fn unread(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().filter(|(_, item)| !item.read)
    }

    /// The message at a place has been read, and so has what came before it on its channel.
    pub fn read_to(&mut self, place: usize) {
        let channel = self.items.get(place).and_then(Item::channel).cloned();
        for item in self.items.iter_mut().take(place + 1) {
            item.read |= item.channel() == channel.as_ref();
        }
        if let Some(line) = self.items.get(place).map(|item| item.line) {
            self.positions.retain(|(known, _)| *known != channel);
            self.positions.push((channel, line));
        }
        self.forget_read();
    }

    /// The reader does something else than reading: from here on is what comes from now on.
    pub fn arrive(&mut self) {
        self.positions.clear();
    }

    /// What has come already and stands behind what was just read, on the same channel.
    pub fn behind(&self) -> impl Iterator<Item = &Item> {
        let is_behind = |item: &&Item| {
            let at = self.positions.iter().find(|(channel, _)| channel.as_ref() == item.channel());
            at.is_some_and(|(_, line)| item.line > *line)
        };
        self.items.iter().filter(|item| !item.read).filter(is_behind)
    }

    /// The message at a place alone has been read.
    pub fn read_one(&mut self, place: usize) {
        if let Some(item) = self.items.get_mut(place) {
            item.read = true;
        }
        self.forget_read();
    }

    fn forget_read(&mut self) {
        while self.items.front().is_some_and(|item| item.read) {
            self.items.pop_front();
        }
    }
}

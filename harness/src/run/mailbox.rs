//! The unread notifications of a client. Responses and requests of the host are kept elsewhere.
//!
//! When a step reads a message, that message and every earlier message on the same channel count as read. Messages on
//! other channels stay unread, because the host may send messages on different channels in any order.
//!
//! Depending on timing, a forbidden message may arrive before or after the step that forbids it starts. The step
//! therefore also checks the messages that have already arrived ([`ClientMailbox::behind`]).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::SeenFrame;
use crate::wire::frame::Frame;

/// The limits of a client's unread messages: the number of messages and the bytes of their frames. If a host
/// floods the client, the mailbox drops the oldest messages; the transcript keeps them.
const MAX_ITEMS: usize = 20_000;
const MAX_BYTES: usize = 16 << 20;

/// A message in a mailbox.
///
/// Only the newest message stays decoded, because most steps read only the newest message. The other messages are
/// kept as text, which needs a fifteenth of the space, and are decoded again when a step reads them.
#[derive(Clone, Debug)]
pub struct MailboxItem {
    /// The line of the message in the transcript.
    pub line: u64,
    /// The URI in the message's `channel`.
    channel: Option<Arc<str>>,
    frame: Arc<Frame>,
    decoded: Option<Arc<SeenFrame>>,
}

impl MailboxItem {
    /// Returns the decoded message with its frame.
    #[inline]
    pub fn seen(&self) -> Arc<SeenFrame> {
        match &self.decoded {
            Some(seen) => Arc::clone(seen),
            None => Arc::new(SeenFrame::again(Arc::clone(&self.frame))),
        }
    }
}

/// The mailbox of one client.
#[derive(Debug, Default)]
pub struct ClientMailbox {
    items: VecDeque<MailboxItem>,
    /// The total bytes of the items' frames.
    bytes: usize,
    /// The number of messages that were dropped unread. A step may have waited for one of these messages.
    dropped: u64,
    /// The line up to which each channel was read since the last call of [`arrive`](Self::arrive).
    positions: Vec<(Option<Arc<str>>, u64)>,
}

impl ClientMailbox {
    /// Adds a message that arrived.
    #[inline]
    pub fn push(&mut self, line: u64, seen: Arc<SeenFrame>) {
        self.bytes += seen.frame.len();
        while self.items.len() == MAX_ITEMS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.items.pop_front() else { break };
            self.bytes -= oldest.frame.len();
            self.dropped += 1;
        }
        let uri = seen.message().and_then(|message| message.params().get("channel"));
        let uri = uri.and_then(Value::as_str);
        let last = self.items.back_mut();
        // Most messages have the same channel as the previous message, so the string is shared.
        let channel = match last.as_ref().and_then(|last| last.channel.as_ref()) {
            Some(known) if uri == Some(known) => Some(Arc::clone(known)),
            _ => uri.map(Arc::from),
        };
        if let Some(last) = last {
            last.decoded = None;
        }
        let frame = Arc::clone(&seen.frame);
        if frame.len() > MAX_BYTES {
            self.bytes -= frame.len();
            self.dropped += 1;
            return;
        }
        self.items.push_back(MailboxItem { line, channel, frame, decoded: Some(seen) });
    }

    /// Returns all unread messages in order, each with its index.
    pub fn unread(&self) -> impl Iterator<Item = (usize, &MailboxItem)> {
        self.unread_after(0)
    }

    /// Returns the unread messages after a transcript line in order, each with its index. With this method, a
    /// wait looks at each message once, even if many messages do not match.
    #[inline]
    pub fn unread_after(&self, line: u64) -> impl Iterator<Item = (usize, &MailboxItem)> {
        // The search starts with the newest message, because a wait has usually checked all older messages
        // already.
        let fresh = self.items.iter().rev().take_while(|item| item.line > line).count();
        let first = self.items.len() - fresh;
        self.items.range(first..).enumerate().map(move |(index, item)| (first + index, item))
    }

    /// Returns the transcript line of the newest message; 0 if there is no message.
    #[inline]
    pub fn newest(&self) -> u64 {
        self.items.back().map_or(0, |item| item.line)
    }

    /// Returns the number of messages that were dropped unread.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Marks the message at an index as read, together with all earlier messages on its channel.
    pub fn read_to(&mut self, place: usize) {
        let channel = self.items.get(place).and_then(|item| item.channel.clone());
        if let Some(line) = self.items.get(place).map(|item| item.line) {
            self.positions.retain(|(known, _)| *known != channel);
            self.positions.push((channel.clone(), line));
        }
        let (mut index, mut freed) = (0, 0);
        self.items.retain(|item| {
            let read = index <= place && item.channel == channel;
            index += 1;
            freed += if read { item.frame.len() } else { 0 };
            !read
        });
        self.bytes -= freed;
    }

    /// Forgets up to which line each channel was read. The caller calls this method when the client sends something.
    /// Afterwards, [`behind`](Self::behind) covers only channels from which a message is read after the call.
    pub fn arrive(&mut self) {
        self.positions.clear();
    }

    /// Returns the messages that have already arrived after the last read message of the same channel.
    pub fn behind(&self) -> impl Iterator<Item = &MailboxItem> {
        let is_behind = |item: &&MailboxItem| {
            let at = self.positions.iter().find(|(channel, _)| *channel == item.channel);
            at.is_some_and(|(_, line)| item.line > *line)
        };
        self.items.iter().filter(is_behind)
    }

    /// Marks only the message at an index as read.
    pub fn read_one(&mut self, place: usize) {
        if let Some(item) = self.items.remove(place) {
            self.bytes -= item.frame.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use crate::wire::message::Message;

    use super::*;

    fn mailbox(channels: &str) -> ClientMailbox {
        let mut mailbox = ClientMailbox::default();
        for (line, channel) in (1..).zip(channels.split(' ')) {
            let message = Message::notification("action", json!({"channel": channel}));
            mailbox.push(line, Arc::new(SeenFrame::of(message)));
        }
        mailbox
    }

    fn lines(mailbox: &ClientMailbox, after: u64) -> Vec<(usize, u64)> {
        mailbox.unread_after(after).map(|(place, item)| (place, item.line)).collect()
    }

    #[test]
    fn reads_forward_on_one_channel() {
        let mut mailbox = mailbox("a b a b a");
        mailbox.read_to(2);
        assert_eq!(lines(&mailbox, 0), [(0, 2), (1, 4), (2, 5)]);
        mailbox.read_one(1);
        assert_eq!(lines(&mailbox, 0), [(0, 2), (1, 5)]);
    }

    #[test]
    fn counts_what_it_drops_in_a_flood() {
        let mut mailbox = mailbox("a b");
        mailbox.read_to(0);
        let flood = |text: &str| {
            let message = Message::notification("action", json!({"channel": "a", "text": text}));
            Arc::new(SeenFrame::of(message))
        };
        for line in 3..MAX_ITEMS as u64 + 2 {
            mailbox.push(line, flood(""));
        }
        assert_eq!((mailbox.dropped(), mailbox.unread().count()), (0, MAX_ITEMS));
        mailbox.push(MAX_ITEMS as u64 + 2, flood(""));
        assert_eq!((mailbox.dropped(), mailbox.unread().next().unwrap().1.line), (1, 3));
        mailbox.push(MAX_ITEMS as u64 + 3, flood(&"x".repeat(MAX_BYTES - 1_000)));
        assert!(mailbox.bytes <= MAX_BYTES && mailbox.unread().count() < 20);
        // A frame that exceeds the limit by itself is not kept.
        mailbox.push(MAX_ITEMS as u64 + 4, flood(&"x".repeat(MAX_BYTES)));
        assert_eq!((mailbox.bytes, mailbox.unread().count()), (0, 0));
    }

    #[test]
    fn finds_messages_after_a_line() {
        let mut mailbox = mailbox("a b a b a");
        mailbox.read_to(0);
        assert_eq!(lines(&mailbox, 3), [(2, 4), (3, 5)]);
        assert_eq!(lines(&mailbox, mailbox.newest()), []);
    }
}

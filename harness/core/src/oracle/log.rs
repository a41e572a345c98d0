//! The log of accepted actions, by number: what the connections together have received.
//!
//! It has a horizon, [`MAX_ENTRIES`] actions or [`MAX_BYTES`] of frames, whatever is reached first.
//! What lies before it is forgotten, and nobody is accused because of it: a number received again
//! is not compared with the first time (A2), and a replay is only asked for the missed actions that
//! are still there (M1, M5); the same holds for an action that some subscriber never got (A4).
//!
//! Knows: frames. Never knows: subscriptions, states.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::SeenFrame;
use crate::wire::frame::Frame;
use crate::wire::message::{DecodedFrame, decode};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::channel::ChannelId;

/// Actions that are remembered; older ones are forgotten and nothing is said about them.
const MAX_ENTRIES: usize = 16_384;
/// Bytes of frames that are remembered.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// One accepted action.
#[derive(Clone, Debug)]
pub(super) struct LoggedAction {
    pub channel: ChannelId,
    pub kept: KeptAction,
    pub line: u64,
    /// When it was received first, in entries.
    pub tick: u64,
    /// The version spoken on that connection.
    pub version: Option<Version>,
}

/// The envelope of an action. Hardly any is ever looked at again: the text is kept, and decoded
/// where it is wanted.
#[derive(Clone, Debug)]
pub(super) enum KeptAction {
    /// The params of this frame.
    Live(Arc<Frame>),
    /// An entry of the replay in this response.
    Replayed(Arc<SeenFrame>, usize),
}

impl LoggedAction {
    /// The envelope as JSON.
    pub(super) fn value(&self) -> Option<Cow<'_, Value>> {
        match &self.kept {
            KeptAction::Live(frame) => {
                let DecodedFrame::Message(message) = decode(frame) else {
                    return None;
                };
                let mut value = message.into_value();
                value.get_mut("params").map(Value::take).map(Cow::Owned)
            }
            KeptAction::Replayed(seen, index) => {
                envelope_value(seen, Some(*index)).map(Cow::Borrowed)
            }
        }
    }

    /// Whether it came in the words of these tables.
    pub(super) fn is_of(&self, protocol: &Protocol) -> bool {
        let own = self.version.and_then(Protocol::of);
        own.is_some_and(|own| std::ptr::eq(own, protocol))
    }

    /// Whether it came live in a frame of the same text.
    pub(super) fn came_as(&self, frame: &Frame) -> bool {
        matches!(&self.kept, KeptAction::Live(kept) if **kept == *frame)
    }

    fn len(&self) -> usize {
        match &self.kept {
            KeptAction::Live(frame) => frame.len(),
            KeptAction::Replayed(seen, _) => seen.frame.len(),
        }
    }
}

/// The envelope of a live frame, or the one at an index of a replay.
pub(super) fn envelope_value(seen: &SeenFrame, replayed: Option<usize>) -> Option<&Value> {
    let message = seen.message()?;
    match replayed {
        None => Some(message.params()),
        Some(index) => message.result()?.get("actions")?.get(index),
    }
}

/// Accepted actions by `serverSeq`, of one life of the host.
#[derive(Default)]
pub(super) struct AcceptedLog {
    /// By number, ascending. Nearly every number is the highest yet.
    entries: VecDeque<(u64, LoggedAction)>,
    bytes: usize,
}

impl AcceptedLog {
    #[inline]
    pub(super) fn get(&self, seq: u64) -> Option<&LoggedAction> {
        // Most are asked for when they are new.
        if self.entries.back().is_none_or(|(highest, _)| *highest < seq) {
            return None;
        }
        let place = self.entries.binary_search_by_key(&seq, |(known, _)| *known).ok()?;
        self.entries.get(place).map(|(_, logged)| logged)
    }

    /// Adds an action whose number is not there yet, and gives back those forgotten in exchange.
    pub(super) fn insert(&mut self, seq: u64, logged: LoggedAction) -> Vec<(u64, ChannelId)> {
        self.bytes += logged.len();
        if self.entries.back().is_none_or(|(highest, _)| *highest < seq) {
            self.entries.push_back((seq, logged));
        } else {
            let place = self.entries.partition_point(|(known, _)| *known < seq);
            self.entries.insert(place, (seq, logged));
        }
        let mut forgotten = Vec::new();
        while self.entries.len() > MAX_ENTRIES || (self.bytes > MAX_BYTES && self.entries.len() > 1)
        {
            let Some((old, logged)) = self.entries.pop_front() else {
                break;
            };
            self.bytes -= logged.len();
            forgotten.push((old, logged.channel));
        }
        forgotten
    }

    /// The actions after a number.
    pub(super) fn after(&self, seq: u64) -> impl Iterator<Item = (u64, &LoggedAction)> {
        let first = self.entries.partition_point(|(known, _)| *known <= seq);
        self.entries.range(first..).map(|(seq, logged)| (*seq, logged))
    }
}

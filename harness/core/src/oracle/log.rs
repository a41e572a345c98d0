//! The log of accepted actions, by `serverSeq`: the actions that all connections together have received.
//!
//! The log has a limit: [`MAX_ENTRIES`] actions or [`MAX_BYTES`] of frames, whichever is reached first. Older
//! actions are dropped and cause no finding. Invariant A2: a number that is received again is not compared with
//! a dropped action. Invariants M1, M5 and A4: a replay or a subscriber is judged only by actions that are
//! still in the log.
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

/// Upper bound for the actions that are remembered. Older actions are dropped and not judged.
const MAX_ENTRIES: usize = 16_384;
/// Upper bound for the bytes of frames that are remembered.
const MAX_BYTES: usize = 8 << 20;

/// One accepted action.
#[derive(Clone, Debug)]
pub(super) struct LoggedAction {
    pub channel: ChannelId,
    pub kept: KeptAction,
    pub line: u64,
    /// The entry at which the first connection received the action.
    pub tick: u64,
    /// The version of the connection that received the action first.
    pub version: Option<Version>,
}

/// The envelope of an action. Only few envelopes are read again, so the text is kept and decoded when it is needed.
#[derive(Clone, Debug)]
pub(super) enum KeptAction {
    /// The frame of an action that arrived live.
    Live(Arc<Frame>),
    /// An entry of a replay: the response that contains the replay, and the index of the entry.
    Replayed(Arc<SeenFrame>, usize),
}

impl LoggedAction {
    /// Returns the envelope as JSON; `None` if the kept frame contains no envelope.
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

    /// Returns whether the action was received in a version with these tables.
    pub(super) fn is_of(&self, protocol: &Protocol) -> bool {
        let own = self.version.and_then(Protocol::of);
        own.is_some_and(|own| std::ptr::eq(own, protocol))
    }

    /// Returns whether the action was received live in a frame with the same text.
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

/// Returns the envelope in a live frame, or the entry at index `replayed` of a replay.
pub(super) fn envelope_value(seen: &SeenFrame, replayed: Option<usize>) -> Option<&Value> {
    let message = seen.message()?;
    match replayed {
        None => Some(message.params()),
        Some(index) => message.result()?.get("actions")?.get(index),
    }
}

/// The accepted actions by `serverSeq`, since the host's start.
#[derive(Default)]
pub(super) struct AcceptedLog {
    /// The actions by `serverSeq`, ascending. Nearly every new number is the highest so far.
    entries: VecDeque<(u64, LoggedAction)>,
    bytes: usize,
    /// The highest `serverSeq` of the dropped actions.
    dropped: Option<u64>,
}

impl AcceptedLog {
    #[inline]
    pub(super) fn get(&self, seq: u64) -> Option<&LoggedAction> {
        // Most lookups are for a number that is not in the log yet.
        if self.entries.back().is_none_or(|(highest, _)| *highest < seq) {
            return None;
        }
        let place = self.entries.binary_search_by_key(&seq, |(known, _)| *known).ok()?;
        self.entries.get(place).map(|(_, logged)| logged)
    }

    /// Returns whether no connection has received an action with this `serverSeq` before. A number that is not above
    /// the highest dropped number does not count as new, because its action may have been dropped.
    pub(super) fn is_new(&self, seq: u64) -> bool {
        self.dropped.is_none_or(|dropped| seq > dropped) && self.get(seq).is_none()
    }

    /// Adds an action with a new `serverSeq`. Returns the `serverSeq` and the channel of each older action that is
    /// dropped.
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
            self.dropped = self.dropped.max(Some(old));
            forgotten.push((old, logged.channel));
        }
        forgotten
    }

    /// Returns the actions with a higher `serverSeq`, ascending.
    pub(super) fn after(&self, seq: u64) -> impl Iterator<Item = (u64, &LoggedAction)> {
        let first = self.entries.partition_point(|(known, _)| *known <= seq);
        self.entries.range(first..).map(|(seq, logged)| (*seq, logged))
    }
}

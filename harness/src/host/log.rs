//! The log of accepted actions: the `serverSeq` counter and the envelopes for replay.
//!
//! The host has one strictly increasing counter. The log keeps a bounded number of recent envelopes for replay.
//!
//! Knows: envelopes. Never knows: subscriptions.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::wire::json::Value;

/// The maximum number of bytes of envelopes kept for replay, regardless of the configured number of envelopes.
const MAX_REPLAY_BYTES: usize = 64 << 20;

/// An accepted action with its `serverSeq`.
#[derive(Debug)]
pub(super) struct LoggedEnvelope {
    /// The `serverSeq` of the envelope.
    pub(super) seq: u64,
    /// The channel of the envelope.
    pub(super) channel: String,
    /// The type of the action in the envelope.
    pub(super) action_type: String,
    /// The whole `params` of the notification.
    pub(super) params: Value,
    /// The notification, serialised once for every subscriber.
    pub(super) text: String,
    /// The envelope as clients of older versions see it, by view; `None` for a view that does not see the
    /// envelope.
    pub(super) faces: Vec<Option<VersionFace>>,
    /// Whether clients without a view do not receive the envelope.
    pub(super) hidden: bool,
}

/// An accepted action with the names of an older version.
#[derive(Debug)]
pub(super) struct VersionFace {
    /// The channel, spelled as the host spells it.
    pub(super) key: String,
    /// The whole `params` of the notification.
    pub(super) params: Value,
    /// The notification, serialised.
    pub(super) text: String,
}

impl LoggedEnvelope {
    /// Returns the parts that a connection with this view receives: the channel as the host spells it, the
    /// params, the notification. `None` if the connection does not receive the envelope.
    pub(super) fn told(&self, view: Option<usize>) -> Option<(&str, &Value, &str)> {
        let Some(view) = view else {
            return (!self.hidden).then_some((&self.channel, &self.params, &self.text));
        };
        let face = self.faces.get(view)?.as_ref()?;
        Some((&face.key, &face.params, &face.text))
    }
}

/// The counter and the envelopes kept for replay.
#[derive(Debug, Default)]
pub(super) struct HostLog {
    seq: u64,
    /// The `serverSeq` of the newest envelope that was dropped; 0 if no envelope was dropped.
    floor: u64,
    kept: VecDeque<Arc<LoggedEnvelope>>,
    bytes: usize,
    capacity: usize,
}

impl HostLog {
    pub(super) fn new(capacity: usize) -> HostLog {
        HostLog { capacity, ..HostLog::default() }
    }

    /// Returns the `serverSeq` of the newest accepted action.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Increments the counter and returns the new number.
    pub(super) fn advance(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Returns the lowest `serverSeq` after which a replay can begin.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Stores an envelope, and drops the oldest envelopes beyond the limits.
    pub(super) fn keep(&mut self, envelope: Arc<LoggedEnvelope>) {
        self.bytes += envelope.text.len();
        self.kept.push_back(envelope);
        while self.kept.len() > self.capacity || self.bytes > MAX_REPLAY_BYTES {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(oldest.text.len());
            self.floor = self.floor.max(oldest.seq);
        }
    }

    /// Returns the stored envelopes with a higher `serverSeq`, oldest first.
    pub(super) fn after(&self, seq: u64) -> impl Iterator<Item = &Arc<LoggedEnvelope>> {
        let from = self.kept.partition_point(|envelope| envelope.seq <= seq);
        self.kept.iter().skip(from)
    }

    /// Drops the envelopes and keeps the counter, as after a crash.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.bytes = 0;
        self.floor = self.seq;
    }

    /// Drops the envelopes and resets the counter to 0.
    pub(super) fn reset(&mut self) {
        self.forget();
        self.seq = 0;
        self.floor = 0;
    }
}

//! The sequence of accepted actions: who is numbered what, and what a reconnect can be told again.
//!
//! One counter for the host, strictly growing. A bounded tail of envelopes is kept for replay.
//!
//! Knows: envelopes. Never knows: who is subscribed to what.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::wire::json::Value;

/// The most bytes of envelopes that are kept for replay, whatever the configured number.
const MAX_REPLAY_BYTES: usize = 64 << 20;

/// One accepted action, numbered.
#[derive(Debug)]
pub(super) struct LoggedEnvelope {
    /// Its `serverSeq`.
    pub(super) seq: u64,
    /// Its channel.
    pub(super) channel: String,
    /// The type of its action.
    pub(super) action_type: String,
    /// The whole `params` of the notification.
    pub(super) params: Value,
    /// The notification, serialised once for every subscriber.
    pub(super) text: String,
    /// What clients of older versions are told, by view.
    pub(super) faces: Vec<Option<VersionFace>>,
    /// Nobody else is told.
    pub(super) hidden: bool,
}

/// An accepted action as one older version words it.
#[derive(Debug)]
pub(super) struct VersionFace {
    /// Its channel, as the host calls it.
    pub(super) key: String,
    /// The whole `params` of the notification.
    pub(super) params: Value,
    /// The notification.
    pub(super) text: String,
}

impl LoggedEnvelope {
    /// What a connection is told of it: the channel as the host calls it, the params, the notification.
    pub(super) fn told(&self, view: Option<usize>) -> Option<(&str, &Value, &str)> {
        let Some(view) = view else {
            return (!self.hidden).then_some((&self.channel, &self.params, &self.text));
        };
        let face = self.faces.get(view)?.as_ref()?;
        Some((&face.key, &face.params, &face.text))
    }
}

/// The counter and the tail.
#[derive(Debug, Default)]
pub(super) struct HostLog {
    seq: u64,
    /// The number of the newest envelope that is no longer kept.
    floor: u64,
    kept: VecDeque<Arc<LoggedEnvelope>>,
    bytes: usize,
    capacity: usize,
}

impl HostLog {
    pub(super) fn new(capacity: usize) -> HostLog {
        HostLog { capacity, ..HostLog::default() }
    }

    /// The number of the newest accepted action.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Counts on and returns the new number.
    pub(super) fn advance(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// The newest number that a replay cannot begin before.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Keeps an envelope, and drops the oldest beyond the bounds.
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

    /// The kept envelopes above a number, oldest first.
    pub(super) fn after(&self, seq: u64) -> impl Iterator<Item = &Arc<LoggedEnvelope>> {
        let from = self.kept.partition_point(|envelope| envelope.seq <= seq);
        self.kept.iter().skip(from)
    }

    /// Forgets the tail and keeps the counter, as a process does that comes back from a crash.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.bytes = 0;
        self.floor = self.seq;
    }

    /// Forgets the tail and counts from 0 again.
    pub(super) fn reset(&mut self) {
        self.forget();
        self.seq = 0;
        self.floor = 0;
    }
}

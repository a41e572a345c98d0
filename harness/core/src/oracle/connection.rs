//! Connections: who speaks on them, what is asked, what is subscribed.
//!
//! Knows: requests and subscriptions. Never knows: states, the log.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::Value;

use crate::transcript::SeenFrame;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::channel::ChannelId;

/// Open requests of one connection; with more, nobody is accused of not answering.
pub(super) const MAX_OPEN: usize = 4_096;
/// Ids that were answered, kept to tell a second answer from a stray one.
const MAX_ANSWERED: usize = 1_024;

/// One connection.
#[derive(Default)]
pub(super) struct ConnectionRecord {
    /// Its opening was seen.
    pub opened: bool,
    pub closed: bool,
    /// Something that passed on it is not in the transcript.
    pub gap: bool,
    /// A version is assumed, because captures may begin in the middle.
    pub assumed: bool,
    /// It was open when the host was restarted: its numbers mean nothing any more.
    pub stale: bool,
    /// The line of the `initialize` or `reconnect` request; 0 where none was seen.
    pub handshake_line: u64,
    /// The handshake succeeded: its answer names a version, or takes up what was there.
    pub shaken: bool,
    pub client_id: Option<Arc<str>>,
    pub version: Option<Version>,
    pub protocol: Option<&'static Protocol>,
    /// The handshake named no known version: the table is that of the offer.
    pub guessed: bool,
    /// The `serverSeq` that the handshake told, and its line.
    pub welcome: Option<(u64, u64)>,
    /// The last accepted number and its line.
    pub last: Option<(u64, u64)>,
    /// The last number, rejections included, and its line.
    pub last_any: Option<(u64, u64)>,
    pub requests: HashMap<String, VecDeque<OpenRequest>>,
    pub open: usize,
    pub overflow: bool,
    pub host_requests: HashMap<String, u64>,
    pub answered: VecDeque<(String, u64)>,
    /// When the newest answered request was sent, in entries: a barrier.
    pub fence: u64,
    /// Frames of the client that could not be read and may be answered with any id.
    pub odd: usize,
    pub subs: LiteMap<ChannelId, SubscriptionRecord>,
    /// Channels left for good, since their unsubscribe was followed by a fence.
    pub left: HashSet<ChannelId>,
    /// Last numbers received on channels before their subscription was confirmed.
    pub early: HashMap<ChannelId, u64>,
    /// Channels that a successful replay named as missing, with the line of the answer.
    pub missing: HashMap<ChannelId, u64>,
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    pub method: String,
    pub seen: Arc<SeenFrame>,
    pub line: u64,
    pub at: Duration,
    /// When it was sent, in entries.
    pub tick: u64,
    /// The highest accepted number that any connection had received when it was sent, and its line.
    pub floor: Option<(u64, u64)>,
    /// The highest number that the host had told in any way when it was sent, and its line.
    pub counter: Option<(u64, u64)>,
    /// It is sound; an odd one need not be answered.
    pub sound: bool,
    /// What it subscribes to was given up before the answer came: when, in entries, and the line.
    pub given_up: Option<(u64, u64)>,
}

impl OpenRequest {
    pub(super) fn params(&self) -> &Value {
        self.seen.message().map_or(&Value::Null, |message| message.params())
    }
}

/// One subscription of one connection.
#[derive(Clone, Debug)]
pub(super) struct SubscriptionRecord {
    /// Nothing at or below this number is to come; `None` where it is not known.
    pub from_seq: Option<u64>,
    /// The highest number that the host had told in any way when it was asked for, and its line: what happened up to there
    /// is in the snapshot. `None` where it did not begin with one.
    pub counter: Option<(u64, u64)>,
    /// The last number received on the channel.
    pub last: u64,
    /// The line of the answer that confirmed it.
    pub line: u64,
    /// When it was confirmed, in entries.
    pub tick: u64,
    /// The host has to deliver; where not, it may.
    pub certain: bool,
    /// The host may merge actions.
    pub merged: bool,
    /// When the unsubscribe was sent, in entries, with its line.
    pub ending: Option<(u64, u64)>,
    /// When the replay was asked for that it began with, in entries; `None` from the first live action on.
    pub replayed: Option<u64>,
}

impl SubscriptionRecord {
    /// A subscription that the host may, but need not, serve.
    pub(super) fn possible(line: u64, tick: u64) -> SubscriptionRecord {
        SubscriptionRecord {
            from_seq: None,
            counter: None,
            last: 0,
            line,
            tick,
            certain: false,
            merged: false,
            ending: None,
            replayed: None,
        }
    }

    /// Whether everything after the returned number has to arrive unmerged.
    pub(super) fn complete_from(&self) -> Option<u64> {
        let complete = self.certain && !self.merged && self.ending.is_none();
        self.from_seq.filter(|_| complete)
    }
}

/// What stands for an id: `2` and `2.0` are the same number.
pub(super) fn id_key(id: &Value) -> String {
    match (id.as_u64(), id.as_i64()) {
        (Some(number), _) => number.to_string(),
        (None, Some(number)) => number.to_string(),
        (None, None) => id.to_string(),
    }
}

impl ConnectionRecord {
    /// Whether what happened before the first entry may matter.
    pub(super) fn partial(&self) -> bool {
        !self.opened || (self.assumed && self.handshake_line == 0)
    }

    pub(super) fn ask(&mut self, id: &Value, request: OpenRequest) {
        if self.open >= MAX_OPEN {
            self.overflow = true;
            return;
        }
        self.open += 1;
        self.requests.entry(id_key(id)).or_default().push_back(request);
    }

    /// The request that an id answers.
    pub(super) fn answer(&mut self, id: &Value, line: u64) -> Option<OpenRequest> {
        let key = id_key(id);
        let waiting = self.requests.get_mut(&key)?;
        let request = waiting.pop_front();
        if waiting.is_empty() {
            self.requests.remove(&key);
        }
        self.open = self.open.saturating_sub(1);
        if self.answered.len() >= MAX_ANSWERED {
            self.answered.pop_front();
        }
        self.answered.push_back((key, line));
        request
    }

    /// The line of an earlier answer with this id.
    pub(super) fn answered_before(&self, id: &Value) -> Option<u64> {
        let key = id_key(id);
        let known = self.answered.iter().rev().find(|(answered, _)| *answered == key);
        known.map(|(_, line)| *line)
    }

    /// Open requests, in no order.
    pub(super) fn open_requests(&self) -> impl Iterator<Item = &OpenRequest> {
        self.requests.values().flatten()
    }
}

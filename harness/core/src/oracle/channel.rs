//! Channels: their kinds, their recent numbers and their folded states.
//!
//! Knows: kinds of channels, snapshots. Never knows: connections' subscriptions.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::{ChannelKind, OLD_ROOT, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;

use super::members::{list, text};

/// Channels that are kept apart; what travels on further ones is not judged.
const MAX_CHANNELS: usize = 65_536;
/// Snapshots of a channel that wait for the fold to reach them; older ones are not compared.
pub(super) const MAX_WAITING: usize = 8;
/// Rejected actions of a channel that are remembered until the next comparison.
pub(super) const MAX_REJECTED: usize = 8;

/// A channel, numbered in the order of appearance.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct ChannelId(u32);

/// What is known of a channel.
pub(super) struct ChannelRecord {
    pub uri: Arc<str>,
    /// Its kind, where a snapshot, a catalogue, the scheme or an action has told.
    pub kind: Option<ChannelKind>,
    /// The line that the kind was learnt from; 0 for the scheme.
    pub kind_line: u64,
    /// The numbers of its accepted actions in the log, ascending.
    pub recent: VecDeque<u64>,
    /// Actions up to this number are forgotten.
    pub forgotten: u64,
    /// The state of the channel, as far as it could be followed.
    pub fold: Option<ChannelFold>,
    /// Snapshots ahead of the fold.
    pub waiting: Vec<WaitingSnapshot>,
    /// Rejected actions since the last comparison, with their lines.
    pub rejected: Vec<(Arc<SeenFrame>, u64)>,
    /// The connections that are subscribed.
    pub subscribers: Vec<ConnId>,
    /// The session that a chat belongs to.
    pub owner: Option<ChannelId>,
    /// The chats that a session was seen to have.
    pub chats: Vec<ChannelId>,
    /// It is a chat that has left a catalogue while somebody waits for it to be moved.
    pub moving: bool,
    /// The line of the answer that confirmed its disposal.
    pub disposed: Option<u64>,
}

/// A state and what it was folded from.
pub(super) struct ChannelFold {
    pub kind: ChannelKind,
    pub protocol: &'static Protocol,
    pub state: Value,
    /// The `fromSeq` of the snapshot it began with.
    pub base_seq: u64,
    /// The number of the last action folded, or the `fromSeq` of the snapshot it began with.
    pub seq: u64,
    /// Every action of the channel up to this number is in the state.
    pub known_to: u64,
    /// The line of the snapshot it began with.
    pub base_line: u64,
    /// The `fromSeq` of the snapshot since which no action of the channel was missed.
    pub since_seq: u64,
    /// The line of the snapshot since which no action of the channel was missed; `base_line` may be of a later one that
    /// was compared.
    pub since_line: u64,
    /// Older turns may have been left out of that snapshot.
    pub windowed: bool,
    /// The line of the last action folded; 0 where there was none.
    pub last_line: u64,
}

impl ChannelFold {
    /// The lines that prove what is said of a state and something later: its snapshot, the last action
    /// folded onto it, and the line of that.
    pub(super) fn lines(&self, later: u64) -> [u64; 3] {
        [self.base_line, self.last_line, later]
    }
}

/// A snapshot that cannot be compared yet.
#[derive(Clone)]
pub(super) struct WaitingSnapshot {
    pub seen: Arc<SeenFrame>,
    pub place: SnapshotPlace,
    pub from_seq: u64,
    pub conn: ConnId,
    pub line: u64,
    pub tick: u64,
    /// Older turns may have been left out on purpose.
    pub windowed: bool,
}

/// Where in a response a snapshot is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SnapshotPlace {
    /// `result.snapshot`.
    Single,
    /// The result itself, as some documents of 0.1.0 show it.
    Bare,
    /// `result.snapshots[i]`.
    Listed(usize),
}

impl SnapshotPlace {
    /// The snapshot at this place of a response.
    pub(super) fn snapshot(self, seen: &SeenFrame) -> Option<&Value> {
        let result = seen.message()?.result()?;
        match self {
            SnapshotPlace::Single => result.get("snapshot"),
            SnapshotPlace::Bare => Some(result),
            SnapshotPlace::Listed(index) => result.get("snapshots")?.get(index),
        }
    }

    pub(super) fn state(self, seen: &SeenFrame) -> Option<&Value> {
        self.snapshot(seen)?.get("state")
    }
}

/// Every channel that was named.
#[derive(Default)]
pub(super) struct ChannelRecords {
    by_uri: foldhash::HashMap<Arc<str>, ChannelId>,
    all: Vec<ChannelRecord>,
}

impl ChannelRecords {
    /// The channel of a URI, new if need be; `None` where there are too many.
    #[inline]
    pub(super) fn intern(&mut self, uri: &str) -> Option<ChannelId> {
        let uri = canonical(uri);
        if let Some(id) = self.by_uri.get(uri) {
            return Some(*id);
        }
        if self.all.len() >= MAX_CHANNELS {
            return None;
        }
        let id = ChannelId(u32::try_from(self.all.len()).ok()?);
        let uri: Arc<str> = uri.into();
        self.all.push(ChannelRecord::new(uri.clone()));
        self.by_uri.insert(uri, id);
        Some(id)
    }

    pub(super) fn find(&self, uri: &str) -> Option<ChannelId> {
        self.by_uri.get(canonical(uri)).copied()
    }

    #[inline]
    pub(super) fn get(&self, id: ChannelId) -> Option<&ChannelRecord> {
        self.all.get(id.0 as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: ChannelId) -> Option<&mut ChannelRecord> {
        self.all.get_mut(id.0 as usize)
    }

    /// A session has a chat.
    pub(super) fn own(&mut self, session: ChannelId, chat: ChannelId) {
        let before = self.get(chat).and_then(|channel| channel.owner);
        if before == Some(session) {
            return;
        }
        if let Some(before) = before.and_then(|id| self.get_mut(id)) {
            before.chats.retain(|other| *other != chat);
        }
        if let Some(channel) = self.get_mut(chat) {
            channel.owner = Some(session);
            channel.moving = false;
        }
        if let Some(channel) = self.get_mut(session) {
            channel.chats.push(chat);
        }
    }

    /// The summary of a session lists these chats. What is known of them counts more: a chat that was moved may be in a
    /// summary that is still on its way.
    pub(super) fn list(&mut self, session: &str, summary: &Value) {
        let chats = list(summary, "chats");
        if chats.is_empty() {
            return;
        }
        let Some(session) = self.intern(session) else { return };
        for chat in chats.iter().filter_map(|it| text(it, "resource")) {
            let Some(chat) = self.intern(chat) else { return };
            if self.get(chat).is_some_and(|chat| chat.owner.is_none()) {
                self.own(session, chat);
            }
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ChannelRecord> {
        self.all.iter_mut()
    }
}

impl ChannelRecord {
    fn new(uri: Arc<str>) -> ChannelRecord {
        ChannelRecord {
            kind: kind_of_scheme(&uri),
            uri,
            kind_line: 0,
            recent: VecDeque::new(),
            forgotten: 0,
            fold: None,
            waiting: Vec::new(),
            rejected: Vec::new(),
            subscribers: Vec::new(),
            owner: None,
            chats: Vec::new(),
            moving: false,
            disposed: None,
        }
    }

    /// Takes a number into the ascending list. Almost always it is the last.
    #[inline]
    pub(super) fn remember(&mut self, seq: u64) {
        let after = self.recent.iter().rev().take_while(|known| **known > seq).count();
        self.recent.insert(self.recent.len() - after, seq);
    }

    pub(super) fn forget(&mut self, seq: u64) {
        if self.recent.front() == Some(&seq) {
            self.recent.pop_front();
        }
        self.forgotten = self.forgotten.max(seq);
    }

    /// The numbers in `(after, before)`, descending.
    #[inline]
    pub(super) fn between(&self, after: u64, before: u64) -> impl Iterator<Item = u64> {
        let newest_first = self.recent.iter().rev().copied();
        newest_first.skip_while(move |seq| *seq >= before).take_while(move |seq| *seq > after)
    }

    /// Nothing of before the host's restart counts any more.
    pub(super) fn reset(&mut self) {
        *self = ChannelRecord {
            kind: self.kind,
            kind_line: self.kind_line,
            ..ChannelRecord::new(self.uri.clone())
        };
    }

    /// Its state can no longer be followed.
    pub(super) fn lose(&mut self) {
        self.fold = None;
        self.waiting.clear();
        self.rejected.clear();
    }
}

/// The root channel has one name here, whatever the version calls it.
pub(super) fn canonical(uri: &str) -> &str {
    if uri == OLD_ROOT { ROOT } else { uri }
}

/// The kind that a scheme names beyond doubt. Hosts may give terminals, chats and changesets any
/// scheme.
pub(super) fn kind_of_scheme(uri: &str) -> Option<ChannelKind> {
    let kind = ChannelKind::promised_by(uri)?;
    let certain = match kind {
        ChannelKind::Root => uri == ROOT,
        ChannelKind::Chat | ChannelKind::Changeset => false,
        _ => true,
    };
    certain.then_some(kind)
}

/// Kinds of channels by members that only their states have.
const TELLING: &[(ChannelKind, &[(&str, TellingShape)])] = {
    use ChannelKind::*;
    use TellingShape::{List, Object, Text, Truth};
    &[
        (AutomationRun, &[("automation", Text), ("lifecycle", Object)]),
        (Session, &[("lifecycle", Text), ("chats", List)]),
        // Up to 0.3.0 the turns are the session's own.
        (Session, &[("lifecycle", Text), ("turns", List)]),
        (Chat, &[("turns", List)]),
        (Terminal, &[("content", List), ("claim", Object)]),
        (Changeset, &[("files", List), ("status", Text)]),
        (Annotations, &[("annotations", List)]),
        (ResourceWatch, &[("root", Text), ("recursive", Truth)]),
        (Canvas, &[("canvasId", Text)]),
        (Automations, &[("entries", List)]),
    ]
};

/// What a telling member is.
#[derive(Clone, Copy)]
enum TellingShape {
    Text,
    Truth,
    List,
    Object,
}

impl TellingShape {
    fn is_of(self, value: &Value) -> bool {
        match self {
            TellingShape::Text => value.is_string(),
            TellingShape::Truth => value.is_boolean(),
            TellingShape::List => value.is_array(),
            TellingShape::Object => value.is_object(),
        }
    }
}

/// The kind of a channel by its state. No URI but that of the root is certain.
pub(super) fn folded_kind(uri: &str, state: &Value, protocol: &Protocol) -> Option<ChannelKind> {
    if uri == ROOT {
        return Some(ChannelKind::Root);
    }
    let has =
        |(name, shape): &(&str, TellingShape)| state.get(name).is_some_and(|it| shape.is_of(it));
    let kind = TELLING.iter().find(|(_, members)| members.iter().all(has)).map(|(kind, _)| *kind);
    kind.filter(|kind| *kind != ChannelKind::Chat || protocol.has(ProtocolFeature::Chats))
}

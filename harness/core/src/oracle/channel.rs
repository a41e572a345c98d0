//! Channels: their kinds, the numbers (`serverSeq`) of their recent actions, and their folded states.
//!
//! Knows: kinds of channels, snapshots. Never knows: the subscriptions of connections.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::{ChannelKind, OLD_ROOT, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;

use super::budget::{KeptBytes, KeptFrame};
use super::members::{list, text};

/// Upper bound for the channels that are followed. Traffic on further channels is not judged.
const MAX_CHANNELS: usize = 65_536;
/// Upper bound for the bytes of the URIs of these channels. A hostile host may send a channel URI of 1 MiB in every
/// message.
const MAX_URI_BYTES: usize = 8 << 20;
/// Upper bound for the snapshots of a channel that are ahead of the fold and not yet compared. The oldest
/// snapshots are dropped without comparison.
pub(super) const MAX_WAITING: usize = 8;
/// Upper bound for the rejected actions of a channel that are remembered until the next comparison.
pub(super) const MAX_REJECTED: usize = 8;

/// A channel, numbered in the order of appearance.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct ChannelId(u32);

/// The record of one channel.
pub(super) struct ChannelRecord {
    pub uri: Arc<str>,
    /// The kind of the channel; `None` until a snapshot, a catalogue, the scheme of the URI, or an action shows the
    /// kind.
    pub kind: Option<ChannelKind>,
    /// The line that showed the kind; 0 if the scheme of the URI showed it.
    pub kind_line: u64,
    /// The numbers (`serverSeq`) of those accepted actions of the channel that are in the log, ascending.
    pub recent: VecDeque<u64>,
    /// The highest `serverSeq` of the channel's actions that were dropped from the log.
    pub forgotten: u64,
    /// The folded state; `None` if the state is not known.
    pub fold: Option<ChannelFold>,
    /// The snapshots whose `fromSeq` is ahead of the fold.
    pub waiting: Vec<WaitingSnapshot>,
    /// The rejected actions since the last comparison, with their lines.
    pub rejected: Vec<RefusedAction>,
    /// The connections that are subscribed to the channel.
    pub subscribers: Vec<ConnId>,
    /// The session that a chat belongs to.
    pub owner: Option<ChannelId>,
    /// The chats that the session is known to own. Two sessions may list the same thousands of chats in turn, so this is
    /// a set.
    pub chats: BTreeSet<ChannelId>,
    /// Whether the channel is a chat that was removed from a catalogue while a request to move the chat is
    /// open.
    pub moving: bool,
    /// The line of the answer that confirmed the disposal of the channel.
    pub disposed: Option<u64>,
    /// The entry before which requested subscriptions are uncertain: a request to dispose of the channel was open, so
    /// the host may have ended the subscriptions. `u64::MAX` while such a request is open, 0 if there was none.
    pub doubtful_until: u64,
}

/// The envelope of a rejected action, and the number of its line in the transcript.
pub(super) struct RefusedAction {
    pub seen: KeptFrame,
    pub line: u64,
}

/// A folded state, with the numbers and lines that it is based on.
pub(super) struct ChannelFold {
    pub kind: ChannelKind,
    pub protocol: &'static Protocol,
    pub state: Value,
    /// The `fromSeq` of the snapshot with which the folded state began.
    pub base_seq: u64,
    /// The `serverSeq` of the last folded action; before the first action, the `fromSeq` of the snapshot.
    pub seq: u64,
    /// The `serverSeq` up to which the state is known to contain every action of the channel.
    pub known_to: u64,
    /// The line of the snapshot with which the folded state began.
    pub base_line: u64,
    /// The `fromSeq` of the snapshot since which no action of the channel was missed.
    pub since_seq: u64,
    /// The line of the snapshot in `since_seq`. `base_line` may belong to a later snapshot that was compared
    /// successfully.
    pub since_line: u64,
    /// Whether the snapshot in `since_seq` may omit older turns.
    pub windowed: bool,
    /// The line of the last folded action; 0 if no action was folded.
    pub last_line: u64,
    /// The bytes of the state.
    pub kept: KeptBytes,
}

impl ChannelFold {
    /// Counts an action that was applied to the state. Returns `false` if the budget for states is spent, so the state
    /// cannot be kept.
    pub(super) fn grow(&mut self, action: &Value) -> bool {
        self.kept.grow(action.heap_size(), || self.state.heap_size())
    }

    /// Returns the lines that prove a statement about the state and a later line: the snapshot, the last folded
    /// action, and the later line.
    pub(super) fn lines(&self, later: u64) -> [u64; 3] {
        [self.base_line, self.last_line, later]
    }
}

/// A snapshot that cannot be compared until the fold reaches it.
#[derive(Clone)]
pub(super) struct WaitingSnapshot {
    pub seen: Arc<SeenFrame>,
    pub place: SnapshotPlace,
    pub from_seq: u64,
    pub conn: ConnId,
    pub line: u64,
    pub tick: u64,
    /// Whether the host may have omitted older turns from the snapshot.
    pub windowed: bool,
    /// The bytes of the frame while the snapshot waits.
    pub kept: Option<Arc<KeptBytes>>,
}

/// The place of a snapshot in a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SnapshotPlace {
    /// `result.snapshot`.
    Single,
    /// The result itself, as some documents of version 0.1.0 show.
    Bare,
    /// `result.snapshots[i]`.
    Listed(usize),
}

impl SnapshotPlace {
    /// Returns the snapshot at this place of a response.
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

/// Every channel that a message has named.
#[derive(Default)]
pub(super) struct ChannelRecords {
    by_uri: foldhash::HashMap<Arc<str>, ChannelId>,
    all: Vec<ChannelRecord>,
    /// The total length of all URIs, in bytes.
    bytes: usize,
    /// The channel at which [`ChannelRecords::next_few`] continues.
    hand: usize,
}

impl ChannelRecords {
    /// Returns the channel of a URI, and creates the channel if it is new; `None` if [`MAX_CHANNELS`] or
    /// [`MAX_URI_BYTES`] is reached.
    #[inline]
    pub(super) fn intern(&mut self, uri: &str) -> Option<ChannelId> {
        let uri = canonical(uri);
        if let Some(id) = self.by_uri.get(uri) {
            return Some(*id);
        }
        let bytes = self.bytes.saturating_add(uri.len());
        if self.all.len() >= MAX_CHANNELS || bytes > MAX_URI_BYTES {
            return None;
        }
        let id = ChannelId(u32::try_from(self.all.len()).ok()?);
        let uri: Arc<str> = uri.into();
        self.all.push(ChannelRecord::new(uri.clone()));
        self.by_uri.insert(uri, id);
        self.bytes = bytes;
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

    /// Records that a session owns a chat, and removes the chat from its previous owner.
    pub(super) fn own(&mut self, session: ChannelId, chat: ChannelId) {
        let before = self.get(chat).and_then(|channel| channel.owner);
        if before == Some(session) {
            return;
        }
        if let Some(before) = before.and_then(|id| self.get_mut(id)) {
            before.chats.remove(&chat);
        }
        if let Some(channel) = self.get_mut(chat) {
            channel.owner = Some(session);
            channel.moving = false;
        }
        if let Some(channel) = self.get_mut(session) {
            channel.chats.insert(chat);
        }
    }

    /// Records the chats in a session's summary, except chats with a known owner: a delayed summary may list a
    /// chat that was moved.
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

    /// Returns the ids of all channels.
    pub(super) fn ids(&self) -> impl Iterator<Item = ChannelId> {
        (0..u32::try_from(self.all.len()).unwrap_or(u32::MAX)).map(ChannelId)
    }

    /// Returns a few channels; each call continues where the previous call ended.
    pub(super) fn next_few(&mut self) -> impl Iterator<Item = &mut ChannelRecord> {
        const FEW: usize = 64;
        let from = if self.hand < self.all.len() { self.hand } else { 0 };
        self.hand = from + FEW;
        self.all.iter_mut().skip(from).take(FEW)
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
            chats: BTreeSet::new(),
            moving: false,
            disposed: None,
            doubtful_until: 0,
        }
    }

    /// Inserts a `serverSeq` into the ascending list `recent`. The new number is nearly always the highest.
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

    /// Returns the `serverSeq` numbers in `recent` that are above `after` and below `before`, descending.
    #[inline]
    pub(super) fn between(&self, after: u64, before: u64) -> impl Iterator<Item = u64> {
        self.through(after, before.saturating_sub(1))
    }

    /// Returns the `serverSeq` numbers in `recent` that are above `after` and not above `last`, descending. The end is
    /// inclusive, because a hostile host may send the highest possible number.
    #[inline]
    pub(super) fn through(&self, after: u64, last: u64) -> impl Iterator<Item = u64> {
        let newest_first = self.recent.iter().rev().copied();
        newest_first.skip_while(move |seq| *seq > last).take_while(move |seq| *seq > after)
    }

    /// Removes everything except the kind, after a restart of the host.
    pub(super) fn reset(&mut self) {
        *self = ChannelRecord {
            kind: self.kind,
            kind_line: self.kind_line,
            ..ChannelRecord::new(self.uri.clone())
        };
    }

    /// Drops the folded state, because the next state of the channel is unknown.
    pub(super) fn lose(&mut self) {
        self.fold = None;
        self.waiting.clear();
        self.rejected.clear();
    }
}

/// Maps the names that the root channel has in different versions to one name.
pub(super) fn canonical(uri: &str) -> &str {
    if uri == OLD_ROOT { ROOT } else { uri }
}

/// Returns the kind of channel that the scheme of a URI proves. Hosts may choose any scheme for terminals,
/// chats and changesets.
pub(super) fn kind_of_scheme(uri: &str) -> Option<ChannelKind> {
    let kind = ChannelKind::promised_by(uri)?;
    let certain = match kind {
        ChannelKind::Root => uri == ROOT,
        ChannelKind::Chat | ChannelKind::Changeset => false,
        _ => true,
    };
    certain.then_some(kind)
}

/// The members by which a state shows the kind of its channel.
const TELLING: &[(ChannelKind, &[(&str, TellingShape)])] = {
    use ChannelKind::*;
    use TellingShape::{List, Object, Text, Truth};
    &[
        (AutomationRun, &[("automation", Text), ("lifecycle", Object)]),
        (Session, &[("lifecycle", Text), ("chats", List)]),
        // Up to 0.3.0, the turns are in the session itself.
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

/// The JSON type that a member in [`TELLING`] must have.
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

/// Returns the kind of a channel that its state proves. The URI
/// decides only for the root channel.
pub(super) fn folded_kind(uri: &str, state: &Value, protocol: &Protocol) -> Option<ChannelKind> {
    if uri == ROOT {
        return Some(ChannelKind::Root);
    }
    let has =
        |(name, shape): &(&str, TellingShape)| state.get(name).is_some_and(|it| shape.is_of(it));
    let kind = TELLING.iter().find(|(_, members)| members.iter().all(has)).map(|(kind, _)| *kind);
    kind.filter(|kind| *kind != ChannelKind::Chat || protocol.has(ProtocolFeature::Chats))
}

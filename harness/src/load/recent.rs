//! The recent frames of a load, and the first frames of each open connection. The capture of a finding is made from
//! these frames.
//!
//! Memory is bounded: the recent frames by [`MAX_RECENT`] bytes, the first frames of one connection by [`MAX_HEAD`]
//! bytes, and the first frames of all connections by [`MAX_HEADS`] bytes.
//!
//! Knows: frames as text. Never knows: the meaning of frames.
//!
//! Start at [`RecentFrames`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::wire::frame::Frame;

use super::greetings::ClientGreetings;

/// The maximum number of bytes of recent frames.
pub const MAX_RECENT: usize = 48 << 20;
/// The maximum number of bytes of the first frames of one connection.
pub const MAX_HEAD: usize = 128 << 10;
/// The maximum number of bytes of the first frames of all connections together.
pub const MAX_HEADS: usize = 32 << 20;
/// The maximum number of first frames of a connection. They include the handshake, the tokens, two subscriptions, and
/// their answers.
const HEAD_FRAMES: usize = 24;
/// The memory that a kept entry needs in addition to its text, in bytes.
const OVERHEAD: usize = 160;

/// A kept event. The decoded content is not kept, because it would need about fifteen times the memory.
#[derive(Clone, Debug)]
enum KeptEvent {
    Open(String),
    Sent(Arc<Frame>),
    Received(Arc<Frame>),
    Closed(ClosingSide, Option<u16>, String),
    /// Frames of the connection are missing here.
    Gap,
    /// The host was restarted, which concerns every connection.
    Restarted,
}

/// A kept entry of the transcript.
#[derive(Clone, Debug)]
pub struct KeptEntry {
    /// The line of the entry in the transcript of the whole load.
    pub line: u64,
    /// The connection of the entry.
    pub conn: ConnId,
    at: Duration,
    event: KeptEvent,
}

impl KeptEntry {
    /// Returns the entry without its decoded content; `None` for events that are not kept.
    pub fn of(entry: &TranscriptEntry) -> Option<KeptEntry> {
        let event = match &entry.event {
            ConnectionEvent::Open { client, .. } => KeptEvent::Open(client.clone()),
            ConnectionEvent::Sent(seen) => KeptEvent::Sent(Arc::clone(&seen.frame)),
            ConnectionEvent::Received(seen) => KeptEvent::Received(Arc::clone(&seen.frame)),
            ConnectionEvent::Closed { by, code, reason } => {
                KeptEvent::Closed(*by, *code, reason.clone())
            }
            ConnectionEvent::Restarted => KeptEvent::Restarted,
            _ => return None,
        };
        Some(KeptEntry { line: entry.line, conn: entry.conn, at: entry.at, event })
    }

    /// Returns the entry with its decoded content.
    pub fn entry(&self) -> TranscriptEntry {
        let seen = |frame: &Arc<Frame>| Arc::new(SeenFrame::again(Arc::clone(frame)));
        let event = match &self.event {
            KeptEvent::Open(client) => ConnectionEvent::open(client.clone()),
            KeptEvent::Sent(frame) => ConnectionEvent::Sent(seen(frame)),
            KeptEvent::Received(frame) => ConnectionEvent::Received(seen(frame)),
            KeptEvent::Closed(by, code, reason) => {
                ConnectionEvent::Closed { by: *by, code: *code, reason: reason.clone() }
            }
            KeptEvent::Gap => ConnectionEvent::Gap { by: ClosingSide::Host },
            KeptEvent::Restarted => ConnectionEvent::Restarted,
        };
        TranscriptEntry { line: self.line, at: self.at, conn: self.conn, event }
    }

    /// Returns the size of the frame in bytes; 0 if the entry is not a frame.
    pub fn len(&self) -> usize {
        match &self.event {
            KeptEvent::Sent(frame) | KeptEvent::Received(frame) => frame.len(),
            _ => 0,
        }
    }

    /// Returns whether the entry is not a frame, or is a frame without content.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The first frames of a connection.
#[derive(Default)]
struct ConnectionHead {
    entries: Vec<KeptEntry>,
    bytes: usize,
    /// Whether the head is full: it has the maximum number of frames or bytes.
    full: bool,
}

/// The recent frames, and the first frames of each open connection.
#[derive(Default)]
pub struct RecentFrames {
    recent: VecDeque<KeptEntry>,
    bytes: usize,
    heads: BTreeMap<ConnId, ConnectionHead>,
    head_bytes: usize,
    greetings: ClientGreetings,
}

impl RecentFrames {
    /// Keeps an entry.
    pub fn keep(&mut self, entry: &TranscriptEntry) {
        let Some(kept) = KeptEntry::of(entry) else { return };
        self.greetings.read(entry);
        let is_restart = matches!(kept.event, KeptEvent::Restarted);
        let head = self.heads.entry(entry.conn).or_default();
        if !head.full && !is_restart {
            head.full = head.entries.len() >= HEAD_FRAMES
                || head.bytes + kept.len() > MAX_HEAD
                || self.head_bytes + kept.len() > MAX_HEADS;
            if !head.full {
                head.bytes += kept.len();
                self.head_bytes += kept.len();
                head.entries.push(kept.clone());
            }
        }
        self.bytes += kept.len() + OVERHEAD;
        self.recent.push_back(kept);
        while self.bytes > MAX_RECENT {
            let Some(old) = self.recent.pop_front() else { break };
            self.bytes -= old.len() + OVERHEAD;
            // When the last recent frame of a closed connection is dropped, the connection's first frames are dropped, too.
            if matches!(old.event, KeptEvent::Closed(..))
                && let Some(head) = self.heads.remove(&old.conn)
            {
                self.head_bytes -= head.bytes;
                self.greetings.forget(old.conn);
            }
        }
    }

    /// Returns the kept entries, in order, of the connections that `wanted` accepts. The result contains at most `most`
    /// bytes of recent frames, in addition to the first frames of each connection. The second value states whether
    /// frames of these connections are missing.
    pub fn of(&self, wanted: impl Fn(ConnId) -> bool, most: usize) -> (Vec<KeptEntry>, bool) {
        let is_wanted =
            |it: &&KeptEntry| wanted(it.conn) || matches!(it.event, KeptEvent::Restarted);
        let mut bytes = 0;
        let latest = self.recent.iter().rev().filter(is_wanted).take_while(|it| {
            bytes += it.len() + OVERHEAD;
            bytes <= most
        });
        let mut entries: Vec<KeptEntry> = latest.cloned().collect();
        entries.reverse();
        let begin = entries.first().map_or(u64::MAX, |it| it.line);
        let mut gap = false;
        let mut all = Vec::new();
        for (_, head) in self.heads.iter().filter(|(conn, _)| wanted(**conn)) {
            all.extend(head.entries.iter().filter(|it| it.line < begin).cloned());
            // If the first frames reached their limit before the recent frames begin, the frames in between are
            // missing.
            if let Some(last) = head.entries.last().filter(|it| head.full && it.line < begin) {
                gap = true;
                all.push(KeptEntry { event: KeptEvent::Gap, ..last.clone() });
            }
        }
        let conns: BTreeSet<ConnId> = entries.iter().chain(&all).map(|it| it.conn).collect();
        all.extend(entries);
        let known: BTreeSet<u64> = all.iter().map(|it| it.line).collect();
        let earlier = conns.iter().flat_map(|conn| self.greetings.before(*conn));
        let earlier: Vec<_> = earlier.filter(|it| !known.contains(&it.line)).cloned().collect();
        all.extend(earlier);
        // Two entries with the same line are a frame and the gap after the frame. Their order is kept.
        all.sort_by_key(|it| it.line);
        (all, gap)
    }

    /// Returns the kept entry of this line.
    pub fn line(&self, line: u64) -> Option<&KeptEntry> {
        let place = self.recent.partition_point(|it| it.line < line);
        self.recent.get(place).filter(|it| it.line == line).or_else(|| {
            self.heads.values().flat_map(|head| &head.entries).find(|it| it.line == line)
        })
    }

    /// Returns the number of bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes + self.head_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(frames: &mut RecentFrames, line: u64, conn: u32, length: usize) {
        let text = format!("{:width$}", line, width = length);
        let seen = Arc::new(SeenFrame::new(Frame::Text(text)));
        let event = ConnectionEvent::Received(seen);
        frames.keep(&TranscriptEntry { line, at: Duration::ZERO, conn: ConnId(conn), event });
    }

    #[test]
    fn keeps_the_first_and_the_last_frames_of_a_connection_within_bounds() {
        let mut frames = RecentFrames::default();
        for line in 1..=3_000 {
            put(&mut frames, line, (line % 2) as u32, 60_000);
        }
        assert!(frames.bytes() <= MAX_RECENT + MAX_HEADS);
        let (entries, gap) = frames.of(|conn| conn == ConnId(1), 1 << 20);
        assert!(gap);
        assert_eq!(entries.first().map(|it| it.line), Some(1));
        assert_eq!(entries.last().map(|it| it.line), Some(2_999));
        assert!(entries.iter().all(|it| it.conn == ConnId(1)));
        assert!(entries.len() < 30, "{}", entries.len());
    }

    #[test]
    fn nothing_is_missing_of_a_short_connection() {
        let mut frames = RecentFrames::default();
        (1..=50).for_each(|line| put(&mut frames, line, 3, 10));
        let (entries, gap) = frames.of(|_| true, 1 << 20);
        assert_eq!((entries.len(), gap), (50, false));
        assert_eq!(frames.line(7).map(|it| it.line), Some(7));
        assert!(frames.line(51).is_none());
    }
}

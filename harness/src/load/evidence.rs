//! Makes a capture that proves a finding, and reduces the capture to the frames that are needed for the finding.
//!
//! The unreduced capture has all kept frames of the connections to which the lines of evidence (the lines that prove
//! the finding) belong, and of the connections that share a channel with these lines. A part is removed only if the
//! reduced capture still has the same finding: the same check, proved by the same frames. The parts are whole
//! connections, all frames of a channel on a connection, requests with their responses, and the frames before a time.
//! Single actions of a channel are never removed, because the capture would then look as if the host had not sent them.
//!
//! Knows: kept frames, the oracle. Never knows: files.
//!
//! Start at [`capture`] and [`reduce`].

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::oracle::{Oracle, OracleOptions};
use crate::transcript::{ConnId, ConnectionEvent, TranscriptEntry};
use crate::verdict::Finding;
use crate::wire::json::Value;
use crate::wire::message::{Message, is_handshake};
use crate::wire::version::Version;

use super::recent::{KeptEntry, RecentFrames};

/// The maximum number of bytes of recent frames in a capture.
const MAX_CAPTURE: usize = 4 << 20;
/// The maximum number of times that a capture is judged while it is reduced.
const MAX_TRIES: usize = 400;
/// The maximum number of frames that are judged while a capture is reduced.
const MAX_JUDGED: usize = 2_000_000;

/// The frames that prove a finding.
#[derive(Clone, Debug, Default)]
pub struct LoadEvidence {
    /// The entries, in order. Their line numbers are the numbers in the transcript of the whole load.
    pub entries: Vec<KeptEntry>,
    /// Whether frames of these connections are missing, because too many other frames had to be kept.
    pub gap: bool,
    /// Whether an oracle that reads only these entries reports the same finding; `None` if this was not tested.
    pub shows: Option<bool>,
    /// The version that the oracle has to assume for connections whose handshake is missing, so that it reports the
    /// finding.
    pub assumed: Option<Version>,
}

impl LoadEvidence {
    /// Returns the size of the frames in bytes.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(KeptEntry::len).sum()
    }
}

/// Returns the unreduced capture of a finding.
pub fn capture(recent: &RecentFrames, finding: &Finding) -> LoadEvidence {
    let proofs: Vec<&KeptEntry> =
        finding.lines.iter().filter_map(|line| recent.line(*line)).collect();
    let mut wanted: HashSet<ConnId> = proofs.iter().map(|it| it.conn).collect();
    // Connections that share a channel with the lines of evidence have received the same actions.
    let channels: BTreeSet<String> = proofs
        .iter()
        .filter_map(|it| channel_of(&it.entry()))
        .filter(|uri| !is_root(uri))
        .collect();
    if !channels.is_empty() {
        let (entries, _) = recent.of(|_| true, MAX_CAPTURE);
        let shares = entries.iter().filter(|it| {
            !wanted.contains(&it.conn)
                && channel_of(&it.entry()).is_some_and(|uri| channels.contains(&uri))
        });
        let shares: Vec<ConnId> = shares.map(|it| it.conn).collect();
        wanted.extend(shares);
    }
    let (entries, gap) = recent.of(|conn| wanted.contains(&conn), MAX_CAPTURE);
    LoadEvidence { entries, gap, ..LoadEvidence::default() }
}

/// Reduces a capture to the parts that are needed for the finding. `version` is the version of connections
/// whose handshake is missing.
pub fn reduce(
    evidence: &LoadEvidence,
    finding: &Finding,
    version: Option<Version>,
) -> LoadEvidence {
    let entries: Vec<TranscriptEntry> = evidence.entries.iter().map(KeptEntry::entry).collect();
    let mut reduction = CaptureReduction {
        entries,
        kept: vec![true; evidence.entries.len()],
        finding,
        assumed: None,
        tries: MAX_TRIES,
        judged: 0,
    };
    let whole = reduction.kept.clone();
    if !reduction.shows(&whole) {
        reduction.assumed = version;
        if version.is_none() || !reduction.shows(&whole) {
            return LoadEvidence { shows: Some(false), ..evidence.clone() };
        }
    }
    reduction.connections();
    reduction.channels();
    reduction.requests();
    reduction.beginning();
    let kept = evidence.entries.iter().zip(&reduction.kept).filter(|(_, kept)| **kept);
    LoadEvidence {
        entries: kept.map(|(entry, _)| entry.clone()).collect(),
        gap: evidence.gap,
        shows: Some(true),
        assumed: reduction.assumed,
    }
}

fn is_root(uri: &str) -> bool {
    uri.starts_with("ahp-root:") || uri.starts_with("agenthost:")
}

fn message_of(entry: &TranscriptEntry) -> Option<&Message> {
    match &entry.event {
        ConnectionEvent::Sent(seen) | ConnectionEvent::Received(seen) => seen.message(),
        _ => None,
    }
}

/// Returns the channel of a frame; responses have none.
fn channel_of(entry: &TranscriptEntry) -> Option<String> {
    let message = message_of(entry)?;
    message.params()["channel"].as_str().map(str::to_owned)
}

/// A capture that is being reduced.
struct CaptureReduction<'a> {
    entries: Vec<TranscriptEntry>,
    kept: Vec<bool>,
    finding: &'a Finding,
    assumed: Option<Version>,
    tries: usize,
    judged: usize,
}

impl CaptureReduction<'_> {
    /// Returns whether these entries reproduce the finding: the same check, with the same lines of evidence.
    fn shows(&mut self, kept: &[bool]) -> bool {
        let count = kept.iter().filter(|kept| **kept).count();
        if self.tries == 0 || self.judged + count > MAX_JUDGED {
            return false;
        }
        self.tries -= 1;
        self.judged += count;
        let options = OracleOptions {
            foreign: true,
            assume_version: self.assumed,
            ..OracleOptions::default()
        };
        let mut oracle = Oracle::new(options);
        let is_same =
            |it: &Finding| it.check == self.finding.check && it.lines == self.finding.lines;
        for (entry, _) in self.entries.iter().zip(kept).filter(|(_, kept)| **kept) {
            if oracle.observe(entry).iter().any(is_same) {
                return true;
            }
        }
        oracle.finish_with_findings().1.iter().any(is_same)
    }

    /// Tries to remove the entries whose index `part` accepts, and returns whether the capture without them still has
    /// the finding.
    fn remove(&mut self, part: impl Fn(usize) -> bool) -> bool {
        let proof = |at: usize| self.finding.lines.contains(&self.entries[at].line);
        let mut kept = self.kept.clone();
        let mut removed = 0;
        for (at, kept) in kept.iter_mut().enumerate().filter(|(at, kept)| **kept && part(*at)) {
            if proof(at) {
                return false;
            }
            *kept = false;
            removed += 1;
        }
        let shows = removed > 0 && self.shows(&kept);
        if shows {
            self.kept = kept;
        }
        shows
    }

    /// Tries to remove all parts in a list from the capture at once. If this fails, does the same with each half of the
    /// list.
    fn halves<T: Ord + Clone>(&mut self, parts: &[T], of: &BTreeMap<usize, T>) {
        if parts.is_empty() {
            return;
        }
        let chosen: BTreeSet<T> = parts.iter().cloned().collect();
        let gone = self.remove(|at| of.get(&at).is_some_and(|part| chosen.contains(part)));
        if !gone && parts.len() > 1 {
            let (first, second) = parts.split_at(parts.len() / 2);
            self.halves(first, of);
            self.halves(second, of);
        }
    }

    fn by_part<T: Ord + Clone>(&mut self, part: impl Fn(&TranscriptEntry) -> Option<T>) {
        let of: BTreeMap<usize, T> = self
            .entries
            .iter()
            .enumerate()
            .filter(|(at, _)| self.kept[*at])
            .filter_map(|(at, entry)| Some((at, part(entry)?)))
            .collect();
        let parts: BTreeSet<T> = of.values().cloned().collect();
        let parts: Vec<T> = parts.into_iter().collect();
        self.halves(&parts, &of);
    }

    fn connections(&mut self) {
        self.by_part(|entry| {
            (!matches!(entry.event, ConnectionEvent::Restarted)).then_some(entry.conn)
        });
    }

    fn channels(&mut self) {
        let answers = self.answers();
        self.by_part(|entry| {
            let channel = channel_of(entry).or_else(|| answers.get(&entry.line)?.1.clone());
            Some((entry.conn, channel?))
        });
    }

    /// Removes requests together with their responses, except handshakes.
    fn requests(&mut self) {
        let answers = self.answers();
        self.by_part(|entry| {
            let message = message_of(entry)?;
            match (message.method(), message.id()) {
                (Some("initialize" | "reconnect"), _) => None,
                (Some(_), Some(_)) => Some(entry.line),
                _ => answers.get(&entry.line).filter(|(.., keeps)| !keeps).map(|(line, ..)| *line),
            }
        });
    }

    /// Removes as much of the beginning of the capture as possible.
    fn beginning(&mut self) {
        let kept: Vec<usize> = (0..self.kept.len()).filter(|at| self.kept[*at]).collect();
        let (mut least, mut most) = (0, kept.len());
        while least + 1 < most {
            let middle = least.midpoint(most);
            let Some(bound) = kept.get(middle).copied() else { break };
            match self.remove(|at| at < bound) {
                true => least = middle,
                false => most = middle,
            }
        }
    }

    /// Returns, for the line of each response, the line of its request, the channel of the request, and whether
    /// the request is a handshake.
    fn answers(&self) -> BTreeMap<u64, (u64, Option<String>, bool)> {
        let mut open: BTreeMap<(ConnId, String), (u64, Option<String>, bool)> = BTreeMap::new();
        let mut answers = BTreeMap::new();
        for entry in &self.entries {
            let Some(message) = message_of(entry) else { continue };
            let Some(id) = message.id().map(Value::to_text) else { continue };
            let sent = matches!(entry.event, ConnectionEvent::Sent(_));
            match message.method() {
                Some(method) if sent => {
                    let channel = message.params()["channel"].as_str().map(str::to_owned);
                    let keeps = is_handshake(method);
                    open.insert((entry.conn, id), (entry.line, channel, keeps));
                }
                None if !sent => {
                    if let Some(asked) = open.remove(&(entry.conn, id)) {
                        answers.insert(entry.line, asked);
                    }
                }
                _ => {}
            }
        }
        answers
    }
}

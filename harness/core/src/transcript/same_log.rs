//! Detects two logs of the same connection, one from each end.
//!
//! Two logs belong to the same connection if each side's messages are equal in both logs, except messages that
//! one log lacks at its beginning or end. Times and names do not matter: the clocks may differ, and each end
//! chooses its own name for the connection.
//!
//! Knows: the content of logs. Never knows: files.
//!
//! Start at [`again`].

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::wire::json::Value;
use crate::wire::message::{DecodedFrame, decode};

use super::logs::{LogItem, LogItemSummary};
use super::{ClosingSide, ConnectionEvent};

/// The digest of a message whose log has only a part of it. This digest is equal to the digest of every message.
const ANY: u64 = 0;
/// Upper bound for the positions in the longer list of messages at which the shorter list is compared with it.
const MAX_PLACES: usize = 64;
/// Upper bound for the pairs of connections that are compared.
const MAX_PAIRS: usize = 10_000_000;

/// The messages of a connection, each as a digest, in both directions.
#[derive(Debug, Default)]
pub(super) struct ConnectionDigest {
    /// The index of the log that contains the connection.
    source: usize,
    /// The first line of the connection.
    pub line: u64,
    /// The times of the first and the last line of the connection.
    span: Option<(i64, i64)>,
    sent: Vec<u64>,
    received: Vec<u64>,
    /// Whether the connection contains an action of the host. If two connections receive the same actions at the same
    /// position, they are the same connection.
    acted: bool,
}

impl ConnectionDigest {
    pub(super) fn add(&mut self, source: usize, item: &LogItem) {
        let (first, _) = self.span.unwrap_or((item.at, item.at));
        if self.span.is_none() {
            (self.source, self.line) = (source, item.line);
        }
        self.span = Some((first, item.at));
        match &item.content {
            LogItemSummary::Message(by, frame) => {
                let list =
                    if *by == ClosingSide::Client { &mut self.sent } else { &mut self.received };
                let mut hasher = DefaultHasher::new();
                match decode(frame) {
                    DecodedFrame::Message(message) => {
                        self.acted |=
                            *by == ClosingSide::Host && message.method() == Some("action");
                        // The program at one end may have removed the token from its log, so the digest does not depend
                        // on the token.
                        let pushes = message.method() == Some("authenticate");
                        digest(message.value(), pushes).hash(&mut hasher);
                    }
                    _ => frame.bytes().hash(&mut hasher),
                }
                list.push(hasher.finish().max(1));
            }
            LogItemSummary::Event(ConnectionEvent::Gap { by: ClosingSide::Client }) => {
                self.sent.push(ANY)
            }
            LogItemSummary::Event(ConnectionEvent::Gap { by: ClosingSide::Host }) => {
                self.received.push(ANY)
            }
            LogItemSummary::Event(_) => {}
        }
    }

    fn len(&self) -> usize {
        self.sent.len() + self.received.len()
    }

    fn overlaps(&self, other: &ConnectionDigest) -> bool {
        let spans = self.span.zip(other.span);
        spans.is_some_and(|(one, other)| one.0 <= other.1 && other.0 <= one.1)
    }

    /// Returns whether two logged connections can be the same connection, judged by the digests of their messages.
    fn agrees(&self, other: &ConnectionDigest) -> bool {
        let sent = contained(&self.sent, &other.sent);
        sent && !self.sent.is_empty() && contained(&self.received, &other.received)
    }
}

/// The reason why the harness cannot decide which connections occur in two logs.
#[derive(Debug)]
pub(super) enum UndecidedReason {
    /// The logs do not show whether these two connections are the same connection.
    Pair(usize, usize),
    /// There are too many pairs to compare.
    TooMany,
}

/// A connection that occurs in two logs.
#[derive(Debug)]
pub(super) struct DuplicateConnection {
    pub shorter: usize,
    /// The copy with more messages, which is kept.
    pub longer: usize,
}

/// Returns the connections that occur in two logs.
///
/// # Errors
/// Returns the reason why the duplicates cannot be determined.
pub(super) fn again(
    digests: &[ConnectionDigest],
    names: &[&str],
) -> Result<Vec<DuplicateConnection>, UndecidedReason> {
    // If two logs show the same connection, both contain the first client message of at least one of the two logs.
    let mut having: HashMap<u64, Vec<usize>> = HashMap::new();
    let firsts: std::collections::HashSet<u64> =
        digests.iter().filter_map(|it| it.sent.first()).copied().filter(|it| *it != ANY).collect();
    for (index, it) in digests.iter().enumerate() {
        let mut known: Vec<u64> =
            it.sent.iter().copied().filter(|it| firsts.contains(it)).collect();
        known.sort_unstable();
        known.dedup();
        known.into_iter().for_each(|key| having.entry(key).or_default().push(index));
    }
    let mut left_out = vec![false; digests.len()];
    let mut found = Vec::new();
    let mut pairs = 0;
    for (one, it) in digests.iter().enumerate() {
        let others = it.sent.first().and_then(|first| having.get(first));
        for &other in others.into_iter().flatten().filter(|other| **other != one) {
            pairs += 1;
            if pairs > MAX_PAIRS {
                return Err(UndecidedReason::TooMany);
            }
            let with = &digests[other];
            if with.source == it.source || left_out[one] || left_out[other] {
                continue;
            }
            let together = it.overlaps(with);
            if it.agrees(with) {
                if together || (it.acted && with.acted) {
                    // The copy with more messages is kept. If both have the same number, the first copy is
                    // kept.
                    let other_is_shorter = (with.len(), one) < (it.len(), other);
                    let (shorter, longer) =
                        if other_is_shorter { (other, one) } else { (one, other) };
                    left_out[shorter] = true;
                    found.push(DuplicateConnection { shorter, longer });
                }
            } else if together && names[one] == names[other] {
                return Err(UndecidedReason::Pair(one.min(other), one.max(other)));
            }
        }
    }
    Ok(found)
}

/// Returns whether the longer list contains the shorter list as a contiguous part.
fn contained(one: &[u64], other: &[u64]) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let same = |one: u64, other: u64| one == other || one == ANY || other == ANY;
    let Some(first) = short.first() else { return true };
    let places = (0..=long.len() - short.len()).filter(|at| same(*first, long[*at]));
    let equal = |at: usize| short.iter().zip(&long[at..]).all(|(one, other)| same(*one, *other));
    places.take(MAX_PLACES).any(equal)
}

/// Returns a hash of a value that does not depend on the order of members. The depth of values is limited by
/// decoding.
fn digest(value: &Value, without_token: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| !(without_token && *name == "token"));
            let sum = members.fold(1_u64, |sum, (name, member)| {
                let mut hasher = DefaultHasher::new();
                name.as_bytes().hash(&mut hasher);
                digest(member, without_token).hash(&mut hasher);
                sum.wrapping_add(hasher.finish())
            });
            sum.hash(&mut hasher);
        }
        Value::Array(items) => {
            items.iter().for_each(|item| digest(item, without_token).hash(&mut hasher));
            items.len().hash(&mut hasher);
        }
        plain => plain.to_text().hash(&mut hasher),
    }
    hasher.finish()
}

//! Connections: their clients, their open requests, their subscriptions.
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

use super::budget::{KeptBytes, short};
use super::channel::ChannelId;

/// Upper bound for the open requests of one connection. Above this bound, no missing answer is reported.
pub(super) const MAX_OPEN: usize = 4_096;
/// Upper bound for the answered ids that are kept, to distinguish a second answer to a request from an answer without a
/// request.
const MAX_ANSWERED: usize = 1_024;

/// Upper bound for the bytes of the ids of all clients.
const MAX_CLIENT_BYTES: usize = 4 << 20;

/// The record of one connection.
#[derive(Default)]
pub(super) struct ConnectionRecord {
    /// Whether the transcript shows how the connection was opened.
    pub opened: bool,
    pub closed: bool,
    /// Whether the transcript lacks some frames of the connection.
    pub gap: bool,
    /// Whether the version is an assumption, because a capture may begin in the middle of the connection.
    pub assumed: bool,
    /// Whether the host was restarted while the connection was open, which makes the `serverSeq` numbers of the
    /// connection meaningless.
    pub stale: bool,
    /// The line of the `initialize` or `reconnect` request; 0 if the transcript has neither.
    pub handshake_line: u64,
    /// Whether the handshake succeeded: its answer names a version, or resumes the connection.
    pub shaken: bool,
    pub client_id: Option<Arc<str>>,
    pub version: Option<Version>,
    pub protocol: Option<&'static Protocol>,
    /// Whether the answer to the handshake names no known version, so the tables of the offered version apply.
    pub guessed: bool,
    /// The `serverSeq` in the answer to the handshake, and its line.
    pub welcome: Option<(u64, u64)>,
    /// The `serverSeq` of the last accepted action that the connection received, and its line.
    pub last: Option<(u64, u64)>,
    /// The last `serverSeq` that the connection received, also from a rejection, and its line.
    pub last_any: Option<(u64, u64)>,
    pub requests: HashMap<String, VecDeque<OpenRequest>>,
    pub open: usize,
    pub overflow: bool,
    pub host_requests: HashMap<String, u64>,
    pub answered: VecDeque<(String, u64)>,
    /// The fence: the entry at which the client sent the newest request that was answered. Everything that the host
    /// owed the client at that entry has arrived.
    pub fence: u64,
    /// The number of unreadable frames of the client. The host may answer each with any id.
    pub odd: usize,
    /// Whether the client has sent a frame that a tolerant host may have read as a subscription.
    pub vague: bool,
    pub subs: LiteMap<ChannelId, SubscriptionRecord>,
    /// The channels on which the host may send nothing more: the client has unsubscribed, and the host has since
    /// answered a later request or echoed a later dispatch.
    pub left: HashSet<ChannelId>,
    /// Whether the client has unsubscribed from a channel on which messages may still be in transit.
    pub leaving: bool,
    /// The highest `clientSeq` that the client has sent.
    pub client_seq: Option<i64>,
    /// The `clientSeq` of the first dispatch that the client sent while `leaving` was set, and the entry of that
    /// dispatch.
    pub proof_of_leaving: Option<(i64, u64)>,
    /// The last `serverSeq` that was received on each channel before its subscription was confirmed.
    pub early: HashMap<ChannelId, u64>,
    /// The channels that a successful replay listed as missing, each with the line of the answer.
    pub missing: HashMap<ChannelId, u64>,
}

/// A request without an answer so far.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    pub method: String,
    pub seen: Arc<SeenFrame>,
    /// The bytes of the request; `None` if the budget had not so many, so the request is not kept.
    pub kept: Option<Arc<KeptBytes>>,
    pub line: u64,
    pub at: Duration,
    /// The entry at which the request was sent.
    pub tick: u64,
    /// The highest `serverSeq` of the accepted actions that any connection had received when the request was sent, and
    /// the line of this action.
    pub floor: Option<(u64, u64)>,
    /// The highest `serverSeq` that the host had stated in any message when the request was sent, and the line of this
    /// message.
    pub counter: Option<(u64, u64)>,
    /// Whether the host has to answer the request. A host need not answer a malformed request.
    pub sound: bool,
    /// The entry and the line at which the client unsubscribed before this request for a subscription was
    /// answered.
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
    /// The `fromSeq`: only actions with a higher `serverSeq` may arrive. `None` if it is unknown.
    pub from_seq: Option<u64>,
    /// The highest `serverSeq` that the host had stated in any message when the client requested the subscription, and
    /// its line. The snapshot includes all actions up to this number. `None` if the subscription did not begin with a
    /// snapshot.
    pub counter: Option<(u64, u64)>,
    /// The last `serverSeq` that was received on the channel.
    pub last: u64,
    /// The line of the answer that confirmed the subscription.
    pub line: u64,
    /// The entry at which the subscription was confirmed.
    pub tick: u64,
    /// Whether the host has to deliver actions. If this is `false`, the host may deliver actions but does not have to.
    pub certain: bool,
    /// Whether the host may merge actions of this subscription.
    pub merged: bool,
    /// The entry and the line at which the client sent the unsubscribe.
    pub ending: Option<(u64, u64)>,
    /// The entry at which the client requested the replay that began the subscription; `None` if there was no replay,
    /// or once a live action has arrived.
    pub replayed: Option<u64>,
}

impl SubscriptionRecord {
    /// Creates a subscription on which the host may deliver actions, but does not have to deliver them.
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

    /// Returns the `serverSeq` after which the host has to deliver every action unmerged; `None` if the host does not
    /// have to deliver anything unmerged.
    pub(super) fn complete_from(&self) -> Option<u64> {
        let complete = self.certain && !self.merged && self.ending.is_none();
        self.from_seq.filter(|_| complete)
    }
}

/// The ids of the clients, each kept once.
#[derive(Default)]
pub(super) struct ClientIds {
    all: HashSet<Arc<str>>,
    /// The total length of all ids, in bytes.
    bytes: usize,
}

impl ClientIds {
    /// Returns the kept id; `None` if [`MAX_CLIENT_BYTES`] is reached. The client then counts as one that gave no id.
    pub(super) fn intern(&mut self, id: &str) -> Option<Arc<str>> {
        if let Some(known) = self.all.get(id) {
            return Some(known.clone());
        }
        let bytes = self.bytes.saturating_add(id.len());
        if bytes > MAX_CLIENT_BYTES {
            return None;
        }
        let id: Arc<str> = id.into();
        self.all.insert(id.clone());
        self.bytes = bytes;
        Some(id)
    }

    /// Returns the kept id of a client that has connected.
    pub(super) fn find(&self, id: &str) -> Option<&Arc<str>> {
        self.all.get(id)
    }
}

/// Converts the id of a message to a key for maps. The ids `2` and `2.0` have the same key. Ids of types that JSON-RPC
/// does not permit also have keys.
pub(super) fn id_key(id: &Value) -> String {
    // Ids are kept, and a hostile host or client may choose an id of any length.
    short(&whole_key(id)).into_owned()
}

fn whole_key(id: &Value) -> String {
    match id {
        Value::Array(items) => {
            let keys: Vec<String> = items.iter().map(whole_key).collect();
            return format!("[{}]", keys.join(","));
        }
        Value::Object(members) => {
            let member = |(name, value)| format!("{}:{}", Value::from(name), whole_key(value));
            let mut keys: Vec<String> =
                members.iter().map(|(name, value)| member((name.as_str(), value))).collect();
            keys.sort_unstable();
            return format!("{{{}}}", keys.join(","));
        }
        _ => {}
    }
    match (id.as_u64(), id.as_i64()) {
        (Some(number), _) => number.to_string(),
        (None, Some(number)) => number.to_string(),
        (None, None) => id.to_string(),
    }
}

impl ConnectionRecord {
    /// Returns whether events before the first entry of the transcript may affect this connection.
    pub(super) fn partial(&self) -> bool {
        !self.opened || (self.assumed && self.handshake_line == 0)
    }

    /// Records a frame of the client that is not a message, and the number of answers that the host may send to it.
    pub(super) fn sent_unreadable(&mut self, answers: usize) {
        self.odd += answers;
        self.vague = true;
    }

    pub(super) fn ask(&mut self, id: &Value, request: OpenRequest) {
        if self.open >= MAX_OPEN || request.kept.is_none() {
            self.overflow = true;
            // The request may be one for a subscription.
            self.vague = true;
            return;
        }
        self.open += 1;
        self.requests.entry(id_key(id)).or_default().push_back(request);
    }

    /// Removes and returns the open request with this id; `None` if there is none.
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

    /// Returns the line of an earlier answer with this id.
    pub(super) fn answered_before(&self, id: &Value) -> Option<u64> {
        let key = id_key(id);
        let known = self.answered.iter().rev().find(|(answered, _)| *answered == key);
        known.map(|(_, line)| *line)
    }

    /// Returns the requests without an answer so far, in arbitrary order.
    pub(super) fn open_requests(&self) -> impl Iterator<Item = &OpenRequest> {
        self.requests.values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn keys_of_ids_do_not_depend_on_the_notation_of_numbers() {
        let read = |text: &str| Value::read(text).unwrap();
        assert_eq!(id_key(&json!(2)), id_key(&read("2.0e0")));
        assert_eq!(id_key(&json!([17, "a"])), id_key(&read("[1.7e1,\"a\"]")));
        assert_eq!(id_key(&json!({"a": 1, "b": [2]})), id_key(&read("{\"b\":[2.0],\"a\":1e0}")));
        assert_ne!(id_key(&json!([1])), id_key(&json!([2])));
        assert_ne!(id_key(&json!("2")), id_key(&json!(2)));
    }
}

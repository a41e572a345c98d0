//! Maintains subscriptions: each begins with the answer to a request, and ends with a fence.
//!
//! A fence is the answer to a request that the client sent after the `unsubscribe`. When the fence arrives, everything
//! that the host sent before it processed the `unsubscribe` has arrived.
//!
//! Knows: the context. Never knows: rules.

use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::{ConnId, SeenFrame};

use super::channel::{ChannelId, SnapshotPlace, canonical};
use super::connection::{OpenRequest, SubscriptionRecord};
use super::context::{OracleContext, StepEmitter};
use super::envelope::{DispatchOrigin, channel_of, target};
use super::step::OracleStep;

/// The origin of a snapshot: the request that the host answers, and the place in the answer.
pub(super) struct SnapshotArrival<'a> {
    pub seen: &'a Arc<SeenFrame>,
    pub place: SnapshotPlace,
    pub request: &'a OpenRequest,
    /// Whether the host may have omitted older turns from the snapshot.
    pub windowed: bool,
}

impl OracleContext {
    /// Handles a successful `initialize`, each of whose snapshots begins a subscription.
    pub(super) fn initialized(
        &mut self,
        seen: &Arc<SeenFrame>,
        request: &OpenRequest,
        result: &Value,
        emit: StepEmitter<'_>,
    ) {
        self.superseded();
        let counter = result.get("serverSeq").and_then(Value::as_u64);
        self.here_mut().welcome = counter.map(|seq| (seq, self.now.line));
        counter.into_iter().for_each(|seq| self.counted(seq));
        let wanted = uris(request.params().get("initialSubscriptions"));
        self.listed(seen, request, result, &wanted, emit);
    }

    /// Reads the list `result.snapshots`. If the list has no snapshot of a requested channel, the channel has no state
    /// or does not exist.
    fn listed(
        &mut self,
        seen: &Arc<SeenFrame>,
        request: &OpenRequest,
        result: &Value,
        wanted: &[&str],
        emit: StepEmitter<'_>,
    ) {
        let snapshots = result.get("snapshots").and_then(Value::as_array);
        let mut found = foldhash::HashSet::default();
        for (index, snapshot) in snapshots.into_iter().flatten().enumerate() {
            let Some(uri) = snapshot.get("resource").and_then(Value::as_str) else {
                continue;
            };
            found.insert(uri);
            let place = SnapshotPlace::Listed(index);
            let arrival = SnapshotArrival { seen, place, request, windowed: false };
            if let Some(channel) = self.channels.intern(uri) {
                let from_seq = self.snapshot(channel, snapshot, &arrival, emit);
                let mut sub = self.begin(from_seq, from_seq.is_some());
                sub.counter = from_seq.and(request.counter);
                self.enter(channel, sub, request);
            }
        }
        for uri in wanted.iter().filter(|uri| !found.contains(*uri)) {
            if let Some(channel) = self.channels.intern(uri) {
                let sub = self.begin(None, false);
                self.enter(channel, sub, request);
            }
        }
    }

    /// Handles a successful `subscribe`.
    pub(super) fn subscribed(
        &mut self,
        seen: &Arc<SeenFrame>,
        request: &OpenRequest,
        result: &Value,
        emit: StepEmitter<'_>,
    ) {
        let params = request.params();
        let Some(channel) = target(params).and_then(|uri| self.channels.intern(uri)) else {
            return;
        };
        let single = result.get("snapshot").filter(|snapshot| !snapshot.is_null());
        let bare = Some(result).filter(|result| result.get("fromSeq").is_some());
        let snapshot = single.map(|snapshot| (SnapshotPlace::Single, snapshot));
        let mut from_seq = None;
        if let Some((place, snapshot)) = snapshot.or(bare.map(|bare| (SnapshotPlace::Bare, bare))) {
            let windowed = params.get("view").is_some();
            let arrival = SnapshotArrival { seen, place, request, windowed };
            from_seq = self.snapshot(channel, snapshot, &arrival, emit);
        }
        let mut sub = self.begin(from_seq, true);
        sub.counter = from_seq.and(request.counter);
        sub.merged = may_merge(params);
        sub.ending = request.given_up;
        self.enter(channel, sub, request);
    }

    /// Handles a successful `reconnect`.
    pub(super) fn reconnected(
        &mut self,
        seen: &Arc<SeenFrame>,
        request: &OpenRequest,
        result: &Value,
        emit: StepEmitter<'_>,
    ) {
        emit(self, &OracleStep::Reconnected { request, result });
        let conn = self.here_mut();
        // The specification does not say what happens to older subscriptions of the connection.
        for (_, sub) in &mut conn.subs {
            sub.certain = false;
        }
        self.superseded();
        let wanted = uris(request.params().get("subscriptions"));
        let Some(actions) = result.get("actions").and_then(Value::as_array) else {
            self.listed(seen, request, result, &wanted, emit);
            return;
        };
        let seen_to = request.params().get("lastSeenServerSeq").and_then(Value::as_u64);
        let missing: foldhash::HashSet<&str> = uris(result.get("missing")).into_iter().collect();
        let (line, known) = (self.now.line, self.highest.map_or(0, |(seq, _)| seq));
        let mut resumed = Vec::new();
        let mut continued = foldhash::HashMap::default();
        for uri in wanted {
            let Some(channel) = self.channels.intern(uri) else {
                continue;
            };
            if missing.contains(&uri) {
                self.here_mut().missing.insert(channel, line);
            } else {
                // Actions of a replay in another version than the version of the folded state are not folded.
                let protocol = self.here().and_then(|conn| conn.protocol);
                let same = self.folded(channel).zip(protocol);
                let same =
                    same.is_some_and(|(fold, protocol)| std::ptr::eq(fold.protocol, protocol));
                let continues = same && seen_to.is_some_and(|seq| seq <= self.known_to(channel));
                resumed.push((channel, continues));
                continued.entry(channel).or_insert(continues);
            }
        }
        let mut last = seen_to.filter(|seq| *seq <= known);
        for (index, value) in actions.iter().enumerate() {
            let uri = value.get("action").and_then(|action| channel_of(value, action));
            let channel = uri.and_then(|uri| self.channels.find(uri));
            let continues = channel.and_then(|id| continued.get(&id)).copied().unwrap_or_default();
            self.deliver(seen, Some(index), value, continues, emit);
            last = last.max(value.get("serverSeq").and_then(Value::as_u64));
        }
        for (channel, continues) in resumed {
            let mut sub = self.begin(last, true);
            sub.replayed = Some(request.tick);
            self.enter(channel, sub, request);
            if continues
                && let Some(seq) = last
                && let Some(fold) = self.channels.get_mut(channel).and_then(|it| it.fold.as_mut())
            {
                fold.known_to = fold.known_to.max(seq);
            }
        }
    }

    /// Handles a new handshake of a client. The specification does not say whether the host still serves the
    /// client's older connections.
    fn superseded(&mut self) {
        let here = self.now.conn;
        let client = self.here().and_then(|conn| conn.client_id.clone());
        if client.is_none() {
            return;
        }
        for (id, conn) in &mut self.conns {
            if *id != here && conn.client_id == client {
                for (_, sub) in &mut conn.subs {
                    sub.certain = false;
                }
            }
        }
    }

    fn begin(&self, from_seq: Option<u64>, certain: bool) -> SubscriptionRecord {
        SubscriptionRecord {
            from_seq,
            last: from_seq.unwrap_or(0),
            certain,
            ..SubscriptionRecord::possible(self.now.line, self.now.tick)
        }
    }

    /// Adds a subscription of the current connection. If the connection has a subscription to the same channel, the new
    /// subscription replaces it.
    ///
    /// Answers on different connections may arrive in another order than the order in which the host handled the
    /// requests. If a subscription was requested before the channel's disposal was confirmed, the subscription may have
    /// ended already.
    fn enter(&mut self, channel: ChannelId, mut sub: SubscriptionRecord, request: &OpenRequest) {
        let id = self.now.conn;
        if let Some(known) = self.channels.get_mut(channel)
            && request.tick < known.doubtful_until
        {
            known.lose();
            sub.certain = false;
            sub.from_seq = None;
        }
        let conn = self.here_mut();
        if let Some(early) = conn.early.remove(&channel) {
            sub.last = sub.last.max(early);
        }
        if let Some(older) = conn.subs.get(&channel) {
            sub.last = sub.last.max(older.last);
        }
        conn.left.remove(&channel);
        conn.missing.remove(&channel);
        conn.leaving |= sub.ending.is_some();
        conn.subs.insert(channel, sub);
        if let Some(channel) = self.channels.get_mut(channel)
            && !channel.subscribers.contains(&id)
        {
            channel.subscribers.push(id);
        }
    }

    /// Handles an `unsubscribe` of the client.
    pub(super) fn unsubscribed(&mut self, params: &Value, emit: StepEmitter<'_>) {
        let Some(channel) = target(params).and_then(|uri| self.channels.intern(uri)) else {
            return;
        };
        let uri = target(params);
        let now = (self.now.tick, self.now.line);
        emit(self, &OracleStep::Ending { conn: self.now.conn, channel });
        self.uncover(channel, self.now.conn);
        let conn = self.here_mut();
        for request in conn.requests.values_mut().flatten() {
            if request.method == "subscribe" && target(request.params()) == uri {
                request.given_up = Some(now);
            }
        }
        match conn.subs.get_mut(&channel) {
            Some(sub) => {
                sub.ending = sub.ending.or(Some(now));
                conn.leaving = true;
            }
            None => {
                conn.early.remove(&channel);
            }
        }
        self.adopt_if_uncovered(channel);
    }

    /// Handles the answer to a request that the client sent at the transcript entry `sent`.
    pub(super) fn fence(&mut self, sent: u64, emit: StepEmitter<'_>) {
        emit(self, &OracleStep::Fence { sent });
        let conn = self.here_mut();
        conn.fence = conn.fence.max(sent);
        self.leave_channels(sent);
    }

    /// Records the first dispatch that the client sends after an `unsubscribe`. The host processes the messages of a
    /// connection in order. When the host echoes this dispatch, it has therefore also processed the `unsubscribe`.
    pub(super) fn dispatched_after_leaving(&mut self, client_seq: i64) {
        let tick = self.now.tick;
        let conn = self.here_mut();
        // If an earlier dispatch had the same `clientSeq`, an echo could belong to that dispatch and would prove
        // nothing.
        let is_new = conn.client_seq.is_none_or(|highest| highest < client_seq);
        conn.client_seq = conn.client_seq.max(Some(client_seq));
        if is_new && conn.leaving {
            conn.proof_of_leaving.get_or_insert((client_seq, tick));
        }
    }

    /// Handles an echo or a rejection, which may show that the host has processed an `unsubscribe`.
    pub(super) fn settled_after_leaving(&mut self, origin: &DispatchOrigin<'_>) {
        let Some(conn) = self.here() else {
            return;
        };
        let own = conn.client_id.as_deref() == Some(origin.client_id);
        let proof = conn.proof_of_leaving.filter(|(number, _)| *number == origin.client_seq);
        if let Some((_, sent)) = proof.filter(|_| own) {
            self.here_mut().proof_of_leaving = None;
            self.leave_channels(sent);
        }
    }

    /// Ends the subscriptions that the client cancelled before the transcript entry `sent`.
    fn leave_channels(&mut self, sent: u64) {
        let Some(conn) = self.here().filter(|conn| conn.leaving) else {
            return;
        };
        let over = |(channel, sub): (&ChannelId, &SubscriptionRecord)| {
            sub.ending.is_some_and(|(tick, _)| tick < sent).then_some(*channel)
        };
        let ended: Vec<ChannelId> = conn.subs.iter().filter_map(over).collect();
        for channel in ended {
            self.end(channel, &mut |_, _| ());
            self.here_mut().left.insert(channel);
        }
        let conn = self.here_mut();
        conn.leaving = conn.subs.values().any(|sub| sub.ending.is_some());
        conn.proof_of_leaving = conn.proof_of_leaving.filter(|_| conn.leaving);
    }

    /// Ends a subscription of the current connection.
    pub(super) fn end(&mut self, channel: ChannelId, emit: StepEmitter<'_>) {
        let id = self.now.conn;
        emit(self, &OracleStep::Ending { conn: id, channel });
        self.uncover(channel, id);
        self.here_mut().subs.remove(&channel);
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.subscribers.retain(|subscriber| *subscriber != id);
        }
        self.adopt_if_uncovered(channel);
    }

    /// Emits a step for each subscription to a channel that may end, because its subscriptions may end with it.
    pub(super) fn ending(&self, channel: ChannelId, emit: StepEmitter<'_>) {
        let subscribers = self.channel(channel).map_or(&[][..], |known| &known.subscribers);
        for conn in subscribers {
            emit(self, &OracleStep::Ending { conn: *conn, channel });
        }
    }

    /// Records that subscriptions to the channel, or to a chat of the session, may have ended if they were requested
    /// before the entry `until`; see [`ChannelRecord::doubtful_until`](super::channel::ChannelRecord::doubtful_until).
    pub(super) fn doubt(&mut self, channel: ChannelId, until: u64) {
        let chats = self.channel(channel).map(|known| known.chats.clone());
        for channel in std::iter::once(channel).chain(chats.into_iter().flatten()) {
            if let Some(known) = self.channels.get_mut(channel) {
                known.doubtful_until = until;
            }
        }
    }

    /// Makes the subscriptions to a channel uncertain: they may end, or belong to a new channel with the same
    /// URI.
    pub(super) fn unsettle(&mut self, channel: ChannelId) {
        let Some(known) = self.channels.get_mut(channel) else {
            return;
        };
        known.lose();
        let subscribers: Vec<ConnId> = known.subscribers.clone();
        for id in subscribers {
            let sub = self.conns.get_mut(&id).and_then(|conn| conn.subs.get_mut(&channel));
            if let Some(sub) = sub {
                sub.certain = false;
                sub.from_seq = None;
            }
        }
    }
}

/// Returns the strings of a JSON array, each as the URI by which the checks name the channel; see [`canonical`].
pub(super) fn uris(value: Option<&Value>) -> Vec<&str> {
    let items = value.and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).map(canonical).collect()
}

/// Returns whether the params of a `subscribe` allow the host to merge actions.
pub(super) fn may_merge(params: &Value) -> bool {
    let latency = params.get("delivery").and_then(|delivery| delivery.get("maxLatencyMs"));
    latency.and_then(Value::as_f64).is_some_and(|ms| ms > 0.0)
}

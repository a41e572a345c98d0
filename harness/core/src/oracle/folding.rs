//! Keeps one folded state for each channel, which the actions on all connections update. After a restart of the host,
//! all states are removed.
//!
//! An action is folded if the connection that delivers it covers the fold. A connection covers the fold if its
//! subscription receives every action after the folded state. A connection that subscribed later may have missed
//! actions, so its actions are not folded. A snapshot is compared when the fold has reached the `fromSeq` of the
//! snapshot. If a snapshot is older than the fold, the later actions are first applied to the snapshot.
//!
//! Knows: the context, the reducers. Never knows: rules, the comparison of members.

use std::sync::Arc;

use crate::wire::json::Value;

use crate::model::{ActionOutcome, ActionReducer, apply};
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;

use super::budget::KeptBytes;
use super::channel::{
    ChannelFold, ChannelId, MAX_REJECTED, MAX_WAITING, RefusedAction, WaitingSnapshot, folded_kind,
};
use super::context::{OracleContext, StepEmitter};
use super::envelope::ActionEnvelope;
use super::log::envelope_value;
use super::members::{list, text};
use super::step::{ActionFolding, OracleStep, StateComparison};
use super::subscriptions::SnapshotArrival;

/// The way in which an action arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ActionArrival {
    /// The action arrived live.
    Live,
    /// The action arrived in a replay that does not continue the fold.
    Replayed,
    /// The action arrived in a replay that continues the fold.
    Resuming,
}

impl OracleContext {
    /// Compares a snapshot with the folded state of its channel, or begins a folded state with it. Returns the
    /// `fromSeq` of the snapshot; `None` if the snapshot is malformed.
    pub(super) fn snapshot(
        &mut self,
        channel: ChannelId,
        snapshot: &Value,
        arrival: &SnapshotArrival<'_>,
        emit: StepEmitter<'_>,
    ) -> Option<u64> {
        let from_seq = snapshot.get("fromSeq").and_then(Value::as_u64)?;
        let state = snapshot.get("state")?;
        let request = arrival.request;
        let protocol = self.here().and_then(|conn| conn.protocol);
        let kind = protocol.and_then(|it| folded_kind(self.uri(channel), state, it));
        emit(self, &OracleStep::Snapshot { request, channel, kind, from_seq, state });
        self.counted(from_seq);
        let waiting = WaitingSnapshot {
            seen: arrival.seen.clone(),
            place: arrival.place,
            from_seq,
            conn: self.now.conn,
            line: self.now.line,
            tick: self.now.tick,
            windowed: arrival.windowed || state.get("turnsNextCursor").is_some(),
            kept: None,
        };
        let resource = snapshot.get("resource").and_then(Value::as_str);
        if resource.is_some_and(|resource| resource != self.uri(channel)) {
            return Some(from_seq);
        }
        self.catalogued(channel, state);
        self.weigh(channel, kind, state, waiting, emit);
        Some(from_seq)
    }

    /// Compares a snapshot with the fold, defers the comparison, or starts a new fold with it.
    fn weigh(
        &mut self,
        id: ChannelId,
        kind: Option<ChannelKind>,
        state: &Value,
        mut waiting: WaitingSnapshot,
        emit: StepEmitter<'_>,
    ) {
        let protocol = self.here().and_then(|conn| conn.protocol);
        let covers = self.covers(id, self.now.conn);
        let known_to = self.known_to(id);
        let subscribers = self.channels.get(id).map(|channel| channel.subscribers.as_slice());
        let followed = subscribers.into_iter().flatten().any(|conn| self.covers(id, *conn));
        let Some(channel) = self.channels.get_mut(id) else {
            return;
        };
        let (Some(protocol), Some(kind)) = (protocol, kind) else {
            return;
        };
        self.families.snapshot(id, &channel.uri, kind, state);
        if channel.kind != Some(kind) {
            channel.kind = Some(kind);
            channel.kind_line = waiting.line;
        }
        let Some(fold) = &channel.fold else {
            self.begin_fold(id, kind, protocol, state, &waiting);
            return;
        };
        if fold.kind != kind {
            return;
        }
        if !std::ptr::eq(fold.protocol, protocol) {
            // If no connection receives this channel in the version of the folded state any more, the fold begins anew
            // with this snapshot, in the snapshot's version.
            if !followed {
                self.begin_fold(id, kind, protocol, state, &waiting);
            }
            return;
        }
        if waiting.from_seq < fold.seq {
            self.compare_behind(id, state, &waiting, emit);
        } else if covers || waiting.from_seq <= known_to {
            self.compare(id, state, &waiting, emit);
        } else if !followed {
            // The actions after the end of the last subscription are unknown.
            self.begin_fold(id, kind, protocol, state, &waiting);
        } else {
            // Without room for the frame, the snapshot is not compared.
            waiting.kept = self.memory.states.keep(waiting.seen.heap_size()).map(Arc::new);
            if waiting.kept.is_none() {
                return;
            }
            if channel.waiting.len() >= MAX_WAITING {
                channel.waiting.remove(0);
            }
            channel.waiting.push(waiting);
            if !self.waiting.contains(&id) {
                self.waiting.push(id);
            }
        }
    }

    /// Begins the fold of a channel anew. If the budget for states is spent, the state of the channel is unknown.
    fn begin_fold(
        &mut self,
        id: ChannelId,
        kind: ChannelKind,
        protocol: &'static Protocol,
        state: &Value,
        waiting: &WaitingSnapshot,
    ) {
        self.lose(id);
        let bytes = state.heap_size();
        let mut kept = self.memory.states.keep(bytes);
        if kept.is_none() {
            self.lose_unused();
            kept = self.memory.states.keep(bytes);
        }
        if let Some(channel) = self.channels.get_mut(id) {
            let begin = |kept| ChannelFold::begin(kind, protocol, state, waiting, kept);
            channel.fold = kept.map(begin);
        }
    }

    /// Frees memory: forgets the states of some channels to which no connection is subscribed. Each call examines only
    /// a few channels, so that the cost of a frame does not grow with the number of channels.
    fn lose_unused(&mut self) {
        for channel in self.channels.next_few() {
            if channel.subscribers.is_empty() {
                channel.lose();
            }
        }
    }

    /// Compares a snapshot whose `fromSeq` the fold has reached, and continues the fold from the snapshot.
    fn compare(
        &mut self,
        id: ChannelId,
        state: &Value,
        waiting: &WaitingSnapshot,
        emit: StepEmitter<'_>,
    ) {
        let Some(channel) = self.channels.get(id) else {
            return;
        };
        let Some(fold) = &channel.fold else {
            return;
        };
        // The log may have an action that was not folded, because no connection that covers the fold received it.
        let skipped = channel.through(fold.seq, waiting.from_seq).next().is_some();
        if !skipped {
            let comparison = StateComparison {
                channel: id,
                kind: fold.kind,
                protocol: fold.protocol,
                folded: &fold.state,
                snapshot: state,
                from_seq: waiting.from_seq,
                lines: fold.lines(waiting.line),
                windowed: waiting.windowed || fold.windowed,
            };
            emit(self, &OracleStep::Compared(comparison));
        }
        let Some(channel) = self.channels.get_mut(id) else {
            return;
        };
        channel.rejected.clear();
        let Some(fold) = &mut channel.fold else {
            return;
        };
        if !skipped && waiting.windowed {
            fold.known_to = fold.known_to.max(waiting.from_seq);
            return;
        }
        let bytes = state.heap_size();
        if !fold.kept.resize(bytes) {
            channel.lose();
            return;
        }
        let Some(ChannelFold { kind, protocol, since_seq, since_line, kept, .. }) =
            channel.fold.take()
        else {
            return;
        };
        let mut fold = ChannelFold::begin(kind, protocol, state, waiting, kept);
        if !skipped {
            (fold.since_seq, fold.since_line) = (since_seq, since_line);
        }
        channel.fold = Some(fold);
    }

    /// Applies the later actions to a snapshot that is older than the fold, up to the `serverSeq` of the last folded
    /// action, and compares both states.
    fn compare_behind(
        &mut self,
        id: ChannelId,
        state: &Value,
        waiting: &WaitingSnapshot,
        emit: StepEmitter<'_>,
    ) {
        let Some(channel) = self.channels.get(id) else {
            return;
        };
        let Some(fold) = &channel.fold else {
            return;
        };
        // The log lacks actions from before the fold began, so the snapshot cannot be folded.
        if waiting.from_seq < channel.forgotten.max(fold.since_seq) {
            return;
        }
        let mut snapshot = state.clone();
        let mut numbers: Vec<u64> = channel.through(waiting.from_seq, fold.seq).collect();
        numbers.reverse();
        for seq in numbers {
            // An action in another version cannot be folded into a state of this version.
            let Some(logged) = self.log.get(seq).filter(|it| it.is_of(fold.protocol)) else {
                return;
            };
            let value = logged.value();
            let Some(envelope) = value.as_deref().and_then(ActionEnvelope::read) else {
                return;
            };
            let version = fold.protocol.version();
            apply(version, fold.kind, &mut snapshot, envelope.action);
        }
        let comparison = StateComparison {
            channel: id,
            kind: fold.kind,
            protocol: fold.protocol,
            folded: &fold.state,
            snapshot: &snapshot,
            from_seq: waiting.from_seq,
            lines: fold.lines(waiting.line),
            windowed: waiting.windowed || fold.windowed,
        };
        emit(self, &OracleStep::Compared(comparison));
        if let Some(channel) = self.channels.get_mut(id) {
            channel.rejected.clear();
        }
    }

    /// Folds an accepted action if it is the next one of its channel.
    pub(super) fn fold(
        &mut self,
        id: ChannelId,
        envelope: &ActionEnvelope<'_>,
        way: ActionArrival,
        emit: StepEmitter<'_>,
    ) {
        let seq = envelope.seq;
        let Some(channel) = self.channels.get(id) else {
            return;
        };
        let Some(fold) = channel.fold.as_ref().filter(|fold| fold.seq < seq) else {
            return;
        };
        let protocol = self.here().and_then(|conn| conn.protocol);
        let same = protocol.is_some_and(|protocol| std::ptr::eq(protocol, fold.protocol));
        if !same || !(way == ActionArrival::Resuming || self.covers(id, self.now.conn)) {
            return;
        }
        let extension = envelope.action_type.starts_with("x-");
        let reducer = ActionReducer::of(fold.protocol.version(), envelope.action_type);
        let reduced = reducer.is_some() || extension;
        // Another connection received an action that this connection has missed, or no reducer knows the action.
        if channel.between(fold.seq, seq).next().is_some() || !reduced {
            self.lose(id);
            return;
        }
        let folding = ActionFolding {
            envelope: *envelope,
            channel: id,
            protocol: fold.protocol,
            line: self.now.line,
            live: way == ActionArrival::Live,
        };
        emit(self, &OracleStep::Folding(folding));
        let line = self.now.line;
        let Some(fold) = self.channels.get_mut(id).and_then(|channel| channel.fold.as_mut()) else {
            return;
        };
        let outcome = reducer.map_or(ActionOutcome::OutOfScope, |reducer| {
            reducer.apply(fold.kind, 0, &mut fold.state, envelope.action)
        });
        fold.seq = seq;
        fold.last_line = line;
        let fits = fold.grow(envelope.action);
        if let Some(channel) = self.channels.get(id) {
            let (action, action_type) = (envelope.action, envelope.action_type);
            self.families.folded(id, &channel.uri, action, action_type);
        }
        emit(self, &OracleStep::Folded { folding, outcome: &outcome });
        let lost = matches!(outcome, ActionOutcome::OutOfScope) && !extension;
        if lost || matches!(outcome, ActionOutcome::Invalid { .. }) {
            self.lose(id);
        } else if !fits {
            self.lose_unused();
            let fold = self.channels.get_mut(id).and_then(|channel| channel.fold.as_mut());
            if fold.is_some_and(|fold| !fold.grow(&Value::Null)) {
                self.lose(id);
            }
        }
    }

    /// Compares the waiting snapshots whose `fromSeq` is below `seq`, if the connection that received the action `seq`
    /// covers their channel.
    pub(super) fn reached(&mut self, seq: u64, emit: StepEmitter<'_>) {
        let ready = |waiting: &WaitingSnapshot| waiting.from_seq < seq;
        self.settle_waiting(&ready, emit);
    }

    /// When this connection ends, compares the waiting snapshots that arrived before the last fence (the last answered
    /// request) of the connection.
    pub(super) fn fenced(&mut self, emit: StepEmitter<'_>) {
        let fence = self.here().map_or(0, |conn| conn.fence);
        let ready = |waiting: &WaitingSnapshot| waiting.tick < fence;
        self.settle_waiting(&ready, emit);
    }

    fn settle_waiting(&mut self, ready: &dyn Fn(&WaitingSnapshot) -> bool, emit: StepEmitter<'_>) {
        for id in self.waiting.clone() {
            if !self.covers(id, self.now.conn) {
                continue;
            }
            let Some(channel) = self.channels.get_mut(id) else {
                continue;
            };
            let mut due: Vec<WaitingSnapshot> = Vec::new();
            channel.waiting.retain(|waiting| {
                if ready(waiting) {
                    due.push(waiting.clone());
                }
                !ready(waiting)
            });
            due.sort_by_key(|waiting| waiting.from_seq);
            for waiting in due {
                let fold = self.folded(id);
                let behind = fold.is_some_and(|fold| waiting.from_seq < fold.seq);
                match waiting.place.state(&waiting.seen) {
                    // The fold has continued from a later snapshot while this snapshot waited.
                    Some(state) if behind => self.compare_behind(id, state, &waiting, emit),
                    Some(state) => self.compare(id, state, &waiting, emit),
                    None => {}
                }
            }
        }
        let channels = &self.channels;
        let waits = |id: &ChannelId| channels.get(*id).is_some_and(|it| !it.waiting.is_empty());
        self.waiting.retain(waits);
    }

    /// Returns whether a recorded connection would have been notified if the session or chat had been replaced since
    /// the last folded action, which means disposed of and created again at the same URI. Subscribers of the root
    /// channel are notified of sessions; before channels existed, all clients were. Subscribers of a session are
    /// notified of the removal of its chats, which are removed with the session.
    pub(super) fn hears_of_ends(&self, id: ChannelId) -> bool {
        let Some((channel, fold)) = self.channels.get(id).zip(self.folded(id)) else {
            return false;
        };
        let chats = match fold.kind {
            ChannelKind::Session => list(&fold.state, "chats"),
            ChannelKind::Chat => {
                let session = channel.owner.and_then(|session| self.followed(session));
                session.map_or(&[][..], |session| list(&session.state, "chats"))
            }
            _ => return true,
        };
        let is_told = match fold.kind {
            ChannelKind::Session => !chats.is_empty(),
            _ => chats.iter().any(|chat| text(chat, "resource") == Some(&channel.uri)),
        };
        let of_root = |root: ChannelId| {
            let subs = self.conns.values().filter_map(|conn| conn.subs.get(&root));
            subs.filter_map(|sub| sub.complete_from()).any(|from| from <= fold.seq)
        };
        let before_channels = !fold.protocol.has(ProtocolFeature::Channels);
        let has_no_session = fold.kind == ChannelKind::Chat && channel.owner.is_none();
        is_told
            || before_channels
            || has_no_session
            || self.channels.find(ROOT).is_some_and(of_root)
    }

    /// Returns whether a connection delivers every action after the state of the fold, in the fold's version.
    pub(super) fn covers(&self, id: ChannelId, conn: ConnId) -> bool {
        let Some((conn, fold)) = self.conns.get(&conn).zip(self.folded(id)) else {
            return false;
        };
        if !conn.protocol.is_some_and(|protocol| std::ptr::eq(protocol, fold.protocol)) {
            return false;
        }
        let from = conn.subs.get(&id).and_then(|sub| sub.complete_from());
        from.is_some_and(|from| from <= fold.seq.max(fold.known_to))
    }

    /// Returns the state of a channel if a connection covers the fold, which means that the state is up to
    /// date; otherwise `None`.
    pub(super) fn followed(&self, id: ChannelId) -> Option<&ChannelFold> {
        let channel = self.channels.get(id)?;
        let listens = channel.subscribers.iter().any(|conn| self.covers(id, *conn));
        channel.fold.as_ref().filter(|_| listens)
    }

    /// Returns the `serverSeq` up to which the fold contains every action of the channel; 0 if there is no fold.
    pub(super) fn known_to(&self, id: ChannelId) -> u64 {
        let Some(channel) = self.channels.get(id) else {
            return 0;
        };
        let Some(fold) = &channel.fold else {
            return 0;
        };
        let mut known = fold.seq.max(fold.known_to);
        for subscriber in &channel.subscribers {
            if self.covers(id, *subscriber)
                && let Some((seq, _)) = self.conns.get(subscriber).and_then(|conn| conn.last)
            {
                known = known.max(seq);
            }
        }
        known
    }

    /// Records the last `serverSeq` that a connection has received, before the connection stops covering the channel.
    pub(super) fn uncover(&mut self, id: ChannelId, conn: ConnId) {
        if !self.covers(id, conn) {
            return;
        }
        let last = self.conns.get(&conn).and_then(|conn| conn.last).map_or(0, |(seq, _)| seq);
        if let Some(fold) = self.channels.get_mut(id).and_then(|channel| channel.fold.as_mut()) {
            fold.known_to = fold.known_to.max(last);
        }
    }

    /// Restarts a fold that no connection covers, from a waiting snapshot that is ahead of the fold and whose
    /// connection is still subscribed.
    pub(super) fn adopt_if_uncovered(&mut self, id: ChannelId) {
        let Some(channel) = self.channels.get(id) else {
            return;
        };
        if channel.waiting.is_empty()
            || channel.subscribers.iter().any(|conn| self.covers(id, *conn))
        {
            return;
        }
        let listens = |waiting: &&WaitingSnapshot| {
            let conn = self.conns.get(&waiting.conn);
            let sub = conn.and_then(|conn| conn.subs.get(&id));
            sub.and_then(|sub| sub.complete_from()) == Some(waiting.from_seq)
        };
        let Some(waiting) = channel.waiting.iter().rfind(listens).cloned() else {
            return;
        };
        let state = waiting.place.state(&waiting.seen);
        let Some((fold, state)) = channel.fold.as_ref().zip(state) else {
            return;
        };
        let bytes = state.heap_size();
        let Some(kept) = self.memory.states.keep(bytes) else {
            return;
        };
        let (kind, protocol) = (fold.kind, fold.protocol);
        let mut fold = ChannelFold::begin(kind, protocol, state, &waiting, kept);
        let numbers: Vec<u64> = channel.through(fold.seq, u64::MAX).collect();
        for seq in numbers.into_iter().rev() {
            let Some(logged) = self.log.get(seq) else {
                continue;
            };
            if !logged.is_of(fold.protocol) {
                return;
            }
            if let Some(envelope) = logged.value().as_deref().and_then(ActionEnvelope::read) {
                apply(fold.protocol.version(), fold.kind, &mut fold.state, envelope.action);
                fold.seq = seq;
                fold.last_line = logged.line;
                if !fold.grow(envelope.action) {
                    return;
                }
            }
        }
        if let Some(channel) = self.channels.get_mut(id) {
            channel.waiting.retain(|other| other.from_seq > fold.seq);
            channel.fold = Some(fold);
        }
    }

    fn lose(&mut self, id: ChannelId) {
        if let Some(channel) = self.channels.get_mut(id) {
            channel.lose();
        }
    }

    /// Remembers a rejected action, if the state of the action's channel is folded.
    pub(super) fn reject(&mut self, id: ChannelId, seen: &Arc<SeenFrame>, replayed: Option<usize>) {
        let line = self.now.line;
        let Some(channel) = self.channels.get_mut(id).filter(|channel| channel.fold.is_some())
        else {
            return;
        };
        let value = envelope_value(seen, replayed);
        let known = |other: &RefusedAction| envelope_value(&other.seen, None) == value;
        if replayed.is_none()
            && channel.rejected.len() < MAX_REJECTED
            && !channel.rejected.iter().any(known)
            && let Some(seen) = self.memory.states.keep_frame(seen)
        {
            channel.rejected.push(RefusedAction { seen, line });
        }
    }

    /// Records the kinds of the channels that a state lists, and the owners of its chats.
    fn catalogued(&mut self, channel: ChannelId, state: &Value) {
        let line = self.now.line;
        for (list, kind) in [("chats", ChannelKind::Chat), ("terminals", ChannelKind::Terminal)] {
            let entries = state.get(list).and_then(Value::as_array);
            for entry in entries.into_iter().flatten() {
                let uri = entry.get("resource").and_then(Value::as_str);
                let Some(id) = uri.and_then(|uri| self.channels.intern(uri)) else {
                    continue;
                };
                if let Some(listed) = self.channels.get_mut(id).filter(|it| it.kind.is_none()) {
                    listed.kind = Some(kind);
                    listed.kind_line = line;
                }
                if kind == ChannelKind::Chat {
                    self.channels.own(channel, id);
                }
            }
        }
    }
}

impl ChannelFold {
    fn begin(
        kind: ChannelKind,
        protocol: &'static Protocol,
        state: &Value,
        waiting: &WaitingSnapshot,
        kept: KeptBytes,
    ) -> ChannelFold {
        ChannelFold {
            kind,
            protocol,
            state: state.clone(),
            base_seq: waiting.from_seq,
            seq: waiting.from_seq,
            known_to: waiting.from_seq,
            base_line: waiting.line,
            since_seq: waiting.from_seq,
            since_line: waiting.line,
            windowed: waiting.windowed,
            last_line: 0,
            kept,
        }
    }
}

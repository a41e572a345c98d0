//! The states that each client has received: the snapshots that the client received, to which the reducers have applied
//! the later actions that it received.
//!
//! A client may not have read the last frames, and it may apply its own dispatches before the host accepts them.
//! [`ToldStates::every`] therefore tests all states that the client may have known: the state some time ago, each later
//! state, and each of these states with the client's own dispatches applied.
//!
//! Knows: snapshots, actions, the reducers. Never knows: rules.
//!
//! Start at [`ToldStates::every`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::model::apply;
use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;

use crate::oracle::channel::ChannelId;
use crate::oracle::context::OracleContext;
use crate::oracle::step::{ActionDelivery, OracleStep};

use super::{ClientView, REACTION, dispatched};

/// Upper bound for the channels of one connection whose states are kept. States of further channels are
/// unknown.
const MAX_CHANNELS: usize = 1_024;
/// Upper bound for the actions of one channel that a client may not have processed. Older actions count as processed.
const MAX_RECENT: usize = 1_024;
/// Upper bound for the dispatches of one connection that the host has neither accepted nor rejected. Older dispatches
/// are dropped.
const MAX_OWN: usize = 1_024;
/// Upper bound for the actions on a channel that are kept until the snapshot of the channel arrives.
const MAX_EARLY: usize = 256;
/// Upper bound for the clients whose states are kept until they reconnect.
const MAX_PARKED: usize = 256;

/// The states of channels that each client has received.
#[derive(Default)]
pub(super) struct ToldStates {
    conns: LiteMap<ConnId, ToldConnection>,
    /// The states of clients whose connection ended, by client id.
    parked: HashMap<Arc<str>, ToldConnection>,
}

/// The states that one connection has received.
#[derive(Default)]
struct ToldConnection {
    channels: LiteMap<ChannelId, ToldChannel>,
    /// The actions that arrived before the snapshot of their channel, each with its `serverSeq`.
    early: Vec<(ChannelId, u64, Value)>,
    /// The client's dispatches that the host has neither accepted nor rejected.
    own: VecDeque<OwnDispatch>,
}

/// A dispatch that the host has neither accepted nor rejected.
struct OwnDispatch {
    channel: ChannelId,
    client_seq: i64,
    action: Value,
}

/// The state of one channel that one connection has received.
struct ToldChannel {
    kind: ChannelKind,
    protocol: &'static Protocol,
    /// The `fromSeq` of the snapshot that the state began with.
    from_seq: u64,
    /// The line of the snapshot that the state began with.
    line: u64,
    /// The state that the client has certainly processed.
    state: Value,
    /// The time at which the snapshot replaced an earlier state, which the client may still use.
    replaced: Option<Duration>,
    /// The actions after `state`, with the times of their arrival.
    recent: VecDeque<(Duration, Value)>,
}

impl ToldStates {
    /// Tests a condition in every state of a channel that the client of the current connection may have known. Returns
    /// whether the condition holds in all these states, and the line of the snapshot; `None` if the state is unknown.
    pub(super) fn every(
        &self,
        view: &ClientView<'_>,
        channel: ChannelId,
        holds: impl Fn(&Value) -> bool,
    ) -> Option<(bool, u64)> {
        let conn = self.conns.get(&view.cx.now.conn)?;
        let told = conn.channels.get(&channel)?;
        let settled = settled(view.cx);
        let is_settled = |at: &Duration| settled.is_some_and(|settled| *at <= settled);
        if told.replaced.is_some_and(|at| !is_settled(&at)) {
            return None;
        }
        let own: Vec<&OwnDispatch> = conn.own.iter().filter(|it| it.channel == channel).collect();
        if told.recent.is_empty() && own.is_empty() {
            return Some((holds(&told.state), told.line));
        }
        let mut state = told.state.clone();
        let mut recent = told.recent.iter().peekable();
        while let Some((_, action)) = recent.next_if(|(at, _)| is_settled(at)) {
            told.fold(&mut state, action);
        }
        let mut all = holds(&state);
        for action in recent.map(|(_, action)| action).chain(own.iter().map(|it| &it.action)) {
            if !all {
                break;
            }
            told.fold(&mut state, action);
            all = holds(&state);
        }
        Some((all, told.line))
    }

    /// Returns a value that the given function reads from the newest state of a channel.
    pub(super) fn newest<T>(
        &self,
        view: &ClientView<'_>,
        channel: ChannelId,
        read: impl FnOnce(&Value) -> T,
    ) -> Option<T> {
        let told = self.conns.get(&view.cx.now.conn)?.channels.get(&channel)?;
        let mut state = told.state.clone();
        told.recent.iter().for_each(|(_, action)| told.fold(&mut state, action));
        Some(read(&state))
    }

    /// Returns the channels of a kind whose states the current connection knows.
    pub(super) fn channels(
        &self,
        view: &ClientView<'_>,
        kind: ChannelKind,
    ) -> impl Iterator<Item = ChannelId> {
        let conn = self.conns.get(&view.cx.now.conn);
        let channels = conn.into_iter().flat_map(|conn| &conn.channels);
        channels.filter(move |(_, told)| told.kind == kind).map(|(channel, _)| *channel)
    }

    /// Updates the states with a step.
    pub(super) fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>) {
        let id = cx.now.conn;
        match step {
            OracleStep::Snapshot { channel, kind, from_seq, state, .. } => {
                let protocol = cx.here().and_then(|conn| conn.protocol);
                let conn = self.conns.entry(id).or_default();
                let (Some(kind), Some(protocol)) = (*kind, protocol) else {
                    conn.channels.remove(channel);
                    return;
                };
                conn.snapshot(cx, *channel, kind, protocol, (*from_seq, state));
            }
            OracleStep::Envelope(delivery) => self.delivered(cx, delivery),
            OracleStep::Dispatched { .. } => {
                let Some(sent) = dispatched(step) else { return };
                let conn = self.conns.entry(id).or_default();
                if conn.own.len() >= MAX_OWN {
                    conn.own.pop_front();
                }
                let (channel, client_seq) = (sent.channel, sent.client_seq);
                conn.own.push_back(OwnDispatch {
                    channel,
                    client_seq,
                    action: sent.action.clone(),
                });
            }
            OracleStep::Reconnected { result, .. } => {
                let client = cx.here().and_then(|conn| conn.client_id.as_ref());
                if let Some(mut parked) = client.and_then(|client| self.parked.remove(client)) {
                    parked.own.clear();
                    if result.get("actions").is_none() {
                        parked.channels.clear();
                    }
                    self.conns.insert(id, parked);
                }
            }
            OracleStep::Ending { conn, channel } => {
                if let Some(conn) = self.conns.get_mut(conn) {
                    conn.channels.remove(channel);
                }
            }
            OracleStep::Closed => {
                let client = cx.here().and_then(|conn| conn.client_id.clone());
                let told = self.conns.remove(&id);
                if let (Some(client), Some(told)) = (client, told)
                    && (self.parked.len() < MAX_PARKED || self.parked.contains_key(&client))
                {
                    self.parked.insert(client, told);
                }
            }
            OracleStep::Gap => drop(self.conns.remove(&id)),
            OracleStep::Restarted => *self = ToldStates::default(),
            _ => {}
        }
    }

    fn delivered(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>) {
        let conn = self.conns.entry(cx.now.conn).or_default();
        let envelope = &delivery.envelope;
        let client = cx.here().and_then(|conn| conn.client_id.as_deref());
        if let Some(origin) = envelope.origin.filter(|origin| Some(origin.client_id) == client) {
            conn.own.retain(|own| own.client_seq != origin.client_seq);
        }
        if envelope.rejected {
            return;
        }
        let settled = settled(cx);
        match conn.channels.get_mut(&delivery.channel) {
            Some(told) if envelope.seq > told.from_seq => {
                told.recent.push_back((cx.now.at, envelope.action.clone()));
                told.settle(settled);
            }
            Some(_) => {}
            None if conn.early.len() < MAX_EARLY => {
                let early = (delivery.channel, envelope.seq, envelope.action.clone());
                conn.early.push(early);
            }
            None => {}
        }
    }
}

/// Returns the time before which every received frame has certainly been processed by its client; `None` if the
/// transcript is too short, or has no times.
fn settled(cx: &OracleContext) -> Option<Duration> {
    cx.now.at.checked_sub(REACTION + cx.options.spread)
}

impl ToldConnection {
    fn snapshot(
        &mut self,
        cx: &OracleContext,
        channel: ChannelId,
        kind: ChannelKind,
        protocol: &'static Protocol,
        (from_seq, state): (u64, &Value),
    ) {
        let mut recent = VecDeque::new();
        self.early.retain(|(early, seq, action)| {
            if *early == channel && *seq > from_seq {
                recent.push_back((cx.now.at, action.clone()));
            }
            *early != channel
        });
        let room = self.channels.len() < MAX_CHANNELS || self.channels.contains_key(&channel);
        if room {
            let (line, state) = (cx.now.line, state.clone());
            let replaced = self.channels.contains_key(&channel).then_some(cx.now.at);
            let told = ToldChannel { kind, protocol, from_seq, line, replaced, state, recent };
            self.channels.insert(channel, told);
        }
    }
}

impl ToldChannel {
    fn fold(&self, state: &mut Value, action: &Value) {
        apply(self.protocol.version(), self.kind, state, action);
    }

    /// Folds the actions that the client has certainly processed.
    fn settle(&mut self, settled: Option<Duration>) {
        while self.recent.len() > MAX_RECENT
            || self.recent.front().is_some_and(|it| settled.is_some_and(|settled| it.0 <= settled))
        {
            let Some((_, action)) = self.recent.pop_front() else { return };
            apply(self.protocol.version(), self.kind, &mut self.state, &action);
        }
    }
}

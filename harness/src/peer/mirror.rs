//! A client's mirror of a channel: a snapshot, the later envelopes, and the client's pending actions.

use std::collections::VecDeque;

use crate::wire::json::Value;

use crate::model::{self, ActionOutcome};
use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

/// The state of a channel as a client sees it.
#[derive(Clone, Debug)]
pub struct ChannelMirror {
    version: Version,
    kind: ChannelKind,
    confirmed: Value,
    seq: u64,
    pending: VecDeque<(u64, Value)>,
}

/// The maximum number of pending actions of a mirror. There is a limit because a host may never accept or reject an
/// action.
const MAX_PENDING: usize = 10_000;

impl ChannelMirror {
    /// Creates a mirror from a snapshot.
    pub fn new(version: Version, kind: ChannelKind, state: Value, from_seq: u64) -> ChannelMirror {
        ChannelMirror { version, kind, confirmed: state, seq: from_seq, pending: VecDeque::new() }
    }

    /// Returns this mirror with the pending actions of `before`, the older mirror that this mirror replaces.
    pub(super) fn after(self, before: Option<ChannelMirror>) -> ChannelMirror {
        let pending = before.map(|before| before.pending).unwrap_or_default();
        ChannelMirror { pending, ..self }
    }

    /// Records an action that the client has dispatched and applies optimistically.
    pub fn dispatch(&mut self, client_seq: u64, action: Value) {
        if self.pending.len() < MAX_PENDING {
            self.pending.push_back((client_seq, action));
        }
    }

    /// Handles an envelope. If the envelope answers an action of the client, that action is no longer pending,
    /// regardless of its position in the queue. An envelope with a rejection has no other effect. An envelope whose
    /// `serverSeq` is not above that of the snapshot is ignored.
    ///
    /// Source: guide/actions.md, write-ahead reconciliation.
    pub fn envelope(&mut self, client_id: &str, envelope: &Value) {
        let origin = &envelope["origin"];
        if origin["clientId"] == client_id {
            let client_seq = origin["clientSeq"].as_u64();
            if let Some(at) = self.pending.iter().position(|(seq, _)| Some(*seq) == client_seq) {
                self.pending.remove(at);
            }
        }
        let rejected = envelope.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        match envelope["serverSeq"].as_u64() {
            Some(seq) if seq > self.seq && !rejected => {
                self.seq = seq;
                let action = &envelope["action"];
                model::apply(self.version, self.kind, &mut self.confirmed, action);
            }
            _ => {}
        }
    }

    /// Drops the pending actions at the end of a connection. The result of the next `reconnect` shows whether the host
    /// accepted these actions. Source: guide/actions.md, reconnection.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// Returns the kind of the channel.
    pub fn kind(&self) -> ChannelKind {
        self.kind
    }

    /// Returns the state that the host has confirmed.
    pub fn confirmed(&self) -> &Value {
        &self.confirmed
    }

    /// Returns the `serverSeq` of the last envelope in the confirmed state.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the number of pending actions.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the confirmed state with the pending actions applied in the order of their dispatch. An action
    /// that has become a no-op is skipped.
    pub fn optimistic(&self) -> Value {
        let mut state = self.confirmed.clone();
        for (_, action) in &self.pending {
            let _: ActionOutcome = model::apply(self.version, self.kind, &mut state, action);
        }
        state
    }
}

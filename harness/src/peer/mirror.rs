//! What a client makes of one channel: a snapshot, the envelopes since, and its own actions that
//! the host has not settled yet.

use std::collections::VecDeque;

use crate::wire::json::Value;

use crate::model::{self, ActionOutcome};
use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

/// One channel as a client sees it.
#[derive(Clone, Debug)]
pub struct ChannelMirror {
    version: Version,
    kind: ChannelKind,
    confirmed: Value,
    seq: u64,
    pending: VecDeque<(u64, Value)>,
}

/// Actions a mirror keeps while the host has not settled them. A host that settles nothing costs
/// no more than this.
const MAX_PENDING: usize = 10_000;

impl ChannelMirror {
    /// Starts from a snapshot.
    pub fn new(version: Version, kind: ChannelKind, state: Value, from_seq: u64) -> ChannelMirror {
        ChannelMirror { version, kind, confirmed: state, seq: from_seq, pending: VecDeque::new() }
    }

    /// Takes over the pending actions of the mirror that it replaces.
    pub(super) fn after(self, before: Option<ChannelMirror>) -> ChannelMirror {
        let pending = before.map(|before| before.pending).unwrap_or_default();
        ChannelMirror { pending, ..self }
    }

    /// The client dispatched an action and applies it at once.
    pub fn dispatch(&mut self, client_seq: u64, action: Value) {
        if self.pending.len() < MAX_PENDING {
            self.pending.push_back((client_seq, action));
        }
    }

    /// An envelope came. An own action leaves the pending ones, wherever it stands among them; a
    /// rejected one changes nothing else. An envelope at or below the snapshot is old news.
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

    /// The connection was lost: what was pending is dropped, the reconnect result says what became
    /// of it. Source: guide/actions.md, reconnection.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// What kind of channel it is.
    pub fn kind(&self) -> ChannelKind {
        self.kind
    }

    /// The state the host has confirmed.
    pub fn confirmed(&self) -> &Value {
        &self.confirmed
    }

    /// The number of the last envelope in the confirmed state.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// How many own actions the host has not settled.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The confirmed state with the client's pending actions on top, in the order it made them.
    /// One that no longer applies is passed over, as the reducer passes it over.
    pub fn optimistic(&self) -> Value {
        let mut state = self.confirmed.clone();
        for (_, action) in &self.pending {
            let _: ActionOutcome = model::apply(self.version, self.kind, &mut state, action);
        }
        state
    }
}

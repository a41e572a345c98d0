//! The marker actions of a case, and the barriers that wait for them.
//!
//! Knows: clients by their index, the numbers of dispatches. Never knows: messages, how a barrier is carried out.
//!
//! Start at [`CaseMarks`].

use std::collections::HashSet;

use super::case_peers::PeerId;
use super::goal::DispatchGoal;

/// A barrier that is in progress.
#[derive(Clone, Debug)]
pub(super) struct PendingBarrier {
    /// The client that dispatches the marker action.
    pub(super) by: PeerId,
    /// The marker action; `None` once every subscriber has seen its envelope.
    pub(super) mark: Option<PendingMark>,
    /// The pings without an answer.
    pub(super) pings: Vec<(PeerId, u64)>,
    /// The dispatch whose outcome the barrier decides, identified by its `clientSeq`.
    pub(super) decides: Option<(u64, DispatchGoal)>,
}

/// A marker action that is in progress.
#[derive(Clone, Debug)]
pub(super) struct PendingMark {
    /// The chat.
    pub(super) channel: String,
    /// The action's `clientSeq` at the client that dispatched it.
    pub(super) seq: u64,
    /// The peers that have to see the envelope.
    pub(super) at: Vec<PeerId>,
}

/// The state of all marker actions of a case.
#[derive(Debug, Default)]
pub(super) struct CaseMarks {
    /// The dispatched marker actions, each as (client, `clientSeq`). Steps do not see these actions.
    sent: HashSet<(PeerId, u64)>,
    /// The markers that have arrived, each as (dispatching client, `clientSeq`, receiving client).
    seen: HashSet<(PeerId, u64, PeerId)>,
    /// The marker actions that the host rejected.
    refused: HashSet<(PeerId, u64)>,
}

impl CaseMarks {
    /// Records the arrival of an envelope. Returns whether the envelope is a marker.
    pub(super) fn arrived(&mut self, by: PeerId, seq: u64, at: PeerId, rejected: bool) -> bool {
        if !self.sent.contains(&(by, seq)) {
            return false;
        }
        if rejected {
            self.refused.insert((by, seq));
        } else {
            self.seen.insert((by, seq, at));
        }
        true
    }

    /// Records a marker action that was dispatched.
    pub(super) fn dispatched(&mut self, by: PeerId, seq: u64) {
        self.sent.insert((by, seq));
    }

    /// Returns whether a client has received the envelope of a marker.
    pub(super) fn has_seen(&self, by: PeerId, seq: u64, at: PeerId) -> bool {
        self.seen.contains(&(by, seq, at))
    }

    /// Returns whether the host rejected a marker action.
    pub(super) fn is_refused(&self, by: PeerId, seq: u64) -> bool {
        self.refused.contains(&(by, seq))
    }

    /// Returns whether the host has rejected any marker action.
    pub(super) fn any_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns whether the case has not dispatched any marker action.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
}

//! Actions on their way through the host: the origin of an action, and dispatches that are checked or rejected.
//!
//! Knows: actions. Never knows: the host, the rules for actions.
//!
//! Start at [`DispatchedAction`].

use super::version_views::ViewedAction;
use crate::model::ActionOutcome;
use crate::transcript::ConnId;
use crate::wire::json::{Value, json};

/// The client that dispatched an action.
#[derive(Clone, Debug)]
pub(super) struct ActionOrigin {
    pub(super) conn: ConnId,
    pub(super) client: String,
    pub(super) client_seq: Value,
    /// The dispatch in the client's spelling; `None` if the client uses the newest version.
    pub(super) sent: Option<ViewedDispatch>,
}

impl ActionOrigin {
    pub(super) fn value(&self) -> Value {
        json!({"clientId": self.client, "clientSeq": self.client_seq})
    }
}

/// A dispatch of a client of an older version.
#[derive(Clone, Debug)]
pub(super) struct ViewedDispatch {
    pub(super) view: usize,
    pub(super) worded: ViewedAction,
}

/// An action that a client has dispatched and that the host has not checked yet.
pub(super) struct DispatchedAction<'a> {
    /// The params of the `dispatchAction`.
    pub(super) params: &'a Value,
    pub(super) origin: ActionOrigin,
    /// The URI of the channel.
    pub(super) uri: String,
    pub(super) action: Value,
}

/// A rejected action.
pub(super) struct RejectedAction<'a> {
    /// The URI of the channel.
    pub(super) uri: &'a str,
    pub(super) action: &'a Value,
    pub(super) origin: &'a ActionOrigin,
}

/// The reason for a rejection.
pub(super) struct DispatchRefusal {
    /// The reason as a string, for a person.
    pub(super) reason: String,
    /// The requirement that the action breaks; empty if none is known.
    pub(super) source: String,
    /// The outcome of the reducers, if they caused the rejection.
    pub(super) outcome: Option<ActionOutcome>,
}

impl DispatchRefusal {
    pub(super) fn of(reason: &str, source: &str) -> DispatchRefusal {
        DispatchRefusal { reason: reason.to_owned(), source: source.to_owned(), outcome: None }
    }
}

/// The maximum number of deferred actions.
const MAX_DEFERRED: usize = 1_000;

/// The dispatches that wait until a turn has ended.
#[derive(Debug, Default)]
pub(super) struct DeferredDispatches {
    /// The params of each dispatch, with its connection, oldest first.
    waiting: Vec<(ConnId, Value)>,
}

impl DeferredDispatches {
    /// Returns whether no further dispatch can wait.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_DEFERRED
    }

    pub(super) fn add(&mut self, conn: ConnId, params: Value) {
        self.waiting.push((conn, params));
    }

    /// Removes all waiting dispatches, oldest first.
    pub(super) fn take(&mut self) -> Vec<(ConnId, Value)> {
        std::mem::take(&mut self.waiting)
    }
}

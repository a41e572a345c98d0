//! Injected faults in the states of channels and in snapshots.
//!
//! Knows: states. Never knows: the host, single faults.
//!
//! Start at [`StateFault`].

use std::fmt;

use crate::model::ActionOutcome;
use crate::wire::json::Value;

/// A fault in the states of channels, or in their snapshots. By default every hook changes nothing.
pub(super) trait StateFault: Send + Sync {
    /// Changes a state after an action was applied to it.
    fn reduced(&self, _it: &ReducedAction, _state: &mut Value) {}

    /// Changes the state in a snapshot; `before` is the state before the last action of the channel.
    fn shows(&self, _state: &mut Value, _before: &Value) {}
}

/// An action that was applied to a state.
pub(super) struct ReducedAction<'a> {
    /// The type of the action, with the name of the newest version.
    pub(super) kind: &'a str,
    pub(super) action: &'a Value,
    /// Whether the state is that of a session that holds the turns, as in versions without chats.
    pub(super) has_turns: bool,
    /// The state before the action.
    pub(super) before: &'a Value,
}

/// The active faults in states.
#[derive(Clone, Default)]
pub(super) struct StateFaults(Vec<&'static dyn StateFault>);

impl StateFaults {
    pub(super) fn new(faults: Vec<&'static dyn StateFault>) -> StateFaults {
        StateFaults(faults)
    }

    /// Applies an action to the state of a channel. If state faults are active, `state_before` is set to the
    /// state before the action.
    pub(super) fn reduce(
        &self,
        kind: &str,
        action: &Value,
        has_turns: bool,
        state: &mut Value,
        state_before: &mut Option<Value>,
        reduce: impl Fn(&mut Value) -> ActionOutcome,
    ) -> ActionOutcome {
        if self.0.is_empty() {
            return reduce(state);
        }
        let before = state.clone();
        let outcome = reduce(state);
        if outcome == ActionOutcome::Applied {
            let it = ReducedAction { kind, action, has_turns, before: &before };
            self.0.iter().for_each(|fault| fault.reduced(&it, state));
            *state_before = Some(before);
        }
        outcome
    }

    /// Returns the state of a channel for a snapshot.
    pub(super) fn shown(&self, state: &Value, before: Option<&Value>) -> Value {
        let mut shown = state.clone();
        if let Some(before) = before {
            self.0.iter().for_each(|fault| fault.shows(&mut shown, before));
        }
        shown
    }
}

impl fmt::Debug for StateFaults {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} faults in states", self.0.len())
    }
}

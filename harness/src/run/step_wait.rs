//! The interface of a wait that a module of its own implements, so that a new waiting step changes no other wait.
//!
//! Knows: the case. Never knows: the waits that implement the interface.
//!
//! Start at [`StepWait`].

use std::fmt::Debug;
use std::time::Duration;

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::failure::StepFailure;

/// What a wait has found out so far.
#[derive(Debug)]
pub enum StepWaitStatus {
    /// The wait continues.
    Waits,
    /// What the step expects has happened.
    Held,
    /// What the step expects can no longer happen.
    Failed(Box<StepFailure>),
}

/// What the end of its time means for a wait.
#[derive(Debug)]
pub enum StepWaitExpiry {
    /// Nothing else had to happen, so the step's expectation is met.
    Held,
    /// This did not come, for this client. The failure names it, and shows the closest message.
    Missing(PeerId, String),
    /// The step has failed in this way.
    Failed(Box<StepFailure>),
}

/// A wait of a step.
pub trait StepWait: Debug + Send {
    /// Begins the wait. Messages that arrived before may or may not count; the wait decides.
    fn begin(&mut self, _case: &mut ScenarioCase, _step: Option<usize>) {}

    /// Checks the case after each event.
    fn check(&mut self, case: &mut ScenarioCase, step: Option<usize>) -> StepWaitStatus;

    /// Returns the time at which [`expired`](Self::expired) is called ([`ScenarioCase::now`] is the time now), if this is
    /// before the time limit of the step; `None` for the time limit.
    fn due(&self) -> Option<Duration> {
        None
    }

    /// Returns whether an agent can do what the step expects only during a turn, so that the wait ends soon after the
    /// last turn.
    fn needs_turns(&self) -> bool {
        false
    }

    /// Handles the end of the wait's time.
    fn expired(&mut self, case: &mut ScenarioCase, step: Option<usize>) -> StepWaitExpiry;
}

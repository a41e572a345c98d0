//! The claims about a client's own copy of a channel's state, and the failures of claims about states.
//!
//! Knows: states, patterns, and the decisions that are pending. Never knows: how a client keeps its copy.
//!
//! Start at [`ScenarioCase::mirror`].

use crate::scenario::pattern::ValuePattern;
use crate::wire::json::Value;

use super::case::ScenarioCase;
use super::failure::{FailureKind, StepFailure};
use super::state_claim::{MirrorClaim, match_state};
use super::task_wait::{TaskWait, WaitProgress};

impl ScenarioCase {
    /// Compares a client's own copy of a channel's state with a pattern. After a barrier with a marker, the client has
    /// received every message. After a barrier that used only `ping`, messages may still arrive. If the claim fails
    /// then, it waits for these messages unless `last` is set.
    pub(super) fn mirror(
        &mut self,
        step: Option<usize>,
        claim: MirrorClaim,
        last: bool,
    ) -> WaitProgress {
        let MirrorClaim { peer, channel, state, exact } = &claim;
        let (name, channel) = (self.name(*peer), channel.as_str().unwrap_or_default());
        let engine = self.clients.get(*peer).map(|peer| &peer.engine);
        let Some(own) = engine.and_then(|it| it.shown(channel)) else {
            let message = format!(
                "client `{name}`: expected a state of `{channel}`, the client is not subscribed to it"
            );
            return WaitProgress::Failed(self.failure_at(step, message));
        };
        match match_state(state, channel, &own, self.names.bindings(), *exact) {
            Ok(bound) => {
                self.names.bind(state, bound);
                self.observed(step);
                WaitProgress::Done
            }
            Err(_) if !last && !self.has_markers(*peer, channel) => {
                WaitProgress::Wait(TaskWait::Mirrored(claim))
            }
            Err(miss) => {
                let failure =
                    self.mismatch(step, &name, "own state", self.traffic.last_line(), &miss);
                WaitProgress::Failed(self.state_failure(failure, (state, channel), (&own, *exact)))
            }
        }
    }

    /// Returns the failure of a claim about a state. The failure is no evidence against the host if the host has asked
    /// again for the approval of a tool call and the claim would hold if that call were running. The scenario does not
    /// answer a repeated question.
    pub(super) fn state_failure(
        &self,
        mut failure: Box<StepFailure>,
        (pattern, channel): (&ValuePattern, &str),
        (state, exact): (&Value, bool),
    ) -> Box<StepFailure> {
        let Some(call) = self.decisions.asked_again(channel) else { return failure };
        let mut approved = state.clone();
        let parts = approved.pointer_mut("/activeTurn/responseParts").and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            if part["toolCall"]["toolCallId"] == call {
                part["toolCall"]["status"] = "running".into();
            }
        }
        if match_state(pattern, channel, &approved, self.names.bindings(), exact).is_ok() {
            failure.kind = FailureKind::Trouble;
            failure.message = format!(
                "{}; the host requested the approval of `{call}` again, which the scenario does not answer",
                failure.message
            );
        }
        failure
    }
}

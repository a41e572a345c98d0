//! The waits of `called` and `texts` steps, for scenarios about agents.
//!
//! Knows: the calls of the harness's own tool, the joined messages of a session. Never knows: the frames that carry them.
//!
//! Start at [`CalledWait`] and [`TextsWait`].

use crate::scenario::bind::ValueTemplate;
use crate::scenario::pattern::ValuePattern;
use crate::wire::json::Value;

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::failure::NearMiss;
use super::step_wait::{StepWait, StepWaitExpiry, StepWaitStatus};

/// Waits until the harness's own tool was called a number of times. Each call has to match a pattern.
#[derive(Debug)]
pub(super) struct CalledWait {
    /// The number of calls since the case began.
    pub(super) times: u64,
    /// The pattern that the report of each call has to match.
    pub(super) each: ValuePattern,
}

impl StepWait for CalledWait {
    fn check(&mut self, case: &mut ScenarioCase, step: Option<usize>) -> StepWaitStatus {
        let called = case.witness.called();
        if called < self.times {
            return StepWaitStatus::Waits;
        }
        if called > self.times {
            let message = format!("expected {} calls of the tool, found {called}", self.times);
            return StepWaitStatus::Failed(case.failure_at(step, message));
        }
        for (line, call) in case.witness.calls() {
            if let Err(miss) = self.each.matches(Some(call), case.names.bindings(), false) {
                let failure = case.mismatch(step, "harness", "the call of the tool", *line, &miss);
                return StepWaitStatus::Failed(failure);
            }
        }
        StepWaitStatus::Held
    }

    fn needs_turns(&self) -> bool {
        true
    }

    fn expired(&mut self, _: &mut ScenarioCase, _: Option<usize>) -> StepWaitExpiry {
        StepWaitExpiry::Missing(0, format!("{} calls of the tool", self.times))
    }
}

/// Waits until the joined messages of a session match a pattern.
#[derive(Debug)]
pub(super) struct TextsWait {
    /// The client.
    pub(super) peer: PeerId,
    /// The session, as a template.
    pub(super) template: ValueTemplate,
    /// The pattern for the joined messages, with the members `user` and `agent`.
    pub(super) texts: ValuePattern,
    /// The session; null before the wait begins.
    pub(super) session: Value,
}

impl StepWait for TextsWait {
    fn begin(&mut self, case: &mut ScenarioCase, _: Option<usize>) {
        self.session = case.names.fill(&self.template);
    }

    fn check(&mut self, case: &mut ScenarioCase, _: Option<usize>) -> StepWaitStatus {
        let told = case.clients.get(self.peer).map(|peer| peer.served.texts_of(&self.session));
        match case.names.take(&self.texts, told.as_ref(), false) {
            Ok(()) => StepWaitStatus::Held,
            Err(miss) => {
                let near = NearMiss::new(case.traffic.last_line(), miss);
                case.progress.keep_near(Some(near));
                StepWaitStatus::Waits
            }
        }
    }

    fn expired(&mut self, _: &mut ScenarioCase, _: Option<usize>) -> StepWaitExpiry {
        StepWaitExpiry::Missing(self.peer, "the messages of the session".to_owned())
    }
}

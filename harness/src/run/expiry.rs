//! The time limits of waits, and what the end of a wait's time means.
//!
//! Knows: all waits, the steps of the scenario. Never knows: clocks, the messages that a wait looks for.
//!
//! Start at [`ScenarioCase::expired`].

use std::time::Duration;

use crate::scenario::parse::ScenarioStep;
use crate::scenario::verbs::{HOST, StepVerb};

use super::case::ScenarioCase;
use super::failure::{FailureKind, NearMiss};
use super::goal::{DispatchGoal, OpeningGoal, RequestGoal};
use super::step_wait::StepWaitExpiry;
use super::task::{StepTask, TaskAct};
use super::task_wait::{TaskWait, WaitProgress};

/// The time limit of a `connect` of the tested client. The driver's process may have to start first.
const STARTING: Duration = Duration::from_secs(20);

/// The number by which the time limit of a wait is divided once all turns have ended.
const LINGERS: u32 = 10;

impl ScenarioCase {
    /// Handles the timeout of a wait: returns whether the wait is done, has failed or continues.
    pub(super) fn expired(&mut self, step: Option<usize>, mut wait: TaskWait) -> WaitProgress {
        let limit = self.limit(step);
        let when = match self.turns_over(&wait) {
            true => "before its turns were over".to_owned(),
            false => format!("within {limit:?}"),
        };
        let own = match &mut wait {
            TaskWait::Own(own) => Some(own.expired(self, step)),
            _ => None,
        };
        let (peer, missing) = match &wait {
            TaskWait::Connected(peer, OpeningGoal::Refused(_)) => {
                (*peer, "the connection to be refused".to_owned())
            }
            TaskWait::Connected(peer, _) => (*peer, "a connection".to_owned()),
            TaskWait::Response { want: RequestGoal::Anything, .. }
            | TaskWait::Answer { want: RequestGoal::Anything, .. }
            | TaskWait::Observers => return WaitProgress::Done,
            TaskWait::Response { peer, want, .. } | TaskWait::Answer { peer, want, .. } => {
                let what = match want {
                    RequestGoal::Error(_) => "an error".to_owned(),
                    RequestGoal::Refused(_) => {
                        "an error, or the connection to be closed".to_owned()
                    }
                    RequestGoal::Closed => {
                        format!("the {} to close the connection", self.subject())
                    }
                    _ => "an answer".to_owned(),
                };
                (*peer, what)
            }
            TaskWait::Asked { peer, method, .. } => (*peer, format!("a `{method}` request")),
            TaskWait::Settled { peer, settle, .. } => {
                let what = if matches!(settle, DispatchGoal::Reject(_)) {
                    "a rejection"
                } else {
                    "the echo of the action"
                };
                (*peer, what.to_owned())
            }
            TaskWait::Message { peer, filter, .. } => (*peer, filter.what()),
            TaskWait::DefaultChat { peer, .. } => {
                (*peer, "the session to have a default chat".to_owned())
            }
            TaskWait::Barrier(barrier) => return self.barrier_expired(step, barrier.clone()),
            TaskWait::NoAnswer { peer, .. } => (*peer, "an answer to `ping`".to_owned()),
            TaskWait::Closed(peer) => {
                (*peer, format!("the {} to close the connection", self.subject()))
            }
            TaskWait::Restarted | TaskWait::Published | TaskWait::Rested => {
                return WaitProgress::Done;
            }
            TaskWait::Permission { peer, .. } => (*peer, "a request for permission".to_owned()),
            TaskWait::LookAgain { at, look } if look.goes_on(*at) => {
                return self.look(look.clone());
            }
            TaskWait::Mirrored(claim) => return self.mirror(step, claim.clone(), true),
            TaskWait::Looked { .. } | TaskWait::LookAgain { .. } => {
                (0, "the content of the file".to_owned())
            }
            TaskWait::Own(_) => match own {
                Some(StepWaitExpiry::Missing(peer, missing)) => (peer, missing),
                Some(StepWaitExpiry::Failed(failure)) => return WaitProgress::Failed(failure),
                Some(StepWaitExpiry::Held) | None => {
                    self.observed(step);
                    return WaitProgress::Done;
                }
            },
            TaskWait::Driven { .. } => (0, "the driver's answer".to_owned()),
            TaskWait::TestedState { claim, until, .. }
            | TaskWait::TestedStateAgain { claim, until, .. } => {
                return self.tested_state_expired(step, &wait, claim.clone(), *until);
            }
        };
        let name = self.name(peer);
        let types = match &wait {
            TaskWait::Message { filter, .. } => filter.action_types(),
            _ => Vec::new(),
        };
        let undecided = self.decisions.holding_up(&types);
        if let Some(waiting) = undecided.or_else(|| self.waits_for_permission(&wait)) {
            let message = format!(
                "client `{name}`: expected {missing} {when}, but {waiting}, which the scenario \
                 does not answer"
            );
            return WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message));
        }
        if let Some(NearMiss { line, miss, passed }) = self.progress.take_near() {
            let mut failure = self.mismatch(step, &name, "closest message", line, &miss);
            // A message about another subject, or an acceptance instead of a rejection, is not the expected
            // message.
            if miss.named || passed {
                failure.message = format!(
                    "client `{name}`: expected {missing} {when} with `{}` {}, none came; the closest message has {} there",
                    miss.path, miss.expected, miss.found
                );
                failure.kind = FailureKind::Outcome;
            } else if miss.path == "rejectionReason" && miss.found == "nothing" {
                failure.kind = FailureKind::Outcome;
            }
            return WaitProgress::Failed(failure);
        }
        let message = format!("client `{name}`: expected {missing} {when}, nothing came");
        let kind = match wait {
            // Only an answer to the later `ping` would prove that the host sent no response, and no such answer has
            // arrived.
            TaskWait::NoAnswer { .. } => FailureKind::Trouble,
            TaskWait::Response { want: RequestGoal::Closed, .. } => FailureKind::Outcome,
            TaskWait::Response { .. } | TaskWait::Settled { .. } => FailureKind::Silence,
            _ => FailureKind::Outcome,
        };
        let mut failure = self.failure_of(step, kind, message);
        failure.label = "nothing came for this".to_owned();
        if self.traffic.last_line() > 0 {
            failure.lines.push(self.traffic.last_line());
        }
        WaitProgress::Failed(failure)
    }

    /// Returns the deadline of a wait. A wait for a message that answers no request ends soon after the agent's last
    /// turn, because agents send hardly anything outside of turns.
    pub(super) fn unless_over(
        &self,
        wait: &TaskWait,
        now: Duration,
        deadline: Duration,
    ) -> Duration {
        if let TaskWait::LookAgain { at, .. } | TaskWait::TestedStateAgain { at, .. } = wait {
            return *at;
        }
        if let TaskWait::Own(own) = wait
            && let Some(at) = own.due()
        {
            return at.min(deadline);
        }
        match self.turns_over(wait) {
            true => deadline.min(now + self.setup().limit / LINGERS),
            false => deadline,
        }
    }

    /// Returns the time limit of a task.
    pub(super) fn limit_of(&self, task: &StepTask) -> Duration {
        let usual = self.setup().limit * task.act.patience(self.setup().version.standard);
        match (task.step, task.within, &task.act) {
            // The time limit of a rest, or of a task that belongs to no step, is exact.
            (_, Some(own), TaskAct::Rest) | (None, Some(own), _) => own,
            (step, ..) => self.limit(step).max(usual),
        }
    }

    /// Returns the time limit of a wait of a step.
    pub(super) fn limit(&self, step: Option<usize>) -> Duration {
        let step = self.step_at(step);
        let own = step.and_then(|step| step.duration("within")).or(self.setup().scenario.within);
        let is_slow = step.is_some_and(|step| self.starts_driver(step) || self.is_of_harness(step));
        longest(own.or(is_slow.then_some(STARTING)), self.setup().limit)
    }

    /// Returns whether the driver's process may still be starting: the step is `connect`, or the first command.
    fn starts_driver(&self, step: &ScenarioStep) -> bool {
        let mut steps = self.setup().scenario.steps.iter();
        let first = steps.find(|it| it.verb == StepVerb::Drive);
        let is_first = first.is_some_and(|first| first.span == step.span);
        step.verb == StepVerb::Drive && (is_first || step.text("do") == Some("connect"))
    }

    /// Returns whether a step of a scenario about a client is only about the harness's own clients. A busy machine may
    /// delay them, which says nothing about the tested client.
    fn is_of_harness(&self, step: &ScenarioStep) -> bool {
        let Some(tested) = &self.setup().scenario.tested else { return false };
        let mut names = step.actors().map(|(_, name)| name).peekable();
        names.peek().is_some() && names.all(|name| name != tested && name != HOST)
    }
}

/// Returns the time limit of a wait. A limit in a scenario never shortens the limit of the run, because a user raises
/// the limit for a slow host.
fn longest(own: Option<Duration>, run: Duration) -> Duration {
    own.unwrap_or(run).max(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_scenario_never_shorten_the_limit_of_the_run() {
        let check = |own: Option<u64>, run: u64, expected: u64| {
            let found = longest(own.map(Duration::from_secs), Duration::from_secs(run));
            assert_eq!(found, Duration::from_secs(expected), "{own:?} {run}");
        };
        check(None, 2, 2);
        check(Some(5), 2, 5);
        check(Some(5), 20, 20);
    }
}

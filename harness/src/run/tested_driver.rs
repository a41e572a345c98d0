//! The driver of a tested client: commands, answers, and the state that it reports.
//!
//! The state of the client is compared with the state that the reducers compute from the frames that the client
//! received. The client may not have handled the last frames yet, so its state is requested again until both agree or
//! the time limit is reached.
//!
//! Knows: the tested client, tasks. Never knows: processes.
//!
//! Start at [`ScenarioCase::drive`] and [`ScenarioCase::check_tested_state`].

use std::time::Duration;

use crate::edge::ChangeContext;
use crate::peer::reference::STATE_COMMAND;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::pattern::{ValuePattern, brief};
use crate::scenario::source::SourceSpan;
use crate::transcript::SeenFrame;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

use super::case::ScenarioCase;
use super::failure::{FailureKind, StepFailure};
use super::goal::DriverGoal;
use super::output::DriverOutput;
use super::state_claim;
use super::state_claim::TestedStateClaim;
use super::task_wait::{TaskWait, WaitProgress};

/// The interval at which the state of the tested client is requested again.
const STATE_EVERY: Duration = Duration::from_millis(40);
impl ScenarioCase {
    // Methods about the driver of the tested client.

    /// Gives the driver a command.
    pub(super) fn drive(
        &mut self,
        command: &str,
        members: Option<&ValueTemplate>,
        want: Option<DriverGoal>,
        bind: Option<String>,
    ) -> WaitProgress {
        let members = members.map(|members| self.names.fill(members)).unwrap_or_default();
        let id = self.command(command, members);
        match want {
            Some(want) => WaitProgress::Wait(TaskWait::Driven { id, want, bind }),
            None => {
                if let Some(name) = bind {
                    self.names.set(&name, json!(id));
                }
                WaitProgress::Done
            }
        }
    }

    /// Translates the members of a command to the vocabulary of the negotiated version.
    fn lowered(&self, command: &str, mut members: Value) -> Value {
        let Some(edge) = self.tested_edge() else { return members };
        let uri = members["channel"].as_str().map(str::to_owned);
        if let Some(uri) = &uri {
            members["channel"] = json!(edge.lower_uri(uri));
        }
        for channel in members["subscriptions"].as_array_mut().into_iter().flatten() {
            if let Some(uri) = channel.as_str() {
                *channel = json!(edge.lower_uri(uri));
            }
        }
        let action = &members["action"];
        let lowered =
            edge.lower_action(uri.as_deref().unwrap_or_default(), action, ChangeContext::NOTHING);
        if let Some((channel, action)) = lowered.filter(|_| action.is_object()) {
            members["channel"] = json!(channel);
            members["action"] = action;
        }
        let method = members["method"].as_str().unwrap_or_default().to_owned();
        if command == "request" && edge.protocol().method(&method).is_some() {
            members["params"] = edge.lower_params(&method, members["params"].clone());
        }
        members
    }

    fn command(&mut self, command: &str, members: Value) -> u64 {
        let members = self.lowered(command, members);
        let Some(tested) = &mut self.tested else { return 0 };
        let id = tested.driver.number();
        let mut line = json!({"id": id, "do": command});
        if command == "connect" {
            line["url"] = json!(self.setup().tested.url.as_str());
        }
        for (name, value) in members.as_object().into_iter().flatten() {
            line[name.as_str()] = value.clone();
        }
        if !self.setup().tested.comes_by_itself {
            self.outputs.push(DriverOutput::Drive(line.to_string()));
        }
        id
    }

    /// Waits for the driver's answer to an earlier command.
    pub(super) fn await_driver(
        &mut self,
        step: Option<usize>,
        id: &ValuePattern,
        want: DriverGoal,
        bind: Option<String>,
    ) -> WaitProgress {
        let commands = self.tested.as_ref().map_or(0, |tested| tested.driver.commands());
        let fits =
            |id_of: &u64| id.matches(Some(&json!(*id_of)), self.names.bindings(), false).is_ok();
        match (1..=commands).find(fits) {
            Some(id) => WaitProgress::Wait(TaskWait::Driven { id, want, bind }),
            None => {
                let message = "no command to the driver has this id".to_owned();
                WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message))
            }
        }
    }

    /// Handles a line of the driver (an answer or an event), or the end of the driver.
    pub(super) fn handle_driver_line(&mut self, now: Duration, line: u64, seen: &SeenFrame) {
        self.expire(now);
        self.traffic.reach(line);
        let told = seen.message().map(|it| it.value().clone()).unwrap_or_default();
        if let Some(tested) = &mut self.tested {
            tested.driver.hear(line, told);
        }
        self.advance(now);
    }

    fn driver_answer(&mut self, id: u64) -> Option<(u64, Value)> {
        self.tested.as_mut()?.driver.take_answer(id)
    }

    /// Returns the failure of a wait for a driver that has ended.
    fn driver_ended(&self, step: Option<usize>) -> Option<Box<StepFailure>> {
        let gone = self.tested.as_ref()?.driver.gone();
        let message = format!("expected an answer of the driver, the driver has ended: {gone}");
        (!gone.is_empty()).then(|| self.failure_of(step, FailureKind::Silence, message))
    }

    /// Checks whether the driver has answered a command.
    pub(super) fn check_driven(
        &mut self,
        step: Option<usize>,
        id: u64,
        want: DriverGoal,
        bind: Option<String>,
    ) -> WaitProgress {
        // Without a driver, a `connect` command is done once the client's handshake is answered.
        if !self.setup().tested.driven
            && self.tested.as_ref().is_some_and(|tested| tested.received().is_greeted())
        {
            return WaitProgress::Done;
        }
        let Some((line, answer)) = self.driver_answer(id) else {
            return match self.driver_ended(step) {
                Some(failure) => WaitProgress::Failed(failure),
                None => WaitProgress::Wait(TaskWait::Driven { id, want, bind }),
            };
        };
        let name = self.tested_name();
        let answer = match self.tested_edge() {
            Some(edge) => edge.lift_uris(answer),
            None => answer,
        };
        let (ok, error) = (answer.get("ok"), answer.get("error"));
        let want = match want {
            DriverGoal::Either(_, wanted) if error.is_some() => DriverGoal::Error(wanted),
            DriverGoal::Either(wanted, _) => DriverGoal::Result(Some(wanted)),
            want => want,
        };
        let (pattern, value, what) = match (&want, ok, error) {
            (DriverGoal::Result(pattern), Some(ok), None) => (pattern.as_ref(), ok, "result"),
            (DriverGoal::Error(pattern), _, Some(error)) => (Some(pattern), error, "error"),
            (DriverGoal::Result(_), _, Some(error)) => {
                let message = format!(
                    "client `{name}`: expected a result, the driver reported the error {}",
                    brief(error)
                );
                let mut failure = self.failure_at(step, message);
                failure.lines.push(line);
                return WaitProgress::Failed(failure);
            }
            (DriverGoal::Error(_) | DriverGoal::Either(..), ..) => {
                let message = format!(
                    "client `{name}`: expected an error, the driver reported success: {}",
                    brief(&answer)
                );
                let mut failure = self.failure_at(step, message);
                failure.lines.push(line);
                return WaitProgress::Failed(failure);
            }
            (DriverGoal::Result(_), None, None) => {
                let message = format!(
                    "expected an answer of the driver with `ok` or `error`, found {}",
                    brief(&answer)
                );
                return WaitProgress::Failed(self.failure_of(step, FailureKind::Trouble, message));
            }
        };
        if let Some(pattern) = pattern
            && let Err(miss) = self.names.take(pattern, Some(value), false)
        {
            return WaitProgress::Failed(self.mismatch(step, &name, what, line, &miss));
        }
        if let Some(bind) = bind {
            self.names.set(&bind, value.clone());
        }
        self.observed(step);
        WaitProgress::Done
    }

    fn tested_name(&self) -> String {
        self.tested.as_ref().map(|tested| tested.name().to_owned()).unwrap_or_default()
    }

    // Methods about the state that the driver reports for the tested client.

    /// Asks the driver for the state of a channel.
    pub(super) fn ask_state(&mut self, claim: TestedStateClaim, until: Duration) -> WaitProgress {
        let of = if claim.shown { "shown" } else { "confirmed" };
        let members = json!({"channel": claim.channel.as_str(), "of": of});
        let id = self.command(STATE_COMMAND, members);
        WaitProgress::Wait(TaskWait::TestedState { id, claim, until })
    }

    /// Compares the state of the tested client with the state that the reducers compute from the received frames. The
    /// client may not have handled the last frames yet, so the state is requested again until both agree or the time
    /// limit is reached.
    pub(super) fn check_tested_state(
        &mut self,
        step: Option<usize>,
        id: u64,
        claim: TestedStateClaim,
        until: Duration,
    ) -> WaitProgress {
        let Some((line, answer)) = self.driver_answer(id) else {
            return match self.driver_ended(step) {
                Some(failure) => WaitProgress::Failed(failure),
                None => WaitProgress::Wait(TaskWait::TestedState { id, claim, until }),
            };
        };
        match self.compared_state(step, line, &answer, &claim) {
            Ok(()) => {
                self.observed(step);
                WaitProgress::Done
            }
            Err(_) if self.now() + STATE_EVERY < until => {
                let at = self.now() + STATE_EVERY;
                WaitProgress::Wait(TaskWait::TestedStateAgain { at, claim, until })
            }
            Err(failure) => WaitProgress::Failed(failure),
        }
    }

    /// Handles the timeout of a wait for a state.
    pub(super) fn tested_state_expired(
        &mut self,
        step: Option<usize>,
        wait: &TaskWait,
        claim: TestedStateClaim,
        until: Duration,
    ) -> WaitProgress {
        if matches!(wait, TaskWait::TestedStateAgain { .. }) {
            return self.ask_state(claim, until);
        }
        let name = self.tested_name();
        let message = format!(
            "client `{name}`: expected the state of `{}`, the driver did not answer `{STATE_COMMAND}`",
            claim.channel
        );
        WaitProgress::Failed(self.failure_of(step, FailureKind::Silence, message))
    }

    /// # Errors
    /// Returns the failure if the state does not agree.
    fn compared_state(
        &mut self,
        step: Option<usize>,
        line: u64,
        answer: &Value,
        claim: &TestedStateClaim,
    ) -> Result<(), Box<StepFailure>> {
        let (name, channel) = (self.tested_name(), claim.channel.as_str());
        let failed = |case: &ScenarioCase, kind: FailureKind, wrong: String| {
            let message = format!("client `{name}`: the state of `{channel}`: {wrong}");
            let mut failure = case.failure_of(step, kind, message);
            failure.lines.push(line);
            failure
        };
        let on_wire = self.tested_edge().map(|edge| edge.lower_uri(channel));
        let on_wire = on_wire.as_deref().unwrap_or(channel);
        let expected = self.tested.as_ref().and_then(|tested| tested.received().channel(on_wire));
        // A client without an optimistic state reports its confirmed state, and no number of pending actions.
        let is_optimistic = claim.shown && answer["ok"]["pending"].is_u64();
        let expected = expected.map(|mirror| {
            let shown = if claim.shown { mirror.optimistic() } else { mirror.confirmed().clone() };
            let expected = if is_optimistic { shown.clone() } else { mirror.confirmed().clone() };
            (expected, shown, mirror.pending())
        });
        let Some((expected, shown, pending)) = expected else {
            let wrong = "the client is not subscribed to it, so there is nothing to compare";
            return Err(failed(self, FailureKind::Trouble, wrong.to_owned()));
        };
        if let Some(error) = answer.get("error") {
            let wrong = format!("expected a state, the driver reported the error {}", brief(error));
            return Err(failed(self, FailureKind::Outcome, wrong));
        }
        let found = &answer["ok"]["state"];
        let both = (&expected, found);
        let disagreement =
            state_claim::disagreement(self.wire_protocol(), channel, both, &claim.compares);
        if let Some(wanted) = claim.pending {
            let wrong = match answer["ok"]["pending"].as_u64() {
                Some(found) if found == wanted => None,
                Some(found) => Some(format!("expected {wanted} pending actions, found {found}")),
                None => Some(format!("expected {wanted} pending actions, found no number")),
            };
            if let Some(wrong) = wrong {
                return Err(failed(self, FailureKind::Content, wrong));
            }
            if pending as u64 != wanted {
                let wrong = format!(
                    "the step expects {wanted} pending actions, but according to the frames there are {pending}"
                );
                return Err(failed(self, FailureKind::Trouble, wrong));
            }
        }
        let about_all = claim.state.is_none() && claim.compares.is_empty();
        let disagreement = match disagreement {
            Some(it) if about_all || it.is_named => {
                return Err(failed(self, FailureKind::Content, it.message));
            }
            other => other,
        };
        let anything = ValuePattern::anything(SourceSpan::default());
        let pattern = claim.state.as_ref().unwrap_or(&anything);
        let edge = self.tested_edge().zip(ChannelKind::of_uri(channel));
        let matched = |state: &Value| {
            let lifted = edge.as_ref().map(|(edge, kind)| edge.lift_state(*kind, state));
            let state = lifted.as_ref().unwrap_or(state);
            state_claim::match_state(pattern, channel, state, self.names.bindings(), claim.exact)
        };
        match (matched(found), disagreement) {
            (Ok(bound), None) => {
                self.names.bind(pattern, bound);
                Ok(())
            }
            // A difference at a member that the step does not test is no evidence about the requirements of the step.
            (Ok(_), Some(other)) => {
                let wrong = format!("{}; the step is not about this member", other.message);
                Err(failed(self, FailureKind::Trouble, wrong))
            }
            (Err(miss), _) => {
                let mut failure = self.mismatch(step, &name, "state", line, &miss);
                if matched(&shown).is_err() {
                    failure.kind = FailureKind::Trouble;
                    failure.message = format!(
                        "{}; the state that results from the frames does not match either",
                        failure.message
                    );
                }
                Err(failure)
            }
        }
    }
}

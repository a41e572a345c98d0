//! The outcome of each step of a scenario that tests a requirement.
//!
//! A step that names requirements is a claim; every other step is a premise. A failed claim is evidence against
//! its own requirements only. A failed premise is not evidence against any requirement: the later claims are untested.
//!
//! Knows: the results of steps, the reason for an early end. Never knows: weights, reports.
//!
//! Start at [`ScenarioCase::goes_on_after`] and [`ScenarioCase::claims`].

use std::time::Duration;

use crate::ledger::{BreachKind, RequirementLedger};
use crate::scenario::names::{self, NameOccurrence};
use crate::scenario::parse::ScenarioStep;
use crate::scenario::source::SourceSpan;
use crate::scenario::verbs::{StepVerb, VerbNature};
use crate::wire::protocol::{DispatchRight, Protocol};

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::failure::{FailureKind, StepFailure};
use super::step_log::ANY;

/// The outcome of one claim.
#[derive(Clone, Debug)]
pub struct ClaimOutcome {
    /// The location of the claim's step.
    pub span: SourceSpan,
    /// The requirements that the claim tests.
    pub rules: Vec<String>,
    /// The number of times that the claim was tested and held.
    pub observations: u64,
    /// The failure of the claim; `None` if the claim did not fail.
    pub failure: Option<StepFailure>,
    /// The reason why the claim was not tested, in one line; empty if the claim was tested.
    pub untested: String,
    /// Whether the reason in `untested` is a choice that the protocol leaves to the host, so the requirements
    /// do not apply.
    pub inapplicable: bool,
    /// Whether another claim of the scenario failed. That failure is probably the reason why this claim is untested.
    pub follows: bool,
    /// The action or request that the host has to accept in the same run, as listed by
    /// [`ScenarioCase::accepted`]. If the host does not accept it, the refusal that the claim expects is not evidence.
    /// `None` if the claim expects no refusal.
    pub twin: Option<String>,
}

impl ClaimOutcome {
    /// Splits a failed claim into two: a failed claim with the requirements that a failure of this kind breaks, and an
    /// untested claim with the other requirements. A part without requirements is left out. A claim that did not fail
    /// is not split.
    pub(super) fn split(mut self) -> Vec<ClaimOutcome> {
        let Some(failure) = &self.failure else { return vec![self] };
        let least = match failure.kind {
            FailureKind::Content => BreachKind::Content,
            FailureKind::Outcome | FailureKind::Alternative | FailureKind::Trouble => {
                BreachKind::Outcome
            }
            FailureKind::Silence => BreachKind::Silence,
        };
        let (broken, other): (Vec<String>, Vec<String>) =
            self.rules.drain(..).partition(|rule| RequirementLedger::breach(rule) >= least);
        let untested = ClaimOutcome {
            rules: other,
            observations: 0,
            failure: None,
            untested: failure.message.clone(),
            inapplicable: false,
            follows: !broken.is_empty(),
            ..self.clone()
        };
        let claims = [ClaimOutcome { rules: broken, ..self }, untested];
        claims.into_iter().filter(|claim| !claim.rules.is_empty()).collect()
    }
}

/// The prefix of the methods with which a host uses the files of a client.
const SERVED: &str = "resource";
/// The method with which a host reads a file of a client.
const READS: &str = "resourceRead";

impl ScenarioCase {
    /// Records that a claim was tested and held.
    pub(super) fn observed(&mut self, step: Option<usize>) {
        let Some(index) = step.filter(|_| !self.progress.prepares()) else { return };
        if self.step_at(step).is_some_and(ScenarioStep::is_claim) {
            self.log.hold(index);
        }
    }

    /// Records that a step expects an action to be rejected. The rejection is evidence only if the host accepts this
    /// action elsewhere in the run. If clients may not dispatch this action at all, any
    /// other accepted action shows that the host does not reject everything.
    pub(super) fn expects_refused_action(&mut self, step: Option<usize>, name: &str) {
        let action = Protocol::newest().action(name);
        let accepted = action.is_some_and(|action| action.dispatch != DispatchRight::Host);
        self.expects_refusal(step, "dispatch", if accepted { name } else { ANY });
    }

    /// Records that a step expects a request to be refused. The refusal is evidence only if the host answers such a
    /// request elsewhere in the run. If the protocol does not define the method, an answer to any request shows that
    /// the host does not refuse everything. A tested client that serves files may permit only reading, so an answer to
    /// a read request is enough evidence for such a client.
    pub(super) fn expects_refused_request(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        method: &str,
    ) {
        let known = !self.is_acp() && Protocol::newest().method(method).is_some();
        let served = self.is_host(peer) && method.starts_with(SERVED);
        let twin = match (known, served) {
            (true, true) => READS,
            (true, false) => method,
            (false, _) => ANY,
        };
        self.expects_refusal(step, "request", twin);
    }

    fn expects_refusal(&mut self, step: Option<usize>, what: &str, name: &str) {
        if let Some(step) = step {
            self.log.expect_refusal(step, format!("{what} {name}"));
        }
    }

    /// Records a failure and returns whether the next steps can still be played. The next steps can be played
    /// if the step is marked as independent, or if a claim failed only because of the content of a message.
    pub(super) fn goes_on_after(&mut self, mut failure: Box<StepFailure>) -> bool {
        let at = failure.step;
        let step = self.step_at(at).cloned();
        let (Some(at), Some(step)) = (at, step) else {
            self.progress.stop(failure);
            return false;
        };
        self.excuse_dropped(&step, &mut failure);
        let no_breach = matches!(failure.kind, FailureKind::Alternative | FailureKind::Trouble);
        let blames = !no_breach && step.is_claim();
        let goes_on = match failure.kind {
            FailureKind::Content => blames || step.flag("independent"),
            FailureKind::Outcome | FailureKind::Silence => step.flag("independent"),
            FailureKind::Alternative | FailureKind::Trouble => false,
        };
        self.leave_out_names(&step);
        if blames {
            self.log.break_claim(at, &failure);
        }
        if !goes_on {
            self.progress.stop(failure);
        }
        goes_on
    }

    /// Changes the failure kind of a step that waits for a message to [`FailureKind::Trouble`] if one of the
    /// step's clients dropped unread messages.
    fn excuse_dropped(&self, step: &ScenarioStep, failure: &mut StepFailure) {
        // The mailbox does not keep responses, and a forbidden message is recognised when it arrives.
        let row = step.verb.row();
        let is_answered = row.answered || row.nature == VerbNature::Reads;
        if is_answered || matches!(step.verb, StepVerb::Connect | StepVerb::Never) {
            return;
        }
        let dropped = step.actors().find_map(|(_, name)| {
            let peer = self.clients.get(self.clients.named(name)?)?;
            Some((name, peer.mailbox.dropped())).filter(|(_, dropped)| *dropped > 0)
        });
        if let Some((name, dropped)) = dropped {
            failure.kind = FailureKind::Trouble;
            failure.message = format!(
                "the {} sent client `{name}` more messages than the harness keeps unread; \
                 {dropped} messages were dropped, and the one that the step waits for may be among \
                 them ({})",
                self.subject(),
                failure.message
            );
        }
    }

    /// Returns whether a step that checks a state failed because it received no state. Such a failure is no evidence
    /// about the content of the state.
    pub(super) fn shows_nothing(&self, failure: &StepFailure) -> bool {
        let step = self.step_at(failure.step);
        failure.kind == FailureKind::Outcome
            && step.is_some_and(|step| matches!(step.verb, StepVerb::Snapshot | StepVerb::Mirror))
    }

    /// Returns the kind of a failure of a step that received no state. If the step is about the tested client, the
    /// failure counts as a missing answer.
    pub(super) fn kind_without_state(&self, failure: &StepFailure) -> FailureKind {
        let step = self.step_at(failure.step);
        match step.is_some_and(|step| self.tests(step)) {
            true => FailureKind::Silence,
            false => FailureKind::Trouble,
        }
    }

    /// Records a failure that is unrelated to the wait of the current task.
    pub(super) fn failed_meanwhile(&mut self, now: Duration, failure: Box<StepFailure>) {
        if self.progress.is_playing() && !self.goes_on_after(failure) {
            self.clean_up(now);
        }
    }

    /// Returns whether a step needs a name that a failed earlier step should have bound. Such a step is left out if it
    /// only observes or is marked as independent; otherwise, the scenario ends at this step.
    pub(super) fn lacks_a_name(&mut self, index: usize, step: &ScenarioStep) -> bool {
        let mut lacking = None;
        names::occurrences(step, &mut |_, occurrence| {
            if let NameOccurrence::Used(name) = occurrence
                && self.log.misses(name)
                && self.names.get(name).is_none()
            {
                lacking.get_or_insert(name.to_owned());
            }
        });
        let Some(name) = lacking else { return false };
        let why = format!("`${{{name}}}` has no value, since the step that sets it failed");
        self.leave_out_names(step);
        if step.verb.row().nature.observes() || step.flag("independent") {
            self.log.leave_out(index, why);
        } else {
            self.progress.stop(self.failure_of(Some(index), FailureKind::Trouble, why));
        }
        true
    }

    fn leave_out_names(&mut self, step: &ScenarioStep) {
        names::occurrences(step, &mut |_, occurrence| {
            if let NameOccurrence::Found(name) = occurrence
                && self.names.get(name).is_none()
            {
                self.log.miss(name);
            }
        });
    }

    /// Returns the actions and requests that the host accepted, as `dispatch TYPE` and `request METHOD`, in
    /// alphabetical order.
    pub fn accepted(&self) -> impl Iterator<Item = &str> {
        self.log.all_accepted()
    }

    /// Returns the outcome of every claim that applies to the version under test, in the order of the steps.
    pub fn claims(&self) -> Vec<ClaimOutcome> {
        let version = self.setup().version;
        let steps = self.setup().scenario.steps.iter().enumerate();
        let claims = steps.filter(|(_, step)| step.is_claim() && step.holds_in(version));
        claims.map(|(index, step)| self.claim(index, step)).collect()
    }

    fn claim(&self, index: usize, step: &ScenarioStep) -> ClaimOutcome {
        let observations = self.log.observations_of(index);
        let failure = self.log.failure_of(index).cloned();
        // A claim about several clients does not count as held if it failed or was interrupted at one of them.
        let stop = self.progress.failure();
        let stopped = stop.is_some_and(|stop| stop.step == Some(index));
        let untested = match (&failure, self.log.reason_left_out(index), stop) {
            (Some(_), ..) => String::new(),
            (None, Some(why), _) => why.clone(),
            (None, None, Some(stop)) if observations > 0 && !stopped => {
                self.reason_without_twin(index, stop)
            }
            (None, None, None) if observations > 0 => String::new(),
            (None, None, Some(stop)) if stopped => stop.message.clone(),
            (None, None, Some(stop)) => self.reason_of_stop(stop),
            (None, None, None) if self.progress.was_interrupted() => "interrupted".to_owned(),
            (None, None, None) => "nothing was observed".to_owned(),
        };
        let follows = !untested.is_empty() && self.log.any_broken();
        let choice = stop.and_then(|stop| self.choice(stop));
        ClaimOutcome {
            follows,
            inapplicable: choice.is_some_and(|choice| choice == untested),
            span: step.span,
            rules: step.proves().to_vec(),
            observations: if untested.is_empty() { observations } else { 0 },
            failure,
            untested,
            twin: self.log.twin(index).cloned(),
        }
    }

    /// Returns why an observed refusal is not evidence; empty if the refusal is evidence. A refusal is not evidence if
    /// a later premise failed and the host accepted nothing comparable, because the host may refuse everything.
    fn reason_without_twin(&self, index: usize, stop: &StepFailure) -> String {
        let twin = self.log.twin(index).filter(|twin| !self.log.has_accepted(twin));
        let Some(twin) = twin else {
            return String::new();
        };
        if stop.step.is_some_and(|at| self.log.is_broken(at)) {
            return String::new();
        }
        format!(
            "the refusal proves nothing, because the {} did not accept `{twin}` either; {}",
            self.subject(),
            stop.message
        )
    }

    /// Returns the text of the step's `choice` if the scenario ended because the host made that choice, which the
    /// protocol permits.
    fn choice(&self, stop: &StepFailure) -> Option<&str> {
        let step = self.step_at(stop.step)?;
        // A host is free to omit a message, to refuse a version, or to forget a client. If it answers any other request
        // with an error, this is not a free choice.
        let free = matches!(
            step.verb,
            StepVerb::Await | StepVerb::Expect | StepVerb::Initialize | StepVerb::Reconnect
        );
        let named = step.text("unless").is_some();
        let chosen = match stop.kind {
            FailureKind::Alternative => true,
            FailureKind::Content => !named,
            FailureKind::Outcome => free && !named,
            FailureKind::Silence | FailureKind::Trouble => false,
        };
        step.choice().filter(|_| chosen)
    }

    fn reason_of_stop(&self, stop: &StepFailure) -> String {
        if let Some(choice) = self.choice(stop) {
            return choice.to_owned();
        }
        let step = self.step_at(stop.step);
        match step {
            Some(step) if stop.kind != FailureKind::Trouble => {
                let verb = step.verb.row().name;
                format!("it needs an earlier step, `{verb}`, that failed: {}", stop.message)
            }
            _ => stop.message.clone(),
        }
    }
}

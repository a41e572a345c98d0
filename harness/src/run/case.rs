//! The state machine that plays one scenario: it receives events and returns what to do.
//!
//! Knows: all parts of a case. Never knows: the private state of a part, clocks, sockets.
//!
//! Start at [`ScenarioCase`].

use std::sync::Arc;
use std::time::Duration;

use crate::wire::json::{Value, json};

use crate::scenario::parse::ScenarioStep;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::message::{Message, MessageKind, is_handshake};

use super::case_clients::CaseClients;
use super::case_marks::CaseMarks;
use super::case_names::CaseNames;
use super::case_observers::ScenarioObservers;
use super::case_peers::PeerId;
use super::case_progress::{BUDGET, CaseProgress, CurrentWait};
use super::case_traffic::TrafficBudget;
use super::case_watches::AbsenceWatches;
use super::case_witness::CaseWitness;
use super::created_resources::{AUTOMATION, CreatedResources};
use super::decisions::OpenDecisions;
use super::failure::{FailureKind, StepFailure};
use super::output::{DriverOutput, OutputQueue};
use super::setup::CaseSetup;
use super::step_log::StepLog;
use super::task_wait::{TaskWait, WaitProgress};
use super::tested_client::TestedClient;

/// A scenario that is being played. A case neither reads a clock nor owns a socket. Events are passed to the `handle_*`
/// methods. [`poll_output`](Self::poll_output) returns the next action of the driver, or `None`.
/// [`next_timeout`](Self::next_timeout) returns the time at which [`handle_timeout`](Self::handle_timeout) is due.
///
/// The modules of `run` use the parts side by side. The state of a part is private, so that only its own module changes
/// it.
#[derive(Debug)]
pub struct ScenarioCase {
    setup: CaseSetup,
    pub(super) clients: CaseClients,
    pub(super) names: CaseNames,
    pub(super) created: CreatedResources,
    pub(super) marks: CaseMarks,
    pub(super) progress: CaseProgress,
    pub(super) watches: AbsenceWatches,
    pub(super) outputs: OutputQueue,
    pub(super) observers: Option<ScenarioObservers>,
    pub(super) log: StepLog,
    pub(super) decisions: OpenDecisions,
    pub(super) traffic: TrafficBudget,
    pub(super) witness: CaseWitness,
    /// The client under test; `None` if the scenario tests the host.
    pub(super) tested: Option<TestedClient>,
}

impl ScenarioCase {
    /// Returns the word for the tested party in messages: "host", "agent" or "client".
    pub(super) fn subject(&self) -> &'static str {
        if self.tested.is_some() {
            return "client";
        }
        self.setup.version.standard.subject()
    }

    /// Creates a case that has not started; [`begin`](Self::begin) starts it.
    pub fn new(setup: CaseSetup) -> ScenarioCase {
        let mirrors = setup.needs_mirrors();
        let mut names = CaseNames::new(&setup);
        let tag = names.number() as u32;
        let clients = setup.scenario.clients.clone();
        let observers = setup.observe.then(|| ScenarioObservers::new(setup.seed ^ u64::from(tag)));
        let mut case = ScenarioCase {
            progress: CaseProgress::new(setup.limit),
            setup,
            clients: CaseClients::default(),
            names,
            created: CreatedResources::default(),
            marks: CaseMarks::default(),
            watches: AbsenceWatches::default(),
            outputs: OutputQueue::default(),
            observers,
            log: StepLog::default(),
            decisions: OpenDecisions::default(),
            traffic: TrafficBudget::default(),
            witness: CaseWitness::default(),
            tested: None,
        };
        case.names.set("version", json!(case.setup.version.to_string()));
        for (name, value) in case.setup.facts.clone() {
            case.names.set(&name, json!(value));
        }
        case.bind_side();
        let tested = case.setup.scenario.tested.clone();
        for name in clients.into_iter().filter(|name| tested.as_ref() != Some(name)) {
            // Clients may use their id as the authority of URIs, and hosts may convert an authority to lower case.
            let client_id = format!("ahp-harness-{tag:08x}-{name}").to_lowercase();
            case.names.set(&format!("{name}.id"), json!(client_id));
            let files = case.setup.forms.client_files(&client_id);
            case.names.set(&format!("{name}.files"), json!(files));
            case.push_peer(name, client_id, mirrors);
        }
        if let Some(name) = tested {
            case.add_tested(name);
        }
        case
    }

    /// Returns the time of the current event.
    pub(super) fn now(&self) -> Duration {
        self.names.now()
    }

    /// Starts the case.
    pub fn begin(&mut self, now: Duration) {
        self.progress.restart_time(now, self.setup.limit);
        self.advance(now);
    }

    /// Returns the next output; `None` if the driver has nothing to do now.
    pub fn poll_output(&mut self) -> Option<DriverOutput> {
        self.outputs.take()
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) is due; `None` once the case is over.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.progress.next_timeout(self.tested.as_ref().and_then(TestedClient::next_due))
    }

    /// Returns whether the case is over.
    pub fn is_over(&self) -> bool {
        self.progress.is_over()
    }

    /// Returns the setup that the case was created with.
    pub fn setup(&self) -> &CaseSetup {
        &self.setup
    }

    /// Returns the step with this index; `None` if there is none.
    pub(super) fn step_at(&self, index: Option<usize>) -> Option<&ScenarioStep> {
        self.setup.scenario.steps.get(index?)
    }

    /// Adds steps after the last one.
    pub(super) fn add_steps(&mut self, steps: Vec<ScenarioStep>) {
        Arc::make_mut(&mut self.setup.scenario).steps.extend(steps);
    }

    /// Extends the time limit of a wait, and the time of the phase with it.
    pub(super) fn extend_limit(&mut self, limit: Duration) {
        self.progress.extend_time(limit - self.setup.limit);
        self.setup.limit = limit;
    }

    /// Returns the failure that ended the scenario before its last step, if there is one.
    pub fn failure(&self) -> Option<&StepFailure> {
        self.progress.failure()
    }

    /// Returns how often a claim was tested and held.
    pub fn observations(&self) -> u64 {
        self.log.observations()
    }

    /// Returns whether the user interrupted the case.
    pub fn was_interrupted(&self) -> bool {
        self.progress.was_interrupted()
    }

    /// Returns the notes for the report, apart from the verdict.
    pub fn notes(&self) -> &[String] {
        self.log.notes()
    }

    /// Returns whether any client completed a handshake.
    pub fn shook_hands(&self) -> bool {
        if let Some(tested) = &self.tested {
            return tested.introduced();
        }
        self.clients.shook_hands()
    }

    /// Returns the approximate memory that all received frames need, in bytes.
    pub fn traffic_weight(&self) -> u64 {
        self.traffic.weight()
    }

    /// Handles an opened connection.
    pub fn handle_opened(&mut self, now: Duration, conn: ConnId) {
        self.expire(now);
        if self.observer_opened(conn) {
            return;
        }
        let acp = self.is_acp();
        if let Some(peer) = self.clients.on_mut(conn) {
            // A new connection is a new agent process: messages of the old process are dropped.
            peer.opened(now, acp);
        }
        self.advance(now);
    }

    /// Handles a frame that arrived.
    pub fn handle_frame(&mut self, now: Duration, conn: ConnId, line: u64, seen: &Arc<SeenFrame>) {
        self.expire(now);
        self.traffic.count(line, &seen.frame);
        if self.traffic.is_exceeded() {
            self.flooded(line);
            return;
        }
        if self.observer_told(conn, seen.message()) {
            self.advance(now);
            return;
        }
        let Some(id) = self.clients.on(conn) else { return };
        if let Some(message) = seen.message() {
            self.message(id, line, seen, message);
        }
        self.advance(now);
    }

    /// Handles a connection that could not be opened, or that ended although the case did not close it.
    pub fn handle_closed(&mut self, now: Duration, conn: ConnId, line: u64, reason: &str) {
        self.expire(now);
        if self.observer_gone(conn) {
            self.advance(now);
            return;
        }
        self.traffic.reach(line);
        if let Some(peer) = self.clients.on_mut(conn) {
            peer.end(Some((line, reason.to_owned())));
        }
        self.advance(now);
    }

    /// Handles a connection that the host refused.
    pub fn handle_refused(
        &mut self,
        now: Duration,
        conn: ConnId,
        line: u64,
        status: Option<u16>,
        reason: &str,
    ) {
        if let Some(peer) = self.clients.on_mut(conn) {
            peer.refuse(status);
        }
        self.handle_closed(now, conn, line, reason);
    }

    /// Handles the end of a restart: the host is back, or the restart failed.
    pub fn handle_restarted(&mut self, now: Duration, outcome: Result<(), String>) {
        self.expire(now);
        if self.progress.is_playing() {
            // The duration of the restart does not count towards the time limit of the scenario.
            self.progress.restart_time(now, self.setup.limit);
        }
        self.observers_lost();
        self.clients.disconnect();
        if let Some(CurrentWait { step, wait: TaskWait::Restarted, .. }) = self.progress.take_wait()
            && let Err(reason) = outcome
        {
            let message = format!("the {} was not restarted: {reason}", self.subject());
            let failure = self.failure_of(step, FailureKind::Trouble, message);
            self.fail(now, failure);
        }
        self.advance(now);
    }

    /// Handles the end of a publication: every frame that the host sent because of the publication has arrived, so the
    /// frames of later steps arrive after these frames.
    pub fn handle_published(&mut self, now: Duration) {
        self.expire(now);
        self.progress.published();
        self.advance(now);
    }

    /// Advances the clock to `now`. An early call has no effect.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.expire(now);
        self.advance(now);
    }

    /// Stops the case on the user's request. The case still removes the resources that it created.
    pub fn interrupt(&mut self, now: Duration) {
        if self.progress.is_playing() {
            self.progress.interrupt();
            self.clean_up(now);
            self.advance(now);
        }
    }

    // Methods that handle incoming messages.

    fn message(&mut self, id: PeerId, line: u64, seen: &Arc<SeenFrame>, message: &Message) {
        let Some(peer) = self.clients.get_mut(id) else {
            return;
        };
        let accepted = peer.accepted_request(message);
        let shook = accepted.as_deref().is_some_and(is_handshake);
        if shook {
            peer.shake_hands();
        }
        let lifted = peer.engine.handle(message).map(|lifted| Arc::new(SeenFrame::of(lifted)));
        let last_seen = peer.engine.last_seen();
        // From here on, `seen` contains the message with the names of the newest version. The transcript keeps the
        // original message.
        let seen = lifted.as_ref().unwrap_or(seen);
        let Some(message) = seen.message() else {
            return;
        };
        if let Some(method) = accepted {
            self.log.accepted("request", &method);
        }
        match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                peer.keep_answer(line, seen);
                if let Some(result) = message.result().filter(|_| self.progress.is_cleaning()) {
                    self.created.listed(result);
                }
            }
            MessageKind::Notification => {
                if self.created.noticed(message) {
                    self.log.accepted("dispatch", AUTOMATION.0);
                }
                let (params, own) = (message.params(), &*peer.engine.client_id);
                if params["origin"]["clientId"] == *own
                    && params.get("rejectionReason").is_none_or(Value::is_null)
                    && let Some(name) = params["action"]["type"].as_str()
                {
                    self.log.accepted("dispatch", name);
                }
                if !self.is_mark(id, message) {
                    if let Some(peer) = self.clients.get_mut(id) {
                        peer.served.hear(message);
                        peer.mailbox.push(line, Arc::clone(seen));
                    }
                    self.hold_against_watches(id, line, message);
                    self.decisions.hear(message);
                    self.approve(id, message);
                }
            }
            MessageKind::Request if self.setup.serves(peer.name(), message.method()) => {
                peer.keep_request(line, seen);
                if peer.answers_itself(message.method().unwrap_or_default()) {
                    self.answer_from_folder(id, message);
                }
                self.hold_against_watches(id, line, message);
            }
            MessageKind::Request if self.is_acp() => self.serve(id, line, seen, message),
            MessageKind::Request => {
                self.hold_against_watches(id, line, message);
                self.answer_from_folder(id, message);
            }
            _ => {}
        }
        if let Some(peer) = self.clients.get(id) {
            self.names.set(peer.seq_name(), json!(last_seen));
        }
        if shook {
            self.slow_start(id);
        }
    }

    pub(super) fn flooded(&mut self, line: u64) {
        let step = self.progress.last_step();
        let message = format!(
            "the {} sent {}, which is more than any scenario needs",
            self.subject(),
            self.traffic
        );
        // No scenario tests a flood of frames by the host, but a flood makes every later step untestable.
        let mut failure = self.failure_of(step, FailureKind::Trouble, message);
        failure.lines.push(line);
        // The case ignores later messages and ends all connections at once.
        self.progress.give_up(failure);
        self.end();
    }

    // Methods that move the case from task to task.

    /// Fails the current wait if its deadline has passed.
    pub(super) fn expire(&mut self, now: Duration) {
        self.names.turn_to(now);
        self.release_held_back(now);
        if self.progress.is_over() || self.progress.restarts() {
            return;
        }
        if self.progress.is_late(now) && self.progress.is_cleaning() {
            self.log.note("the cleanup took too long and was stopped".to_owned());
            self.end();
        } else if self.progress.is_late(now) {
            let step = self.progress.take_wait().and_then(|current| current.step);
            let message = format!("the scenario took longer than {:?}", self.setup.limit * BUDGET);
            let failure = self.failure_of(step, FailureKind::Trouble, message);
            self.fail(now, failure);
        } else if let Some(CurrentWait { step, wait, .. }) = self.progress.take_expired(now) {
            match self.expired(step, wait) {
                WaitProgress::Done => {}
                WaitProgress::Wait(wait) => self.progress.wait(step, wait, now + self.setup.limit),
                WaitProgress::Failed(failure) => self.fail(now, failure),
            }
        }
    }

    /// Makes all progress that is possible without another event.
    pub(super) fn advance(&mut self, now: Duration) {
        self.names.turn_to(now);
        if self.progress.is_stopped() {
            self.clean_up(now);
        }
        while !self.progress.is_over() {
            if let Some(CurrentWait { step, wait, deadline }) = self.progress.take_wait() {
                match self.check(step, wait) {
                    WaitProgress::Done => {}
                    WaitProgress::Wait(wait) => {
                        let until = self.unless_over(&wait, now, deadline);
                        return self.progress.wait(step, wait, until);
                    }
                    WaitProgress::Failed(failure) => self.fail(now, failure),
                }
            } else if let Some(task) = self.progress.next_task() {
                let (step, until) = (task.step, now + self.limit_of(&task));
                match self.start(task) {
                    WaitProgress::Done => {}
                    WaitProgress::Wait(wait) => self.progress.wait(step, wait, until),
                    WaitProgress::Failed(failure) => self.fail(now, failure),
                }
            } else if self.progress.is_cleaning() {
                // The answers to the requests of the cleanup may have shown further resources to remove.
                match self.cleaning() {
                    tasks if tasks.is_empty() => self.end(),
                    tasks => self.progress.play(tasks),
                }
            } else if self.progress.awaits_steps(self.setup.scenario.steps.len()) {
                return;
            } else {
                self.step(now);
                if self.progress.is_stopped() {
                    self.clean_up(now);
                }
            }
        }
    }

    fn step(&mut self, now: Duration) {
        let scenario = Arc::clone(&self.setup.scenario);
        let version = self.setup.version;
        let index = self.progress.find_step(&scenario.steps, version);
        match scenario.steps.get(index) {
            Some(step) => {
                self.perhaps_observed();
                self.progress.pass_step();
                if self.lacks_a_name(index, step) {
                    return;
                }
                let tasks = self.tasks_of(index, step);
                self.progress.play(tasks);
            }
            None if index == scenario.steps.len() && self.last_observer(now) => {
                self.progress.pass_step();
            }
            None => self.clean_up(now),
        }
    }

    pub(super) fn clean_up(&mut self, now: Duration) {
        self.progress.clean_up(now, self.setup.limit);
        self.observers_leave();
        self.drop_rules();
        self.watches.clear();
        let tasks = self.cleaning();
        self.progress.play(tasks);
    }

    fn end(&mut self) {
        self.progress.end();
        self.cut_tested(true);
        for conn in self.clients.close() {
            self.outputs.push(DriverOutput::Close { conn, graceful: true });
        }
    }

    fn fail(&mut self, now: Duration, failure: Box<StepFailure>) {
        if self.progress.is_cleaning() {
            self.log.note(format!("cleaning up: {}", failure.message));
            return;
        }
        let mut failure = failure;
        if self.progress.prepares() {
            failure.kind = FailureKind::Trouble;
        } else if self.shows_nothing(&failure) {
            failure.kind = self.kind_without_state(&failure);
        }
        let kind = failure.kind;
        if !self.goes_on_after(failure) {
            self.clean_up(now);
        } else if kind != FailureKind::Content {
            // The remaining tasks of the step depend on the expected outcome, which did not occur.
            self.progress.keep_closings();
        }
    }
}

/// Returns the params of a message; null if the frame is not a message.
pub(super) fn params(seen: &SeenFrame) -> &Value {
    seen.message().map_or(&Value::Null, Message::params)
}

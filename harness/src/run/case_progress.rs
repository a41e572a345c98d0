//! How far a case has been played: its phase, its tasks, the current wait, and the failure that stopped it.
//!
//! Knows: tasks, waits, time limits. Never knows: clients, messages, outputs.
//!
//! Start at [`CaseProgress`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::scenario::parse::ScenarioStep;
use crate::wire::version::Version;

use super::failure::{NearMiss, StepFailure};
use super::goal::{RequestGoal, ResultUse};
use super::task::{PATIENCE, StepTask, TaskAct};
use super::task_wait::TaskWait;

/// The time limit of a whole scenario, as a multiple of the time limit of one wait. The cleanup has the same limit.
pub(super) const BUDGET: u32 = 30;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CasePhase {
    Playing,
    Cleaning,
    Over,
}

/// The wait of the current task.
#[derive(Debug)]
pub(super) struct CurrentWait {
    /// The index of the step in the scenario; `None` for a wait of no step.
    pub(super) step: Option<usize>,
    /// The event that the task waits for.
    pub(super) wait: TaskWait,
    /// The time at which the wait ends without the event.
    pub(super) deadline: Duration,
}

/// The position of a case in its scenario.
#[derive(Debug)]
pub(super) struct CaseProgress {
    phase: CasePhase,
    /// The time at which the phase ends at the latest.
    deadline: Duration,
    next_step: usize,
    /// The remaining tasks of the current step, or of the cleanup.
    tasks: VecDeque<StepTask>,
    current: Option<CurrentWait>,
    /// Whether the current task only prepares its step's main act.
    prepares: bool,
    /// The received message that is most similar to the message that the current wait expects.
    near: Option<NearMiss>,
    /// The failure that ended the scenario before its last step.
    failure: Option<Box<StepFailure>>,
    interrupted: bool,
    /// Whether the case waits for further steps after its last step, instead of ending.
    open_ended: bool,
}

impl CaseProgress {
    /// Creates the position before the first step. `limit` is the time limit of one wait.
    pub(super) fn new(limit: Duration) -> CaseProgress {
        CaseProgress {
            phase: CasePhase::Playing,
            deadline: limit * BUDGET,
            next_step: 0,
            tasks: VecDeque::new(),
            current: None,
            prepares: false,
            near: None,
            failure: None,
            interrupted: false,
            open_ended: false,
        }
    }

    // Methods about the phase and its time.

    /// Returns whether the steps are being played.
    pub(super) fn is_playing(&self) -> bool {
        self.phase == CasePhase::Playing
    }

    /// Returns whether the resources of the case are being removed.
    pub(super) fn is_cleaning(&self) -> bool {
        self.phase == CasePhase::Cleaning
    }

    /// Returns whether the case is over.
    pub(super) fn is_over(&self) -> bool {
        self.phase == CasePhase::Over
    }

    /// Restarts the time limit of the phase.
    pub(super) fn restart_time(&mut self, now: Duration, limit: Duration) {
        self.deadline = now + limit * BUDGET;
    }

    /// Extends the time of the phase, because the limit of each wait was extended by `more`.
    pub(super) fn extend_time(&mut self, more: Duration) {
        self.deadline += more * BUDGET;
    }

    /// Returns whether the time of the phase has passed.
    pub(super) fn is_late(&self, now: Duration) -> bool {
        now >= self.deadline
    }

    /// Returns the time of the next timeout: of the wait, of the phase, or `other`, whichever is first. The driver, not
    /// the case, limits the time of a restart.
    pub(super) fn next_timeout(&self, other: Option<Duration>) -> Option<Duration> {
        if self.is_over() || self.restarts() {
            return None;
        }
        let wait = self.current.as_ref().map(|current| current.deadline);
        [wait, other].into_iter().flatten().chain([self.deadline]).min()
    }

    /// Begins the cleanup. A resource can only be removed after its creation is complete, so the wait for a response
    /// goes on first.
    pub(super) fn clean_up(&mut self, now: Duration, limit: Duration) {
        self.phase = CasePhase::Cleaning;
        self.restart_time(now, limit);
        self.tasks.clear();
        if let Some(CurrentWait { wait: TaskWait::Response { peer, id, .. }, .. }) =
            self.take_wait()
        {
            let want = RequestGoal::Anything;
            let keep = ResultUse::default();
            let wait = TaskWait::Response { peer, id, want, exact: false, keep };
            self.wait(None, wait, now + limit * PATIENCE);
        }
    }

    /// Ends the case.
    pub(super) fn end(&mut self) {
        self.phase = CasePhase::Over;
    }

    // Methods about steps and tasks.

    /// Returns the index of the next step that the version has; an index after the last step if none is left.
    pub(super) fn find_step(&mut self, steps: &[ScenarioStep], version: Version) -> usize {
        while steps.get(self.next_step).is_some_and(|step| !step.holds_in(version)) {
            self.next_step += 1;
        }
        self.next_step
    }

    /// Advances past the step that was found.
    pub(super) fn pass_step(&mut self) {
        self.next_step += 1;
    }

    /// Returns the index of the step that was passed last.
    pub(super) fn last_step(&self) -> Option<usize> {
        self.next_step.checked_sub(1)
    }

    /// Makes the case wait for further steps instead of ending after the last one.
    pub(super) fn leave_open(&mut self) {
        self.open_ended = true;
    }

    /// Returns whether the case waits for steps beyond the number that it has.
    pub(super) fn awaits_steps(&self, number: usize) -> bool {
        self.open_ended && self.next_step >= number
    }

    /// Sets the next tasks, after all others are done.
    pub(super) fn play(&mut self, tasks: Vec<StepTask>) {
        self.tasks = tasks.into();
    }

    /// Adds a task before the next one.
    pub(super) fn play_first(&mut self, task: StepTask) {
        self.tasks.push_front(task);
    }

    /// Removes the next task, makes it the current task, and returns it.
    pub(super) fn next_task(&mut self) -> Option<StepTask> {
        let task = self.tasks.pop_front()?;
        self.near = None;
        self.prepares = task.prepares;
        Some(task)
    }

    /// Removes the tasks that depend on the failed one. Only tasks that end connections are kept.
    pub(super) fn keep_closings(&mut self) {
        self.tasks.retain(|task| matches!(task.act, TaskAct::Hang { .. }));
    }

    /// Returns whether the current task only prepares its step's main act.
    pub(super) fn prepares(&self) -> bool {
        self.prepares
    }

    /// Returns whether a task is being played or left.
    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some() || !self.tasks.is_empty()
    }

    // Methods about the wait of the current task.

    /// Begins or continues the wait of the current task.
    pub(super) fn wait(&mut self, step: Option<usize>, wait: TaskWait, deadline: Duration) {
        self.current = Some(CurrentWait { step, wait, deadline });
    }

    /// Removes and returns the current wait.
    pub(super) fn take_wait(&mut self) -> Option<CurrentWait> {
        self.current.take()
    }

    /// Removes and returns the current wait if its time has passed.
    pub(super) fn take_expired(&mut self, now: Duration) -> Option<CurrentWait> {
        self.current.take_if(|current| now >= current.deadline)
    }

    /// Ends the wait for a publication, if this is the current wait.
    pub(super) fn published(&mut self) {
        self.current.take_if(|current| matches!(current.wait, TaskWait::Published));
    }

    /// Returns whether the case waits for a restart of the host.
    pub(super) fn restarts(&self) -> bool {
        self.current.as_ref().is_some_and(|current| matches!(current.wait, TaskWait::Restarted))
    }

    /// Keeps the received message that is most similar to the expected one.
    pub(super) fn keep_near(&mut self, near: Option<NearMiss>) {
        self.near = near;
    }

    /// Removes and returns the received message that is most similar to the expected one.
    pub(super) fn take_near(&mut self) -> Option<NearMiss> {
        self.near.take()
    }

    // Methods about an early end.

    /// Records the failure that ends the scenario. Only the first failure counts.
    pub(super) fn stop(&mut self, failure: Box<StepFailure>) {
        self.failure.get_or_insert(failure);
    }

    /// Records the failure that ends the scenario, and drops the current wait and all tasks.
    pub(super) fn give_up(&mut self, failure: Box<StepFailure>) {
        self.stop(failure);
        self.current = None;
        self.tasks.clear();
    }

    /// Returns whether a failure has ended the playing, so that the cleanup has to begin.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_playing() && self.failure.is_some()
    }

    /// Returns the failure that ended the scenario before its last step.
    pub(super) fn failure(&self) -> Option<&StepFailure> {
        self.failure.as_deref()
    }

    /// Records that the user interrupted the case.
    pub(super) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Returns whether the user interrupted the case.
    pub(super) fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}

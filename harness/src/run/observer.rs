//! Additional clients that join at random points, subscribe to every channel that they find, and leave (`run
//! --observe`).
//!
//! Observers judge nothing themselves. The transcript contains everything that they receive. The always-on checks
//! compare the observers' snapshots with each other and with the actions in between. Observers run in parallel with the
//! steps. The steps neither wait for observers nor see their messages. Observers only use the channels of this
//! scenario, because the host may also serve other users.
//!
//! Knows: the observers and the channels of the case. Never knows: steps, rules.
//!
//! Start at [`ScenarioCase::perhaps_observed`].

use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::json::json;
use crate::wire::message::Message;

use super::case::ScenarioCase;
use super::case_observers::ScenarioObservers;
use super::output::DriverOutput;
use super::task_wait::{TaskWait, WaitProgress};

impl ScenarioCase {
    /// Decides at random whether an observer joins before the next step.
    pub(super) fn perhaps_observed(&mut self) {
        if self.observers.as_mut().is_some_and(ScenarioObservers::wants_another) {
            self.observer_comes();
        }
    }

    /// Lets an observer join after the last step and waits until all observers have left. Returns false if the
    /// case has no observers.
    pub(super) fn last_observer(&mut self, now: Duration) -> bool {
        if self.observers.is_none() || !self.shook_hands() {
            return false;
        }
        self.observer_comes();
        self.progress.wait(None, TaskWait::Observers, now + self.setup().limit);
        true
    }

    /// Returns whether the case still has to wait for observers.
    pub(super) fn check_observers(&self) -> WaitProgress {
        match &self.observers {
            Some(observers) if !observers.is_empty() => WaitProgress::Wait(TaskWait::Observers),
            _ => WaitProgress::Done,
        }
    }

    /// Closes the connections of all observers.
    pub(super) fn observers_leave(&mut self) {
        for conn in self.observers.iter_mut().flat_map(ScenarioObservers::leave) {
            self.outputs.push(DriverOutput::Close { conn, graceful: true });
        }
    }

    fn observer_comes(&mut self) {
        let edge = self.edge();
        let Some(observers) = self.observers.as_mut().filter(|observers| observers.has_room())
        else {
            return;
        };
        let output = observers.come(self.clients.new_conn(), edge);
        self.outputs.push(output);
    }

    /// Handles an opened connection. Returns whether the connection belongs to an observer.
    pub(super) fn observer_opened(&mut self, conn: ConnId) -> bool {
        let offers = json!(self.setup().offers);
        let output = self.observers.as_mut().and_then(|it| it.opened(conn, &offers));
        let found = output.is_some();
        output.into_iter().for_each(|output| self.outputs.push(output));
        found
    }

    /// Handles a received message. Returns whether the message was for an observer.
    pub(super) fn observer_told(&mut self, conn: ConnId, message: Option<&Message>) -> bool {
        let created: Vec<String> = self.created.channels().map(str::to_owned).collect();
        let outputs = self.observers.as_mut().and_then(|it| it.told(conn, message, &created));
        let found = outputs.is_some();
        outputs.into_iter().flatten().for_each(|output| self.outputs.push(output));
        found
    }

    /// Handles the end of a connection. Returns whether the connection belonged to an observer.
    pub(super) fn observer_gone(&mut self, conn: ConnId) -> bool {
        self.observers.as_mut().is_some_and(|observers| observers.gone(conn))
    }

    /// Forgets all observers, because a restart of the host closed their connections.
    pub(super) fn observers_lost(&mut self) {
        self.observers.as_mut().into_iter().for_each(ScenarioObservers::lost);
    }
}

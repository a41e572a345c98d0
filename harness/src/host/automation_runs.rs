//! The runs of automations: which runs are unfinished, and what they wait for.
//!
//! Owns: the unfinished runs, the answered requests for runs. Knows: nothing else. Never knows: states, sessions.
//!
//! Start at [`AutomationRuns`].

use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::Value;

/// The maximum number of unfinished runs.
const MAX_OPEN: usize = 200;
/// The maximum number of remembered request ids.
const MAX_REQUESTED: usize = 10_000;

/// An unfinished run of an automation.
#[derive(Clone, Debug)]
struct AutomationRun {
    /// The automation's entry at the time of the request.
    automation: Value,
    /// The time at which the run starts; `None` after the start.
    due: Option<Duration>,
    /// The URI of the session that the run has created.
    session: String,
    /// The chat and the id of the turn whose end the run waits for; `None` before the turn starts.
    turn: Option<(String, String)>,
}

/// The runs of automations.
#[derive(Debug, Default)]
pub(super) struct AutomationRuns {
    /// The unfinished runs, by URI.
    open: LiteMap<String, AutomationRun>,
    /// The runs that clients have requested, by automation and request id.
    requested: LiteMap<(String, String), String>,
}

impl AutomationRuns {
    /// Returns whether the host accepts no further run.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= MAX_OPEN || self.requested.len() >= MAX_REQUESTED
    }

    /// Returns the run of an earlier request with this automation and request id.
    pub(super) fn requested(&self, request: &(String, String)) -> Option<&String> {
        self.requested.get(request)
    }

    /// Stores the run of a request.
    pub(super) fn remember(&mut self, request: (String, String), run: String) {
        self.requested.insert(request, run);
    }

    /// Adds a pending run; `automation` is the automation's entry, and `due` the time at which the run starts.
    pub(super) fn add(&mut self, run: &str, automation: Value, due: Duration) {
        let new = AutomationRun { automation, due: Some(due), session: String::new(), turn: None };
        self.open.insert(run.to_owned(), new);
    }

    /// Returns the time at which the next pending run starts; `None` if no run is pending.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.open.values().filter_map(|run| run.due).min()
    }

    /// Returns the pending runs that are due.
    pub(super) fn due(&self, now: Duration) -> Vec<String> {
        let due = self.open.iter().filter(|(_, run)| run.due.is_some_and(|at| at <= now));
        due.map(|(uri, _)| uri.clone()).collect()
    }

    /// Starts a pending run, which creates this session. Returns the automation's entry; `None` if the run is over.
    pub(super) fn start(&mut self, run: &str, session: &str) -> Option<Value> {
        let run = self.open.get_mut(run)?;
        run.due = None;
        session.clone_into(&mut run.session);
        Some(run.automation.clone())
    }

    /// Returns the run that has created a session and has not started its turn, with the automation's entry.
    pub(super) fn of_session(&self, session: &str) -> Option<(&str, &Value)> {
        let mut runs = self.open.iter();
        let made = runs.find(|(_, run)| run.session == session && run.turn.is_none());
        made.map(|(uri, run)| (uri.as_str(), &run.automation))
    }

    /// Sets the turn whose end a run waits for.
    pub(super) fn set_turn(&mut self, run: &str, chat: String, turn: String) {
        if let Some(run) = self.open.get_mut(run) {
            run.turn = Some((chat, turn));
        }
    }

    /// Returns the chat and the turn whose end a run waits for.
    pub(super) fn turn(&self, run: &str) -> Option<&(String, String)> {
        self.open.get(run)?.turn.as_ref()
    }

    /// Returns the run that waits for a turn of this chat other than the active turn.
    pub(super) fn waiting_for(&self, chat: &str, active: &str) -> Option<&str> {
        let waits = |run: &AutomationRun| {
            run.turn.as_ref().is_some_and(|(own, turn)| own == chat && turn != active)
        };
        self.open.iter().find(|(_, run)| waits(run)).map(|(uri, _)| uri.as_str())
    }

    /// Removes a finished run. Returns whether the run was unfinished.
    pub(super) fn end(&mut self, run: &str) -> bool {
        self.open.remove(run).is_some()
    }

    /// Forgets the requests for runs of an automation.
    pub(super) fn forget_requests(&mut self, automation: &str) {
        self.requested.retain(|(of, _), _| of != automation);
    }
}

//! Errands: the runs of automations, from the request to their end.
//!
//! A new run is pending. After a moment the run creates its own session. When the session is ready, its agent
//! receives the automation's message, and the run ends with this turn. Later events of the session do not
//! affect the run.
//!
//! Knows: runs, the sessions that runs create. Never knows: definitions, except the definition of the run.
//!
//! Start at [`RefHost::begin_run`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::automations::RUN_HISTORY;
use super::configuration::{self, PROVIDER};
use super::engine::RefHost;
use super::request::ErrorResponse;
use super::rule_facts::{RuleFacts, require};
use super::sessions::empty_state;
use crate::wire::channel::ChannelKind;

/// The time that a run stays pending.
const PENDING: Duration = Duration::from_millis(10);

fn is_over(run: &Value) -> bool {
    !matches!(run["lifecycle"]["status"].as_str(), Some("pending" | "running"))
}

/// Checks an `automationRun/cancelRequested` action: the run has to be unfinished.
pub(super) fn not_over(facts: &RuleFacts) -> Result<(), String> {
    require(!is_over(facts.state), "the run is over")
}

impl RefHost {
    /// Creates a pending run of an automation with an origin. Source: `automation.run.persist-first`.
    pub(super) fn begin_run(
        &mut self,
        automation: &str,
        origin: Value,
    ) -> Result<String, ErrorResponse> {
        if self.automation_runs.is_full() {
            return Err(ErrorResponse::invalid_request("too many runs"));
        }
        let run = format!("ahp-automation-run:/{}", self.fresh_id("run"));
        let state = json!({
            "resource": run, "automation": automation, "origin": origin,
            "lifecycle": {"status": "pending", "createdAt": self.clock.timestamp()}, "sessions": [],
        });
        self.add_channel(&run, ChannelKind::AutomationRun, state);
        let entry = self.automation(automation).cloned().unwrap_or_default();
        self.automation_runs.add(&run, entry, self.clock.now() + PENDING);
        self.list_run(&run);
        Ok(run)
    }

    /// Starts the pending runs that are due.
    pub(super) fn begin_errands(&mut self) {
        for run in self.automation_runs.due(self.clock.now()) {
            let session = format!("ahp-session:/{}", self.fresh_id("errand"));
            let Some(automation) = self.automation_runs.start(&run, &session) else {
                continue;
            };
            let lifecycle = self.lifecycle(&run, "running");
            self.go_on(&run, lifecycle);
            let origin = json!({
                "kind": "automation", "automation": automation["resource"], "run": run,
            });
            let state = self.errand_state(&automation["definition"], origin);
            self.open_session(&session, state, None);
            self.publish(&run, json!({"type": "automationRun/sessionSet", "session": session}));
            let action =
                json!({"type": "automationRun/primarySessionChanged", "primarySession": session});
            self.publish(&run, action);
        }
    }

    /// Returns the state of the session that a definition describes.
    fn errand_state(&self, definition: &Value, origin: Value) -> Value {
        let template = &definition["session"];
        let mut state = empty_state(template["provider"].as_str().unwrap_or(PROVIDER), false);
        state["title"] = definition["title"].clone();
        // The host has rejected definitions with invalid values.
        let values = configuration::session_values(&template["config"]).unwrap_or_default();
        state["config"] = json!({"schema": configuration::session_schema(), "values": values});
        if let Some(directories) = template["workingDirectories"].as_array() {
            state["workingDirectories"] = json!(directories);
        }
        state["origin"] = origin;
        state
    }

    /// Handles a session that became ready: if a run created the session, the agent receives the run's message.
    pub(super) fn errand_ready(&mut self, session: &str) {
        let Some((run, automation)) = self.automation_runs.of_session(session) else {
            return;
        };
        let (run, message) = (run.to_owned(), automation["definition"]["message"].clone());
        let chat = self.state(session)["defaultChat"].as_str().unwrap_or("").to_owned();
        self.begin_turn(&chat, message, None);
        let turn = self.state(&chat)["activeTurn"]["id"].as_str().unwrap_or("").to_owned();
        self.automation_runs.set_turn(&run, chat, turn);
    }

    /// Handles the end of a turn: ends the run that waits for this turn, with the outcome of the turn.
    pub(super) fn errand_follows(&mut self, chat: &str, action_type: &str) {
        let status = match action_type {
            "chat/turnComplete" => "completed",
            "chat/error" => "failed",
            "chat/turnCancelled" => "cancelled",
            _ => return,
        };
        let active = self.state(chat)["activeTurn"]["id"].as_str().unwrap_or("");
        let over = self.automation_runs.waiting_for(chat, active);
        if let Some(run) = over.map(str::to_owned) {
            self.end_run(&run, status);
        }
    }

    /// Ends a run with a status.
    fn end_run(&mut self, run: &str, status: &str) {
        if !self.automation_runs.end(run) {
            return;
        }
        let mut lifecycle = self.lifecycle(run, status);
        let completed = self.clock.timestamp();
        lifecycle["completedAt"] = json!(completed);
        if status == "failed" {
            lifecycle["error"] =
                json!({"errorType": "turn-failed", "message": "the turn of the run failed"});
        }
        self.go_on(run, lifecycle);
    }

    /// Returns the lifecycle of a run with a new status, including the timestamps known so far.
    fn lifecycle(&self, run: &str, status: &str) -> Value {
        let before = &self.state(run)["lifecycle"];
        let mut lifecycle = json!({"status": status, "createdAt": before["createdAt"]});
        let started = before.get("startedAt").cloned();
        let begins = (status == "running").then(|| json!(self.clock.timestamp()));
        if let Some(started) = started.or(begins) {
            lifecycle["startedAt"] = started;
        }
        lifecycle
    }

    fn go_on(&mut self, run: &str, lifecycle: Value) {
        let action = json!({"type": "automationRun/lifecycleChanged", "lifecycle": lifecycle});
        self.publish(run, action);
    }

    /// Cancels a run and its turn. Source: `automation.run.cancel`.
    pub(super) fn cancel_run(&mut self, run: &str) {
        if let Some((chat, turn)) = self.automation_runs.turn(run).cloned() {
            let duration = self.turn_duration(&chat);
            let action =
                json!({"type": "chat/turnCancelled", "turnId": turn, "duration": duration});
            self.publish(&chat, action.clone());
            self.consequence(&chat, &action);
        }
        self.end_run(run, "cancelled");
    }

    /// Removes the runs of a removed automation.
    pub(super) fn forget_runs(&mut self, automation: &str) {
        let own = |run: &String| self.state(run)["automation"] == automation;
        let runs = self.channels.uris().filter(|uri| own(uri)).cloned();
        for run in runs.collect::<Vec<String>>() {
            self.cancel_run(&run);
            self.automation_runs.end(&run);
            self.drop_channel(&run);
        }
        self.automation_runs.forget_requests(automation);
        self.schedules.forget(automation);
    }

    /// Removes a disposed session from all runs; cancels the runs that are unfinished.
    pub(super) fn leave_runs(&mut self, session: &str) {
        let has = |run: &String| {
            let sessions = self.state(run)["sessions"].as_array();
            run.starts_with("ahp-automation-run:")
                && sessions.is_some_and(|all| all.contains(&json!(session)))
        };
        let runs = self.channels.uris().filter(|uri| has(uri)).cloned();
        for run in runs.collect::<Vec<String>>() {
            self.end_run(&run, "cancelled");
            let action = json!({"type": "automationRun/sessionRemoved", "session": session});
            self.publish(&run, action);
        }
    }

    /// Updates the summary of a run in the catalogue. Source: `automation.run.summary-consistent`,
    /// `automation.runs.order-limit`.
    pub(super) fn list_run(&mut self, run: &str) {
        let state = self.state(run);
        let automation = state["automation"].as_str().unwrap_or("");
        let Some(entry) = self.automation(automation) else {
            return;
        };
        let mut entry = entry.clone();
        let mut summary = json!({
            "resource": run, "automation": automation, "origin": state["origin"],
            "lifecycle": state["lifecycle"],
            "sessionCount": state["sessions"].as_array().map_or(0, Vec::len),
        });
        if let Some(primary) = state.get("primarySession") {
            summary["primarySession"] = primary.clone();
        }
        let Some(runs) = entry.get_mut("runs").and_then(Value::as_array_mut) else {
            return;
        };
        match runs.iter_mut().find(|known| known["resource"] == run) {
            Some(_) if !self.keeps("automation.run.summary-consistent") => return,
            Some(known) => *known = summary,
            None if !self.keeps("automation.runs.order-limit") => runs.push(summary),
            None => runs.insert(0, summary),
        }
        let mut kept = 0;
        let forgotten: Vec<Value> = runs
            .extract_if(.., |run| {
                kept += usize::from(is_over(run));
                is_over(run) && kept > RUN_HISTORY
            })
            .collect();
        self.set_automation(entry);
        for run in forgotten.iter().filter_map(|run| run["resource"].as_str()) {
            self.drop_channel(run);
        }
    }
}

//! Manual runs of automations: each run has a request id that the client keeps until the host has answered. If the
//! response is lost, the client requests the run again with the same id.
//!
//! Knows: `runAutomation`. Never knows: the effect of a run.
//!
//! Start at [`ReferenceClient::run_automation`].

use crate::wire::json::json;

use super::fault::Fault;
use super::requested_run::RequestedRun;
use super::{ReferenceClient, RequestReason};

/// The channel of the automations.
const AUTOMATIONS: &str = "ahp-automations://";

impl ReferenceClient {
    /// Requests a run for a command of the driver.
    pub(super) fn run_automation(&mut self, command: u64, automation: &str) {
        if !self.permits_run(automation) {
            return self.fail(command, "the host does not permit a run of this automation");
        }
        let request_id = format!("{}-run-{command}", self.client_id);
        let run = RequestedRun { command, automation: automation.to_owned(), request_id };
        self.runs.push(run.clone());
        self.request_run(&run);
    }

    /// Returns whether the host has declared automations, and the automation permits a run. A client that has no state
    /// of the automation lets the host decide.
    fn permits_run(&self, automation: &str) -> bool {
        if !self.has_automations && !self.has(Fault::AutomationsAssumed) {
            return false;
        }
        let state = self.states.channel(AUTOMATIONS).map(|mirror| mirror.confirmed());
        let mut entries = state.and_then(|state| state["entries"].as_array()).into_iter().flatten();
        let known = entries.find(|entry| entry["resource"] == automation);
        let operations = known.and_then(|entry| entry["operations"].as_array());
        self.has(Fault::OperationsIgnored)
            || operations.is_none_or(|all| all.iter().any(|operation| operation == "run"))
    }

    fn request_run(&mut self, run: &RequestedRun) {
        let params = json!({
            "channel": AUTOMATIONS,
            "automation": run.automation,
            "requestId": run.request_id,
        });
        self.request(RequestReason::Run(run.command), "runAutomation", params);
    }

    /// Requests all runs again whose responses were lost with the connection.
    pub(super) fn request_runs_again(&mut self) {
        let renewed = self.has(Fault::RunIdRenewed);
        for mut run in self.runs.clone() {
            if renewed {
                run.request_id.push_str("-again");
            }
            self.request_run(&run);
        }
    }

    /// Forgets a run that the host has answered.
    pub(super) fn run_answered(&mut self, command: u64) {
        self.runs.retain(|run| run.command != command);
    }
}

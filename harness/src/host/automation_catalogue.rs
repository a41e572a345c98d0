//! The catalogue of automations, and the times at which they run by their schedules.
//!
//! Owns: the next scheduled run of each automation. Knows: the form of the catalogue. Never knows: definitions.
//!
//! Start at [`AutomationSchedules`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};

/// The channel of the automation catalogue.
pub(super) const AUTOMATIONS: &str = "ahp-automations://";

/// Returns a catalogue without entries.
pub(super) fn empty_catalogue() -> Value {
    json!({"entries": []})
}

/// Returns the entries of an automation catalogue.
pub(super) fn entries(catalogue: &Value) -> &[Value] {
    catalogue["entries"].as_array().map_or(&[], Vec::as_slice)
}

/// The next scheduled run of an automation.
#[derive(Clone, Debug)]
pub(super) struct AutomationDue {
    /// The time, in milliseconds since 1970.
    pub(super) at: u64,
    /// The id of the trigger that starts the run.
    pub(super) trigger: String,
}

/// The times at which automations run by their schedules.
#[derive(Debug, Default)]
pub(super) struct AutomationSchedules {
    /// The next scheduled run of each automation.
    due: LiteMap<String, AutomationDue>,
}

impl AutomationSchedules {
    /// Sets the next scheduled run of an automation.
    pub(super) fn set(&mut self, automation: &str, due: AutomationDue) {
        self.due.insert(automation.to_owned(), due);
    }

    /// Removes the schedule of an automation.
    pub(super) fn forget(&mut self, automation: &str) {
        self.due.remove(automation);
    }

    /// Returns the wall time of the next scheduled run, in milliseconds since 1970; `None` if nothing is scheduled.
    pub(super) fn next_at(&self) -> Option<u64> {
        self.due.values().map(|due| due.at).min()
    }

    /// Removes the scheduled runs that are due at a wall time, and returns them with their automations.
    pub(super) fn take_due(&mut self, now_ms: u64) -> Vec<(String, AutomationDue)> {
        let due = self.due.iter().filter(|(_, due)| due.at <= now_ms);
        let due: Vec<(String, AutomationDue)> =
            due.map(|(automation, due)| (automation.clone(), due.clone())).collect();
        due.iter().for_each(|(automation, _)| self.forget(automation));
        due
    }
}

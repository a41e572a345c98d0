//! Automations: the catalogue of definitions that clients have created, and the rules for changing it.
//!
//! A run begins on request or on a schedule. The host announces no event kinds, so it rejects a definition with
//! an event trigger. The runs themselves are in [`errands`].
//!
//! Interpretations where the specification is silent:
//! - `runCount` counts scheduled runs only. An automation with a limit on its runs is disabled after the last
//!   of these runs.
//! - The host accepts a schedule that never matches, such as the 30th of February; the automation never starts.
//! - If an automation is removed, its runs are removed as well; the host first cancels the active runs.
//!
//! [`errands`]: super::errands
//!
//! Knows: definitions. Never knows: the effect of a run.
//!
//! Start at [`RefHost::create_automation`].

use std::collections::HashSet;
use std::time::Duration;

use crate::wire::channel::ChannelKind;
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::automation_catalogue::{AUTOMATIONS, AutomationDue, empty_catalogue, entries};
use super::configuration::{self, PROVIDER};
use super::cron::{CronExpression, ZONES};
use super::engine::RefHost;
use super::request::{CallReply, ErrorResponse, HostCall};
use super::rule_facts::{RuleFacts, require};
use super::timestamp;

/// The number of finished runs that the host keeps for each automation.
pub(super) const RUN_HISTORY: usize = 3;
/// The operations that every client may perform on an automation.
const OPERATIONS: &[&str] = &["update", "remove", "run"];
/// The maximum number of automations.
const MAX_AUTOMATIONS: usize = 200;
/// The maximum size of a definition in bytes.
const MAX_DEFINITION: usize = 64 << 10;

/// Returns the automation capabilities that the handshake announces. Source: `InitializeResult.automations`.
pub(super) fn capabilities() -> Value {
    json!({"create": {}, "schedules": {}, "runCancellation": {}, "runHistoryLimit": RUN_HISTORY})
}

/// Checks that the host supports a definition. Source: `automation.create.*`.
fn sound(facts: &RuleFacts, definition: &Value) -> Result<(), String> {
    let own = definition["message"]["origin"]["kind"] == "automation";
    require(
        own || !facts.host.keeps("automation.create.message-kind"),
        "expected a message of kind `automation`",
    )?;
    let triggers = definition["triggers"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ids = HashSet::new();
    for trigger in triggers {
        require(trigger["kind"] == "schedule", "this host supports no triggers except schedules")?;
        require(ids.insert(trigger["id"].as_str()), "expected triggers with different ids")?;
        let schedule = &trigger["schedule"];
        let text = schedule["expression"].as_str().unwrap_or("");
        let known = CronExpression::parse(text).is_some()
            || !facts.host.keeps("automation.cron.reject-invalid");
        require(known, "expected a cron expression of five fields")?;
        let zone = schedule["timeZone"].as_str().unwrap_or("");
        require(ZONES.contains(&zone), "this host supports only the time zone UTC")?;
    }
    let conditions = definition["disableConditions"].as_array().into_iter().flatten();
    let mut seen = HashSet::new();
    let mut kinds = conditions.map(|condition| condition["kind"].as_str().unwrap_or(""));
    let apart = kinds.all(|kind| seen.insert(kind))
        || !facts.host.keeps("automation.create.duplicate-disable-kinds");
    require(apart, "expected one condition of each kind")?;
    let session = &definition["session"];
    let provider = session["provider"].as_str().unwrap_or(PROVIDER);
    require(provider == PROVIDER, "no such provider")?;
    require(
        session["customizations"].is_null(),
        "automations do not support customizations on this host",
    )?;
    configuration::session_values(&session["config"])?;
    require(definition.to_string().len() <= MAX_DEFINITION, "the definition is too long")
}

/// Checks an `automation/createRequested` action.
pub(super) fn new_automation(facts: &RuleFacts) -> Result<(), String> {
    let uri = facts.action["resource"].as_str().unwrap_or("");
    let named = uri.strip_prefix("ahp-automation:/").is_some_and(|id| !id.is_empty());
    require(named, "expected `ahp-automation:/<id>` at `resource`")?;
    let entries = entries(facts.state);
    let known = entries.iter().any(|entry| entry["resource"] == uri);
    require(!known || !facts.host.keeps("automation.create.duplicate"), "the URI is in use")?;
    require(entries.len() < MAX_AUTOMATIONS, "too many automations")?;
    sound(facts, &facts.action["definition"])
}

/// Checks an `automation/updateRequested` action.
pub(super) fn sound_update(facts: &RuleFacts) -> Result<(), String> {
    let mut entries = entries(facts.state).iter();
    let entry = entries.find(|entry| entry["resource"] == facts.action["resource"]);
    let entry = entry.ok_or("no such automation")?;
    sound(facts, &patched(&entry["definition"], &facts.action["changes"]))
}

/// Returns a definition with changes applied. A changed member is replaced as a whole.
fn patched(definition: &Value, changes: &Value) -> Value {
    let mut definition = definition.clone();
    for (name, value) in changes.as_object().into_iter().flatten() {
        if !value.is_null() {
            definition[name.as_str()] = value.clone();
        }
    }
    definition
}

impl RefHost {
    /// Returns the catalogue entry of an automation; `None` if the catalogue has no such entry.
    pub(super) fn automation(&self, uri: &str) -> Option<&Value> {
        entries(self.state(AUTOMATIONS)).iter().find(|entry| entry["resource"] == uri)
    }

    /// Creates the automation that a client requested. Source: `automation.create.set`.
    pub(super) fn create_automation(&mut self, action: &Value) {
        let now = self.clock.timestamp();
        let entry = json!({
            "resource": action["resource"], "definition": action["definition"], "runs": [],
            "operations": OPERATIONS, "createdAt": now, "modifiedAt": now,
        });
        self.set_automation(entry);
    }

    /// Updates an automation as a client requested. Source: `automation.update.patch`.
    pub(super) fn update_automation(&mut self, action: &Value) {
        let Some(entry) = self.automation(action["resource"].as_str().unwrap_or("")) else {
            return;
        };
        let mut entry = entry.clone();
        let mut definition = patched(&entry["definition"], &action["changes"]);
        if !self.keeps("automation.update.unknown-config-kept")
            && let Some(members) = definition.as_object_mut()
        {
            members.remove("_meta");
        }
        entry["definition"] = definition;
        entry["modifiedAt"] = json!(self.clock.timestamp());
        self.set_automation(entry);
    }

    /// Publishes an entry. The entry has a `runCount` if a number of runs disables the automation. Source:
    /// `automation.runCount`.
    pub(super) fn set_automation(&mut self, mut entry: Value) {
        let conditions = entry["definition"]["disableConditions"].as_array();
        let counted = conditions.is_some_and(|it| it.iter().any(|one| one["kind"] == "afterRuns"));
        let counted = counted && self.keeps("automation.runCount");
        if let Some(members) = entry.as_object_mut() {
            match counted {
                true if members.get("runCount").is_none() => {
                    members.insert("runCount", json!(0));
                }
                true => {}
                false => {
                    members.remove("runCount");
                }
            }
        }
        self.schedule(&mut entry);
        self.publish(AUTOMATIONS, json!({"type": "automation/set", "automation": entry}));
    }

    /// Removes every automation and its runs, without announcing it.
    pub(super) fn forget_automations(&mut self) {
        let known = entries(self.state(AUTOMATIONS)).iter();
        let known: Vec<String> =
            known.filter_map(|entry| entry["resource"].as_str().map(str::to_owned)).collect();
        for automation in known {
            self.forget_runs(&automation);
        }
        self.drop_channel(AUTOMATIONS);
        self.add_channel(AUTOMATIONS, ChannelKind::Automations, empty_catalogue());
    }

    /// Computes the next run of an automation and writes it into its entry. Source:
    /// `AutomationEntry.nextRunAt`.
    fn schedule(&mut self, entry: &mut Value) {
        let now = self.clock.wall_ms();
        let definition = &entry["definition"];
        let triggers = definition["triggers"].as_array().into_iter().flatten();
        let next = |trigger: &Value| {
            let cron = CronExpression::parse(trigger["schedule"]["expression"].as_str()?)?;
            Some((cron.after(now)?, trigger["id"].as_str()?.to_owned()))
        };
        let next = triggers.filter_map(next).min().filter(|_| definition["enabled"] == true);
        let uri = entry["resource"].as_str().unwrap_or("").to_owned();
        let Some(members) = entry.as_object_mut() else { return };
        match next {
            Some((at, trigger)) => {
                members.insert("nextRunAt", json!(timestamp::iso(at)));
                self.schedules.set(&uri, AutomationDue { at, trigger });
            }
            None => {
                members.remove("nextRunAt");
                self.schedules.forget(&uri);
            }
        }
    }

    /// Returns the time of the next scheduled run; `None` if nothing is scheduled.
    pub(super) fn next_scheduled(&self) -> Option<Duration> {
        Some(self.clock.at_wall(self.schedules.next_at()?))
    }

    /// Starts the scheduled runs that are due. Skips a run if the automation has too many runs.
    pub(super) fn run_scheduled(&mut self) {
        for (uri, due) in self.schedules.take_due(self.clock.wall_ms()) {
            let origin = json!({
                "kind": "trigger", "triggerId": due.trigger,
                "scheduledFor": timestamp::iso(due.at),
            });
            let _ = self.begin_run(&uri, origin);
            let Some(mut entry) = self.automation(&uri).cloned() else { continue };
            if let Some(count) = entry["runCount"].as_u64() {
                entry["runCount"] = json!(count + 1);
                let conditions = entry["definition"]["disableConditions"].as_array();
                let reached = conditions.into_iter().flatten().any(|one| {
                    one["kind"] == "afterRuns" && one["max"].as_u64() <= Some(count + 1)
                });
                if reached {
                    entry["definition"]["enabled"] = json!(false);
                }
            }
            self.set_automation(entry);
        }
    }

    fn known_automation(&self, call: &HostCall) -> Result<String, ErrorResponse> {
        if call.channel() != AUTOMATIONS {
            let message = format!("expected `{AUTOMATIONS}` at `params.channel`");
            return Err(ErrorResponse::invalid_params(message));
        }
        let uri = call.text("automation");
        self.automation(uri)
            .ok_or_else(|| ErrorResponse::named(ErrorName::NotFound, "no such automation"))?;
        Ok(uri.to_owned())
    }

    /// Serves `runAutomation`. Source: `automation.run.idempotent`, `automation.run.disabled-ok`.
    pub(super) fn run_automation(&mut self, call: &HostCall) -> CallReply {
        let automation = self.known_automation(call)?;
        let request = call.text("requestId");
        if request.is_empty() {
            return Err(ErrorResponse::invalid_params("expected an id at `params.requestId`"));
        }
        let key = (automation, request.to_owned());
        if let Some(run) =
            self.automation_runs.requested(&key).filter(|_| self.keeps("automation.run.idempotent"))
        {
            return Ok(json!({"resource": run}));
        }
        let run = self.begin_run(&key.0, json!({"kind": "manual"}))?;
        self.automation_runs.remember(key, run.clone());
        Ok(json!({"resource": run}))
    }

    /// Serves `fetchAutomationRuns`. The catalogue holds every run that the host keeps, so the host never
    /// issues a cursor and rejects every cursor.
    pub(super) fn fetch_automation_runs(&mut self, call: &HostCall) -> CallReply {
        self.known_automation(call)?;
        if call.params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(ErrorResponse::invalid_params("no such cursor"));
        }
        Ok(json!({}))
    }

    /// Serves `listAutomationTriggerDefinitions` with an empty list: this host has no event triggers.
    pub(super) fn list_triggers(&mut self, _call: &HostCall) -> CallReply {
        Ok(json!({"items": []}))
    }
}

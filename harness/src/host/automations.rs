//! Automations: the catalogue of what clients have defined, and who may change it.
//!
//! Nothing begins by itself here: the host announces neither schedules nor kinds of events, so that
//! a definition with a trigger is refused, and every run is asked for. The rest is [`errands`].
//!
//! Readings taken where the specification is silent:
//! - `runCount` counts what a schedule has begun, so that it stays 0 here.
//! - With an automation its runs go away: those that are not over are cancelled first.
//!
//! [`errands`]: super::errands
//!
//! Knows: definitions. Never knows: what a run does.
//!
//! Start at [`RefHost::create_automation`].

use std::collections::HashSet;

use crate::wire::json::{Value, json};

use super::configuration::{self, PROVIDER};
use super::connection::{Call, Failure, Reply};
use super::engine::RefHost;
use super::fault::Fault;
use super::rules::{Facts, require};

/// The channel of the catalogue.
pub(super) const AUTOMATIONS: &str = "ahp-automations://";
/// How many runs that are over are kept of each automation.
pub(super) const RUN_HISTORY: usize = 3;
/// What everybody may do with an automation.
const OPERATIONS: &[&str] = &["update", "remove", "run"];
/// The most automations at a time.
const MAX_AUTOMATIONS: usize = 200;
/// The most bytes of one definition.
const MAX_DEFINITION: usize = 64 << 10;

/// What the host says in the handshake that it can do. Source: `InitializeResult.automations`.
pub(super) fn capabilities() -> Value {
    json!({"create": {}, "runCancellation": {}, "runHistoryLimit": RUN_HISTORY})
}

/// A catalogue without entries.
pub(super) fn first_state() -> Value {
    json!({"entries": []})
}

/// The entries of the catalogue.
pub(super) fn entries(catalogue: &Value) -> &[Value] {
    catalogue["entries"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether a definition is one that this host can keep. Source: `automation.create.*`.
fn sound(facts: &Facts, definition: &Value) -> Result<(), String> {
    let has = |fault| facts.host.has(fault);
    let own = definition["message"]["origin"]["kind"] == "automation";
    require(own || has(Fault::AnyMessageAutomated), "expected a message of kind `automation`")?;
    let triggers = definition["triggers"].as_array().map_or(0, Vec::len);
    require(triggers == 0, "this host has neither schedules nor events")?;
    let conditions = definition["disableConditions"].as_array().into_iter().flatten();
    let mut seen = HashSet::new();
    let mut kinds = conditions.map(|condition| condition["kind"].as_str().unwrap_or(""));
    require(kinds.all(|kind| seen.insert(kind)), "expected one condition of each kind")?;
    let session = &definition["session"];
    let provider = session["provider"].as_str().unwrap_or(PROVIDER);
    require(provider == PROVIDER, "no such provider")?;
    require(session["customizations"].is_null(), "automations take no customizations here")?;
    configuration::session_values(&session["config"])?;
    require(definition.to_string().len() <= MAX_DEFINITION, "the definition is too long")
}

/// A rule of `automation/createRequested`.
pub(super) fn new_automation(facts: &Facts) -> Result<(), String> {
    let uri = facts.action["resource"].as_str().unwrap_or("");
    let named = uri.strip_prefix("ahp-automation:/").is_some_and(|id| !id.is_empty());
    require(named, "expected `ahp-automation:/<id>` at `resource`")?;
    let entries = entries(facts.state);
    let known = entries.iter().any(|entry| entry["resource"] == uri);
    require(!known || facts.host.has(Fault::AutomationReplaced), "the URI is in use")?;
    require(entries.len() < MAX_AUTOMATIONS, "too many automations")?;
    sound(facts, &facts.action["definition"])
}

/// A rule of `automation/updateRequested`.
pub(super) fn sound_update(facts: &Facts) -> Result<(), String> {
    let mut entries = entries(facts.state).iter();
    let entry = entries.find(|entry| entry["resource"] == facts.action["resource"]);
    let entry = entry.ok_or("no such automation")?;
    sound(facts, &patched(&entry["definition"], &facts.action["changes"]))
}

/// A definition with changes: what they name is replaced in full.
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
    /// An automation of the catalogue.
    pub(super) fn automation(&self, uri: &str) -> Option<&Value> {
        entries(self.state(AUTOMATIONS)).iter().find(|entry| entry["resource"] == uri)
    }

    /// Makes the automation that a client asked for. Source: `automation.create.set`.
    pub(super) fn create_automation(&mut self, action: &Value) {
        let now = self.timestamp();
        let entry = json!({
            "resource": action["resource"], "definition": action["definition"], "runs": [],
            "operations": OPERATIONS, "createdAt": now, "modifiedAt": now,
        });
        self.set_automation(entry);
    }

    /// Changes an automation as a client asked. Source: `automation.update.patch`.
    pub(super) fn update_automation(&mut self, action: &Value) {
        let Some(entry) = self.automation(action["resource"].as_str().unwrap_or("")) else {
            return;
        };
        let mut entry = entry.clone();
        let mut definition = patched(&entry["definition"], &action["changes"]);
        if self.has(Fault::UpdateForgets)
            && let Some(members) = definition.as_object_mut()
        {
            members.remove("_meta");
        }
        entry["definition"] = definition;
        entry["modifiedAt"] = json!(self.timestamp());
        self.set_automation(entry);
    }

    /// Publishes an entry. It has a `runCount` where it ends after runs. Source: `automation.runCount`.
    pub(super) fn set_automation(&mut self, mut entry: Value) {
        let conditions = entry["definition"]["disableConditions"].as_array();
        let counted = conditions.is_some_and(|it| it.iter().any(|one| one["kind"] == "afterRuns"));
        let counted = counted && !self.has(Fault::RunCountMissing);
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
        self.publish(AUTOMATIONS, json!({"type": "automation/set", "automation": entry}));
    }

    fn known_automation(&self, call: &Call) -> Result<String, Failure> {
        if call.channel() != AUTOMATIONS {
            let message = format!("expected `{AUTOMATIONS}` at `params.channel`");
            return Err(Failure::invalid_params(message));
        }
        let uri = call.text("automation");
        self.automation(uri).ok_or_else(|| Failure::named("NotFound", "no such automation"))?;
        Ok(uri.to_owned())
    }

    /// Serves `runAutomation`. Source: `automation.run.idempotent`, `automation.run.disabled-ok`.
    pub(super) fn run_automation(&mut self, call: &Call) -> Reply {
        let automation = self.known_automation(call)?;
        let request = call.text("requestId");
        if request.is_empty() {
            return Err(Failure::invalid_params("expected an id at `params.requestId`"));
        }
        let key = (automation, request.to_owned());
        if let Some(run) = self.requested.get(&key).filter(|_| !self.has(Fault::RequestIdIgnored)) {
            return Ok(json!({"resource": run}));
        }
        let run = self.begin_run(&key.0)?;
        self.requested.insert(key, run.clone());
        Ok(json!({"resource": run}))
    }

    /// Serves `fetchAutomationRuns`: every run that is kept is in the catalogue, so that no cursor
    /// was ever given.
    pub(super) fn fetch_automation_runs(&mut self, call: &Call) -> Reply {
        self.known_automation(call)?;
        if call.params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(Failure::invalid_params("no such cursor"));
        }
        Ok(json!({}))
    }

    /// Serves `listAutomationTriggerDefinitions`: there are none.
    pub(super) fn list_triggers(&mut self, _call: &Call) -> Reply {
        Ok(json!({"items": []}))
    }

    /// Forgets every automation: a fault.
    pub(super) fn forget_automations(&mut self) {
        if let Some(channel) = self.channels.get_mut(AUTOMATIONS) {
            channel.state = first_state();
        }
    }
}

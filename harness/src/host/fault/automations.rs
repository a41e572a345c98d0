//! Faults in automations and their runs.
//!
//! Knows: the catalogue of automations. Never knows: which check finds which fault.

use super::generic::{
    ActsBeforeApplying, AddsAfterAction, AltersAction, ChangesFirstState, LiftsRules,
    RefusesActions,
};
use super::{Fault, HostFaultRow};
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::AutomationReplaced, &LiftsRules(&["automation.create.duplicate"])),
    (Fault::AnyMessageAutomated, &LiftsRules(&["automation.create.message-kind"])),
    (Fault::ConditionsRepeat, &LiftsRules(&["automation.create.duplicate-disable-kinds"])),
    (Fault::CronAnything, &LiftsRules(&["automation.cron.reject-invalid"])),
    (
        Fault::CronNarrow,
        &RefusesActions(|facts| {
            let (action, triggers) = (facts.action, "triggers");
            let given = [&action["definition"][triggers], &action["changes"][triggers]];
            let named = |trigger: &Value| {
                let text = trigger["schedule"]["expression"].as_str().unwrap_or("");
                text.contains(|letter: char| letter.is_ascii_alphabetic())
            };
            let mut given = given.into_iter().filter_map(Value::as_array).flatten();
            given.any(named).then_some("expected a cron expression of five fields")
        }),
    ),
    (Fault::UpdateForgets, &LiftsRules(&["automation.update.unknown-config-kept"])),
    (Fault::RunCountMissing, &LiftsRules(&["automation.runCount"])),
    (Fault::RequestIdIgnored, &LiftsRules(&["automation.run.idempotent"])),
    (Fault::RunSummaryStale, &LiftsRules(&["automation.run.summary-consistent"])),
    (Fault::RunsOldestFirst, &LiftsRules(&["automation.runs.order-limit"])),
    (
        Fault::PrimaryElsewhere,
        &AltersAction("automationRun/primarySessionChanged", |_, _, action| {
            action["primarySession"] = json!("ahp-session:/elsewhere");
            true
        }),
    ),
    (
        Fault::RunOriginMissing,
        &ChangesFirstState(ChannelKind::Session, |state| {
            if let Some(members) = state.as_object_mut() {
                members.remove("origin");
            }
        }),
    ),
    (
        Fault::RunEndsEarlier,
        &AltersAction("automationRun/lifecycleChanged", |_, _, action| {
            if action["lifecycle"]["completedAt"].is_string() {
                action["lifecycle"]["completedAt"] = json!("2000-01-01T00:00:00.000Z");
            }
            true
        }),
    ),
    (
        Fault::RunGoesBack,
        &AddsAfterAction("automationRun/lifecycleChanged", |host, run, action| {
            if action["lifecycle"]["completedAt"].is_string() {
                let mut again = action.clone();
                again["lifecycle"]["status"] = json!("running");
                if let Some(members) = again["lifecycle"].as_object_mut() {
                    members.remove("completedAt");
                    members.remove("error");
                }
                host.publish_from(run, again, None);
            }
        }),
    ),
    (
        Fault::CancelledRunGoesOn,
        &ActsBeforeApplying("automationRun/cancelRequested", |host, run, it, from| {
            host.emit(run, it.clone(), Some(from));
            false
        }),
    ),
];

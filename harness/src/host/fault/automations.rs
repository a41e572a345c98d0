//! Faults in automations and their runs.
//!
//! Knows: the catalogue of automations. Never knows: the checks that find a fault.

use super::FaultPart::{Host, Message};
use super::parts::{ResultFault, remove};
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, ActsAfterRestart, ActsBeforeApplying, AltersAction, AnswersRequests,
    ChangesFirstState, LiftsRules, RefusesActions,
};
use crate::host::injected::ActionStage::Published;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

fault_table![
    AutomationReplaced(
        "automation-replaced",
        "An automation can be created at a URI in use, and replaces the existing automation.",
        Host(&LiftsRules(&["automation.create.duplicate"])),
    ),
    AnyMessageAutomated(
        "any-message-automated",
        "The message of an automation may be of another kind than `automation`.",
        Host(&LiftsRules(&["automation.create.message-kind"])),
    ),
    ConditionsRepeat(
        "conditions-repeat",
        "An automation may have two disable conditions of the same kind.",
        Host(&LiftsRules(&["automation.create.duplicate-disable-kinds"])),
    ),
    CronAnything(
        "cron-anything",
        "A schedule with an invalid cron expression is accepted.",
        Host(&LiftsRules(&["automation.cron.reject-invalid"])),
    ),
    CronNarrow(
        "cron-narrow",
        "A schedule with names of months or days is rejected.",
        Host(&RefusesActions(|facts| {
            let (action, triggers) = (facts.action, "triggers");
            let given = [&action["definition"][triggers], &action["changes"][triggers]];
            let named = |trigger: &Value| {
                let text = trigger["schedule"]["expression"].as_str().unwrap_or("");
                text.contains(|letter: char| letter.is_ascii_alphabetic())
            };
            let mut given = given.into_iter().filter_map(Value::as_array).flatten();
            given.any(named).then_some("expected a cron expression of five fields")
        })),
    ),
    AutomationsForgotten(
        "automations-forgotten",
        "After a restart the host has no automations.",
        Host(&ActsAfterRestart(RefHost::forget_automations)),
    ),
    UpdateForgets(
        "update-forgets",
        "An update of an automation loses the `_meta` of its definition.",
        Host(&LiftsRules(&["automation.update.unknown-config-kept"])),
    ),
    RunCountMissing(
        "run-count-missing",
        "An automation with a limit on its runs has no `runCount`.",
        Host(&LiftsRules(&["automation.runCount"])),
    ),
    RequestIdIgnored(
        "request-id-ignored",
        "A repeated `requestId` starts another run of an automation.",
        Host(&LiftsRules(&["automation.run.idempotent"])),
    ),
    RunSummaryStale(
        "run-summary-stale",
        "The catalogue of automations is not updated when automations run.",
        Host(&LiftsRules(&["automation.run.summary-consistent"])),
    ),
    RunsOldestFirst(
        "runs-oldest-first",
        "The runs of an automation are listed oldest first.",
        Host(&LiftsRules(&["automation.runs.order-limit"])),
    ),
    PrimaryElsewhere(
        "primary-elsewhere",
        "The primary session of a run is not among the sessions of the run.",
        Host(&AltersAction("automationRun/primarySessionChanged", |_, _, action| {
            action["primarySession"] = json!("ahp-session:/elsewhere");
            true
        })),
    ),
    RunOriginMissing(
        "run-origin-missing",
        "The session of a run has no origin.",
        Host(&ChangesFirstState(ChannelKind::Session, |state| {
            if let Some(members) = state.as_object_mut() {
                members.remove("origin");
            }
        })),
    ),
    RunEndsEarlier(
        "run-ends-earlier",
        "The end time of a run of an automation is years before its start time.",
        Host(&AltersAction("automationRun/lifecycleChanged", |_, _, action| {
            if action["lifecycle"]["completedAt"].is_string() {
                action["lifecycle"]["completedAt"] = json!("2000-01-01T00:00:00.000Z");
            }
            true
        })),
    ),
    RunGoesBack(
        "run-goes-back",
        "A finished run of an automation is reported as running again.",
        Host(&ActsAfterApplying(
            Published,
            "automationRun/lifecycleChanged",
            |host, run, action| {
                let end = &action["lifecycle"]["completedAt"];
                if end.is_string() {
                    let mut again = action.clone();
                    // A run that is cancelled before it starts has no start time.
                    if !again["lifecycle"]["startedAt"].is_string() {
                        again["lifecycle"]["startedAt"] = end.clone();
                    }
                    again["lifecycle"]["status"] = json!("running");
                    if let Some(members) = again["lifecycle"].as_object_mut() {
                        members.remove("completedAt");
                        members.remove("error");
                    }
                    host.publish_from(run, again, None);
                }
            }
        )),
    ),
    CancelledRunGoesOn(
        "cancelled-run-goes-on",
        "A cancelled run of an automation continues.",
        Host(&ActsBeforeApplying("automationRun/cancelRequested", |host, run, it, from| {
            host.emit(run, it.clone(), Some(from));
            false
        })),
    ),
    RunsOfNothing(
        "runs-of-nothing",
        "`fetchAutomationRuns` succeeds for automations that do not exist.",
        Host(&AnswersRequests(&["fetchAutomationRuns"], |_, _| Some(Ok(json!({}))))),
    ),
    AutomationsUnsaid(
        "automations-unsaid",
        "The handshake does not announce the host's automations.",
        Message(|| {
            Box::new(ResultFault("initialize", |_, result| {
                remove(result, "automations");
            }))
        }),
    ),
];

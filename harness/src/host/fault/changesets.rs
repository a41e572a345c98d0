//! Faults in changesets, their operations, and customizations with their MCP servers.
//!
//! Knows: the actions of changesets and customizations. Never knows: which check finds which fault.

use super::generic::{ActsAfterConsequences, AddsAfterAction, AltersAction, LiftsRules};
use super::{Fault, HostFaultRow};
use crate::host::customizations::{decide, entries};
use crate::wire::json::json;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::ChatChangesUnscoped, &LiftsRules(&["chat.changesets.scoped"])),
    (Fault::ReviewKept, &LiftsRules(&["changeset.review.reset-on-edit"])),
    (
        Fault::ClearedToRecompute,
        &AddsAfterAction("changeset/statusChanged", |host, uri, action| {
            if action["status"] == "recomputing" {
                host.publish(uri, json!({"type": "changeset/cleared"}));
            }
        }),
    ),
    (
        Fault::ErrorBesideReady,
        &AltersAction("changeset/statusChanged", |_, _, action| {
            if action["status"] == "ready" {
                action["error"] = json!({"errorType": "none", "message": "nothing went wrong"});
            }
            true
        }),
    ),
    (
        Fault::ChangedFileTwice,
        &AltersAction("changeset/contentChanged", |_, _, action| {
            if let Some(files) = action["files"].as_array_mut() {
                files.extend(files.last().cloned());
            }
            true
        }),
    ),
    (Fault::ScopesIgnored, &LiftsRules(&["changeset.operation.bad-scope"])),
    (Fault::DisabledRuns, &LiftsRules(&["changeset.operation.disabled"])),
    (
        Fault::OperationNeverEnds,
        &AltersAction("changeset/operationStatusChanged", |_, _, action| {
            action["status"] == "running"
        }),
    ),
    (Fault::PluginsOutlive, &LiftsRules(&["disconnect.customizations-removed"])),
    (Fault::PluginIdsRepeat, &LiftsRules(&["session.customizations.ids-unique"])),
    (Fault::UnreadableLoaded, &LiftsRules(&["session.customizations.load-state"])),
    (Fault::DecisionsUnsorted, &LiftsRules(&["session.customizations.enablement-sorted"])),
    (
        Fault::ToggleTakesContainer,
        &ActsAfterConsequences("session/customizationToggled", |host, uri, action| {
            let meant = entries(host.state(uri)).find(|(_, it)| it["id"] == action["id"]);
            let container = meant.map(|(container, _)| container.clone());
            if let Some(mut container) = container {
                decide(
                    &mut container,
                    action["enablement"].as_array().cloned().unwrap_or_default(),
                );
                let updated = json!({
                    "type": "session/customizationUpdated", "customization": container,
                });
                host.publish(uri, updated);
            }
        }),
    ),
    (Fault::OffServersRun, &LiftsRules(&["session.customizations.toggle"])),
    (Fault::SideChannelBare, &LiftsRules(&["session.customizations.mcpApp-gated"])),
    (
        Fault::ServerNeverReady,
        &AltersAction("session/mcpServerStateChanged", |_, _, action| {
            action["state"]["kind"] != "ready"
        }),
    ),
];

//! Faults in changesets, their operations, and customizations with their MCP servers.
//!
//! Knows: the actions of changesets and customizations. Never knows: which check finds which fault.

use super::generic::{Adds, Alters, Follows, Lifts};
use super::{Fault, HostFaultRow};
use crate::host::customizations::{decide, entries};
use crate::wire::json::json;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::ChatChangesUnscoped, &Lifts(&["chat.changesets.scoped"])),
    (Fault::ReviewKept, &Lifts(&["changeset.review.reset-on-edit"])),
    (
        Fault::ClearedToRecompute,
        &Adds("changeset/statusChanged", |host, uri, action| {
            if action["status"] == "recomputing" {
                host.publish(uri, json!({"type": "changeset/cleared"}));
            }
        }),
    ),
    (
        Fault::ErrorBesideReady,
        &Alters("changeset/statusChanged", |_, _, action| {
            if action["status"] == "ready" {
                action["error"] = json!({"errorType": "none", "message": "nothing went wrong"});
            }
            true
        }),
    ),
    (
        Fault::ChangedFileTwice,
        &Alters("changeset/contentChanged", |_, _, action| {
            if let Some(files) = action["files"].as_array_mut() {
                files.extend(files.last().cloned());
            }
            true
        }),
    ),
    (Fault::ScopesIgnored, &Lifts(&["changeset.operation.bad-scope"])),
    (Fault::DisabledRuns, &Lifts(&["changeset.operation.disabled"])),
    (
        Fault::OperationNeverEnds,
        &Alters("changeset/operationStatusChanged", |_, _, action| action["status"] == "running"),
    ),
    (Fault::PluginsOutlive, &Lifts(&["disconnect.customizations-removed"])),
    (Fault::PluginIdsRepeat, &Lifts(&["session.customizations.ids-unique"])),
    (Fault::UnreadableLoaded, &Lifts(&["session.customizations.load-state"])),
    (Fault::DecisionsUnsorted, &Lifts(&["session.customizations.enablement-sorted"])),
    (
        Fault::ToggleTakesContainer,
        &Follows("session/customizationToggled", |host, uri, action| {
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
    (Fault::OffServersRun, &Lifts(&["session.customizations.toggle"])),
    (Fault::SideChannelBare, &Lifts(&["session.customizations.mcpApp-gated"])),
    (
        Fault::ServerNeverReady,
        &Alters("session/mcpServerStateChanged", |_, _, action| action["state"]["kind"] != "ready"),
    ),
];

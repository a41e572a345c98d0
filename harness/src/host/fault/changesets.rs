//! Faults in changesets, their operations, and customizations with their MCP servers.
//!
//! Knows: the actions of changesets and customizations. Never knows: the checks that find a fault.

use super::FaultPart::{Host, State};
use crate::host::customizations::{decide, entries};
use crate::host::generic::{ActsAfterApplying, AltersAction, ChangesState, LiftsRules};
use crate::host::injected::ActionStage::{Followed, Published};
use crate::wire::json::{Value, json};

fault_table![
    ChatChangesUnscoped(
        "chat-changes-unscoped",
        "The changeset of a chat shows the changes in all directories.",
        Host(&LiftsRules(&["chat.changesets.scoped"])),
    ),
    ReviewKept(
        "review-kept",
        "A reviewed file stays reviewed when an agent changes it again.",
        Host(&LiftsRules(&["changeset.review.reset-on-edit"])),
    ),
    ClearedToRecompute(
        "cleared-to-recompute",
        "A changeset drops its files before it is recomputed.",
        Host(&ActsAfterApplying(Published, "changeset/statusChanged", |host, uri, action| {
            if action["status"] == "recomputing" {
                host.publish(uri, json!({"type": "changeset/cleared"}));
            }
        })),
    ),
    ErrorBesideReady(
        "error-beside-ready",
        "A changeset with the status `ready` also has an error.",
        Host(&AltersAction("changeset/statusChanged", |_, _, action| {
            if action["status"] == "ready" {
                action["error"] = json!({"errorType": "none", "message": "nothing went wrong"});
            }
            true
        })),
    ),
    ChangedFileTwice(
        "changed-file-twice",
        "The last file of a changeset is listed twice.",
        Host(&AltersAction("changeset/contentChanged", |_, _, action| {
            if let Some(files) = action["files"].as_array_mut() {
                files.extend(files.last().cloned());
            }
            true
        })),
        State(&ChangesState(&["changeset/fileSet"], |_, state| {
            if let Some(files) = state.get_mut("files").and_then(Value::as_array_mut) {
                files.extend(files.last().cloned());
            }
        })),
    ),
    ScopesIgnored(
        "scopes-ignored",
        "An operation can be invoked for a scope that it does not have.",
        Host(&LiftsRules(&["changeset.operation.bad-scope"])),
    ),
    DisabledRuns(
        "disabled-runs",
        "An operation that is disabled can be invoked.",
        Host(&LiftsRules(&["changeset.operation.disabled"])),
    ),
    OperationNeverEnds(
        "operation-never-ends",
        "An invoked operation stays in the status `running`.",
        Host(&AltersAction("changeset/operationStatusChanged", |_, _, action| {
            action["status"] == "running"
        })),
    ),
    PluginsOutlive(
        "plugins-outlive",
        "The plugins of a client that is no longer active stay in the session.",
        Host(&LiftsRules(&["disconnect.customizations-removed"])),
    ),
    PluginIdsRepeat(
        "plugin-ids-repeat",
        "The plugins of clients keep their ids, although another customization has the same id.",
        Host(&LiftsRules(&["session.customizations.ids-unique"])),
    ),
    UnreadableLoaded(
        "unreadable-loaded",
        "A plugin that could not be read is reported as loaded.",
        Host(&LiftsRules(&["session.customizations.load-state"])),
    ),
    DecisionsUnsorted(
        "decisions-unsorted",
        "The global decision about enablement is published first.",
        Host(&LiftsRules(&["session.customizations.enablement-sorted"])),
    ),
    ToggleTakesContainer(
        "toggle-takes-container",
        "A decision about a customization also applies to its container.",
        Host(&ActsAfterApplying(Followed, "session/customizationToggled", |host, uri, action| {
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
        })),
    ),
    OffServersRun(
        "off-servers-run",
        "A disabled MCP server continues to run, and can be started.",
        Host(&LiftsRules(&["session.customizations.toggle"])),
    ),
    StopKeepsInput(
        "stop-keeps-input",
        "A call still waits for the token of a server that was stopped.",
        Host(&LiftsRules(&["session.customizations.mcp.stop-clears-input"])),
    ),
    SideChannelBare(
        "side-channel-bare",
        "The MCP servers of clients have side channels, but no method is served on them.",
        Host(&LiftsRules(&["session.customizations.mcpApp-gated"])),
    ),
    ServerNeverReady(
        "server-never-ready",
        "A started MCP server never becomes ready.",
        Host(&AltersAction("session/mcpServerStateChanged", |_, _, action| {
            action["state"]["kind"] != "ready"
        })),
    ),
];

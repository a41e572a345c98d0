//! Injected faults in states: a reducer or a snapshot produces a wrong state.
//!
//! Knows: actions, the state that an action changes. Never knows: connections, other states.

use super::FaultPart::State;
use crate::host::generic::{ChangesState, LeavesState};
use crate::host::state_faults::StateFault;
use crate::wire::json::{Value, json};

fault_table![
    SnapshotStale(
        "snapshot-stale",
        "A snapshot lacks the latest action on its channel.",
        State(&SnapshotStale),
    ),
    FlagsNotStored(
        "flags-not-stored",
        "Read and archived flags are echoed and not stored.",
        State(&LeavesState(&[
            "session/isReadChanged",
            "session/isArchivedChanged",
            "chat/isReadChanged",
            "chat/isArchivedChanged",
        ])),
    ),
    TitleNotApplied(
        "title-not-applied",
        "A new title is echoed and not stored.",
        State(&LeavesState(&["session/titleChanged"])),
    ),
    DraftNotStored(
        "draft-not-stored",
        "A draft is echoed and not stored.",
        State(&LeavesState(&["chat/draftChanged"])),
    ),
    TruncationKeepsTurns(
        "truncation-keeps-turns",
        "A truncation is echoed and removes nothing.",
        State(&LeavesState(&["chat/truncated"])),
    ),
    ClientStaysActive(
        "client-stays-active",
        "A client that leaves is still listed as active.",
        State(&LeavesState(&["session/activeClientRemoved"])),
    ),
    ToggleNotStored(
        "toggle-not-stored",
        "A decision about a customization is echoed and not stored.",
        State(&LeavesState(&["session/customizationToggled"])),
    ),
    ConfigNotMerged(
        "config-not-merged",
        "A change of configuration drops the values that it does not name.",
        State(&ChangesState(&["root/configChanged", "session/configChanged"], |it, state| {
            state["config"]["values"] = it.action["config"].clone();
        })),
    ),
    DenialReasonDropped(
        "denial-reason-dropped",
        "The reason of a denial is not stored.",
        State(&ChangesState(&["chat/toolCallConfirmed"], |_, state| {
            forget_of_calls(state, &["reasonMessage"]);
        })),
    ),
    ChoiceDropped(
        "choice-dropped",
        "The option that a user selected for a tool call, and the user's suggestion, are not stored.",
        State(&ChangesState(&["chat/toolCallConfirmed"], |_, state| {
            forget_of_calls(state, &["selectedOption", "userSuggestion"]);
        })),
    ),
    ReorderSorts(
        "reorder-sorts",
        "Queued messages that a new order does not name are sorted by their ids.",
        State(&ChangesState(&["chat/queuedMessagesReordered"], |it, state| {
            sort_unnamed(state, it.action);
        })),
    ),
    UnreadNotSet(
        "unread-not-set",
        "A turn leaves its chat marked as read.",
        State(&ChangesState(&["chat/turnStarted"], |it, state| {
            set_status(state, status_of(state) | (status_of(it.before) & IS_READ));
        })),
    ),
    ArchivedLostOnTurn(
        "archived-lost-on-turn",
        "A turn clears the archived flag of its chat.",
        State(&ChangesState(&["chat/turnStarted"], |_, state| {
            set_status(state, status_of(state) & !IS_ARCHIVED);
        })),
    ),
    SideChannelKept(
        "side-channel-kept",
        "A stopped MCP server keeps its side channel.",
        State(&ChangesState(&["session/mcpServerStopRequested"], |it, state| {
            keep_side_channel(state, &it.action["id"]);
        })),
    ),
    HistoryUnfinished(
        "history-unfinished",
        "The tool calls of a cancelled turn stay running.",
        State(&ChangesState(&["chat/turnCancelled"], |_, state| keep_running(state))),
    ),
    WaitingUnseen(
        "waiting-unseen",
        "The status of a chat with an open input request does not show that the chat waits.",
        State(&ChangesState(&["chat/inputRequested"], |it, state| {
            set_status(state, status_of(it.before));
        })),
    ),
    RangeDropped(
        "range-dropped",
        "An update of an annotation drops its range.",
        State(&ChangesState(&["annotations/updated"], |_, state| {
            let annotations = state.get_mut("annotations").and_then(Value::as_array_mut);
            for members in annotations.into_iter().flatten().filter_map(Value::as_object_mut) {
                members.remove("range");
            }
        })),
    ),
    UnknownKindsDropped(
        "unknown-kinds-dropped",
        "Attachments of unknown kinds are dropped.",
        State(&ChangesState(&["chat/draftChanged"], |_, state| {
            let attachments = state.pointer_mut("/draft/attachments").and_then(Value::as_array_mut);
            if let Some(attachments) = attachments {
                attachments.retain(|it| ATTACHMENTS.iter().any(|kind| it["type"] == *kind));
            }
        })),
    ),
    TruncationDropsOneMore(
        "truncation-drops-one-more",
        "A truncation also removes the turn that it names.",
        State(&ChangesState(&["chat/truncated"], |_, state| {
            if let Some(turns) = state.get_mut("turns").and_then(Value::as_array_mut) {
                turns.pop();
            }
        })),
    ),
];

/// The types of attachments. Source: MessageAttachment.
const ATTACHMENTS: &[&str] = &["simple", "embeddedResource", "resource", "annotations", "chat"];

pub(super) const ACTIVITY: u64 = 31;
pub(super) const IN_PROGRESS: u64 = 8;
pub(super) const INPUT_NEEDED: u64 = 24;
const IS_READ: u64 = 32;
const IS_ARCHIVED: u64 = 64;

/// A fault that leaves the last action of the channel out of a snapshot.
struct SnapshotStale;

impl StateFault for SnapshotStale {
    fn shows(&self, state: &mut Value, before: &Value) {
        state.clone_from(before);
    }
}

/// Returns the status of a chat or a session. Up to 0.4.0 the status of a session is in its `summary`.
pub(super) fn status_of(state: &Value) -> u64 {
    let holder = state.get("summary").unwrap_or(state);
    holder.get("status").and_then(Value::as_u64).unwrap_or(0)
}

pub(super) fn set_status(state: &mut Value, status: u64) {
    match state.get_mut("summary") {
        Some(summary) => summary["status"] = json!(status),
        None => state["status"] = json!(status),
    }
}

/// Sets the cancelled calls of the latest turn to `running`.
fn keep_running(state: &mut Value) {
    let turns = state.get_mut("turns").and_then(Value::as_array_mut);
    let parts = turns.and_then(|turns| turns.last_mut()?.get_mut("responseParts")?.as_array_mut());
    for call in parts.into_iter().flatten().filter_map(|part| part.get_mut("toolCall")) {
        if call["status"] == "cancelled" {
            call["status"] = json!("running");
        }
    }
}

/// Puts the URI of a side channel into the state of a stopped MCP server.
fn keep_side_channel(state: &mut Value, id: &Value) {
    let containers = state.get_mut("customizations").and_then(Value::as_array_mut);
    let inner = containers.into_iter().flatten().filter_map(|it| it.get_mut("children"));
    let mut children = inner.filter_map(Value::as_array_mut).flatten();
    if let Some(server) = children.find(|it| it["id"] == *id) {
        server["channel"] = json!("mcp://kept");
    }
}

/// Sorts the queued messages that an action for a new order does not name.
fn sort_unnamed(state: &mut Value, action: &Value) {
    let order = action["order"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(queue) = state.get_mut("queuedMessages").and_then(Value::as_array_mut) {
        let named = queue.iter().filter(|message| order.contains(&message["id"])).count();
        queue[named..].sort_unstable_by_key(|message| message["id"].to_string());
    }
}

/// Removes members from the tool calls of the active turn.
fn forget_of_calls(state: &mut Value, members: &[&str]) {
    let parts = state.pointer_mut("/activeTurn/responseParts").and_then(Value::as_array_mut);
    let calls = parts.into_iter().flatten().filter_map(|part| part.get_mut("toolCall"));
    for call in calls.filter_map(Value::as_object_mut) {
        members.iter().for_each(|member| {
            call.remove(member);
        });
    }
}

//! What faults do to an action on its way into the state and out to the subscribers.
//!
//! Without faults every function here leaves things as they are.
//!
//! Knows: faults, the shape of actions. Never knows: connections, states beyond the one given.

use crate::wire::json::{Value, json};

use super::fault::{Fault, FaultSet};
use crate::model::Outcome;

/// Actions that are echoed and not stored, by fault.
const NOT_STORED: &[(Fault, &[&str])] = &[
    (
        Fault::FlagsNotStored,
        &[
            "session/isReadChanged",
            "session/isArchivedChanged",
            "chat/isReadChanged",
            "chat/isArchivedChanged",
        ],
    ),
    (Fault::TitleNotApplied, &["session/titleChanged"]),
    (Fault::DraftNotStored, &["chat/draftChanged"]),
    (Fault::TruncationKeepsTurns, &["chat/truncated"]),
    (Fault::ClientStaysActive, &["session/activeClientRemoved"]),
    (Fault::ToggleNotStored, &["session/customizationToggled"]),
];

/// The kinds of attachments that have a type. Source: MessageAttachment.
const KINDS: &[&str] = &["simple", "embeddedResource", "resource", "annotations", "chat"];

/// Faults about what a session shows of its chats.
const ROLLED_UP: &[Fault] = &[
    Fault::SummaryDrift,
    Fault::SessionStatusStuck,
    Fault::InputNeededMissing,
    Fault::InputNeededStale,
];

const ACTIVITY: u64 = 31;
const IN_PROGRESS: u64 = 8;
const INPUT_NEEDED: u64 = 24;
const IS_READ: u64 = 32;
const IS_ARCHIVED: u64 = 64;

/// Reduces an action into a state, as the faults have it. `kind` is its type in the newest words.
pub(super) fn reduce(
    faults: FaultSet,
    kind: &str,
    state: &mut Value,
    action: &Value,
    apply: impl Fn(&mut Value) -> Outcome,
) -> Outcome {
    let lost = |(fault, kinds): &(Fault, &[&str])| faults.has(*fault) && kinds.contains(&kind);
    if NOT_STORED.iter().any(lost) {
        return apply(&mut state.clone());
    }
    let status = status_of(state);
    let outcome = apply(state);
    if outcome != Outcome::Applied {
        return outcome;
    }
    match kind {
        "root/configChanged" | "session/configChanged" if faults.has(Fault::ConfigNotMerged) => {
            state["config"]["values"] = action["config"].clone();
        }
        "chat/toolCallConfirmed" if faults.has(Fault::DenialReasonDropped) => {
            forget_of_calls(state, &["reasonMessage"]);
        }
        "chat/toolCallConfirmed" if faults.has(Fault::ChoiceDropped) => {
            forget_of_calls(state, &["selectedOption", "userSuggestion"]);
        }
        "chat/queuedMessagesReordered" if faults.has(Fault::ReorderSorts) => {
            sort_unnamed(state, action);
        }
        "chat/turnStarted" => {
            let after = status_of(state);
            if faults.has(Fault::UnreadNotSet) {
                set_status(state, after | (status & IS_READ));
            }
            if faults.has(Fault::ArchivedLostOnTurn) {
                set_status(state, after & !IS_ARCHIVED);
            }
        }
        "session/mcpServerStopRequested" if faults.has(Fault::SideChannelKept) => {
            keep_side_channel(state, &action["id"]);
        }
        "chat/turnCancelled" if faults.has(Fault::HistoryUnfinished) => keep_running(state),
        "chat/inputRequested" if faults.has(Fault::WaitingUnseen) => {
            set_status(state, status);
        }
        "annotations/updated" if faults.has(Fault::RangeDropped) => {
            let annotations = state.get_mut("annotations").and_then(Value::as_array_mut);
            for members in annotations.into_iter().flatten().filter_map(Value::as_object_mut) {
                members.remove("range");
            }
        }
        "chat/draftChanged" if faults.has(Fault::UnknownKindsDropped) => {
            let attachments = state.pointer_mut("/draft/attachments").and_then(Value::as_array_mut);
            if let Some(attachments) = attachments {
                attachments.retain(|it| KINDS.iter().any(|kind| it["type"] == *kind));
            }
        }
        "changeset/fileSet" if faults.has(Fault::ChangedFileTwice) => {
            if let Some(files) = state.get_mut("files").and_then(Value::as_array_mut) {
                files.extend(files.last().cloned());
            }
        }
        "chat/truncated" if faults.has(Fault::TruncationDropsOneMore) => {
            if let Some(turns) = state.get_mut("turns").and_then(Value::as_array_mut) {
                turns.pop();
            }
        }
        _ => {}
    }
    outcome
}

/// As [`reduce`], for a session that has its turns itself: what else a session shows of its chats is a part of its own
/// state there.
pub(super) fn reduce_turns(
    faults: FaultSet,
    kind: &str,
    state: &mut Value,
    action: &Value,
    apply: impl Fn(&mut Value) -> Outcome,
) -> Outcome {
    let before = ROLLED_UP.iter().any(|fault| faults.has(*fault)).then(|| state["summary"].clone());
    let outcome = reduce(faults, kind, state, action, apply);
    let Some(before) = before.filter(|_| kind.starts_with("chat/")) else {
        return outcome;
    };
    let (was, is) = (before["status"].as_u64().unwrap_or(0), status_of(state));
    if faults.has(Fault::SummaryDrift) {
        state["summary"] = before;
    } else if faults.has(Fault::SessionStatusStuck) {
        set_status(state, was);
    } else if faults.has(Fault::InputNeededMissing) && is & ACTIVITY == INPUT_NEEDED {
        set_status(state, is & !ACTIVITY | IN_PROGRESS);
    } else if faults.has(Fault::InputNeededStale)
        && (was & ACTIVITY, is & ACTIVITY) == (INPUT_NEEDED, IN_PROGRESS)
    {
        set_status(state, is & !ACTIVITY | INPUT_NEEDED);
    }
    outcome
}

/// The status of a chat or a session, which has it in its `summary` up to 0.4.0.
fn status_of(state: &Value) -> u64 {
    let holder = state.get("summary").unwrap_or(state);
    holder.get("status").and_then(Value::as_u64).unwrap_or(0)
}

fn set_status(state: &mut Value, status: u64) {
    match state.get_mut("summary") {
        Some(summary) => summary["status"] = json!(status),
        None => state["status"] = json!(status),
    }
}

/// Brings the cancelled calls of the latest turn back to life.
fn keep_running(state: &mut Value) {
    let turns = state.get_mut("turns").and_then(Value::as_array_mut);
    let parts = turns.and_then(|turns| turns.last_mut()?.get_mut("responseParts")?.as_array_mut());
    for call in parts.into_iter().flatten().filter_map(|part| part.get_mut("toolCall")) {
        if call["status"] == "cancelled" {
            call["status"] = json!("running");
        }
    }
}

/// Gives an MCP server that stops a side channel.
fn keep_side_channel(state: &mut Value, id: &Value) {
    let containers = state.get_mut("customizations").and_then(Value::as_array_mut);
    let inner = containers.into_iter().flatten().filter_map(|it| it.get_mut("children"));
    let mut children = inner.filter_map(Value::as_array_mut).flatten();
    if let Some(server) = children.find(|it| it["id"] == *id) {
        server["channel"] = json!("mcp://kept");
    }
}

/// Sorts the queued messages that a new order does not name.
fn sort_unnamed(state: &mut Value, action: &Value) {
    let order = action["order"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(queue) = state.get_mut("queuedMessages").and_then(Value::as_array_mut) {
        let named = queue.iter().filter(|message| order.contains(&message["id"])).count();
        queue[named..].sort_unstable_by_key(|message| message["id"].to_string());
    }
}

/// Takes members out of the calls of the running turn.
fn forget_of_calls(state: &mut Value, members: &[&str]) {
    let parts = state.pointer_mut("/activeTurn/responseParts").and_then(Value::as_array_mut);
    let calls = parts.into_iter().flatten().filter_map(|part| part.get_mut("toolCall"));
    for call in calls.filter_map(Value::as_object_mut) {
        members.iter().for_each(|member| {
            call.remove(member);
        });
    }
}

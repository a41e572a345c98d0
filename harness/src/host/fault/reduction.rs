//! Faults in reducing: the state after an action is not what the action says.
//!
//! Knows: actions and the state that each is reduced into. Never knows: connections, other states.
//!
//! Start at [`reduce`].

use super::{Fault, FaultSet};
use crate::model::Outcome;
use crate::wire::json::{Value, json};

/// A fault in reducing actions of these types (names of the newest version).
struct StateFault {
    fault: Fault,
    kinds: &'static [&'static str],
    effect: StateEffect,
}

/// How a fault changes a state.
enum StateEffect {
    /// The action changes nothing.
    Unchanged,
    /// The state that the reducers leave is changed.
    After(fn(&ReducedAction<'_>, &mut Value)),
}

/// An action that was reduced.
struct ReducedAction<'a> {
    action: &'a Value,
    /// The status of the chat or session before it.
    status: u64,
}

const fn unchanged(fault: Fault, kinds: &'static [&'static str]) -> StateFault {
    StateFault { fault, kinds, effect: StateEffect::Unchanged }
}

const fn after(
    fault: Fault,
    kinds: &'static [&'static str],
    change: fn(&ReducedAction<'_>, &mut Value),
) -> StateFault {
    StateFault { fault, kinds, effect: StateEffect::After(change) }
}

const FAULTS: &[StateFault] = &[
    unchanged(
        Fault::FlagsNotStored,
        &[
            "session/isReadChanged",
            "session/isArchivedChanged",
            "chat/isReadChanged",
            "chat/isArchivedChanged",
        ],
    ),
    unchanged(Fault::TitleNotApplied, &["session/titleChanged"]),
    unchanged(Fault::DraftNotStored, &["chat/draftChanged"]),
    unchanged(Fault::TruncationKeepsTurns, &["chat/truncated"]),
    unchanged(Fault::ClientStaysActive, &["session/activeClientRemoved"]),
    unchanged(Fault::ToggleNotStored, &["session/customizationToggled"]),
    after(
        Fault::ConfigNotMerged,
        &["root/configChanged", "session/configChanged"],
        |reduction, state| state["config"]["values"] = reduction.action["config"].clone(),
    ),
    after(Fault::DenialReasonDropped, &["chat/toolCallConfirmed"], |_, state| {
        forget_of_calls(state, &["reasonMessage"]);
    }),
    after(Fault::ChoiceDropped, &["chat/toolCallConfirmed"], |_, state| {
        forget_of_calls(state, &["selectedOption", "userSuggestion"]);
    }),
    after(Fault::ReorderSorts, &["chat/queuedMessagesReordered"], |reduction, state| {
        sort_unnamed(state, reduction.action);
    }),
    after(Fault::UnreadNotSet, &["chat/turnStarted"], |reduction, state| {
        set_status(state, status_of(state) | (reduction.status & IS_READ));
    }),
    after(Fault::ArchivedLostOnTurn, &["chat/turnStarted"], |_, state| {
        set_status(state, status_of(state) & !IS_ARCHIVED);
    }),
    after(Fault::SideChannelKept, &["session/mcpServerStopRequested"], |reduction, state| {
        keep_side_channel(state, &reduction.action["id"]);
    }),
    after(Fault::HistoryUnfinished, &["chat/turnCancelled"], |_, state| keep_running(state)),
    after(Fault::WaitingUnseen, &["chat/inputRequested"], |reduction, state| {
        set_status(state, reduction.status);
    }),
    after(Fault::RangeDropped, &["annotations/updated"], |_, state| {
        let annotations = state.get_mut("annotations").and_then(Value::as_array_mut);
        for members in annotations.into_iter().flatten().filter_map(Value::as_object_mut) {
            members.remove("range");
        }
    }),
    after(Fault::UnknownKindsDropped, &["chat/draftChanged"], |_, state| {
        let attachments = state.pointer_mut("/draft/attachments").and_then(Value::as_array_mut);
        if let Some(attachments) = attachments {
            attachments.retain(|it| ATTACHMENTS.iter().any(|kind| it["type"] == *kind));
        }
    }),
    after(Fault::ChangedFileTwice, &["changeset/fileSet"], |_, state| {
        if let Some(files) = state.get_mut("files").and_then(Value::as_array_mut) {
            files.extend(files.last().cloned());
        }
    }),
    after(Fault::TruncationDropsOneMore, &["chat/truncated"], |_, state| {
        if let Some(turns) = state.get_mut("turns").and_then(Value::as_array_mut) {
            turns.pop();
        }
    }),
];

/// A fault, and what it makes of a session's state, given its summary before.
type RollUpFault = (Fault, fn(&Value, &mut Value));

/// Faults in what a session shows of its chats, for versions where the session has the turns itself.
const ROLLED_UP: &[RollUpFault] = &[
    (Fault::SummaryDrift, |before, state| state["summary"] = before.clone()),
    (Fault::SessionStatusStuck, |before, state| {
        set_status(state, before["status"].as_u64().unwrap_or(0));
    }),
    (Fault::InputNeededMissing, |_, state| {
        let status = status_of(state);
        if status & ACTIVITY == INPUT_NEEDED {
            set_status(state, status & !ACTIVITY | IN_PROGRESS);
        }
    }),
    (Fault::InputNeededStale, |before, state| {
        let (was, is) = (before["status"].as_u64().unwrap_or(0), status_of(state));
        if (was & ACTIVITY, is & ACTIVITY) == (INPUT_NEEDED, IN_PROGRESS) {
            set_status(state, is & !ACTIVITY | INPUT_NEEDED);
        }
    }),
];

/// The kinds of attachments that have a type. Source: MessageAttachment.
const ATTACHMENTS: &[&str] = &["simple", "embeddedResource", "resource", "annotations", "chat"];

const ACTIVITY: u64 = 31;
const IN_PROGRESS: u64 = 8;
const INPUT_NEEDED: u64 = 24;
const IS_READ: u64 = 32;
const IS_ARCHIVED: u64 = 64;

/// Reduces an action into a state, as the faults have it. `kind` is its type in the newest words.
pub(in crate::host) fn reduce(
    faults: FaultSet,
    kind: &str,
    state: &mut Value,
    action: &Value,
    apply: impl Fn(&mut Value) -> Outcome,
) -> Outcome {
    let mine = |row: &&StateFault| faults.has(row.fault) && row.kinds.contains(&kind);
    let reduction = ReducedAction { action, status: status_of(state) };
    let mut changes = Vec::new();
    for row in FAULTS.iter().filter(mine) {
        match row.effect {
            StateEffect::Unchanged => return apply(&mut state.clone()),
            StateEffect::After(change) => changes.push(change),
        }
    }
    let outcome = apply(state);
    if outcome == Outcome::Applied {
        changes.into_iter().for_each(|change| change(&reduction, state));
    }
    outcome
}

/// As [`reduce`], for a session that has its turns itself: what else a session shows of its chats is a part of its own
/// state there.
pub(in crate::host) fn reduce_turns(
    faults: FaultSet,
    kind: &str,
    state: &mut Value,
    action: &Value,
    apply: impl Fn(&mut Value) -> Outcome,
) -> Outcome {
    let rolled_up = ROLLED_UP.iter().find(|(fault, _)| faults.has(*fault));
    let before = rolled_up.map(|_| state["summary"].clone());
    let outcome = reduce(faults, kind, state, action, apply);
    if let Some((before, (_, change))) = before.zip(rolled_up).filter(|_| kind.starts_with("chat/"))
    {
        change(&before, state);
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

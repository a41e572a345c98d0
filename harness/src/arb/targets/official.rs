//! Fuzz targets with the official reducer of 1.0.0: a comparison of its speed and its results with those of the
//! harness's reducer.
//!
//! Actions that trigger a known defect of the crate (`reports/reducers`) are left out of the pool, because otherwise
//! every campaign would only find these defects.
//!
//! Knows: the crate. Never knows: reports.

use std::sync::OnceLock;

use ahp_1_0::ahp_types::actions::StateAction;
use ahp_1_0::ahp_types::state::{ChatState, ResponsePart, ToolCallState};
use ahp_1_0::reducers::apply_action_to_chat;

use crate::arb::laws::{CallList, Calls};
use crate::arb::pool::Pool;
use crate::arb::story::NOW_MS;
use crate::model::tool_call::ToolCallStatus;
use crate::reducers::case::{Case, judge};
use crate::reducers::compare::{Clock, same};
use crate::reducers::exchange::Answer;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::version::Version;

use super::reducers::{ActionSequence, order};

/// The triggers of known defects: the defect's name, and a string in the action or state.
const KNOWN: &[(&str, &str)] = &[
    ("queue-order", "chat/queuedMessagesReordered"),
    ("auth-required", "chat/toolCallAuth"),
    ("auth-required", "\"auth-required\""),
    // The crate does not accept a turn's end beyond the range of its calendar.
    ("late-end", "\"duration\":9007199254740991"),
];

/// The chat's pool, with each entry as a type of the crate.
struct TypedPool {
    pool: &'static Pool,
    states: Vec<Option<(Value, ChatState)>>,
    actions: Vec<Option<StateAction>>,
}

fn typed() -> Option<&'static TypedPool> {
    static TYPED: OnceLock<Option<TypedPool>> = OnceLock::new();
    let of = || {
        let pool = Pool::of(Version::V1_0, ChannelKind::Chat)?;
        let states = pool.states.iter().cloned().map(settled);
        let states = states.map(|state| read(&state).map(|read| (state, read))).collect();
        Some(TypedPool { pool, states, actions: pool.actions.iter().map(read).collect() })
    };
    TYPED.get_or_init(of).as_ref()
}

/// Returns a state without duplicate directories. The specification does not define the result of removing a
/// duplicate, so every sequence of actions from such a state would end in a difference.
fn settled(mut state: Value) -> Value {
    if let Some(directories) = state.get_mut("workingDirectories").and_then(Value::as_array_mut) {
        let mut seen = Vec::new();
        directories.retain(|it| {
            let new = !seen.contains(it);
            seen.push(it.clone());
            new
        });
    }
    state
}

/// Parses an entry as a type of the crate; `None` if the entry cannot be parsed or triggers a known defect.
fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
    let text = value.to_text();
    let known = KNOWN.iter().any(|(_, word)| text.contains(word));
    if known { None } else { serde_json::from_str(&text).ok() }
}

fn written(state: &ChatState) -> Value {
    let text = serde_json::to_string(state).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Runs the same sequences of actions as the target `chat` on the reducer of the official crate, and checks the same
/// law.
pub fn official(data: &[u8]) {
    let Some(typed) = typed() else { return };
    let Some(ActionSequence { state, picks, .. }) = order(data, typed.pool) else { return };
    let Some((_, state)) = &typed.states[state] else { return };
    let mut state = state.clone();
    let mut calls = Calls::told(|told| tell(&state, told));
    for pick in picks {
        let pick = usize::from(*pick) % typed.actions.len();
        if let Some(action) = &typed.actions[pick] {
            apply_action_to_chat(&mut state, action);
            let action = &typed.pool.actions[pick];
            if let Err(broken) = calls.step_told(action, |told| tell(&state, told)) {
                panic!("the crate: {broken}");
            }
        }
    }
}

/// Lists the tool calls of a chat.
fn tell(state: &ChatState, told: &mut CallList) {
    let Some(turn) = &state.active_turn else { return };
    told.turn(&turn.id);
    for part in &turn.response_parts {
        let ResponsePart::ToolCall(part) = part else { continue };
        let (id, status) = match &part.tool_call {
            ToolCallState::Streaming(it) => (&it.tool_call_id, ToolCallStatus::Streaming),
            ToolCallState::PendingConfirmation(it) => {
                (&it.tool_call_id, ToolCallStatus::PendingConfirmation)
            }
            ToolCallState::Running(it) => (&it.tool_call_id, ToolCallStatus::Running),
            ToolCallState::AuthRequired(it) => (&it.tool_call_id, ToolCallStatus::AuthRequired),
            ToolCallState::PendingResultConfirmation(it) => {
                (&it.tool_call_id, ToolCallStatus::PendingResultConfirmation)
            }
            ToolCallState::Completed(it) => (&it.tool_call_id, ToolCallStatus::Completed),
            ToolCallState::Cancelled(it) => (&it.tool_call_id, ToolCallStatus::Cancelled),
            ToolCallState::Unknown(_) => continue,
        };
        told.call(id, status);
    }
}

/// Runs both reducers and compares the states at the end. If the states differ, reports the first action that
/// causes a difference. Returns whether the fuzzer should keep the input. Inputs in which the specification is
/// ambiguous are not kept, because the fuzzer would derive more such inputs from them.
pub fn differential(data: &[u8]) -> bool {
    let Some(typed) = typed() else { return false };
    let Some(ActionSequence { pool, state, picks }) = order(data, typed.pool) else { return false };
    let Some((ours, theirs)) = &typed.states[state] else { return false };
    let played = |picks: &[u8]| {
        let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
        for pick in picks {
            step(typed, *pick, &mut ours, &mut theirs);
        }
        (ours, written(&theirs))
    };
    let (ours, theirs) = played(picks);
    let same = same(&ours, &theirs);
    if !same {
        explain(pool, picks, &played);
    }
    same
}

fn step(typed: &TypedPool, pick: u8, ours: &mut Value, theirs: &mut ChatState) {
    let pick = usize::from(pick) % typed.actions.len();
    if let Some(action) = &typed.actions[pick] {
        typed.pool.apply(pick, NOW_MS, ours);
        apply_action_to_chat(theirs, action);
    }
}

/// Panics with the action about which the reducers disagree, unless the specification is ambiguous there.
fn explain(pool: &Pool, picks: &[u8], played: &dyn Fn(&[u8]) -> (Value, Value)) {
    // A binary search: the reducers agree after `agree` actions and differ after `differ` actions.
    let (mut agree, mut differ) = (0, picks.len());
    while agree + 1 < differ {
        let middle = agree.midpoint(differ);
        let (ours, theirs) = played(&picks[..middle]);
        *(if same(&ours, &theirs) { &mut agree } else { &mut differ }) = middle;
    }
    let (state, _) = played(&picks[..agree]);
    let (_, value) = played(&picks[..differ]);
    let actions = picks[agree..differ].iter().map(|pick| usize::from(*pick) % pool.actions.len());
    let actions = actions.map(|pick| pool.actions[pick].clone()).collect();
    let case = Case { channel: ChannelKind::Chat, state, actions, now: NOW_MS };
    let answer = Ok(Answer::Value { value, outcomes: None });
    let found = judge(Version::V1_0, Clock::Given, &case, &answer);
    assert!(
        found.as_ref().is_some_and(|found| found.open.is_some()),
        "{:?}\non {}\nours and theirs differ: {found:#?}",
        case.actions,
        case.state
    );
}

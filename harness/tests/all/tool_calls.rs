//! Property tests of the life of a tool call: for any sequence of actions, each call follows the table of transitions,
//! and an action without a transition does not change the state.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::fmt;

use ahp_harness::model::tool_call::{
    TRANSITIONS, ToolCallStatus, ToolCallTransition, ToolEvent, event_of,
};
use ahp_harness::model::{ActionOutcome, apply};
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::feature::ProtocolFeature;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::version::{PUBLISHED, Version};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::cases::cases;

/// One action in a short form.
#[derive(Clone)]
struct BriefAction {
    kind: &'static str,
    turn: &'static str,
    call: &'static str,
    flag: bool,
    fails: bool,
    /// The member that is missing or invalid; `None` for a valid action.
    spoilt: Option<&'static str>,
}

impl fmt::Debug for BriefAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BriefAction { kind, turn, call, flag, fails, spoilt } = self;
        f.write_str(&format!("{kind} {turn}/{call} flag {flag}, fails {fails}, spoilt {spoilt:?}"))
    }
}

const KINDS: &[&str] = &[
    "toolCallStart",
    "toolCallDelta",
    "toolCallReady",
    "toolCallConfirmed",
    "toolCallContentChanged",
    "toolCallAuthRequired",
    "toolCallAuthResolved",
    "toolCallComplete",
    "toolCallResultConfirmed",
    "turnStarted",
    "turnComplete",
    "turnCancelled",
];

fn deed() -> impl Strategy<Value = BriefAction> {
    let kind = prop_oneof![12 => select(&KINDS[..9]), 1 => select(KINDS)];
    let turn = prop_oneof![9 => Just("t"), 1 => select(&["t", "u"][..])];
    let spoilt = select(&["approved", "result", "auth", "content", "toolName", "turnId"][..]);
    let spoilt = prop_oneof![9 => Just(None), 1 => spoilt.prop_map(Some)];
    (kind, turn, select(&["a", "b", "c"][..]), any::<bool>(), any::<bool>(), spoilt).prop_map(
        |(kind, turn, call, flag, fails, spoilt)| BriefAction {
            kind,
            turn,
            call,
            flag,
            fails,
            spoilt,
        },
    )
}

impl BriefAction {
    /// Returns the action for a channel with turns: a chat or, up to 0.3.0, a session.
    fn action(&self, channel: ChannelKind) -> Value {
        let yes = self.flag;
        let action_type = format!("{}/{}", channel.family(), self.kind);
        let mut action = json!({"type": action_type, "turnId": self.turn});
        if self.kind.starts_with("toolCall") {
            action["toolCallId"] = json!(self.call);
        }
        let more = match self.kind {
            // Calls with one of the identifiers belong to an MCP server, which may require authentication.
            "toolCallStart" if self.call == "a" => json!({"toolName": "x", "displayName": "X",
                "contributor": {"kind": "mcp", "server": "s"}}),
            "toolCallStart" => json!({"toolName": "x", "displayName": "X"}),
            "toolCallDelta" => json!({"content": "d"}),
            "toolCallReady" if yes => {
                json!({"invocationMessage": "m", "confirmed": "not-needed", "toolInput": "i"})
            }
            "toolCallReady" => json!({"invocationMessage": "m"}),
            "toolCallConfirmed" => json!({"approved": yes, "confirmed": "user-action",
                "reason": "denied"}),
            "toolCallContentChanged" => json!({"content": [{"type": "text", "text": "c"}]}),
            "toolCallAuthRequired" => json!({"auth": {"resource": "r"}}),
            "toolCallComplete" => json!({"requiresResultConfirmation": yes,
                "result": {"success": !self.fails, "pastTenseMessage": "p"}}),
            "toolCallResultConfirmed" => json!({"approved": yes}),
            "turnStarted" => {
                json!({"startedAt": "2026-01-01T00:00:00Z", "userMessage": {"text": "m"},
                "message": {"text": "m", "origin": {"kind": "user"}}})
            }
            _ => json!({"duration": 1}),
        };
        let members = action.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        if let Some(spoilt) = self.spoilt {
            match self.fails {
                true => members.remove(spoilt),
                false => members.insert(spoilt.to_owned(), json!([7])),
            };
        }
        action
    }
}

/// Returns every tool call of the chat, in order: its identifier and its status.
fn calls(state: &Value) -> Vec<(String, ToolCallStatus)> {
    let turns = state["turns"].as_array().into_iter().flatten();
    let parts = |turn: &Value| turn["responseParts"].as_array().cloned().unwrap_or_default();
    let parts = turns.chain(state.get("activeTurn")).flat_map(parts);
    let call = |part: Value| {
        let call = part.get("toolCall")?;
        let status = ToolCallStatus::from_name(call["status"].as_str().unwrap()).unwrap();
        Some((call["toolCallId"].as_str().unwrap().to_owned(), status))
    };
    parts.filter_map(call).collect()
}

/// Returns the kind of the channel with turns.
fn channel(version: Version) -> ChannelKind {
    if ProtocolFeature::Chats.is_in(version) { ChannelKind::Chat } else { ChannelKind::Session }
}

fn step(state: &mut Value, version: Version, deed: &BriefAction) -> Result<(), TestCaseError> {
    let action = deed.action(channel(version));
    let before = state.clone();
    let outcome = apply(version, channel(version), state, &action);
    if outcome != ActionOutcome::Applied {
        prop_assert_eq!(&*state, &before, "{:?} left a trace", outcome);
        return Ok(());
    }
    let (old, new) = (calls(&before), calls(state));
    let Some(event) = event_of(&action) else {
        // A new turn replaces the active turn and all of its tool calls.
        if deed.kind == "turnStarted" {
            prop_assert_eq!(&old[..new.len()], &new[..]);
            return Ok(());
        }
        // The end of a turn cancels its unfinished tool calls; no call appears or disappears.
        prop_assert_eq!(old.len(), new.len());
        for ((id, from), (same, to)) in old.iter().zip(&new) {
            let cancelled = !from.is_final() && *to == ToolCallStatus::Cancelled;
            prop_assert!(id == same && (from == to || cancelled), "{} {:?} {:?}", id, from, to);
        }
        return Ok(());
    };
    let along = |from: Option<ToolCallStatus>, to: ToolCallStatus| {
        TRANSITIONS.iter().any(|row| row.from == from && row.event == event && row.to == to)
    };
    let began = usize::from(new.len() > old.len());
    prop_assert_eq!(new.len(), old.len() + began);
    if began == 1 {
        let (id, status) = new.last().unwrap();
        prop_assert!(id == deed.call && along(None, *status));
    }
    let mut touched = began;
    for ((id, from), (same, to)) in old.iter().zip(&new) {
        prop_assert_eq!(id, same);
        if from != to {
            touched += 1;
            prop_assert!(along(Some(*from), *to), "{:?} by {:?} to {:?}", from, event, to);
            prop_assert_eq!(id, deed.call);
        }
    }
    prop_assert!(touched <= 1, "one action moved {} calls", touched);
    // An accepted action that changes no call must match a transition that keeps the status.
    if touched == 0 {
        let id_of = |(id, _): &&(String, ToolCallStatus)| id == deed.call;
        let newest = old.iter().rfind(id_of).map(|(_, status)| *status);
        prop_assert!(newest.is_some_and(|status| along(Some(status), status)), "{:?}", newest);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn moves_only_along_the_table(
        version in select(&PUBLISHED[..]),
        deeds in proptest::collection::vec(deed(), 1..40),
    ) {
        let mut state = json!({
            "resource": "ahp-chat:/c", "title": "c", "status": 8,
            "modifiedAt": "2026-01-01T00:00:00Z", "turns": [],
            "summary": {"resource": "ahp-session:/s", "status": 8, "modifiedAt": 0},
            "activeTurn": {"id": "t", "startedAt": "2026-01-01T00:00:00Z",
                "message": {"text": "hi", "origin": {"kind": "user"}}, "responseParts": []},
        });
        for deed in &deeds {
            step(&mut state, version, deed)?;
        }
    }
}

/// Checks that at least one generated sequence takes each transition of the table. Otherwise, the property about all
/// transitions would say little.
#[test]
fn some_sequence_takes_every_row_of_the_table() {
    let newest = idle(Version::V1_0);
    assert!(newest.is_empty(), "{newest:?}");
    for version in PUBLISHED {
        // Up to 0.5.2, no call waits for authentication, and no call that waits for a confirmation becomes
        // ready.
        let missing = |row: &&&ToolCallTransition| {
            let waits = row.from == Some(ToolCallStatus::PendingConfirmation);
            let ready =
                matches!(row.event, ToolEvent::ReadyConfirmed | ToolEvent::ReadyUnconfirmed);
            let sign_in = [row.from, Some(row.to)].contains(&Some(ToolCallStatus::AuthRequired));
            !(sign_in || (waits && ready)) || ProtocolFeature::ToolAuthentication.is_in(version)
        };
        let idle = idle(version);
        let idle: Vec<_> = idle.iter().filter(missing).collect();
        assert!(idle.is_empty(), "{version}: {idle:?}");
    }
}

/// Returns the transitions of the table that no generated sequence of actions takes in a version.
fn idle(version: Version) -> Vec<&'static ToolCallTransition> {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut taken = vec![false; TRANSITIONS.len()];
    for _ in 0..1_000 {
        let deeds = proptest::collection::vec(deed(), 40).new_tree(&mut runner).unwrap().current();
        let mut state = json!({"turns": [], "status": 8, "summary": {"status": 8}, "activeTurn":
            {"id": "t", "startedAt": "2026-01-01T00:00:00Z", "message": {}, "responseParts": []}});
        for deed in deeds {
            let from = calls(&state).iter().rfind(|(id, _)| id == deed.call).map(|(_, at)| *at);
            let action = deed.action(channel(version));
            let outcome = apply(version, channel(version), &mut state, &action);
            let (ActionOutcome::Applied, Some(event)) = (outcome, event_of(&action)) else {
                continue;
            };
            for (row, taken) in TRANSITIONS.iter().zip(&mut taken) {
                *taken |= row.event == event && (row.from.is_none() || row.from == from);
            }
        }
    }
    TRANSITIONS.iter().zip(taken).filter(|(_, taken)| !taken).map(|(row, _)| row).collect()
}

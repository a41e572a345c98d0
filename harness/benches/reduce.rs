//! Measures how fast the reducer handles typical turns, with and without decoding, compared with the official crate of
//! 1.0.0 (with the feature `official-newest`). Also measures how the cost depends on parts and history.
//!
//! `--flat TURNS ACTIONS` only applies this many actions to a chat with this many turns of history, and measures
//! nothing. This option is for counting instructions with callgrind; see BENCHMARKS.md.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use ahp_harness::model::{ActionOutcome, apply};
use ahp_harness::wire::channel::ChannelKind;
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::{Value, json};
use ahp_harness::wire::message::{DecodedFrame, decode};
use ahp_harness::wire::version::Version;

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::{cpu, host, median, pin};

const VERSION: Version = Version::new(1, 0, 0);
/// The numbers of turns per round and of rounds.
const TURNS: usize = 100;
const ROUNDS: usize = 9;
/// The number of deltas per text.
const DELTAS: usize = 120;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--flat") {
        let number = |index: usize| arguments.get(place + index).and_then(|text| text.parse().ok());
        return flat(number(1).unwrap_or(10), number(2).unwrap_or(1_000));
    }
    if !measure::wanted() {
        return;
    }
    pin();
    let turn = turn("t");
    let frames: Vec<Frame> = turn.iter().map(framed).collect();
    let texts: Vec<String> = frames.iter().map(|frame| frame.display().into_owned()).collect();
    println!("a turn of {} actions, {} turns a round, medians of {ROUNDS}", turn.len(), TURNS);
    compare(
        "wire text to new state",
        |turns| ours_from_text(turns, &frames),
        |turns| peer::from_text(turns, &texts),
    );
    for history in [10, 1_000, 10_000] {
        compare(
            &format!("reducer alone, {history} turns before"),
            |turns| ours_alone(&host::chat(history), turns, &turn),
            |turns| peer::alone(&host::chat(history), turns, &turn),
        );
    }
    for parts in [1, 10, 100, 1_000] {
        let state = with_parts(parts);
        let deltas: Vec<Value> =
            (0..DELTAS).map(|_| delta("t", &format!("p{}", parts - 1))).collect();
        compare(
            &format!("deltas, {parts} parts in the turn"),
            |turns| ours_alone(&state, turns, &deltas),
            |turns| peer::alone(&state, turns, &deltas),
        );
    }
}

/// Prints the time per action of both reducers, measured alternately, and their ratio.
fn compare(what: &str, ours: impl Fn(usize) -> f64, theirs: impl Fn(usize) -> Option<f64>) {
    let (mut own, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(ours(TURNS));
        peer.extend(theirs(TURNS));
    }
    let own = median(own);
    if peer.is_empty() {
        println!("{what}: {own:.0} ns (build with --features official-newest for the comparison)");
    } else {
        let peer = median(peer);
        println!("{what}: {own:.0} ns, the crate {peer:.0} ns: {:.2} times as fast", peer / own);
    }
}

fn ours_from_text(turns: usize, frames: &[Frame]) -> f64 {
    let mut state = host::chat(10);
    let began = cpu();
    for _ in 0..turns {
        for frame in frames {
            let DecodedFrame::Message(message) = decode(frame) else {
                panic!("a message");
            };
            take(&mut state, &message.params()["action"]);
        }
    }
    per_action(began, turns * frames.len())
}

fn ours_alone(state: &Value, turns: usize, actions: &[Value]) -> f64 {
    let mut state = state.clone();
    let began = cpu();
    for _ in 0..turns {
        for action in actions {
            take(&mut state, action);
        }
    }
    per_action(began, turns * actions.len())
}

fn take(state: &mut Value, action: &Value) {
    let outcome = apply(VERSION, ChannelKind::Chat, state, action);
    assert_eq!(outcome, ActionOutcome::Applied, "{action}");
}

fn per_action(began: std::time::Duration, actions: usize) -> f64 {
    (cpu() - began).as_secs_f64() * 1e9 / actions as f64
}

fn flat(history: u64, actions: u64) {
    let mut state = host::chat(history);
    for action in turn("t").iter().cycle().take(actions as usize) {
        take(&mut state, action);
    }
    println!("{actions} actions over {history} turns, {} turns after", {
        state["turns"].as_array().map_or(0, Vec::len)
    });
}

/// Returns the actions of a turn: a text part, three tool calls, a text part.
fn turn(id: &str) -> Vec<Value> {
    let mut actions = vec![json!({"type": "chat/turnStarted", "turnId": id,
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": "hello", "origin": {"kind": "user"}}})];
    for text in ["p0", "p1"] {
        let part = json!({"kind": "markdown", "id": text, "content": ""});
        actions.push(json!({"type": "chat/responsePart", "turnId": id, "part": part}));
        actions.extend((0..DELTAS).map(|_| delta(id, text)));
        if text == "p1" {
            break;
        }
        for call in ["c0", "c1", "c2"] {
            let step = |kind: &str, more: Value| {
                let mut action = json!({"type": format!("chat/toolCall{kind}"), "turnId": id,
                    "toolCallId": call});
                for (name, value) in more.as_object().into_iter().flatten() {
                    action[name.as_str()] = value.clone();
                }
                action
            };
            actions.push(step("Start", json!({"toolName": "read", "displayName": "Read"})));
            actions.extend((0..5).map(|_| step("Delta", json!({"content": "{\"path\":"}))));
            actions.push(step(
                "Ready",
                json!({"invocationMessage": "reads a file", "toolInput": "{\"path\":\"a\"}",
                    "confirmed": "not-needed"}),
            ));
            let result = json!({"success": true, "pastTenseMessage": "has read a file"});
            actions.push(step("Complete", json!({"result": result})));
        }
    }
    actions.push(json!({"type": "chat/turnComplete", "turnId": id, "duration": 5}));
    actions
}

fn delta(turn: &str, part: &str) -> Value {
    json!({"type": "chat/delta", "turnId": turn, "partId": part,
        "content": "lorem ipsum dolor sit amet, consectetur "})
}

/// Returns a chat whose active turn has this many text parts.
fn with_parts(parts: usize) -> Value {
    let mut state = host::chat(10);
    let parts: Vec<Value> = (0..parts)
        .map(|n| json!({"kind": "markdown", "id": format!("p{n}"), "content": ""}))
        .collect();
    state["status"] = json!(8);
    state["activeTurn"] = json!({"id": "t", "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": "hello", "origin": {"kind": "user"}}, "responseParts": parts});
    state
}

fn framed(action: &Value) -> Frame {
    Frame::Text(host::plain(&action.to_text(), 1))
}

/// The official crate of 1.0.0, which is not part of this build.
#[cfg(not(feature = "official-newest"))]
mod peer {
    use super::Value;

    pub fn from_text(_: usize, _: &[String]) -> Option<f64> {
        None
    }

    pub fn alone(_: &Value, _: usize, _: &[Value]) -> Option<f64> {
        None
    }
}

/// The official crate of 1.0.0: its message type, its envelope, its reducer.
#[cfg(feature = "official-newest")]
mod peer {
    use ahp_1_0::ahp_types::actions::{ActionEnvelope, StateAction};
    use ahp_1_0::ahp_types::messages::JsonRpcMessage;
    use ahp_1_0::ahp_types::state::ChatState;
    use ahp_1_0::reducers::{ReduceOutcome, apply_action_to_chat};

    use super::{Value, cpu, host, per_action};

    pub fn from_text(turns: usize, texts: &[String]) -> Option<f64> {
        let mut state = state(&host::chat(10));
        let began = cpu();
        for _ in 0..turns {
            for text in texts {
                let message: JsonRpcMessage = serde_json::from_str(text).expect("a message");
                let JsonRpcMessage::Notification(action) = message else {
                    panic!("a notification");
                };
                let params = action.params.expect("params");
                let envelope: ActionEnvelope = serde_json::from_value(params).expect("an envelope");
                take(&mut state, &envelope.action);
            }
        }
        Some(per_action(began, turns * texts.len()))
    }

    pub fn alone(before: &Value, turns: usize, actions: &[Value]) -> Option<f64> {
        let mut state = state(before);
        let read = |action: &Value| serde_json::from_str(&action.to_text()).expect("an action");
        let actions: Vec<StateAction> = actions.iter().map(read).collect();
        let began = cpu();
        for _ in 0..turns {
            for action in &actions {
                take(&mut state, action);
            }
        }
        Some(per_action(began, turns * actions.len()))
    }

    fn state(value: &Value) -> ChatState {
        serde_json::from_str(&value.to_text()).expect("a state")
    }

    fn take(state: &mut ChatState, action: &StateAction) {
        let outcome = apply_action_to_chat(state, action);
        assert!(matches!(outcome, ReduceOutcome::Applied), "{action:?}");
    }
}

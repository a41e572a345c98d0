//! Faults in turns: their parts, their ends, the queue and steering messages.
//!
//! Knows: the actions of a turn. Never knows: which check finds which fault.

use std::collections::VecDeque;

use super::generic::{
    ActsAfterConsequences, ActsBeforeApplying, AddsAfterAction, AltersAction, ChangesAgentSteps,
    LiftsRules, OmitsActions,
};
use super::{Fault, HostFaultRow};
use crate::agent::script::ScriptStep;
use crate::host::agent::{Op, Wait};
use crate::host::engine::RefHost;
use crate::host::injected::HostFault;
use crate::host::publish::action_type;
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::UsageDropped, &OmitsActions(&["chat/usage"])),
    (Fault::PartIdReused, &PartIdReused),
    (
        Fault::DeltaBeforePart,
        &ChangesAgentSteps(|host, step, op| {
            let Op::Open { .. } = op else {
                return true;
            };
            let track = host.track(step.uri, step.index);
            let next = track.and_then(|track| match track.ops.front() {
                Some(Op::Append { .. }) => track.ops.pop_front(),
                _ => None,
            });
            if let Some(Op::Append { part, kind, text }) = next {
                let kind = if kind == "markdown" { "chat/delta" } else { "chat/reasoning" };
                let delta =
                    json!({"type": kind, "turnId": step.turn, "partId": part, "content": text});
                host.emit(step.uri, delta, None);
            }
            true
        }),
    ),
    (
        Fault::AddressLost,
        &AltersAction("chat/inputRequested", |_, _, action| {
            if let Some(request) = action["request"].as_object_mut() {
                request.remove("url");
            }
            true
        }),
    ),
    (
        Fault::CrashUnnoticed,
        &ChangesAgentSteps(|host, step, op| {
            let crashes = matches!(op, Op::Step(ScriptStep::Crash));
            if crashes {
                host.hold_up(step.uri, step.index, Wait::Forever);
            }
            !crashes
        }),
    ),
    (Fault::DurationTooLong, &AltersAction("chat/turnComplete", lengthen)),
    (Fault::DurationTooLong, &AltersAction("chat/turnCancelled", lengthen)),
    (Fault::DurationTooLong, &AltersAction("chat/error", lengthen)),
    (Fault::TurnNeverEnds, &OmitsActions(&["chat/turnComplete"])),
    (
        Fault::TwoTurnEnds,
        &AddsAfterAction("chat/turnComplete", |host, uri, action| {
            host.emit(uri, action.clone(), None);
        }),
    ),
    (
        Fault::ErrorPartInResponse,
        &AltersAction("chat/error", |host, uri, action| {
            let early = json!({
                "type": "chat/responsePart", "turnId": action["turnId"], "part": action["part"],
            });
            host.emit(uri, early, None);
            true
        }),
    ),
    (
        Fault::ErrorCompletesTurn,
        &AltersAction("chat/error", |_, _, action| {
            *action = json!({
                "type": "chat/turnComplete", "turnId": action["turnId"],
                "duration": action["duration"],
            });
            true
        }),
    ),
    (Fault::QueueOvertakesTurn, &LiftsRules(&["chat.queue.consume-after-turn"])),
    (Fault::QueueWrongOrder, &LiftsRules(&["chat.queue.fifo"])),
    (Fault::QueueNotConsumed, &LiftsRules(&["chat.queue.idle-autostart"])),
    (
        Fault::QueueDeliversTwice,
        &AltersAction("chat/pendingMessageRemoved", |host, uri, action| {
            remember_queued(host, uri, action);
            true
        }),
    ),
    (
        Fault::QueueDeliversRemoved,
        &ActsBeforeApplying("chat/pendingMessageRemoved", |host, uri, action, _| {
            remember_queued(host, uri, action);
            true
        }),
    ),
    (
        Fault::QueueLostWithTurn,
        &ActsAfterConsequences("chat/turnCancelled", |host, uri, _| {
            empty_queue(host, uri);
        }),
    ),
    (
        Fault::QueueLostWithTurn,
        &AddsAfterAction("chat/error", |host, uri, _| empty_queue(host, uri)),
    ),
    (Fault::SteeringNotConsumed, &LiftsRules(&["chat.steering.consume"])),
];

/// Adds an hour to the duration of a turn.
fn lengthen(_: &mut RefHost, _: &str, action: &mut Value) -> bool {
    if let Some(duration) = action["duration"].as_u64() {
        action["duration"] = json!(duration.saturating_add(3_600_000));
    }
    true
}

/// Has the queued message that an action removes delivered later.
fn remember_queued(host: &mut RefHost, uri: &str, action: &Value) {
    let queue = host.state(uri)["queuedMessages"].as_array().into_iter().flatten();
    let mut queue = queue.filter(|_| action["kind"] == "queued");
    let removed = queue.find(|message| message["id"] == action["id"]).cloned();
    if let Some(chat) = host.chats.get_mut(uri) {
        chat.ghosts.extend(removed);
    }
}

/// Removes everything that waits in the queue.
fn empty_queue(host: &mut RefHost, uri: &str) {
    let queue = host.state(uri)["queuedMessages"].as_array().into_iter().flatten();
    let ids: VecDeque<Value> = queue.map(|message| message["id"].clone()).collect();
    for id in ids {
        host.publish(
            uri,
            json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id}),
        );
    }
}

/// All parts of a turn have the same id.
struct PartIdReused;

impl HostFault for PartIdReused {
    fn publishes(&self, _host: &mut RefHost, _uri: &str, action: &mut Value) -> bool {
        let id = json!(format!("part-of-{}", action["turnId"].as_str().unwrap_or("")));
        match action_type(action) {
            "chat/responsePart" if action["part"]["id"].is_string() => action["part"]["id"] = id,
            "chat/delta" | "chat/reasoning" => action["partId"] = id,
            _ => {}
        }
        true
    }
}

//! Injected faults in turns: response parts, ends, the queue and steering messages.
//!
//! Knows: the actions of a turn. Never knows: the checks that find a fault.

use std::collections::VecDeque;

use super::FaultPart::Host;
use crate::agent::script::ScriptStep;
use crate::host::acp::AGENT_ENDED;
use crate::host::agent::{HostAgentOp, HostAgentWait};
use crate::host::dispatched::ActionOrigin;
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, ActsBeforeApplying, ActsOnEvents, AltersAction, ChangesAgentSteps,
    LiftsRules, OmitsActions,
};
use crate::host::injected::ActionStage::{Followed, Published};
use crate::host::injected::{HostEvent, HostHooks};
use crate::host::reading::action_type;
use crate::wire::json::{Value, json};

fault_table![
    UsageDropped(
        "usage-dropped",
        "The token usage that the agent reports is not published.",
        Host(&OmitsActions(&["chat/usage"])),
    ),
    PartIdReused(
        "part-id-reused",
        "All text parts of a turn have the same id.",
        Host(&PartIdReused),
    ),
    DeltaBeforePart(
        "delta-before-part",
        "The first delta is sent before the part that it extends.",
        Host(&ChangesAgentSteps(|host, step, op| {
            let HostAgentOp::Open { .. } = op else {
                return true;
            };
            let appends = |op: &HostAgentOp| matches!(op, HostAgentOp::Append { .. });
            let next = host.runs.take_next_if(step.uri, step.index, appends);
            if let Some(HostAgentOp::Append { part, kind, text }) = next {
                let kind = if kind == "markdown" { "chat/delta" } else { "chat/reasoning" };
                let delta =
                    json!({"type": kind, "turnId": step.turn, "partId": part, "content": text});
                host.emit(step.uri, delta, None);
            }
            true
        })),
    ),
    AddressLost(
        "address-lost",
        "A request to open an address does not contain the address.",
        Host(&AltersAction("chat/inputRequested", |_, _, action| {
            if let Some(request) = action["request"].as_object_mut() {
                request.remove("url");
            }
            true
        })),
    ),
    CrashUnnoticed(
        "crash-unnoticed",
        "The turn of an agent that has crashed stays active.",
        Host(&ChangesAgentSteps(|host, step, op| {
            let crashes = matches!(op, HostAgentOp::Step(ScriptStep::Crash));
            if crashes {
                host.runs.hold_up(step.uri, step.index, HostAgentWait::Forever);
            }
            !crashes
        })),
        Host(&AltersAction("chat/error", |_, _, action| {
            action["part"]["error"]["errorType"] != AGENT_ENDED
        })),
    ),
    TurnCancelledWithClient(
        "turn-cancelled-with-client",
        "The turns of a client are cancelled when its connection ends.",
        Host(&ActsOnEvents(|host, event| {
            if let HostEvent::Closed(Some(client)) = event {
                cancel_turns_of(host, client);
            }
        })),
    ),
    TurnDiesWithClient(
        "turn-dies-with-client",
        "An agent stops in the middle of its turn when its chat has no subscribers any more.",
        Host(&ActsOnEvents(|host, event| {
            if matches!(event, HostEvent::Closed(_)) {
                let connections = &host.connections;
                host.runs.stop_unless(|chat| connections.has_subscribers(chat));
            }
        })),
    ),
    DurationTooLong(
        "duration-too-long",
        "The durations of turns are an hour too long.",
        Host(&AltersAction("chat/turnComplete", lengthen)),
        Host(&AltersAction("chat/turnCancelled", lengthen)),
        Host(&AltersAction("chat/error", lengthen)),
    ),
    TurnNeverEnds(
        "turn-never-ends",
        "A turn without remaining work stays active.",
        Host(&OmitsActions(&["chat/turnComplete"])),
    ),
    TwoTurnEnds(
        "two-turn-ends",
        "A turn ends twice.",
        Host(&ActsAfterApplying(Published, "chat/turnComplete", |host, uri, action| {
            host.emit(uri, action.clone(), None);
        })),
    ),
    ErrorPartInResponse(
        "error-part-in-response",
        "An error arrives as a response part before the turn ends.",
        Host(&AltersAction("chat/error", |host, uri, action| {
            let early = json!({
                "type": "chat/responsePart", "turnId": action["turnId"], "part": action["part"],
            });
            host.emit(uri, early, None);
            true
        })),
    ),
    ErrorCompletesTurn(
        "error-completes-turn",
        "A turn that fails ends as if it had completed.",
        Host(&AltersAction("chat/error", |_, _, action| {
            *action = json!({
                "type": "chat/turnComplete", "turnId": action["turnId"],
                "duration": action["duration"],
            });
            true
        })),
    ),
    QueueOvertakesTurn(
        "queue-overtakes-turn",
        "A queued message starts its turn immediately, although another turn is active.",
        Host(&LiftsRules(&["chat.queue.consume-after-turn"])),
    ),
    QueueWrongOrder(
        "queue-wrong-order",
        "The last queued message is consumed first.",
        Host(&LiftsRules(&["chat.queue.fifo"])),
    ),
    QueueNotConsumed(
        "queue-not-consumed",
        "Queued messages stay in the queue.",
        Host(&LiftsRules(&["chat.queue.idle-autostart"])),
    ),
    QueueDeliversTwice(
        "queue-delivers-twice",
        "A queued message is delivered twice.",
        Host(&AltersAction("chat/pendingMessageRemoved", |host, uri, action| {
            remember_queued(host, uri, action);
            true
        })),
    ),
    QueueDeliversRemoved(
        "queue-delivers-removed",
        "A queued message is delivered although a client removed it.",
        Host(&ActsBeforeApplying("chat/pendingMessageRemoved", |host, uri, action, _| {
            remember_queued(host, uri, action);
            true
        })),
    ),
    QueueLostWithTurn(
        "queue-lost-with-turn",
        "A cancelled or failed turn empties the queue.",
        Host(&ActsAfterApplying(Followed, "chat/turnCancelled", |host, uri, _| {
            empty_queue(host, uri);
        })),
        Host(&ActsAfterApplying(Published, "chat/error", |host, uri, _| empty_queue(host, uri))),
    ),
    SteeringNotConsumed(
        "steering-not-consumed",
        "A running agent never takes its steering message.",
        Host(&LiftsRules(&["chat.steering.consume"])),
    ),
];

/// Cancels the active turns that a client started.
fn cancel_turns_of(host: &mut RefHost, client: &str) {
    let started = |uri: &&String| {
        let turn = &host.state(uri)["activeTurn"]["id"];
        host.log.after(0).any(|envelope| {
            envelope.channel == **uri
                && envelope.action_type == "chat/turnStarted"
                && &envelope.params["action"]["turnId"] == turn
                && envelope.params["origin"]["clientId"] == client
        })
    };
    let chats: Vec<String> = host.runs.uris().filter(started).cloned().collect();
    for uri in chats {
        let turn = host.state(&uri)["activeTurn"]["id"].clone();
        host.runs.stop(&uri);
        host.publish(&uri, json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 1}));
    }
}

/// Adds an hour to the duration of a turn.
fn lengthen(_: &mut RefHost, _: &str, action: &mut Value) -> bool {
    if let Some(duration) = action["duration"].as_u64() {
        action["duration"] = json!(duration.saturating_add(3_600_000));
    }
    true
}

/// Stores the queued message that an action removes from the queue, so that a fault can deliver the message later.
fn remember_queued(host: &mut RefHost, uri: &str, action: &Value) {
    let queue = host.state(uri)["queuedMessages"].as_array().into_iter().flatten();
    let mut queue = queue.filter(|_| action["kind"] == "queued");
    let removed = queue.find(|message| message["id"] == action["id"]).cloned();
    if let Some(message) = removed {
        host.chats.keep_ghost(uri, message);
    }
}

/// Removes all queued messages.
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

/// A fault that gives all response parts of a turn the same id.
struct PartIdReused;

impl HostHooks for PartIdReused {
    fn acts(
        &self,
        _host: &mut RefHost,
        _uri: &str,
        action: &mut Value,
        _from: Option<&ActionOrigin>,
    ) -> bool {
        let id = json!(format!("part-of-{}", action["turnId"].as_str().unwrap_or("")));
        match action_type(action) {
            "chat/responsePart" if action["part"]["id"].is_string() => action["part"]["id"] = id,
            "chat/delta" | "chat/reasoning" => action["partId"] = id,
            _ => {}
        }
        true
    }
}

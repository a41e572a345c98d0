//! Injected faults in admission, client identity, subscriptions and restarts.
//!
//! Knows: connections, clients, rules by their requirements. Never knows: the checks that find a fault.

use super::FaultPart::Host;
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterRestart, ActsOnEvents, AnswersRequests, ChangesReplies, LiftsRules,
};
use crate::host::injected::HostEvent;
use crate::host::request::{CallReply, ErrorResponse, HostCall, unknown_channel};
use crate::host::sessions::FIRST_TITLE;
use crate::host::visitor::EndpointVisitor;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

fault_table![
    DoorOpen(
        "door-open",
        "Every connection is admitted, with any credentials.",
        Host(&LiftsRules(&[ADMISSION])),
    ),
    DoorLate(
        "door-late",
        "Every connection is admitted, but requests on a connection without valid credentials are rejected.",
        Host(&LiftsRules(&[ADMISSION])),
        Host(&AnswersRequests(&[], |host, call| {
            let stranger = !host.config.tokens.is_empty()
                && host.visitor(call.conn) == EndpointVisitor::Anybody;
            stranger.then(|| {
                Err(ErrorResponse::invalid_request(
                    "the credentials of this connection are not valid",
                ))
            })
        })),
    ),
    ServesBeforeInitialize(
        "serves-before-initialize",
        "Requests are served before the handshake.",
        Host(&LiftsRules(&["lifecycle.preinit.request-refused"])),
    ),
    BadParamsServed(
        "bad-params-served",
        "Requests are served with params of any shape.",
        Host(&LiftsRules(&["jsonrpc.invalid-params.type"])),
    ),
    ClientIdTaken(
        "client-id-taken",
        "A client can complete a handshake with another visitor's client id.",
        Host(&AnswersRequests(&["initialize"], |host, call| {
            let visitor = host.visitor(call.conn);
            host.clients.replace_visitor(call.text("clientId"), visitor);
            None
        })),
    ),
    ClientIdResumed(
        "client-id-resumed",
        "A client can `reconnect` with another visitor's client id.",
        Host(&AnswersRequests(&["reconnect"], resume_as_owner)),
    ),
    SettingsUnguarded(
        "settings-unguarded",
        "Every client may change the settings that only the owner may change.",
        Host(&LiftsRules(&["dispatch.root.config-privilege"])),
    ),
    GoneStayActive(
        "gone-stay-active",
        "A client that does not return stays active in its sessions.",
        Host(&LiftsRules(&["reconnect.active-client-grace-expired"])),
    ),
    // Faults in subscriptions.
    NewerActionsSent(
        "newer-actions-sent",
        "Actions that a connection's version does not know are sent to it.",
        Host(&LiftsRules(&["version.action-types-known"])),
    ),
    MergedTextLost(
        "merged-text-lost",
        "When text deltas are merged for one delivery, only the last one arrives.",
        Host(&LiftsRules(&["subscribe.delivery.same-reduced-state"])),
    ),
    OlderTurnsStay(
        "older-turns-stay",
        "Before an action on a turn outside of a client's window, the host does not load that turn.",
        Host(&LiftsRules(&["chat.fetchTurns.eager-load"])),
    ),
    SubscribeJoins(
        "subscribe-joins",
        "A subscribe makes the client active in the session, without an action.",
        Host(&AnswersRequests(&["subscribe"], |host, call| {
            join(host, call);
            None
        })),
    ),
    ActionBeforeSnapshot(
        "action-before-snapshot",
        "The response to `subscribe` follows an action that is not in its snapshot.",
        Host(&ChangesReplies(&["subscribe"], |host, request, reply| {
            let uri = request.call.channel();
            if reply.is_ok() && host.sessions.has(uri) {
                let title = host.state(uri)["title"].clone();
                host.publish(uri, json!({"type": "session/titleChanged", "title": title}));
            }
            reply
        })),
    ),
    ChatUnsubscribeRemoves(
        "chat-unsubscribe-removes",
        "A client that unsubscribes from a chat is no longer active in its session.",
        Host(&ActsOnEvents(|host, event| {
            if let HostEvent::Unsubscribed { client, uri } = event
                && let Some(session) = host.chats.session_of(uri).map(str::to_owned)
            {
                host.deactivate(&session, client);
            }
        })),
    ),
    // Faults that lose state at a reconnect or a restart.
    ReconnectForgets(
        "reconnect-forgets",
        "A reconnect makes the host forget every session.",
        Host(&AnswersRequests(&["reconnect"], |host, call| {
            if host.clients.has(call.text("clientId")) {
                host.forget_sessions();
            }
            None
        })),
    ),
    RestartKeepsTurns(
        "restart-keeps-turns",
        "After a restart earlier turns are still active, without an agent.",
        Host(&LiftsRules(&["disconnect.crash.turns-failed"])),
    ),
    RestartForgetsSequence(
        "restart-forgets-sequence",
        "After a restart the sessions are restored, but `serverSeq` begins at 0.",
        Host(&ActsAfterRestart(RefHost::begin_numbers_anew)),
    ),
    RestartLosesTitles(
        "restart-loses-titles",
        "After a restart sessions have their first titles, and each `reconnect` is answered with an empty replay.",
        Host(&ActsAfterRestart(|host| {
            host.memory.restarted = true;
            lose_titles(host);
        })),
        Host(&ChangesReplies(&["reconnect"], |host, _, reply| match host.memory.restarted {
            true => reply.map(|_| json!({"type": "replay", "actions": [], "missing": []})),
            false => reply,
        })),
    ),
    RestartResumesTurns(
        "restart-resumes-turns",
        "After a restart the last turn of each chat that was complete or cancelled is active again.",
        Host(&ActsAfterRestart(|host| host.change_states(resume_last_turn))),
    ),
    RestartRunsDeniedCalls(
        "restart-runs-denied-calls",
        "After a restart each call that was denied is shown as completed.",
        Host(&ActsAfterRestart(|host| host.change_states(complete_denied_calls))),
    ),
    RestartAsksAgain(
        "restart-asks-again",
        "After a restart each call that was denied waits for a decision again.",
        Host(&ActsAfterRestart(|host| host.change_states(ask_again))),
    ),
    RestartQueuesAgain(
        "restart-queues-again",
        "After a restart the message of the last complete turn of each chat is in the queue again.",
        Host(&ActsAfterRestart(|host| host.change_states(queue_last_message))),
    ),
    RestartLosesQueues(
        "restart-loses-queues",
        "After a restart the queues of all chats are empty.",
        Host(&ActsAfterRestart(|host| {
            host.change_states(|state| {
                if let Some(chat) = state.as_object_mut() {
                    chat.remove("queuedMessages");
                }
            });
        })),
    ),
    RestartLosesChats(
        "restart-loses-chats",
        "After a restart each session lists only its default chat.",
        Host(&ActsAfterRestart(|host| {
            host.change_states(|state| {
                let default = state["defaultChat"].clone();
                if let Some(chats) = state.get_mut("chats").and_then(Value::as_array_mut) {
                    chats.retain(|chat| chat["resource"] == default);
                }
            });
        })),
    ),
    RestartListsGhosts(
        "restart-lists-ghosts",
        "After a restart the sessions are listed, but a subscription to one of them fails.",
        Host(&ActsAfterRestart(|host| host.memory.restarted = true)),
        Host(&AnswersRequests(&["subscribe"], |host, call| {
            let uri = call.text("channel");
            let is_ghost = host.memory.restarted && host.sessions.has(uri);
            is_ghost.then(|| Err(unknown_channel(uri)))
        })),
    ),
    RestartBringsBackSessions(
        "restart-brings-back-sessions",
        "After a restart the sessions that clients have disposed of are listed again.",
        Host(&ActsAfterRestart(|host| host.memory.restarted = true)),
        Host(&AnswersRequests(&["disposeSession"], |host, call| {
            let summary = host.sessions.summary(call.text("channel")).cloned();
            host.memory.returning.extend(summary);
            None
        })),
        Host(&ChangesReplies(&["listSessions"], |host, _, reply| {
            let mut result = reply?;
            if let Some(items) = result["items"].as_array_mut().filter(|_| host.memory.restarted) {
                items.extend(host.memory.returning.iter().cloned());
            }
            Ok(result)
        })),
    ),
    RestartCutsResponses(
        "restart-cuts-responses",
        "After a restart each turn shows only the first part of its response.",
        Host(&ActsAfterRestart(|host| {
            host.change_states(|state| {
                for turn in state["turns"].as_array_mut().into_iter().flatten() {
                    if let Some(parts) = turn["responseParts"].as_array_mut() {
                        parts.truncate(1);
                    }
                }
            });
        })),
    ),
    RestartLosesOutput(
        "restart-loses-output",
        "After a restart terminals have no output.",
        Host(&ActsAfterRestart(|host| {
            host.change_states(|state| {
                if state["content"].is_array() {
                    state["content"] = json!([]);
                }
            });
        })),
    ),
];

/// The requirement that the host refuses connections without a valid token during the handshake.
const ADMISSION: &str = "transport.auth.during-handshake";

/// Serves a `reconnect` as if its client id belonged to the connection that sent it.
fn resume_as_owner(host: &mut RefHost, call: &HostCall) -> Option<CallReply> {
    let visitor = host.visitor(call.conn);
    let owner = host.clients.replace_visitor(call.text("clientId"), visitor)?;
    let reply = host.reconnect(call);
    host.clients.replace_visitor(call.text("clientId"), owner)?;
    Some(reply)
}

/// Adds a client to the active clients of the session that it subscribes to.
fn join(host: &mut RefHost, call: &HostCall) {
    let uri = call.channel();
    let client = host.connections.client(call.conn).map(str::to_owned);
    if !host.sessions.has(uri) {
        return;
    }
    let entry = json!({"clientId": client, "tools": []});
    let add = |state: &mut Value| match state.get_mut("activeClients").and_then(Value::as_array_mut)
    {
        Some(list) => list.push(entry.clone()),
        None => state["activeClient"] = entry.clone(),
    };
    host.views.change(uri, ChannelKind::Session, add);
    host.channels.change(uri, add);
}

/// Resets the title of every session to its first title, without sending an action.
fn lose_titles(host: &mut RefHost) {
    host.views.change_all(Some(ChannelKind::Session), lose_title);
    host.channels.change_all(Some(ChannelKind::Session), lose_title);
}

fn resume_last_turn(state: &mut Value) {
    let is_ended = |turn: &Value| matches!(turn["state"].as_str(), Some("complete" | "cancelled"));
    let turns = state.get_mut("turns").and_then(Value::as_array_mut);
    let last = turns.filter(|turns| turns.last().is_some_and(is_ended)).and_then(Vec::pop);
    let Some(mut turn) = last else { return };
    if let Some(turn) = turn.as_object_mut() {
        ["state", "duration", "error"].iter().for_each(|name| drop(turn.remove(name)));
    }
    state["activeTurn"] = turn;
    if state["status"].is_u64() {
        state["status"] = json!(ACTIVE);
    }
}

fn ask_again(state: &mut Value) {
    for call in denied_calls(state) {
        call["status"] = json!("pending-confirmation");
        if let Some(call) = call.as_object_mut() {
            ["reason", "reasonMessage"].iter().for_each(|name| drop(call.remove(name)));
        }
    }
}

fn queue_last_message(state: &mut Value) {
    let turns = state["turns"].as_array().into_iter().flatten();
    let last = turns.rev().find(|turn| turn["state"] == "complete").cloned();
    let Some(turn) = last else { return };
    // In older versions, the member of a turn is named `userMessage` instead of `message`.
    let name = if turn["message"].is_null() { "userMessage" } else { "message" };
    let message = json!({"id": "again", name: turn[name]});
    match state.get_mut("queuedMessages").and_then(Value::as_array_mut) {
        Some(queue) => queue.push(message),
        None => state["queuedMessages"] = json!([message]),
    }
}

/// The status of a chat with an active turn.
const ACTIVE: u64 = 8;

fn complete_denied_calls(state: &mut Value) {
    for call in denied_calls(state) {
        call["status"] = json!("completed");
        call["confirmed"] = json!("user-action");
        call["success"] = json!(true);
        call["pastTenseMessage"] = json!("Ran");
        if let Some(call) = call.as_object_mut() {
            call.remove("reason");
        }
    }
}

/// Returns the calls in a chat's finished turns that a client has denied.
fn denied_calls(state: &mut Value) -> impl Iterator<Item = &mut Value> {
    let turns = state.get_mut("turns").and_then(Value::as_array_mut).into_iter().flatten();
    let parts = turns.filter_map(|turn| turn.get_mut("responseParts")?.as_array_mut()).flatten();
    let calls = parts.filter_map(|part| part.get_mut("toolCall"));
    calls.filter(|call| call["status"] == "cancelled" && call["reason"] == "denied")
}

fn lose_title(state: &mut Value) {
    let place = if state.get("title").is_some() { Some(state) } else { state.get_mut("summary") };
    if let Some(place) = place {
        place["title"] = json!(FIRST_TITLE);
    }
}

//! Injected faults in the traffic between the host and its agent subprocess, which speaks ACP.
//!
//! Knows: the actions of a turn, open requests for permission. Never knows: the checks that find a fault.

use super::FaultPart::Host;
use super::attachments::messages_of_other_chats;
use crate::host::dispatched::ActionOrigin;
use crate::host::engine::RefHost;
use crate::host::generic::{ActsAfterApplying, AltersAction, ChangesContextForAgent, LiftsRules};
use crate::host::injected::ActionStage::{Accepted, Published};
use crate::host::injected::{ActionStage, HostHooks};
use crate::host::reading::{action_type, tool_call};
use crate::wire::json::{Value, json};

fault_table![
    DenialAllowedBelow(
        "denial-allowed-below",
        "The agent subprocess is told that a denied call is allowed.",
        Host(&ActsAfterApplying(Accepted, "chat/toolCallConfirmed", |host, uri, action| {
            let call = action["toolCallId"].as_str().unwrap_or("");
            if tool_call(host.state(uri), call)["status"] == "cancelled" {
                host.decide(uri, call, &Value::Null, true);
            }
        })),
    ),
    AllowedUnasked(
        "allowed-unasked",
        "The agent subprocess is told that a call is allowed while the user is still being asked.",
        Host(&ActsAfterApplying(Published, "chat/toolCallReady", |host, uri, action| {
            host.decide(uri, action["toolCallId"].as_str().unwrap_or(""), &Value::Null, true);
        })),
    ),
    CancelKept(
        "cancel-kept",
        "The agent subprocess does not receive the cancel of a turn.",
        Host(&ActsAfterApplying(Accepted, "chat/turnCancelled", |host, uri, _| {
            host.abandon_prompt(uri);
        })),
    ),
    ChunkLostBelow(
        "chunk-lost-below",
        "The third text chunk of the agent subprocess is dropped.",
        Host(&ThirdTextLost),
    ),
    ChunksSwapped(
        "chunks-swapped",
        "The third and the fourth text chunk of the agent subprocess are swapped.",
        Host(&ThirdTextLate),
    ),
    CallToldTwice(
        "call-told-twice",
        "Each tool call of the agent subprocess becomes two tool calls of the chat.",
        Host(&ActsAfterApplying(Published, "chat/toolCallReady", |host, uri, action| {
            let known = tool_call(host.state(uri), action["toolCallId"].as_str().unwrap_or(""));
            let start = json!({
                "type": "chat/toolCallStart", "turnId": action["turnId"],
                "toolName": known["toolName"], "displayName": known["displayName"],
            });
            let ready = json!({
                "type": "chat/toolCallReady", "turnId": action["turnId"], "confirmed": "not-needed",
                "invocationMessage": action["invocationMessage"], "toolInput": action["toolInput"],
            });
            if host.acp.is_some() {
                let call = host.fresh_id("call");
                for mut told in [start, ready] {
                    told["toolCallId"] = json!(call);
                    host.publish_from(uri, told, None);
                }
            }
        })),
    ),
    OutputLostBelow(
        "output-lost-below",
        "The results of the agent subprocess's tool calls have no content.",
        Host(&AltersAction("chat/toolCallComplete", |host, _, action| {
            if host.acp.is_some() {
                action["result"]["content"] = json!([]);
            }
            true
        })),
    ),
    RemovedTurnsPrompted(
        "removed-turns-prompted",
        "The session of the agent subprocess continues after a truncation of its chat.",
        Host(&LiftsRules(&["chat.truncate.agent-context"])),
    ),
    MessagesPromptedTwice(
        "messages-prompted-twice",
        "An agent receives each message twice.",
        Host(&ChangesContextForAgent(|host, uri, known| {
            known["again"] = host.state(uri)["activeTurn"]["message"]["text"].clone();
        })),
    ),
    OtherChatsPrompted(
        "other-chats-prompted",
        "The agent subprocess receives the messages of all chats.",
        Host(&ChangesContextForAgent(|host, uri, known| {
            known["others"] = messages_of_other_chats(host, uri);
        })),
    ),
];

/// Returns the key of a turn in [`FaultMemory`](super::memory::FaultMemory), which counts the chunks of text in the
/// turn and stores a delayed chunk under this key.
fn key(uri: &str, action: &Value) -> String {
    format!("{uri} {}", action["turnId"].as_str().unwrap_or(""))
}

fn is_text(action: &Value) -> bool {
    matches!(action_type(action), "chat/delta" | "chat/reasoning")
}

/// Returns whether an action is the third text in a turn of the agent subprocess.
fn is_third(host: &mut RefHost, uri: &str, action: &Value) -> bool {
    if host.acp.is_none() || !is_text(action) {
        return false;
    }
    let count = host.memory.texts.entry(key(uri, action)).or_insert(0);
    *count += 1;
    *count == 3
}

/// A fault that drops the third text of a turn.
struct ThirdTextLost;

impl HostHooks for ThirdTextLost {
    fn acts(
        &self,
        host: &mut RefHost,
        uri: &str,
        action: &mut Value,
        _from: Option<&ActionOrigin>,
    ) -> bool {
        !is_third(host, uri, action)
    }
}

/// A fault that sends the third text of a turn after the fourth text; without a fourth text, before the next
/// other action.
struct ThirdTextLate;

impl ThirdTextLate {
    fn let_go(host: &mut RefHost, uri: &str, action: &Value) {
        if let Some(held) = host.memory.held.remove(&key(uri, action)) {
            host.publish_from(uri, held, None);
        }
    }
}

impl HostHooks for ThirdTextLate {
    fn acts(
        &self,
        host: &mut RefHost,
        uri: &str,
        action: &mut Value,
        _from: Option<&ActionOrigin>,
    ) -> bool {
        if is_third(host, uri, action) {
            host.memory.held.insert(key(uri, action), action.clone());
            return false;
        }
        if !is_text(action) && action_type(action) != "chat/responsePart" {
            ThirdTextLate::let_go(host, uri, action);
        }
        true
    }

    fn acted(&self, host: &mut RefHost, uri: &str, action: &mut Value, _stage: ActionStage) {
        if is_text(action) {
            ThirdTextLate::let_go(host, uri, action);
        }
    }
}

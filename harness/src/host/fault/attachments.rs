//! Injected faults in the context that an agent receives with a message.
//!
//! Knows: the attachments of a message. Never knows: which check finds which fault.

use data_encoding::BASE64;

use super::FaultPart::Host;
use crate::agent::script::ScriptStep;
use crate::host::agent::HostAgentOp;
use crate::host::engine::RefHost;
use crate::host::generic::{ChangesAgentSteps, ChangesMessageForAgent};
use crate::wire::json::{Value, json};

fault_table![
    AttachmentsWithheld(
        "attachments-withheld",
        "An agent does not receive the attachments of a message.",
        Host(&ChangesMessageForAgent(|_, message| message["attachments"] = json!([]))),
    ),
    AttachmentsWhole(
        "attachments-whole",
        "An attached chat is given to the agent as a whole, although the attachment names a last turn.",
        Host(&ChangesMessageForAgent(|_, message| {
            let attachments = attachments_of(message).into_iter().flatten();
            for members in attachments.filter_map(Value::as_object_mut) {
                members.remove("endTurn");
            }
        })),
    ),
    AttachmentsUnpinned(
        "attachments-unpinned",
        "An attached chat is read when the agent uses it, not when the turn starts.",
        Host(&ChangesAgentSteps(|host, step, op| {
            if let HostAgentOp::Step(ScriptStep::Recall(_)) = op {
                let given = host.given(step.uri, &host.state(step.uri)["activeTurn"]["message"]);
                if let Some(run) = host.runs.get_mut(step.uri) {
                    run.given = given;
                }
            }
            true
        })),
    ),
    AttachmentsFollowed(
        "attachments-followed",
        "The agent also receives the attachments of messages in an attached chat.",
        Host(&ChangesMessageForAgent(|host, message| {
            if let Some(attachments) = attachments_of(message) {
                attachments.extend(followed(host, attachments, MAX_DEPTH));
            }
        })),
    ),
    AttachmentsReachOut(
        "attachments-reach-out",
        "An agent receives any file that a message attaches, even one that clients may not read.",
        Host(&ChangesMessageForAgent(|host, message| {
            for attachment in attachments_of(message).into_iter().flatten() {
                let uri = attachment["uri"].as_str().filter(|_| attachment["type"] == "resource");
                let path = uri.and_then(|uri| host.place_of(uri).ok());
                if let Some(file) = path.and_then(|path| host.files.file(&path).ok()) {
                    let data = BASE64.encode(&file.bytes);
                    *attachment = json!({"type": "embeddedResource", "data": data});
                }
            }
        })),
    ),
];

/// The maximum depth to which attachments of attached chats are followed.
const MAX_DEPTH: u32 = 3;

fn attachments_of(message: &mut Value) -> Option<&mut Vec<Value>> {
    message.get_mut("attachments").and_then(Value::as_array_mut)
}

/// Returns the attachments of the messages in attached chats.
fn followed(host: &RefHost, attachments: &[Value], depth: u32) -> Vec<Value> {
    let chats = attachments.iter().filter(|it| it["type"] == "chat" && depth > 0);
    let chats = chats.filter_map(|it| it["resource"].as_str());
    let turns = chats.filter_map(|chat| host.state(chat)["turns"].as_array()).flatten();
    let attached = turns.filter_map(|turn| turn["message"]["attachments"].as_array());
    let mut all: Vec<Value> = attached.flatten().cloned().collect();
    if !all.is_empty() {
        all.extend(followed(host, &all, depth.saturating_sub(1)));
    }
    all
}

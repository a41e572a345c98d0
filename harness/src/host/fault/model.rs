//! Injected faults in the requests of the host's agent to a model.
//!
//! Knows: the form of chat completions. Never knows: the checks that find a fault.

use super::FaultPart::Host;
use super::attachments::messages_of_other_chats;
use crate::host::engine::RefHost;
use crate::host::generic::{ActsAfterApplying, ChangesModelRequests};
use crate::host::injected::ActionStage::Accepted;
use crate::wire::json::{Value, json};

fault_table![
    HistoryKeptFromModel(
        "history-kept-from-model",
        "The model receives the message of a turn without the earlier turns.",
        Host(&ChangesModelRequests(|_, _, body| {
            if let Some(messages) = body["messages"].as_array_mut() {
                let last = messages.pop();
                *messages = last.into_iter().collect();
            }
        })),
    ),
    MessagesAskedTwice(
        "messages-asked-twice",
        "The model receives the message of a turn twice.",
        Host(&ChangesModelRequests(|_, _, body| {
            if let Some(messages) = body["messages"].as_array_mut() {
                messages.extend(messages.last().cloned());
            }
        })),
    ),
    AnotherModelAsked(
        "another-model-asked",
        "The agent always asks the same model, regardless of the message's selection.",
        Host(&ChangesModelRequests(|_, _, body| body["model"] = json!("another"))),
    ),
    ModelOptionsIgnored(
        "model-options-ignored",
        "The agent asks its model without the options that the message selects.",
        Host(&ChangesModelRequests(|_, _, body| body["options"] = json!({}))),
    ),
    ToolsOfferedTwice(
        "tools-offered-twice",
        "The model is offered each tool twice.",
        Host(&ChangesModelRequests(|_, _, body| {
            if let Some(tools) = body["tools"].as_array_mut() {
                tools.extend(tools.clone());
            }
        })),
    ),
    RemovedTurnsAsked(
        "removed-turns-asked",
        "The model still receives the messages of turns that a truncation has removed.",
        Host(&ActsAfterApplying(Accepted, "chat/turnStarted", |host, uri, action| {
            let text = action["message"]["text"].as_str().unwrap_or_default();
            let texts = host.memory.asked.entry(uri.to_owned()).or_default();
            texts.push(text.to_owned());
        })),
        Host(&ChangesModelRequests(|host, uri, body| {
            let asked = host.memory.asked.get(uri).cloned().unwrap_or_default();
            let known: Vec<Value> = asked.into_iter().map(Value::from).collect();
            insert(body, &known);
        })),
    ),
    OtherChatsAsked(
        "other-chats-asked",
        "The model receives the messages of all chats.",
        Host(&ChangesModelRequests(|host: &RefHost, uri, body| {
            let others = messages_of_other_chats(host, uri);
            insert(body, others.as_array().map(Vec::as_slice).unwrap_or_default());
        })),
    ),
];

/// Inserts these messages at the beginning of a request to a model, except those that the request already contains.
fn insert(body: &mut Value, texts: &[Value]) {
    let Some(messages) = body["messages"].as_array_mut() else { return };
    let known = |text: &&Value| !messages.iter().any(|message| message["content"] == **text);
    let more: Vec<Value> = texts
        .iter()
        .filter(known)
        .map(|text| json!({"role": "user", "content": (text.clone())}))
        .collect();
    messages.splice(0..0, more);
}

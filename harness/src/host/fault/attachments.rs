//! Injected faults in the context that an agent receives with a message.
//!
//! Knows: the attachments of a message, the knowledge of an agent. Never knows: the checks that find a fault.

use data_encoding::BASE64;

use super::FaultPart::Host;
use crate::agent::script::ScriptStep;
use crate::host::agent::HostAgentOp;
use crate::host::dispatched::ActionOrigin;
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsBeforeApplying, ChangesAgentSteps, ChangesContextForAgent, ChangesDispatches,
    ChangesMessageForAgent,
};
use crate::host::injected::{HostHooks, MadeValue};
use crate::host::reading::action_type;
use crate::host::request::{CallReply, HostCall};
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
                host.runs.give(step.uri, given);
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
    RemovedTurnsKnown(
        "removed-turns-known",
        "The agent of a truncated chat still knows the removed turns.",
        Host(&ActsBeforeApplying("chat/truncated", |host, uri, _, _| {
            let turns = host.transcript(uri, None);
            let known = host.chats.context(uri).to_owned();
            host.chats.set_context(uri, known + &turns);
            true
        })),
    ),
    OtherChatsKnown(
        "other-chats-known",
        "An agent receives the messages of all chats.",
        Host(&ChangesContextForAgent(|host, uri, known| {
            known["others"] = messages_of_other_chats(host, uri);
        })),
    ),
    DisposedTurnsKnown(
        "disposed-turns-known",
        "The agent of a chat knows the turns of a disposed chat with the same URI.",
        Host(&DisposedTurnsKept),
    ),
    ModelsDropped(
        "models-dropped",
        "A message of a user loses the name of the model that it selects.",
        Host(&ChangesDispatches(|_, dispatched| {
            if let Some(message) = dispatched.action["message"].as_object_mut() {
                message.remove("model");
            }
            true
        })),
    ),
    EarlierTurnsUnknown(
        "earlier-turns-unknown",
        "An agent does not know the earlier turns of its chat.",
        Host(&WithheldContext("history")),
    ),
    AnswersUnknown(
        "answers-unknown",
        "An agent does not receive the answers to its questions.",
        Host(&WithheldContext("answers")),
    ),
    SynchronisedAnswersUnknown(
        "synchronised-answers-unknown",
        "An agent receives only the answers that a client sends with the completion.",
        Host(&SynchronisedAnswersLost),
    ),
    ResultsUnknown(
        "results-unknown",
        "An agent does not receive the results of its tools.",
        Host(&WithheldContext("results")),
    ),
    SteeringUnknown(
        "steering-unknown",
        "An agent does not receive the text of a steering message.",
        Host(&WithheldContext("steering")),
    ),
    ClientToolsUnknown(
        "client-tools-unknown",
        "An agent receives the names of client tools without their descriptions.",
        Host(&WithheldContext("tools")),
    ),
];

/// Returns the text of the user's message of every turn, in all chats except the chat `uri`.
pub(super) fn messages_of_other_chats(host: &RefHost, uri: &str) -> Value {
    let others = host.chats.uris().filter(|other| other.as_str() != uri);
    let turns = others.filter_map(|other| host.state(other)["turns"].as_array()).flatten();
    turns.map(|turn| turn["message"]["text"].clone()).collect()
}

/// A fault that withholds one source of an agent's knowledge (such as the attachments) from the agent.
struct WithheldContext(&'static str);

impl HostHooks for WithheldContext {
    fn makes(&self, _host: &RefHost, what: &MadeValue, known: &mut Value) {
        if matches!(what, MadeValue::ContextForAgent(_)) {
            known[self.0] = Value::Null;
        }
    }
}

/// A fault that gives agents the turns of chats that were disposed of.
struct DisposedTurnsKept;

impl HostHooks for DisposedTurnsKept {
    fn serves(&self, host: &mut RefHost, method: &str, call: &HostCall) -> Option<CallReply> {
        let uri = call.params["channel"].as_str().unwrap_or_default();
        if method == "disposeChat" && host.chats.has(uri) {
            let turns = host.transcript(uri, None);
            host.memory.disposed.insert(uri.to_owned(), turns);
        }
        None
    }

    fn makes(&self, host: &RefHost, what: &MadeValue, known: &mut Value) {
        if let MadeValue::ContextForAgent(uri) = what {
            known["disposed"] = json!(host.memory.disposed.get(*uri));
        }
    }
}

/// A fault that drops the answers that clients have synchronised with the host if the completion of the input request
/// contains no answers.
struct SynchronisedAnswersLost;

impl HostHooks for SynchronisedAnswersLost {
    fn acts(
        &self,
        host: &mut RefHost,
        _uri: &str,
        action: &mut Value,
        _from: Option<&ActionOrigin>,
    ) -> bool {
        if action_type(action) == "chat/inputCompleted" && !action["answers"].is_object() {
            let request = action["requestId"].as_str().unwrap_or_default();
            host.memory.unanswered.insert(request.to_owned());
        }
        true
    }

    fn makes(&self, host: &RefHost, what: &MadeValue, known: &mut Value) {
        let answers = match what {
            MadeValue::ContextForAgent(_) => known["answers"].as_array_mut(),
            _ => None,
        };
        if let Some(answers) = answers {
            let unanswered = &host.memory.unanswered;
            answers.retain(|one| !one["id"].as_str().is_some_and(|id| unanswered.contains(id)));
        }
    }
}

/// The maximum depth to which the attachments in attached chats are followed.
const MAX_DEPTH: u32 = 3;

fn attachments_of(message: &mut Value) -> Option<&mut Vec<Value>> {
    message.get_mut("attachments").and_then(Value::as_array_mut)
}

/// Returns the attachments of the messages in attached chats, and in the chats that are attached there.
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

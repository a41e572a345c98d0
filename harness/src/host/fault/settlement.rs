//! Faults in the messages that settle the actions of clients: echoes and origins.

use std::collections::HashMap;

use super::FaultPart::Message;
use super::parts::{ActionFault, EnvelopeFault, accepted, remove};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::transcript::ConnId;
use crate::wire::json::{Value, json};

fault_table![
    EchoTwice(
        "echo-twice",
        "The client that dispatched an accepted action receives the action twice.",
        Message(|| Box::new(RepeatedEcho)),
    ),
    EchoNever(
        "echo-never",
        "The client that dispatched an accepted action does not receive the action.",
        Message(|| Box::new(LostEcho)),
    ),
    EchoOutOfOrder(
        "echo-out-of-order",
        "An echo is delayed until the same client's next echo was sent.",
        Message(|| Box::<LateEcho>::default()),
    ),
    EchoWithoutOrigin(
        "echo-without-origin",
        "Accepted client actions are sent without an origin.",
        Message(|| {
            Box::new(EnvelopeFault(|_, envelope| {
                remove(envelope, "origin");
            }))
        }),
    ),
    ForgedOrigin(
        "forged-origin",
        "Accepted client actions name another client as their origin.",
        Message(|| {
            Box::new(EnvelopeFault(|_, envelope| {
                change_origin(envelope, "clientId", |_| json!("somebody-else"));
            }))
        }),
    ),
    ClientSeqRenumbered(
        "client-seq-renumbered",
        "The `clientSeq` in the origin of an action is one too high.",
        Message(|| {
            Box::new(EnvelopeFault(|_, envelope| {
                let next = |number: &Value| json!(number.as_i64().unwrap_or(0).saturating_add(1));
                change_origin(envelope, "clientSeq", next);
            }))
        }),
    ),
    NullOptional(
        "null-optional",
        "Actions of the host have a null origin.",
        Message(|| {
            Box::new(EnvelopeFault(|_, envelope| {
                if envelope.get("origin").is_none() {
                    envelope["origin"] = Value::Null;
                }
            }))
        }),
    ),
    EchoChangesPayload(
        "echo-changes-payload",
        "Echoed drafts have their text in capitals.",
        Message(|| Box::new(ActionFault("draftChanged", shout))),
    ),
];

fn change_origin(envelope: &mut Value, name: &str, change: impl Fn(&Value) -> Value) {
    if let Some(member) = envelope.get_mut("origin").and_then(|origin| origin.get_mut(name)) {
        *member = change(member);
    }
}

/// Converts the text of a draft to upper case, in the envelope that echoes a client's action.
fn shout(_: &MessageLink<'_>, envelope: &mut Value) {
    let draft =
        envelope.get("origin").is_some().then(|| envelope["action"]["draft"]["text"].as_str());
    if let Some(text) = draft.flatten().map(str::to_uppercase) {
        envelope["action"]["draft"]["text"] = json!(text);
    }
}

/// Returns whether a message echoes an action of the client that receives it.
fn is_echo(link: &MessageLink<'_>, message: &Value) -> bool {
    let client = link.own().and_then(|own| own.client.as_deref());
    let origin = accepted(message).and_then(|envelope| envelope["origin"]["clientId"].as_str());
    client.is_some() && origin == client
}

/// A fault that sends the echo of an accepted action twice to the client that dispatched it.
struct RepeatedEcho;

impl MessageRewriter for RepeatedEcho {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if is_echo(link, &message) {
            out.send(message.clone());
        }
        out.send(message);
    }
}

/// A fault that does not send the echo of an accepted action to the client that dispatched it.
struct LostEcho;

impl MessageRewriter for LostEcho {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if !is_echo(link, &message) {
            out.send(message);
        }
    }
}

/// A fault that delays an echo until the client has received the next echo.
#[derive(Default)]
struct LateEcho(HashMap<ConnId, Value>);

impl MessageRewriter for LateEcho {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if !is_echo(link, &message) {
            out.send(message);
        } else if let Some(held) = self.0.remove(&link.conn) {
            out.send(message);
            out.send(held);
        } else {
            self.0.insert(link.conn, message);
        }
    }
}

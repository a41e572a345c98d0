//! Rewriters that are each implemented by one function, and accessors for the parts of messages that they change.
//!
//! Knows: the shape of messages. Never knows: single faults.

use crate::edge::VersionEdge;
use crate::host::PROVIDER;
use crate::host::chain::{
    MessageLink, MessagePassage, MessageRewriter, RewriterOutput, each_envelope_list,
};
use crate::wire::channel::{OLD_ROOT, ROOT};
use crate::wire::json::Value;

/// Changes each envelope of an accepted action: in notifications and in the replays of `reconnect`.
pub(super) struct EnvelopeFault(pub(super) fn(&MessageLink<'_>, &mut Value));

impl MessageRewriter for EnvelopeFault {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        each_envelope(&mut message, &mut |envelope| (self.0)(link, envelope));
        out.send(message);
    }
}

/// Changes the action of each envelope whose type has this last part, such as `delta` of `chat/delta`.
pub(super) struct ActionFault(pub(super) &'static str, pub(super) fn(&MessageLink<'_>, &mut Value));

impl MessageRewriter for ActionFault {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        each_envelope(&mut message, &mut |envelope| {
            if action_name(envelope) == self.0 {
                (self.1)(link, envelope);
            }
        });
        out.send(message);
    }
}

/// Drops envelopes, both in notifications and in replays: those for which the function returns `true`.
pub(super) struct LostEnvelope(pub(super) fn(&Value) -> bool);

impl MessageRewriter for LostEnvelope {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if accepted(&message).is_some_and(self.0) {
            return;
        }
        each_envelope_list(&mut message, &mut |list| list.retain(|envelope| !(self.0)(envelope)));
        out.send(message);
    }
}

/// Changes each snapshot.
pub(super) struct SnapshotFault(pub(super) fn(&mut Value));

impl MessageRewriter for SnapshotFault {
    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        each_snapshot(&mut message, &mut |snapshot| (self.0)(snapshot));
        out.send(message);
    }
}

/// Changes the successful responses to the requests of one method; an empty method means all methods.
pub(super) struct ResultFault(pub(super) &'static str, pub(super) fn(&MessageLink<'_>, &mut Value));

impl MessageRewriter for ResultFault {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if link.answers == Some(self.0)
            && let Some(result) = message.get_mut("result")
        {
            (self.1)(link, result);
        }
        out.send(message);
    }
}

/// Changes every message of the host.
pub(super) struct MessageChange(pub(super) fn(&MessageLink<'_>, &mut Value));

impl MessageRewriter for MessageChange {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        (self.0)(link, &mut message);
        out.send(message);
    }
}

/// Changes the params of the requests of clients by the requests' method.
pub(super) struct RequestChange(
    pub(super) &'static str,
    pub(super) fn(&MessageLink<'_>, &mut Value),
);

impl MessageRewriter for RequestChange {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        if message["method"] == self.0
            && let Some(params) = message.get_mut("params")
        {
            (self.1)(link, params);
        }
        None
    }
}

/// Drops messages of clients: those for which the function returns `true`.
pub(super) struct LostRequest(pub(super) fn(&MessageLink<'_>, &Value) -> bool);

impl MessageRewriter for LostRequest {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        if (self.0)(link, message) { MessagePassage::Stopped } else { MessagePassage::Onward }
    }
}

/// Passes each message of a client to a function, which decides whether the host receives the message, and may send
/// other messages.
pub(super) struct TakenMessage(
    pub(super) fn(&MessageLink<'_>, &Value, &mut RewriterOutput) -> MessagePassage,
);

impl MessageRewriter for TakenMessage {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        out: &mut RewriterOutput,
    ) -> MessagePassage {
        (self.0)(link, message, out)
    }
}

/// Returns the envelope in a notification that contains an accepted action; `None` for other messages.
pub(super) fn accepted(message: &Value) -> Option<&Value> {
    let envelope = message.get("params").filter(|_| message["method"] == "action")?;
    envelope.get("rejectionReason").is_none().then_some(envelope)
}

/// Calls `visit` for each envelope with an accepted action in a message.
pub(super) fn each_envelope(message: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    if accepted(message).is_some() {
        message.get_mut("params").into_iter().for_each(&mut *visit);
    }
    each_envelope_list(message, &mut |list| list.iter_mut().for_each(&mut *visit));
}

/// Calls `visit` for each snapshot of a message.
pub(super) fn each_snapshot(message: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    let Some(result) = message.get_mut("result") else {
        return;
    };
    if let Some(snapshot) = result.get_mut("snapshot") {
        visit(snapshot);
    }
    let list = result.get_mut("snapshots").and_then(Value::as_array_mut);
    list.into_iter().flatten().for_each(visit);
}

/// Returns the last part of the type of an envelope's action; this part is the same in every version.
pub(super) fn action_name(envelope: &Value) -> &str {
    let kind = envelope["action"]["type"].as_str().unwrap_or("");
    kind.rsplit('/').next().unwrap_or("")
}

/// Returns the `serverSeq` of an envelope; 0 if the envelope has no number.
pub(super) fn number_of(envelope: &Value) -> u64 {
    envelope["serverSeq"].as_u64().unwrap_or(0)
}

/// Returns the channel of an envelope. Before 0.2.0 the action names the channel.
pub(super) fn channel_of(envelope: &Value) -> &str {
    let action = &envelope["action"];
    let named = [&envelope["channel"], &action["session"], &action["terminal"]];
    named.into_iter().find_map(Value::as_str).unwrap_or(OLD_ROOT)
}

/// Returns whether a channel is the root channel.
pub(super) fn is_root(channel: &str) -> bool {
    channel == ROOT || channel == OLD_ROOT
}

/// Translates a channel's URI to the newest version.
pub(super) fn newest_uri(link: &MessageLink<'_>, uri: &str) -> String {
    VersionEdge::new(link.protocol.version(), PROVIDER).lift_uri(uri)
}

/// Returns whether a message is a notification for the subscribers of the root channel, other than the notification
/// `action`.
pub(super) fn is_root_news(message: &Value) -> bool {
    let method = message["method"].as_str().unwrap_or("");
    message.get("id").is_none() && (method.starts_with("root/") || method == "notification")
}

/// Removes a member of an object.
pub(super) fn remove(value: &mut Value, name: &str) -> Option<Value> {
    value.as_object_mut().and_then(|members| members.remove(name))
}

/// Returns an error response to a request.
pub(super) fn error(request: &Value, code: i64, message: &str) -> Value {
    let error = crate::wire::json::json!({"code": code, "message": message});
    crate::wire::json::json!({"jsonrpc": "2.0", "id": request["id"], "error": error})
}

//! Faults in the members of actions.

use super::FaultPart::Message;
use super::parts::{ActionFault, each_envelope, each_snapshot, is_root_news, remove};
use crate::edge::VersionEdge;
use crate::host::PROVIDER;
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};

fault_table![
    OutputOnOldTurn(
        "output-on-old-turn",
        "Text deltas name a turn that is not active.",
        Message(|| {
            Box::new(ActionFault("delta", |_, envelope| {
                envelope["action"]["turnId"] = json!("the-turn-before");
            }))
        }),
    ),
    ShapeWrongType(
        "shape-wrong-type",
        "The `turnId` of text deltas is a number.",
        Message(|| {
            Box::new(ActionFault("delta", |_, envelope| envelope["action"]["turnId"] = json!(7)))
        }),
    ),
    ShapeMissingRequired(
        "shape-missing-required",
        "`chat/turnComplete` lacks its duration, or its turn id in versions without durations.",
        Message(|| {
            Box::new(ActionFault("turnComplete", |link, envelope| {
                let timed = link.protocol.has(ProtocolFeature::TurnTimes);
                remove(&mut envelope["action"], if timed { "duration" } else { "turnId" });
            }))
        }),
    ),
    ReadyChangesOwner(
        "ready-changes-owner",
        "A tool call that becomes ready belongs to an unknown client.",
        Message(|| {
            Box::new(ActionFault("toolCallReady", |_, envelope| {
                let owner = json!({"kind": "client", "clientId": "somebody-else"});
                envelope["action"]["contributor"] = owner;
            }))
        }),
    ),
    OptionsShareId(
        "options-share-id",
        "All options of a tool call have the same id.",
        Message(|| {
            Box::new(ActionFault("toolCallReady", |_, envelope| {
                let options = envelope.pointer_mut("/action/options").and_then(Value::as_array_mut);
                options.into_iter().flatten().for_each(|option| option["id"] = json!("option"));
            }))
        }),
    ),
    ActivitiesMixed(
        "activities-mixed",
        "The status of chats in the catalog, and of sessions in notifications, has both Idle and Error.",
        Message(|| Box::new(ActivitiesMixed)),
    ),
    MetaDropped(
        "meta-dropped",
        "Every `_meta` is removed from messages.",
        Message(|| Box::new(MetaDropped)),
    ),
    PagesReversed(
        "pages-reversed",
        "Older turns are loaded newest first.",
        Message(|| {
            Box::new(ActionFault("turnsLoaded", |_, envelope| {
                let turns = envelope.pointer_mut("/action/turns").and_then(Value::as_array_mut);
                if let Some(turns) = turns {
                    turns.reverse();
                }
            }))
        }),
    ),
];

/// A fault that sets the bits of several activities in a chat's status; in older versions, also in a session's status.
struct ActivitiesMixed;

impl MessageRewriter for ActivitiesMixed {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        let mix = |status: &mut Value| {
            if let Some(number) = status.as_u64() {
                *status = json!(number | 3);
            }
        };
        each_envelope(&mut message, &mut |envelope| {
            if envelope["action"]["type"] == "session/chatUpdated" {
                envelope.pointer_mut("/action/changes/status").into_iter().for_each(mix);
            }
        });
        let old = !VersionEdge::new(link.protocol.version(), PROVIDER).is_plain();
        if old && is_root_news(&message) {
            for path in ["/params/changes/status", "/params/notification/changes/status"] {
                message.pointer_mut(path).into_iter().for_each(mix);
            }
        }
        out.send(message);
    }
}

/// A fault that removes `_meta` from every message.
struct MetaDropped;

impl MessageRewriter for MetaDropped {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        if message["method"] == "dispatchAction" {
            message.pointer_mut("/params/action").into_iter().for_each(drop_meta);
        }
        None
    }

    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        each_envelope(&mut message, &mut |envelope| drop_meta(&mut envelope["action"]));
        each_snapshot(&mut message, &mut |snapshot| drop_meta(&mut snapshot["state"]));
        out.send(message);
    }
}

/// Removes `_meta` from all objects in a value.
fn drop_meta(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_meta),
        Value::Object(members) => {
            members.remove("_meta");
            members.values_mut().for_each(drop_meta);
        }
        _ => {}
    }
}

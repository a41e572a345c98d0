//! Reads one action envelope. A malformed envelope is read as far as possible.
//!
//! Knows: JSON. Never knows: the validity of members.

use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

use super::channel::canonical;
use crate::wire::channel::ROOT;

/// An `ActionEnvelope`: the params of `action`, or an entry of a replay.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActionEnvelope<'a> {
    /// The URI of the channel.
    pub channel: &'a str,
    /// The action, an object.
    pub action: &'a Value,
    /// The `type` of the action.
    pub action_type: &'a str,
    /// The part of the type after the slash. This part stayed the same when version 0.4.0 moved actions from sessions
    /// to chats.
    pub name: &'a str,
    /// The `serverSeq` of the action.
    pub seq: u64,
    /// The client and the `clientSeq` of the dispatch that the action accepts or rejects.
    pub origin: Option<DispatchOrigin<'a>>,
    /// Whether the action rejects a dispatch.
    pub rejected: bool,
}

/// The dispatch that an action accepts or rejects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct DispatchOrigin<'a> {
    /// The id of the client that dispatched the action.
    pub client_id: &'a str,
    /// The `clientSeq` that the client chose for the dispatch.
    pub client_seq: i64,
}

impl<'a> ActionEnvelope<'a> {
    /// Reads an envelope. Returns `None` if a required member is absent or has a wrong type, which the shape
    /// check reports.
    #[inline]
    pub(super) fn read(value: &'a Value) -> Option<ActionEnvelope<'a>> {
        let action = value.get("action")?;
        let action_type = action.get("type")?.as_str()?;
        Some(ActionEnvelope {
            channel: channel_of(value, action)?,
            action,
            action_type,
            name: action_type.split_once('/').map_or("", |(_, name)| name),
            seq: value.get("serverSeq")?.as_u64()?,
            origin: value.get("origin").and_then(DispatchOrigin::read),
            rejected: value.get("rejectionReason").is_some_and(|reason| !reason.is_null()),
        })
    }
}

impl<'a> DispatchOrigin<'a> {
    #[inline]
    fn read(value: &'a Value) -> Option<DispatchOrigin<'a>> {
        Some(DispatchOrigin {
            client_id: value.get("clientId")?.as_str()?,
            client_seq: value.get("clientSeq")?.as_i64()?,
        })
    }
}

/// Returns whether a message of the host contains an action.
#[inline]
pub(super) fn is_action(message: &Message) -> bool {
    message.kind() == MessageKind::Notification && message.method() == Some("action")
}

/// Returns the channel of an envelope or of a dispatch. Before channels existed (0.1.0), this is the URI inside
/// the action.
#[inline]
pub(super) fn channel_of<'a>(params: &'a Value, action: &'a Value) -> Option<&'a str> {
    if let Some(channel) = params.get("channel") {
        return channel.as_str();
    }
    let inside = action.get("session").or_else(|| action.get("terminal"));
    match inside {
        Some(uri) => uri.as_str(),
        None => action.get("type")?.as_str()?.starts_with("root/").then_some(ROOT),
    }
}

/// Returns the channel that a request such as `subscribe` names. Version 0.1.0 calls the member `resource`.
pub(super) fn target(params: &Value) -> Option<&str> {
    let named = ["channel", "resource", "session", "terminal"];
    let named = named.iter().find_map(|name| params.get(*name))?.as_str();
    named.map(canonical)
}

//! One action on its way to the clients, as far as it can be read.
//!
//! Knows: JSON. Never knows: whether what it reads is valid.

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
    /// The type without the channel that it begins with: turns belonged to sessions once.
    pub name: &'a str,
    /// The `serverSeq`.
    pub seq: u64,
    /// The client and number of the dispatch that it answers.
    pub origin: Option<DispatchOrigin<'a>>,
    /// Whether it answers a dispatch with a refusal.
    pub rejected: bool,
}

/// Which dispatch an action answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct DispatchOrigin<'a> {
    /// The client's id.
    pub client_id: &'a str,
    /// The client's own number.
    pub client_seq: i64,
}

impl<'a> ActionEnvelope<'a> {
    /// Reads an envelope; `None` where a needed member is absent or of another type, which the
    /// shape check reports.
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

/// Whether a message of the host brings an action.
#[inline]
pub(super) fn is_action(message: &Message) -> bool {
    message.kind() == MessageKind::Notification && message.method() == Some("action")
}

/// The channel of an envelope or of a dispatch: its `channel`, or the URI inside of the action
/// before channels existed (0.1.0).
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

/// The channel that a `subscribe`, an `unsubscribe` or another request is about; `resource` in
/// 0.1.0.
pub(super) fn target(params: &Value) -> Option<&str> {
    let named = ["channel", "resource", "session", "terminal"];
    let named = named.iter().find_map(|name| params.get(*name))?.as_str();
    named.map(canonical)
}

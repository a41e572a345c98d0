//! The URIs of channels. Before 0.2.0, the root channel has another URI, the scheme of a session's URI is the provider,
//! and an action itself contains the URI of its channel.
//!
//! Knows: URIs. Never knows: the content of a channel.

use crate::wire::channel::{OLD_ROOT, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};

use super::VersionEdge;

/// The prefix of the URIs of sessions since 0.2.0.
const SESSION: &str = "ahp-session:/";
/// The names of the members that contain URIs of channels, or lists of such URIs.
const MEMBERS: &[&str] = &[
    "channel",
    "resource",
    "session",
    "terminal",
    "initialSubscriptions",
    "subscriptions",
    "missing",
];

/// Returns the member by which an action named its channel before 0.2.0; `None` if the action named no channel.
pub(super) fn member_of(action_type: &str) -> Option<&'static str> {
    match action_type.split_once('/')?.0 {
        "session" | "chat" => Some("session"),
        "terminal" => Some("terminal"),
        _ => None,
    }
}

/// Returns the channel of an action: `channel` or, before 0.2.0, a member of the action.
pub fn named_by<'a>(channel: Option<&'a str>, action: &'a Value) -> Option<&'a str> {
    if channel.is_some() {
        return channel;
    }
    let action_type = super::type_of(action);
    match member_of(action_type) {
        Some(member) => action.get(member)?.as_str(),
        None => action_type.starts_with("root/").then_some(OLD_ROOT),
    }
}

impl VersionEdge {
    /// Returns a channel's URI as the version on the wire spells it.
    pub fn lower_uri(&self, uri: &str) -> String {
        if self.protocol.has(ProtocolFeature::Channels) {
            return uri.to_owned();
        }
        match (uri, uri.strip_prefix(SESSION)) {
            (ROOT, _) => OLD_ROOT.to_owned(),
            (_, Some(rest)) => format!("{}:/{rest}", self.provider),
            _ => uri.to_owned(),
        }
    }

    /// Returns a channel's URI as the newest version spells it.
    pub fn lift_uri(&self, uri: &str) -> String {
        if self.protocol.has(ProtocolFeature::Channels) {
            return uri.to_owned();
        }
        if uri == OLD_ROOT {
            return ROOT.to_owned();
        }
        let rest = uri.strip_prefix(self.provider.as_str()).and_then(|it| it.strip_prefix(":/"));
        rest.map_or_else(|| uri.to_owned(), |rest| format!("{SESSION}{rest}"))
    }

    /// Returns the value with all its channel URIs in the spelling of the newest version.
    pub fn lift_uris(&self, mut value: Value) -> Value {
        self.spell(&mut value, false);
        value
    }

    /// Translates the spelling of all channel URIs in a value.
    pub(super) fn spell(&self, value: &mut Value, lower: bool) {
        if self.protocol.has(ProtocolFeature::Channels) {
            return;
        }
        let spell = |text: &str| match lower {
            true => self.lower_uri(text),
            false => self.lift_uri(text),
        };
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.spell(item, lower)),
            Value::Object(members) => {
                for (name, item) in members.iter_mut() {
                    let named = MEMBERS.contains(&name.as_str());
                    match item {
                        Value::String(text) if named => *item = json!(spell(text.as_str())),
                        Value::Array(items) if named => {
                            for item in items {
                                match item {
                                    Value::String(text) => *item = json!(spell(text.as_str())),
                                    item => self.spell(item, lower),
                                }
                            }
                        }
                        item if !super::OPAQUE.contains(&name.as_str()) => self.spell(item, lower),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

//! The edge: translation between the newest version and the version on a wire.
//!
//! Scenarios, clients and the reference host use the newest version. [`changes`] is a list of named
//! differences, each with the version that introduced it. A difference is a member or an action that another
//! version spells differently, places elsewhere or does not have. To *lower* a value undoes these changes one
//! after another, newest first; to *lift* a value applies them again. Members that a version only adds need no
//! row: [`Protocol::trim`] removes them by the protocol tables.
//!
//! Reduced and judged values are not translated. The oracle, the mirrors of clients and the states that the host sends
//! use the version on the wire, with its own tables and reducers. A wrong row in [`changes`] therefore leads to a
//! visible error.
//!
//! Before 0.4.0 a session has no chat channels: its URI is both that of the session and that of its chat.
//!
//! Knows: `wire`. Never knows: connections, states, scenarios.
//!
//! Start at [`VersionEdge`].

use std::sync::OnceLock;

use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Map, Text, Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;
use crate::wire::version::Version;

pub mod changes;
mod message;
mod reshape;
mod spelling;
mod uri;

pub use message::kind_of;
pub use uri::named_by;

use changes::{CHANGES, ChangeKind, MessagePlace, VersionChange};

/// Members whose values users define. No change applies inside these values.
const OPAQUE: &[&str] = &[
    "_meta",
    "config",
    "values",
    "schema",
    "structuredContent",
    "inputSchema",
    "outputSchema",
    "configSchema",
];

/// The information that a change needs in addition to the value that it converts.
#[derive(Clone, Copy, Debug)]
pub struct ChangeContext<'a> {
    /// The state of the channel, in the version on the wire; null if the state is unknown.
    pub state: &'a Value,
}

impl ChangeContext<'_> {
    /// A context without a state, for changes that need none.
    pub const NOTHING: ChangeContext<'static> = ChangeContext { state: &Value::Null };
}

/// The translation between the newest version and another version.
#[derive(Clone, Debug)]
pub struct VersionEdge {
    protocol: &'static Protocol,
    newest: &'static Protocol,
    changes: &'static [&'static VersionChange],
    /// The provider of the sessions, which is the scheme of a session's URI in versions without channels.
    provider: String,
}

/// A part of a message, named by its role in the newest version.
#[derive(Clone, Copy, Debug)]
enum MessagePart<'a> {
    Params(&'a str),
    Result(&'a str),
    Action,
    State(ChannelKind),
}

impl VersionEdge {
    /// Returns the translation for a version, or for the newest version if the requested version has no table.
    pub fn new(version: Version, provider: &str) -> VersionEdge {
        static CHAINS: OnceLock<Vec<(Version, Vec<&'static VersionChange>)>> = OnceLock::new();
        let newest = Protocol::newest();
        let protocol = Protocol::of(version).unwrap_or(newest);
        let chains = CHAINS.get_or_init(|| {
            let of = |version: Version| {
                CHANGES.iter().filter(|change| change.since > version).collect::<Vec<_>>()
            };
            crate::wire::version::PUBLISHED.iter().map(|version| (*version, of(*version))).collect()
        });
        let chain = chains.iter().find(|(version, _)| *version == protocol.version());
        let changes = chain.map(|(_, changes)| changes.as_slice()).unwrap_or_default();
        VersionEdge { protocol, newest, changes, provider: provider.to_owned() }
    }

    /// Returns the translation for the first request of a client that offers these versions. If the client offers only
    /// one version, it writes the request in the form of that version.
    pub fn offering(offers: &[Version], provider: &str) -> VersionEdge {
        match offers {
            [only] => VersionEdge::new(*only, provider),
            _ => VersionEdge::new(Version::NEWEST, provider),
        }
    }

    /// Returns the translation for another version of the same host.
    pub fn of(&self, version: Version) -> VersionEdge {
        match Protocol::of(version) {
            Some(protocol) if std::ptr::eq(protocol, self.protocol) => self.clone(),
            _ => VersionEdge::new(version, &self.provider),
        }
    }

    /// Returns the tables of the version on the wire.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// Returns whether no row of [`changes`] applies to the version. If so, the version on the wire differs from the
    /// newest version only by added members.
    pub fn is_plain(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns whether chats have their own channels in the version on the wire.
    pub fn has_chats(&self) -> bool {
        self.protocol.has(ProtocolFeature::Chats)
    }

    /// Translates an action to the version on the wire, with its channel; `None` if the version has no such
    /// action.
    pub fn lower_action(
        &self,
        channel: &str,
        action: &Value,
        beside: ChangeContext<'_>,
    ) -> Option<(String, Value)> {
        let mut lowered = action.clone();
        let inner = type_of(action).to_owned();
        self.lower(MessagePart::Action, &mut lowered, beside);
        let name = type_of(&lowered).to_owned();
        let extension = name.starts_with("x-");
        if self.protocol.action(&name).is_none() && !extension {
            return None;
        }
        self.protocol.trim(
            TrimType::Action(&name),
            self.newest,
            TrimType::Action(&inner),
            &mut lowered,
        );
        self.spell(&mut lowered, true);
        let channel = self.lower_uri(channel);
        if !self.protocol.has(ProtocolFeature::Channels)
            && let Some(members) = lowered.as_object_mut()
            && let Some(member) = uri::member_of(&name)
        {
            members.insert(member, json!(channel));
        }
        Some((channel, lowered))
    }

    /// Translates an action on the wire to the newest version, with its channel if the action names a channel.
    /// Drops members that the version on the wire does not have, even if a newer version has them.
    pub fn lift_action(
        &self,
        channel: Option<&str>,
        action: &Value,
        beside: ChangeContext<'_>,
    ) -> (Option<String>, Value) {
        let named = uri::named_by(channel, action).map(|uri| self.lift_uri(uri));
        let lifted = self.lifted_action(action, beside);
        let (own, newer) = (TrimType::Action(type_of(action)), TrimType::Action(type_of(&lifted)));
        let mut known = action.clone();
        self.protocol.trim(own, self.newest, newer, &mut known);
        let lifted = if known == *action { lifted } else { self.lifted_action(&known, beside) };
        (named, lifted)
    }

    fn lifted_action(&self, action: &Value, beside: ChangeContext<'_>) -> Value {
        let mut lifted = action.clone();
        if !self.protocol.has(ProtocolFeature::Channels)
            && let Some(members) = lifted.as_object_mut()
            && let Some(member) = uri::member_of(type_of(action))
        {
            members.remove(member);
        }
        self.spell(&mut lifted, false);
        self.lift(MessagePart::Action, &mut lifted, beside);
        lifted
    }

    /// Translates the state of a channel to the version on the wire; `None` if the version has no such channel.
    /// `beside` contains the members that older versions have in the state of a session, and that newer versions have
    /// only in the session's summary.
    pub fn lower_state(
        &self,
        kind: ChannelKind,
        state: &Value,
        beside: ChangeContext<'_>,
    ) -> Option<Value> {
        let known = self.protocol.has_type(kind.state_type());
        if !known {
            return None;
        }
        let mut lowered = state.clone();
        self.lower(MessagePart::State(kind), &mut lowered, beside);
        self.spell(&mut lowered, true);
        let of = TrimType::State(kind);
        self.protocol.trim(of, self.newest, of, &mut lowered);
        Some(lowered)
    }

    /// Translates the state of a channel on the wire to the newest version.
    pub fn lift_state(&self, kind: ChannelKind, state: &Value) -> Value {
        let mut lifted = state.clone();
        self.spell(&mut lifted, false);
        self.lift(MessagePart::State(kind), &mut lifted, ChangeContext::NOTHING);
        lifted
    }

    fn lower(&self, part: MessagePart<'_>, value: &mut Value, beside: ChangeContext<'_>) {
        for change in self.changes {
            let run = |members: &mut Map| match change.how {
                ChangeKind::Renamed { newer, older } => rename(members, newer, older),
                ChangeKind::Reshaped { lower, .. } => lower(members, beside),
            };
            touch(change, part, value, &run);
        }
    }

    fn lift(&self, part: MessagePart<'_>, value: &mut Value, beside: ChangeContext<'_>) {
        for change in self.changes.iter().rev() {
            let run = |members: &mut Map| match change.how {
                ChangeKind::Renamed { newer, older } => rename(members, older, newer),
                ChangeKind::Reshaped { lift, .. } => lift(members, beside),
            };
            touch(change, part, value, &run);
        }
    }
}

/// Applies a change to a part of a message, if the change affects this kind of part.
fn touch(change: &VersionChange, part: MessagePart<'_>, value: &mut Value, run: &dyn Fn(&mut Map)) {
    for at in change.at {
        let here = match (at, part) {
            (MessagePlace::Everywhere, _) => {
                deep(value, run);
                continue;
            }
            (MessagePlace::Actions, MessagePart::Action) => true,
            (MessagePlace::Action(name), MessagePart::Action) => type_of(value) == *name,
            (MessagePlace::Params(name), MessagePart::Params(method)) => *name == method,
            (MessagePlace::Result(name), MessagePart::Result(method)) => *name == method,
            (MessagePlace::State(kind), MessagePart::State(of)) => *kind == of,
            _ => false,
        };
        if here && let Some(members) = value.as_object_mut() {
            run(members);
        }
    }
}

/// Runs a change on every object in a value, inner objects first.
fn deep(value: &mut Value, run: &dyn Fn(&mut Map)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| deep(item, run)),
        Value::Object(members) => {
            for (name, item) in members.iter_mut() {
                if !OPAQUE.contains(&name.as_str()) {
                    deep(item, run);
                }
            }
            run(members);
        }
        _ => {}
    }
}

/// Renames a member. The position of the member among the other members may change, because the order of members has no
/// meaning.
fn rename(members: &mut Map, from: &str, to: &str) {
    if let Some(value) = members.remove(from) {
        members.insert(Text::from(to), value);
    }
}

/// Returns the type of an action; an empty string if the action has no type.
fn type_of(action: &Value) -> &str {
    action.get("type").and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests;

//! The edge between the words that the harness uses and those of the version on a wire.
//!
//! Scenarios, clients and the reference host speak the newest version. What another version calls
//! by another name, keeps elsewhere or does not have is told by [`changes`], a list of named
//! differences, each with the version that made it: to *lower* a value is to take them back one
//! after another, newest first, to *lift* it is to make them again. Members that came later need no
//! row: the protocol tables know them, and [`Protocol::trim`] takes them out.
//!
//! What is folded and judged is not translated: the oracle, the mirrors of clients and the states
//! that the host gives out are of the version on the wire, by its own tables and reducers, so that a
//! wrong row here shows.
//!
//! Before 0.4.0 the turns of a session are on its own channel: its URI stands for both.
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

use changes::{CHANGES, ChangeKind, MessagePlace, VersionChange};

/// Members whose values are people's own, and no words of the protocol.
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

/// What a change may look at besides the value.
#[derive(Clone, Copy, Debug)]
pub struct ChangeContext<'a> {
    /// The state of the channel, as it is on the wire; null where it is not known.
    pub state: &'a Value,
}

impl ChangeContext<'_> {
    /// Nothing.
    pub const NOTHING: ChangeContext<'static> = ChangeContext { state: &Value::Null };
}

/// The words of one version.
#[derive(Clone, Debug)]
pub struct VersionEdge {
    protocol: &'static Protocol,
    newest: &'static Protocol,
    changes: &'static [&'static VersionChange],
    /// The provider whose name sessions had for a scheme, before channels.
    provider: String,
}

/// A part of a message, by what it is for in the newest version.
#[derive(Clone, Copy, Debug)]
enum MessagePart<'a> {
    Params(&'a str),
    Result(&'a str),
    Action,
    State(ChannelKind),
}

impl VersionEdge {
    /// The edge of a version; where there is no table of it, of the newest one.
    pub fn new(version: Version, provider: &str) -> VersionEdge {
        static CHAINS: OnceLock<Vec<(Version, Vec<&'static VersionChange>)>> = OnceLock::new();
        let newest = newest();
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

    /// The edge of another version, for the same host.
    pub fn of(&self, version: Version) -> VersionEdge {
        match Protocol::of(version) {
            Some(protocol) if std::ptr::eq(protocol, self.protocol) => self.clone(),
            _ => VersionEdge::new(version, &self.provider),
        }
    }

    /// The tables of the version on the wire.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// Whether the wire has the words of the newest version, but for what came later.
    pub fn is_plain(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether turns have channels of their own.
    pub fn has_chats(&self) -> bool {
        self.protocol.has(ProtocolFeature::Chats)
    }

    /// An action in the words of the wire, and its channel; `None` where the version has none like
    /// it.
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

    /// An action of the wire in the newest words, and its channel, where it names one. A member that the version does not
    /// know means nothing there: where a newer one has its name for something, it goes.
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

    /// The state of a channel in the words of the wire; `None` where the version has no such channel.
    /// Beside it stands what only the summary of a session says, which was a part of its state once.
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

    /// The state of a channel of the wire in the newest words.
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

/// The version that the harness thinks in.
fn newest() -> &'static Protocol {
    static NEWEST: OnceLock<&'static Protocol> = OnceLock::new();
    NEWEST.get_or_init(|| {
        let empty = || &*Box::leak(Box::new(Protocol::default()));
        Protocol::of(Version::V1_0).unwrap_or_else(empty)
    })
}

/// Runs a change where it is about something of a part.
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

/// Every object of a value, the inner ones first.
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

/// Gives a member another name. Its place among the others is lost, which means nothing.
fn rename(members: &mut Map, from: &str, to: &str) {
    if let Some(value) = members.remove(from) {
        members.insert(Text::from(to), value);
    }
}

/// The type of an action; empty where it has none.
fn type_of(action: &Value) -> &str {
    action.get("type").and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests;

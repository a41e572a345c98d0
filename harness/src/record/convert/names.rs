//! Finds the values that were generated in a conversation, and gives them names in the scenario.
//!
//! If the host sends a string before a client uses it, the scenario gives the string a name at its first occurrence. If
//! a client sends a UUID first, the scenario generates a fresh identifier in its place. All other strings stay
//! unchanged.

use std::collections::{HashMap, HashSet};

use crate::transcript::{ClosingSide, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::wire::json::Value;
use crate::wire::message::DecodedFrame;

use crate::scenario::write::WrittenTree;

/// The maximum number of items of a list that a pattern describes. Later items of the list are not compared.
const MAX_PAST: usize = 20;
/// The members whose strings are identifiers, in addition to members that end with `Id`.
const NAMING: [&str; 7] =
    ["id", "channel", "session", "chat", "resource", "defaultChat", "terminal"];
/// For each scheme of a URI, the name that the scenario gives to URIs with this scheme.
const SCHEMES: [(&str, &str); 3] =
    [("ahp-session:", "session"), ("ahp-chat:", "chat"), ("ahp-terminal:", "terminal")];
/// The URI of the root channel, which is the same on every host.
const ROOT: &str = "ahp-root:";
/// The minimum length of a client's identifier that is replaced by its name inside other strings. Shorter identifiers
/// may occur in a string by chance.
const MIN_CLIENT: usize = 12;
/// The length of a UUID as a string.
const UUID: usize = 36;

/// The names of a conversation.
#[derive(Debug, Default)]
pub(super) struct ConversationNames {
    /// Strings from the host that clients use later.
    wanted: HashSet<String>,
    /// The UUIDs that clients have generated.
    minted: HashSet<String>,
    /// The names that steps of the scenario have given to strings and UUIDs.
    bound: HashMap<String, String>,
    /// The names of the clients in the scenario, by `clientId`.
    clients: HashMap<String, String>,
    taken: HashSet<String>,
}

impl ConversationNames {
    /// Collects the names of a conversation. `clients` maps the identifiers of clients to their names.
    pub(super) fn of(
        entries: &[TranscriptEntry],
        clients: HashMap<String, String>,
    ) -> ConversationNames {
        let mut names = ConversationNames { clients, ..ConversationNames::default() };
        let mut first: HashMap<String, ClosingSide> = HashMap::new();
        for entry in entries {
            let (side, seen) = match &entry.event {
                ConnectionEvent::Sent(seen) => (ClosingSide::Client, seen),
                ConnectionEvent::Received(seen) => (ClosingSide::Host, seen),
                _ => continue,
            };
            texts(seen, &mut |member, text| {
                if side == ClosingSide::Client {
                    if first.get(text) == Some(&ClosingSide::Host) && is_id(member, text) {
                        names.wanted.insert(text.to_owned());
                    }
                    for uuid in uuids(text) {
                        if !first.contains_key(uuid) {
                            names.minted.insert(uuid.to_owned());
                        }
                    }
                }
                for part in std::iter::once(text).chain(uuids(text)) {
                    if !first.contains_key(part) {
                        first.insert(part.to_owned(), side);
                    }
                }
            });
        }
        names
    }

    /// Converts a value that a client sends to a template.
    pub(super) fn template(&mut self, member: &str, value: &Value) -> WrittenTree {
        match value {
            Value::String(text) => WrittenTree::text(&self.filled(member, text)),
            Value::Array(items) => {
                WrittenTree::List(items.iter().map(|item| self.template(member, item)).collect())
            }
            Value::Object(map) => WrittenTree::Map(
                map.iter().map(|(key, value)| (escaped(key), self.template(key, value))).collect(),
            ),
            plain => WrittenTree::Value(plain.clone()),
        }
    }

    /// Converts a string that a client sends, with placeholders for the named values.
    pub(super) fn filled(&mut self, member: &str, text: &str) -> String {
        if let Some(client) = self.clients.get(text) {
            return format!("${{{client}.id}}");
        }
        if let Some(name) = self.bound.get(text) {
            return format!("${{{name}}}");
        }
        if member == "startedAt" && text.contains('T') {
            return "${now}".to_owned();
        }
        // The URIs that a client chooses often contain the client's identifier.
        let inside = |(id, _): &(&String, &String)| id.len() >= MIN_CLIENT && text.contains(*id);
        let inner = self.clients.iter().filter(inside).max_by_key(|(id, _)| id.len());
        if let Some((id, client)) = inner
            && let Some((before, after)) = text.split_once(id)
        {
            let client = client.clone();
            let (before, after) = (self.filled(member, before), self.filled(member, after));
            return format!("{before}${{{client}.id}}{after}");
        }
        let mut out = String::new();
        let mut rest = text;
        for uuid in uuids(text) {
            let Some((before, after)) = rest.split_once(uuid) else {
                continue;
            };
            out.push_str(&escaped(before));
            rest = after;
            match self.bound.get(uuid) {
                Some(name) => out.push_str(&format!("${{{name}}}")),
                None if self.minted.contains(uuid) => {
                    let name = self.name(member, text, uuid);
                    out.push_str(&format!("${{new {name}}}"));
                }
                None => out.push_str(uuid),
            }
        }
        out.push_str(&escaped(rest));
        out
    }

    /// Creates a pattern for a value from the host: the pattern matches the values that clients use later and,
    /// in the top `depth` levels, every identifier. Returns `None` if there is nothing to match.
    pub(super) fn pattern(
        &mut self,
        member: &str,
        value: &Value,
        depth: usize,
    ) -> Option<WrittenTree> {
        match value {
            Value::String(text) => self.seen(member, text, depth > 0),
            Value::Array(items) => {
                let depth = depth.saturating_sub(1);
                let found: Vec<_> = items
                    .iter()
                    .take(MAX_PAST)
                    .map(|item| self.pattern(member, item, depth))
                    .collect();
                let last = found.iter().rposition(Option::is_some)?;
                let past = || WrittenTree::text("$present");
                let items = found.into_iter().take(last + 1).map(|item| item.unwrap_or_else(past));
                Some(WrittenTree::map(vec![("$startsWith", WrittenTree::List(items.collect()))]))
            }
            Value::Object(map) => {
                let depth = depth.saturating_sub(1);
                let members: Vec<_> = map
                    .iter()
                    .filter_map(|(key, value)| {
                        Some((escaped(key), self.pattern(key, value, depth)?))
                    })
                    .collect();
                (!members.is_empty()).then_some(WrittenTree::Map(members))
            }
            _ => None,
        }
    }

    /// Creates a pattern for a string from the host. If the string already has a name, the pattern is this name.
    /// Otherwise, the pattern gives the string a name if a client uses the string later or, if `all` is `true`, if the
    /// string is an identifier.
    fn seen(&mut self, member: &str, text: &str, all: bool) -> Option<WrittenTree> {
        let known = self.bound.contains_key(text) || self.clients.contains_key(text);
        let minted = uuids(text).any(|uuid| self.bound.contains_key(uuid));
        if known || minted {
            return all.then(|| WrittenTree::text(&self.filled(member, text)));
        }
        let binds = self.wanted.contains(text) || all && is_id(member, text);
        binds.then(|| {
            let name = self.name(member, text, text);
            WrittenTree::text(&format!("$bind {name}"))
        })
    }

    /// Returns whether the message contains a string that a client uses later and that has no name yet.
    pub(super) fn is_wanted(&self, seen: &SeenFrame) -> bool {
        let mut found = false;
        texts(seen, &mut |_, text| {
            found |= self.wanted.contains(text) && !self.bound.contains_key(text);
        });
        found
    }

    /// Gives a string a name, derived from its URI scheme or its member.
    fn name(&mut self, member: &str, text: &str, part: &str) -> String {
        let scheme = SCHEMES.iter().find(|(scheme, _)| text.starts_with(scheme));
        let base = scheme.map_or(member.strip_suffix("Id").unwrap_or(member), |(_, name)| name);
        let base: String = base.chars().filter(char::is_ascii_alphanumeric).collect();
        let base = if base.is_empty() { "id".to_owned() } else { base };
        let numbered = (2..).map(|number| format!("{base}{number}"));
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        let name = candidates.find(|name| !self.taken.contains(name)).unwrap_or(base);
        self.taken.insert(name.clone());
        self.bound.insert(part.to_owned(), name.clone());
        name
    }
}

/// Calls `each` for every string of a message, with the name of its member.
fn texts(seen: &SeenFrame, each: &mut impl FnMut(&str, &str)) {
    fn walk(member: &str, value: &Value, each: &mut impl FnMut(&str, &str)) {
        match value {
            Value::String(text) => each(member, text),
            Value::Array(items) => items.iter().for_each(|item| walk(member, item, each)),
            Value::Object(map) => map.iter().for_each(|(key, value)| walk(key, value, each)),
            _ => {}
        }
    }
    if let DecodedFrame::Message(message) = &seen.decoded {
        walk("", message.value(), each);
    }
}

/// Returns whether a string is an identifier that differs from run to run.
fn is_id(member: &str, text: &str) -> bool {
    let naming = member.ends_with("Id") || member.ends_with("Ids") || NAMING.contains(&member);
    let uri = text.starts_with("ahp-") && text.contains(":/") && !text.starts_with(ROOT);
    uri || naming && !text.starts_with(ROOT) && text.contains(|c: char| c.is_ascii_digit())
}

/// Returns the UUIDs in a string.
fn uuids(text: &str) -> impl Iterator<Item = &str> {
    let is_uuid = |text: &str| {
        text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + UUID <= text.len() {
            match text.get(at..at + UUID).filter(|part| is_uuid(part)) {
                Some(found) => {
                    at += UUID;
                    return Some(found);
                }
                None => at += 1,
            }
        }
        None
    })
}

/// Escapes a string so that no part of it is a placeholder or an operator.
fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

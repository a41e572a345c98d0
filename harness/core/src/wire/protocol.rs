//! The valid methods, actions and types of each version of the protocol, as data.
//!
//! The tables are the JSON files under `protocol/`, one for each version. The tables are generated from the
//! specification's types and checked against recorded traffic. A table is parsed on its first use.
//!
//! Knows: the tables. Never knows: who sent a message, or earlier messages.
//!
//! Start at [`Protocol::of`]; the checks are in [`validate`](super::validate).

use std::sync::OnceLock;

use litemap::LiteMap;
use serde::Deserialize;

use super::channel::ChannelKind;
use super::feature::ProtocolFeature;
use super::shape::{TypeEntry, TypeId, VersionShapes};
use super::version::Version;

/// One version of the protocol.
#[derive(Debug)]
pub struct Protocol {
    version: Version,
    methods: Vec<ProtocolMethod>,
    method_index: foldhash::HashMap<String, usize>,
    actions: Vec<ActionRow>,
    action_index: foldhash::HashMap<String, usize>,
    pub(super) shapes: VersionShapes,
}

/// Whether a method expects a response.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum MethodKind {
    /// The method expects exactly one response.
    Request,
    /// The method expects no response.
    Notification,
}

/// The parties that may originate an action.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DispatchRight {
    /// Clients and the host may originate the action.
    Client,
    /// Only the host may originate the action; it rejects a client's dispatch.
    Host,
    /// The sources contradict each other, so neither acceptance nor rejection is an error.
    Disputed,
}

/// A method of the protocol.
#[derive(Clone, Debug)]
pub struct ProtocolMethod {
    /// The name on the wire.
    pub name: String,
    /// The kind of the method: request or notification.
    pub kind: MethodKind,
    /// Whether clients may send the method.
    pub from_client: bool,
    /// Whether hosts may send the method.
    pub from_host: bool,
    /// The type of the method's params, such as `SubscribeParams`; see [`Protocol::check_type`].
    pub params_type: String,
    /// The type of the method's result, such as `SubscribeResult`; `None` for notifications.
    pub result_type: Option<String>,
    pub(super) params: TypeId,
    pub(super) result: Option<TypeId>,
}

/// An action of the protocol.
#[derive(Clone, Debug)]
pub struct ActionRow {
    /// The `type` of the action on the wire.
    pub action_type: String,
    /// The kind of channel whose state the action changes.
    pub channel: ChannelKind,
    /// The parties that may dispatch the action.
    pub dispatch: DispatchRight,
    /// The reason why the row differs from the official types; `None` if the row does not differ.
    pub doc: Option<String>,
    pub(super) shape: TypeId,
}

struct TableSource {
    version: Version,
    text: &'static str,
    table: OnceLock<Protocol>,
}

const fn source(version: Version, text: &'static str) -> TableSource {
    TableSource { version, text, table: OnceLock::new() }
}

/// The versions that hosts and clients of the harness offer by default, newest first.
const KNOWN: &[Version] = &[Version::V1_0, Version::V0_9];
/// Every version that hosts and clients of the harness support, newest first.
const PLAYED: &[Version] = &[
    Version::V1_0,
    Version::V0_9,
    Version::V0_8,
    Version::V0_7,
    Version::V0_6,
    Version::V0_5_2,
    Version::V0_5_1,
    Version::V0_5,
    Version::V0_4,
    Version::V0_3,
    Version::V0_2,
    Version::V0_1,
    Version::V1,
];

/// The tables, newest first.
static SOURCES: [TableSource; 14] = [
    source(Version::V1_0, include_str!("../../../protocol/1.0.0.json")),
    source(Version::V0_9, include_str!("../../../protocol/0.9.0.json")),
    source(Version::V0_8, include_str!("../../../protocol/0.8.0.json")),
    source(Version::V0_7, include_str!("../../../protocol/0.7.0.json")),
    source(Version::V0_6, include_str!("../../../protocol/0.6.0.json")),
    source(Version::V0_5_2, include_str!("../../../protocol/0.5.2.json")),
    source(Version::V0_5_1, include_str!("../../../protocol/0.5.1.json")),
    source(Version::V0_5, include_str!("../../../protocol/0.5.0.json")),
    source(Version::V0_4, include_str!("../../../protocol/0.4.0.json")),
    source(Version::V0_3, include_str!("../../../protocol/0.3.0.json")),
    source(Version::V0_2, include_str!("../../../protocol/0.2.0.json")),
    source(Version::V0_1, include_str!("../../../protocol/0.1.0.json")),
    source(Version::V1, include_str!("../../../protocol/1.json")),
    source(Version::ACP_1, include_str!("../../../protocol/acp/1.json")),
];

impl Protocol {
    /// Returns the table of a version: the version's own table or, if there is none, the newest table whose
    /// caret range accepts the version (1.7.3 uses the table of 1.0.0). Returns `None` if no table fits.
    ///
    /// Source: versioning.md, caret ranges; minor versions only add to the wire.
    pub fn of(version: Version) -> Option<&'static Protocol> {
        let exact = SOURCES.iter().find(|source| source.version == version);
        let source =
            exact.or_else(|| SOURCES.iter().find(|source| source.version.accepts(version)))?;
        let load = || Protocol::load(source.version, source.text).unwrap_or_default();
        Some(source.table.get_or_init(load))
    }

    /// Returns the table of the Agent Client Protocol.
    pub fn acp() -> Option<&'static Protocol> {
        Protocol::of(Version::ACP_1)
    }

    /// Returns the table of a version that the harness supports, as [`Protocol::of`] does; `None` for other
    /// versions, even if they have a table.
    pub fn played(version: Version) -> Option<&'static Protocol> {
        let plays = |known: &Version| *known == version || known.accepts(version);
        let plays = version == Version::ACP_1 || PLAYED.iter().any(plays);
        plays.then(|| Protocol::of(version)).flatten()
    }

    /// Returns the versions that hosts and clients of the harness offer by default, newest first.
    pub fn known() -> &'static [Version] {
        KNOWN
    }

    /// Returns every version that hosts and clients of the harness support, newest first. Tables exist for
    /// every published version, see [`PUBLISHED`](super::version::PUBLISHED).
    pub fn all_played() -> &'static [Version] {
        PLAYED
    }

    /// Returns the version of the table, which may be older than the requested version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns whether this version has a feature.
    pub fn has(&self, feature: ProtocolFeature) -> bool {
        feature.is_in(self.version)
    }

    /// Returns the method with this name.
    #[inline]
    pub fn method(&self, name: &str) -> Option<&ProtocolMethod> {
        self.methods.get(*self.method_index.get(name)?)
    }

    /// Returns every method, sorted by name.
    pub fn methods(&self) -> impl Iterator<Item = &ProtocolMethod> {
        self.methods.iter()
    }

    /// Returns the action with this type, such as `chat/delta`.
    #[inline]
    pub fn action(&self, action_type: &str) -> Option<&ActionRow> {
        self.actions.get(*self.action_index.get(action_type)?)
    }

    /// Returns every action, sorted by type.
    pub fn actions(&self) -> impl Iterator<Item = &ActionRow> {
        self.actions.iter()
    }

    /// Returns the names of all methods and actions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let methods = self.methods.iter().map(|row| row.name.as_str());
        methods.chain(self.actions.iter().map(|row| row.action_type.as_str()))
    }

    fn load(version: Version, text: &str) -> Result<Protocol, serde_json::Error> {
        let table: TableFile = serde_json::from_str(text)?;
        let mut shapes = VersionShapes::of(&table.types);
        let methods: Vec<ProtocolMethod> =
            table.methods.into_iter().map(|(name, row)| row.method(name, &mut shapes)).collect();
        let mut actions = Vec::with_capacity(table.actions.len());
        for (action_type, entry) in &table.actions {
            // An action of an unknown channel is dropped here; a test counts the rows.
            let Some(channel) = ChannelKind::of_action(action_type) else {
                continue;
            };
            actions.push(ActionRow {
                action_type: action_type.clone(),
                channel,
                dispatch: dispatch(entry.dispatch.as_deref()),
                doc: entry.doc.clone(),
                shape: shapes.add_entry(entry),
            });
        }
        let method_index = index(methods.iter().map(|method| &method.name));
        let action_index = index(actions.iter().map(|row| &row.action_type));
        Ok(Protocol { version, methods, method_index, actions, action_index, shapes })
    }
}

/// Creates a table without rows, which reports no errors. This table replaces a table file that cannot be
/// parsed; tests parse all files.
impl Default for Protocol {
    fn default() -> Protocol {
        Protocol {
            version: Version::new(0, 0, 0),
            methods: Vec::new(),
            method_index: foldhash::HashMap::default(),
            actions: Vec::new(),
            action_index: foldhash::HashMap::default(),
            shapes: VersionShapes::default(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    #[serde(rename = "version")]
    _version: String,
    methods: LiteMap<String, MethodEntry>,
    actions: LiteMap<String, TypeEntry>,
    types: LiteMap<String, TypeEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodEntry {
    kind: MethodKind,
    from: String,
    params: String,
    #[serde(default)]
    result: Option<String>,
}

impl MethodEntry {
    #[inline]
    fn method(self, name: String, shapes: &mut VersionShapes) -> ProtocolMethod {
        ProtocolMethod {
            name,
            kind: self.kind,
            from_client: self.from != "host",
            from_host: self.from != "client",
            params: shapes.expression(&self.params),
            result: self.result.as_deref().map(|text| shapes.expression(text)),
            params_type: self.params,
            result_type: self.result,
        }
    }
}

fn dispatch(text: Option<&str>) -> DispatchRight {
    match text {
        Some("client") => DispatchRight::Client,
        Some("host") => DispatchRight::Host,
        _ => DispatchRight::Disputed,
    }
}

fn index<'a>(names: impl Iterator<Item = &'a String>) -> foldhash::HashMap<String, usize> {
    names.enumerate().map(|(place, name)| (name.clone(), place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::{PUBLISHED, ProtocolStandard};

    #[test]
    fn tables_are_sound() {
        for source in &SOURCES {
            let protocol = Protocol::load(source.version, source.text).unwrap();
            assert_eq!(protocol.shapes.unresolved(), Vec::<&str>::new());
            let table: TableFile = serde_json::from_str(source.text).unwrap();
            assert_eq!(table._version, source.version.to_string());
            assert_eq!(protocol.actions.len(), table.actions.len());
            for method in protocol.methods() {
                let request = method.kind == MethodKind::Request;
                assert_eq!(method.result.is_some(), request, "{}", method.name);
            }
        }
    }

    #[test]
    fn tables_are_complete() {
        let check = |version: Version, methods: usize, actions: usize| {
            let protocol = Protocol::of(version).unwrap();
            assert_eq!(protocol.methods().count(), methods, "{version}");
            assert_eq!(protocol.actions().count(), actions, "{version}");
        };
        check(Version::V1_0, 42, 106);
        check(Version::V0_9, 41, 96);
        check(Version::V0_8, 38, 86);
        check(Version::V0_7, 38, 85);
        check(Version::V0_6, 38, 81);
        check(Version::V0_5_2, 38, 79);
        check(Version::V0_5_1, 38, 76);
        check(Version::V0_5, 38, 73);
        check(Version::V0_4, 37, 73);
        check(Version::V0_3, 35, 63);
        check(Version::V0_2, 35, 61);
        check(Version::V0_1, 25, 53);
        check(Version::V1, 22, 52);
        check(Version::ACP_1, 25, 0);
    }

    #[test]
    fn every_published_version_has_a_table() {
        let ours = SOURCES.iter().map(|source| source.version);
        let mut tables: Vec<Version> =
            ours.filter(|version| version.standard == ProtocolStandard::Ahp).collect();
        tables.reverse();
        assert_eq!(tables, PUBLISHED);
        assert!(KNOWN.iter().all(|known| PUBLISHED.contains(known)));
    }

    #[test]
    fn finds_the_table_of_a_version() {
        let check = |asked: &str, expected: Option<&str>| {
            let found = Protocol::of(asked.parse().unwrap());
            let found = found.map(|protocol| protocol.version().to_string());
            assert_eq!(found.as_deref(), expected, "{asked}");
        };
        check("1.0.0", Some("1.0.0"));
        check("1.7.3", Some("1.0.0"));
        check("0.9.0", Some("0.9.0"));
        check("0.9.5", Some("0.9.0"));
        check("0.8.0", Some("0.8.0"));
        check("0.5.0", Some("0.5.0"));
        check("0.5.7", Some("0.5.2"));
        check("0.1.0", Some("0.1.0"));
        check("1", Some("1"));
        check("0.0.1", None);
        check("0.10.0", None);
        check("2.0.0", None);
        check("acp-1", Some("acp-1"));
    }

    #[test]
    fn plays_lines_of_versions() {
        let check = |asked: &str, expected: bool| {
            assert_eq!(Protocol::played(asked.parse().unwrap()).is_some(), expected, "{asked}");
        };
        check("1.7.3", true);
        check("0.9.5", true);
        check("0.8.0", true);
        check("0.8.7", true);
        check("0.0.1", false);
        check("2.0.0", false);
    }

    #[test]
    fn rows_say_who_may_send() {
        let protocol = Protocol::of(Version::new(1, 0, 0)).unwrap();
        let dispatch = |name: &str| protocol.action(name).unwrap().dispatch;
        assert_eq!(dispatch("chat/delta"), DispatchRight::Host);
        assert_eq!(dispatch("chat/turnStarted"), DispatchRight::Client);
        assert_eq!(dispatch("session/defaultChatChanged"), DispatchRight::Disputed);
        let read = protocol.method("resourceRead").unwrap();
        assert!(read.from_client && read.from_host);
        let subscribe = protocol.method("subscribe").unwrap();
        assert!(subscribe.from_client && !subscribe.from_host);
        assert_eq!(subscribe.result_type.as_deref(), Some("SubscribeResult"));
        assert!(protocol.has(ProtocolFeature::ExactNegotiation));
        assert!(protocol.method("noSuchMethod").is_none());
    }
}

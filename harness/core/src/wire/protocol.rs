//! The valid methods, actions and types of each version of the protocol, as data.
//!
//! The tables come from the JSON files under `protocol/`, one for each version. A file contains only the differences
//! from an older version; the build (`build.rs`) expands the files to complete tables. A table is parsed on its first
//! use.
//!
//! Knows: the tables. Never knows: who sent a message, or earlier messages.
//!
//! Start at [`Protocol::of`]; the checks are in [`validate`](super::validate).

use std::sync::OnceLock;

use super::built_in::built_in;
use super::channel::ChannelKind;
use super::feature::ProtocolFeature;
use super::shape::{TypeId, VersionShapes};
use super::table_file::{MethodEntry, MethodSender, TableFile};
use super::version::{PUBLISHED, Version};

pub use super::table_file::{DispatchRight, MethodKind};

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

/// A method of the protocol.
#[derive(Clone, Debug)]
pub struct ProtocolMethod {
    /// The name on the wire.
    pub name: String,
    /// Whether the method is a request or a notification.
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

/// The texts of the complete tables that the build has created, newest first; the table of ACP comes last.
static TABLES: [(Version, &str); PUBLISHED.len() + 1] =
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// The index of the newest table.
const NEWEST: usize = 0;

// Asserts that the table of versions in `version.rs` lists the same versions as the files.
const _: () = {
    let mut place = 0;
    while place < PUBLISHED.len() {
        let (table, version) = (TABLES[place].0, PUBLISHED[PUBLISHED.len() - 1 - place]);
        assert!(
            table.major == version.major
                && table.minor == version.minor
                && table.patch == version.patch,
            "each row of `versions!` needs a file `protocol/<version>.json`, and each such file a row"
        );
        place += 1;
    }
};

static LOADED: [OnceLock<Protocol>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];

impl Protocol {
    /// Returns the table of a version: the version's own table or, if there is none, the newest table whose
    /// caret range accepts the version (1.0.7 uses the table of 1.0.0). Returns `None` if no table fits: the
    /// harness does not support the version.
    ///
    /// Source: versioning.md, caret ranges; minor versions only make additions.
    pub fn of(version: Version) -> Option<&'static Protocol> {
        let exact = TABLES.iter().position(|(own, _)| *own == version);
        exact.or_else(|| TABLES.iter().position(|(own, _)| own.accepts(version))).map(Protocol::at)
    }

    /// Returns the table of the newest version of AHP.
    pub fn newest() -> &'static Protocol {
        Protocol::at(NEWEST)
    }

    /// Returns the tables of all versions of AHP, newest first.
    pub fn all() -> impl DoubleEndedIterator<Item = &'static Protocol> {
        (0..PUBLISHED.len()).map(Protocol::at)
    }

    /// Returns the table of the Agent Client Protocol.
    pub fn acp() -> &'static Protocol {
        Protocol::at(PUBLISHED.len())
    }

    /// Returns the text of a version's complete table, including everything that older versions also define.
    pub fn text_of(version: Version) -> Option<&'static str> {
        TABLES.iter().find(|(own, _)| *own == version).map(|(_, text)| *text)
    }

    fn at(place: usize) -> &'static Protocol {
        let (version, text) = TABLES[place];
        LOADED[place].get_or_init(|| {
            built_in(&format!("the protocol table of {version}"), Protocol::load(version, text))
        })
    }

    /// Returns the version of the table, which may be older than the requested version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns whether the protocol has a feature in this version.
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

    fn load(version: Version, text: &str) -> Result<Protocol, String> {
        let table: TableFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if table.version != version.to_string() {
            return Err(format!("it is the table of {}", table.version));
        }
        let mut shapes = VersionShapes::of(&table.types);
        let methods: Vec<ProtocolMethod> =
            table.methods.into_iter().map(|(name, row)| row.method(name, &mut shapes)).collect();
        let mut actions = Vec::with_capacity(table.actions.len());
        for (action_type, entry) in &table.actions {
            let channel = ChannelKind::of_action(action_type)
                .ok_or_else(|| format!("no channel has the action `{action_type}`"))?;
            let dispatch =
                entry.dispatch.ok_or_else(|| format!("`{action_type}` has no `dispatch`"))?;
            actions.push(ActionRow {
                action_type: action_type.clone(),
                channel,
                dispatch,
                doc: entry.doc.clone(),
                shape: shapes.add_entry(entry),
            });
        }
        let method_index = index(methods.iter().map(|method| &method.name));
        let action_index = index(actions.iter().map(|row| &row.action_type));
        Ok(Protocol { version, methods, method_index, actions, action_index, shapes })
    }
}

impl MethodEntry {
    #[inline]
    fn method(self, name: String, shapes: &mut VersionShapes) -> ProtocolMethod {
        ProtocolMethod {
            name,
            kind: self.kind,
            from_client: self.from != MethodSender::Host,
            from_host: self.from != MethodSender::Client,
            params: shapes.expression(&self.params),
            result: self.result.as_deref().map(|text| shapes.expression(text)),
            params_type: self.params,
            result_type: self.result,
        }
    }
}

fn index<'a>(names: impl Iterator<Item = &'a String>) -> foldhash::HashMap<String, usize> {
    names.enumerate().map(|(place, name)| (name.clone(), place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sound() {
        for (version, text) in &TABLES {
            let protocol = Protocol::load(*version, text).unwrap();
            assert_eq!(protocol.shapes.unresolved(), Vec::<&str>::new(), "{version}");
        }
    }

    /// Returns the FNV-1a hash of a text.
    fn hash(text: &str) -> u64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// For each table, the number of methods, the number of actions, and the hash of the table's text. A file contains
    /// only the differences from an older version, so a change in one file also changes the tables of newer versions.
    /// This list shows which tables changed.
    const PINS: &[(Version, usize, usize, u64)] = &[
        (Version::V1_0, 42, 106, 0x8728_72dd_a99f_c7c1),
        (Version::V0_9, 41, 96, 0xab2f_ea5b_7fed_adc1),
        (Version::V0_8, 38, 86, 0x8206_d8e6_4519_a805),
        (Version::V0_7, 38, 85, 0x4228_fa86_ed2d_d626),
        (Version::V0_6, 38, 81, 0x8b46_dbca_af70_b018),
        (Version::V0_5_2, 38, 79, 0xd088_82a3_0f38_d103),
        (Version::V0_5_1, 38, 76, 0x9236_e157_7dbe_fd7d),
        (Version::V0_5, 38, 73, 0xc49a_829c_ef69_2661),
        (Version::V0_4, 37, 73, 0x59cb_116a_bbe3_86c0),
        (Version::V0_3, 35, 63, 0x2d29_d38f_2c8d_fe9c),
        (Version::V0_2, 35, 61, 0x4684_2cd2_1dd1_bc07),
        (Version::V0_1, 25, 53, 0x718f_1eba_4efe_2bcd),
        (Version::V1, 22, 52, 0xcef2_8138_e8af_5962),
        (Version::ACP_1, 25, 0, 0x32e4_2160_3a99_c717),
    ];

    #[test]
    fn tables_are_the_pinned_ones() {
        let found = TABLES.map(|(version, text)| {
            let protocol = Protocol::of(version).unwrap();
            (version, protocol.methods().count(), protocol.actions().count(), hash(text))
        });
        let row = |(version, methods, actions, hash): &(Version, usize, usize, u64)| {
            format!("{version}: {methods} methods, {actions} actions, {hash:#018x}")
        };
        // After an intended change of a table, its row in `PINS` has to be updated.
        let other: Vec<String> =
            found.iter().filter(|table| !PINS.contains(table)).map(row).collect();
        assert!(other.is_empty(), "tables that are not pinned: {other:#?}");
        assert_eq!(found.len(), PINS.len());
    }

    #[test]
    fn finds_the_table_of_a_version() {
        let check = |asked: &str, expected: Option<&str>| {
            let found = Protocol::of(asked.parse().unwrap());
            let found = found.map(|protocol| protocol.version().to_string());
            assert_eq!(found.as_deref(), expected, "{asked}");
        };
        check("1.0.0", Some("1.0.0"));
        check("1.0.7", Some("1.0.0"));
        check("0.9.0", Some("0.9.0"));
        check("0.9.5", Some("0.9.0"));
        check("0.8.0", Some("0.8.0"));
        check("0.5.0", Some("0.5.0"));
        check("0.5.7", Some("0.5.2"));
        check("0.1.0", Some("0.1.0"));
        check("1", Some("1"));
        check("0.0.1", None);
        check("0.10.0", None);
        check("99.0.0", None);
        check("acp-1", Some("acp-1"));
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

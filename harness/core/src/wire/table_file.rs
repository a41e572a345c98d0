//! The format of a complete protocol table, which the build creates from a file below `protocol/` and its base.
//!
//! The build reads every table in this form, and the program reads the text that the build wrote. A table that
//! cannot be read therefore fails the build.
//!
//! Knows: the form of the tables. Never knows: the meaning of an entry.
//!
//! Start at [`TableFile`].

use litemap::LiteMap;
use serde::Deserialize;

/// The table of one version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFile {
    /// The version, as on the wire.
    pub(super) version: String,
    /// The methods by name.
    pub(super) methods: LiteMap<String, MethodEntry>,
    /// The actions by type.
    pub(super) actions: LiteMap<String, TypeEntry>,
    /// The types by name.
    pub(super) types: LiteMap<String, TypeEntry>,
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

/// The parties that may send a method.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum MethodSender {
    /// Only clients.
    Client,
    /// Only hosts.
    Host,
    /// Clients and hosts.
    Both,
}

/// The entry of a method.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MethodEntry {
    /// The kind of the method.
    pub(super) kind: MethodKind,
    /// The parties that may send the method.
    pub(super) from: MethodSender,
    /// The type expression of the params.
    pub(super) params: String,
    /// The type expression of the result; notifications have none.
    #[serde(default)]
    pub(super) result: Option<String>,
}

/// The parties that may originate an action.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum DispatchRight {
    /// Clients and the host may originate the action.
    Client,
    /// Only the host may originate the action; it rejects a client's dispatch.
    Host,
    /// The sources of the specification contradict each other about clients, so a host may accept or reject a client's
    /// dispatch.
    Disputed,
}

/// The entry of a type or of an action.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeEntry {
    /// The reason why the entry differs from the official types of the specification.
    #[serde(default)]
    pub(super) doc: Option<String>,
    /// The dispatch rule of an action; other types have no such rule.
    #[serde(default)]
    pub(super) dispatch: Option<DispatchRight>,
    /// The members of an object, each with its type expression.
    #[serde(default)]
    pub(super) fields: Option<LiteMap<String, String>>,
    /// The values of an enumeration.
    #[serde(default, rename = "enum")]
    pub(super) values: Option<Vec<String>>,
    /// The member that distinguishes the variants of a union.
    #[serde(default)]
    pub(super) tag: Option<String>,
    /// The variants of a union, by the value of the tag.
    #[serde(default)]
    pub(super) variants: LiteMap<String, UnionVariant>,
    /// The types of a value that is distinguished by its JSON type.
    #[serde(default)]
    pub(super) any: Option<Vec<String>>,
    /// Whether unknown values or variants are legal.
    #[serde(default)]
    pub(super) open: bool,
}

/// A variant of a union.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum UnionVariant {
    /// A type expression.
    Named(String),
    /// The members of an object.
    Inline(LiteMap<String, String>),
}

//! The protocol's types as read from a table, compiled: names are resolved once, to numbers.
//!
//! A type is written as in the tables: `string`, `ChatState`, `Turn[]` (a list), `{Turn}` (an
//! object with any keys), `'error'` (that text), `null|object` (one of these).
//!
//! Knows: the table format. Never knows: a message, or which version a table is for.
//!
//! Start at [`ValueShape`]; [`VersionShapes`] is the arena they live in.

use std::collections::HashMap;
use std::sync::OnceLock;

use litemap::LiteMap;
use serde::Deserialize;

use super::json::Value;

/// A type's place in [`VersionShapes`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct TypeId(u32);

/// What a value has to look like.
#[derive(Debug)]
pub(super) enum ValueShape {
    /// Anything, null included.
    Any,
    String,
    /// A string. What a URI looks like inside is not checked.
    Uri,
    Boolean,
    /// A number without a fraction. The specification's own types say `number`, the crates refuse
    /// fractions: a fraction is a soft error.
    Integer,
    /// A number without a fraction, not negative.
    Natural,
    Number,
    /// An object of unknown members.
    Object,
    Null,
    /// The state of a channel; which one follows from `resource` beside it.
    State,
    /// An action; which one follows from its `type`.
    Action,
    /// Exactly this text.
    Literal(String),
    List(TypeId),
    Map(TypeId),
    /// An object with these members, and others.
    Record(Vec<ObjectMember>),
    /// One of these texts, or any text when open.
    Enum {
        values: Vec<String>,
        open: bool,
    },
    /// Objects told apart by one member; the variant without a name is that of objects without it.
    Union(TaggedUnion),
    /// Values told apart by their JSON type.
    AnyOf(Vec<TypeId>),
    /// A name that no table explains. Nothing matches it, tests see to it that there is none.
    Unresolved,
}

/// Objects told apart by the member `tag`.
#[derive(Debug)]
pub(super) struct TaggedUnion {
    pub(super) tag: String,
    pub(super) variants: Vec<(String, TypeId)>,
    pub(super) open: bool,
    /// The tag is a JSON boolean, not a string.
    pub(super) boolean: bool,
}

impl TaggedUnion {
    /// The variant that a value belongs to.
    pub(super) fn variant_of(&self, value: &Value) -> Option<TypeId> {
        let tag = match value.get(self.tag.as_str()) {
            Some(Value::String(tag)) => tag.as_str(),
            Some(Value::Bool(true)) => "true",
            Some(Value::Bool(false)) => "false",
            Some(_) => return None,
            None => return self.untagged(),
        };
        self.variants.iter().find(|(name, _)| name == tag).map(|(_, id)| *id)
    }

    /// What an object without the tag is, where it may be without.
    pub(super) fn untagged(&self) -> Option<TypeId> {
        self.variants.iter().find(|(name, _)| name.is_empty()).map(|(_, variant)| *variant)
    }
}

/// Whether a member has to be there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MemberPresence {
    Required,
    /// The sources disagree about it: absence is a soft error.
    Expected,
    Optional,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct ObjectMember {
    pub(super) name: String,
    pub(super) presence: MemberPresence,
    pub(super) shape: TypeId,
}

/// A type as the table spells it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeEntry {
    /// Why it is not what the official types say.
    #[serde(default)]
    pub(super) doc: Option<String>,
    /// An action's dispatch rule; types have none.
    #[serde(default)]
    pub(super) dispatch: Option<String>,
    #[serde(default)]
    fields: Option<LiteMap<String, String>>,
    #[serde(default, rename = "enum")]
    values: Option<Vec<String>>,
    #[serde(default)]
    tag: Option<String>,
    #[serde(default)]
    variants: LiteMap<String, UnionVariant>,
    #[serde(default)]
    any: Option<Vec<String>>,
    #[serde(default)]
    open: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum UnionVariant {
    Named(String),
    Inline(LiteMap<String, String>),
}

/// Every type of one version.
#[derive(Debug, Default)]
pub(super) struct VersionShapes {
    arena: Vec<ValueShape>,
    names: HashMap<String, TypeId>,
    /// The names of types, made when they are first asked for.
    labels: OnceLock<HashMap<TypeId, String>>,
}

impl VersionShapes {
    /// Compiles the types of a table.
    pub(super) fn of(types: &LiteMap<String, TypeEntry>) -> VersionShapes {
        let mut shapes = VersionShapes::default();
        // Names first: types refer to each other in circles.
        for name in types.keys() {
            let id = shapes.add(ValueShape::Unresolved);
            shapes.names.insert(name.clone(), id);
        }
        for (name, entry) in types {
            let shape = shapes.compile(entry);
            let slot = shapes.names.get(name).and_then(|id| shapes.arena.get_mut(id.0 as usize));
            if let Some(slot) = slot {
                *slot = shape;
            }
        }
        shapes
    }

    /// A type by name.
    pub(super) fn named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// The types that the table itself names, not those that it only spells.
    pub(super) fn names_of_types(&self) -> HashMap<TypeId, String> {
        let plain = |name: &str| name.starts_with(|first: char| first.is_ascii_uppercase());
        let whole = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let names = self.names.iter().filter(|(name, _)| plain(name) && whole(name));
        names.map(|(name, id)| (*id, name.clone())).collect()
    }

    /// The name of a type; empty if the table does not name it.
    pub(super) fn label(&self, id: TypeId) -> &str {
        self.labels.get_or_init(|| self.names_of_types()).get(&id).map_or("", String::as_str)
    }

    /// The type of a number that these shapes gave out.
    #[inline]
    pub(super) fn get(&self, id: TypeId) -> &ValueShape {
        self.arena.get(id.0 as usize).unwrap_or(&ValueShape::Unresolved)
    }

    /// Whether the type is an object that needs no member.
    pub(super) fn may_be_empty(&self, id: TypeId) -> bool {
        let optional = |member: &ObjectMember| member.presence == MemberPresence::Optional;
        matches!(self.get(id), ValueShape::Record(members) if members.iter().all(optional))
    }

    /// Compiles an entry that has no name of its own, such as an action.
    pub(super) fn add_entry(&mut self, entry: &TypeEntry) -> TypeId {
        let shape = self.compile(entry);
        self.add(shape)
    }

    /// Compiles a type expression.
    pub(super) fn expression(&mut self, text: &str) -> TypeId {
        let text = text.trim();
        if let Some(id) = self.named(text) {
            return id;
        }
        let shape = if text.contains('|') && !text.starts_with('{') {
            ValueShape::AnyOf(text.split('|').map(|part| self.expression(part)).collect())
        } else if let Some(item) = text.strip_suffix("[]") {
            ValueShape::List(self.expression(item))
        } else if let Some(item) = between(text, '{', '}') {
            ValueShape::Map(self.expression(item))
        } else if let Some(literal) = between(text, '\'', '\'') {
            ValueShape::Literal(literal.to_owned())
        } else {
            builtin(text)
        };
        let id = self.add(shape);
        // Written once, compiled once: the expression is a name from here on.
        self.names.insert(text.to_owned(), id);
        id
    }

    /// A short description for messages: "expected ..".
    pub(super) fn describe(&self, id: TypeId) -> String {
        match self.get(id) {
            ValueShape::Any => "any value".into(),
            ValueShape::String | ValueShape::Uri => "a string".into(),
            ValueShape::Boolean => "a boolean".into(),
            ValueShape::Integer => "an integer".into(),
            ValueShape::Natural => "an integer of at least 0".into(),
            ValueShape::Number => "a number".into(),
            ValueShape::Object
            | ValueShape::Record(_)
            | ValueShape::Union(_)
            | ValueShape::Map(_) => "an object".into(),
            ValueShape::Null => "null".into(),
            ValueShape::State => "the state of a channel".into(),
            ValueShape::Action => "an action".into(),
            ValueShape::Literal(text) => format!("`{text}`"),
            ValueShape::List(_) => "an array".into(),
            ValueShape::Enum { values, .. } => one_of(values),
            ValueShape::AnyOf(ids) => {
                let parts: Vec<String> = ids.iter().map(|id| self.describe(*id)).collect();
                parts.join(" or ")
            }
            ValueShape::Unresolved => "a type the tables do not explain".into(),
        }
    }

    fn add(&mut self, shape: ValueShape) -> TypeId {
        // A table holds some thousand types; the cast cannot cut anything off.
        let id = TypeId(self.arena.len() as u32);
        self.arena.push(shape);
        id
    }

    fn compile(&mut self, entry: &TypeEntry) -> ValueShape {
        if let Some(tag) = &entry.tag {
            let names: Vec<&str> = entry.variants.keys().map(String::as_str).collect();
            return ValueShape::Union(TaggedUnion {
                tag: tag.clone(),
                open: entry.open,
                boolean: names == ["false", "true"],
                variants: self.variants(&entry.variants),
            });
        }
        if let Some(values) = &entry.values {
            return ValueShape::Enum { values: values.clone(), open: entry.open };
        }
        if let Some(any) = &entry.any {
            return ValueShape::AnyOf(any.iter().map(|text| self.expression(text)).collect());
        }
        match &entry.fields {
            Some(fields) => self.record(fields),
            None => ValueShape::Unresolved,
        }
    }

    fn variants(&mut self, variants: &LiteMap<String, UnionVariant>) -> Vec<(String, TypeId)> {
        let mut compiled = Vec::with_capacity(variants.len());
        for (name, variant) in variants {
            let id = match variant {
                UnionVariant::Named(text) => self.expression(text),
                UnionVariant::Inline(fields) => {
                    let record = self.record(fields);
                    self.add(record)
                }
            };
            compiled.push((name.clone(), id));
        }
        compiled
    }

    fn record(&mut self, fields: &LiteMap<String, String>) -> ValueShape {
        let mut members = Vec::with_capacity(fields.len());
        for (spelled, text) in fields {
            let (name, presence) = if let Some(name) = spelled.strip_suffix('?') {
                (name, MemberPresence::Optional)
            } else if let Some(name) = spelled.strip_suffix('~') {
                (name, MemberPresence::Expected)
            } else {
                (spelled.as_str(), MemberPresence::Required)
            };
            members.push(ObjectMember {
                name: name.to_owned(),
                presence,
                shape: self.expression(text),
            });
        }
        ValueShape::Record(members)
    }

    /// Every type, under its name or as it is spelled.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.names.iter().map(|(name, id)| (name.as_str(), *id))
    }

    /// The expressions that nothing explains. Empty for a sound table.
    #[cfg(test)]
    pub(super) fn unresolved(&self) -> Vec<&str> {
        let lost = |id: &TypeId| matches!(self.get(*id), ValueShape::Unresolved);
        let names = self.names.iter().filter(|(_, id)| lost(id));
        names.map(|(name, _)| name.as_str()).collect()
    }
}

/// "one of `a`, `b`".
pub(super) fn one_of<T: AsRef<str>>(values: &[T]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("`{}`", value.as_ref())).collect();
    match quoted.as_slice() {
        [single] => single.clone(),
        several => format!("one of {}", several.join(", ")),
    }
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

fn builtin(name: &str) -> ValueShape {
    match name {
        "any" => ValueShape::Any,
        "string" => ValueShape::String,
        "uri" => ValueShape::Uri,
        "boolean" => ValueShape::Boolean,
        "integer" => ValueShape::Integer,
        "natural" => ValueShape::Natural,
        "number" => ValueShape::Number,
        "object" => ValueShape::Object,
        "null" => ValueShape::Null,
        "state" => ValueShape::State,
        "action" => ValueShape::Action,
        _ => ValueShape::Unresolved,
    }
}

//! The protocol's types, compiled from a table: each name is resolved once, to an index.
//!
//! A type expression of the tables is `string`, `ChatState`, `Turn[]` (a list), `{Turn}` (an object with any keys),
//! `'error'` (this string), or `null|object` (one of these).
//!
//! Knows: the table format. Never knows: messages, the version of a table.
//!
//! Start at [`ValueShape`]; [`VersionShapes`] is the arena that contains the types.

use std::collections::HashMap;
use std::sync::OnceLock;

use litemap::LiteMap;

use super::json::Value;
use super::table_file::{TypeEntry, UnionVariant};

/// The index of a type in [`VersionShapes`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct TypeId(u32);

/// The shape that a value must have.
#[derive(Debug)]
pub(super) enum ValueShape {
    /// Any value, including null.
    Any,
    String,
    /// A string. The form of a URI is not checked.
    Uri,
    Boolean,
    /// A number without a fraction. The specification's own types say `number`, while the crates reject fractions: a
    /// fraction is only a warning.
    Integer,
    /// A number without a fraction that is not negative.
    Natural,
    Number,
    /// An object with any members.
    Object,
    Null,
    /// The state of a channel. The member `resource` of the object that contains the state determines the kind of
    /// state.
    State,
    /// An action. The action's `type` determines its shape.
    Action,
    /// Exactly this string.
    Literal(String),
    List(TypeId),
    Map(TypeId),
    /// An object with these members, and possibly others.
    Record(Vec<ObjectMember>),
    /// One of these strings, or any string if the enumeration is open.
    Enum {
        values: Vec<String>,
        open: bool,
    },
    /// Objects distinguished by one member. The variant whose name is empty applies to objects without this member.
    Union(TaggedUnion),
    /// Values distinguished by their JSON type.
    AnyOf(Vec<TypeId>),
    /// An undefined name, which no value matches. Tests ensure that no table has such a name.
    Unresolved,
}

/// Objects whose type is determined by the value of the member `tag`.
#[derive(Debug)]
pub(super) struct TaggedUnion {
    pub(super) tag: String,
    pub(super) variants: Vec<(String, TypeId)>,
    pub(super) open: bool,
    /// Whether the tag is a JSON boolean instead of a string.
    pub(super) boolean: bool,
}

impl TaggedUnion {
    /// Returns the type of the variant to which a value belongs.
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

    /// Returns the type of objects that do not have the tag; `None` if the tag is required.
    pub(super) fn untagged(&self) -> Option<TypeId> {
        self.variants.iter().find(|(name, _)| name.is_empty()).map(|(_, variant)| *variant)
    }
}

/// Whether a member is required.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MemberPresence {
    Required,
    /// The sources of the specification contradict each other about this member, so its absence is only a warning.
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

/// Every type of one version.
#[derive(Debug, Default)]
pub(super) struct VersionShapes {
    arena: Vec<ValueShape>,
    names: HashMap<String, TypeId>,
    /// The names of types, computed on first use.
    labels: OnceLock<HashMap<TypeId, String>>,
}

impl VersionShapes {
    /// Compiles the types of a table.
    pub(super) fn of(types: &LiteMap<String, TypeEntry>) -> VersionShapes {
        let mut shapes = VersionShapes::default();
        // All names are added first, because types refer to each other in cycles.
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

    /// Returns the type with this name.
    pub(super) fn named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// Returns the names of the types that the table defines; type expressions are left out.
    pub(super) fn names_of_types(&self) -> HashMap<TypeId, String> {
        let plain = |name: &str| name.starts_with(|first: char| first.is_ascii_uppercase());
        let whole = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let names = self.names.iter().filter(|(name, _)| plain(name) && whole(name));
        names.map(|(name, id)| (*id, name.clone())).collect()
    }

    /// Returns the name of a type; empty if the table does not name it.
    pub(super) fn label(&self, id: TypeId) -> &str {
        self.labels.get_or_init(|| self.names_of_types()).get(&id).map_or("", String::as_str)
    }

    /// Returns the type with this index.
    #[inline]
    pub(super) fn get(&self, id: TypeId) -> &ValueShape {
        self.arena.get(id.0 as usize).unwrap_or(&ValueShape::Unresolved)
    }

    /// Returns whether the type is an object without required members.
    pub(super) fn may_be_empty(&self, id: TypeId) -> bool {
        let optional = |member: &ObjectMember| member.presence == MemberPresence::Optional;
        matches!(self.get(id), ValueShape::Record(members) if members.iter().all(optional))
    }

    /// Compiles a table entry that has no name, such as an action.
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
        // Each expression is compiled once, and is used as a name afterwards.
        self.names.insert(text.to_owned(), id);
        id
    }

    /// Returns a short description for messages: "expected ..".
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
        // A table has only a few thousand types, so the cast loses no information.
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

    /// Returns every string that the types define: names of members, and strings that are values.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.arena.iter().flat_map(|shape| -> Vec<&str> {
            match shape {
                ValueShape::Literal(text) => vec![text],
                ValueShape::Record(members) => members.iter().map(|it| it.name.as_str()).collect(),
                ValueShape::Enum { values, .. } => values.iter().map(String::as_str).collect(),
                ValueShape::Union(union) => {
                    let values = union.variants.iter().map(|(value, _)| value.as_str());
                    values.chain([union.tag.as_str()]).collect()
                }
                _ => Vec::new(),
            }
        })
    }

    /// Returns every type, with its name or its expression.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.names.iter().map(|(name, id)| (name.as_str(), *id))
    }

    /// Returns the undefined names; empty for a correct table.
    #[cfg(test)]
    pub(super) fn unresolved(&self) -> Vec<&str> {
        let lost = |id: &TypeId| matches!(self.get(*id), ValueShape::Unresolved);
        let names = self.names.iter().filter(|(_, id)| lost(id));
        names.map(|(name, _)| name.as_str()).collect()
    }
}

/// Returns a string such as "one of `a`, `b`".
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

//! Checks a value against a compiled type, member by member, and collects each path that differs.
//!
//! Knows: shapes, the two types that depend on their surroundings (states and actions). Never knows: messages,
//! senders.
//!
//! Start at [`ValueWalk::value`].

use crate::wire::json::{Map, Value};

use super::channel::ChannelKind;
use super::protocol::Protocol;
use super::shape::{MemberPresence, ObjectMember, TaggedUnion, TypeId, ValueShape, one_of};
use super::validate::{MAX_DEPTH, MAX_ERRORS, ShapeError};

/// Maximum length in characters of names and strings in messages.
const MAX_TEXT: usize = 48;

/// The path of a value in a message, which is converted to a string only when an error is reported.
pub(super) struct ValuePath<'a> {
    parent: Option<&'a ValuePath<'a>>,
    step: WalkStep<'a>,
    depth: usize,
}

pub(super) enum WalkStep<'a> {
    Member(&'a str),
    Index(usize),
}

impl<'a> ValuePath<'a> {
    pub(super) fn root(name: &'a str) -> ValuePath<'a> {
        ValuePath { parent: None, step: WalkStep::Member(name), depth: 0 }
    }

    #[inline]
    fn step(&'a self, step: WalkStep<'a>) -> ValuePath<'a> {
        ValuePath { parent: Some(self), step, depth: self.depth + 1 }
    }

    #[inline]
    pub(super) fn member(&'a self, name: &'a str) -> ValuePath<'a> {
        self.step(WalkStep::Member(name))
    }

    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            WalkStep::Member(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(&cut(name));
            }
            WalkStep::Index(index) => out.push_str(&format!("[{index}]")),
        }
    }
}

/// The state of checking one value.
pub(super) struct ValueWalk<'p> {
    pub(super) protocol: &'p Protocol,
    pub(super) errors: Vec<ShapeError>,
    /// Whether all errors at the current place are only warnings (soft errors).
    lenient: bool,
    /// The paths of unknown members; `None` if the caller does not need them.
    pub(super) strange: Option<Vec<String>>,
    /// The names of the members (tags) that selected the type of the next object. The type does not define these
    /// members itself.
    tags: Vec<String>,
}

impl<'p> ValueWalk<'p> {
    pub(super) fn new(protocol: &'p Protocol) -> ValueWalk<'p> {
        ValueWalk { protocol, errors: Vec::new(), lenient: false, strange: None, tags: Vec::new() }
    }

    pub(super) fn report(
        &mut self,
        path: &ValuePath<'_>,
        expected: String,
        found: String,
        soft: bool,
    ) {
        let soft = soft || self.lenient;
        if self.errors.len() >= MAX_ERRORS {
            // A hard error replaces a soft error, so warnings do not hide it.
            match self.errors.iter().position(|error| error.soft) {
                Some(place) if !soft => drop(self.errors.remove(place)),
                _ => return,
            }
        }
        let mut text = String::new();
        path.write(&mut text);
        self.errors.push(ShapeError { path: text, expected, found, soft });
    }

    pub(super) fn wrong(
        &mut self,
        path: &ValuePath<'_>,
        expected: impl Into<String>,
        found: &Value,
    ) {
        self.report(path, expected.into(), describe(found), false);
    }

    pub(super) fn absent(&mut self, path: &ValuePath<'_>, expected: impl Into<String>, soft: bool) {
        self.report(path, expected.into(), "nothing".into(), soft);
    }

    /// Returns whether no further error can be kept.
    fn is_full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS && self.errors.iter().all(|error| !error.soft)
    }

    /// Runs a check of a value. All errors that it reports are only warnings (soft errors).
    pub(super) fn softly(&mut self, check: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.lenient, true);
        check(self);
        self.lenient = before;
    }

    pub(super) fn value(&mut self, id: TypeId, value: &Value, path: &ValuePath<'_>) {
        let shapes = &self.protocol.shapes;
        if self.is_full() {
            return;
        }
        if path.depth > MAX_DEPTH {
            let expected = format!("at most {MAX_DEPTH} levels");
            return self.report(path, expected, "more".into(), true);
        }
        match (shapes.get(id), value) {
            (ValueShape::Any, _)
            | (ValueShape::String | ValueShape::Uri, Value::String(_))
            | (ValueShape::Boolean, Value::Bool(_))
            | (ValueShape::Number, Value::Number(_))
            | (ValueShape::Null, Value::Null)
            | (ValueShape::Object | ValueShape::State, Value::Object(_)) => {}
            (ValueShape::Integer | ValueShape::Natural, Value::Number(_)) => {
                self.whole(id, value, path)
            }
            (ValueShape::Literal(text), Value::String(found)) if text == found => {}
            (ValueShape::Enum { open: true, .. }, Value::String(_)) => {}
            (ValueShape::Enum { values, .. }, Value::String(found))
                if values.iter().any(|value| value == found) => {}
            (ValueShape::Action, _) => self.action(value, path),
            (ValueShape::List(item), Value::Array(items)) => {
                for (index, element) in items.iter().enumerate() {
                    self.value(*item, element, &path.step(WalkStep::Index(index)));
                }
            }
            (ValueShape::Map(item), Value::Object(members)) => {
                for (name, element) in members {
                    self.value(*item, element, &path.member(name));
                }
            }
            (ValueShape::Record(members), Value::Object(object)) => {
                self.record(members, object, path)
            }
            (ValueShape::Union(union), Value::Object(object)) => {
                self.union(union, value, object, path)
            }
            (ValueShape::AnyOf(ids), _) => self.any_of(id, ids, value, path),
            _ => self.wrong(path, shapes.describe(id), value),
        }
    }

    fn whole(&mut self, id: TypeId, value: &Value, path: &ValuePath<'_>) {
        let natural = matches!(self.protocol.shapes.get(id), ValueShape::Natural);
        let fraction =
            value.as_f64().is_some_and(|number| number.fract() != 0.0 && !value.is_i64());
        let negative = value.as_f64().is_some_and(|number| number < 0.0);
        if fraction || (natural && negative) {
            let expected = self.protocol.shapes.describe(id);
            self.report(path, expected, describe(value), !natural);
        }
    }

    fn record(&mut self, members: &[ObjectMember], object: &Map, path: &ValuePath<'_>) {
        if let Some(strange) = &mut self.strange {
            let tags = std::mem::take(&mut self.tags);
            let known = |name: &str| {
                tags.iter().any(|tag| tag == name)
                    || members.iter().any(|member| member.name == name)
            };
            for (name, _) in object.iter().filter(|(name, _)| !known(name)) {
                if strange.len() < MAX_ERRORS {
                    let mut text = String::new();
                    path.member(name).write(&mut text);
                    strange.push(text);
                }
            }
        }
        for member in members {
            let at = path.member(&member.name);
            let shapes = &self.protocol.shapes;
            match (object.get(&member.name), member.presence) {
                (None, MemberPresence::Optional) => {}
                (None, presence) => {
                    let soft = presence == MemberPresence::Expected;
                    self.absent(&at, shapes.describe(member.shape), soft);
                }
                (Some(Value::Null), MemberPresence::Optional | MemberPresence::Expected) => {
                    self.softly(|walk| walk.value(member.shape, &Value::Null, &at));
                }
                (Some(value), _) => self.member(member.shape, value, object, &at),
            }
        }
    }

    /// Checks a member whose shape may depend on the members beside it.
    #[inline]
    fn member(&mut self, id: TypeId, value: &Value, beside: &Map, path: &ValuePath<'_>) {
        match self.protocol.shapes.get(id) {
            ValueShape::State => {
                let uri = beside.get("resource").and_then(Value::as_str);
                let known = uri
                    .and_then(ChannelKind::promised_by)
                    .and_then(|kind| self.protocol.shapes.named(kind.state_type()));
                self.value(known.unwrap_or(id), value, path);
            }
            // A rejected action repeats the client's own content, so the host is not responsible for its errors.
            ValueShape::Action if beside.contains_key("rejectionReason") => {
                self.softly(|walk| walk.action(value, path));
            }
            _ => self.value(id, value, path),
        }
    }

    fn union(&mut self, union: &TaggedUnion, value: &Value, object: &Map, path: &ValuePath<'_>) {
        let at = path.member(&union.tag);
        let tag = match object.get(&union.tag) {
            Some(Value::String(tag)) if !union.boolean => tag.as_str(),
            Some(Value::Bool(true)) if union.boolean => "true",
            Some(Value::Bool(false)) if union.boolean => "false",
            Some(other) if union.boolean => return self.wrong(&at, "a boolean", other),
            Some(other) => return self.wrong(&at, "a string", other),
            None if union.boolean => return self.absent(&at, "a boolean", false),
            None if union.untagged().is_some() => "",
            None => return self.absent(&at, tags(union), false),
        };
        match union.variants.iter().find(|(name, _)| name == tag) {
            Some((_, variant)) => {
                self.chosen_by(&union.tag);
                self.value(*variant, value, path);
            }
            None if union.open => {}
            None => self.report(&at, tags(union), format!("`{}`", cut(tag)), false),
        }
    }

    /// Records the name of the member (the tag) that selected the type of the next object.
    #[inline]
    fn chosen_by(&mut self, tag: &str) {
        if self.strange.is_some() {
            self.tags.push(tag.to_owned());
        }
    }

    /// Checks alternatives. The alternatives differ in their JSON type, so at most one can match.
    fn any_of(&mut self, id: TypeId, ids: &[TypeId], value: &Value, path: &ValuePath<'_>) {
        let shapes = &self.protocol.shapes;
        match ids.iter().find(|id| admits(shapes.get(**id), value)) {
            Some(alternative) => self.value(*alternative, value, path),
            None => self.wrong(path, shapes.describe(id), value),
        }
    }

    #[inline]
    pub(super) fn action(&mut self, action: &Value, path: &ValuePath<'_>) {
        let Some(object) = action.as_object() else {
            return self.wrong(path, "an action", action);
        };
        let action_type = match object.get("type") {
            Some(Value::String(action_type)) => action_type,
            Some(other) => return self.wrong(&path.member("type"), "a string", other),
            None => return self.absent(&path.member("type"), "a string", false),
        };
        if let Some(row) = self.protocol.action(action_type) {
            self.chosen_by("type");
            self.value(row.shape, action, path);
        }
    }
}

/// Returns whether a value has the JSON type that a shape requires.
pub(super) fn admits(shape: &ValueShape, value: &Value) -> bool {
    match shape {
        ValueShape::Any => true,
        ValueShape::String | ValueShape::Uri | ValueShape::Literal(_) | ValueShape::Enum { .. } => {
            value.is_string()
        }
        ValueShape::Boolean => value.is_boolean(),
        ValueShape::Integer | ValueShape::Natural | ValueShape::Number => value.is_number(),
        ValueShape::Null => value.is_null(),
        ValueShape::List(_) => value.is_array(),
        ValueShape::AnyOf(_) | ValueShape::Unresolved => false,
        ValueShape::Object
        | ValueShape::State
        | ValueShape::Action
        | ValueShape::Map(_)
        | ValueShape::Record(_)
        | ValueShape::Union(_) => value.is_object(),
    }
}

fn tags(union: &TaggedUnion) -> String {
    let names = union.variants.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    one_of(&names)
}

/// Describes a value for a message: its JSON type, and its content if it is short.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => format!("boolean `{flag}`"),
        Value::Number(number) => format!("number `{number}`"),
        Value::String(text) => format!("string `{}`", cut(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) => format!("an object of {}", members.len()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

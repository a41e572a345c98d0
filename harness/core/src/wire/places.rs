//! Counts how often the traffic exercised each item that a protocol table defines: methods, actions, members, values of
//! enumerations, variants of unions.
//!
//! Only items that a message can contain are counted; types that no message uses have no items. A type has only one set
//! of items, even if its values occur in several places of messages.
//!
//! Knows: the tables. Never knows: senders, rules. Every value that [`TablePlaces`] receives is counted as sent.
//!
//! Start at [`TablePlaces::of`].

use std::collections::HashMap;

use crate::wire::json::{Map, Value};

use super::channel::ChannelKind;
use super::error_code::{ERROR_CODES, ErrorCode};
use super::protocol::{DispatchRight, MethodKind, Protocol};
use super::shape::{TaggedUnion, TypeId, ValueShape};
use super::walk::admits;

/// The kind of an item that a table defines.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PlaceKind {
    /// A request that was answered with a result, or a notification.
    Method,
    /// An action that the host accepted.
    Accepted,
    /// An action that a client sent and the host accepted.
    FromClient,
    /// An action of a client that the host rejected.
    Refused,
    /// A member of an object.
    Member,
    /// A value of an enumeration.
    Word,
    /// A variant of a union that a member distinguishes.
    Variant,
    /// One of several JSON types that a value may have.
    Alternative,
}

impl PlaceKind {
    /// Returns the name of this kind in the plural, for reports.
    pub fn plural(self) -> &'static str {
        match self {
            PlaceKind::Method => "methods",
            PlaceKind::Accepted => "actions accepted",
            PlaceKind::FromClient => "actions accepted from clients",
            PlaceKind::Refused => "actions refused",
            PlaceKind::Member => "members",
            PlaceKind::Word => "words of enumerations",
            PlaceKind::Variant => "variants",
            PlaceKind::Alternative => "alternatives",
        }
    }
}

/// An item that a table defines, with its count.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TablePlace {
    /// The kind of the item.
    pub kind: PlaceKind,
    /// The name of the item: `session/delta accepted`, `SessionState.config`, `TurnState 'error'`,
    /// `ResponsePart kind 'contentRef'`, `StringOrMarkdown as an object`.
    pub name: String,
    /// The number of times that traffic exercised the item.
    pub seen: u64,
}

/// A part of a type: the type, and the index of one of its members, words, variants or alternatives.
type TypePart = (TypeId, usize);

/// All items that a table defines.
pub struct TablePlaces {
    protocol: &'static Protocol,
    rows: Vec<TablePlace>,
    parts: HashMap<TypePart, usize>,
    names: HashMap<(PlaceKind, String), usize>,
}

impl TablePlaces {
    /// Returns the items of a version, with counts of 0.
    pub fn of(protocol: &'static Protocol) -> TablePlaces {
        let empty = TablePlaces {
            protocol,
            rows: Vec::new(),
            parts: HashMap::new(),
            names: HashMap::new(),
        };
        let mut laying = PlaceLayout { places: empty, types: protocol.shapes.names_of_types() };
        for row in protocol.methods() {
            let answered = if row.kind == MethodKind::Request { " answered" } else { "" };
            laying.named(PlaceKind::Method, &row.name, format!("{}{answered}", row.name));
            laying.reach(row.params, &row.params_type);
            let result = row.result.zip(row.result_type.as_deref());
            result.into_iter().for_each(|(result, name)| laying.reach(result, name));
        }
        for row in protocol.actions() {
            let name = &row.action_type;
            laying.named(PlaceKind::Accepted, name, format!("{name} accepted"));
            if row.dispatch == DispatchRight::Client {
                laying.named(PlaceKind::FromClient, name, format!("{name} accepted from a client"));
            }
            if row.dispatch != DispatchRight::Disputed {
                laying.named(PlaceKind::Refused, name, format!("{name} refused"));
            }
            laying.reach(row.shape, name);
        }
        for name in ChannelKind::all().map(ChannelKind::state_type) {
            protocol.shapes.named(name).into_iter().for_each(|id| laying.reach(id, name));
        }
        for name in ERROR_CODES.iter().map(ErrorCode::data_type) {
            protocol.shapes.named(&name).into_iter().for_each(|id| laying.reach(id, &name));
        }
        laying.places
    }

    /// Returns all items in the order of the table: first the methods, then the types in the order in which
    /// they are reached.
    pub fn rows(&self) -> &[TablePlace] {
        &self.rows
    }

    /// Counts a request that was answered with a result, or a notification. An action in the params of a
    /// client's message is not counted, because the host may reject it.
    pub fn method(&mut self, name: &str, params: &Value, from_client: bool) {
        let Some(row) = self.protocol.method(name) else { return };
        self.count(PlaceKind::Method, name);
        self.value(row.params, params, from_client);
    }

    /// Counts the result of a request.
    pub fn result(&mut self, method: &str, result: &Value) {
        if let Some(id) = self.protocol.method(method).and_then(|row| row.result) {
            self.value(id, result, false);
        }
    }

    /// Counts the data of an error.
    pub fn error_data(&mut self, code: i64, data: &Value) {
        let row = ErrorCode::find(code, self.protocol.version());
        let id = row.and_then(|row| self.protocol.shapes.named(&row.data_type()));
        id.into_iter().for_each(|id| self.value(id, data, false));
    }

    fn count(&mut self, kind: PlaceKind, name: &str) {
        if let Some(place) = self.names.get(&(kind, name.to_owned())) {
            self.rows[*place].seen += 1;
        }
    }

    fn part(&mut self, id: TypeId, part: usize) {
        if let Some(place) = self.parts.get(&(id, part)) {
            self.rows[*place].seen += 1;
        }
    }

    /// Counts the items that a value and the values in it exercise. The recursion is bounded by the depth of the JSON.
    fn value(&mut self, id: TypeId, value: &Value, asked: bool) {
        let shapes = &self.protocol.shapes;
        match (shapes.get(id), value) {
            (ValueShape::List(item), Value::Array(items)) => {
                items.iter().for_each(|value| self.value(*item, value, asked));
            }
            (ValueShape::Map(item), Value::Object(members)) => {
                members.values().for_each(|value| self.value(*item, value, asked));
            }
            (ValueShape::Record(members), Value::Object(object)) => {
                for (part, member) in members.iter().enumerate() {
                    let Some(value) = object.get(&member.name).filter(|it| !it.is_null()) else {
                        continue;
                    };
                    self.part(id, part);
                    match shapes.get(member.shape) {
                        ValueShape::State => self.state(object, value),
                        ValueShape::Action if !asked => self.action(object, value),
                        _ => self.value(member.shape, value, asked),
                    }
                }
            }
            (ValueShape::Union(union), value) => {
                if let Some((part, variant)) = variant(union, value) {
                    self.part(id, part);
                    self.value(variant, value, asked);
                }
            }
            (ValueShape::AnyOf(ids), value) => {
                let admitted =
                    ids.iter().enumerate().find(|(_, id)| admits(shapes.get(**id), value));
                if let Some((part, alternative)) = admitted {
                    self.part(id, part);
                    self.value(*alternative, value, asked);
                }
            }
            (ValueShape::Enum { values, .. }, Value::String(word)) => {
                let part = values.iter().position(|value| value == word);
                part.into_iter().for_each(|part| self.part(id, part));
            }
            _ => {}
        }
    }

    /// Counts a state in a snapshot. The URI of the channel or, if the URI does not show the kind of the channel, the
    /// members of the state determine the type of the state: before 0.2.0, hosts chose the schemes of sessions' URIs.
    fn state(&mut self, beside: &Map, state: &Value) {
        let told =
            beside.get("resource").and_then(Value::as_str).and_then(ChannelKind::promised_by);
        let fits = |kind: &ChannelKind| {
            self.protocol.has_type(kind.state_type())
                && self.protocol.check_state(*kind, state).is_empty()
        };
        let kind = told.or_else(|| ChannelKind::all().find(fits));
        let id = kind.and_then(|kind| self.protocol.shapes.named(kind.state_type()));
        id.into_iter().for_each(|id| self.value(id, state, false));
    }

    /// Counts an action. A rejected action has no effect, so its members are not counted.
    fn action(&mut self, envelope: &Map, action: &Value) {
        let name = action.get("type").and_then(Value::as_str).unwrap_or_default();
        let Some(row) = self.protocol.action(name) else { return };
        let has = |member: &str| envelope.get(member).is_some_and(|value| !value.is_null());
        if has("rejectionReason") {
            return self.count(PlaceKind::Refused, name);
        }
        self.count(PlaceKind::Accepted, name);
        if has("origin") {
            self.count(PlaceKind::FromClient, name);
        }
        self.value(row.shape, action, false);
    }
}

fn variant(union: &TaggedUnion, value: &Value) -> Option<(usize, TypeId)> {
    let tag = match value.get(union.tag.as_str()) {
        Some(Value::String(tag)) => tag.as_str(),
        Some(Value::Bool(true)) => "true",
        Some(Value::Bool(false)) => "false",
        _ => "",
    };
    let place = union.variants.iter().position(|(name, _)| name == tag)?;
    union.variants.get(place).map(|(_, id)| (place, *id))
}

/// A builder of the items of a table, which adds each type once.
struct PlaceLayout {
    places: TablePlaces,
    types: HashMap<TypeId, String>,
}

impl PlaceLayout {
    fn push(&mut self, kind: PlaceKind, name: String) -> usize {
        self.places.rows.push(TablePlace { kind, name, seen: 0 });
        self.places.rows.len() - 1
    }

    fn named(&mut self, kind: PlaceKind, key: &str, name: String) {
        let place = self.push(kind, name);
        self.places.names.insert((kind, key.to_owned()), place);
    }

    /// Adds a part of a type; returns `false` if the type was added before.
    fn part(&mut self, id: TypeId, part: usize, kind: PlaceKind, name: String) -> bool {
        if self.places.parts.contains_key(&(id, part)) {
            return false;
        }
        let place = self.push(kind, name);
        self.places.parts.insert((id, part), place);
        true
    }

    /// Adds all items of a type, and of the types that it contains. `path` is the label of a type without a name.
    fn reach(&mut self, id: TypeId, path: &str) {
        let label = self.types.get(&id).cloned().unwrap_or_else(|| path.to_owned());
        let protocol = self.places.protocol;
        match protocol.shapes.get(id) {
            ValueShape::List(item) | ValueShape::Map(item) => self.reach(*item, &label),
            ValueShape::Record(members) => {
                for (part, member) in members.iter().enumerate() {
                    let name = format!("{label}.{}", member.name);
                    if !self.part(id, part, PlaceKind::Member, name.clone()) {
                        return;
                    }
                    self.reach(member.shape, &name);
                }
            }
            ValueShape::Union(union) => {
                let tag = &union.tag;
                for (part, (name, variant)) in union.variants.iter().enumerate() {
                    let name = match name.is_empty() {
                        true => format!("{label} without {tag}"),
                        false => format!("{label} {tag} '{name}'"),
                    };
                    if !self.part(id, part, PlaceKind::Variant, name.clone()) {
                        return;
                    }
                    self.reach(*variant, &name);
                }
            }
            ValueShape::Enum { values, .. } => {
                for (part, word) in values.iter().enumerate() {
                    let name = format!("{label} '{word}'");
                    if !self.part(id, part, PlaceKind::Word, name) {
                        return;
                    }
                }
            }
            ValueShape::AnyOf(ids) => {
                // The alternatives of a type expression such as `null|object`, which has no name, are not counted as
                // items.
                let named = self.types.contains_key(&id);
                for (part, alternative) in ids.iter().enumerate() {
                    let name = format!("{label} as {}", protocol.shapes.describe(*alternative));
                    if named && !self.part(id, part, PlaceKind::Alternative, name) {
                        return;
                    }
                    self.reach(*alternative, &label);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;
    use crate::wire::version::Version;

    use super::*;

    fn seen(places: &TablePlaces) -> Vec<&str> {
        let rows = places.rows().iter().filter(|row| row.seen > 0);
        rows.map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn counts_accepted_actions_and_requests() {
        let mut places = TablePlaces::of(Protocol::of(Version::V0_1).unwrap());
        let action =
            json!({"type": "session/turnCancelled", "session": "copilot:/s", "turnId": "t"});
        let asked = json!({"clientSeq": 1, "action": action.clone()});
        places.method("dispatchAction", &asked, true);
        let expected =
            ["dispatchAction", "DispatchActionParams.clientSeq", "DispatchActionParams.action"];
        let names = seen(&places);
        assert!(expected.iter().all(|name| names.contains(name)) && names.len() == 3, "{names:?}");
        let origin = json!({"clientId": "c", "clientSeq": 1});
        let mut refused = json!({"serverSeq": 1, "action": action, "origin": origin});
        let accepted = refused.clone();
        refused["rejectionReason"] = json!("no turn");
        places.method("action", &refused, false);
        let names = seen(&places);
        assert!(names.contains(&"session/turnCancelled refused"), "{names:?}");
        assert!(!names.contains(&"session/turnCancelled.turnId"), "{names:?}");
        places.method("action", &accepted, false);
        let names = seen(&places);
        assert!(names.contains(&"session/turnCancelled accepted from a client"), "{names:?}");
        assert!(names.contains(&"session/turnCancelled.turnId"), "{names:?}");
    }

    #[test]
    fn knows_states_by_their_members() {
        let mut places = TablePlaces::of(Protocol::of(Version::V0_1).unwrap());
        let summary = json!({"resource": "copilot:/s", "provider": "copilot", "title": "", "status": 1, "createdAt": 1, "modifiedAt": 1});
        let state = json!({"summary": summary, "lifecycle": "ready", "turns": []});
        let result = json!({"snapshot": {"resource": "copilot:/s", "state": state, "fromSeq": 1}});
        places.result("subscribe", &result);
        let names = seen(&places);
        for name in ["SessionState.lifecycle", "SessionLifecycle 'ready'", "SessionSummary.title"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
    }

    #[test]
    fn every_place_has_a_unique_name() {
        for version in Version::played() {
            let places = TablePlaces::of(Protocol::of(*version).unwrap());
            let mut names: Vec<_> = places.rows().iter().map(|row| &row.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{version}");
        }
    }
}

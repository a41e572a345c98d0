//! Generates random values of the protocol's types. The values are valid by construction. The ids come from a small
//! pool, so a value often contains the id of another value.
//!
//! Every decision is a call of `choose(n)`, which returns a number below `n`. Zero is always the simplest choice (an
//! optional member is absent, a list is empty, a union has its first variant). A source of choices that is exhausted
//! and returns only zeros therefore produces the smallest value, and a shrinker that lowers the choices also shrinks
//! the values.
//!
//! Knows: the tables. Never knows: the source of the choices, the purpose of a value.
//!
//! Start at [`Protocol::sampler`].

use crate::wire::json::{Map, Number, Value, json};

use super::channel::ChannelKind;
use super::protocol::Protocol;
use super::shape::{MemberPresence, ObjectMember, TaggedUnion, TypeId, ValueShape};

/// The nesting depth of a value from which on no optional members and list items are generated.
const MAX_DEPTH: usize = 7;
/// The maximum number of changes that [`ValueSampler::spoil`] tries until the tables reject the changed action.
const SPOIL_TRIES: usize = 8;

/// The pool of ids, from which the last parts of URIs are also taken. The ids are not in alphabetical order, so a
/// reducer that sorts them is detected.
const IDS: &[&str] = &["m", "z", "a", "k", "b", "y", "c", "x"];
const TEXTS: &[&str] = &["text", "", "a", "two\nlines", "`**Ä** 𝄞", " "];
const INTEGERS: &[i64] = &[1, 0, 2, 3, 9_999, -1, 2_147_483_648, 9_007_199_254_740_991];
const NATURALS: &[u64] = &[1, 0, 2, 3, 9_999, 4_294_967_296, 9_007_199_254_740_991];
const NUMBERS: &[f64] = &[0.5, -1.25, 1e21];
const TIMES: &[&str] = &[
    "2026-01-02T03:04:05.678Z",
    "2026-01-02T03:04:05Z",
    "2026-01-02T04:04:05.678+01:00",
    "1970-01-01T00:00:00.000Z",
];
/// Invalid times. The tables define times as strings, so these strings are valid for the tables.
const NO_TIMES: &[&str] = &["yesterday", "", "2026-13-45T99:99:99Z"];
/// The values from which a status is generated: one activity, and one combination of flags (`FLAGS`). The protocol does
/// not define the last flag.
const ACTIVITIES: &[u64] = &[1, 2, 8, 24, 0];
const FLAGS: &[u64] = &[0, 32, 64, 96, 256];

/// The options by which the generated values differ.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SamplingOptions {
    /// The number of different ids, 1 to 8. Turns, parts, tool calls and chats share these ids.
    pub ids: usize,
    /// The number N: on average, one of N objects has an unknown member; 0 for no unknown members.
    pub unknown: usize,
    /// The number N: on average, one of N values of open enums and unions is unknown; 0 for none. Members
    /// whose presence is disputed are absent with the same frequency.
    pub strange: usize,
    /// The number N: on average, one of N timestamps is invalid; 0 for none.
    pub timeless: usize,
    /// Whether the objects of one list have different ids.
    pub distinct: bool,
}

impl Default for SamplingOptions {
    fn default() -> SamplingOptions {
        SamplingOptions { ids: 3, unknown: 0, strange: 0, timeless: 0, distinct: true }
    }
}

/// A generator of values; see [`Protocol::sampler`].
pub struct ValueSampler<'a> {
    protocol: &'a Protocol,
    sampling: SamplingOptions,
    choose: &'a mut dyn FnMut(usize) -> usize,
}

impl Protocol {
    /// Creates a generator for this version's tables. `choose(n)` returns a number below `n`; a larger number
    /// counts as `n - 1`. Equal choices result in equal values.
    pub fn sampler<'a>(
        &'a self,
        sampling: SamplingOptions,
        choose: &'a mut dyn FnMut(usize) -> usize,
    ) -> ValueSampler<'a> {
        ValueSampler { protocol: self, sampling, choose }
    }
}

impl ValueSampler<'_> {
    /// Generates a value of a named type, such as `Turn`, or of a type expression that the tables use, such as
    /// `Turn[]` or `action`. Returns `None` if the table has no such type.
    pub fn of_type(&mut self, name: &str) -> Option<Value> {
        let id = self.protocol.shapes.named(name)?;
        Some(self.value(id, "", 0))
    }

    /// Generates the state of a channel; `None` if the version has no such channel.
    pub fn state(&mut self, kind: ChannelKind) -> Option<Value> {
        self.of_type(kind.state_type())
    }

    /// Generates an action of a type, such as `chat/delta`; `None` if the version has no such action.
    pub fn action(&mut self, action_type: &str) -> Option<Value> {
        let shape = self.protocol.action(action_type)?.shape;
        let mut action = self.value(shape, "", 0);
        put(&mut action, "type", json!(action_type));
        Some(action)
    }

    /// Returns an id of the pool.
    pub fn id(&mut self) -> String {
        (*self.pick(self.ids())).to_owned()
    }

    /// Makes one member of an action of a known type invalid, so that the tables reject the action: the member is
    /// missing or has another JSON type. Returns whether a member was changed; if not, the action is as before.
    pub fn spoil(&mut self, action: &mut Value) -> bool {
        for _ in 0..SPOIL_TRIES {
            let mut broken = action.clone();
            self.break_one(&mut broken);
            let same_type = broken.get("type") == action.get("type");
            if same_type && self.protocol.check_action(&broken).iter().any(|error| !error.soft) {
                *action = broken;
                return true;
            }
        }
        false
    }

    fn value(&mut self, id: TypeId, name: &str, depth: usize) -> Value {
        let protocol = self.protocol;
        match protocol.shapes.get(id) {
            ValueShape::Any => self.anything(depth),
            ValueShape::Unresolved | ValueShape::Null => Value::Null,
            ValueShape::String => self.text(name),
            ValueShape::Uri => json!(format!("ahp-chat:/{}", self.id())),
            ValueShape::Boolean => json!(self.below(2) == 1),
            ValueShape::Integer => json!(*self.pick(INTEGERS)),
            ValueShape::Natural if name == "status" => {
                json!(self.pick(ACTIVITIES) | self.pick(FLAGS))
            }
            ValueShape::Natural => json!(*self.pick(NATURALS)),
            ValueShape::Number => self.number(),
            ValueShape::Object | ValueShape::State => self.map(None, name, depth),
            ValueShape::Map(item) => self.map(Some(*item), name, depth),
            ValueShape::Action => self.any_action(depth),
            ValueShape::Literal(text) => json!(text),
            ValueShape::List(item) => self.list(*item, name, depth),
            ValueShape::Record(members) => self.record(members, depth),
            ValueShape::Enum { open: true, .. } if self.once_in(self.sampling.strange) => {
                json!("x-other")
            }
            ValueShape::Enum { values, .. } => json!(values.get(self.below(values.len()))),
            ValueShape::Union(union) => self.union(union, depth),
            ValueShape::AnyOf(ids) => match ids.get(self.below(ids.len())) {
                Some(id) => self.value(*id, name, depth),
                None => Value::Null,
            },
        }
    }

    fn record(&mut self, members: &[ObjectMember], depth: usize) -> Value {
        let mut object = Map::new();
        // The URI in the `resource` of a snapshot determines the kind of the snapshot's state.
        let state = |member: &&ObjectMember| {
            matches!(self.protocol.shapes.get(member.shape), ValueShape::State)
        };
        let state = members.iter().find(state).map(|member| member.name.as_str());
        for member in members.iter().filter(|member| Some(member.name.as_str()) != state) {
            let absent = match member.presence {
                MemberPresence::Required => false,
                MemberPresence::Expected => self.once_in(self.sampling.strange),
                MemberPresence::Optional => !self.has_optional(depth),
            };
            if absent {
                continue;
            }
            let value = self.value(member.shape, &member.name, depth + 1);
            object.insert(member.name.clone(), value);
        }
        if let Some(name) = state {
            let (uri, value) = self.snapshot(depth);
            object.insert("resource".to_owned(), json!(uri));
            object.insert(name.to_owned(), value);
        }
        if self.once_in(self.sampling.unknown) {
            let value = self.anything(depth);
            object.insert("x-unknown".to_owned(), value);
        }
        Value::Object(object)
    }

    fn snapshot(&mut self, depth: usize) -> (String, Value) {
        let shapes = &self.protocol.shapes;
        let kinds: Vec<(&str, TypeId)> = [
            (ChannelKind::Root, "ahp-root://"),
            (ChannelKind::Session, "ahp-session:/"),
            (ChannelKind::Chat, "ahp-chat:/"),
            (ChannelKind::Terminal, "ahp-terminal:/"),
        ]
        .into_iter()
        .filter_map(|(kind, uri)| Some((uri, shapes.named(kind.state_type())?)))
        .collect();
        match kinds.get(self.below(kinds.len())) {
            Some((uri, shape)) if uri.ends_with("//") => {
                ((*uri).to_owned(), self.value(*shape, "", depth + 1))
            }
            Some((uri, shape)) => {
                (format!("{uri}{}", self.id()), self.value(*shape, "", depth + 1))
            }
            None => (String::new(), json!({})),
        }
    }

    fn union(&mut self, union: &TaggedUnion, depth: usize) -> Value {
        if union.open && self.once_in(self.sampling.strange) {
            let id = self.id();
            return json!({(&union.tag): "x-other", "id": id, "x-unknown": [1, null]});
        }
        let Some((tag, variant)) = union.variants.get(self.below(union.variants.len())) else {
            return json!({});
        };
        let mut value = self.value(*variant, "", depth);
        let tag = if union.boolean { json!(tag == "true") } else { json!(tag) };
        put(&mut value, &union.tag, tag);
        value
    }

    fn list(&mut self, item: TypeId, name: &str, depth: usize) -> Value {
        let mut items: Vec<Value> = Vec::new();
        for _ in 0..self.length(depth) {
            let value = self.value(item, name, depth + 1);
            let met =
                |other: &Value| identity(other).is_some() && identity(other) == identity(&value);
            if !(self.sampling.distinct && items.iter().any(met)) {
                items.push(value);
            }
        }
        Value::Array(items)
    }

    fn map(&mut self, item: Option<TypeId>, name: &str, depth: usize) -> Value {
        let mut object = Map::new();
        for _ in 0..self.length(depth) {
            let key = self.id();
            let value = match item {
                Some(item) => self.value(item, name, depth + 1),
                None => self.anything(depth + 1),
            };
            object.insert(key, value);
        }
        Value::Object(object)
    }

    fn any_action(&mut self, depth: usize) -> Value {
        let protocol = self.protocol;
        let count = protocol.actions().count();
        let Some(row) = protocol.actions().nth(self.below(count)) else {
            return json!({"type": "x-other"});
        };
        let mut action = self.value(row.shape, "", depth + 1);
        put(&mut action, "type", json!(row.action_type));
        action
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.below(if depth < MAX_DEPTH { 6 } else { 4 }) {
            0 => json!("any"),
            1 => json!(true),
            2 => json!(7),
            3 => self.number(),
            4 => {
                let inner = self.anything(depth + 2);
                json!([inner])
            }
            _ => self.map(None, "", depth + 1),
        }
    }

    fn text(&mut self, name: &str) -> Value {
        if is_id(name) {
            return json!(self.id());
        }
        if is_time(name) {
            let odd = self.once_in(self.sampling.timeless);
            return json!(self.pick(if odd { NO_TIMES } else { TIMES }));
        }
        json!(self.pick(TEXTS))
    }

    /// Generates a number. A float never has a fraction of zero, because implementations write such a number in
    /// different ways, such as `1.0` and `1`.
    fn number(&mut self) -> Value {
        Number::from_f64(*self.pick(NUMBERS)).map_or(json!(1), Value::Number)
    }

    fn length(&mut self, depth: usize) -> usize {
        match depth {
            0..=2 => self.below(5),
            3..MAX_DEPTH => self.below(3),
            _ => 0,
        }
    }

    fn has_optional(&mut self, depth: usize) -> bool {
        depth < MAX_DEPTH && self.below(2 + depth / 2) == 1
    }

    fn ids(&self) -> &'static [&'static str] {
        IDS.get(..self.sampling.ids.max(1)).unwrap_or(IDS)
    }

    /// Picks a random item. The list must not be empty.
    fn pick<T>(&mut self, from: &'static [T]) -> &'static T {
        &from[self.below(from.len())]
    }

    /// Returns `true` once in `count` times on average. Zero is the simplest choice and results in `false`.
    fn once_in(&mut self, count: usize) -> bool {
        count > 0 && self.below(count.max(2)) == 1
    }

    fn below(&mut self, count: usize) -> usize {
        if count < 2 {
            return 0;
        }
        (self.choose)(count).min(count - 1)
    }

    /// Descends to a random member, and removes it or gives it another JSON type.
    fn break_one(&mut self, value: &mut Value) {
        match value {
            Value::Object(object) if !object.is_empty() => {
                let index = self.below(object.len());
                let Some(name) = object.keys().nth(index).cloned() else { return };
                let Some(inner) = object.get_mut(&name) else { return };
                let descend = matches!(inner, Value::Object(_) | Value::Array(_));
                match self.below(if descend { 4 } else { 2 }) {
                    0 => drop(object.remove(&name)),
                    1 => *inner = other_type(inner),
                    _ => self.break_one(inner),
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let index = self.below(items.len());
                if let Some(inner) = items.get_mut(index) {
                    self.break_one(inner);
                }
            }
            other => *other = other_type(other),
        }
    }
}

fn other_type(value: &Value) -> Value {
    if value.is_boolean() { json!(5) } else { json!(true) }
}

fn put(value: &mut Value, name: &str, member: Value) {
    if let Value::Object(object) = value {
        object.insert(name.to_owned(), member);
    }
}

/// Returns the id by which an object in a list is identified, from whichever member contains it; `None` if the object
/// has no id.
fn identity(value: &Value) -> Option<&Value> {
    const PATHS: [&str; 6] =
        ["/id", "/toolCall/toolCallId", "/request/id", "/resource", "/clientId", "/commandId"];
    PATHS.iter().find_map(|path| value.pointer(path))
}

/// Returns whether a string member with this name contains ids: `turnId`, `order`, `annotationIds`.
fn is_id(name: &str) -> bool {
    const LISTS: [&str; 2] = ["order", "files"];
    name == "id" || name.ends_with("Id") || name.ends_with("Ids") || LISTS.contains(&name)
}

fn is_time(name: &str) -> bool {
    const NAMES: [&str; 3] = ["date", "mtime", "ctime"];
    name.ends_with("At") || name == "scheduledFor" || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::validate::ShapeError;
    use crate::wire::version::{PUBLISHED, Version};

    /// Returns a source of choices, which is a small random generator; equal seeds result in equal choices.
    fn choices(mut state: u64) -> impl FnMut(usize) -> usize {
        move |count| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % count
        }
    }

    fn wild() -> SamplingOptions {
        SamplingOptions { ids: 3, unknown: 4, strange: 4, timeless: 4, distinct: false }
    }

    /// Returns the errors except the warnings about the absence of members for which the sources of the specification
    /// contradict each other.
    fn hard(mut errors: Vec<ShapeError>) -> Vec<ShapeError> {
        errors.retain(|error| !error.soft || !error.found.contains("nothing"));
        errors
    }

    #[test]
    fn samples_of_every_type_are_valid() {
        for version in &PUBLISHED {
            let protocol = Protocol::of(*version).unwrap();
            let mut choose = choices(1);
            let mut sampler = protocol.sampler(wild(), &mut choose);
            let types = protocol.methods().flat_map(|row| {
                [Some(row.params_type.as_str()), row.result_type.as_deref()].into_iter().flatten()
            });
            for name in types.chain(["RootState", "SessionState", "TerminalState"]) {
                for _ in 0..20 {
                    let value = sampler.of_type(name).unwrap();
                    assert_eq!(
                        hard(protocol.check_type(name, &value)),
                        vec![],
                        "{version} {value}"
                    );
                }
            }
            for row in protocol.actions() {
                for _ in 0..50 {
                    let action = sampler.action(&row.action_type).unwrap();
                    assert_eq!(hard(protocol.check_action(&action)), vec![], "{version} {action}");
                }
            }
        }
    }

    #[test]
    fn invalid_actions_are_refused() {
        let protocol = Protocol::of(Version::new(1, 0, 0)).unwrap();
        let mut choose = choices(2);
        let mut sampler = protocol.sampler(SamplingOptions::default(), &mut choose);
        let mut spoiled = 0;
        for row in protocol.actions() {
            let action = sampler.action(&row.action_type).unwrap();
            let mut broken = action.clone();
            if sampler.spoil(&mut broken) {
                spoiled += 1;
                assert!(protocol.check_action(&broken).iter().any(|error| !error.soft));
            } else {
                assert_eq!(broken, action);
            }
        }
        assert!(spoiled > 80, "{spoiled}");
    }

    #[test]
    fn the_plainest_choices_give_the_smallest_value() {
        let protocol = Protocol::of(Version::new(1, 0, 0)).unwrap();
        let mut none = |_: usize| 0;
        let mut sampler = protocol.sampler(wild(), &mut none);
        let turn = sampler.of_type("Turn").unwrap();
        let message = json!({"text": "text", "origin": {"kind": "user"}});
        let expected =
            json!({"id": "m", "message": message, "responseParts": [], "state": "complete"});
        assert_eq!(turn, expected);
        assert_eq!(sampler.of_type("NoSuchType"), None);
        assert_eq!(sampler.action("no/such"), None);
    }

    #[test]
    fn the_same_choices_give_the_same_value() {
        let protocol = Protocol::of(Version::new(1, 0, 0)).unwrap();
        let draw = |seed| {
            let mut choose = choices(seed);
            protocol.sampler(wild(), &mut choose).state(ChannelKind::Chat)
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn ids_repeat_and_unknown_members_occur() {
        let protocol = Protocol::of(Version::new(1, 0, 0)).unwrap();
        let mut choose = choices(3);
        let mut sampler = protocol.sampler(wild(), &mut choose);
        let texts: Vec<String> =
            (0..200).map(|_| sampler.state(ChannelKind::Chat).unwrap().to_string()).collect();
        for wanted in ["x-unknown", "x-other", "yesterday", "\"id\":\"z\"", "auth-required"] {
            assert!(texts.iter().any(|text| text.contains(wanted)), "{wanted}");
        }
        assert!(!texts.iter().any(|text| text.contains("\"id\":\"k\"")));
    }
}

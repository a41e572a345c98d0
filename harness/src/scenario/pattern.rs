//! Patterns: what a step wants a value to look like.
//!
//! Objects match as subsets, arrays exactly, scalars by equality. Operators are `$`-texts or
//! one-key `$`-objects. A pattern that does not match says at which path, what it wanted there and
//! what it found.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::wire::json::Value;
use crate::wire::timestamp;
use regex_lite::Regex;

use super::bind::{Bindings, Piece, Scope, Template, fill_key, key_holes};
use super::node::{Content, Node};
use super::source::{ScenarioError, ScenarioErrorKind, Span, did_you_mean};

/// What a value has to look like. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Where the pattern stands.
    pub span: Span,
    kind: Arc<Kind>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Anything that is there and is not null.
    Present,
    /// Missing or null.
    Absent,
    /// Anything at all; binds at first sight, compares later.
    Bind(String),
    /// Equal to a template's value.
    Equal(Template),
    /// An array, item by item.
    List(Vec<Pattern>),
    /// An object that has at least these members.
    Map(Vec<(String, Pattern)>),
    /// A text that an expression matches somewhere.
    Matches(Regex, String),
    /// One of these.
    In(Vec<Pattern>),
    /// An array in which each of these matches some item.
    Contains(Vec<Pattern>),
    /// An array or text that begins with these.
    StartsWith(Vec<Pattern>),
    /// All of these.
    All(Vec<Pattern>),
    /// Anything but this.
    Not(Box<Pattern>),
    /// A number compared with another.
    Compare(Ordering, Template),
    /// An array, text or object of this many items.
    Length(Box<Pattern>),
    /// A value of this JSON type.
    Type(String),
    /// An integer of which these bits are set, and none of the others named.
    Bits(u64, u64),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ordering {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// How an operator takes its operand.
#[derive(Clone, Copy)]
enum Operand {
    None,
    Name,
    Regex,
    Patterns,
    Pattern,
    Number(Ordering),
    Type,
    Bits,
}

/// One operator of the language.
pub struct Operator {
    /// Its spelling, with the `$`.
    pub name: &'static str,
    /// What it matches.
    pub doc: &'static str,
    operand: Operand,
}

/// Every operator.
pub const OPERATORS: &[Operator] = &[
    operator("$present", Operand::None, "anything that is there and is not null"),
    operator("$absent", Operand::None, "missing, or null"),
    operator("$bind", Operand::Name, "anything; binds the name at first sight, compares later"),
    operator("$matches", Operand::Regex, "a text that the regular expression matches somewhere"),
    operator("$in", Operand::Patterns, "one of the listed values"),
    operator("$contains", Operand::Patterns, "an array with an item for each listed pattern"),
    operator("$startsWith", Operand::Patterns, "an array or text that begins like this"),
    operator("$all", Operand::Patterns, "all of the listed patterns at once"),
    operator("$not", Operand::Pattern, "anything but this"),
    operator("$above", Operand::Number(Ordering::Above), "a number above this one"),
    operator("$atLeast", Operand::Number(Ordering::AtLeast), "this number or a greater one"),
    operator("$below", Operand::Number(Ordering::Below), "a number below this one"),
    operator("$atMost", Operand::Number(Ordering::AtMost), "this number or a smaller one"),
    operator("$length", Operand::Pattern, "an array, text or object with this many items"),
    operator("$type", Operand::Type, "a value of this JSON type"),
    operator("$bits", Operand::Bits, "an integer with the bits of `set` and none of `clear`"),
];

const fn operator(name: &'static str, operand: Operand, doc: &'static str) -> Operator {
    Operator { name, doc, operand }
}

const TYPES: &[&str] = &["null", "boolean", "number", "integer", "string", "array", "object"];

/// Why a value does not match.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mismatch {
    /// The place in the pattern.
    pub span: Span,
    /// The path in the value, such as `action.toolCallId`; empty for the value itself.
    pub path: String,
    /// What was wanted there.
    pub expected: String,
    /// What was there.
    pub found: String,
    /// Whether a name of the scenario was wanted there, such as `${chat}`: what has another one is about something else.
    pub named: bool,
}

impl Pattern {
    fn new(span: Span, kind: Kind) -> Pattern {
        Pattern { span, kind: Arc::new(kind) }
    }

    /// Reads a node as a pattern, adding to `errors` what is wrong with it.
    pub fn of(node: &Node, errors: &mut Vec<ScenarioError>) -> Pattern {
        let kind = match &node.content {
            Content::Scalar(Value::String(text)) if is_operator(text) => {
                let (name, operand) = text.split_once(' ').unwrap_or((text, ""));
                let value =
                    Node { span: node.span, content: Content::Scalar(Value::from(operand.trim())) };
                Pattern::operator(name, node.span, &value, errors)
            }
            Content::Scalar(_) => Kind::Equal(Template::of(node)),
            Content::List(items) => {
                Kind::List(items.iter().map(|item| Pattern::of(item, errors)).collect())
            }
            Content::Map(members) => match members.as_slice() {
                [only]
                    if only.key.starts_with('$')
                        && !only.key.starts_with("$$")
                        && !only.key.starts_with("${") =>
                {
                    Pattern::operator(&only.key, only.key_span, &only.value, errors)
                }
                _ => Kind::Map(
                    members
                        .iter()
                        .map(|m| (unescape(&m.key), Pattern::of(&m.value, errors)))
                        .collect(),
                ),
            },
        };
        Pattern::new(node.span, kind)
    }

    fn operator(name: &str, at: Span, value: &Node, errors: &mut Vec<ScenarioError>) -> Kind {
        let Some(row) = OPERATORS.iter().find(|row| row.name == name) else {
            let names: Vec<_> = OPERATORS.iter().map(|row| row.name).collect();
            let hint = did_you_mean(name, &names);
            let kind = ScenarioErrorKind::UnknownOperator { name: name.to_owned(), hint };
            errors.push(ScenarioError { span: at, kind });
            return Kind::Present;
        };
        let mut wrong = |expected: &str| {
            let expected = format!("{expected} after `{name}`");
            let kind = ScenarioErrorKind::WrongForm { expected, found: value.describe() };
            errors.push(ScenarioError { span: value.span, kind });
            Kind::Present
        };
        let text = value.as_str().filter(|text| !text.is_empty());
        match row.operand {
            Operand::None if name == "$absent" => Kind::Absent,
            Operand::None => Kind::Present,
            Operand::Name => match text {
                Some(text) => Kind::Bind(text.to_owned()),
                None => wrong("a name"),
            },
            Operand::Regex => match text.map(|text| (Regex::new(text), text)) {
                Some((Ok(regex), text)) => Kind::Matches(regex, text.to_owned()),
                Some((Err(error), text)) => {
                    let kind = ScenarioErrorKind::BadRegex {
                        pattern: text.to_owned(),
                        reason: error.to_string(),
                    };
                    errors.push(ScenarioError { span: value.span, kind });
                    Kind::Present
                }
                None => wrong("a regular expression"),
            },
            Operand::Patterns => {
                let items = match &value.content {
                    Content::List(items) => {
                        items.iter().map(|item| Pattern::of(item, errors)).collect()
                    }
                    _ if name == "$startsWith" => vec![Pattern::of(value, errors)],
                    _ => return wrong("a list of patterns"),
                };
                match name {
                    "$in" => Kind::In(items),
                    "$contains" => Kind::Contains(items),
                    "$startsWith" => Kind::StartsWith(items),
                    _ => Kind::All(items),
                }
            }
            Operand::Pattern => {
                let inner = Box::new(Pattern::of(value, errors));
                if name == "$not" { Kind::Not(inner) } else { Kind::Length(inner) }
            }
            Operand::Number(order) => match &value.content {
                Content::Scalar(Value::Number(_)) => Kind::Compare(order, Template::of(value)),
                Content::Scalar(Value::String(text)) if text.contains("${") => {
                    Kind::Compare(order, Template::of(value))
                }
                _ => wrong("a number, or a `${name}` that holds one"),
            },
            Operand::Type => match text.filter(|text| TYPES.contains(text)) {
                Some(text) => Kind::Type(text.to_owned()),
                None => wrong(
                    "one of `null`, `boolean`, `number`, `integer`, `string`, `array`, `object`",
                ),
            },
            Operand::Bits => {
                let bits = |key| value.get(key).map_or(Some(0), |node| node.to_value().as_u64());
                match (bits("set"), bits("clear")) {
                    (Some(set), Some(clear)) if set != 0 || clear != 0 => Kind::Bits(set, clear),
                    _ => wrong("`{ set: 32, clear: 64 }`"),
                }
            }
        }
    }

    /// A pattern that anything matches.
    pub fn anything(span: Span) -> Pattern {
        Pattern::new(span, Kind::All(Vec::new()))
    }

    /// A pattern of members, for steps that a shorter one stands for.
    pub fn map(span: Span, members: Vec<(String, Pattern)>) -> Pattern {
        Pattern::new(span, Kind::Map(members))
    }

    /// A pattern that is equal to a template.
    pub fn equal(template: Template) -> Pattern {
        Pattern::new(template.span, Kind::Equal(template))
    }

    /// A pattern that binds a name.
    pub fn bind(span: Span, name: &str) -> Pattern {
        Pattern::new(span, Kind::Bind(name.to_owned()))
    }

    /// A pattern that matches where both do.
    pub fn both(first: Pattern, second: Pattern) -> Pattern {
        Pattern::new(second.span, Kind::All(vec![first, second]))
    }

    /// The texts that a member may have, where the pattern lists them.
    pub fn texts_at(&self, path: &[&str]) -> Vec<String> {
        match (&*self.kind, path) {
            (Kind::Map(members), [name, rest @ ..]) => {
                let member = members.iter().find(|(key, _)| key == name);
                member.map(|(_, item)| item.texts_at(rest)).unwrap_or_default()
            }
            (Kind::In(items), []) => items.iter().flat_map(|item| item.texts_at(path)).collect(),
            (Kind::Equal(template), []) => {
                let text = template.without_holes().and_then(Value::as_str);
                text.map(str::to_owned).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The members that a matching object has to have.
    pub fn keys(&self) -> Vec<&str> {
        match &*self.kind {
            Kind::Map(members) => {
                let wanted = members.iter().filter(|(_, item)| !matches!(*item.kind, Kind::Absent));
                wanted.map(|(name, _)| name.as_str()).collect()
            }
            Kind::All(items) => items.iter().flat_map(Pattern::keys).collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `visit` for each name the pattern uses (a hole) and binds (`$bind`), in order.
    pub fn names(&self, visit: &mut dyn FnMut(Span, Name<'_>)) {
        let span = self.span;
        match &*self.kind {
            Kind::Bind(name) => visit(span, Name::Bound(name)),
            Kind::Equal(template) | Kind::Compare(_, template) => {
                template.holes(&mut |at, piece| visit(at, Name::Hole(piece)));
            }
            Kind::List(items)
            | Kind::In(items)
            | Kind::Contains(items)
            | Kind::StartsWith(items)
            | Kind::All(items) => items.iter().for_each(|item| item.names(visit)),
            Kind::Map(members) => members.iter().for_each(|(key, item)| {
                key_holes(key).iter().for_each(|piece| visit(span, Name::Hole(piece)));
                item.names(visit);
            }),
            Kind::Not(inner) | Kind::Length(inner) => inner.names(visit),
            _ => {}
        }
    }

    /// Whether the value matches, and what that binds besides `bindings`. `None` stands for a missing member.
    /// With `exact`, objects may not have members that the pattern does not name.
    ///
    /// # Errors
    /// The first place where it does not match.
    pub fn matches(
        &self,
        value: Option<&Value>,
        bindings: &Bindings,
        exact: bool,
    ) -> Result<Bindings, Box<Mismatch>> {
        let scope = Bound { known: bindings, fresh: Bindings::default() };
        let mut state = Matcher { scope, exact, path: Vec::new() };
        state.check(self, value).map(|()| state.scope.fresh)
    }
}

/// A name that a pattern mentions.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// A hole that has to be filled.
    Hole(&'a Piece),
    /// A name that the pattern binds.
    Bound(&'a str),
}

fn is_operator(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('$') && chars.next().is_some_and(|c| c.is_ascii_alphabetic())
}

fn unescape(key: &str) -> String {
    key.strip_prefix("$$").map_or_else(|| key.to_owned(), |rest| format!("${rest}"))
}

struct Matcher<'a> {
    scope: Bound<'a>,
    exact: bool,
    path: Vec<Place<'a>>,
}

/// What was bound before, and what the match has bound so far.
struct Bound<'a> {
    known: &'a Bindings,
    fresh: Bindings,
}

impl Scope for Bound<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.fresh.get(name).or_else(|| self.known.get(name))
    }

    fn set(&mut self, name: &str, value: Value) {
        self.fresh.set(name, value);
    }
}

/// A step down into a value. It becomes text only where something does not match.
enum Place<'a> {
    Member(Cow<'a, str>),
    Index(usize),
}

type Outcome = Result<(), Box<Mismatch>>;

impl<'a> Matcher<'a> {
    fn fail(&self, pattern: &Pattern, expected: String, found: Option<&Value>) -> Outcome {
        let found = found.map_or_else(|| "nothing".to_owned(), brief);
        let mut path = String::new();
        for place in &self.path {
            let _ = match place {
                Place::Member(name) if path.is_empty() => write!(path, "{name}"),
                Place::Member(name) => write!(path, ".{name}"),
                Place::Index(index) => write!(path, "[{index}]"),
            };
        }
        let named =
            matches!(&*pattern.kind, Kind::Equal(template) if template.without_holes().is_none());
        Err(Box::new(Mismatch { span: pattern.span, path, expected, found, named }))
    }

    fn within(&mut self, place: Place<'a>, pattern: &'a Pattern, value: Option<&Value>) -> Outcome {
        self.path.push(place);
        let outcome = self.check(pattern, value);
        self.path.pop();
        outcome
    }

    /// Tries a pattern without keeping what it bound unless it matched.
    fn attempt(&mut self, pattern: &'a Pattern, value: Option<&Value>) -> bool {
        let before = self.scope.fresh.clone();
        let matched = self.check(pattern, value).is_ok();
        if !matched {
            self.scope.fresh = before;
        }
        matched
    }

    fn filled(&mut self, template: &Template) -> Value {
        template.fill(&mut self.scope, &mut NoMint)
    }

    fn check(&mut self, pattern: &'a Pattern, value: Option<&Value>) -> Outcome {
        let present = value.filter(|value| !value.is_null());
        match &*pattern.kind {
            Kind::Present if present.is_some() => Ok(()),
            Kind::Present => self.fail(pattern, "a value".to_owned(), value),
            Kind::Absent if present.is_none() => Ok(()),
            Kind::Absent => self.fail(pattern, "nothing".to_owned(), value),
            Kind::Bind(name) => self.bind(pattern, name, value),
            Kind::Equal(template) => {
                let wanted = self.filled(template);
                if value.is_some_and(|value| equal(&wanted, value)) {
                    return Ok(());
                }
                self.fail(pattern, brief(&wanted), value)
            }
            Kind::List(items) => self.list(pattern, items, value),
            Kind::Map(members) => self.map(pattern, members, value),
            Kind::Matches(regex, _)
                if value.and_then(Value::as_str).is_some_and(|t| regex.is_match(t)) =>
            {
                Ok(())
            }
            Kind::Matches(_, text) => {
                self.fail(pattern, format!("a text that matches `{text}`"), value)
            }
            Kind::In(items) => {
                if items.iter().any(|item| self.attempt(item, value)) {
                    return Ok(());
                }
                let all: Vec<_> = items.iter().map(Pattern::spelled).collect();
                self.fail(pattern, format!("one of {}", all.join(", ")), value)
            }
            Kind::Contains(items) => self.contains(pattern, items, value),
            Kind::StartsWith(items) => self.starts_with(pattern, items, value),
            Kind::All(items) => items.iter().try_for_each(|item| self.check(item, value)),
            Kind::Not(inner) => {
                if self.attempt(inner, value) {
                    return self.fail(pattern, format!("anything but {}", inner.spelled()), value);
                }
                Ok(())
            }
            Kind::Compare(order, template) => self.compare(pattern, *order, template, value),
            Kind::Length(inner) => {
                let length = match value {
                    Some(Value::Array(items)) => items.len(),
                    Some(Value::String(text)) => text.chars().count(),
                    Some(Value::Object(members)) => members.len(),
                    _ => return self.fail(pattern, "something with a length".to_owned(), value),
                };
                self.within(
                    Place::Member(Cow::Borrowed("length")),
                    inner,
                    Some(&Value::from(length)),
                )
            }
            Kind::Type(name) if value.is_some_and(|value| has_type(value, name)) => Ok(()),
            Kind::Type(name) => self.fail(pattern, format!("a value of type {name}"), value),
            Kind::Bits(set, clear) => match value.and_then(Value::as_u64) {
                Some(bits) if bits & set == *set && bits & clear == 0 => Ok(()),
                _ => {
                    let wanted = format!("an integer with the bits of {set} and none of {clear}");
                    self.fail(pattern, wanted, value)
                }
            },
        }
    }

    fn bind(&mut self, pattern: &Pattern, name: &str, value: Option<&Value>) -> Outcome {
        let Some(value) = value else {
            return self.fail(pattern, format!("a value to bind to `{name}`"), None);
        };
        match self.scope.get(name) {
            Some(bound) if !equal(bound, value) => {
                let wanted = format!("{} (bound to `{name}`)", brief(bound));
                self.fail(pattern, wanted, Some(value))
            }
            Some(_) => Ok(()),
            None => {
                self.scope.set(name, value.clone());
                Ok(())
            }
        }
    }

    fn list(&mut self, pattern: &Pattern, items: &'a [Pattern], value: Option<&Value>) -> Outcome {
        let Some(found) = value.and_then(Value::as_array) else {
            return self.fail(pattern, format!("an array of {}", items.len()), value);
        };
        if found.len() != items.len() {
            return self.fail(pattern, format!("an array of {}", items.len()), value);
        }
        for (index, (item, value)) in items.iter().zip(found).enumerate() {
            self.within(Place::Index(index), item, Some(value))?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        pattern: &Pattern,
        members: &'a [(String, Pattern)],
        value: Option<&Value>,
    ) -> Outcome {
        let Some(object) = value.and_then(Value::as_object) else {
            return self.fail(pattern, "an object".to_owned(), value);
        };
        let mut named = Vec::with_capacity(members.len());
        for (key, item) in members {
            let key = fill_key(key, &mut self.scope, &mut NoMint);
            self.within(Place::Member(key.clone()), item, object.get(&key))?;
            named.push(key);
        }
        if self.exact
            && let Some(extra) = object.keys().find(|key| named.iter().all(|name| name != *key))
        {
            let wanted = format!("no member `{extra}`");
            return self.fail(pattern, wanted, object.get(extra));
        }
        Ok(())
    }

    fn contains(
        &mut self,
        pattern: &Pattern,
        items: &'a [Pattern],
        value: Option<&Value>,
    ) -> Outcome {
        let Some(found) = value.and_then(Value::as_array) else {
            return self.fail(pattern, "an array".to_owned(), value);
        };
        for item in items {
            if !found.iter().any(|candidate| self.attempt(item, Some(candidate))) {
                let wanted = format!("an item like {}", item.spelled());
                return self.fail(item, wanted, value);
            }
        }
        Ok(())
    }

    fn starts_with(
        &mut self,
        pattern: &Pattern,
        items: &'a [Pattern],
        value: Option<&Value>,
    ) -> Outcome {
        let prefix = match items {
            [Pattern { kind, .. }] => match &**kind {
                Kind::Equal(template) => Some(template),
                _ => None,
            },
            _ => None,
        };
        match (value, prefix) {
            (Some(Value::Array(found)), _) if found.len() >= items.len() => {
                for (index, (item, value)) in items.iter().zip(found).enumerate() {
                    self.within(Place::Index(index), item, Some(value))?;
                }
                Ok(())
            }
            (Some(Value::String(text)), Some(template)) => match self.filled(template) {
                Value::String(prefix) if text.starts_with(prefix.as_str()) => Ok(()),
                prefix => {
                    self.fail(pattern, format!("a text that begins with {}", brief(&prefix)), value)
                }
            },
            _ => self.fail(pattern, format!("an array of at least {}", items.len()), value),
        }
    }

    fn compare(
        &mut self,
        pattern: &Pattern,
        order: Ordering,
        template: &Template,
        value: Option<&Value>,
    ) -> Outcome {
        let limit = self.filled(template);
        let holds = match (value.and_then(Value::as_f64), limit.as_f64()) {
            (Some(value), Some(limit)) => match order {
                Ordering::Above => value > limit,
                Ordering::AtLeast => value >= limit,
                Ordering::Below => value < limit,
                Ordering::AtMost => value <= limit,
            },
            _ => false,
        };
        if holds {
            return Ok(());
        }
        let word = match order {
            Ordering::Above => "above",
            Ordering::AtLeast => "at least",
            Ordering::Below => "below",
            Ordering::AtMost => "at most",
        };
        self.fail(pattern, format!("a number {word} {}", brief(&limit)), value)
    }
}

/// Patterns only use names; nothing is minted while matching.
struct NoMint;

impl super::bind::Mint for NoMint {
    fn fresh(&mut self) -> String {
        String::new()
    }
    fn now(&self) -> String {
        String::new()
    }
}

/// Equality as JSON means it: 1 and 1.0 are one number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => l == r || l.as_f64() == r.as_f64(),
        (Value::Array(l), Value::Array(r)) => {
            l.len() == r.len() && l.iter().zip(r).all(|(l, r)| equal(l, r))
        }
        (Value::Object(l), Value::Object(r)) => {
            l.len() == r.len() && l.iter().all(|(key, l)| r.get(key).is_some_and(|r| equal(l, r)))
        }
        // The same instant may be written in several ways.
        (Value::String(l), Value::String(r)) => {
            l == r || timestamp::parse(l).is_some_and(|l| timestamp::parse(r) == Some(l))
        }
        _ => left == right,
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        // 1.0 is 1.
        Value::Number(n) => {
            let whole = || n.as_f64().is_some_and(|float| float.fract() == 0.0);
            name == "number" || (name == "integer" && (n.is_i64() || n.is_u64() || whole()))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Longest value that a message shows whole.
const BRIEF: usize = 160;

/// A value for a message, cut where it is long.
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

impl Pattern {
    /// The pattern for a person, in one line.
    pub fn spelled(&self) -> String {
        let all =
            |items: &[Pattern]| items.iter().map(Pattern::spelled).collect::<Vec<_>>().join(", ");
        match &*self.kind {
            Kind::Present => "$present".to_owned(),
            Kind::Absent => "$absent".to_owned(),
            Kind::Bind(name) => format!("$bind {name}"),
            Kind::Equal(template) => match template.spelled() {
                Value::String(text) => text.into_string(),
                value => value.to_string(),
            },
            Kind::List(items) => format!("[{}]", all(items)),
            Kind::Map(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, item)| format!("{key}: {}", item.spelled()))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
            Kind::Matches(_, text) => format!("matches {text}"),
            Kind::In(items) => format!("one of {}", all(items)),
            Kind::Contains(items) => format!("contains {}", all(items)),
            Kind::StartsWith(items) => format!("starts with {}", all(items)),
            Kind::All(items) if items.is_empty() => "anything".to_owned(),
            Kind::All(items) => all(items),
            Kind::Not(inner) => format!("not {}", inner.spelled()),
            Kind::Compare(order, template) => {
                format!("{order:?} {}", template.spelled()).to_lowercase()
            }
            Kind::Length(inner) => format!("length {}", inner.spelled()),
            Kind::Type(name) => format!("type {name}"),
            Kind::Bits(set, clear) => format!("bits {set} set, {clear} clear"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::super::node::read;
    use super::super::source::Source;
    use super::*;

    fn pattern(text: &str) -> (Pattern, Vec<ScenarioError>) {
        let (node, mut errors) = read(&Source::new("t", text), 0);
        let pattern = Pattern::of(&node.unwrap(), &mut errors);
        (pattern, errors)
    }

    fn check(text: &str, value: Value, expected: Option<(&str, &str)>) {
        let (pattern, errors) = pattern(text);
        assert_eq!(errors, [], "{text}");
        let mut bindings = Bindings::default();
        bindings.set("n", json!(5));
        let outcome = pattern.matches(Some(&value), &bindings, false);
        match (outcome, expected) {
            (Ok(_), None) => {}
            (Err(miss), Some((path, wanted))) => {
                assert_eq!(miss.path, path, "{text}");
                assert!(miss.expected.contains(wanted), "{text}: {}", miss.expected);
            }
            (outcome, expected) => panic!("{text}: {outcome:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn matches_objects_as_subsets_and_arrays_exactly() {
        check("{a: 1}", json!({"a": 1.0, "b": 2}), None);
        check("{a: {b: x}}", json!({"a": {"b": "y"}}), Some(("a.b", "`\"x\"`")));
        check("[1, 2]", json!([1, 2]), None);
        check("[1]", json!([1, 2]), Some(("", "an array of 1")));
        check("{'${n}': {a: 1}}", json!({"5": {"a": 1}}), None);
        check("{'${n}': 1}", json!({"n": 1}), Some(("5", "`1`")));
        check("{a: [{b: 1}]}", json!({"a": [{"b": 2}]}), Some(("a[0].b", "`1`")));
    }

    #[test]
    fn applies_operators() {
        check("{a: $absent}", json!({"a": null}), None);
        check("{a: $absent}", json!({"a": 0}), Some(("a", "nothing")));
        check("{a: $present}", json!({}), Some(("a", "a value")));
        check("{a: {$matches: '^x+$'}}", json!({"a": "xx"}), None);
        check("{a: {$in: [1, 2]}}", json!({"a": 3}), Some(("a", "one of 1, 2")));
        check("{$contains: [{a: 2}]}", json!([{"a": 1}, {"a": 2}]), None);
        check("{$contains: [{a: 3}]}", json!([{"a": 1}]), Some(("", "an item like { a: 3 }")));
        check("{$startsWith: [1]}", json!([1, 2]), None);
        check("{$startsWith: ab}", json!("abc"), None);
        check("{$not: 1}", json!(1), Some(("", "anything but 1")));
        check("{a: {$above: '${n}'}}", json!({"a": 5}), Some(("a", "above `5`")));
        check("{a: {$atLeast: 5}}", json!({"a": 5}), None);
        check("{$length: 2}", json!([1]), Some(("length", "`2`")));
        check("{$type: integer}", json!(1.5), Some(("", "type integer")));
        check("{$bits: {set: 32, clear: 64}}", json!(33), None);
        check("{$bits: {set: 32, clear: 1}}", json!(33), Some(("", "none of 1")));
        check("{$all: [{a: 1}, {b: 2}]}", json!({"a": 1, "b": 3}), Some(("b", "`2`")));
    }

    #[test]
    fn binds_at_first_sight_and_compares_later() {
        let (pattern, _) = pattern("{a: $bind x, b: $bind x}");
        let first = Bindings::default();
        let bound = pattern.matches(Some(&json!({"a": 1, "b": 1})), &first, false).unwrap();
        assert_eq!(bound.get("x"), Some(&json!(1)));
        let miss = pattern.matches(Some(&json!({"a": 1, "b": 2})), &first, false).unwrap_err();
        assert_eq!((miss.path.as_str(), miss.expected.as_str()), ("b", "`1` (bound to `x`)"));
        assert!(pattern.matches(Some(&json!({"a": 2, "b": 2})), &bound, false).is_err());
    }

    #[test]
    fn exact_refuses_other_members() {
        let (pattern, _) = pattern("{a: 1}");
        let value = json!({"a": 1, "b": 2});
        let miss = pattern.matches(Some(&value), &Bindings::default(), true).unwrap_err();
        assert_eq!(miss.expected, "no member `b`");
    }

    #[test]
    fn refuses_bad_operators() {
        let message = |text: &str| pattern(text).1[0].to_string();
        assert!(message("{a: {$matchs: x}}").contains("did you mean `$matches`?"));
        assert!(message("{a: {$matches: '('}}").contains("no regular expression"));
        assert!(message("{a: {$in: 1}}").contains("a list of patterns after `$in`"));
        assert!(message("{a: {$type: text}}").contains("expected one of `null`"));
        assert!(message("{a: $bind}").contains("a name after `$bind`"));
    }
}

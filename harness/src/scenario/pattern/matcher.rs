//! Compares a value with a pattern, and reports the path of the first mismatch.
//!
//! Knows: patterns, bindings. Never knows: steps, messages.
//!
//! Start at [`PatternMatcher`].

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::scenario::bind::{HoleFiller, NameBindings, NameScope, ValueTemplate, fill_key};
use crate::wire::json::Value;
use crate::wire::timestamp;

use super::setting;
use super::{OrderingOperator, PatternKind, PatternMismatch, SettingPattern, ValuePattern, brief};

/// One attempt to match a value.
pub(super) struct PatternMatcher<'a> {
    scope: MatchBindings<'a>,
    exact: bool,
    path: Vec<MatchPlace<'a>>,
}

/// The bindings that existed before the match, and the new bindings of the match.
struct MatchBindings<'a> {
    known: &'a NameBindings,
    fresh: NameBindings,
}

impl NameScope for MatchBindings<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.fresh.get(name).or_else(|| self.known.get(name))
    }

    fn set(&mut self, name: &str, value: Value) {
        self.fresh.set(name, value);
    }
}

/// One step of a path into a value. The path is formatted only for a mismatch.
enum MatchPlace<'a> {
    Member(Cow<'a, str>),
    Index(usize),
}

type MatchOutcome = Result<(), Box<PatternMismatch>>;

impl<'a> PatternMatcher<'a> {
    /// Makes an attempt with these bindings. With `exact`, objects may not have members that the pattern does
    /// not name.
    pub(super) fn new(known: &'a NameBindings, exact: bool) -> PatternMatcher<'a> {
        PatternMatcher {
            scope: MatchBindings { known, fresh: NameBindings::default() },
            exact,
            path: Vec::new(),
        }
    }

    /// Returns the bindings of the match. If the value does not match, returns the first place where it does
    /// not.
    pub(super) fn bound(
        mut self,
        pattern: &'a ValuePattern,
        value: Option<&Value>,
    ) -> Result<NameBindings, Box<PatternMismatch>> {
        self.check(pattern, value).map(|()| self.scope.fresh)
    }

    fn fail(
        &self,
        pattern: &ValuePattern,
        expected: String,
        found: Option<&Value>,
    ) -> MatchOutcome {
        let found = found.map_or_else(|| "nothing".to_owned(), brief);
        let mut path = String::new();
        for place in &self.path {
            let _ = match place {
                MatchPlace::Member(name) if path.is_empty() => write!(path, "{name}"),
                MatchPlace::Member(name) => write!(path, ".{name}"),
                MatchPlace::Index(index) => write!(path, "[{index}]"),
            };
        }
        let named = matches!(&*pattern.kind, PatternKind::Equal(template) if template.without_holes().is_none());
        Err(Box::new(PatternMismatch { span: pattern.span, path, expected, found, named }))
    }

    fn within(
        &mut self,
        place: MatchPlace<'a>,
        pattern: &'a ValuePattern,
        value: Option<&Value>,
    ) -> MatchOutcome {
        self.path.push(place);
        let outcome = self.check(pattern, value);
        self.path.pop();
        outcome
    }

    /// Tries a pattern, and keeps the bindings of the pattern only if it matches.
    fn attempt(&mut self, pattern: &'a ValuePattern, value: Option<&Value>) -> bool {
        let before = self.scope.fresh.clone();
        let matched = self.check(pattern, value).is_ok();
        if !matched {
            self.scope.fresh = before;
        }
        matched
    }

    fn filled(&mut self, template: &ValueTemplate) -> Value {
        template.fill(&mut self.scope, &mut NoMint)
    }

    fn check(&mut self, pattern: &'a ValuePattern, value: Option<&Value>) -> MatchOutcome {
        let present = value.filter(|value| !value.is_null());
        match &*pattern.kind {
            PatternKind::Present if present.is_some() => Ok(()),
            PatternKind::Present => self.fail(pattern, "a value".to_owned(), value),
            PatternKind::Absent if present.is_none() => Ok(()),
            PatternKind::Absent => self.fail(pattern, "nothing".to_owned(), value),
            PatternKind::Bind(name) => self.bind(pattern, name, value),
            PatternKind::Equal(template) => {
                let wanted = self.filled(template);
                if value.is_some_and(|value| equal(&wanted, value)) {
                    return Ok(());
                }
                self.fail(pattern, brief(&wanted), value)
            }
            PatternKind::List(items) => self.list(pattern, items, value),
            PatternKind::Map(members) => self.map(pattern, members, value),
            PatternKind::Matches(regex, _)
                if value.and_then(Value::as_str).is_some_and(|t| regex.is_match(t)) =>
            {
                Ok(())
            }
            PatternKind::Matches(_, text) => {
                self.fail(pattern, format!("a text that matches `{text}`"), value)
            }
            PatternKind::In(items) => {
                if items.iter().any(|item| self.attempt(item, value)) {
                    return Ok(());
                }
                let all: Vec<_> = items.iter().map(ValuePattern::spelled).collect();
                self.fail(pattern, format!("one of {}", all.join(", ")), value)
            }
            PatternKind::Contains(items) => self.contains(pattern, items, value),
            PatternKind::StartsWith(items) => self.starts_with(pattern, items, value),
            PatternKind::All(items) => items.iter().try_for_each(|item| self.check(item, value)),
            PatternKind::Not(inner) => {
                if self.attempt(inner, value) {
                    return self.fail(pattern, format!("anything but {}", inner.spelled()), value);
                }
                Ok(())
            }
            PatternKind::Compare(order, template) => self.compare(pattern, *order, template, value),
            PatternKind::Length(inner) => {
                let length = match value {
                    Some(Value::Array(items)) => items.len(),
                    Some(Value::String(text)) => text.chars().count(),
                    Some(Value::Object(members)) => members.len(),
                    _ => return self.fail(pattern, "something with a length".to_owned(), value),
                };
                self.within(
                    MatchPlace::Member(Cow::Borrowed("length")),
                    inner,
                    Some(&Value::from(length)),
                )
            }
            PatternKind::Type(name) if value.is_some_and(|value| has_type(value, name)) => Ok(()),
            PatternKind::Type(name) => self.fail(pattern, format!("a value of type {name}"), value),
            PatternKind::InOrder(items) => {
                let mut found = value.and_then(Value::as_array).into_iter().flatten();
                let ordered =
                    items.iter().all(|item| found.any(|value| self.attempt(item, Some(value))));
                if ordered {
                    return Ok(());
                }
                self.fail(pattern, pattern.spelled(), value)
            }
            PatternKind::Setting(wanted) => self.setting(pattern, wanted, value),
            PatternKind::Bits(set, clear) => match value.and_then(Value::as_u64) {
                Some(bits) if bits & set == *set && bits & clear == 0 => Ok(()),
                _ => {
                    let wanted = format!("an integer with the bits of {set} and none of {clear}");
                    self.fail(pattern, wanted, value)
                }
            },
        }
    }

    fn bind(&mut self, pattern: &ValuePattern, name: &str, value: Option<&Value>) -> MatchOutcome {
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

    fn list(
        &mut self,
        pattern: &ValuePattern,
        items: &'a [ValuePattern],
        value: Option<&Value>,
    ) -> MatchOutcome {
        let Some(found) = value.and_then(Value::as_array) else {
            return self.fail(pattern, format!("an array of {}", items.len()), value);
        };
        if found.len() != items.len() {
            return self.fail(pattern, format!("an array of {}", items.len()), value);
        }
        for (index, (item, value)) in items.iter().zip(found).enumerate() {
            self.within(MatchPlace::Index(index), item, Some(value))?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        pattern: &ValuePattern,
        members: &'a [(String, ValuePattern)],
        value: Option<&Value>,
    ) -> MatchOutcome {
        let Some(object) = value.and_then(Value::as_object) else {
            return self.fail(pattern, "an object".to_owned(), value);
        };
        let mut named = Vec::with_capacity(members.len());
        for (key, item) in members {
            let key = fill_key(key, &mut self.scope, &mut NoMint);
            self.within(MatchPlace::Member(key.clone()), item, object.get(&key))?;
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
        pattern: &ValuePattern,
        items: &'a [ValuePattern],
        value: Option<&Value>,
    ) -> MatchOutcome {
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
        pattern: &ValuePattern,
        items: &'a [ValuePattern],
        value: Option<&Value>,
    ) -> MatchOutcome {
        let prefix = match items {
            [ValuePattern { kind, .. }] => match &**kind {
                PatternKind::Equal(template) => Some(template),
                _ => None,
            },
            _ => None,
        };
        match (value, prefix) {
            (Some(Value::Array(found)), _) if found.len() >= items.len() => {
                for (index, (item, value)) in items.iter().zip(found).enumerate() {
                    self.within(MatchPlace::Index(index), item, Some(value))?;
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

    fn setting(
        &mut self,
        pattern: &ValuePattern,
        wanted: &'a SettingPattern,
        value: Option<&Value>,
    ) -> MatchOutcome {
        let except = wanted.except.as_ref().map(|except| self.filled(except));
        let properties = value.map(setting::properties).unwrap_or_default();
        for (key, schema, values) in properties {
            let key = Value::from(key);
            let value = value.and_then(|config| config["values"].get(key.as_str()?));
            let has_value = wanted.now.as_ref().is_none_or(|now| self.attempt(now, value));
            if except.as_ref() != Some(&key)
                && has_value
                && self.attempt(&wanted.schema, Some(schema))
            {
                let found = [&key, &values["now"], &values["other"], &values["wrong"]];
                for (name, value) in wanted.bound().iter().zip(found) {
                    self.scope.set(name, value.clone());
                }
                return Ok(());
            }
        }
        self.fail(pattern, pattern.spelled(), value)
    }

    fn compare(
        &mut self,
        pattern: &ValuePattern,
        order: OrderingOperator,
        template: &ValueTemplate,
        value: Option<&Value>,
    ) -> MatchOutcome {
        let limit = self.filled(template);
        let holds = match (value.and_then(Value::as_f64), limit.as_f64()) {
            (Some(value), Some(limit)) => match order {
                OrderingOperator::Above => value > limit,
                OrderingOperator::AtLeast => value >= limit,
                OrderingOperator::Below => value < limit,
                OrderingOperator::AtMost => value <= limit,
            },
            _ => false,
        };
        if holds {
            return Ok(());
        }
        let word = match order {
            OrderingOperator::Above => "above",
            OrderingOperator::AtLeast => "at least",
            OrderingOperator::Below => "below",
            OrderingOperator::AtMost => "at most",
        };
        self.fail(pattern, format!("a number {word} {}", brief(&limit)), value)
    }
}

/// A [`HoleFiller`] without values, because a pattern must not contain a placeholder for a fresh identifier.
struct NoMint;

impl HoleFiller for NoMint {
    fn fresh(&mut self) -> String {
        String::new()
    }
    fn now(&self) -> String {
        String::new()
    }
}

/// Compares two values as JSON does, so 1 and 1.0 are the same number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => l == r || l.as_f64() == r.as_f64(),
        (Value::Array(l), Value::Array(r)) => {
            l.len() == r.len() && l.iter().zip(r).all(|(l, r)| equal(l, r))
        }
        (Value::Object(l), Value::Object(r)) => {
            l.len() == r.len() && l.iter().all(|(key, l)| r.get(key).is_some_and(|r| equal(l, r)))
        }
        // Two different timestamps can denote the same instant.
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
        // 1.0 is also an integer.
        Value::Number(n) => {
            let whole = || n.as_f64().is_some_and(|float| float.fract() == 0.0);
            name == "number" || (name == "integer" && (n.is_i64() || n.is_u64() || whole()))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

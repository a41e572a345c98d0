//! Patterns: descriptions of values that a step compares with a message.
//!
//! A pattern of an object matches if the value has at least the members of the pattern. A pattern of an array matches
//! item by item, and a scalar matches an equal scalar. Operators are strings or one-key objects that begin with `$`. A
//! mismatch reports the path, the expected value and the value found there.

use std::sync::Arc;

use crate::wire::json::Value;
use regex_lite::Regex;

use super::bind::{NameBindings, TextPiece, ValueTemplate, key_holes};
use super::node::{NodeContent, SourceNode};
use super::source::{ScenarioError, ScenarioErrorKind, SourceSpan, did_you_mean};

mod matcher;
mod setting;

use matcher::PatternMatcher;

/// A pattern for a value. A clone of a pattern is cheap.
#[derive(Clone, Debug)]
pub struct ValuePattern {
    /// The place of the pattern in the scenario file.
    pub span: SourceSpan,
    kind: Arc<PatternKind>,
}

#[derive(Clone, Debug)]
enum PatternKind {
    /// Any value except null.
    Present,
    /// Null, or a missing member.
    Absent,
    /// Any value. The first match binds the name to the value; later matches compare with the bound value.
    Bind(String),
    /// A value equal to the filled template.
    Equal(ValueTemplate),
    /// An array, item by item.
    List(Vec<ValuePattern>),
    /// An object that has at least these members.
    Map(Vec<(String, ValuePattern)>),
    /// A string that contains a match of the regular expression.
    Matches(Regex, String),
    /// A value that matches one of these patterns.
    In(Vec<ValuePattern>),
    /// An array in which each of these patterns matches some item.
    Contains(Vec<ValuePattern>),
    /// An array or string that begins with these items or characters.
    StartsWith(Vec<ValuePattern>),
    /// A value that matches all of these patterns.
    All(Vec<ValuePattern>),
    /// A value that does not match this pattern.
    Not(Box<ValuePattern>),
    /// A number for which this comparison with the number of the template holds.
    Compare(OrderingOperator, ValueTemplate),
    /// An array, object or string whose length matches this pattern.
    Length(Box<ValuePattern>),
    /// A value of this JSON type.
    Type(String),
    /// An integer in which all bits of the first mask are set and all bits of the second mask are clear.
    Bits(u64, u64),
    /// An array in which these patterns match some items, in this order.
    InOrder(Vec<ValuePattern>),
    /// A configuration that has a matching property.
    Setting(SettingPattern),
}

/// A pattern for one property of a configuration.
#[derive(Clone, Debug)]
struct SettingPattern {
    /// The prefix of the names to which the property is bound.
    name: String,
    /// The pattern for the property's schema.
    schema: ValuePattern,
    /// The pattern for the property's current value.
    now: Option<ValuePattern>,
    /// The key of a property that is excluded.
    except: Option<ValueTemplate>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum OrderingOperator {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// The form that the operand of an operator must have.
#[derive(Clone, Copy)]
enum OperandKind {
    None,
    Name,
    Regex,
    Patterns,
    Pattern,
    Number(OrderingOperator),
    Type,
    Bits,
    Setting,
}

/// One operator of the language.
pub struct PatternOperator {
    /// The spelling of the operator, including the `$`.
    pub name: &'static str,
    /// The description of the values that the operator matches.
    pub doc: &'static str,
    operand: OperandKind,
}

impl PatternOperator {
    /// Returns an example that uses the operator.
    pub fn example(&self) -> String {
        let operand = match self.operand {
            OperandKind::None => return format!("member: {}", self.name),
            OperandKind::Name => return format!("member: {} name", self.name),
            OperandKind::Regex => "\"^ab+$\"",
            OperandKind::Patterns => "[{ id: x }, { id: y }]",
            OperandKind::Pattern => "{ id: x }",
            OperandKind::Number(_) => "3",
            OperandKind::Type => "integer",
            OperandKind::Bits => "{ set: 8, clear: 1 }",
            OperandKind::Setting => "{ as: x, schema: { type: string } }",
        };
        format!("member: {{ {}: {operand} }}", self.name)
    }
}

/// Every operator.
pub const OPERATORS: &[PatternOperator] = &[
    operator("$present", OperandKind::None, "any value except null"),
    operator("$absent", OperandKind::None, "missing, or null"),
    operator(
        "$bind",
        OperandKind::Name,
        "any value; the first match binds the name to the value, and later matches compare with this value",
    ),
    operator(
        "$matches",
        OperandKind::Regex,
        "a string that contains a match of the regular expression",
    ),
    operator("$in", OperandKind::Patterns, "one of the listed values"),
    operator("$contains", OperandKind::Patterns, "an array with an item for each listed pattern"),
    operator(
        "$startsWith",
        OperandKind::Patterns,
        "an array or a string that begins with this value",
    ),
    operator("$all", OperandKind::Patterns, "all of the listed patterns at once"),
    operator("$not", OperandKind::Pattern, "any value that does not match this pattern"),
    operator("$above", OperandKind::Number(OrderingOperator::Above), "a number above this one"),
    operator(
        "$atLeast",
        OperandKind::Number(OrderingOperator::AtLeast),
        "this number or a greater one",
    ),
    operator("$below", OperandKind::Number(OrderingOperator::Below), "a number below this one"),
    operator(
        "$atMost",
        OperandKind::Number(OrderingOperator::AtMost),
        "this number or a smaller one",
    ),
    operator("$length", OperandKind::Pattern, "an array, a string or an object of this length"),
    operator("$type", OperandKind::Type, "a value of this JSON type"),
    operator(
        "$inOrder",
        OperandKind::Patterns,
        "an array with an item for each listed pattern, in this order, with any other items in between",
    ),
    operator(
        "$setting",
        OperandKind::Setting,
        "a configuration with a property whose schema matches `schema`, whose value matches `now`, and whose key is not `except`; `as: x` binds \
         `x.key`, `x.now` (the current value), `x.other` (another value that the schema permits) and `x.wrong` (a value that the schema does not permit)",
    ),
    operator(
        "$bits",
        OperandKind::Bits,
        "an integer in which all bits of `set` are set and all bits of `clear` are clear",
    ),
];

const fn operator(name: &'static str, operand: OperandKind, doc: &'static str) -> PatternOperator {
    PatternOperator { name, doc, operand }
}

const TYPES: &[&str] = &["null", "boolean", "number", "integer", "string", "array", "object"];

/// The reason why a value does not match.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PatternMismatch {
    /// The place in the pattern's file.
    pub span: SourceSpan,
    /// The path in the value, such as `action.toolCallId`; empty for the whole value.
    pub path: String,
    /// The expected value.
    pub expected: String,
    /// The value found at the path.
    pub found: String,
    /// Whether the pattern expected the value of a bound name, such as `${chat}`, at this path. If so, the compared
    /// message is about another subject, such as another chat.
    pub named: bool,
}

impl ValuePattern {
    fn new(span: SourceSpan, kind: PatternKind) -> ValuePattern {
        ValuePattern { span, kind: Arc::new(kind) }
    }

    /// Reads a node as a pattern and adds mistakes to `errors`.
    pub fn of(node: &SourceNode, errors: &mut Vec<ScenarioError>) -> ValuePattern {
        let kind = match &node.content {
            NodeContent::Scalar(Value::String(text)) if is_operator(text) => {
                let (name, operand) = text.split_once(' ').unwrap_or((text, ""));
                let value = SourceNode {
                    span: node.span,
                    content: NodeContent::Scalar(Value::from(operand.trim())),
                };
                ValuePattern::operator(name, node.span, &value, errors)
            }
            NodeContent::Scalar(_) => PatternKind::Equal(ValueTemplate::of(node)),
            NodeContent::List(items) => {
                PatternKind::List(items.iter().map(|item| ValuePattern::of(item, errors)).collect())
            }
            NodeContent::Map(members) => match members.as_slice() {
                [only]
                    if only.key.starts_with('$')
                        && !only.key.starts_with("$$")
                        && !only.key.starts_with("${") =>
                {
                    ValuePattern::operator(&only.key, only.key_span, &only.value, errors)
                }
                _ => PatternKind::Map(
                    members
                        .iter()
                        .map(|m| (unescape(&m.key), ValuePattern::of(&m.value, errors)))
                        .collect(),
                ),
            },
        };
        ValuePattern::new(node.span, kind)
    }

    fn operator(
        name: &str,
        at: SourceSpan,
        value: &SourceNode,
        errors: &mut Vec<ScenarioError>,
    ) -> PatternKind {
        let Some(row) = OPERATORS.iter().find(|row| row.name == name) else {
            let names: Vec<_> = OPERATORS.iter().map(|row| row.name).collect();
            let hint = did_you_mean(name, &names);
            let kind = ScenarioErrorKind::UnknownOperator { name: name.to_owned(), hint };
            errors.push(ScenarioError { span: at, kind });
            return PatternKind::Present;
        };
        let mut wrong = |expected: &str| {
            let expected = format!("{expected} after `{name}`");
            let kind = ScenarioErrorKind::WrongForm { expected, found: value.describe() };
            errors.push(ScenarioError { span: value.span, kind });
            PatternKind::Present
        };
        let text = value.as_str().filter(|text| !text.is_empty());
        match row.operand {
            OperandKind::None if name == "$absent" => PatternKind::Absent,
            OperandKind::None => PatternKind::Present,
            OperandKind::Name => match text {
                Some(text) => PatternKind::Bind(text.to_owned()),
                None => wrong("a name"),
            },
            OperandKind::Regex => match text.map(|text| (Regex::new(text), text)) {
                Some((Ok(regex), text)) => PatternKind::Matches(regex, text.to_owned()),
                Some((Err(error), text)) => {
                    let kind = ScenarioErrorKind::BadRegex {
                        pattern: text.to_owned(),
                        reason: error.to_string(),
                    };
                    errors.push(ScenarioError { span: value.span, kind });
                    PatternKind::Present
                }
                None => wrong("a regular expression"),
            },
            OperandKind::Patterns => {
                let items = match &value.content {
                    NodeContent::List(items) => {
                        items.iter().map(|item| ValuePattern::of(item, errors)).collect()
                    }
                    _ if name == "$startsWith" => vec![ValuePattern::of(value, errors)],
                    _ => return wrong("a list of patterns"),
                };
                match name {
                    "$in" => PatternKind::In(items),
                    "$contains" => PatternKind::Contains(items),
                    "$startsWith" => PatternKind::StartsWith(items),
                    "$inOrder" => PatternKind::InOrder(items),
                    _ => PatternKind::All(items),
                }
            }
            OperandKind::Pattern => {
                let inner = Box::new(ValuePattern::of(value, errors));
                if name == "$not" { PatternKind::Not(inner) } else { PatternKind::Length(inner) }
            }
            OperandKind::Number(order) => match &value.content {
                NodeContent::Scalar(Value::Number(_)) => {
                    PatternKind::Compare(order, ValueTemplate::of(value))
                }
                NodeContent::Scalar(Value::String(text)) if text.contains("${") => {
                    PatternKind::Compare(order, ValueTemplate::of(value))
                }
                _ => wrong("a number, or a `${name}` that holds one"),
            },
            OperandKind::Type => match text.filter(|text| TYPES.contains(text)) {
                Some(text) => PatternKind::Type(text.to_owned()),
                None => wrong(
                    "one of `null`, `boolean`, `number`, `integer`, `string`, `array`, `object`",
                ),
            },
            OperandKind::Setting => {
                let members = value.as_map().unwrap_or_default();
                let known = |name: &str| ["as", "schema", "now", "except"].contains(&name);
                let name = value.get("as").and_then(SourceNode::as_str).unwrap_or_default();
                if name.is_empty() || !members.iter().all(|member| known(&member.key)) {
                    return wrong("`{ as: x, schema: { sessionMutable: true } }`");
                }
                let name = name.to_owned();
                let except = value.get("except").map(ValueTemplate::of);
                let schema = match value.get("schema") {
                    Some(node) => ValuePattern::of(node, errors),
                    None => ValuePattern::anything(value.span),
                };
                let now = value.get("now").map(|node| ValuePattern::of(node, errors));
                PatternKind::Setting(SettingPattern { name, schema, now, except })
            }
            OperandKind::Bits => {
                let bits = |key| value.get(key).map_or(Some(0), |node| node.to_value().as_u64());
                match (bits("set"), bits("clear")) {
                    (Some(set), Some(clear)) if set != 0 || clear != 0 => {
                        PatternKind::Bits(set, clear)
                    }
                    _ => wrong("`{ set: 32, clear: 64 }`"),
                }
            }
        }
    }

    /// Makes a pattern that matches any value.
    pub fn anything(span: SourceSpan) -> ValuePattern {
        ValuePattern::new(span, PatternKind::All(Vec::new()))
    }

    /// Makes a pattern of an object with these members. The full steps that replace a shorthand step use such
    /// patterns.
    pub fn map(span: SourceSpan, members: Vec<(String, ValuePattern)>) -> ValuePattern {
        ValuePattern::new(span, PatternKind::Map(members))
    }

    /// Makes a pattern that matches a value equal to the filled template.
    pub fn equal(template: ValueTemplate) -> ValuePattern {
        ValuePattern::new(template.span, PatternKind::Equal(template))
    }

    /// Makes a pattern that binds a name.
    pub fn bind(span: SourceSpan, name: &str) -> ValuePattern {
        ValuePattern::new(span, PatternKind::Bind(name.to_owned()))
    }

    /// Makes a pattern that matches if both patterns match.
    pub fn both(first: ValuePattern, second: ValuePattern) -> ValuePattern {
        ValuePattern::new(second.span, PatternKind::All(vec![first, second]))
    }

    /// Returns the strings that the pattern accepts at a path; empty if the pattern does not list strings there.
    pub fn texts_at(&self, path: &[&str]) -> Vec<String> {
        match (&*self.kind, path) {
            (PatternKind::Map(members), [name, rest @ ..]) => {
                let member = members.iter().find(|(key, _)| key == name);
                member.map(|(_, item)| item.texts_at(rest)).unwrap_or_default()
            }
            (PatternKind::In(items), []) => {
                items.iter().flat_map(|item| item.texts_at(path)).collect()
            }
            (PatternKind::Equal(template), []) => {
                let text = template.without_holes().and_then(Value::as_str);
                text.map(str::to_owned).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the members that a matching object must have.
    pub fn keys(&self) -> Vec<&str> {
        match &*self.kind {
            PatternKind::Map(members) => {
                let wanted =
                    members.iter().filter(|(_, item)| !matches!(*item.kind, PatternKind::Absent));
                wanted.map(|(name, _)| name.as_str()).collect()
            }
            PatternKind::All(items) => items.iter().flat_map(ValuePattern::keys).collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `visit` in order for each placeholder of the pattern and each name that the pattern binds with `$bind`.
    pub fn names(&self, visit: &mut dyn FnMut(SourceSpan, PatternName<'_>)) {
        let span = self.span;
        match &*self.kind {
            PatternKind::Bind(name) => visit(span, PatternName::Bound(name)),
            PatternKind::Equal(template) | PatternKind::Compare(_, template) => {
                template.holes(&mut |at, piece| visit(at, PatternName::Hole(piece)));
            }
            PatternKind::List(items)
            | PatternKind::In(items)
            | PatternKind::Contains(items)
            | PatternKind::StartsWith(items)
            | PatternKind::InOrder(items)
            | PatternKind::All(items) => items.iter().for_each(|item| item.names(visit)),
            PatternKind::Map(members) => members.iter().for_each(|(key, item)| {
                key_holes(key).iter().for_each(|piece| visit(span, PatternName::Hole(piece)));
                item.names(visit);
            }),
            PatternKind::Not(inner) | PatternKind::Length(inner) => inner.names(visit),
            PatternKind::Setting(setting) => {
                if let Some(except) = &setting.except {
                    except.holes(&mut |at, piece| visit(at, PatternName::Hole(piece)));
                }
                setting.schema.names(visit);
                setting.now.iter().for_each(|now| now.names(visit));
                setting.bound().iter().for_each(|name| visit(span, PatternName::Bound(name)));
            }
            _ => {}
        }
    }

    /// Compares `value` with the pattern and returns the new bindings of the match, without those in `bindings`. A
    /// `value` of `None` stands for a missing member. With `exact`, an object may not have members that the pattern
    /// does not name.
    ///
    /// # Errors
    /// Returns the first place where the value does not match.
    pub fn matches(
        &self,
        value: Option<&Value>,
        bindings: &NameBindings,
        exact: bool,
    ) -> Result<NameBindings, Box<PatternMismatch>> {
        PatternMatcher::new(bindings, exact).bound(self, value)
    }
}

impl SettingPattern {
    /// Returns the names that the property binds: the name of its key, and the names of the values from
    /// [`setting::values`].
    fn bound(&self) -> [String; 4] {
        ["key", "now", "other", "wrong"].map(|member| format!("{}.{member}", self.name))
    }
}

/// A name in a pattern.
#[derive(Clone, Copy, Debug)]
pub enum PatternName<'a> {
    /// A placeholder that must be replaced.
    Hole(&'a TextPiece),
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

/// The maximum length of a value that a message shows in full, in characters.
const BRIEF: usize = 160;

/// Formats a value for a message. A long value is truncated.
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

impl ValuePattern {
    /// Formats the pattern for a person, in one line.
    pub fn spelled(&self) -> String {
        let all = |items: &[ValuePattern]| {
            items.iter().map(ValuePattern::spelled).collect::<Vec<_>>().join(", ")
        };
        match &*self.kind {
            PatternKind::Present => "$present".to_owned(),
            PatternKind::Absent => "$absent".to_owned(),
            PatternKind::Bind(name) => format!("$bind {name}"),
            PatternKind::Equal(template) => match template.spelled() {
                Value::String(text) => text.into_string(),
                value => value.to_string(),
            },
            PatternKind::List(items) => format!("[{}]", all(items)),
            PatternKind::Map(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, item)| format!("{key}: {}", item.spelled()))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
            PatternKind::Matches(_, text) => format!("matches {text}"),
            PatternKind::In(items) => format!("one of {}", all(items)),
            PatternKind::Contains(items) => format!("contains {}", all(items)),
            PatternKind::StartsWith(items) => format!("starts with {}", all(items)),
            PatternKind::All(items) if items.is_empty() => "anything".to_owned(),
            PatternKind::All(items) => all(items),
            PatternKind::Not(inner) => format!("not {}", inner.spelled()),
            PatternKind::Compare(order, template) => {
                format!("{order:?} {}", template.spelled()).to_lowercase()
            }
            PatternKind::Length(inner) => format!("length {}", inner.spelled()),
            PatternKind::Type(name) => format!("type {name}"),
            PatternKind::Bits(set, clear) => format!("bits {set} set, {clear} clear"),
            PatternKind::InOrder(items) => format!("in this order {}", all(items)),
            PatternKind::Setting(setting) => {
                format!("a configuration with a property like {}", setting.schema.spelled())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::super::node::read;
    use super::super::source::SourceFile;
    use super::*;

    fn pattern(text: &str) -> (ValuePattern, Vec<ScenarioError>) {
        let (node, mut errors) = read(&SourceFile::new("t", text), 0);
        let pattern = ValuePattern::of(&node.unwrap(), &mut errors);
        (pattern, errors)
    }

    fn check(text: &str, value: Value, expected: Option<(&str, &str)>) {
        let (pattern, errors) = pattern(text);
        assert_eq!(errors, [], "{text}");
        let mut bindings = NameBindings::default();
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
        check("{$inOrder: [1, 3]}", json!([1, 2, 3]), None);
        check("{$inOrder: [3, 1]}", json!([1, 2, 3]), Some(("", "in this order 3, 1")));
        check("{$inOrder: [1, 1]}", json!([1, 2]), Some(("", "in this order 1, 1")));
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
        let first = NameBindings::default();
        let bound = pattern.matches(Some(&json!({"a": 1, "b": 1})), &first, false).unwrap();
        assert_eq!(bound.get("x"), Some(&json!(1)));
        let miss = pattern.matches(Some(&json!({"a": 1, "b": 2})), &first, false).unwrap_err();
        assert_eq!((miss.path.as_str(), miss.expected.as_str()), ("b", "`1` (bound to `x`)"));
        assert!(pattern.matches(Some(&json!({"a": 2, "b": 2})), &bound, false).is_err());
    }

    #[test]
    fn finds_a_property_of_a_configuration() {
        let config = json!({"schema": {"properties": {
            "a": {"type": "boolean"},
            "b": {"type": "string", "enum": ["x", "y"], "sessionMutable": true},
            "c": {"type": "boolean", "sessionMutable": true},
        }}, "values": {"b": "y"}});
        let (pattern, errors) = pattern(
            "{$all: [{$setting: {as: one, schema: {sessionMutable: true}}}, \
             {$setting: {as: two, schema: {sessionMutable: true}, except: '${one.key}'}}]}",
        );
        assert_eq!(errors, []);
        let bound = pattern.matches(Some(&config), &NameBindings::default(), false).unwrap();
        let values = ["one.key", "one.now", "one.other", "two.key", "two.now", "two.other"];
        let values = values.map(|name| bound.get(name).cloned().unwrap_or_default());
        assert_eq!(
            values,
            [json!("b"), json!("y"), json!("x"), json!("c"), Value::Null, json!(true)]
        );
        let miss = pattern.matches(Some(&json!({"values": {}})), &NameBindings::default(), false);
        let expected = "a configuration with a property like { sessionMutable: true }";
        assert_eq!(miss.unwrap_err().expected, expected);
        let mut names = Vec::new();
        pattern.names(&mut |_, name| {
            if let PatternName::Bound(name) = name {
                names.push(name.to_owned());
            }
        });
        assert_eq!(names.len(), 8);
    }

    #[test]
    fn exact_refuses_other_members() {
        let (pattern, _) = pattern("{a: 1}");
        let value = json!({"a": 1, "b": 2});
        let miss = pattern.matches(Some(&value), &NameBindings::default(), true).unwrap_err();
        assert_eq!(miss.expected, "no member `b`");
    }

    #[test]
    fn refuses_bad_operators() {
        let message = |text: &str| pattern(text).1[0].to_string();
        assert!(message("{a: {$matchs: x}}").contains("did you mean `$matches`?"));
        assert!(message("{a: {$matches: '('}}").contains("no regular expression"));
        assert!(message("{a: {$in: 1}}").contains("a list of patterns after `$in`"));
        assert!(message("{a: {$type: text}}").contains("expected one of `null`"));
        assert!(message("{a: {$setting: {schema: 1}}}").contains("as: x"));
        assert!(message("{a: $bind}").contains("a name after `$bind`"));
    }
}

//! Compares values by meaning: null, an empty list and an absent member are equal, 3 equals 3.0, and `_meta` is
//! ignored.
//!
//! The comparison copies nothing. Its result is the same as if the values that `plain` in [`super::masks`] returns were
//! compared.
//!
//! Knows: JSON. Never knows: the purpose of the values.

use crate::wire::canonical::INSTANT;
use crate::wire::json::{Map, Value};
use crate::wire::timestamp;

/// The member that any implementation may use for its own data.
pub(super) const META: &str = "_meta";
/// The beginning of the mark that replaces a redacted string.
pub const REDACTION_MARK: &str = "«redacted";
/// The first and the last character of such a mark.
const MARK_START: char = '«';
const MARK_END: char = '»';
/// The bound below which a floating-point number represents every whole number exactly.
const EXACT: f64 = 1e15;

/// Returns whether a value counts as absent.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns whether two optional members are equal by meaning.
pub(super) fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let (one, other) = (one.filter(|it| !is_nothing(it)), other.filter(|it| !is_nothing(it)));
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => equal(one, other),
        _ => false,
    }
}

/// Returns whether two lists are equal by meaning.
pub(super) fn same_items(one: &[Value], other: &[Value]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| same(Some(one), Some(other)))
}

fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => same_members(one, other),
        (Value::Array(one), Value::Array(other)) => same_items(one, other),
        (Value::Number(_), Value::Number(_)) => {
            one == other || whole(one).is_some_and(|it| Some(it) == whole(other))
        }
        (Value::String(one), Value::String(other)) => {
            one == other || may_have_been_equal(one, other)
        }
        _ => one == other,
    }
}

/// Returns whether two strings that differ because of redaction may have been equal. A mark stands for an unknown text
/// that is not empty. Redaction replaces the deltas of a text one by one, so the folded deltas can have other marks than
/// the same text in a snapshot, or none. Equal marks stand for equal texts and different marks for different texts.
fn may_have_been_equal(one: &str, other: &str) -> bool {
    if !one.contains(REDACTION_MARK) && !other.contains(REDACTION_MARK) {
        return false;
    }
    let start = common_start(one, other);
    let (one, other) = (&one[start..], &other[start..]);
    let end = common_end(one, other);
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    let is_one_mark = |text: &str| {
        text.starts_with(REDACTION_MARK)
            && text.find(MARK_END) == text.rfind(MARK_END)
            && text.ends_with(MARK_END)
    };
    let is_marked = |text: &str| text.contains(REDACTION_MARK);
    let differ = one.is_empty() || other.is_empty() || is_one_mark(one) && is_one_mark(other);
    !differ && (is_marked(one) || is_marked(other))
}

/// Returns the length in bytes of the text with which both strings begin. The text does not end within a mark.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.char_indices().zip(other.chars());
    let start = pairs.take_while(|((_, one), other)| one == other).last();
    let start = start.map_or(0, |((at, last), _)| at + last.len_utf8());
    let open = one[..start].rfind(MARK_START);
    open.filter(|open| !one[*open..start].contains(MARK_END)).unwrap_or(start)
}

/// Returns the length in bytes of the text with which both strings end. The text does not begin within a mark.
fn common_end(one: &str, other: &str) -> usize {
    let pairs = one.chars().rev().zip(other.chars().rev());
    let end: usize =
        pairs.take_while(|(one, other)| one == other).map(|(it, _)| it.len_utf8()).sum();
    let tail = &one[one.len() - end..];
    let close = tail.find(MARK_END).filter(|close| !tail[..*close].contains(MARK_START));
    close.map_or(end, |close| end - close - MARK_END.len_utf8())
}

fn same_members(one: &Map, other: &Map) -> bool {
    let says = |member: &(&crate::wire::json::Text, &Value)| {
        member.0.as_str() != META && !is_nothing(member.1)
    };
    // Nearly always both objects have the same members in the same order, and no lookup is needed.
    let mut across = other.iter();
    let found = one.iter().filter(says).try_fold(0, |count, (name, value)| {
        let beside = across.find(says).filter(|(beside, _)| *beside == name);
        let beside = beside.map(|(_, value)| value).or_else(|| other.get(name));
        same(Some(value), beside).then_some(count + 1)
    });
    found.is_some_and(|count: usize| count == other.iter().filter(says).count())
}

/// Returns whether two members of this name are equal apart from their spelling: a whole number with or without
/// a zero fraction, or a time in different forms of ISO 8601. Every other difference makes the members unequal.
pub(super) fn written_alike(name: &str, one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| {
                    other.get(name).is_some_and(|beside| written_alike(name, value, beside))
                })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| written_alike(name, one, other))
        }
        (Value::Number(_), Value::Number(_)) => equal(one, other),
        (Value::String(one), Value::String(other)) => {
            let at = |text: &str| timestamp::parse(text).filter(|_| name.ends_with(INSTANT));
            one == other || at(one).is_some_and(|it| Some(it) == at(other))
        }
        _ => one == other,
    }
}

/// Returns a number without a fraction; `None` for other values.
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT)?;
    Some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    fn check(one: Value, other: Value, expected: bool) {
        assert_eq!(same(Some(&one), Some(&other)), expected, "{one} {other}");
        assert_eq!(same(Some(&other), Some(&one)), expected, "{other} {one}");
    }

    #[test]
    fn compares_values_by_meaning() {
        check(json!({"a": 1, "b": [1, {"c": "x"}]}), json!({"b": [1.0, {"c": "x"}], "a": 1}), true);
        check(json!({"a": null, "b": [], "_meta": {"x": 1}}), json!({}), true);
        check(json!(null), json!([]), true);
        check(json!([null]), json!([[]]), true);
        check(json!({"a": 1}), json!({"a": 1, "b": 2}), false);
        check(json!({"a": {}}), json!({}), false);
        check(json!([1, 2]), json!([2, 1]), false);
        check(json!([1]), json!([1, null]), false);
        check(json!(1.5), json!(1), false);
        check(json!("1"), json!(1), false);
        check(json!(false), json!(null), false);
        check(json!({"a": 1, "b": 2}), json!({"a": 1, "c": 2}), false);
    }

    #[test]
    fn a_text_whose_parts_were_redacted_counts_as_equal() {
        check(json!("«redacted 1»«redacted 2»"), json!("«redacted 3»"), true);
        check(json!("one «redacted 2»"), json!("one two"), true);
        check(json!("«redacted 1»"), json!("ab"), true);
        check(json!("a «redacted 1» b"), json!("a c«redacted 2»d b"), true);
        check(json!("«redacted 1»"), json!("«redacted 2»"), false);
        check(json!("«redacted 1» «redacted 2»"), json!("«redacted 1»"), false);
        check(json!("«redacted 1» a"), json!("«redacted 1» b"), false);
        check(json!("«redacted 1»"), json!(1), false);
        check(json!("«redacted 12»"), json!("«redacted 1»"), false);
        check(json!("a «redacted 12»"), json!("b «redacted 2»"), true);
        check(json!("«redacted"), json!("«redacted 1»"), true);
    }

    #[test]
    fn compares_values_except_for_spelling() {
        let check = |one: Value, other: Value, expected: bool| {
            assert_eq!(written_alike("", &one, &other), expected, "{one} {other}");
        };
        let time = |member: &str, text: &str| json!({"a": [{(member): text}]});
        let at = time("startedAt", "2026-01-01T00:00:00.060Z");
        check(json!({"a": 1, "b": [2.0]}), json!({"b": [2], "a": 1.0}), true);
        check(at.clone(), time("startedAt", "2026-01-01T01:00:00.06+01:00"), true);
        check(at.clone(), time("startedAt", "2026-01-01T00:00:00.061Z"), false);
        check(at, time("text", "2026-01-01T00:00:00.060Z"), false);
        let text = "2026-01-01T00:00:00Z";
        check(json!({"text": text}), json!({"text": "2026-01-01T00:00:00.000Z"}), false);
        check(json!({"a": null}), json!({}), false);
        check(json!({"a": []}), json!({"a": null}), false);
        check(json!({"_meta": 1}), json!({"_meta": 2}), false);
    }
}

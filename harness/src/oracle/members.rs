//! Members of states and actions, read without trust: what is absent, null or of another type is
//! nothing.
//!
//! Knows: JSON. Never knows: which members there are.

use crate::wire::json::Value;

/// The member `name`, unless it is null.
pub(super) fn given<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

/// The text in the member `name`.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The items of the list in the member `name`; none where there is no list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The first text that occurs twice among the members `name` of a list's items.
pub(super) fn repeated<'a>(items: &'a [Value], name: &str) -> Option<&'a str> {
    let texts = items.iter().filter_map(|item| text(item, name)).collect();
    repeated_text(texts)
}

/// The first text that occurs twice, in the order of texts.
pub(super) fn repeated_text(mut texts: Vec<&str>) -> Option<&str> {
    texts.sort_unstable();
    let twice = texts.windows(2).find(|pair| matches!(pair, [one, other] if one == other))?;
    twice.first().copied()
}

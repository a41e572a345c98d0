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
    repeated_text(items.iter().filter_map(|item| text(item, name)))
}

/// The first text that comes a second time.
pub(super) fn repeated_text<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut known = foldhash::HashSet::default();
    texts.find(|text| !known.insert(*text))
}

//! Reads members of untrusted states and actions: a member that is absent, null or of a wrong type counts as
//! absent.
//!
//! Knows: JSON. Never knows: which members the protocol defines.

use crate::wire::json::Value;

/// Returns the member `name`; `None` if it is absent or null.
pub(super) fn given<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

/// Returns the string in the member `name`.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// Returns the channel of a subscription. Before 0.2.0 it is named `resource`.
pub(super) fn subscribed_channel(params: &Value) -> Option<&str> {
    text(params, "channel").or_else(|| text(params, "resource"))
}

/// Returns the items of the list in the member `name`; empty if there is no list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the items of a list by the string in their member `name`. If several items have the same string, the first
/// counts. A host may send two long lists, so checks look the items of one up here instead of searching it each time.
pub(super) fn by_text<'a>(items: &'a [Value], name: &str) -> foldhash::HashMap<&'a str, &'a Value> {
    let named = items.iter().rev().filter_map(|item| Some((text(item, name)?, item)));
    named.collect()
}

/// Returns the first string that occurs twice as the value of the member `name` in the items of a list.
pub(super) fn repeated<'a>(items: &'a [Value], name: &str) -> Option<&'a str> {
    repeated_text(items.iter().filter_map(|item| text(item, name)))
}

/// Returns the first string of the list that occurs a second time.
pub(super) fn repeated_text<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut known = foldhash::HashSet::default();
    texts.find(|text| !known.insert(*text))
}

//! Arrays of objects in a state, whose entries are identified by a string member.
//!
//! Knows: JSON. Never knows: the meaning of the entries.

use crate::wire::json::Value;

use super::NoOp;
use super::payload::{Object, ReducerResult, text_of};

/// Returns the array in the member `name` of a state; `None` if the member is absent or null.
pub fn existing<'a>(
    state: &'a mut Object,
    name: &str,
) -> ReducerResult<Option<&'a mut Vec<Value>>> {
    match state.get_mut(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(NoOp::MalformedState.into()),
    }
}

/// Returns the array in the member `name` of a state. If the member is absent or null, creates an empty array.
pub fn ensured<'a>(state: &'a mut Object, name: &str) -> ReducerResult<&'a mut Vec<Value>> {
    let entry = state.entry(name).or_insert(Value::Null);
    if entry.is_null() {
        *entry = Value::Array(Vec::new());
    }
    entry.as_array_mut().ok_or_else(|| NoOp::MalformedState.into())
}

/// Returns the index of the first entry whose member `key` is the string `wanted`.
pub fn position(items: &[Value], key: &str, wanted: &str) -> Option<usize> {
    let named = |item: &Value| item.as_object().and_then(|item| text_of(item, key)) == Some(wanted);
    items.iter().position(named)
}

/// Returns the first entry whose member `key` is the string `wanted`.
pub fn find<'a>(items: &'a mut [Value], key: &str, wanted: &str) -> Option<&'a mut Object> {
    let index = position(items, key, wanted)?;
    items.get_mut(index)?.as_object_mut()
}

/// Replaces the entry with the same key in place, or appends the new entry.
pub fn upsert(
    state: &mut Object,
    name: &str,
    key: &str,
    wanted: &str,
    entry: Value,
) -> ReducerResult {
    let items = ensured(state, name)?;
    match position(items, key, wanted).and_then(|index| items.get_mut(index)) {
        Some(slot) => *slot = entry,
        None => items.push(entry),
    }
    Ok(())
}

/// Removes every entry with this key, and returns whether there was one.
pub fn remove(items: &mut Vec<Value>, key: &str, unwanted: &str) -> bool {
    let before = items.len();
    items.retain(|item| item.get(key).and_then(Value::as_str) != Some(unwanted));
    items.len() < before
}

/// Removes the first entry with this key, and returns whether there was one.
pub fn remove_first(items: &mut Vec<Value>, key: &str, unwanted: &str) -> bool {
    let found = position(items, key, unwanted);
    found.map(|index| items.remove(index)).is_some()
}

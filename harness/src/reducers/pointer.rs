//! Changes one place of a JSON value, given by a JSON Pointer (RFC 6901).
//!
//! Knows: JSON. Never knows: the meaning of states.
//!
//! Start at [`set`].

use crate::wire::json::Value;

/// The reason why a change is impossible.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PointerError {
    /// The string is not a pointer.
    #[error("expected a pointer such as `/turns/0/id`, found `{0}`")]
    NotAPointer(String),
    /// The parent of the place does not exist.
    #[error("expected a value at `{0}`, found none")]
    NoParent(String),
    /// The array has no such index.
    #[error("expected an index of the array, or `-` to append, found `{0}`")]
    NoIndex(String),
}

/// Sets the value at the pointer. Null removes a member or an element; If the pointer ends with `-`, the value is
/// appended to an array; if it ends with an index, the value replaces the element.
///
/// # Errors
/// Returns an error if the place does not exist. The value is then unchanged.
pub fn set(root: &mut Value, pointer: &str, value: Value) -> Result<(), PointerError> {
    let (parent, last) = match pointer.rsplit_once('/') {
        Some((parent, last)) if parent.is_empty() || parent.starts_with('/') => (parent, last),
        _ => return Err(PointerError::NotAPointer(pointer.to_owned())),
    };
    let last = unescaped(last);
    let holder =
        root.pointer_mut(parent).ok_or_else(|| PointerError::NoParent(parent.to_owned()))?;
    match holder {
        Value::Object(members) => {
            if value.is_null() {
                members.remove(&last);
            } else {
                members.insert(last, value);
            }
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let index = last.parse().ok().filter(|index: &usize| *index < items.len());
            let index = index.ok_or(PointerError::NoIndex(last))?;
            if value.is_null() {
                items.remove(index);
            } else if let Some(slot) = items.get_mut(index) {
                *slot = value;
            }
        }
        _ => return Err(PointerError::NoParent(parent.to_owned())),
    }
    Ok(())
}

/// Escapes a key for a pointer.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Unescapes a key of a pointer.
pub fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::*;

    fn check(pointer: &str, value: Value, expected: Value) {
        let mut root = json!({"a": {"b/c": 1}, "l": [1, 2]});
        set(&mut root, pointer, value).unwrap();
        assert_eq!(root, expected, "{pointer}");
    }

    #[test]
    fn changes_one_place() {
        check("/a/d", json!(2), json!({"a": {"b/c": 1, "d": 2}, "l": [1, 2]}));
        check("/a/b~1c", json!(null), json!({"a": {}, "l": [1, 2]}));
        check("/l/-", json!(3), json!({"a": {"b/c": 1}, "l": [1, 2, 3]}));
        check("/l/0", json!(9), json!({"a": {"b/c": 1}, "l": [9, 2]}));
        check("/l/0", json!(null), json!({"a": {"b/c": 1}, "l": [2]}));
        check("/a", json!(null), json!({"l": [1, 2]}));
    }

    #[test]
    fn refuses_pointers_to_nothing() {
        for pointer in ["a", "", "/x/y", "/l/2", "/l/x", "/l/0/x", "a/b"] {
            let mut root = json!({"l": [1, 2]});
            assert!(set(&mut root, pointer, json!(1)).is_err(), "{pointer}");
            assert_eq!(root, json!({"l": [1, 2]}), "{pointer}");
        }
    }
}

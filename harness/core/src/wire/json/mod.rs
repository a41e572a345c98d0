//! The lossless JSON value of every frame and every state.
//!
//! The harness parses, inspects and serialises thousands of frames a second, so this value is optimised for small
//! objects. Strings of up to 24 bytes need no allocation, and all names of the protocol are that short. An object is
//! one allocation, with its members in the order of arrival. `serde_json` parses and serialises the JSON and provides
//! the numbers; with the value type of `serde_json`, an envelope in a flood took 1.5 times as long (BENCHMARKS.md).
//!
//! Knows: JSON. Never knows: the protocol.
//!
//! Start at [`Value`]; [`json!`](crate::json) builds a value from JSON syntax.

mod access;
mod convert;
mod macros;
mod map;
mod read;

pub use access::ValueIndex;
pub use convert::ToJson;
pub use map::Map;
pub use serde_json::Number;

pub use crate::json;

/// A string. Strings of up to 24 bytes are stored inline.
pub type Text = compact_str::CompactString;

/// Any JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number: an integer if it is written as an integer, otherwise a float.
    Number(Number),
    /// A string.
    String(Text),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Map),
}

impl Value {
    /// Parses JSON.
    ///
    /// # Errors
    /// Returns an error if the text is not JSON, or is nested deeper than 128 levels.
    pub fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the value as JSON, without insignificant white space.
    pub fn to_text(&self) -> String {
        // Writing to memory cannot fail, and every name is a string.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the number of bytes that the value has allocated.
    pub fn heap_size(&self) -> usize {
        /// What the allocator needs beside the bytes of an allocation.
        const EACH: usize = 16;
        let text = |text: &Text| match text.is_heap_allocated() {
            true => text.capacity() + EACH,
            false => 0,
        };
        match self {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(string) => text(string),
            Value::Array(items) => {
                let items_size: usize = items.iter().map(Value::heap_size).sum();
                items.capacity() * size_of::<Value>() + EACH + items_size
            }
            Value::Object(map) => {
                let members = map.iter().map(|(name, value)| text(name) + value.heap_size());
                map.capacity() * size_of::<(Text, Value)>() + EACH + members.sum::<usize>()
            }
        }
    }

    /// Returns the value with the members of all its objects sorted by name, so that differences can be shown.
    pub fn sorted(&self) -> Value {
        match self {
            Value::Array(items) => items.iter().map(Value::sorted).collect(),
            Value::Object(map) => {
                let mut members: Vec<_> = map.iter().collect();
                members.sort_by_key(|(name, _)| *name);
                let sorted =
                    members.into_iter().map(|(name, value)| (name.clone(), value.sorted()));
                Value::Object(sorted.collect())
            }
            plain => plain.clone(),
        }
    }
}

#[cfg(test)]
mod tests;

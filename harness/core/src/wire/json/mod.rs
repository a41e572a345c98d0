//! The lossless JSON value of every frame and every state.
//!
//! The harness parses, inspects and serialises thousands of frames a second, so this value is optimised for
//! small objects: texts of up to 24 bytes, which include all names of the protocol, need no allocation, and an
//! object is one allocation in the order of arrival. `serde_json` parses and serialises the JSON and provides
//! the numbers; with the value type of `serde_json`, a flooded envelope took half as long again
//! (BENCHMARKS.md).
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

/// A string. Up to 24 bytes are stored inline.
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
    /// Parses a JSON text.
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

    /// Returns the value with the members of all its objects sorted by name, for showing differences.
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

//! The lossless value that every frame and every state is held in.
//!
//! A frame is read whole, looked at and given back thousands of times a second, so this value is
//! made for small objects: texts of up to 24 bytes, and with them all names of the protocol, take
//! no memory of their own, and an object is one piece of memory in the order it was sent. The
//! reading and writing of JSON is `serde_json`'s, as are the numbers; with its own value a flooded
//! envelope took half as long again (BENCHMARKS.md).
//!
//! Knows: JSON. Never knows: the protocol.
//!
//! Start at [`Value`]; [`json!`](crate::json) writes one as JSON.

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

/// A text. Up to 24 bytes of it are kept in place.
pub type Text = compact_str::CompactString;

/// Any JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, kept as the integer that it is, else as a float.
    Number(Number),
    /// A text.
    String(Text),
    /// A list.
    Array(Vec<Value>),
    /// Members by name.
    Object(Map),
}

impl Value {
    /// Reads a JSON text.
    ///
    /// # Errors
    /// Where the text is not JSON, or nested deeper than 128 levels.
    pub fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value as JSON, without insignificant white space.
    pub fn to_text(&self) -> String {
        // Writing to memory cannot fail, and every name is a text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same value with the members of all its objects sorted by name, for showing what differs
    /// between two.
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

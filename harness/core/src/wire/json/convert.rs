//! Conversions between JSON values and Rust types, and comparisons of both.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Map, Number, Text, Value};

/// A type that [`json!`](crate::json) can convert.
pub trait ToJson {
    /// Returns the value as JSON.
    fn to_json(&self) -> Value;
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn to_json(&self) -> Value {
        (**self).to_json()
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(T::to_json).collect())
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

impl ToJson for Value {
    fn to_json(&self) -> Value {
        self.clone()
    }
}

impl ToJson for Map {
    fn to_json(&self) -> Value {
        Value::Object(self.clone())
    }
}

impl ToJson for Arc<str> {
    fn to_json(&self) -> Value {
        Value::from(&**self)
    }
}

impl ToJson for String {
    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl ToJson for Text {
    fn to_json(&self) -> Value {
        Value::String(self.clone())
    }
}

impl ToJson for str {
    fn to_json(&self) -> Value {
        Value::from(self)
    }
}

impl ToJson for Cow<'_, str> {
    fn to_json(&self) -> Value {
        Value::from(&**self)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::String(text.as_str().into())
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Value {
        Value::String(text)
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Value {
        Value::String(text.into())
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Value {
        Value::Object(map)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Value {
        Value::Null
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<N: Into<Text>> FromIterator<(N, Value)> for Value {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(members: I) -> Value {
        Value::Object(members.into_iter().collect())
    }
}

/// Implements conversion and equality for numbers and booleans.
macro_rules! plain {
    ($($type:ty => $make:expr, $read:ident as $wide:ty;)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Value {
                $make(value)
            }
        }
        impl ToJson for $type {
            fn to_json(&self) -> Value {
                Value::from(*self)
            }
        }
        impl PartialEq<$type> for Value {
            fn eq(&self, other: &$type) -> bool {
                self.$read() == Some(*other as $wide)
            }
        }
        impl PartialEq<Value> for $type {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )*};
}

plain! {
    bool => Value::Bool, as_bool as bool;
    u8 => (|n: u8| Value::Number(n.into())), as_u64 as u64;
    u16 => (|n: u16| Value::Number(n.into())), as_u64 as u64;
    u32 => (|n: u32| Value::Number(n.into())), as_u64 as u64;
    u64 => (|n: u64| Value::Number(n.into())), as_u64 as u64;
    usize => (|n: usize| Value::Number(n.into())), as_u64 as u64;
    i8 => (|n: i8| Value::Number(n.into())), as_i64 as i64;
    i16 => (|n: i16| Value::Number(n.into())), as_i64 as i64;
    i32 => (|n: i32| Value::Number(n.into())), as_i64 as i64;
    i64 => (|n: i64| Value::Number(n.into())), as_i64 as i64;
    isize => (|n: isize| Value::Number(n.into())), as_i64 as i64;
    // JSON has no NaN and no infinity, so both become null.
    f64 => (|n: f64| Number::from_f64(n).map_or(Value::Null, Value::Number)), as_f64 as f64;
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<String> for Value {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == Some(other.as_str())
    }
}

impl PartialEq<Value> for str {
    fn eq(&self, other: &Value) -> bool {
        other == self
    }
}

impl PartialEq<Value> for &str {
    fn eq(&self, other: &Value) -> bool {
        other == *self
    }
}

impl PartialEq<Value> for String {
    fn eq(&self, other: &Value) -> bool {
        other == self
    }
}

impl fmt::Display for Value {
    /// Writes the value as JSON text; the format `{:#}` writes every member on its own line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if f.alternate() {
            serde_json::to_string_pretty(self)
        } else {
            serde_json::to_string(self)
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

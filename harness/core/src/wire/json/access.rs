//! Access to the members and items of JSON values.

use super::{Map, Number, Text, Value};

static NULL: Value = Value::Null;

/// An index into a JSON value: the name of a member of an object, or the position of an item in a list.
pub trait ValueIndex {
    /// Returns the value at this index; `None` if there is none.
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value>;
    /// Returns the value at this index, mutably.
    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
    /// Returns the value at this index, and creates the value if a name is absent. If `value` is null, it becomes an
    /// object first.
    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
}

impl ValueIndex for str {
    #[inline]
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self)
    }
    #[inline]
    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_object_mut()?.get_mut(self)
    }
    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        Some(value.as_object_mut()?.entry(self).or_insert(Value::Null))
    }
}

/// Implements [`ValueIndex`] for other types of names.
macro_rules! names {
    ($($name:ty),*) => {$(
        impl ValueIndex for $name {
            #[inline]
            fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
                <str as ValueIndex>::find(self, value)
            }
            fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
                <str as ValueIndex>::find_mut(self, value)
            }
            fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
                <str as ValueIndex>::make(self, value)
            }
        }
    )*};
}

names!(String, Text);

impl ValueIndex for usize {
    #[inline]
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_array()?.get(*self)
    }
    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }
    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.find_mut(value)
    }
}

impl<T: ValueIndex + ?Sized> ValueIndex for &T {
    #[inline]
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        (**self).find(value)
    }
    #[inline]
    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).find_mut(value)
    }
    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).make(value)
    }
}

impl Value {
    /// Returns the member with this name or the item at this position; `None` if there is none.
    #[inline]
    pub fn get(&self, index: impl ValueIndex) -> Option<&Value> {
        index.find(self)
    }

    /// Does the same as [`Value::get`], and returns a mutable reference.
    #[inline]
    pub fn get_mut(&mut self, index: impl ValueIndex) -> Option<&mut Value> {
        index.find_mut(self)
    }

    /// Returns the value at a JSON pointer, such as `/params/action` (RFC 6901).
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(map) => map.get(&step),
            Value::Array(items) => items.get(number(&step)?),
            _ => None,
        })
    }

    /// Returns the value at a JSON pointer, mutably.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(map) => map.get_mut(&step),
            Value::Array(items) => items.get_mut(number(&step)?),
            _ => None,
        })
    }

    /// Returns the value and leaves null in its place.
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }

    /// Returns the string; `None` for other types.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean; `None` for other types.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the number; `None` for other types.
    #[inline]
    fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number as an unsigned 64-bit integer, whether it is written `3` or `3.0`; `None` for other
    /// values.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        let number = self.as_number()?;
        number.as_u64().or_else(|| u64::try_from(whole(number)?).ok())
    }

    /// Returns the number as a signed 64-bit integer, whether it is written `3` or `3.0`; `None` for other
    /// values.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        let number = self.as_number()?;
        number.as_i64().or_else(|| whole(number))
    }

    /// Returns the number as a float; `None` for other types.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// Returns the items of a list; `None` for other types.
    #[inline]
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the items of a list, mutably.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the members of an object; `None` for other types.
    #[inline]
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the members of an object, mutably.
    #[inline]
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Returns whether the value is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns whether the value is a boolean.
    pub fn is_boolean(&self) -> bool {
        matches!(self, Value::Bool(_))
    }

    /// Returns whether the value is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Number(_))
    }

    /// Returns whether the value is an unsigned integer of 64 bits.
    pub fn is_u64(&self) -> bool {
        self.as_u64().is_some()
    }

    /// Returns whether the value is a signed integer of 64 bits.
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Returns whether the value is a string.
    #[inline]
    pub fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    /// Returns whether the value is a list.
    pub fn is_array(&self) -> bool {
        matches!(self, Value::Array(_))
    }

    /// Returns whether the value is an object.
    #[inline]
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }
}

/// Returns a number with a zero fraction as an integer; `None` for any other number. JSON does
/// not distinguish `3` from `3.0`, and a float is exact only below 2^53.
fn whole(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT)?;
    Some(float as i64)
}

/// Returns the unescaped steps of a JSON pointer; `None` if the pointer does not begin with a slash.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let steps = match pointer {
        "" => None,
        _ => Some(pointer.strip_prefix('/')?.split('/')),
    };
    Some(steps.into_iter().flatten().map(|step| step.replace("~1", "/").replace("~0", "~")))
}

/// Parses the position of a list item in a JSON pointer, which has no sign and no leading zero.
fn number(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| plain)
}

impl<I: ValueIndex> std::ops::Index<I> for Value {
    type Output = Value;
    /// Returns the value at this index; null if there is none.
    #[inline]
    fn index(&self, index: I) -> &Value {
        index.find(self).unwrap_or(&NULL)
    }
}

impl<I: ValueIndex> std::ops::IndexMut<I> for Value {
    /// Returns the value at this index, and creates the value if a name is absent.
    ///
    /// # Panics
    /// Panics if such a value cannot exist: a name in a value that is neither an object nor null, or a number beyond
    /// the end of a list. Use this only for values that the harness builds itself.
    fn index_mut(&mut self, index: I) -> &mut Value {
        match index.make(self) {
            Some(value) => value,
            None => panic!("expected an object or a list with that place"),
        }
    }
}

//! Reading the members of an action, and of a state, without trusting either.
//!
//! Knows: JSON. Never knows: what a member means.
//!
//! Start at [`PayloadShape`].

use crate::wire::json::{Map, Value};

use super::NoOp;

/// A JSON object, as actions and states are.
pub type Object = Map;

/// Why a reducer stopped before it changed anything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReducerStop {
    /// The state has no use for the action.
    NoOp(NoOp),
    /// The payload cannot be used; see [`super::ActionOutcome::Invalid`].
    Invalid {
        /// The member at fault.
        path: String,
        /// What should have been there.
        expected: &'static str,
    },
}

impl From<NoOp> for ReducerStop {
    fn from(why: NoOp) -> ReducerStop {
        ReducerStop::NoOp(why)
    }
}

/// The outcome of a reducer: done, or stopped with the state untouched.
pub type ReducerResult<T = ()> = Result<T, ReducerStop>;

/// What a member has to be for a reducer to use it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PayloadShape {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// An array.
    List,
    /// An object.
    Object,
    /// A string, or an object that wraps one (Markdown, or a reference to content).
    TextOrObject,
}

impl PayloadShape {
    /// Whether a value has this shape. Null has none.
    pub fn fits(self, value: &Value) -> bool {
        match self {
            PayloadShape::Text => value.is_string(),
            PayloadShape::Flag => value.is_boolean(),
            PayloadShape::Integer => integer(value).is_some(),
            PayloadShape::Number => value.is_number(),
            PayloadShape::List => value.is_array(),
            PayloadShape::Object => value.is_object(),
            PayloadShape::TextOrObject => value.is_string() || value.is_object(),
        }
    }

    /// The shape with its article, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            PayloadShape::Text => "a string",
            PayloadShape::Flag => "a boolean",
            PayloadShape::Integer => "an integer",
            PayloadShape::Number => "a number",
            PayloadShape::List => "an array",
            PayloadShape::Object => "an object",
            PayloadShape::TextOrObject => "a string or an object",
        }
    }
}

/// A number without a fraction as an integer; `1.0` is one, since JSON knows no difference.
pub fn integer(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    // Beyond 2^53 a double no longer names one integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = value.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Says that a member cannot be used.
pub fn invalid(path: &str, shape: PayloadShape) -> ReducerStop {
    ReducerStop::Invalid { path: path.to_owned(), expected: shape.describe() }
}

/// A member, unless it is absent or null.
pub fn given<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// A member that is a string, or nothing.
pub fn text_of<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

/// A required member of that shape.
#[inline]
pub fn required<'a>(
    object: &'a Object,
    name: &str,
    shape: PayloadShape,
) -> ReducerResult<&'a Value> {
    object.get(name).filter(|value| shape.fits(value)).ok_or_else(|| invalid(name, shape))
}

/// An optional member of that shape; null counts as absent.
#[inline]
pub fn optional<'a>(
    object: &'a Object,
    name: &str,
    shape: PayloadShape,
) -> ReducerResult<Option<&'a Value>> {
    match given(object, name) {
        Some(value) if !shape.fits(value) => Err(invalid(name, shape)),
        found => Ok(found),
    }
}

/// A required string.
#[inline]
pub fn text<'a>(object: &'a Object, name: &str) -> ReducerResult<&'a str> {
    text_of(object, name).ok_or_else(|| invalid(name, PayloadShape::Text))
}

/// An optional string; null counts as absent.
pub fn optional_text<'a>(object: &'a Object, name: &str) -> ReducerResult<Option<&'a str>> {
    Ok(optional(object, name, PayloadShape::Text)?.and_then(Value::as_str))
}

/// A required boolean.
pub fn flag(object: &Object, name: &str) -> ReducerResult<bool> {
    let value = object.get(name).and_then(Value::as_bool);
    value.ok_or_else(|| invalid(name, PayloadShape::Flag))
}

/// A required object.
pub fn object<'a>(parent: &'a Object, name: &str) -> ReducerResult<&'a Object> {
    let value = parent.get(name).and_then(Value::as_object);
    value.ok_or_else(|| invalid(name, PayloadShape::Object))
}

/// A required array of strings.
pub fn texts<'a>(object: &'a Object, name: &str) -> ReducerResult<Vec<&'a str>> {
    let items = object.get(name).and_then(Value::as_array);
    let items = items.ok_or_else(|| invalid(name, PayloadShape::List))?;
    let text = |(index, item): (usize, &'a Value)| {
        let text = item.as_str();
        text.ok_or_else(|| invalid(&format!("{name}.{index}"), PayloadShape::Text))
    };
    items.iter().enumerate().map(text).collect()
}

/// The string `key` of the required object `name`, which identifies it.
pub fn key_of<'a>(action: &'a Object, name: &str, key: &str) -> ReducerResult<&'a str> {
    let entry = object(action, name)?;
    text_of(entry, key).ok_or_else(|| invalid(&format!("{name}.{key}"), PayloadShape::Text))
}

/// Sets a member, or removes it where the value is absent.
pub fn assign(object: &mut Object, name: &str, value: Option<&Value>) {
    match value {
        Some(value) => object.insert(name.to_owned(), value.clone()),
        None => object.remove(name),
    };
}

/// Appends to a string member, which starts empty where it is absent.
pub fn append(object: &mut Object, name: &str, more: &str) -> ReducerResult {
    match object.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        None | Some(Value::Null) => assign(object, name, Some(&Value::from(more))),
        Some(_) => return Err(NoOp::MalformedState.into()),
    }
    Ok(())
}

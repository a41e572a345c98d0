//! Reads members of untrusted actions and states.
//!
//! Knows: JSON. Never knows: the meaning of members.
//!
//! Start at [`PayloadShape`].

use crate::wire::json::{Map, Value};

use super::NoOp;

/// A JSON object. Actions and states are such objects.
pub type Object = Map;

/// The reason why a reducer stopped before it changed anything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReducerStop {
    /// The action has no effect on this state.
    NoOp(NoOp),
    /// The reducer cannot use the payload; see [`super::ActionOutcome::Invalid`].
    Invalid {
        /// The path of the invalid member.
        path: String,
        /// The shape that the reducer expects at the path.
        expected: &'static str,
    },
}

impl From<NoOp> for ReducerStop {
    fn from(why: NoOp) -> ReducerStop {
        ReducerStop::NoOp(why)
    }
}

/// The result of a reducer. If the reducer returns an error, the state is untouched.
pub type ReducerResult<T = ()> = Result<T, ReducerStop>;

/// The shape of a member that a reducer can use.
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
    /// A string, or an object that contains a string (Markdown, or a reference to content).
    TextOrObject,
}

impl PayloadShape {
    /// Returns whether a value has this shape. Null has no shape.
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

    /// Returns the shape with its article, for messages.
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

/// Returns a number without a fraction as an integer; `None` for any other value. JSON does not distinguish
/// `1.0` from `1`.
pub fn integer(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    // Above 2^53 a double does not represent every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = value.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Returns the error for a member that cannot be used.
pub fn invalid(path: &str, shape: PayloadShape) -> ReducerStop {
    ReducerStop::Invalid { path: path.to_owned(), expected: shape.describe() }
}

/// Returns the member `name` of an object; `None` if the member is absent or null.
pub fn given<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// Returns a member that is a string; `None` if the member is absent or has another type.
pub fn text_of<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

/// Returns the required member `name`. Returns an error if the member is absent or does not have this shape.
#[inline]
pub fn required<'a>(
    object: &'a Object,
    name: &str,
    shape: PayloadShape,
) -> ReducerResult<&'a Value> {
    object.get(name).filter(|value| shape.fits(value)).ok_or_else(|| invalid(name, shape))
}

/// Returns the optional member `name`; `None` if it is absent or null. Returns an error if it has another shape.
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

/// Returns a required string.
#[inline]
pub fn text<'a>(object: &'a Object, name: &str) -> ReducerResult<&'a str> {
    text_of(object, name).ok_or_else(|| invalid(name, PayloadShape::Text))
}

/// Returns an optional string. Null counts as absent.
pub fn optional_text<'a>(object: &'a Object, name: &str) -> ReducerResult<Option<&'a str>> {
    Ok(optional(object, name, PayloadShape::Text)?.and_then(Value::as_str))
}

/// Returns a required boolean.
pub fn flag(object: &Object, name: &str) -> ReducerResult<bool> {
    let value = object.get(name).and_then(Value::as_bool);
    value.ok_or_else(|| invalid(name, PayloadShape::Flag))
}

/// Returns a required object.
pub fn object<'a>(parent: &'a Object, name: &str) -> ReducerResult<&'a Object> {
    let value = parent.get(name).and_then(Value::as_object);
    value.ok_or_else(|| invalid(name, PayloadShape::Object))
}

/// Returns a required array of strings.
pub fn texts<'a>(object: &'a Object, name: &str) -> ReducerResult<Vec<&'a str>> {
    let items = object.get(name).and_then(Value::as_array);
    let items = items.ok_or_else(|| invalid(name, PayloadShape::List))?;
    let text = |(index, item): (usize, &'a Value)| {
        let text = item.as_str();
        text.ok_or_else(|| invalid(&format!("{name}.{index}"), PayloadShape::Text))
    };
    items.iter().enumerate().map(text).collect()
}

/// Returns the identifying string `key` of the required object `name`.
pub fn key_of<'a>(action: &'a Object, name: &str, key: &str) -> ReducerResult<&'a str> {
    let entry = object(action, name)?;
    text_of(entry, key).ok_or_else(|| invalid(&format!("{name}.{key}"), PayloadShape::Text))
}

/// Sets a member, or removes it if `value` is `None`.
pub fn assign(object: &mut Object, name: &str, value: Option<&Value>) {
    match value {
        Some(value) => object.insert(name.to_owned(), value.clone()),
        None => object.remove(name),
    };
}

/// Appends text to a string member. An absent member counts as an empty string.
pub fn append(object: &mut Object, name: &str, more: &str) -> ReducerResult {
    match object.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        None | Some(Value::Null) => assign(object, name, Some(&Value::from(more))),
        Some(_) => return Err(NoOp::MalformedState.into()),
    }
    Ok(())
}

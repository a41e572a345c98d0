//! Other spellings of the same JSON: numbers, escapes, white space, the order of members.
//!
//! Knows: JSON. Never knows: methods, which program writes which spelling.
//!
//! Start at [`written`]. Source: RFC 8259.

use super::json::{Number, Value};

/// Calls `visit` for a value and for every value in it, outer values first.
pub fn walk(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| walk(member, visit)),
        _ => {}
    }
}

/// The bound up to which a float represents every integer exactly.
const EXACT: u64 = 1 << 53;

/// Turns an integer into the same number with a zero fraction, such as `1.0`.
pub fn add_fraction(value: &mut Value) {
    let exact = value.as_i64().filter(|number| number.unsigned_abs() < EXACT);
    if let Some(number) = exact.and_then(|number| Number::from_f64(number as f64)) {
        *value = Value::Number(number);
    }
}

/// Adds a zero fraction to the id of a message, or to all integers of the message except its id.
pub fn add_fractions(message: &mut Value, of: FractionPlace) {
    let Value::Object(members) = message else { return };
    for (name, member) in members.iter_mut() {
        match (name == "id", of) {
            (true, FractionPlace::Id) => add_fraction(member),
            (false, FractionPlace::Rest) => walk(member, &mut add_fraction),
            _ => {}
        }
    }
}

/// The integers of a message to which a zero fraction is added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FractionPlace {
    /// The integer in the id of the message.
    Id,
    /// All integers of the message except the id.
    Rest,
}

/// Reverses the order of the members of an object.
pub fn reverse_members(value: &mut Value) {
    if let Value::Object(members) = value {
        let mut all: Vec<_> = std::mem::take(members).into_iter().collect();
        all.reverse();
        *members = all.into_iter().collect();
    }
}

/// Returns a whole number with an exponent, such as `1e0`, if a float represents the number exactly. Returns
/// the usual spelling of other numbers.
pub fn with_exponent(number: &Number) -> String {
    match number.as_u64().filter(|whole| *whole < EXACT) {
        Some(whole) => format!("{whole}e0"),
        None => number.to_string(),
    }
}

/// The functions that write the numbers and strings of a value.
#[derive(Clone, Copy, Debug)]
pub struct LeafForm {
    /// The function that writes a number.
    pub number: fn(&Number) -> String,
    /// The function that writes a string or the name of a member, with its quotation marks.
    pub string: fn(&str) -> String,
}

/// The usual spelling of numbers and strings in JSON.
pub const USUAL: LeafForm =
    LeafForm { number: Number::to_string, string: |text| Value::from(text).to_text() };

/// Returns the text of a value with this spelling of numbers and strings.
pub fn written(value: &Value, form: LeafForm) -> String {
    match value {
        Value::Number(number) => (form.number)(number),
        Value::String(text) => (form.string)(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| written(item, form)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut texts = Vec::new();
            for (name, member) in members {
                texts.push(format!("{}:{}", (form.string)(name), written(member, form)));
            }
            format!("{{{}}}", texts.join(","))
        }
        other => other.to_text(),
    }
}

/// Returns the text of a value in which slashes and all characters outside ASCII are escaped.
pub fn written_in_ascii(value: &Value) -> String {
    let string = |text: &str| escaped(text, |letter| !letter.is_ascii());
    written(value, LeafForm { string, ..USUAL })
}

/// Returns the text of a value in which slashes and all letters are escaped, including names.
pub fn written_in_escapes(value: &Value) -> String {
    let string = |text: &str| escaped(text, char::is_alphabetic);
    written(value, LeafForm { string, ..USUAL })
}

/// Returns a JSON string in which the characters that `escapes` selects are escaped, in addition to the
/// characters that JSON requires to be escaped.
pub fn escaped(text: &str, escapes: fn(char) -> bool) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        if letter == '/' {
            out.push_str("\\/");
        } else if escapes(letter) || letter.is_control() || matches!(letter, '"' | '\\') {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(letter);
        }
    }
    out.push('"');
    out
}

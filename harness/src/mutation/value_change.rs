//! Changes of values in a message: strings, lists, and templates with placeholders.
//!
//! Knows: JSON values. Never knows: captures, rules.
//!
//! Start at [`TextChange`] and [`ListChange`].

use crate::wire::built_in::built_in;
use crate::wire::json::{Map, Value, json};

/// An identifier that no object has.
pub(super) const UNKNOWN: &str = "nobody-made-this-id";

/// A change of a string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TextChange {
    /// The last character is removed.
    Cut,
    /// The first half is removed.
    Half,
    /// The string is repeated.
    Twice,
    /// The characters are reversed.
    Turned,
    /// Some characters are appended.
    More,
    /// The string becomes empty.
    Empty,
    /// A client's secret is appended.
    Secret,
    /// A replacement character (U+FFFD) is appended, as if the string had been cut within the UTF-8 bytes of a
    /// character.
    Broken,
}

/// A change of a list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListChange {
    /// The list becomes empty.
    Empty,
    /// The first item is removed.
    WithoutFirst,
    /// The last item is removed.
    WithoutLast,
    /// The first item is repeated at the end.
    Twice,
    /// The items are reversed.
    Turned,
    /// An item with unknown identifiers is added.
    Stranger,
}

impl TextChange {
    pub(super) fn of(self, text: &str, secret: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        match self {
            TextChange::Cut => chars[..chars.len().saturating_sub(1)].iter().collect(),
            TextChange::Half => chars[chars.len() / 2..].iter().collect(),
            TextChange::Twice => format!("{text}{text}"),
            TextChange::Turned => chars.iter().rev().collect(),
            TextChange::More => format!("{text} and more"),
            TextChange::Empty => String::new(),
            TextChange::Secret => format!("{text} {secret}"),
            TextChange::Broken => format!("{text}\u{fffd}"),
        }
    }
}

impl ListChange {
    pub(super) fn apply(self, items: &mut Vec<Value>) {
        match self {
            ListChange::Empty => items.clear(),
            ListChange::WithoutFirst => drop((!items.is_empty()).then(|| items.remove(0))),
            ListChange::WithoutLast => drop(items.pop()),
            ListChange::Twice => {
                if let Some(first) = items.first().cloned() {
                    items.push(first);
                }
            }
            ListChange::Turned => items.reverse(),
            ListChange::Stranger => items.push(match items.first() {
                Some(Value::Object(map)) => Value::Object(strange(map)),
                _ => json!("ahp-session:/nobody-made-this-id"),
            }),
        }
    }
}

/// Returns a copy of an object with identifiers that do not exist.
fn strange(map: &Map) -> Map {
    let mut map = map.clone();
    for name in ["id", "resource", "uri", "clientId"] {
        if let Some(Value::String(text)) = map.get(name) {
            let strange = format!("{text}-{UNKNOWN}");
            map.insert(name, json!(strange));
        }
    }
    map
}

/// Fills in a template's placeholders from the preceding envelope. Returns `None` if a placeholder has no
/// value.
pub(super) fn filled(template: &str, envelope: &Value) -> Option<Value> {
    let mut action = built_in(template, Value::read(template));
    fill(&mut action, envelope).then_some(action)
}

fn fill(value: &mut Value, envelope: &Value) -> bool {
    match value {
        Value::String(text) => {
            let Some(name) = text.strip_prefix('$') else { return true };
            let found = match name {
                "unknown" => Some(json!(UNKNOWN)),
                "channel" => envelope.get("channel").cloned(),
                name => envelope.pointer(&format!("/action/{}", name.replace('.', "/"))).cloned(),
            };
            found.map(|found| *value = found).is_some()
        }
        Value::Array(items) => items.iter_mut().all(|item| fill(item, envelope)),
        Value::Object(map) => map.iter_mut().all(|(_, item)| fill(item, envelope)),
        _ => true,
    }
}

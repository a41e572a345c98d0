//! Rewrites that rename identifiers or renumber actions.

use std::collections::HashMap;

use crate::dice::Dice;
use crate::transcript::ConnectionEvent;
use crate::transcript::line::TranscriptLine;
use crate::wire::json::{Map, Text, Value, json};

use super::super::capture::{edit, message_of};
use super::super::pointer;
use super::super::renumber::renumber;

/// The members that hold the text of messages. A delta may split an identifier in such text, so these members are not
/// changed.
pub(in crate::mutation) const TEXTS: &[&str] = &[
    "content",
    "text",
    "data",
    "output",
    "value",
    "invocationMessage",
    "pastTenseMessage",
    "toolInput",
    "partialInput",
    "message",
    "title",
    "rejectionReason",
    "token",
    "commandLine",
    "label",
];

/// The minimum length of a name that is replaced; shorter names may occur by coincidence.
const LEAST: usize = 2;

/// A change of all `serverSeq` numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NumberForm {
    /// Adds this amount.
    Shifted(u64),
    /// Multiplies by this factor.
    Times(u64),
    /// Leaves random gaps.
    Gaps,
}

/// Replaces the values of these members everywhere.
pub(in crate::mutation) fn rename(lines: &mut [TranscriptLine], members: &[&str], dice: &mut Dice) {
    let mut names: HashMap<String, String> = HashMap::new();
    for value in lines.iter().filter_map(message_of) {
        for member in members {
            for place in pointer::places(value, &format!("/**/{member}")) {
                let Some(Value::String(text)) = value.pointer(&place) else { continue };
                let tail = text.rsplit(['/', ':']).next().unwrap_or_default();
                if tail.len() >= LEAST && !names.contains_key(tail) {
                    let new = format!("renamed-{:x}-{}", dice.roll() & 0xffff, names.len());
                    names.insert(tail.to_owned(), new);
                }
            }
        }
    }
    // A name without a digit or hyphen may be a word of the protocol, so it is kept.
    names.retain(|name, _| name.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-'));
    for line in lines {
        edit(line, |value| {
            *value = renamed(value, &names);
            true
        });
    }
}

fn renamed(value: &Value, names: &HashMap<String, String>) -> Value {
    match value {
        Value::String(text) => json!(replaced(text, names)),
        Value::Array(items) => items.iter().map(|item| renamed(item, names)).collect(),
        Value::Object(map) => {
            let members = map.iter().map(|(name, value)| {
                let is_text = TEXTS.contains(&name.as_str()) && value.is_string();
                let value = if is_text { value.clone() } else { renamed(value, names) };
                (Text::from(replaced(name, names)), value)
            });
            Value::Object(members.collect::<Map>())
        }
        other => other.clone(),
    }
}

/// Returns a string in which every word that is a name is replaced by its new name.
fn replaced(text: &str, names: &HashMap<String, String>) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (before, after) = rest.split_at(word);
        out.push_str(names.get(before).map_or(before, String::as_str));
        let gap = after.find(is_word).unwrap_or(after.len());
        // A percent-encoded character is not part of the next word.
        let escape = if after.starts_with('%') && after.len() >= 3 && after.is_char_boundary(3) {
            3
        } else {
            gap
        };
        out.push_str(&after[..escape]);
        rest = &after[escape..];
    }
    out
}

/// Renames the connections.
pub(in crate::mutation) fn rename_connections(lines: &mut [TranscriptLine]) {
    for line in lines.iter_mut().filter(|line| !line.conn.is_empty()) {
        line.conn = format!("wire {}", line.conn);
        if let ConnectionEvent::Open { client, .. } = &mut line.event {
            client.clone_from(&line.conn);
        }
    }
}

/// Replaces all `serverSeq` numbers by other numbers in the same order.
pub(in crate::mutation) fn renumbered(
    lines: &mut [TranscriptLine],
    form: NumberForm,
    dice: &mut Dice,
) {
    let seed = dice.roll();
    let gap = |number: u64| 3 * number + Dice::new(seed, number).roll() % 3;
    renumber(lines, &|number| match form {
        // Number 0 means "before the first action" in any numbering.
        _ if number == 0 => 0,
        NumberForm::Shifted(more) => number + more,
        NumberForm::Times(times) => number * times,
        NumberForm::Gaps => gap(number),
    });
}

/// Increases each `clientSeq` by the amount `more`.
pub(in crate::mutation) fn client_numbers(lines: &mut [TranscriptLine], more: i64) {
    for line in lines {
        edit(line, |value| {
            for place in pointer::places(value, "/**/clientSeq") {
                if let Some(number) = value.pointer(&place).and_then(Value::as_i64)
                    && let Some(found) = value.pointer_mut(&place)
                {
                    *found = json!(number + more);
                }
            }
            true
        });
    }
}

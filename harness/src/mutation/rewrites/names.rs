//! Other names and numbers for the same things.

use std::collections::HashMap;

use crate::dice::Dice;
use crate::transcript::ConnectionEvent;
use crate::transcript::line::TranscriptLine;
use crate::wire::json::{Map, Text, Value, json};

use super::super::capture::{edit, message_of};
use super::super::pointer;
use super::super::renumber::renumber;

/// Members that hold what people say: an id in them may be cut in two by a delta.
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

/// Shorter names may be something else by chance.
const LEAST: usize = 2;

/// How numbers of the host become others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NumberForm {
    /// Each is so much more.
    Shifted(u64),
    /// Each is so many times as much.
    Times(u64),
    /// There are gaps between them, by chance.
    Gaps,
}

/// The values of these members have other names, wherever they stand.
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
    // A name that a text of the protocol has too is left alone.
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

/// A text in which every word that is a name has its new name.
fn replaced(text: &str, names: &HashMap<String, String>) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (before, after) = rest.split_at(word);
        out.push_str(names.get(before).map_or(before, String::as_str));
        let gap = after.find(is_word).unwrap_or(after.len());
        // What a percent sign stands for is no part of the next word.
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

/// Connections have other names.
pub(in crate::mutation) fn rename_connections(lines: &mut [TranscriptLine]) {
    for line in lines.iter_mut().filter(|line| !line.conn.is_empty()) {
        line.conn = format!("wire {}", line.conn);
        if let ConnectionEvent::Open { client, .. } = &mut line.event {
            client.clone_from(&line.conn);
        }
    }
}

/// The host's numbers are others.
pub(in crate::mutation) fn renumbered(
    lines: &mut [TranscriptLine],
    form: NumberForm,
    dice: &mut Dice,
) {
    let seed = dice.roll();
    let gap = |number: u64| 3 * number + Dice::new(seed, number).roll() % 3;
    renumber(lines, &|number| match form {
        // Nothing was accepted before the first action, whatever the numbers are.
        _ if number == 0 => 0,
        NumberForm::Shifted(more) => number + more,
        NumberForm::Times(times) => number * times,
        NumberForm::Gaps => gap(number),
    });
}

/// The clients' own numbers are others.
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

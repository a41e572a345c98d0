//! Writes values as readable YAML: a short value on one line, a long value with a line per member.

use crate::wire::foreign_text::yaml;
use crate::wire::json::Value;

/// The maximum width of a line, in columns.
const WIDTH: usize = 100;
/// The words that some YAML tools do not read as strings.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WrittenTree {
    Value(Value),
    List(Vec<WrittenTree>),
    Map(Vec<(String, WrittenTree)>),
}

/// A step with its verb and its members.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenStep {
    pub verb: &'static str,
    pub members: Vec<(&'static str, WrittenTree)>,
}

impl WrittenTree {
    pub(crate) fn text(text: &str) -> WrittenTree {
        WrittenTree::Value(Value::from(text))
    }

    pub(crate) fn texts(texts: &[String]) -> WrittenTree {
        WrittenTree::List(texts.iter().map(|text| WrittenTree::text(text)).collect())
    }

    pub(crate) fn map(members: Vec<(&str, WrittenTree)>) -> WrittenTree {
        WrittenTree::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Converts a value. Each member of the value may get a separate line.
    pub(crate) fn of(value: &Value) -> WrittenTree {
        match value {
            Value::Array(items) => WrittenTree::List(items.iter().map(WrittenTree::of).collect()),
            Value::Object(members) => WrittenTree::Map(
                members
                    .iter()
                    .map(|(key, value)| (key.to_string(), WrittenTree::of(value)))
                    .collect(),
            ),
            scalar => WrittenTree::Value(scalar.clone()),
        }
    }

    /// Appends the value on one line.
    fn flow(&self, out: &mut String) {
        match self {
            WrittenTree::Value(Value::String(text)) => scalar(out, text),
            WrittenTree::Value(value) => out.push_str(&value.to_text()),
            WrittenTree::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.flow(out);
                }
                out.push(']');
            }
            WrittenTree::Map(members) if members.is_empty() => out.push_str("{}"),
            WrittenTree::Map(members) => {
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "{ " } else { ", " });
                    scalar(out, key);
                    out.push_str(": ");
                    value.flow(out);
                }
                out.push_str(" }");
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            WrittenTree::Value(_) => true,
            WrittenTree::List(items) => items.is_empty(),
            WrittenTree::Map(members) => members.is_empty(),
        }
    }
}

/// Appends a step.
pub(crate) fn step(out: &mut String, step: &WrittenStep) {
    let members = WrittenTree::map(step.members.clone());
    let mut line = format!("  - {}: ", step.verb);
    match step.members.as_slice() {
        [] => line = format!("  - {}:", step.verb),
        _ => members.flow(&mut line),
    }
    if line.chars().count() <= WIDTH {
        out.push_str(&line);
        out.push('\n');
        return;
    }
    out.push_str(&format!("  - {}:\n", step.verb));
    for (key, value) in &step.members {
        member(out, 6, key, value);
    }
}

/// Appends a member, on one line if the line is not too long.
pub(crate) fn member(out: &mut String, indent: usize, key: &str, value: &WrittenTree) {
    let start = out.len();
    out.extend(std::iter::repeat_n(' ', indent));
    scalar(out, key);
    out.push(':');
    let mut flow = String::new();
    value.flow(&mut flow);
    let fits = out[start..].chars().count() + 1 + flow.chars().count() <= WIDTH;
    if fits || value.is_empty() {
        out.push(' ');
        out.push_str(&flow);
        out.push('\n');
        return;
    }
    out.push('\n');
    below(out, indent + 2, value);
}

/// Appends a value that is too long for one line, with one line per entry.
fn below(out: &mut String, indent: usize, value: &WrittenTree) {
    match value {
        WrittenTree::Map(members) => {
            members.iter().for_each(|(key, value)| member(out, indent, key, value));
        }
        WrittenTree::List(items) => {
            for item in items {
                let mut flow = String::new();
                item.flow(&mut flow);
                out.extend(std::iter::repeat_n(' ', indent));
                out.push('-');
                if item.is_empty() || indent + 2 + flow.chars().count() <= WIDTH {
                    out.push(' ');
                    out.push_str(&flow);
                    out.push('\n');
                } else {
                    out.push('\n');
                    below(out, indent + 2, item);
                }
            }
        }
        WrittenTree::Value(_) => {}
    }
}

/// Appends a string. If a YAML reader could interpret the unquoted string as another value, the string is quoted as in
/// JSON, which is also valid YAML.
fn scalar(out: &mut String, text: &str) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    let bare = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if bare {
        out.push_str(text);
    } else {
        out.push_str(&yaml(&Value::from(text).to_text()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_texts_that_read_back_unchanged() {
        let check = |text: &str, expected: &str| {
            let mut out = String::new();
            scalar(&mut out, text);
            assert_eq!(out, expected);
        };
        check("chat/turnStarted", "chat/turnStarted");
        check("on", "\"on\"");
        check("1a", "\"1a\"");
        check("", "\"\"");
        check("a: b", "\"a: b\"");
        check("${x}", "\"${x}\"");
        check("\u{7}\n\"", "\"\\u0007\\n\\\"\"");
    }

    #[test]
    fn breaks_long_lines() {
        let long = WrittenTree::text(&"x".repeat(95));
        let value =
            WrittenTree::map(vec![("a", long.clone()), ("b", WrittenTree::List(vec![long]))]);
        let mut out = String::new();
        member(&mut out, 2, "k", &value);
        let x = "x".repeat(95);
        assert_eq!(out, format!("  k:\n    a: {x}\n    b:\n      - {x}\n"));
    }
}

//! Formats excerpts of messages on several lines. Long messages are shortened, but never before the member that a
//! finding is about.
//!
//! Start at [`of`].

use crate::wire::json::{Map, Value};

/// The forms of an excerpt, from the longest to the shortest, each with its limits: the bytes of a string, the items of
/// a list, the nesting depth. The first form that is short enough is used.
const FORMS: [(usize, usize, usize); 4] = [(2_000, 100, 64), (160, 12, 64), (80, 4, 6), (40, 2, 4)];

/// Formats a message in at most `most` bytes. `members` are names of members that stay complete wherever they
/// occur, even if the result exceeds the limit.
pub fn of(message: &Value, members: &[&str], most: usize) -> String {
    let mut text = String::new();
    for form in FORMS {
        let value = shortened(message, members, form, 0);
        text = match most {
            // A short excerpt is written on one line.
            0..1_000 => value.to_text(),
            // Serialization to memory cannot fail.
            _ => serde_json::to_string_pretty(&value).unwrap_or_default(),
        };
        if text.len() <= most {
            return text;
        }
    }
    match members {
        [] => cut(&text, most),
        // The excerpt must contain the members that the finding is about, even if the excerpt exceeds the limit.
        _ => {
            let after = |from: usize, name: &&str| {
                let rest = text.get(from..).unwrap_or_default();
                rest.find(&format!("\"{name}\":")).map_or(from, |at| from + at)
            };
            cut(&text, most.max(members.iter().fold(0, after) + most / 2))
        }
    }
}

/// The typical length of the words that state how many bytes are omitted.
const MORE: usize = " … 1000 bytes more".len();

/// Returns the beginning of a string, with the number of omitted bytes.
pub fn cut(text: &str, most: usize) -> String {
    let shown = beginning(text, most);
    match text.len() - shown.len() {
        // The words about the omitted bytes would be longer than the omitted bytes.
        more if more <= MORE => text.to_owned(),
        more => format!("{shown} … {more} bytes more"),
    }
}

/// Returns the beginning of a string, at most this many bytes.
pub fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn shortened(value: &Value, members: &[&str], form: (usize, usize, usize), depth: usize) -> Value {
    let (letters, items, deepest) = form;
    match value {
        Value::String(text) if text.len() > letters => {
            let shown = beginning(text, letters * 3 / 4);
            let more = text.len() - shown.len();
            Value::from(format!("{shown} … {more} bytes more"))
        }
        Value::Array(all) if depth >= deepest && !all.is_empty() => {
            Value::from(format!("… {} items", all.len()))
        }
        Value::Array(all) => {
            let shown = all.iter().take(items);
            let mut list: Vec<Value> =
                shown.map(|item| shortened(item, members, form, depth + 1)).collect();
            if all.len() > items {
                list.push(Value::from(format!("… {} items more", all.len() - items)));
            }
            Value::Array(list)
        }
        Value::Object(all) => {
            let named = |name: &str| members.contains(&name);
            if depth >= deepest && !all.is_empty() && !all.iter().any(|(name, _)| named(name)) {
                return Value::from(format!("… {} members", all.len()));
            }
            let kept = all.iter().map(|(name, value)| {
                let value = match named(name) {
                    true => shortened(value, members, FORMS[0], 0),
                    false => shortened(value, members, form, depth + 1),
                };
                (name.clone(), value)
            });
            Value::Object(kept.collect::<Map>())
        }
        other => other.clone(),
    }
}

/// Returns the member names in a path such as `turns[0].message`.
pub fn members_of(path: &str) -> Vec<String> {
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    let names = parts.filter(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
    names.map(str::to_owned).collect()
}

/// Returns the path in the message of a failure: the text between ``at ` `` and the next `` ` ``.
pub fn path_in(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("at `")?;
    let (path, _) = rest.split_once('`')?;
    (!path.is_empty() && !path.contains([' ', '/', ':'])).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn the_member_in_question_is_never_cut() {
        let long = "x".repeat(10_000);
        let message = json!({"params": {
            "a": long, "items": (0..500).collect::<Vec<_>>(), "deep": {"b": {"c": {"d": {"e": {"f": {"enabled": false}}}}}},
            "z": long,
        }});
        let text = of(&message, &["deep", "enabled"], 5_000);
        assert!(text.contains("\"enabled\": false"), "{text}");
        assert!(text.len() < 6_000, "{}", text.len());
        assert!(text.contains("items more") && text.contains("bytes more"), "{text}");
    }

    #[test]
    fn short_messages_stay_unchanged() {
        let message = json!({"id": 1, "result": {"a": [1, 2]}});
        assert_eq!(of(&message, &[], 500), message.to_text());
        assert!(of(&message, &[], 5_000).contains("\n  \"id\": 1"));
    }

    #[test]
    fn a_cut_text_is_shorter_than_the_whole() {
        assert_eq!(cut(&"x".repeat(302), 300).len(), 302);
        assert!(cut(&"x".repeat(400), 300).ends_with("x … 100 bytes more"));
    }

    #[test]
    fn finds_the_path_of_a_message() {
        let check = |message: &str, expected: Option<&str>| assert_eq!(path_in(message), expected);
        check("closest message at `action.turnId`: expected \"t2\"", Some("action.turnId"));
        check("state at `turns[0].message`: expected nothing", Some("turns[0].message"));
        check("expected the action to come back", None);
        check("at ``: expected", None);
        assert_eq!(members_of("turns[0].message.text"), ["turns", "message", "text"]);
    }
}

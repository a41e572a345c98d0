//! JSON pointers with wildcards: `*` matches any member or item, and `**` matches any path to a deeper level.
//!
//! Knows: JSON. Never knows: the protocol.

use crate::wire::json::Value;

/// The maximum number of matches, which bounds the time for large values.
const MOST: usize = 4_096;

/// Returns the places that a pattern matches, as JSON pointers.
pub(super) fn places(value: &Value, pattern: &str) -> Vec<String> {
    let steps: Vec<&str> = pattern.split('/').skip(1).collect();
    let mut found = Vec::new();
    walk(value, &steps, String::new(), &mut found);
    found
}

fn walk(value: &Value, steps: &[&str], at: String, found: &mut Vec<String>) {
    if found.len() >= MOST {
        return;
    }
    let Some((step, rest)) = steps.split_first() else {
        found.push(at);
        return;
    };
    match *step {
        "*" => children(value, &at, &mut |child, place| walk(child, rest, place, found)),
        "**" => {
            walk(value, rest, at.clone(), found);
            children(value, &at, &mut |child, place| walk(child, steps, place, found));
        }
        name => {
            let child = match value {
                Value::Array(items) => name.parse().ok().and_then(|it: usize| items.get(it)),
                other => other.get(name),
            };
            if let Some(child) = child {
                walk(child, rest, format!("{at}/{name}"), found);
            }
        }
    }
}

fn children(value: &Value, at: &str, tell: &mut dyn FnMut(&Value, String)) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                tell(item, format!("{at}/{index}"));
            }
        }
        Value::Object(map) => {
            for (name, item) in map.iter() {
                tell(item, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")));
            }
        }
        _ => {}
    }
}

/// Splits a pointer into its parent and its last step, which is unescaped.
pub(super) fn split(place: &str) -> Option<(&str, String)> {
    let (above, last) = place.rsplit_once('/')?;
    Some((above, last.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn patterns_find_places() {
        let value = json!({"a": [{"b": 1}, {"b": 2, "c": {"b": 3}}], "x/y": 4});
        let check = |pattern: &str, expected: &[&str]| {
            assert_eq!(places(&value, pattern), expected, "{pattern}");
        };
        check("/a/0/b", &["/a/0/b"]);
        check("/a/*/b", &["/a/0/b", "/a/1/b"]);
        check("/**/b", &["/a/0/b", "/a/1/b", "/a/1/c/b"]);
        check("/a/7", &[]);
        check("/*", &["/a", "/x~1y"]);
        check("", &[""]);
    }
}

//! The forms of single values beyond their JSON type: times, counts and URIs.
//!
//! Knows: the form of each value in a client's action. Never knows: the meaning of the values.
//!
//! Start at [`fitting`].

use crate::wire::json::Value;
use crate::wire::timestamp;

use super::members::given;

/// The form of a value beyond its JSON type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ScalarForm {
    Time,
    Count,
    Uri,
}

use ScalarForm::{Count, Time, Uri};

/// Members with their forms. Dots separate the steps of a path. If a step of a path is a list, the path continues in
/// each of its items.
pub(super) type ScalarMembers = &'static [(&'static str, ScalarForm)];

/// Returns whether a value has a form, and the name of the form; `None` if the form does not apply to values of this
/// JSON type.
pub(super) fn fitting(form: ScalarForm, value: &Value) -> Option<(bool, &'static str)> {
    Some(match (form, value) {
        (Time, Value::String(text)) => (timestamp::parse(text).is_some(), "a time as ISO 8601"),
        (Uri, Value::String(text)) => (is_uri(text), "a URI"),
        (Count | Time, Value::Number(number)) => {
            (number.as_f64().is_none_or(|it| it >= 0.0), "a number that is not negative")
        }
        _ => return None,
    })
}

/// Returns whether the values of a client's action have their form. A value of the right JSON type in a wrong form
/// makes an action invalid.
pub(super) fn has_valid_scalars(action_type: &str, action: &Value) -> bool {
    let members: ScalarMembers = match action_type {
        "chat/turnStarted" => &[("startedAt", Time)],
        "chat/turnCancelled" | "chat/turnComplete" => &[("duration", Count)],
        "terminal/resized" => &[("cols", Count), ("rows", Count)],
        "session/workingDirectorySet"
        | "session/workingDirectoryRemoved"
        | "session/workingDirectoryReplaced"
        | "chat/workingDirectorySet"
        | "chat/workingDirectoryRemoved" => &[("directory", Uri)],
        _ => &[],
    };
    members.iter().all(|(name, form)| {
        let value = given(action, name).and_then(|value| fitting(*form, value));
        value.is_none_or(|(fits, _)| fits)
    })
}

/// Returns whether a string has a scheme, a colon, and no spaces. Source: RFC 3986, section 3.
fn is_uri(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(inside)
        && !text.contains(|c: char| c.is_control() || c == ' ')
}

#[cfg(test)]
mod tests {
    use super::is_uri;

    #[test]
    fn knows_uris() {
        for good in ["ahp-root://", "file:///a%20b", "x:", "ahp-chat:/é"] {
            assert!(is_uri(good), "{good}");
        }
        for bad in ["", "/a", ":a", "1:a", "a b:c", "file:///a b", "c\u{7}:"] {
            assert!(!is_uri(bad), "{bad}");
        }
    }
}

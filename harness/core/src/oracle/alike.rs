//! Groups the findings of a check by their likely cause, which is derived from their messages.
//!
//! Knows: messages, the names of the protocol. Never knows: checks.
//!
//! Start at [`alike`].

use crate::wire::protocol::Protocol;
use crate::wire::version::PUBLISHED;

/// The maximum length of the text that [`alike`] returns, in characters.
const LONG: usize = 160;

/// Returns a message without the parts that differ from case to case: names of clients, ids, numbers, values.
/// Two findings of one rule with the same result most likely have the same cause.
pub fn alike(message: &str) -> String {
    let mut result = String::new();
    let mut quoted = false;
    let mut word = String::new();
    for c in message.chars() {
        // A message may quote 1 MiB of a host, so only its beginning is read; the result is short in any case.
        if result.len() > LONG * char::MAX.len_utf8() {
            break;
        }
        if c == '`' {
            if quoted {
                // Names of the protocol distinguish causes. Other quoted words are values.
                let plain = word.chars().all(|c| c.is_ascii_alphabetic() || c == '.');
                let known = plain && word.len() > 1 || is_of_protocol(&word);
                result.push_str(if known { &word } else { "_" });
            }
            word.clear();
            quoted = !quoted;
        } else if quoted {
            word.push(c);
        } else if c.is_ascii_digit() {
            if !result.ends_with('#') {
                result.push('#');
            }
        } else {
            result.push(c);
        }
    }
    result.chars().take(LONG).collect()
}

/// Returns whether a word is a method or an action type of any version.
fn is_of_protocol(word: &str) -> bool {
    word.contains('/')
        && PUBLISHED
            .iter()
            .filter_map(|version| Protocol::of(*version))
            .any(|protocol| protocol.method(word).is_some() || protocol.action(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_protocol_are_kept_and_values_are_not() {
        let one = alike("expected `chat/delta` of `ahp-chat:/1` above 5, found 4");
        assert_eq!(one, alike("expected `chat/delta` of `ahp-chat:/77` above 61, found 60"));
        assert_ne!(one, alike("expected `chat/usage` of `ahp-chat:/1` above 5, found 4"));
    }
}

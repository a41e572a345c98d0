//! Determines the URI form that a host uses for the chats of a session.
//!
//! A client chooses the URIs of the chats that it creates. The specification shows `ahp-chat:/<id>` and does not fix
//! the authority and the path. A host may use another form for its own chats, for example a form that contains the
//! session, and accept no other form. If such a host refuses a request because of the URI's form, the refusal says
//! nothing about the requirement under test. In a scenario, the URI of a new chat therefore has the form that the host
//! used for its first chat.
//!
//! Knows: the forms of chat URIs that contain a session URI. Never knows: the source of the URIs.
//!
//! Start at [`chat_uri`].

use data_encoding::{BASE64URL, BASE64URL_NOPAD};

/// The scheme of the URIs of chats.
const SCHEME: &str = "ahp-chat:";

/// A part of a URI.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FormPart<'a> {
    /// Text that is the same in the URI of every chat.
    Fixed(&'a str),
    /// The URI of the session, in this spelling.
    Session(SessionSpelling),
    /// The identifier of the chat.
    Id,
}

/// A way to write the URI of a session inside the URI of a chat.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SessionSpelling {
    /// The whole URI in Base64 for URLs; `true` means with padding.
    Base64(bool),
    /// The whole URI, with `:` and `/` percent-encoded.
    Percent,
    /// The path of the URI without its leading slash.
    Path,
}

/// Every spelling. The longer spellings come first.
const SPELLINGS: [SessionSpelling; 4] = [
    SessionSpelling::Base64(true),
    SessionSpelling::Base64(false),
    SessionSpelling::Percent,
    SessionSpelling::Path,
];

impl SessionSpelling {
    fn of(self, session: &str) -> String {
        match self {
            SessionSpelling::Base64(true) => BASE64URL.encode(session.as_bytes()),
            SessionSpelling::Base64(false) => BASE64URL_NOPAD.encode(session.as_bytes()),
            SessionSpelling::Percent => session.replace(':', "%3A").replace('/', "%2F"),
            SessionSpelling::Path => {
                let path = session.split_once(':').map_or(session, |(_, path)| path);
                path.trim_start_matches('/').to_owned()
            }
        }
    }
}

/// Returns the URI of a chat of `session` with this identifier. `known` is the URI of a chat that the host created,
/// with the session of that chat; the result has the same form as that URI. The result is `ahp-chat:/<id>` if no chat
/// is known, or if no part of the known URI can be an identifier.
pub fn chat_uri(id: &str, session: &str, known: Option<(&str, &str)>) -> String {
    let parts = known.and_then(|(chat, owner)| parts(chat.strip_prefix(SCHEME)?, owner));
    let Some(parts) = parts else { return format!("{SCHEME}/{id}") };
    let texts = parts.into_iter().map(|part| match part {
        FormPart::Fixed(text) => text.to_owned(),
        FormPart::Session(spelling) => spelling.of(session),
        FormPart::Id => id.to_owned(),
    });
    std::iter::once(SCHEME.to_owned()).chain(texts).collect()
}

/// Splits a chat's URI after the scheme into parts; `None` if the URI contains no identifier.
fn parts<'a>(rest: &'a str, owner: &str) -> Option<Vec<FormPart<'a>>> {
    let session = SPELLINGS.iter().find_map(|spelling| {
        let text = spelling.of(owner);
        let at = rest.find(&text).filter(|_| !text.is_empty())?;
        Some((at, at + text.len(), *spelling))
    });
    let Some((start, end, spelling)) = session else {
        return with_id(rest).map(Vec::from);
    };
    let (before, after) = (&rest[..start], &rest[end..]);
    // An identifier after the session's URI is preferred. Without one, an identifier before the session's URI is used,
    // because it also distinguishes the chats of one session.
    let whole = match (with_id(after), with_id(before)) {
        (Some(id), _) => {
            [&[FormPart::Fixed(before), FormPart::Session(spelling)][..], &id].concat()
        }
        (None, Some(id)) => {
            [&id, &[FormPart::Session(spelling), FormPart::Fixed(after)][..]].concat()
        }
        (None, None) => return None,
    };
    Some(whole)
}

/// Splits a string into parts, with one word as the identifier: the last word that looks generated, or else the last
/// word. Returns `None` if the string has no word.
fn with_id(text: &str) -> Option<[FormPart<'_>; 3]> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '%');
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive(|c| !is_word(c)) {
        let word = piece.trim_end_matches(|c| !is_word(c));
        if !word.is_empty() {
            words.push((start, word));
        }
        start += piece.len();
    }
    let looks_generated = |(at, word): &&(usize, &str)| {
        let is_port = text[..*at].ends_with(':');
        let is_hexadecimal = word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        is_hexadecimal && !is_port && word.chars().any(|c| c.is_ascii_digit())
    };
    let (start, word) = *words.iter().rfind(looks_generated).or(words.last())?;
    let end = start + word.len();
    Some([FormPart::Fixed(&text[..start]), FormPart::Id, FormPart::Fixed(&text[end..])])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "ahp-session:/0a-1";
    const OTHER: &str = "ahp-session:/2b-3";

    fn check(known: &str, expected: &str) {
        assert_eq!(chat_uri("new", OTHER, Some((known, ONE))), expected, "{known}");
    }

    #[test]
    fn names_a_chat_as_the_host_named_another_one() {
        check("ahp-chat:/7", "ahp-chat:/new");
        check("ahp-chat://host/7", "ahp-chat://host/new");
        check("ahp-chat:/chats/7/", "ahp-chat:/chats/new/");
        check("ahp-chat:/7?v=2", "ahp-chat:/7?v=new");
        check("ahp-chat://7c-2/own", "ahp-chat://new/own");
        check("ahp-chat://localhost:8080/main", "ahp-chat://localhost:8080/new");
        check(
            &format!("ahp-chat://default/{}", BASE64URL_NOPAD.encode(ONE.as_bytes())),
            &format!("ahp-chat://new/{}", BASE64URL_NOPAD.encode(OTHER.as_bytes())),
        );
        check(
            &format!("ahp-chat:/{}/7", BASE64URL.encode(ONE.as_bytes())),
            &format!("ahp-chat:/{}/new", BASE64URL.encode(OTHER.as_bytes())),
        );
        check("ahp-chat:/ahp-session%3A%2F0a-1/main", "ahp-chat:/ahp-session%3A%2F2b-3/new");
        check("ahp-chat:/sessions/0a-1/chats/main", "ahp-chat:/sessions/2b-3/chats/new");
        check("ahp-chat:/main/0a-1", "ahp-chat:/new/2b-3");
    }

    #[test]
    fn falls_back_to_the_form_that_the_protocol_shows() {
        assert_eq!(chat_uri("new", OTHER, None), "ahp-chat:/new");
        check("ahp-chat:/0a-1", "ahp-chat:/new");
        check("ahp-chat:/", "ahp-chat:/new");
        check("other:/7", "ahp-chat:/new");
        check("", "ahp-chat:/new");
    }
}

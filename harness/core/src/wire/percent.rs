//! Percent-encoding of URIs: the characters that stay unescaped in each part of a URI.
//!
//! Knows: RFC 3986. Never knows: the meaning of URIs.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The characters that are escaped in one segment of a path, or in a value: only the unreserved characters of RFC 3986
/// stay unescaped.
pub const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The characters that are escaped in a path: slashes also stay unescaped.
pub const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// The characters that are escaped where a URI template of RFC 6570 has `{+name}`: reserved characters also stay
/// unescaped.
pub const RESERVED: &AsciiSet = &PATH
    .remove(b':')
    .remove(b'?')
    .remove(b'#')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// Escapes every byte that is in the set `kept` or outside ASCII.
pub fn escaped(text: impl AsRef<[u8]>, kept: &'static AsciiSet) -> String {
    percent_encode(text.as_ref(), kept).to_string()
}

/// Decodes the escapes in a string. Other characters stay as they are.
pub fn decoded(text: &str) -> Cow<'_, [u8]> {
    percent_decode_str(text).into()
}

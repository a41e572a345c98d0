//! Percent-encoding of URIs: the characters that stay unescaped in each part of a URI.
//!
//! Knows: RFC 3986. Never knows: the meaning of URIs.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The set for one segment of a path, or for a value: only the unreserved characters of RFC 3986 stay
/// unescaped.
pub const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The set for a path: slashes also stay unescaped.
pub const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// The set for `{+name}` of RFC 6570: reserved characters also stay unescaped.
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

/// Escapes every byte that the set does not keep.
pub fn escaped(text: impl AsRef<[u8]>, kept: &'static AsciiSet) -> String {
    percent_encode(text.as_ref(), kept).to_string()
}

/// Decodes the escapes in a string. Other characters stay as they are.
pub fn decoded(text: &str) -> Cow<'_, [u8]> {
    percent_decode_str(text).into()
}

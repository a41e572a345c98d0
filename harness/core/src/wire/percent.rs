//! Percent-encoding of URIs: which characters stay as they are in which part.
//!
//! Knows: RFC 3986. Never knows: what a URI names.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// Keeps the unreserved characters of RFC 3986: for one segment of a path, or a value.
pub const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Keeps the slashes of a path, too.
pub const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// Keeps the reserved characters, too, as `{+name}` of RFC 6570 does.
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

/// Decodes the escapes of a text. What is no escape stays as it is.
pub fn decoded(text: &str) -> Cow<'_, [u8]> {
    percent_decode_str(text).into()
}

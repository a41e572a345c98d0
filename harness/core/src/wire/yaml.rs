//! Reads YAML text as events.
//!
//! The parser is generic over its input and therefore compiled in the package that uses it. Here every build
//! optimises it; in the package above, a build for tests spent half of the start of a command in it.

use granit_parser::Parser;
pub use granit_parser::{Event, ScalarStyle, ScanError, Span};

/// An event with its place in the text, or why the text cannot be read on.
pub type YamlEvent<'text> = Result<(Event<'text>, Span), ScanError>;

/// Hands the events of a text to a function, in order, until the text ends or the function returns false.
pub fn events(text: &str, each: &mut dyn FnMut(YamlEvent<'_>) -> bool) {
    for next in Parser::new_from_str(text) {
        if !each(next) {
            return;
        }
    }
}

//! Reads YAML text as events.
//!
//! The parser is generic over its input, so it is compiled in the package that calls it. This package is optimised in
//! every build. When the upper package called the parser, parsing took half of a command's start-up time in test
//! builds.

use granit_parser::Parser;
pub use granit_parser::{Event, ScalarStyle, ScanError, Span};

/// An event of the YAML parser with its place in the text, or the error that ends the reading.
pub type YamlEvent<'text> = Result<(Event<'text>, Span), ScanError>;

/// Passes the events of a text to a function, in order, until the text ends or the function returns `false`.
pub fn events(text: &str, each: &mut dyn FnMut(YamlEvent<'_>) -> bool) {
    for next in Parser::new_from_str(text) {
        if !each(next) {
            return;
        }
    }
}

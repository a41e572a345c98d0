//! Whether frames are what the version's tables say.
//!
//! Knows: what the tables found wrong. Never knows: the tables.

use std::fmt::Write;

use crate::transcript::Seen;
use crate::verdict::Weight;
use crate::wire::message::{Decoded, Kind, MAX_NESTING};
use crate::wire::validate::{Sender, ShapeError};

use super::catalogue::Rule;
use super::check::{Check, Sink};
use super::context::Context;
use super::step::Step;

/// Errors of one frame that a message names; the others are counted.
const MAX_NAMED: usize = 3;

/// The shape checks keep nothing.
pub(super) struct Shapes;

impl Check for Shapes {
    fn step(&mut self, cx: &Context, step: &Step<'_>, out: &mut Sink) {
        let Step::Frame { seen, sender, errors, checked } = step else {
            return;
        };
        match sender {
            Sender::Host => host(cx, seen, errors, *checked, out),
            Sender::Client => client(cx, seen, errors, out),
        }
    }
}

fn host(cx: &Context, seen: &Seen, errors: &[ShapeError], checked: bool, out: &mut Sink) {
    let line = [cx.now.line];
    out.seen(Rule::ShapeHost);
    let odd = match &seen.decoded {
        Decoded::Message(message) if checked => {
            out.seen(Rule::ShapeNullOptional);
            None.or_else(|| {
                (message.kind() == Kind::Malformed && errors.is_empty())
                    .then_some("no JSON-RPC message".to_owned())
            })
        }
        Decoded::Message(message) => {
            let tagged = message.value().get("jsonrpc").and_then(|tag| tag.as_str()) == Some("2.0");
            match (message.kind(), tagged) {
                (Kind::Malformed, _) => Some("an object of no kind of message".to_owned()),
                (_, false) => Some("a message without `jsonrpc`: `2.0`".to_owned()),
                _ => None,
            }
        }
        Decoded::Batch(items) => Some(format!("a batch of {}", items.len())),
        Decoded::Scalar(_) => Some("a JSON value that is no object".to_owned()),
        Decoded::Odd(why) => Some(why.clone()),
        Decoded::Deep => {
            let message = format!(
                "expected JSON nested at most {MAX_NESTING} levels deep, found more: the frame was not judged"
            );
            return out.weaker(Rule::ShapeHost, Weight::Note, message, &line);
        }
    };
    if let Some(odd) = odd {
        let message = format!("expected one JSON-RPC 2.0 message, found {odd}");
        out.broken(Rule::ShapeHost, message, &line);
    }
    if let Some(message) = list(errors, false) {
        out.broken(Rule::ShapeHost, message, &line);
    }
    if !is_refusal(seen)
        && let Some(message) = list(errors, true)
    {
        out.broken(Rule::ShapeNullOptional, message, &line);
    }
}

/// Whether the frame gives a client its own words back. Soft errors in them are the client's.
fn is_refusal(seen: &Seen) -> bool {
    seen.message().is_some_and(|message| message.params()["rejectionReason"].is_string())
}

fn client(cx: &Context, seen: &Seen, errors: &[ShapeError], out: &mut Sink) {
    let line = [cx.now.line];
    out.seen(Rule::ShapeHarness);
    let malformed = seen.message().is_none_or(|message| message.kind() == Kind::Malformed);
    let message = list(errors, false);
    if malformed && message.is_none() {
        let message = "the client's frame is no JSON-RPC 2.0 message".to_owned();
        out.weaker(Rule::ShapeHarness, Weight::Note, message, &line);
    }
    if let Some(message) = message {
        let message = format!("the client's frame: {message}");
        out.weaker(Rule::ShapeHarness, Weight::Note, message, &line);
    }
}

/// The first errors as one sentence.
fn list(errors: &[ShapeError], soft: bool) -> Option<String> {
    let mut chosen = errors.iter().filter(|error| error.soft == soft);
    let mut text = chosen.next()?.to_string();
    for error in chosen.by_ref().take(MAX_NAMED - 1) {
        let _ = write!(text, "; {error}");
    }
    match chosen.count() {
        0 => {}
        more => {
            let _ = write!(text, "; and {more} more");
        }
    }
    Some(text)
}

//! Checks that errors reveal no internals of the host, such as stack traces. Strings that the client itself sent are
//! permitted.
//!
//! Stack traces and home directories are useful only to an attacker.
//!
//! Knows: the form of stack traces and paths. Never knows: the causes of errors.
//!
//! Start at [`InternalsChecks`].

use crate::wire::json::Value;

use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::text;
use crate::oracle::step::{ActionDelivery, OracleStep};

/// The marks by which the checks recognise an internal message: strings that only the error messages of common
/// programming languages contain.
const MARKS: &[&str] = &[
    "panicked at ",
    "Traceback (most recent call last)",
    "goroutine ",
    "node_modules/",
    "node:internal/",
    "\n    at ",
    "\n\tat ",
    "stack backtrace:",
    "C:\\Users\\",
    ".cargo/registry/",
    "site-packages/",
];

/// The directories that contain the home directories of users, on systems whose paths begin with `/`.
const HOMES: &[&str] = &["home", "root", "Users"];

/// The checks of the strings in errors and rejections.
#[derive(Default)]
pub(super) struct InternalsChecks;

impl CheckFamily for InternalsChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Answered { request, message } => {
                if let Some(error) = message.error() {
                    look(cx, error, request.params(), out);
                }
            }
            OracleStep::Envelope(ActionDelivery { envelope, value, .. }) if envelope.rejected => {
                if let Some(reason) = text(value, "rejectionReason") {
                    told(cx, reason, envelope.action, out);
                }
            }
            _ => {}
        }
    }
}

/// Judges the message of an error and the strings in its data.
fn look(cx: &OracleContext, error: &Value, asked: &Value, out: &mut FindingSink) {
    let data = error.get("data");
    let stack = data.and_then(|data| text(data, "stack"));
    let whole = data.and_then(Value::as_str);
    for said in [text(error, "message"), stack, whole].into_iter().flatten() {
        told(cx, said, asked, out);
    }
}

/// Judges a string of the host. A mark of an internal message is not reported if the client's own request contains the
/// mark.
fn told(cx: &OracleContext, said: &str, asked: &Value, out: &mut FindingSink) {
    out.seen(Rule::NoInternals);
    let homes = HOMES.iter().map(|home| format!("/{home}/"));
    let mut marks = MARKS.iter().map(|mark| (*mark).to_owned()).chain(homes);
    let Some(mark) = marks.find(|mark| said.contains(mark)) else {
        return;
    };
    if asked.to_string().contains(&mark) {
        return;
    }
    let message = format!("expected no internals of the host in an error, found `{}`", mark.trim());
    out.broken(Rule::NoInternals, message, &[cx.now.line]);
}

//! Checks that frames match the tables of the negotiated version.
//!
//! Knows: the errors that the tables report. Never knows: the tables.

use std::fmt::Write;

use crate::transcript::SeenFrame;
use crate::verdict::Weight;
use crate::wire::feature::ProtocolFeature;
use crate::wire::frame::MAX_VALUES;
use crate::wire::message::{DecodedFrame, MAX_NESTING, Message, MessageKind};
use crate::wire::validate::{MessageOrigin, ShapeError};

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::step::OracleStep;

/// Upper bound for the errors of one frame that a message names. Further errors are only counted.
const MAX_NAMED: usize = 3;

/// The checks of shapes. These checks keep no state.
pub(super) struct ShapeChecks;

impl CheckFamily for ShapeChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        let OracleStep::Frame { seen, sender, errors, checked } = step else {
            return;
        };
        match sender {
            MessageOrigin::Host => host(cx, seen, errors, *checked, out),
            MessageOrigin::Client => client(cx, seen, errors, out),
        }
    }
}

fn host(
    cx: &OracleContext,
    seen: &SeenFrame,
    errors: &[ShapeError],
    checked: bool,
    out: &mut FindingSink,
) {
    let line = [cx.now.line];
    out.seen(Rule::ShapeHost);
    // In the documents of the first version (0.1.0), two messages have another form than in the types of that version.
    let spoken = cx.here().and_then(|conn| conn.protocol);
    let oldest = spoken.is_some_and(|protocol| !protocol.has(ProtocolFeature::Channels));
    about(seen, oldest).for_each(|id| out.seen_of(Rule::ShapeHost, id));
    let odd = match &seen.decoded {
        DecodedFrame::Message(message) if checked => {
            out.seen(Rule::ShapeNullOptional);
            None.or_else(|| {
                (message.kind() == MessageKind::Malformed && errors.is_empty())
                    .then_some("an object that is not a JSON-RPC message".to_owned())
            })
        }
        DecodedFrame::Message(message) => {
            let tagged = message.value().get("jsonrpc").and_then(|tag| tag.as_str()) == Some("2.0");
            match (message.kind(), tagged) {
                (MessageKind::Malformed, _) => Some(
                    "an object that is neither a request, a notification nor a response".to_owned(),
                ),
                (_, false) => Some("a message without `jsonrpc`: `2.0`".to_owned()),
                _ => None,
            }
        }
        DecodedFrame::Batch(items) => Some(format!("a batch of {}", items.len())),
        DecodedFrame::Scalar(_) => Some("a JSON value that is not an object".to_owned()),
        DecodedFrame::Odd(why) => Some(why.clone()),
        DecodedFrame::Deep => {
            let message = format!(
                "expected JSON of at most {MAX_NESTING} nested levels and {MAX_VALUES} values, \
                 found more; the frame was not checked"
            );
            return out.weaker(Rule::ShapeHost, Weight::Note, message, &line);
        }
    };
    if let Some(odd) = odd {
        let message = format!("expected one JSON-RPC 2.0 message, found {odd}");
        let requirement = match &seen.decoded {
            DecodedFrame::Odd(_) => Some(WHOLE),
            DecodedFrame::Message(untagged) if untagged.kind() != MessageKind::Malformed => {
                Some(TAG)
            }
            _ => None,
        };
        out.broken(Rule::ShapeHost.about(requirement), message, &line);
    }
    // A requirement that several members of the frame break gets only one finding.
    let hard = || errors.iter().filter(|error| !error.soft);
    let mut told: Vec<Option<&'static str>> = Vec::new();
    for error in hard() {
        let requirement = requirement_of(seen, error, oldest);
        if told.contains(&requirement) {
            continue;
        }
        told.push(requirement);
        let same = hard().filter(|other| requirement_of(seen, other, oldest) == requirement);
        let Some(message) = list(same) else { continue };
        out.broken(Rule::ShapeHost.about(requirement), message, &line);
    }
    if !is_refusal(seen)
        && let Some(message) = list(errors.iter().filter(|error| error.soft))
    {
        out.broken(Rule::ShapeNullOptional, message, &line);
    }
}

/// Returns whether the frame is a rejection, which repeats the client's own action. For soft errors in a rejection, the
/// client is responsible.
fn is_refusal(seen: &SeenFrame) -> bool {
    seen.message().is_some_and(|message| message.params()["rejectionReason"].is_string())
}

fn client(cx: &OracleContext, seen: &SeenFrame, errors: &[ShapeError], out: &mut FindingSink) {
    let line = [cx.now.line];
    out.seen(Rule::ShapeHarness);
    let malformed = seen.message().is_none_or(|message| message.kind() == MessageKind::Malformed);
    let message = list(errors.iter().filter(|error| !error.soft));
    if malformed && message.is_none() {
        let message = "the client's frame is not a JSON-RPC 2.0 message".to_owned();
        out.weaker(Rule::ShapeHarness, Weight::Note, message, &line);
    }
    if let Some(message) = message {
        let message = format!("the client's frame: {message}");
        out.weaker(Rule::ShapeHarness, Weight::Note, message, &line);
    }
}

/// The requirements about the shape of frames.
const WHOLE: &str = "transport.whole-messages";
const TAG: &str = "jsonrpc.version.tag-output";
const RESULT_OR_ERROR: &str = "jsonrpc.response.result-xor-error";
const RESULT: &str = "jsonrpc.response.null-result-present";
const ERROR: &str = "jsonrpc.error.shape";
const MISSING_TOKEN: &str = "auth.required.data";
const ENVELOPE: &str = "envelope.shape";
const NOTIFIED: &str = "channel.present-on-notifications";
const ASKED: &str = "channel.present-on-server-requests";
const SNAPSHOT: &str = "snapshot.schema-valid";
const FLAT_PARAMS: &str = "reading.action-params";
const WRAPPED_SNAPSHOT: &str = "reading.subscribe-result";

/// The error code of a host that requires a token for a request.
const AUTH_REQUIRED: i64 = -32007;

/// Returns the requirements about the shape of frames that a frame exercises.
fn about(seen: &SeenFrame, oldest: bool) -> impl Iterator<Item = &'static str> {
    let message = seen.message();
    let kind = message.map(Message::kind);
    let response = matches!(kind, Some(MessageKind::Success | MessageKind::Failure));
    let missing_token = message.is_some_and(|message| code(message) == Some(AUTH_REQUIRED));
    let action = message.is_some_and(|message| message.method() == Some("action"));
    let result = message.and_then(Message::result);
    let snapshot = result.is_some_and(|result| {
        result.get("snapshot").is_some() || result.get("snapshots").is_some()
    });
    let notified = kind == Some(MessageKind::Notification);
    [
        (true, WHOLE),
        (message.is_some(), TAG),
        (response, RESULT_OR_ERROR),
        (kind == Some(MessageKind::Success), RESULT),
        (kind == Some(MessageKind::Failure), ERROR),
        (missing_token, MISSING_TOKEN),
        (notified && action, ENVELOPE),
        (notified, NOTIFIED),
        (kind == Some(MessageKind::Request), ASKED),
        (snapshot, SNAPSHOT),
        (oldest && notified && action, FLAT_PARAMS),
        (oldest && (snapshot || message.is_some_and(is_bare_snapshot)), WRAPPED_SNAPSHOT),
    ]
    .into_iter()
    .filter_map(|(tested, requirement)| tested.then_some(requirement))
}

/// Returns whether a result is itself a snapshot, instead of an object with the member `snapshot`.
fn is_bare_snapshot(message: &Message) -> bool {
    let has = |name: &str| message.result().is_some_and(|result| result.get(name).is_some());
    has("fromSeq") && has("state") && !has("snapshot")
}

fn code(message: &Message) -> Option<i64> {
    message.value().get("error")?.get("code")?.as_i64()
}

/// Returns the requirement that an error in a frame breaks; `None` if no requirement covers the error.
fn requirement_of(seen: &SeenFrame, error: &ShapeError, oldest: bool) -> Option<&'static str> {
    let message = seen.message()?;
    if oldest && message.params().get("envelope").is_some() {
        return Some(FLAT_PARAMS);
    }
    if oldest && is_bare_snapshot(message) {
        return Some(WRAPPED_SNAPSHOT);
    }
    let path = error.path.as_str();
    let below = |place: &str| {
        path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let action = message.method() == Some("action");
    match message.kind() {
        MessageKind::Malformed => {
            let has = |name: &str| message.value().get(name).is_some();
            let neither = has("id") && message.method().is_none();
            (neither || (has("result") && has("error"))).then_some(RESULT_OR_ERROR)
        }
        _ if path == "jsonrpc" => Some(TAG),
        MessageKind::Failure if below("error.data") => {
            (code(message) == Some(AUTH_REQUIRED)).then_some(MISSING_TOKEN)
        }
        MessageKind::Failure => below("error").then_some(ERROR),
        MessageKind::Success if path == "result" && error.found == "nothing" => Some(RESULT),
        MessageKind::Success => {
            (below("result.snapshot") || below("result.snapshots")).then_some(SNAPSHOT)
        }
        MessageKind::Notification if action && below("params.action") => {
            matches!(path, "params.action" | "params.action.type").then_some(ENVELOPE)
        }
        MessageKind::Notification if action => Some(ENVELOPE),
        MessageKind::Notification => (path == "params.channel").then_some(NOTIFIED),
        MessageKind::Request => (path == "params.channel").then_some(ASKED),
    }
}

/// Joins the first of the chosen errors into one sentence; `None` if there is no error.
fn list<'a>(mut chosen: impl Iterator<Item = &'a ShapeError>) -> Option<String> {
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

//! Checks the frames of clients against the version of the connection, and their requests and responses.
//!
//! Knows: the protocol tables, open requests. Never knows: states.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::transcript::{ConnId, SeenFrame};
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::{DecodedFrame, Message, MessageKind, is_handshake};
use crate::wire::protocol::Protocol;
use crate::wire::validate::{MessageOrigin, ShapeError};

use crate::oracle::check::FindingSink;
use crate::oracle::connection::id_key;
use crate::oracle::context::OracleContext;
use crate::oracle::members::text;
use crate::oracle::rule::CheckRule as _;
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::handshake::offers;
use super::{ClientFamily, ClientView};

/// The requirement of [`Rule::SelectedVersion`].
const SELECTED: &str = "client.initialize.uses-selected";
/// The requirements of [`Rule::HostRequests`].
const ANSWERED: &str = "client.jsonrpc.server-request-answered";
const UNKNOWN: &str = "client.version.unknown-request";
const RESOURCES: &str = "resource.symmetric.client-unsupported";

/// The JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;
/// Upper bound for the host's requests of one connection that are remembered.
const MAX_ASKED: usize = 4_096;

/// The requests of the host that clients have to answer.
#[derive(Default)]
pub(super) struct WireChecks {
    conns: HashMap<ConnId, HostAsked>,
}

/// The requests of the host on one connection.
#[derive(Default)]
struct HostAsked {
    open: Vec<HostRequest>,
    /// The ids of answered requests, with the lines of the answers.
    answered: VecDeque<(String, u64)>,
    /// Whether the host has sent a frame that the harness cannot read, and that may therefore have been a request.
    has_unreadable: bool,
    /// The time and the line of the client's last frame.
    last: Option<(Duration, u64)>,
}

struct HostRequest {
    key: String,
    method: String,
    line: u64,
    at: Duration,
    /// Whether any version of the protocol has the method.
    known: bool,
}

impl ClientFamily for WireChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, errors, checked } => {
                shape(view, seen, errors, *checked, out);
                if let Some(message) = seen.message() {
                    request_id(view, message, out);
                    self.responded(view, message, out);
                }
                let last = (view.cx.now.at, view.line());
                self.conns.entry(view.cx.now.conn).or_default().last = Some(last);
            }
            OracleStep::Frame { seen, sender: MessageOrigin::Host, .. } => match seen.message() {
                Some(message) if message.kind() != MessageKind::Malformed => {
                    self.asked(view, message);
                }
                _ => {
                    self.conns.entry(view.cx.now.conn).or_default().has_unreadable = true;
                }
            },
            OracleStep::Closed => {
                if let Some(asked) = self.conns.remove(&view.cx.now.conn) {
                    unanswered(view, &asked, out);
                }
            }
            OracleStep::Gap => drop(self.conns.remove(&view.cx.now.conn)),
            OracleStep::Restarted => self.conns.clear(),
            _ => {}
        }
    }
}

impl WireChecks {
    /// Records a request of the host.
    fn asked(&mut self, view: &ClientView<'_>, message: &Message) {
        let (MessageKind::Request, Some(method), Some(id)) =
            (message.kind(), message.method(), message.id())
        else {
            return;
        };
        let asked = self.conns.entry(view.cx.now.conn).or_default();
        let key = id_key(id);
        // After the client has answered a request, the host may use the id of the request again.
        asked.answered.retain(|(known, _)| *known != key);
        if asked.open.len() < MAX_ASKED {
            let known = Protocol::all().any(|protocol| protocol.method(method).is_some());
            let (line, at) = (view.line(), view.cx.now.at);
            asked.open.push(HostRequest { key, method: method.to_owned(), line, at, known });
        }
    }

    /// Judges a response of the client.
    fn responded(&mut self, view: &ClientView<'_>, message: &Message, out: &mut FindingSink) {
        if !matches!(message.kind(), MessageKind::Success | MessageKind::Failure) {
            return;
        }
        let asked = self.conns.entry(view.cx.now.conn).or_default();
        let key = message.id().map(id_key).unwrap_or_default();
        let Some(place) = asked.open.iter().position(|request| request.key == key) else {
            let without_id = message.id().is_none_or(Value::is_null);
            let before = asked.answered.iter().find(|(known, _)| *known == key);
            let explained = before.is_none() && asked.has_unreadable;
            if view.is_whole() && !without_id && !explained {
                let message = match before {
                    Some(_) => "expected one response to the host's request, found another",
                    None => {
                        "expected responses only to requests of the host, found one with an id \
                         that no request has"
                    }
                };
                let lines = [before.map_or(0, |(_, line)| *line), view.line()];
                out.seen(Rule::HostRequests.of(ANSWERED));
                out.broken(Rule::HostRequests.of(ANSWERED), message.to_owned(), &lines);
            }
            return;
        };
        let request = asked.open.remove(place);
        if asked.answered.len() >= MAX_ASKED {
            asked.answered.pop_front();
        }
        asked.answered.push_back((key, view.line()));
        out.seen(Rule::HostRequests.of(ANSWERED));
        if request.method.starts_with("resource") {
            out.seen_of(Rule::HostRequests, RESOURCES);
        }
        if !request.known {
            out.seen_of(Rule::HostRequests, UNKNOWN);
            if message.error_code() != Some(METHOD_NOT_FOUND) {
                let found = match message.error_code() {
                    Some(code) => format!("the error {code}"),
                    None => "a result".to_owned(),
                };
                let message = format!(
                    "expected the error -32601 in answer to the unknown method `{}`, found {found}",
                    request.method
                );
                let lines = [request.line, view.line()];
                out.broken(Rule::HostRequests.of(UNKNOWN), message, &lines);
            }
        }
    }
}

/// Judges the host's requests that are open when a connection ends.
fn unanswered(view: &ClientView<'_>, asked: &HostAsked, out: &mut FindingSink) {
    let Some((last, line)) = asked.last.filter(|_| view.is_whole()) else { return };
    for request in &asked.open {
        // A person may have to decide about a `resourceRequest`.
        let asks = request.method == "resourceRequest";
        if asks || last < request.at + view.cx.options.patience() {
            continue;
        }
        let rule = match request.method.starts_with("resource") {
            true => Rule::HostRequests.of(RESOURCES),
            false => Rule::HostRequests.of(ANSWERED),
        };
        out.seen(rule);
        let message = format!(
            "expected a response to the host's request `{}`, found none although the client sent \
             other messages",
            request.method
        );
        out.broken(rule, message, &[request.line, line]);
    }
}

/// Judges the frame of a client by the tables of the connection's version.
fn shape(
    view: &ClientView<'_>,
    seen: &SeenFrame,
    errors: &[ShapeError],
    checked: bool,
    out: &mut FindingSink,
) {
    let line = [view.line()];
    let odd = match &seen.decoded {
        DecodedFrame::Message(message) if message.kind() == MessageKind::Malformed => {
            Some("an object that is neither a request, a notification nor a response".to_owned())
        }
        DecodedFrame::Message(_) | DecodedFrame::Deep => None,
        DecodedFrame::Batch(items) => Some(format!("a batch of {}", items.len())),
        DecodedFrame::Scalar(_) => Some("a JSON value that is not an object".to_owned()),
        DecodedFrame::Odd(why) => Some(why.clone()),
    };
    if let Some(odd) = odd {
        out.seen(Rule::SelectedVersion);
        let message = format!("expected one JSON-RPC 2.0 message, found {odd}");
        return out.broken(Rule::SelectedVersion.about(None), message, &line);
    }
    let Some(message) = seen.message() else { return };
    let method = message.method();
    let handshake = method.is_some_and(is_handshake);
    let (errors, named) = match (handshake, view.protocol()) {
        (true, _) => handshake_errors(view.cx, message),
        (false, Some(protocol)) if checked => {
            let version = format!("version {}", protocol.version());
            (errors.to_vec(), version)
        }
        _ => return,
    };
    out.seen(Rule::SelectedVersion);
    if let Some(error) = errors.iter().find(|error| !error.soft) {
        let what = method.map_or("the response".to_owned(), |method| format!("`{method}`"));
        let message = format!("expected {what} in the shape of {named}: {error}");
        out.broken(Rule::SelectedVersion.of(SELECTED), message, &line);
    }
    if let (Some(method), Some(protocol), false) = (method, view.protocol(), handshake) {
        method_of_version(view, protocol, method, message, out);
    }
}

/// Returns the errors in a handshake for the version with the fewest errors, with the name of that version. A handshake
/// is sent before a version is selected, so it has the form of an offered version, or of the version of the client's
/// earlier connection. If neither is known, the handshake may have the form of any version.
fn handshake_errors(cx: &OracleContext, message: &Message) -> (Vec<ShapeError>, String) {
    let params = message.params();
    let resumed = text(params, "clientId").and_then(|client| cx.versions.get(client)).copied();
    let resumed = resumed.or(cx.options.assume_version);
    let mut spoken = match message.method() {
        Some("reconnect") => resumed.and_then(Protocol::of).into_iter().collect(),
        _ => offers(params).into_iter().filter_map(Protocol::of).collect::<Vec<_>>(),
    };
    let of = |protocol: &'static Protocol| {
        let errors = protocol.check_message(message, MessageOrigin::Client, None);
        let hard = errors.into_iter().filter(|error| !error.soft).collect::<Vec<_>>();
        (hard, format!("version {}", protocol.version()))
    };
    if spoken.is_empty() {
        spoken = Protocol::all().rev().collect();
    }
    let best = spoken.into_iter().map(of).min_by_key(|(errors, _)| errors.len());
    best.unwrap_or_else(|| of(Protocol::newest()))
}

/// Judges whether the version of the connection defines a method and, for a dispatch, the action.
fn method_of_version(
    view: &ClientView<'_>,
    protocol: &Protocol,
    method: &str,
    message: &Message,
    out: &mut FindingSink,
) {
    let line = [view.line()];
    let version = protocol.version();
    match protocol.method(method) {
        Some(row) if row.from_client => {}
        Some(_) => {
            let message = format!("expected a method that clients send, found `{method}`");
            out.weaker(Rule::SelectedVersion.about(None), Weight::Note, message, &line);
        }
        None => {
            let elsewhere =
                |other: &&Protocol| other.method(method).is_some_and(|it| it.from_client);
            if let Some(other) = Protocol::all().rev().find(elsewhere) {
                let message = format!(
                    "expected a method of version {version}, found `{method}`, which version {} has",
                    other.version()
                );
                out.broken(Rule::SelectedVersion.of(SELECTED), message, &line);
            }
        }
    }
    let action = message.params().get("action").filter(|_| method == "dispatchAction");
    let Some(action) = action.and_then(|action| text(action, "type")) else { return };
    if protocol.action(action).is_none()
        && let Some(other) = Protocol::all().rev().find(|other| other.action(action).is_some())
    {
        let message = format!(
            "expected an action of version {version}, found `{action}`, which version {} has",
            other.version()
        );
        out.broken(Rule::SelectedVersion.of(SELECTED), message, &line);
    }
}

/// Judges whether the id of a new request differs from the ids of all open requests of the connection.
fn request_id(view: &ClientView<'_>, message: &Message, out: &mut FindingSink) {
    let (MessageKind::Request, Some(id)) = (message.kind(), message.id()) else { return };
    out.seen(Rule::RequestIds);
    let open = view.here().and_then(|conn| conn.requests.get(&id_key(id)));
    if let Some(first) = open.and_then(|open| open.front()) {
        let message = format!(
            "expected an id that no open request has, found the id of the open `{}`",
            first.method
        );
        out.broken(Rule::RequestIds, message, &[first.line, view.line()]);
    }
}

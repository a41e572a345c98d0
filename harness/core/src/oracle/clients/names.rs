//! Checks the names that clients send: URIs and cursors that the host chose, progress tokens that the client chose, and
//! offsets in strings.
//!
//! Knows: the members with names. Never knows: states.

use std::collections::{HashMap, HashSet};

use crate::transcript::ConnId;
use crate::wire::channel::{OLD_ROOT, ROOT};
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::percent;
use crate::wire::validate::MessageOrigin;

use crate::oracle::asking::replaced;
use crate::oracle::check::FindingSink;
use crate::oracle::connection::id_key;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, sent};

/// Upper bound for the URIs that are remembered. Further URIs are not judged.
const MAX_URIS: usize = 65_536;
/// Upper bound for the cursors of one connection that are remembered.
const MAX_CURSORS: usize = 4_096;
/// The names of the members of a host's messages that contain URIs which clients send back later.
const GIVEN: [&str; 9] = [
    "channel",
    "resource",
    "chat",
    "session",
    "terminal",
    "defaultChat",
    "primarySession",
    "run",
    "automation",
];
/// The names of the members of a client's params that contain a URI from the host.
const USED: [&str; 5] = ["channel", "chat", "session", "terminal", "automation"];
/// The names of the members of a client's params that contain a list of channels.
const LISTED: [&str; 2] = ["subscriptions", "initialSubscriptions"];

/// The names that have occurred so far.
#[derive(Default)]
pub(super) struct NameChecks {
    /// The URIs that the host has sent, and the URIs of channels that a client has created.
    known: HashSet<String>,
    /// The URIs from the host, each with its line. The key is the normalised form of the URI.
    normal: HashMap<String, (String, u64)>,
    /// The cursors that each connection has received.
    cursors: HashMap<ConnId, HashSet<String>>,
}

impl ClientFamily for NameChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            self.uris(view, message, method, out);
            match method {
                "listSessions" => self.cursor(view, message.params(), out),
                "completions" => offset(view, message.params(), out),
                _ => {}
            }
            token(view, message, out);
        }
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Host, .. } => {
                if let Some(message) = seen.message() {
                    self.learn(message.value(), view.line());
                }
            }
            OracleStep::Answered { request, message } if request.method == "listSessions" => {
                let cursor = message.result().and_then(|result| text(result, "nextCursor"));
                let cursors = self.cursors.entry(view.cx.now.conn).or_default();
                if let Some(cursor) = cursor.filter(|_| cursors.len() < MAX_CURSORS) {
                    cursors.insert(cursor.to_owned());
                }
            }
            OracleStep::Closed | OracleStep::Gap => drop(self.cursors.remove(&view.cx.now.conn)),
            _ => {}
        }
    }
}

impl NameChecks {
    /// Remembers the URIs in a message of the host.
    fn learn(&mut self, value: &Value, line: u64) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item, line)),
            Value::Object(members) => {
                for (name, value) in members.iter() {
                    match value {
                        Value::String(uri) if GIVEN.contains(&name.as_str()) => {
                            self.given(uri, line);
                        }
                        Value::Array(_) | Value::Object(_) => self.learn(value, line),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn given(&mut self, uri: &str, line: u64) {
        if !self.known.contains(uri) && self.known.len() < MAX_URIS {
            self.known.insert(uri.to_owned());
            self.normal.entry(normalised(uri)).or_insert_with(|| (uri.to_owned(), line));
        }
    }

    /// Judges the URIs in a message of a client.
    fn uris(
        &mut self,
        view: &ClientView<'_>,
        message: &Message,
        method: &str,
        out: &mut FindingSink,
    ) {
        let params = message.params();
        if let Some((made, false)) = replaced(method, params)
            && self.known.len() < MAX_URIS
        {
            self.known.insert(made.to_owned());
        }
        if !view.is_whole() || self.known.len() >= MAX_URIS {
            return;
        }
        let one = USED.iter().filter_map(|name| text(params, name));
        let lists = LISTED.iter().flat_map(|name| list(params, name)).filter_map(Value::as_str);
        // The URI of the root channel is fixed by the specification.
        for uri in one.chain(lists).filter(|uri| *uri != ROOT && *uri != OLD_ROOT) {
            if self.known.contains(uri) {
                out.seen(Rule::VerbatimUris);
            } else if let Some((written, line)) = self.normal.get(&normalised(uri)) {
                out.seen(Rule::VerbatimUris);
                let message =
                    format!("expected `{written}` unchanged, found `{uri}` in `{method}`");
                out.broken(Rule::VerbatimUris, message, &[*line, view.line()]);
            }
        }
    }

    fn cursor(&self, view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
        let Some(cursor) = text(params, "cursor").filter(|_| view.is_whole()) else { return };
        out.seen(Rule::VerbatimCursors);
        let known = self.cursors.get(&view.cx.now.conn);
        if known.is_none_or(|known| !known.contains(cursor)) {
            let message = format!(
                "expected a cursor that the host has sent on this connection, found `{cursor}`"
            );
            out.broken(Rule::VerbatimCursors, message, &[view.line()]);
        }
    }
}

/// Returns a URI in a normalised form: without escapes, in lower case, and without slashes at the end.
fn normalised(uri: &str) -> String {
    let plain = String::from_utf8_lossy(&percent::decoded(uri)).to_lowercase();
    plain.trim_end_matches('/').to_owned()
}

/// Judges whether the progress token of a new request differs from the tokens of all open requests of the connection.
fn token(view: &ClientView<'_>, message: &Message, out: &mut FindingSink) {
    let token = given(message.params(), "progressToken");
    let (Some(token), Some(id)) = (token, message.id()) else { return };
    out.seen(Rule::ProgressTokens);
    let key = id_key(id);
    let open = view.here().map(|conn| &conn.requests);
    let others = open.into_iter().flatten().filter(|(known, _)| **known != key);
    let mut same = others.flat_map(|(_, open)| open);
    if let Some(first) =
        same.find(|request| given(request.params(), "progressToken") == Some(token))
    {
        let message = format!(
            "expected a progress token that no open request has, found the token of `{}`",
            first.method
        );
        out.broken(Rule::ProgressTokens, message, &[first.line, view.line()]);
    }
}

/// Judges the offset in the input at which a client requests completions.
fn offset(view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
    let offset = given(params, "offset").and_then(Value::as_i64);
    let (Some(offset), Some(typed)) = (offset, text(params, "text")) else { return };
    out.seen(Rule::CompletionOffset);
    let length = i64::try_from(typed.encode_utf16().count()).unwrap_or(i64::MAX);
    if !(0..=length).contains(&offset) {
        let message = format!(
            "expected an offset from 0 to {length}, the length of the text in UTF-16 units, found \
             {offset}"
        );
        out.broken(Rule::CompletionOffset, message, &[view.line()]);
    }
}

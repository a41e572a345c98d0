//! Checks requests that must fail: creation of an existing session, subscription to a disposed channel, unknown
//! methods.
//!
//! A session is known to exist if the host answered a request about the session that was sent after the last disposal.
//! If clients outside the transcript may have disposed of the session, there must also be a recorded connection that
//! would have been notified of the removal.
//!
//! Knows: sessions and disposals by URI. Never knows: states, lists.
//!
//! Start at [`RefusalChecks`].

use std::collections::HashMap;

use crate::verdict::Weight;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

use crate::oracle::asking::replaced;
use crate::oracle::budget::short;
use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::envelope::target;
use crate::oracle::family::SessionFamily;
use crate::oracle::members::text;
use crate::oracle::step::OracleStep;

const DUPLICATE: &str = "session.create.duplicate";
const GONE: &str = "subscribe.unknown-resource";
const METHOD: &str = "jsonrpc.method-not-found";
/// The scheme of channels that relay messages of MCP servers. The server defines the methods of such a channel.
const MCP: &str = "mcp:";
/// Upper bound for the sessions that are remembered.
const MAX_SESSIONS: usize = 4_096;

/// The sessions that are known to exist.
#[derive(Default)]
pub(super) struct RefusalChecks {
    sessions: HashMap<String, SessionExistence>,
}

/// The knowledge about the session at a URI.
#[derive(Clone, Copy, Default)]
struct SessionExistence {
    /// The entry and the line of the message that proves that the session existed.
    there: Option<(u64, u64)>,
    /// The line of the first answer that confirmed the creation of the session; `None` if a client has since disposed
    /// of the session.
    created: Option<u64>,
    /// The entry of the last request to dispose of the session.
    disposed: u64,
    /// Whether, at the time of the last request to create the session, a connection would have been notified if the
    /// earlier session with this URI had been removed.
    watched: bool,
}

impl CheckFamily for RefusalChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                let asked = seen.message().and_then(|it| replaced(it.method()?, it.params()));
                match asked {
                    Some((uri, true)) => self.leaves(uri, cx.now.tick),
                    Some((uri, false)) => {
                        let watched = is_watched(cx, uri);
                        if let Some(known) = self.sessions.get_mut(&*short(uri)) {
                            known.watched = watched;
                        }
                    }
                    None => {}
                }
            }
            OracleStep::Notified { seen, method: "root/sessionRemoved", .. } => {
                let params = seen.message().map(Message::params);
                if let Some(uri) = params.and_then(|params| text(params, "session")) {
                    self.leaves(uri, cx.now.tick);
                }
            }
            OracleStep::Snapshot { request, channel, kind: Some(ChannelKind::Session), .. } => {
                self.there(cx, cx.uri(*channel), request);
            }
            OracleStep::Answered { request, message } => self.answered(cx, request, message, out),
            OracleStep::Restarted | OracleStep::Gap => self.sessions.clear(),
            _ => {}
        }
    }
}

impl RefusalChecks {
    fn leaves(&mut self, uri: &str, tick: u64) {
        if let Some(known) = self.known(uri) {
            *known = SessionExistence { disposed: tick, ..SessionExistence::default() };
        }
    }

    fn known(&mut self, uri: &str) -> Option<&mut SessionExistence> {
        let uri = &*short(uri);
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(uri) {
            return None;
        }
        Some(self.sessions.entry(uri.to_owned()).or_default())
    }

    fn there(&mut self, cx: &OracleContext, uri: &str, request: &OpenRequest) {
        if let Some(known) = self.known(uri).filter(|known| known.disposed < request.tick) {
            known.there = known.there.or(Some((cx.now.tick, cx.now.line)));
        }
    }

    fn answered(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        if cx.here().is_none_or(|conn| conn.stale) {
            return;
        }
        let served = message.result().is_some();
        match request.method.as_str() {
            "createSession" => {
                let Some((uri, _)) = replaced(&request.method, request.params()) else { return };
                self.created(cx, uri, request, served, out);
            }
            "subscribe" => gone(cx, request, served, out),
            _ => unknown(cx, request, served, out),
        }
    }

    /// Judges whether `createSession` fails at a URI in use. Of two open requests only one may succeed; the
    /// request that is answered later counts as the second. Invariant B7.
    fn created(
        &mut self,
        cx: &OracleContext,
        uri: &str,
        request: &OpenRequest,
        served: bool,
        out: &mut FindingSink,
    ) {
        let known = self.sessions.get(&*short(uri)).copied().unwrap_or_default();
        let before = known.there.filter(|(tick, _)| *tick < request.tick).map(|(_, line)| line);
        if let Some(line) = before.or(known.created) {
            let rule = Rule::Refused.of(DUPLICATE);
            out.seen(rule);
            if served {
                let certain = !cx.options.foreign || known.watched;
                let weight = if certain { Weight::Must } else { Weight::Note };
                let message = format!(
                    "expected `createSession` to fail for `{uri}`, which is already in use, found \
                     a result"
                );
                out.weaker(rule, weight, message, &[line, request.line, cx.now.line]);
            }
        }
        if served {
            self.there(cx, uri, request);
            let watched = is_watched(cx, uri);
            if let Some(known) = self.known(uri).filter(|known| known.disposed < request.tick) {
                known.created = known.created.or(Some(cx.now.line));
                known.watched |= watched;
            }
        }
    }
}

/// Returns whether a connection would be notified of the removal of a session: a connection that follows the session
/// with its chats, or that is subscribed to the root channel.
fn is_watched(cx: &OracleContext, session: &str) -> bool {
    let followed = cx.channels.find(session).and_then(|session| SessionFamily::of(cx, session));
    let chats = followed
        .is_some_and(|it| it.fold.protocol.has(ProtocolFeature::Chats) && !it.entries().is_empty());
    let root = cx.channels.find(ROOT);
    let root = root.and_then(|root| cx.here()?.subs.get(&root));
    chats || root.is_some_and(|sub| sub.certain && sub.ending.is_none())
}

/// Judges whether `subscribe` fails for a disposed channel, until a client creates the channel again. Invariant
/// B7.
fn gone(cx: &OracleContext, request: &OpenRequest, served: bool, out: &mut FindingSink) {
    let channel = target(request.params()).and_then(|uri| cx.channels.find(uri));
    let Some(channel) = channel.and_then(|id| cx.channel(id)) else { return };
    let Some(line) = channel.disposed.filter(|line| *line < request.line) else { return };
    let rule = Rule::Refused.of(GONE);
    out.seen(rule);
    if served {
        let uri = &channel.uri;
        let message = format!(
            "expected `subscribe` to fail for `{uri}`, which was disposed of, found a result"
        );
        out.weaker(rule, Weight::Essential, message, &[line, request.line, cx.now.line]);
    }
}

/// Judges whether a method that no version has fails. Host and clients may have agreed on an extension, so a
/// success is a note. Invariant B7.
fn unknown(cx: &OracleContext, request: &OpenRequest, served: bool, out: &mut FindingSink) {
    let method = request.method.as_str();
    let relayed = text(request.params(), "channel").is_some_and(|uri| uri.starts_with(MCP));
    let shaken = cx.here().is_some_and(|conn| conn.protocol.is_some() && !conn.guessed);
    if !shaken || relayed || method.starts_with("x-") {
        return;
    }
    if Protocol::all().any(|table| table.method(method).is_some()) {
        return;
    }
    let rule = Rule::Refused.of(METHOD);
    out.seen(rule);
    if served {
        let message =
            format!("expected an error for `{method}`, which no version has, found a result");
        out.weaker(rule, Weight::Note, message, &[request.line, cx.now.line]);
    }
}

//! Checks the first messages of a connection: offers, the selected version, refusals.
//!
//! Knows: handshakes. Never knows: states.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::channel::{OLD_ROOT, ROOT};
use crate::wire::json::Value;
use crate::wire::message::{Message, is_handshake};
use crate::wire::version::Version;

use crate::oracle::check::FindingSink;
use crate::oracle::connection::OpenRequest;
use crate::oracle::members::{list, repeated_text, text};
use crate::oracle::rule::CheckRule as _;
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, sent};

/// The error code for a handshake without a common version.
const UNSUPPORTED: i64 = -32005;
/// The number of refused handshakes with the same offers that counts as a loop.
const LOOP: usize = 3;
/// Upper bound for the clients whose refusals are counted.
const MAX_CLIENTS: usize = 1_024;
/// The requirements of [`Rule::RefusedHandshake`].
const NEW_CONNECTION: &str = "client.initialize.retry-new-connection";
const LOOPS: &str = "client.initialize.unsupported-version";

/// Returns the versions that an `initialize` offers. Values in the list that are not versions are left out.
pub(super) fn offers(params: &Value) -> Vec<Version> {
    let one = params.get("protocolVersion").into_iter();
    let all = list(params, "protocolVersions").iter().chain(one);
    all.filter_map(version).collect()
}

/// Reads a version. The first version of the protocol is written as a number.
fn version(value: &Value) -> Option<Version> {
    match value {
        Value::Number(number) => number.to_string().parse().ok(),
        other => other.as_str()?.parse().ok(),
    }
}

/// The handshakes of all connections so far, and the refused offers of each client.
#[derive(Default)]
pub(super) struct ClientHandshake {
    conns: HashMap<ConnId, HandshakeProgress>,
    /// The refused offers of each client, with the count of refusals and the line of the last refusal.
    refused: HashMap<Arc<str>, RefusedOffer>,
}

/// The handshake of one connection.
#[derive(Default)]
struct HandshakeProgress {
    /// The line of the first request other than `ping`.
    first: Option<u64>,
    /// The line of the answer with which the handshake succeeded.
    done: Option<u64>,
    /// The line and the time of an answer that selected a version that was not offered.
    unoffered: Option<(u64, Duration)>,
    /// The line and the time of the error -32005.
    refused: Option<(u64, Duration)>,
}

struct RefusedOffer {
    offers: Vec<Version>,
    times: usize,
    line: u64,
}

impl ClientFamily for ClientHandshake {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            self.asked(view, message, method, out);
        }
        match step {
            OracleStep::Answered { request, message } => self.answered(view, request, message, out),
            OracleStep::Closed | OracleStep::Gap => drop(self.conns.remove(&view.cx.now.conn)),
            OracleStep::Restarted => self.conns.clear(),
            _ => {}
        }
    }
}

impl ClientHandshake {
    fn asked(
        &mut self,
        view: &ClientView<'_>,
        message: &Message,
        method: &str,
        out: &mut FindingSink,
    ) {
        let line = view.line();
        let progress = self.conns.entry(view.cx.now.conn).or_default();
        let handshake = is_handshake(method);
        let late = |at: Duration| view.cx.now.at >= at + view.reaction();
        if let Some((told, _)) = progress.unoffered.filter(|(_, at)| late(*at)) {
            let message = format!(
                "expected the client to end the connection after a version that it had not \
                 offered, found `{method}`"
            );
            out.broken(Rule::UnofferedVersion, message, &[told, line]);
        }
        if let Some((told, _)) = progress.refused.filter(|(_, at)| late(*at)) {
            let message = format!(
                "expected nothing more on a connection after the error -32005, found `{method}`"
            );
            out.broken(Rule::RefusedHandshake.of(NEW_CONNECTION), message, &[told, line]);
        }
        if method != "ping" {
            let begins = progress.first.is_none();
            progress.first.get_or_insert(line);
            if begins && view.is_whole() {
                // The first message of a connection decides whether the rule holds, so this observation counts although
                // no handshake has succeeded.
                out.counts(true);
                out.seen(Rule::FirstMessage);
                if !handshake {
                    let message = format!(
                        "expected `initialize` or `reconnect` as the first message, found `{method}`"
                    );
                    out.broken(Rule::FirstMessage, message, &[line]);
                }
            } else if let Some(done) = progress.done.filter(|_| handshake) {
                let message =
                    format!("expected one handshake on a connection, found another `{method}`");
                let beyond = Rule::FirstMessage.about(None);
                out.weaker(beyond, Weight::Note, message, &[done, line]);
            }
        }
        if method == "initialize" {
            out.counts(true);
            self.offered(view, message.params(), out);
        }
    }

    /// Judges the params of an `initialize`.
    fn offered(&mut self, view: &ClientView<'_>, params: &Value, out: &mut FindingSink) {
        let line = [view.line()];
        if params.get("protocolVersion").is_none() {
            out.seen(Rule::OfferedVersions);
            if let Some(message) = odd_offers(list(params, "protocolVersions")) {
                out.broken(Rule::OfferedVersions, message, &line);
            }
        }
        out.seen(Rule::RootSubscribed);
        let mut wanted = list(params, "initialSubscriptions").iter().filter_map(Value::as_str);
        if !wanted.any(|uri| uri == ROOT || uri == OLD_ROOT) {
            let message = "expected the root channel in `initialSubscriptions`, found a handshake \
                           without it";
            out.broken(Rule::RootSubscribed, message.to_owned(), &line);
        }
        let client = text(params, "clientId").and_then(|client| self.refused.get(client));
        if let Some(refused) = client {
            out.seen_of(Rule::RefusedHandshake, LOOPS);
            if refused.times + 1 >= LOOP && refused.offers == offers(params) {
                let message = "expected other versions after the host has refused these, found the \
                               same offer a third time";
                let lines = [refused.line, view.line()];
                out.broken(Rule::RefusedHandshake.of(LOOPS), message.to_owned(), &lines);
            }
        }
    }

    fn answered(
        &mut self,
        view: &ClientView<'_>,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        if !is_handshake(&request.method) {
            return;
        }
        let now = (view.line(), view.cx.now.at);
        let progress = self.conns.entry(view.cx.now.conn).or_default();
        if let Some(result) = message.result() {
            progress.done = Some(view.line());
            let selected = result.get("protocolVersion").and_then(version);
            let offered = offers(request.params());
            if let Some(selected) = selected.filter(|_| request.method == "initialize")
                && !offered.is_empty()
                && !offered.contains(&selected)
            {
                out.seen(Rule::UnofferedVersion);
                progress.unoffered = Some(now);
            }
            return;
        }
        if message.error_code() != Some(UNSUPPORTED) {
            return;
        }
        out.counts(true);
        out.seen_of(Rule::RefusedHandshake, NEW_CONNECTION);
        out.seen(Rule::RefusedHandshake);
        progress.refused = Some(now);
        let data = message.error().and_then(|error| error.get("data"));
        let supported = data.map_or(&[][..], |data| list(data, "supportedVersions"));
        let client = text(request.params(), "clientId").map(Arc::from);
        if let Some(client) = client.filter(|_| !supported.is_empty()) {
            let offers = offers(request.params());
            if self.refused.len() >= MAX_CLIENTS && !self.refused.contains_key(&client) {
                return;
            }
            let refused = self.refused.entry(client);
            let refused = refused.or_insert(RefusedOffer { offers: Vec::new(), times: 0, line: 0 });
            let same = refused.offers == offers;
            *refused = RefusedOffer {
                offers,
                times: if same { refused.times + 1 } else { 1 },
                line: view.line(),
            };
        }
    }
}

/// Returns a description of what is wrong with the offered versions; `None` if they are correct.
fn odd_offers(offers: &[Value]) -> Option<String> {
    if offers.is_empty() {
        return Some("expected at least one version, found none".to_owned());
    }
    let texts: Vec<&str> = offers.iter().filter_map(Value::as_str).collect();
    let semver = |text: &&str| text.parse::<Version>().is_ok() && text.split('.').count() == 3;
    if let Some(odd) = texts.iter().find(|text| !semver(text)) {
        return Some(format!("expected versions as MAJOR.MINOR.PATCH, found `{odd}`"));
    }
    if let Some(twice) = repeated_text(texts.iter().copied()) {
        return Some(format!("expected each version once, found `{twice}` twice"));
    }
    let versions: Vec<Version> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    let mut pairs = versions.windows(2);
    let rises = pairs.find(|pair| pair[0].major == pair[1].major && pair[0] < pair[1])?;
    Some(format!(
        "expected the most preferred version first, found {} before {}",
        rises[0], rises[1]
    ))
}

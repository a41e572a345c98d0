//! Checks reconnection: a replay is complete, or the host sends snapshots.
//!
//! Knows: the log, replays. Never knows: states.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::wire::json::Value;

use crate::transcript::{ConnId, SeenFrame};
use crate::verdict::Weight;
use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;

use super::given::served;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelId, canonical};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::envelope::{ActionEnvelope, channel_of};
use crate::oracle::log::LoggedAction;
use crate::oracle::step::{ActionDelivery, OracleStep};
use crate::oracle::subscriptions::uris;

/// Upper bound for the notifications that are remembered.
const MAX_NOTIFIED: usize = 512;
/// Upper bound for the clients whose last disconnect is remembered.
const MAX_DROPPED: usize = 16_384;
/// Upper bound for the missed actions that one finding names.
const MAX_NAMED: usize = 4;
/// The notifications that a client receives at most once in the life of a session.
const ONCE: &[&str] = &["root/sessionAdded", "root/sessionRemoved"];

/// The notifications that were received so far, and the connections whose clients have just reconnected.
#[derive(Default)]
pub(super) struct ReconnectChecks {
    notified: VecDeque<NotifiedClient>,
    /// The entry at which the last connection of each client ended.
    dropped: HashMap<Arc<str>, u64>,
    /// The connections that have reconnected, until the first fence after the reconnect.
    returning: HashMap<ConnId, ReturningClient>,
    /// The replays after which no live action has arrived yet. The value consists of the `lastSeenServerSeq` in the
    /// request, and the line of the answer.
    ahead: HashMap<ConnId, (u64, u64)>,
}

struct NotifiedClient {
    news: Option<u64>,
    conn: ConnId,
    tick: u64,
    line: u64,
}

#[derive(Clone, Copy)]
struct ReturningClient {
    /// The entry at which the client disconnected. `to` contains the entry at which the client reconnected.
    from: u64,
    to: u64,
    line: u64,
}

impl CheckFamily for ReconnectChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Reconnected { request, result } => {
                reconnected(cx, request, result, out);
                self.returned(cx, request, result);
            }
            OracleStep::Notified { seen, method, .. } if ONCE.contains(method) => {
                self.told(cx, seen, out);
            }
            OracleStep::Envelope(delivery) if delivery.replayed.is_none() => {
                self.future(cx, delivery, out);
                let missing = cx.here().and_then(|conn| conn.missing.get(&delivery.channel));
                let own = cx.here().and_then(|conn| conn.client_id.as_deref());
                let origin = delivery.envelope.origin.map(|origin| origin.client_id);
                if let Some(line) = missing.filter(|_| own.is_none() || own != origin) {
                    let uri = cx.uri(delivery.channel);
                    let message = format!(
                        "expected nothing on `{uri}` after the answer listed it in `missing`, \
                         found `{}`",
                        delivery.envelope.action_type
                    );
                    out.broken(Rule::Missing, message, &[*line, cx.now.line]);
                }
            }
            OracleStep::Fence { sent } => {
                let known = self.returning.get(&cx.now.conn);
                if known.is_some_and(|known| known.to < *sent) {
                    out.seen(Rule::NoNotificationReplay);
                    self.returning.remove(&cx.now.conn);
                }
            }
            OracleStep::Closed => {
                self.returning.remove(&cx.now.conn);
                self.ahead.remove(&cx.now.conn);
                let client = cx.here().and_then(|conn| conn.client_id.clone());
                if let Some(client) = client.filter(|_| self.dropped.len() < MAX_DROPPED) {
                    self.dropped.insert(client, cx.now.tick);
                }
            }
            OracleStep::Restarted | OracleStep::Gap => *self = ReconnectChecks::default(),
            _ => {}
        }
    }
}

impl ReconnectChecks {
    fn returned(&mut self, cx: &OracleContext, request: &OpenRequest, result: &Value) {
        let seen_to = request.params().get("lastSeenServerSeq").and_then(Value::as_u64);
        let replayed = result.get("actions").is_some_and(Value::is_array);
        if let Some(seen_to) = seen_to.filter(|_| replayed) {
            self.ahead.insert(cx.now.conn, (seen_to, cx.now.line));
        }
        let client = cx.here().and_then(|conn| conn.client_id.as_ref());
        let dropped = client.and_then(|client| self.dropped.get(client)).copied();
        if let Some(from) = dropped.filter(|tick| *tick < request.tick) {
            let gap = ReturningClient { from, to: request.tick, line: request.line };
            self.returning.insert(cx.now.conn, gap);
        }
    }

    /// Judges a replay for a `lastSeenServerSeq` that the host has never reached, for example because it was restarted.
    /// Invariant M5.
    fn future(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
        if delivery.envelope.rejected {
            return;
        }
        let Some((seen_to, line)) = self.ahead.remove(&cx.now.conn) else {
            return;
        };
        out.seen(Rule::NeverPartial);
        let seq = delivery.envelope.seq;
        if seq <= seen_to {
            let message = format!(
                "expected snapshots for a client whose `lastSeenServerSeq` {seen_to} the host has \
                 not reached, found a replay, and then action {seq}"
            );
            out.broken(Rule::NeverPartial, message, &[line, cx.now.line]);
        }
    }

    /// Judges whether a reconnected client receives a notification that was sent while the client was disconnected.
    /// Invariant M4.
    fn told(&mut self, cx: &OracleContext, seen: &Arc<SeenFrame>, out: &mut FindingSink) {
        let (conn, line, tick) = (cx.now.conn, cx.now.line, cx.now.tick);
        let news = news(seen);
        if let Some(gap) = self.returning.get(&conn) {
            let same = |known: &&NotifiedClient| known.conn != conn && known.news == news;
            let inside = |known: &&NotifiedClient| gap.from < known.tick && known.tick < gap.to;
            if let Some(first) = self.notified.iter().filter(inside).find(same) {
                let message = "expected no notification from before the reconnect to be sent \
                               again, found one that other connections received then";
                let lines = [first.line, gap.line, line];
                out.broken(Rule::NoNotificationReplay, message.to_owned(), &lines);
            }
        }
        if self.notified.len() >= MAX_NOTIFIED {
            self.notified.pop_front();
        }
        self.notified.push_back(NotifiedClient { news, conn, tick, line });
    }
}

/// A `reconnect` request and the host's answer.
struct ReconnectAnswer<'a> {
    request: &'a OpenRequest,
    wanted: Vec<&'a str>,
    missing: Vec<&'a str>,
    /// The same channels, to be looked up. Both lists may be long.
    is_wanted: foldhash::HashSet<&'a str>,
    is_missing: foldhash::HashSet<&'a str>,
}

fn reconnected(cx: &OracleContext, request: &OpenRequest, result: &Value, out: &mut FindingSink) {
    let params = request.params();
    let (wanted, missed) = (uris(params.get("subscriptions")), uris(result.get("missing")));
    let (is_wanted, is_missing) =
        (wanted.iter().copied().collect(), missed.iter().copied().collect());
    let answer = ReconnectAnswer { request, wanted, missing: missed, is_wanted, is_missing };
    let seen_to = params.get("lastSeenServerSeq").and_then(Value::as_u64);
    match (result.get("actions").and_then(Value::as_array), seen_to) {
        (Some(actions), Some(seen_to)) => {
            replay(cx, &answer, actions, seen_to, out);
            missing(cx, &answer, out);
        }
        (Some(_), None) => missing(cx, &answer, out),
        (None, _) => snapshots(cx, &answer, result, out),
    }
}

/// Judges whether a replay is ordered, complete, and restricted to the requested channels. Invariants M1 and
/// M5.
fn replay(
    cx: &OracleContext,
    answer: &ReconnectAnswer<'_>,
    actions: &[Value],
    seen_to: u64,
    out: &mut FindingSink,
) {
    let lines = [answer.request.line, cx.now.line];
    out.seen(Rule::ReplayComplete);
    let mut last = seen_to;
    let mut numbers = Vec::with_capacity(actions.len());
    for value in actions {
        let Some(seq) = value.get("serverSeq").and_then(Value::as_u64) else {
            continue;
        };
        let rejected = value.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        if seq <= seen_to && !rejected {
            let message =
                format!("expected only actions after {seen_to} in the replay, found {seq}");
            out.weaker(Rule::ReplayComplete, Weight::Essential, message, &lines);
        } else if seq <= last && last != seen_to && !rejected {
            let message =
                format!("expected the actions of the replay in order, found {seq} after {last}");
            out.weaker(Rule::ReplayComplete, Weight::Essential, message, &lines);
        }
        let uri = value.get("action").and_then(|action| channel_of(value, action));
        if let Some(uri) = uri.filter(|uri| !answer.is_wanted.contains(*uri)) {
            let message = format!(
                "expected only actions on the requested channels in the replay, found one on \
                 `{uri}`"
            );
            out.weaker(Rule::ReplayComplete, Weight::Essential, message, &lines);
        }
        if !rejected {
            last = last.max(seq);
            numbers.push(seq);
        }
    }
    numbers.sort_unstable();
    let missed = missed(cx, answer, seen_to, &numbers);
    let first = numbers.first().copied();
    if first.is_some() || !missed.is_empty() {
        out.seen(Rule::NeverPartial);
    }
    let early = |seq: u64| first.is_some_and(|first| seq < first);
    let (before, within): (Vec<_>, Vec<_>) = missed.into_iter().partition(|(seq, _)| early(*seq));
    let uncovered = |rule: Rule, missed: &[(u64, u64)], text: &str, out: &mut FindingSink| {
        if missed.is_empty() {
            return;
        }
        let named: Vec<u64> = missed.iter().map(|(seq, _)| *seq).take(MAX_NAMED).collect();
        let message = format!(
            "{text} after {seen_to} that others received, found {} missing, beginning with {named:?}",
            missed.len()
        );
        let mut lines = lines.to_vec();
        lines.extend(missed.iter().map(|(_, line)| *line).take(MAX_NAMED));
        out.broken(rule, message, &lines);
    };
    uncovered(
        Rule::NeverPartial,
        &before,
        "expected snapshots, or a replay that begins with the first action",
        out,
    );
    uncovered(Rule::ReplayComplete, &within, "expected a replay of every action", out);
}

/// Returns the actions that are missing in the replay. Other connections received these actions before the request was
/// sent, or their `serverSeq` is below the last `serverSeq` of the replay.
fn missed(
    cx: &OracleContext,
    answer: &ReconnectAnswer<'_>,
    seen_to: u64,
    replayed: &[u64],
) -> Vec<(u64, u64)> {
    let version = cx.here().and_then(|conn| conn.version);
    let resumed: foldhash::HashSet<ChannelId> = answer
        .wanted
        .iter()
        .filter(|uri| !answer.is_missing.contains(*uri))
        .filter_map(|uri| cx.channels.find(uri))
        .filter(|id| cx.channel(*id).is_some_and(|channel| channel.disposed.is_none()))
        .collect();
    let last = replayed.last().copied().unwrap_or(0);
    let owed = |seq: u64, logged: &LoggedAction| {
        (logged.tick < answer.request.tick || seq < last)
            && logged.version == version
            && resumed.contains(&logged.channel)
    };
    let known = cx.log.after(seen_to).filter(|(seq, logged)| owed(*seq, logged));
    let missed = known.filter(|(seq, _)| replayed.binary_search(seq).is_err());
    // Decoding is expensive, so only the few remaining actions are decoded.
    let missed = missed.filter(|(_, logged)| {
        let value = logged.value();
        let envelope = value.as_deref().and_then(ActionEnvelope::read);
        envelope.is_some_and(|envelope| envelope.action_type != "chat/turnsLoaded")
    });
    missed.map(|(seq, logged)| (seq, logged.line)).collect()
}

/// Judges the member `missing` in the answer with a replay. Invariant M3.
fn missing(cx: &OracleContext, answer: &ReconnectAnswer<'_>, out: &mut FindingSink) {
    let lines = [answer.request.line, cx.now.line];
    let protocol = cx.here().and_then(|conn| conn.protocol);
    if protocol.is_none_or(|protocol| !protocol.has(ProtocolFeature::Missing)) {
        return;
    }
    out.seen(Rule::Missing);
    for uri in answer.missing.iter().filter(|uri| !answer.is_wanted.contains(*uri)) {
        let message = format!("expected only requested channels in `missing`, found `{uri}`");
        out.broken(Rule::Missing, message, &lines);
    }
    for uri in answer.missing.iter().filter(|uri| answer.is_wanted.contains(*uri)) {
        let channel = cx.channels.find(uri).and_then(|id| Some((id, cx.channel(id)?)));
        let (weight, line) = match channel.and_then(|(id, channel)| served(cx, id, channel)) {
            _ if *uri == ROOT => (Weight::Essential, 0),
            // The host may no longer let this client see the channel, so the finding is only a note.
            Some(line) => (Weight::Note, line),
            None => continue,
        };
        let message =
            format!("expected only channels that no longer exist in `missing`, found `{uri}`");
        out.weaker(Rule::Missing, weight, message, &[line, answer.request.line, cx.now.line]);
    }
    for uri in answer.wanted.iter().filter(|uri| !answer.is_missing.contains(*uri)) {
        let channel = cx.channels.find(uri).and_then(|id| cx.channel(id));
        let disposed = channel.and_then(|channel| channel.disposed);
        // The host may have handled this request before it disposed of the channel.
        if let Some(line) = disposed.filter(|line| *line < answer.request.line) {
            let message =
                format!("expected the disposed channel `{uri}` in `missing`, found it resumed");
            let lines = [line, answer.request.line, cx.now.line];
            out.broken(Rule::Missing, message, &lines);
        }
    }
}

/// Judges whether an answer with snapshots has one for every channel. Invariant M3.
fn snapshots<'a>(
    cx: &OracleContext,
    answer: &ReconnectAnswer<'a>,
    result: &'a Value,
    out: &mut FindingSink,
) {
    let Some(snapshots) = result.get("snapshots").and_then(Value::as_array) else {
        return;
    };
    out.seen(Rule::Missing);
    let resource =
        |snapshot: &'a Value| snapshot.get("resource").and_then(Value::as_str).map(canonical);
    let found: foldhash::HashSet<&str> = snapshots.iter().filter_map(resource).collect();
    for uri in answer.wanted.iter().filter(|uri| !found.contains(*uri)) {
        let channel = cx.channels.find(uri).and_then(|id| Some((id, cx.channel(id)?)));
        let (why, weight, line) = match channel.and_then(|(id, channel)| served(cx, id, channel)) {
            _ if *uri == ROOT => ("always exists", Weight::Essential, 0),
            Some(line) => ("other connections are subscribed to", Weight::Note, line),
            None => continue,
        };
        let message = format!("expected a snapshot of `{uri}`, which {why}, found none");
        out.weaker(Rule::Missing, weight, message, &[line, answer.request.line, cx.now.line]);
    }
}

/// Returns a hash of the identity of a notification: its method, and the session. For an added session, other members
/// of the summary may differ.
fn news(seen: &SeenFrame) -> Option<u64> {
    let message = seen.message()?;
    let params = message.params();
    let added = params.get("summary").and_then(|summary| summary.get("resource"));
    let told = added.unwrap_or(params).sorted().to_text();
    Some(FixedState::default().hash_one((message.method(), told)))
}

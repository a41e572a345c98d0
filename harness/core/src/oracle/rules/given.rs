//! Checks that a subscriber to a channel with a state receives that state.
//!
//! Knows: kinds of channels, answers. Never knows: the content of a state.
//!
//! Start at [`StatesGiven`].

use crate::verdict::Weight;
use crate::wire::channel::ROOT;
use crate::wire::json::Value;
use crate::wire::message::Message;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::{ChannelId, ChannelRecord, canonical, kind_of_scheme};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::envelope::target;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::OracleStep;
use crate::oracle::subscriptions::uris;

const SUBSCRIBED: &str = "subscribe.snapshot-state-bearing";
const INITIAL: &str = "lifecycle.initialize.snapshots-per-subscription";
const RESUMED: &str = "reconnect.snapshot.one-per-subscription";

/// The checks of delivered states. These checks need no state beyond the context.
pub(super) struct StatesGiven;

impl CheckFamily for StatesGiven {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        let OracleStep::Answered { request, message } = step else { return };
        let spoken = cx.here().filter(|conn| !conn.stale && conn.protocol.is_some());
        let Some(result) = message.result().filter(|_| spoken.is_some()) else { return };
        match request.method.as_str() {
            "subscribe" => subscribed(cx, request, result, out),
            "initialize" => {
                initialized(cx, request, message, out);
                once(cx, request, result, INITIAL, out);
            }
            "reconnect" => once(cx, request, result, RESUMED, out),
            _ => {}
        }
    }
}

/// Judges whether the answer to `subscribe` has a snapshot. Every known kind of channel has a state; a channel
/// of an unknown kind may have no state. Invariant D6.
fn subscribed(cx: &OracleContext, request: &OpenRequest, result: &Value, out: &mut FindingSink) {
    let Some(uri) = target(request.params()) else { return };
    let channel = cx.channels.find(uri).and_then(|id| cx.channel(id));
    let known = channel.and_then(|channel| Some((channel.kind?, channel.kind_line)));
    let Some((kind, line)) = known.or_else(|| Some((kind_of_scheme(uri)?, 0))) else { return };
    let rule = Rule::StateGiven.of(SUBSCRIBED);
    out.seen(rule);
    if given(result, "snapshot").is_none() && result.get("fromSeq").is_none() {
        let message = format!(
            "expected a snapshot of `{uri}` in the answer to `subscribe`, since {} channels have a \
             state, found none",
            kind.family()
        );
        out.broken(rule, message, &[line, request.line, cx.now.line]);
    }
}

/// Judges whether each channel occurs only once in a list of snapshots. Of two snapshots, a client cannot know which
/// one is valid. Invariant D6.
fn once(
    cx: &OracleContext,
    request: &OpenRequest,
    result: &Value,
    requirement: &'static str,
    out: &mut FindingSink,
) {
    let snapshots = list(result, "snapshots");
    let rule = Rule::StateGiven.of(requirement);
    if !snapshots.is_empty() {
        out.seen(rule);
    }
    // A client that requests a channel twice may receive two snapshots.
    let wanted = ["initialSubscriptions", "subscriptions"].map(|it| uris(request.params().get(it)));
    let once = |uri: &&str| wanted.iter().flatten().filter(|it| *it == uri).count() < 2;
    if let Some(uri) = repeated(snapshots, "resource").filter(once) {
        let message = format!(
            "expected one snapshot of `{uri}` in the answer to `{}`, found two",
            request.method
        );
        out.weaker(rule, Weight::Essential, message, &[request.line, cx.now.line]);
    }
}

/// Judges whether the answer to `initialize` has a snapshot for each initial subscription. The root channel
/// always exists. Another channel may be gone, or the host may hide it from this client. Invariant D6.
fn initialized(
    cx: &OracleContext,
    request: &OpenRequest,
    message: &Message,
    out: &mut FindingSink,
) {
    let wanted = uris(request.params().get("initialSubscriptions"));
    let result = message.result().unwrap_or(&Value::Null);
    let snapshots = list(result, "snapshots").iter();
    let found: foldhash::HashSet<&str> =
        snapshots.filter_map(|it| text(it, "resource")).map(canonical).collect();
    let rule = Rule::StateGiven.of(INITIAL);
    if !wanted.is_empty() {
        out.seen(rule);
    }
    for uri in wanted.iter().filter(|uri| !found.contains(*uri)) {
        let channel = cx.channels.find(uri).and_then(|id| Some((id, cx.channel(id)?)));
        let served = channel.and_then(|(id, channel)| served(cx, id, channel));
        let (weight, line) = match served {
            _ if *uri == ROOT => (Weight::Essential, 0),
            Some(line) => (Weight::Note, line),
            None => continue,
        };
        let message = format!(
            "expected a snapshot of `{uri}`, which is among the initial subscriptions, found none"
        );
        out.weaker(rule, weight, message, &[line, request.line, cx.now.line]);
    }
}

/// Returns the line at which another connection's subscription to the channel began with a snapshot; `None` if there is
/// no such subscription.
pub(super) fn served(cx: &OracleContext, id: ChannelId, channel: &ChannelRecord) -> Option<u64> {
    let others = channel.subscribers.iter().filter(|conn| **conn != cx.now.conn);
    let mut subs = others.filter_map(|conn| cx.conns.get(conn)?.subs.get(&id));
    subs.find(|sub| sub.complete_from().is_some()).map(|sub| sub.line)
}

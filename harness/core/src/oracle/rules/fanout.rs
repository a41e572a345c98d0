//! Checks the recipients of messages: every subscriber receives every action, and no other connection receives it.
//!
//! Knows: subscriptions and the log. Never knows: the effect of actions.

use std::collections::HashMap;

use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::{ConnectionRecord, OpenRequest, SubscriptionRecord};
use crate::oracle::context::OracleContext;
use crate::oracle::envelope::{ActionEnvelope, target};
use crate::oracle::log::LoggedAction;
use crate::oracle::members::list;
use crate::oracle::step::{ActionDelivery, OracleStep};
use crate::oracle::subscriptions::uris;

/// Actions for which the specification does not say which subscribers receive them.
const OPEN_AUDIENCE: &[&str] = &["chat/turnsLoaded"];
/// The scheme of channels that relay messages of MCP servers. The specification does not state who receives
/// these messages.
const MCP: &str = "mcp:";
/// The prefixes of notifications that are sent to all subscribers of the channel that the notification names.
const OWN_NOTIFICATIONS: [&str; 2] = ["root/", "otlp/"];
/// The prefix of notifications about the root channel.
const ROOT_NOTIFICATIONS: &str = "root/";
/// The notifications that a client without a subscription may receive.
const OPEN_NOTIFICATIONS: &[&str] = &["auth/required"];
/// Prefixes of actions, each with the version in the specification's registry, which is earlier than the first
/// published package with the action.
const REGISTERED_EARLIER: &[(&str, Version)] = &[
    ("automation", Version::V0_8),
    ("chat/backgroundWork", Version::V0_9),
    ("chat/isArchivedChanged", Version::V0_9),
    ("chat/isReadChanged", Version::V0_9),
    ("session/chatsReordered", Version::V0_9),
];
/// Upper bound for the missed actions that one finding names.
const MAX_NAMED: usize = 4;
/// Upper bound for the subscriptions whose missed actions are remembered.
const MAX_REPORTED: usize = 4_096;

/// The missed actions that were already reported. Each missed action is reported only once.
#[derive(Default)]
pub(super) struct FanoutChecks {
    /// The highest `serverSeq` that was reported as missed, for each subscription.
    reported: ReportedLosses,
    /// The highest `serverSeq` that a connection received on a channel before its subscription to the channel was
    /// confirmed, and the line of this action.
    early: HashMap<(ConnId, ChannelId), (u64, u64)>,
}

type ReportedLosses = HashMap<(ConnId, ChannelId), u64>;

impl CheckFamily for FanoutChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Envelope(delivery) => {
                if delivery.replayed.is_none() {
                    self.is_early(cx, delivery);
                    subscribed_only(cx, delivery, out);
                    after_snapshot(cx, delivery, out);
                    if !delivery.envelope.rejected {
                        self.skipped(cx, delivery, out);
                    }
                }
                family(cx, delivery, out);
                known_actions(cx, delivery, out);
            }
            OracleStep::Notified { method, channel, .. } => notified(cx, method, *channel, out),
            OracleStep::Snapshot { channel, from_seq, .. } => {
                self.early(cx, *channel, *from_seq, out)
            }
            OracleStep::Reconnected { request, result } if result.get("actions").is_some() => {
                self.before_replay(cx, request, result, out);
            }
            OracleStep::Closed => {
                let here = cx.now.conn;
                self.early.retain(|(conn, _), _| *conn != here);
            }
            OracleStep::Ending { conn, channel } => {
                let known = cx.conns.get(conn);
                let sub = known.and_then(|conn| conn.subs.get(channel));
                if let Some((known, sub)) = known.zip(sub) {
                    let who = SubscriberKey { id: *conn, conn: known, sub, channel: *channel };
                    self.tail(cx, &who, out);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        for (id, conn) in cx.conns.iter().filter(|(_, conn)| !conn.stale && !conn.closed) {
            for (channel, sub) in &conn.subs {
                let who = SubscriberKey { id: *id, conn, sub, channel: *channel };
                self.tail(cx, &who, out);
            }
        }
    }
}

/// Judges whether an action reaches only subscribers. Invariant A5.
fn subscribed_only(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let Some(conn) = cx.here() else {
        return;
    };
    out.seen(Rule::SubscribedOnly);
    let origin = delivery.envelope.origin.map(|origin| origin.client_id);
    let own = origin.is_some() && origin == conn.client_id.as_deref();
    if own || may_receive(cx, conn, delivery.channel) {
        return;
    }
    let what = format!("`{}`", delivery.envelope.action_type);
    unsubscribed(cx, conn, delivery.channel, &what, (Rule::SubscribedOnly, Weight::Must), out);
}

/// Judges whether a notification is known and reaches only subscribers. Invariants A5, A7, A8 and L10.
fn notified(cx: &OracleContext, method: &str, channel: Option<ChannelId>, out: &mut FindingSink) {
    let Some(conn) = cx.here().filter(|conn| !conn.stale) else {
        return;
    };
    // Before channels existed, the host sent every notification to every connection, wrapped in the method
    // `notification`.
    if conn.protocol.is_some_and(|protocol| !protocol.has(ProtocolFeature::Channels)) {
        return;
    }
    let relayed = channel.is_some_and(|channel| cx.uri(channel).starts_with(MCP));
    if !relayed && let Some(protocol) = conn.protocol {
        out.seen(Rule::KnownActions);
        [NOTIFICATIONS, NEWER].iter().for_each(|id| out.seen_of(Rule::KnownActions, id));
        if protocol.method(method).is_none_or(|row| !row.from_host) {
            let sends =
                |protocol: &Protocol| protocol.method(method).is_some_and(|row| row.from_host);
            unknown(cx, ("notification", NOTIFICATIONS), method, &sends, out);
        }
    }
    let Some(channel) = channel.filter(|_| !relayed) else {
        return;
    };
    if method.starts_with(ROOT_NOTIFICATIONS) && conn.protocol.is_some() {
        out.seen(Rule::Family);
        if cx.uri(channel) != ROOT {
            let uri = cx.uri(channel);
            let message = format!("expected `{method}` on `{ROOT}`, found it on `{uri}`");
            let line = cx.channel(channel).map_or(0, |channel| channel.kind_line);
            out.broken(Rule::Family, message, &[line, cx.now.line]);
        }
    }
    let rule = match OWN_NOTIFICATIONS.iter().any(|own| method.starts_with(own)) {
        true => Rule::NotificationsSubscribed,
        false => Rule::SubscribedOnly,
    };
    out.seen(rule);
    if may_receive(cx, conn, channel) {
        return;
    }
    let open = OPEN_NOTIFICATIONS.contains(&method);
    let weight = if open { Weight::Note } else { Weight::Must };
    unsubscribed(cx, conn, channel, &format!("`{method}`"), (rule, weight), out);
}

/// Returns whether a connection may receive messages of a channel. The result is `false` only if the transcript shows
/// that the connection is not subscribed.
fn may_receive(cx: &OracleContext, conn: &ConnectionRecord, channel: ChannelId) -> bool {
    conn.subs.contains_key(&channel)
        || asked_for(cx, conn, channel)
        || ((conn.partial() || conn.vague) && !conn.left.contains(&channel))
}

/// Returns whether an open request of the connection would subscribe it to the channel.
fn asked_for(cx: &OracleContext, conn: &ConnectionRecord, channel: ChannelId) -> bool {
    let uri = cx.uri(channel);
    conn.open_requests().any(|request| {
        let params = request.params();
        match request.method.as_str() {
            "subscribe" => target(params) == Some(uri),
            "initialize" => uris(params.get("initialSubscriptions")).contains(&uri),
            "reconnect" => uris(params.get("subscriptions")).contains(&uri),
            _ => false,
        }
    })
}

fn unsubscribed(
    cx: &OracleContext,
    conn: &ConnectionRecord,
    channel: ChannelId,
    what: &str,
    (rule, weight): (Rule, Weight),
    out: &mut FindingSink,
) {
    let uri = cx.uri(channel);
    let (weight, message) = if conn.left.contains(&channel) {
        (weight, format!("expected nothing on `{uri}` after the client unsubscribed, found {what}"))
    } else {
        let weight = weight.min(Weight::Essential);
        (
            weight,
            format!(
                "expected nothing on `{uri}`, to which the client is not subscribed, found {what}"
            ),
        )
    };
    out.weaker(rule, weight, message, &[conn.handshake_line, cx.now.line]);
}

/// Judges whether the `serverSeq` of an action is above the `fromSeq` of the subscription's snapshot. Invariant A6.
fn after_snapshot(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let sub = cx.here().and_then(|conn| conn.subs.get(&delivery.channel));
    let Some((sub, from_seq)) = sub.and_then(|sub| Some((sub, sub.from_seq?))) else {
        return;
    };
    if delivery.envelope.rejected || sub.replayed.is_some() {
        return;
    }
    out.seen(Rule::AfterSnapshot);
    let seq = delivery.envelope.seq;
    if seq <= from_seq {
        let uri = cx.uri(delivery.channel);
        let message = format!(
            "expected actions on `{uri}` with a `serverSeq` above {from_seq}, the `fromSeq` of its \
             snapshot, found {seq}"
        );
        out.broken(Rule::AfterSnapshot, message, &[sub.line, cx.now.line]);
    }
}

/// Judges whether an action arrives on a channel of the right kind, or names a resource of the right kind.
/// Invariant A7.
fn family(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let Some((row, channel)) = delivery.row.zip(cx.channel(delivery.channel)) else {
        return;
    };
    // Before channels existed, the action itself contained the URI of its session or terminal.
    let Some(kind) = channel.kind else {
        return;
    };
    if delivery.envelope.rejected {
        return;
    }
    out.seen(Rule::Family);
    if row.channel != kind {
        let uri = &channel.uri;
        let message = format!(
            "expected only `{}` actions on `{uri}`, found `{}`",
            kind.family(),
            delivery.envelope.action_type
        );
        out.broken(Rule::Family, message, &[channel.kind_line, cx.now.line]);
    }
}

/// Judges whether the negotiated version has this action type. Invariant A8.
fn known_actions(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let conn = cx.here().filter(|conn| conn.protocol.is_some());
    if conn.is_none() || delivery.envelope.rejected {
        return;
    }
    out.seen(Rule::KnownActions);
    [ACTIONS, NEWER].iter().for_each(|id| out.seen_of(Rule::KnownActions, id));
    let guide = conn.and_then(|conn| conn.protocol).and_then(guide_only);
    if let Some((requirement, _)) = guide {
        out.seen_of(Rule::KnownActions, requirement);
    }
    if delivery.row.is_none() {
        let name = delivery.envelope.action_type;
        if let Some((requirement, _)) = guide.filter(|(_, names)| names.contains(&name)) {
            let message = format!(
                "expected an action that the types define, found `{name}`, which only the guide of this version names"
            );
            return out.broken(Rule::KnownActions.of(requirement), message, &[cx.now.line]);
        }
        unknown(cx, ("action", ACTIONS), name, &|protocol| protocol.action(name).is_some(), out);
    }
}

/// The requirements that forbid actions and notifications of other versions.
const ACTIONS: &str = "version.action-types-known";
const NOTIFICATIONS: &str = "version.notification-methods-known";
const NEWER: &str = "version.host-no-newer-behaviour";

/// Returns the actions that only the guide of a version mentions and that its types do not define, with the requirement
/// about these actions; `None` if there are no such actions.
fn guide_only(protocol: &Protocol) -> Option<(&'static str, &'static [&'static str])> {
    match protocol.has(ProtocolFeature::Channels) {
        _ if protocol.has(ProtocolFeature::Chats) => None,
        true => Some(("reading.no-diffs", &["session/diffsChanged"])),
        false => Some(("reading.tool-actions", &["session/toolStart", "session/toolComplete"])),
    }
}

fn unknown(
    cx: &OracleContext,
    (what, requirement): (&str, &'static str),
    name: &str,
    has: &dyn Fn(&Protocol) -> bool,
    out: &mut FindingSink,
) {
    if name.starts_with("x-") {
        return;
    }
    let spoken = cx.here().and_then(|conn| conn.version);
    let Some(spoken) = spoken else {
        return;
    };
    let other = Protocol::all().rev().find(|protocol| has(protocol));
    let early = |(prefix, since): &(&str, Version)| name.starts_with(prefix) && spoken >= *since;
    let (requirement, weight, message) = match other {
        Some(protocol) => (
            NEWER,
            if REGISTERED_EARLIER.iter().any(early) { Weight::Note } else { Weight::Must },
            format!(
                "expected {what}s of version `{spoken}`, found `{name}` of version `{}`",
                protocol.version()
            ),
        ),
        None => (
            requirement,
            Weight::Note,
            format!("expected {what}s of version `{spoken}`, found `{name}`, which no version has"),
        ),
    };
    out.weaker(Rule::KnownActions.of(requirement), weight, message, &[cx.now.line]);
}

/// A subscription, identified by its connection and its channel.
struct SubscriberKey<'a> {
    id: ConnId,
    conn: &'a ConnectionRecord,
    sub: &'a SubscriptionRecord,
    channel: ChannelId,
}

impl FanoutChecks {
    /// Remembers an action on a channel whose subscription is not confirmed yet, unless the receiving client dispatched
    /// the action.
    fn is_early(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>) {
        let Some(conn) = cx.here().filter(|conn| !conn.partial()) else { return };
        let key = (cx.now.conn, delivery.channel);
        let origin = delivery.envelope.origin.map(|origin| origin.client_id);
        let own = origin.is_some() && origin == conn.client_id.as_deref();
        let subscribed = conn.subs.contains_key(&delivery.channel);
        if own || subscribed || delivery.envelope.rejected || self.early.len() >= MAX_REPORTED {
            return;
        }
        if asked_for(cx, conn, delivery.channel) {
            self.early.insert(key, (delivery.envelope.seq, cx.now.line));
        }
    }

    /// Judges, when a snapshot arrives, whether newer actions arrived before it. A client whose state begins
    /// with the snapshot loses these actions. Invariant A4.
    fn early(
        &mut self,
        cx: &OracleContext,
        channel: ChannelId,
        from_seq: u64,
        out: &mut FindingSink,
    ) {
        let early = self.early.remove(&(cx.now.conn, channel));
        let Some((seq, line)) = early.filter(|(seq, _)| *seq > from_seq) else { return };
        let uri = cx.uri(channel);
        let message = format!(
            "expected the actions on `{uri}` above {from_seq}, the `fromSeq` of its snapshot, \
             after the answer with the snapshot, found {seq} before it"
        );
        let rule = Rule::FanoutComplete.of("subscribe.live-after-response");
        out.weaker(rule, Weight::Note, message, &[line, cx.now.line]);
    }

    /// Judges, when a replay arrives, whether actions that are newer than the replay arrived before it. The client
    /// would apply the actions of the replay after the newer actions. Invariant A4.
    fn before_replay(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        result: &Value,
        out: &mut FindingSink,
    ) {
        let replayed: foldhash::HashSet<u64> =
            list(result, "actions").iter().filter_map(|it| it.get("serverSeq")?.as_u64()).collect();
        for uri in uris(request.params().get("subscriptions")) {
            let channel = cx.channels.find(uri);
            let early = channel.and_then(|it| self.early.remove(&(cx.now.conn, it)));
            let Some((seq, line)) = early.filter(|(seq, _)| !replayed.contains(seq)) else {
                continue;
            };
            let message = format!(
                "expected the actions on `{uri}` that are not in the replay after the answer with \
                 the replay, found {seq} before it"
            );
            let rule = Rule::ReplayComplete.of("reconnect.no-events-in-between-lost");
            out.weaker(rule, Weight::Note, message, &[request.line, line, cx.now.line]);
        }
    }

    /// Judges, when an action arrives, whether the subscription has missed actions since its last action. Invariant A4.
    fn skipped(
        &mut self,
        cx: &OracleContext,
        delivery: &ActionDelivery<'_>,
        out: &mut FindingSink,
    ) {
        let seq = delivery.envelope.seq;
        let Some((conn, channel)) = cx.here().zip(cx.channel(delivery.channel)) else {
            return;
        };
        let sub = conn.subs.get(&delivery.channel);
        if let Some(sub) = sub.filter(|sub| sub.complete_from().is_some()) {
            if channel.subscribers.len() > 1 {
                out.seen(Rule::FanoutComplete);
            }
            let who = SubscriberKey { id: cx.now.conn, conn, sub, channel: delivery.channel };
            self.report(cx, &who, channel.between(sub.last, seq), seq, out);
        }
        // No connection has received this action before, but other subscribers may already have received actions with
        // higher numbers.
        if cx.log.is_new(seq) && channel.recent.back().is_some_and(|last| *last > seq) {
            for id in channel.subscribers.iter().filter(|id| **id != cx.now.conn) {
                overtaken(cx, *id, delivery, out);
            }
        }
    }

    /// Judges, when a subscription ends, whether its last actions are missing: actions with numbers below the last
    /// number that the connection received, and actions that other connections received before the last fence (the
    /// answer to a later request). Invariant A4.
    fn tail(&mut self, cx: &OracleContext, who: &SubscriberKey<'_>, out: &mut FindingSink) {
        let Some(channel) = cx.channel(who.channel) else {
            return;
        };
        let last = who.sub.last;
        if who.sub.complete_from().is_some()
            && channel.recent.back().is_some_and(|newest| *newest > last)
        {
            let before = who.conn.last.map_or(0, |(seq, _)| seq);
            self.report(cx, who, channel.through(last, u64::MAX), before, out);
        }
    }

    /// Reports the actions that a subscription has missed: actions with numbers below `before`, and actions that other
    /// connections received before the last fence (the answer to a later request).
    fn report(
        &mut self,
        cx: &OracleContext,
        who: &SubscriberKey<'_>,
        numbers: impl Iterator<Item = u64>,
        before: u64,
        out: &mut FindingSink,
    ) {
        let SubscriberKey { id, conn, sub, channel } = *who;
        let mut missed = Vec::new();
        let mut lines = vec![sub.line];
        for seq in numbers {
            // A fence (the answer to a later request) proves a missing action only if it arrived after the confirmation
            // of the subscription.
            let barrier = conn.fence > sub.tick;
            let due =
                |logged: &&LoggedAction| seq < before || (barrier && logged.tick < conn.fence);
            let Some(logged) = cx.log.get(seq).filter(due) else {
                continue;
            };
            let value = logged.value();
            let Some(envelope) = value.as_deref().and_then(ActionEnvelope::read) else {
                continue;
            };
            // Actions that were received before the request for a replay belong to the replay, which another check
            // judges.
            let judged = logged.version == conn.version
                && !open_audience(cx, channel, envelope.action_type)
                && sub.replayed.is_none_or(|asked| logged.tick >= asked);
            if judged && self.reported.get(&(id, channel)).is_none_or(|known| *known < seq) {
                missed.push(seq);
                lines.push(logged.line);
            }
        }
        let Some(newest) = missed.iter().max().copied() else {
            return;
        };
        if self.reported.len() < MAX_REPORTED {
            self.reported.insert((id, channel), newest);
        }
        missed.reverse();
        let count = missed.len();
        missed.truncate(MAX_NAMED);
        lines.truncate(MAX_NAMED + 1);
        lines.push(cx.now.line);
        let uri = cx.uri(channel);
        let message = format!(
            "expected every action on `{uri}` that other subscribers received, found {count} \
             missing, beginning with {missed:?}"
        );
        out.broken(Rule::FanoutComplete, message, &lines);
    }
}

/// Reports a connection that has received a later action of the channel, but not this action, although another
/// connection received it. Invariant A4.
fn overtaken(cx: &OracleContext, id: ConnId, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let seq = delivery.envelope.seq;
    let Some(other) = cx.conns.get(&id) else {
        return;
    };
    let Some(sub) = other.subs.get(&delivery.channel) else {
        return;
    };
    let here = cx.here().and_then(|conn| conn.version);
    let past = sub.complete_from().is_some_and(|from| from < seq) && sub.last > seq;
    if !past
        || other.version != here
        || open_audience(cx, delivery.channel, delivery.envelope.action_type)
    {
        return;
    }
    let uri = cx.uri(delivery.channel);
    let after = cx.log.get(sub.last).map_or(0, |logged| logged.line);
    let message = format!(
        "expected every subscriber of `{uri}` to receive action {seq}, found connection {} without \
         it but with the later action {}",
        cx.name(id),
        sub.last
    );
    out.broken(Rule::FanoutComplete, message, &[sub.line, after, cx.now.line]);
}

fn open_audience(cx: &OracleContext, channel: ChannelId, action_type: &str) -> bool {
    let kind = cx.channel(channel).and_then(|channel| channel.kind);
    OPEN_AUDIENCE.contains(&action_type)
        || matches!(kind, Some(ChannelKind::Automations | ChannelKind::AutomationRun))
}

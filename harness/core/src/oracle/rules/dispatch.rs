//! Checks the dispatches of clients, and the actions that settle them.
//!
//! Knows: dispatches and the origins of actions. Never knows: states.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Text, Value};

use crate::transcript::{ConnId, SeenFrame};
use crate::verdict::Weight;
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::{DispatchRight, Protocol};
use crate::wire::validate::MessageOrigin;

use super::causality::above;
use crate::oracle::budget::KeptFrame;
use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::ConnectionRecord;
use crate::oracle::context::OracleContext;
use crate::oracle::step::{ActionDelivery, OracleStep};

/// Upper bound for the dispatches that are remembered. The origins of older dispatches are not judged.
const MAX_DISPATCHES: usize = 32_768;
/// Upper bound for the rejections that are watched for an effect, and for the actions that each of them is
/// compared with.
const MAX_WATCHED: usize = 64;
const WATCHED_ACTIONS: usize = 4;

/// The dispatches of all clients, and the order in which each connection received their echoes and rejections.
#[derive(Default)]
pub(super) struct DispatchChecks {
    all: VecDeque<DispatchRecord>,
    /// The number of dispatches that were removed from the beginning of the list `all`.
    forgotten: usize,
    /// The places of the dispatches, by client and `clientSeq`. The place of a dispatch is the number of earlier
    /// dispatches, including those that are no longer in the list.
    by_number: foldhash::HashMap<Arc<str>, ClientNumbers>,
    /// The places of the dispatches that the host has neither accepted nor rejected yet, by connection and
    /// channel.
    owed: LiteMap<(ConnId, ChannelId), VecDeque<usize>>,
    /// The newest settled dispatch of each connection, and of each of its channels.
    settled: LiteMap<(ConnId, Option<ChannelId>), SettledDispatch>,
    watched: VecDeque<WatchedRejection>,
    /// Whether a client may have sent a dispatch that could not be read, or whose client is unknown. If so, the checks
    /// cannot distinguish a forged origin from a real origin.
    unclear: bool,
}

/// The `clientSeq` numbers of a client's dispatches, ascending, with their places. Nearly every client sends
/// ascending numbers.
type ClientNumbers = VecDeque<(i64, usize)>;

struct DispatchRecord {
    /// The dispatched frame, until the dispatch is settled.
    seen: Option<KeptFrame>,
    action_type: Text,
    conn: ConnId,
    /// The tables of the version that the connection of the dispatch uses.
    protocol: Option<&'static Protocol>,
    client: Option<Arc<str>>,
    client_seq: i64,
    channel: ChannelId,
    tick: u64,
    at: Duration,
    line: u64,
    /// The highest `serverSeq` that any connection had received before the dispatch, with its line.
    floor: Option<(u64, u64)>,
    settled: Option<DispatchSettlement>,
    /// Whether the connection that sent the dispatch has received the echo or the rejection of the dispatch.
    returned: bool,
    /// Whether the host has to defer the action until no turn is active.
    deferred: bool,
}

/// The actions that a host has to defer while a turn is active, in versions before 0.5.0. Source: the types of
/// these versions.
const DEFERRED: &[&str] = &["session/modelChanged", "session/agentChanged"];

/// The action with which the host accepted or rejected a dispatch.
#[derive(Clone, Copy, PartialEq)]
struct DispatchSettlement {
    seq: u64,
    rejected: bool,
    line: u64,
}

#[derive(Clone, Copy)]
struct SettledDispatch {
    /// The entry at which the action was dispatched.
    tick: u64,
    dispatch_line: u64,
    line: u64,
}

/// A rejected action that is watched for an effect.
struct WatchedRejection {
    seen: KeptFrame,
    channel: ChannelId,
    conn: ConnId,
    line: u64,
    left: usize,
}

/// The moment at which unsettled dispatches are judged, which selects the dispatches.
#[derive(Clone, Copy)]
enum DispatchTiming {
    /// A connection ends: its dispatches are judged.
    Closed(ConnId),
    /// A subscription ends: the dispatches that the connection sent on this channel are judged.
    Ending(ConnId, ChannelId),
    /// The transcript ends: all dispatches are judged.
    Ended,
}

impl CheckFamily for DispatchChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                self.unclear |= seen.message().is_none_or(unreadable);
            }
            OracleStep::Dispatched { seen, channel, client_seq, sound } => {
                self.enter(cx, seen, *channel, *client_seq, *sound);
            }
            OracleStep::Envelope(delivery) => {
                client_dispatchable(cx, delivery, out);
                self.origin(cx, delivery, out);
                self.watch(cx, delivery, out);
            }
            // After the channel has ended, the host does not have to settle dispatches on it, so only dispatches that
            // are already overdue are judged.
            OracleStep::Ending { conn, channel } => {
                self.unsettled(cx, DispatchTiming::Ending(*conn, *channel), out);
            }
            OracleStep::Closed => {
                self.unsettled(cx, DispatchTiming::Closed(cx.now.conn), out);
                let conn = cx.now.conn;
                self.settled.retain(|(known, _), _| *known != conn);
                self.owed.retain(|(known, _), _| *known != conn);
            }
            OracleStep::Restarted | OracleStep::Gap => {
                if matches!(step, OracleStep::Gap) {
                    self.lose(cx);
                }
                self.watched.clear();
                self.settled.clear();
                self.owed.clear();
                self.all.iter_mut().for_each(|dispatched| dispatched.floor = None);
            }
            _ => {}
        }
    }

    fn finish(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        self.unsettled(cx, DispatchTiming::Ended, out);
    }
}

impl DispatchChecks {
    /// Forgets the oldest dispatch; returns `false` if there is none.
    fn forget_oldest(&mut self) -> bool {
        let Some(old) = self.all.pop_front() else { return false };
        self.pay(old.conn, old.channel, self.forgotten);
        self.forgotten += 1;
        self.forget(&old);
        true
    }

    fn enter(
        &mut self,
        cx: &OracleContext,
        seen: &Arc<SeenFrame>,
        channel: ChannelId,
        client_seq: i64,
        sound: bool,
    ) {
        let Some(conn) = cx.here() else {
            return;
        };
        let subscribed = conn
            .subs
            .get(&channel)
            .is_some_and(|sub| sub.certain && sub.from_seq.is_some() && sub.ending.is_none());
        if self.all.len() >= MAX_DISPATCHES {
            self.forget_oldest();
        }
        let mut kept = cx.memory.requests.keep_frame(seen);
        while kept.is_none() && self.forget_oldest() {
            kept = cx.memory.requests.keep_frame(seen);
        }
        let Some(kept) = kept else {
            // The host may send the action with an origin that the check does not know.
            self.unclear = true;
            return;
        };
        let client = conn.client_id.clone();
        self.unclear |= client.is_none();
        if let Some(client) = &client {
            let index = self.forgotten + self.all.len();
            let numbers = self.by_number.entry(client.clone()).or_default();
            let place = numbers.partition_point(|(known, _)| *known <= client_seq);
            numbers.insert(place, (client_seq, index));
        }
        // A dispatch to the automations channel requests a side effect. The host publishes the resulting state
        // with its own actions.
        let asks = ChannelKind::of_uri(cx.uri(channel)) == Some(ChannelKind::Automations);
        let action_type = action(seen).get("type").and_then(Value::as_str).unwrap_or_default();
        let old = conn.protocol.is_some_and(|it| !it.has(ProtocolFeature::FlatSession));
        let deferred = old && DEFERRED.contains(&action_type);
        if sound
            && subscribed
            && !asks
            && !deferred
            && conn.shaken
            && !conn.stale
            && client.is_some()
        {
            let places = self.owed.entry((cx.now.conn, channel)).or_default();
            places.push_back(self.forgotten + self.all.len());
        }
        self.all.push_back(DispatchRecord {
            action_type: action_type.into(),
            seen: Some(kept),
            conn: cx.now.conn,
            protocol: conn.protocol,
            client,
            client_seq,
            channel,
            tick: cx.now.tick,
            at: cx.now.at,
            line: cx.now.line,
            floor: cx.highest,
            settled: None,
            returned: false,
            deferred,
        });
    }

    /// Forgets the `clientSeq` numbers of this client's dispatches, because some of its traffic is missing.
    fn lose(&mut self, cx: &OracleContext) {
        if let Some(client) = cx.here().and_then(|conn| conn.client_id.as_ref()) {
            self.by_number.remove(client);
        }
        self.unclear = true;
    }

    fn forget(&mut self, old: &DispatchRecord) {
        let Some(client) = &old.client else {
            return;
        };
        if let Some(numbers) = self.by_number.get_mut(client) {
            let first = numbers.partition_point(|(number, _)| *number < old.client_seq);
            if numbers.get(first).is_some_and(|(number, _)| *number == old.client_seq) {
                numbers.remove(first);
            }
            if numbers.is_empty() {
                self.by_number.remove(client);
            }
        }
    }

    /// Judges an action with an origin. Invariants C1, C2, C3 and C4.
    fn origin(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
        let Some(origin) = delivery.envelope.origin else {
            return;
        };
        let numbers = self.by_number.get(origin.client_id);
        let known = numbers.into_iter().flat_map(|numbers| {
            let first = numbers.partition_point(|(number, _)| *number < origin.client_seq);
            let same = |(number, _): &&(i64, usize)| *number == origin.client_seq;
            numbers.range(first..).take_while(same).map(|(_, index)| *index)
        });
        let dispatch = |index: &usize| self.all.get(index.checked_sub(self.forgotten)?);
        let fits = |dispatched: &&DispatchRecord| {
            in_other_words(cx, dispatched.protocol)
                || dispatched.channel == delivery.channel
                    && *dispatched.action_type == *delivery.envelope.action_type
        };
        let fitting: Vec<usize> =
            known.clone().filter(|index| dispatch(index).as_ref().is_some_and(&fits)).collect();
        if fitting.is_empty() {
            let others: Vec<u64> =
                known.filter_map(|index| dispatch(&index)).map(|it| it.line).collect();
            self.forged(cx, delivery, &others, out);
            return;
        }
        out.seen(Rule::NoForgedOrigin);
        self.settle(cx, delivery, &fitting, out);
    }

    /// Reports an origin that names no dispatch. Invariant C2.
    fn forged(
        &self,
        cx: &OracleContext,
        delivery: &ActionDelivery<'_>,
        others: &[u64],
        out: &mut FindingSink,
    ) {
        let Some(origin) = delivery.envelope.origin else {
            return;
        };
        let own = |conn: &&ConnectionRecord| conn.client_id.as_deref() == Some(origin.client_id);
        let ours = cx.conns.values().any(|conn| own(&conn));
        let unseen = |conn: &ConnectionRecord| {
            conn.partial() || (conn.handshake_line > 0 && conn.client_id.is_none())
        };
        if cx.unseen
            || cx.conns.values().any(unseen)
            || self.unclear
            || self.forgotten > 0
            || (!ours && cx.options.foreign)
        {
            return;
        }
        out.seen(Rule::NoForgedOrigin);
        let message = format!(
            "expected the origin of `{}` on `{}` to name an action that the client dispatched, \
             found client `{}` with `clientSeq` {}",
            delivery.envelope.action_type,
            delivery.envelope.channel,
            origin.client_id,
            origin.client_seq
        );
        let mut lines = others.to_vec();
        lines.push(cx.now.line);
        out.broken(Rule::NoForgedOrigin, message, &lines);
    }

    fn settle(
        &mut self,
        cx: &OracleContext,
        delivery: &ActionDelivery<'_>,
        fitting: &[usize],
        out: &mut FindingSink,
    ) {
        let settlement = DispatchSettlement {
            seq: delivery.envelope.seq,
            rejected: delivery.envelope.rejected,
            line: cx.now.line,
        };
        let same = |known: DispatchSettlement| {
            known.seq == settlement.seq && known.rejected == settlement.rejected
        };
        let forgotten = self.forgotten;
        let here = cx.now.conn;
        let mut free = None;
        let mut first = None;
        for index in fitting.iter().map(|index| index - forgotten) {
            let Some(dispatched) = self.all.get(index) else {
                continue;
            };
            match dispatched.settled {
                // The host may reject the same `clientSeq` again, with the same `serverSeq`, if a client uses
                // it twice.
                Some(known) if same(known) && known.rejected && dispatched.conn == here => {
                    first = first.or(Some((dispatched.line, known.line)));
                }
                Some(known) if same(known) => {
                    // This action has already settled the dispatch: another subscriber received the echo or rejection
                    // earlier.
                    self.return_to(cx, index, delivery, out);
                    return;
                }
                Some(known) => first = first.or(Some((dispatched.line, known.line))),
                None => free = free.or(Some(index)),
            }
        }
        let Some(index) = free else {
            let own = cx.here().and_then(|conn| conn.client_id.as_deref());
            let to_dispatcher = own == delivery.envelope.origin.map(|origin| origin.client_id);
            // The specification leaves open which other clients receive a rejection, and with which `serverSeq`.
            if let Some((dispatch, line)) = first.filter(|_| to_dispatcher || !settlement.rejected)
            {
                let message =
                    "expected exactly one echo or rejection of a dispatch, found a second one";
                let lines = [dispatch, line, cx.now.line];
                out.broken(Rule::SettledOnce, message.to_owned(), &lines);
            }
            return;
        };
        let Some(dispatched) = self.all.get_mut(index) else {
            return;
        };
        if settlement.rejected && dispatched.conn != here {
            return;
        }
        dispatched.settled = Some(settlement);
        out.seen(Rule::SettledOnce);
        let Some(seen) = dispatched.seen.take() else {
            return;
        };
        above(cx, delivery, dispatched.floor, dispatched.line, out);
        if !in_other_words(cx, dispatched.protocol) {
            payload(cx, &seen, dispatched.line, delivery, out);
        }
        let (conn, channel) = (dispatched.conn, dispatched.channel);
        if delivery.envelope.rejected {
            out.seen(Rule::RejectionWithoutEffect);
            if self.watched.len() >= MAX_WATCHED {
                self.watched.pop_front();
            }
            self.watched.push_back(WatchedRejection {
                seen,
                channel,
                conn: here,
                line: cx.now.line,
                left: WATCHED_ACTIONS,
            });
        }
        self.pay(conn, channel, forgotten + index);
        self.return_to(cx, index, delivery, out);
    }

    /// Records that a connection received an echo or a rejection. If this is the connection that sent the
    /// dispatch, the order is judged.
    fn return_to(
        &mut self,
        cx: &OracleContext,
        index: usize,
        delivery: &ActionDelivery<'_>,
        out: &mut FindingSink,
    ) {
        let own = |dispatched: &&mut DispatchRecord| {
            dispatched.conn == cx.now.conn && !dispatched.returned && delivery.replayed.is_none()
        };
        if let Some(dispatched) = self.all.get_mut(index).filter(own) {
            dispatched.returned = true;
            if dispatched.deferred {
                return;
            }
            let (tick, line, channel) = (dispatched.tick, dispatched.line, dispatched.channel);
            self.in_order(cx, tick, line, channel, out);
        }
    }

    /// Judges whether the host settles dispatches in the order in which they were sent. Invariant C3.
    fn in_order(
        &mut self,
        cx: &OracleContext,
        tick: u64,
        dispatch_line: u64,
        channel: ChannelId,
        out: &mut FindingSink,
    ) {
        out.seen(Rule::InOrder);
        let (conn, line) = (cx.now.conn, cx.now.line);
        let mut told = false;
        for key in [Some(channel), None] {
            let settled = SettledDispatch { tick, dispatch_line, line };
            let newest = self.settled.entry((conn, key)).or_insert(settled);
            if newest.tick <= tick {
                *newest = settled;
                continue;
            }
            if told {
                continue;
            }
            told = true;
            let lines = [dispatch_line, newest.dispatch_line, newest.line, line];
            if key.is_some() {
                let uri = cx.uri(channel);
                let message = format!(
                    "expected the dispatches on `{uri}` to be accepted or rejected in the order in \
                     which they were sent, found a later one first"
                );
                out.broken(Rule::InOrder, message, &lines);
            } else {
                let message = "expected the dispatches of a connection to be accepted or rejected \
                               in the order in which they were sent, found a later one on another \
                               channel first";
                out.weaker(Rule::InOrder, Weight::Note, message.to_owned(), &lines);
            }
        }
    }

    /// Removes a dispatch from the dispatches that the host still has to settle. The removed dispatch is nearly always
    /// the oldest dispatch on its channel.
    fn pay(&mut self, conn: ConnId, channel: ChannelId, place: usize) {
        let Some(places) = self.owed.get_mut(&(conn, channel)) else { return };
        if let Some(index) = places.iter().position(|owed| *owed == place) {
            places.remove(index);
        }
        if places.is_empty() {
            self.owed.remove(&(conn, channel));
        }
    }

    /// Judges dispatches that the host neither accepted nor rejected, at the end of a connection, of a
    /// subscription or of the transcript. Invariant C1.
    fn unsettled(&mut self, cx: &OracleContext, when: DispatchTiming, out: &mut FindingSink) {
        let judged = |(conn, channel): &(ConnId, ChannelId)| match when {
            DispatchTiming::Closed(closed) => *conn == closed,
            DispatchTiming::Ending(of, ending) => (*conn, *channel) == (of, ending),
            DispatchTiming::Ended => true,
        };
        let owed = self.owed.iter().filter(|(key, _)| judged(key));
        let mut told = Vec::new();
        for ((id, channel), places) in owed {
            let conn = cx.conns.get(id).filter(|conn| !conn.stale && !conn.closed);
            let sub = conn.and_then(|conn| conn.subs.get(channel));
            let kept = sub.is_some_and(|sub| sub.certain && sub.ending.is_none());
            let gone = cx.channel(*channel).is_none_or(|it| it.disposed.is_some());
            if !kept || gone {
                continue;
            }
            let newest = self.settled.get(&(*id, Some(*channel)));
            for place in places {
                let dispatched = place.checked_sub(self.forgotten).and_then(|at| self.all.get(at));
                let Some(dispatched) = dispatched else { continue };
                let late = cx.now.at >= dispatched.at + cx.options.patience();
                let proof = match newest.filter(|newest| newest.tick > dispatched.tick) {
                    Some(newest) => newest.line,
                    None if late => cx.now.line,
                    None => continue,
                };
                told.push((*id, *channel, *place));
                out.seen(Rule::SettledOnce);
                let message = format!(
                    "expected an echo or a rejection of the dispatch with `clientSeq` {} on `{}`, \
                     found neither",
                    dispatched.client_seq,
                    cx.uri(*channel)
                );
                out.broken(Rule::SettledOnce, message, &[dispatched.line, proof]);
            }
        }
        told.into_iter().for_each(|(conn, channel, place)| self.pay(conn, channel, place));
    }

    /// Judges whether an action of the host repeats a client's action that the host has just rejected. Invariant C5.
    fn watch(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
        if self.watched.is_empty() || delivery.envelope.rejected || delivery.replayed.is_some() {
            return;
        }
        let here = cx.now.conn;
        for watched in &mut self.watched {
            if watched.channel != delivery.channel || watched.conn != here {
                continue;
            }
            watched.left = watched.left.saturating_sub(1);
            let message = watched.seen.message();
            let refused = message.and_then(|message| message.params().get("action"));
            let own =
                delivery.value.get("origin").is_none() && says_something(delivery.envelope.action);
            if own && refused == Some(delivery.envelope.action) {
                watched.left = 0;
                let name = delivery.envelope.action_type;
                let message = format!(
                    "expected a rejected `{name}` to have no effect, found that the host sent the \
                     same action itself"
                );
                let lines = [watched.line, cx.now.line];
                out.weaker(Rule::RejectionWithoutEffect, Weight::Note, message, &lines);
            }
        }
        self.watched.retain(|watched| watched.left > 0);
    }
}

/// Returns whether the dispatch was sent in another version than the version of this connection. Two versions may have
/// different names for the same action.
fn in_other_words(cx: &OracleContext, sent: Option<&'static Protocol>) -> bool {
    let here = cx.here().and_then(|conn| conn.protocol);
    sent.zip(here).is_some_and(|(sent, here)| !std::ptr::eq(sent, here))
}

/// Returns whether an action has members other than its type and the ids of its session and turn. Without other
/// members, an action of the host may equal a client's action by chance. For example, the action that ends a turn has
/// no other members up to 0.5.2.
fn says_something(action: &Value) -> bool {
    const NAMES: [&str; 3] = ["type", "session", "turnId"];
    let mut members = action.as_object().into_iter().flatten();
    members.any(|(name, _)| !NAMES.contains(&name.as_str()))
}

/// Returns whether a client's message may be a dispatch that cannot be recorded.
fn unreadable(message: &Message) -> bool {
    let dispatch = message.method() == Some("dispatchAction");
    let number = message.params().get("clientSeq").and_then(Value::as_i64);
    message.kind() == MessageKind::Malformed || (dispatch && number.is_none())
}

fn action(dispatch: &SeenFrame) -> &Value {
    let message = dispatch.message();
    message.and_then(|message| message.params().get("action")).unwrap_or(&Value::Null)
}

/// Judges whether an echo or a rejection keeps the members of the dispatched action. Invariant C4.
fn payload(
    cx: &OracleContext,
    dispatch: &SeenFrame,
    line: u64,
    delivery: &ActionDelivery<'_>,
    out: &mut FindingSink,
) {
    let requirement = match delivery.envelope.rejected {
        true => "envelope.rejection.carries-original",
        false => "envelope.echo.payload-preserved",
    };
    let rule = Rule::PayloadKept.of(requirement);
    out.seen(rule);
    let echoed = delivery.envelope.action;
    let members = action(dispatch).as_object();
    let lost = members
        .into_iter()
        .flatten()
        .find(|(name, value)| !value.is_null() && echoed.get(name.as_str()) != Some(value));
    if let Some((name, _)) = lost {
        let message = format!(
            "expected the echo of `{}` to keep `{name}` as dispatched, found another value",
            delivery.envelope.action_type
        );
        out.broken(rule, message, &[line, cx.now.line]);
    }
}

/// Judges whether the host accepted an action that clients may not dispatch. Invariant C6.
fn client_dispatchable(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let Some(row) = delivery.row else {
        return;
    };
    if delivery.envelope.origin.is_none() || delivery.envelope.rejected {
        return;
    }
    out.seen(Rule::ClientDispatchableOnly);
    let weight = match row.dispatch {
        DispatchRight::Client => return,
        DispatchRight::Host => Weight::Should,
        DispatchRight::Disputed => Weight::Note,
    };
    let name = delivery.envelope.action_type;
    let message = format!("expected a client's `{name}` to be rejected, found it accepted");
    out.weaker(Rule::ClientDispatchableOnly, weight, message, &[cx.now.line]);
}

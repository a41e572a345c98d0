//! Checks merged deliveries: a subscription whose actions the host may merge has the same state as any other
//! subscription.
//!
//! Each subscription with `delivery.maxLatencyMs` has its own state, folded from the actions that the connection
//! received. The state is compared with the channel's state when both have the same `serverSeq`. The cost of a
//! comparison grows with the size of the state. To keep the total cost linear in the number of envelopes, each envelope
//! adds [`SAVED`] to a budget, and a comparison takes place only when the budget covers its cost. At rest and at the
//! end of the subscription the comparison always takes place.
//!
//! Knows: folded channels, deliveries. Never knows: the rules for merging.
//!
//! Start at [`MergeChecks`].

use crate::model::{ActionOutcome, ActionReducer};
use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;

use crate::oracle::budget::KeptBytes;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::difference::difference;
use crate::oracle::masks;
use crate::oracle::step::{ActionDelivery, OracleStep, StateComparison};
use crate::oracle::subscriptions::may_merge;

/// Upper bound for the subscriptions whose own state is followed at the same time.
const MAX_FOLLOWED: usize = 256;
/// The number of compared values that one envelope adds to the budget.
const SAVED: usize = 16;

/// The subscriptions whose actions the host may merge.
#[derive(Default)]
pub(super) struct MergeChecks {
    followed: Vec<FollowedChannel>,
}

struct FollowedChannel {
    conn: ConnId,
    channel: ChannelId,
    kind: ChannelKind,
    protocol: &'static Protocol,
    state: Value,
    kept: KeptBytes,
    /// The `serverSeq` of the last action that the subscription received; before the first action, the `fromSeq` of the
    /// snapshot.
    seq: u64,
    /// Whether the snapshot may omit older turns.
    windowed: bool,
    /// The lines of the snapshot and of the last action.
    lines: [u64; 2],
    /// Whether an action has arrived since the state was last compared.
    fresh: bool,
    /// The budget for comparisons (`saved`) and the cost of the last comparison, both as numbers of JSON values.
    saved: usize,
    cost: usize,
}

/// The member that reducers derive from the turns of a chat. It is not compared: if its value in the first snapshot
/// does not match the turns there, the later difference does not come from the delivery of actions.
const DERIVED: &str = "modifiedAt";

impl CheckFamily for MergeChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { request, channel, kind, from_seq, state }
                if may_merge(request.params()) =>
            {
                let windowed = request.params().get("view").is_some();
                self.follow(cx, (*channel, *kind), *from_seq, state, windowed);
            }
            _ if self.followed.is_empty() => {}
            OracleStep::Envelope(delivery) => self.take(cx, delivery, out),
            OracleStep::Folded { folding, .. } => {
                let here = |it: &&mut FollowedChannel| it.channel == folding.channel;
                self.followed.iter_mut().filter(here).for_each(|it| it.compare(cx, false, out));
            }
            OracleStep::Rest { .. } => {
                self.followed.iter_mut().for_each(|it| it.compare(cx, true, out));
            }
            OracleStep::Ending { conn, channel } => {
                self.end(cx, |it| it.conn == *conn && it.channel == *channel, out);
            }
            OracleStep::Closed => self.end(cx, |it| it.conn == cx.now.conn, out),
            OracleStep::Restarted | OracleStep::Gap => self.followed.clear(),
            _ => {}
        }
    }

    fn finish(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        self.end(cx, |_| true, out);
    }
}

impl MergeChecks {
    /// Begins to follow a subscription with its snapshot, and replaces an older record.
    fn follow(
        &mut self,
        cx: &OracleContext,
        (channel, kind): (ChannelId, Option<ChannelKind>),
        seq: u64,
        state: &Value,
        windowed: bool,
    ) {
        let conn = cx.now.conn;
        self.followed.retain(|it| it.conn != conn || it.channel != channel);
        let protocol = cx.here().and_then(|conn| conn.protocol);
        if let Some((protocol, kind)) = protocol.zip(kind)
            && self.followed.len() < MAX_FOLLOWED
            && let Some(kept) = cx.memory.states.keep(state.heap_size())
        {
            self.followed.push(FollowedChannel {
                conn,
                channel,
                kind,
                protocol,
                state: state.clone(),
                kept,
                seq,
                windowed,
                lines: [cx.now.line, 0],
                fresh: false,
                saved: 0,
                cost: 0,
            });
        }
    }

    /// Folds an action of the current connection, and compares the states if possible.
    fn take(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
        let (conn, channel) = (cx.now.conn, delivery.channel);
        let mine = |it: &FollowedChannel| it.conn == conn && it.channel == channel;
        let Some(at) = self.followed.iter().position(mine) else {
            return;
        };
        let Some(followed) = self.followed.get_mut(at).filter(|it| it.seq < delivery.envelope.seq)
        else {
            return;
        };
        if delivery.envelope.rejected {
            return;
        }
        if followed.fold(cx, delivery) {
            followed.compare(cx, false, out);
        } else {
            self.followed.swap_remove(at);
        }
    }

    /// Compares the states of the selected subscriptions a last time, and then forgets the subscriptions.
    fn end(
        &mut self,
        cx: &OracleContext,
        which: impl Fn(&FollowedChannel) -> bool,
        out: &mut FindingSink,
    ) {
        self.followed.retain_mut(|it| {
            let ends = which(it);
            if ends {
                it.compare(cx, true, out);
            }
            !ends
        });
    }
}

impl FollowedChannel {
    /// Applies an action; returns `false` if no reducer knows it, or if the budget for states is spent.
    fn fold(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>) -> bool {
        let envelope = &delivery.envelope;
        let reducer = ActionReducer::of(self.protocol.version(), envelope.action_type);
        let known = match reducer {
            Some(reducer) => {
                let outcome = reducer.apply(self.kind, 0, &mut self.state, envelope.action);
                matches!(outcome, ActionOutcome::Applied | ActionOutcome::NoOp(_))
            }
            None => envelope.action_type.starts_with("x-"),
        };
        self.seq = envelope.seq;
        self.lines[1] = cx.now.line;
        self.fresh = true;
        self.saved = self.saved.saturating_add(SAVED);
        known && self.kept.grow(envelope.action.heap_size(), || self.state.heap_size())
    }

    /// Compares the state with the channel's state, if both have the same `serverSeq` and the budget covers the cost.
    fn compare(&mut self, cx: &OracleContext, in_any_case: bool, out: &mut FindingSink) {
        let followed = cx.folded(self.channel).filter(|fold| fold.seq == self.seq);
        let Some(fold) =
            followed.filter(|_| self.fresh && (in_any_case || self.cost <= self.saved))
        else {
            return;
        };
        if fold.kind != self.kind || !std::ptr::eq(fold.protocol, self.protocol) {
            return;
        }
        self.fresh = false;
        self.saved = 0;
        self.cost = values(&self.state);
        out.seen(Rule::MergedAgrees);
        let [base, last] = self.lines;
        let comparison = StateComparison {
            channel: self.channel,
            kind: self.kind,
            protocol: self.protocol,
            folded: &fold.state,
            snapshot: &self.state,
            from_seq: self.seq,
            lines: [base, fold.last_line, last],
            windowed: self.windowed || fold.windowed,
        };
        if masks::agree(&comparison) {
            return;
        }
        let all = masks::comparable(&comparison, comparison.folded);
        let merged = masks::comparable(&comparison, comparison.snapshot);
        let (mut all, mut merged) = masks::align(all, merged, comparison.windowed);
        for state in [&mut all.hard, &mut merged.hard] {
            if let Some(members) = state.as_object_mut() {
                members.remove(DERIVED);
            }
        }
        if all.hard == merged.hard {
            return;
        }
        let message = format!(
            "expected the state of `{}` with merged delivery to equal the state without it at {}, \
             found differences",
            cx.uri(self.channel),
            self.seq
        );
        let diff = difference(&all.hard, &merged.hard);
        out.with_diff(
            Rule::MergedAgrees,
            Weight::Essential,
            message,
            &comparison.lines,
            Some(diff),
        );
    }
}

/// Counts the JSON values within a value, including the value itself.
fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(members) => 1 + members.iter().map(|(_, value)| values(value)).sum::<usize>(),
        _ => 1,
    }
}

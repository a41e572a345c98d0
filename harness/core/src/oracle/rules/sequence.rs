//! Checks `serverSeq` numbers: the numbers grow, each number belongs to one action, and the counter never goes
//! back.
//!
//! Knows: the log, the last `serverSeq` of each connection. Never knows: the effect of actions.

use crate::wire::json::Value;

use crate::verdict::Weight;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list};
use crate::oracle::same::written_alike;
use crate::oracle::step::{ActionDelivery, OracleStep};

/// The checks of `serverSeq` numbers. These checks need no state beyond the context.
pub(super) struct SequenceChecks;

impl CheckFamily for SequenceChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Envelope(delivery) => {
                if delivery.replayed.is_none() {
                    grows(cx, delivery, out);
                    covered(cx, delivery, out);
                    order(cx, delivery, out);
                }
                if !delivery.envelope.rejected {
                    one_envelope(cx, delivery, out);
                }
            }
            OracleStep::Answered { request, message } => {
                let result = message.result().unwrap_or(&Value::Null);
                negative(cx, request, result, out);
                if request.method != "initialize" {
                    return;
                }
                let seq = message.result().and_then(|result| result.get("serverSeq"));
                let Some((seq, (floor, line))) = seq.and_then(Value::as_u64).zip(request.floor)
                else {
                    return;
                };
                out.seen(Rule::RealTime);
                if seq < floor {
                    let message = format!(
                        "expected a `serverSeq` of at least {floor}, which was received before the \
                         request was sent, found {seq}"
                    );
                    out.broken(Rule::RealTime, message, &[line, request.line, cx.now.line]);
                }
            }
            OracleStep::Snapshot { request, channel, from_seq, .. } => {
                welcomed(cx, request, *channel, *from_seq, out);
                let Some((floor, line)) = request.floor else {
                    return;
                };
                out.seen(Rule::RealTime);
                let known = cx.channel(*channel);
                let before = known.into_iter().flat_map(|known| known.through(*from_seq, floor));
                let own = before
                    .filter_map(|seq| cx.log.get(seq).map(|logged| (seq, logged)))
                    .find(|(_, logged)| logged.tick < request.tick);
                let uri = cx.uri(*channel);
                if let Some((seq, logged)) = own {
                    let message = format!(
                        "expected a snapshot of `{uri}` with a `fromSeq` of at least {seq}, which \
                         was received before the request was sent, found {from_seq}"
                    );
                    out.broken(Rule::RealTime, message, &[logged.line, request.line, cx.now.line]);
                } else if *from_seq < floor {
                    let message = format!(
                        "expected `fromSeq` of `{uri}` to be at least the highest `serverSeq` \
                         received before the request, {floor}, found {from_seq}"
                    );
                    let lines = [line, request.line, cx.now.line];
                    out.weaker(Rule::RealTime, Weight::Note, message, &lines);
                }
            }
            _ => {}
        }
    }
}

/// Judges whether every `serverSeq` and `fromSeq` in an answer is at least 0. Invariant A10.
fn negative(cx: &OracleContext, request: &OpenRequest, result: &Value, out: &mut FindingSink) {
    let listed = list(result, "snapshots").iter().chain(given(result, "snapshot"));
    let numbers = listed.filter_map(|snapshot| snapshot.get("fromSeq"));
    let numbers = numbers.chain([&result["serverSeq"], &result["fromSeq"]]);
    for number in numbers.filter(|number| number.as_f64().is_some_and(|number| number < 0.0)) {
        let message = format!(
            "expected a number of 0 or more in the answer to `{}`, found {number}",
            request.method
        );
        out.seen(Rule::RealTime);
        out.broken(Rule::RealTime, message, &[request.line, cx.now.line]);
    }
}

/// Judges whether `initialize.serverSeq` is at least the `fromSeq` of each snapshot in the same answer.
/// Invariant A10.
fn welcomed(
    cx: &OracleContext,
    request: &OpenRequest,
    channel: ChannelId,
    from_seq: u64,
    out: &mut FindingSink,
) {
    let welcome = cx.here().and_then(|conn| conn.welcome);
    let Some((seq, line)) = welcome.filter(|_| request.method == "initialize") else {
        return;
    };
    out.seen(Rule::RealTime);
    if from_seq > seq && line == cx.now.line {
        let uri = cx.uri(channel);
        let message = format!(
            "expected `fromSeq` of `{uri}` not above {seq}, the `serverSeq` of the same answer, found \
             {from_seq}"
        );
        out.broken(Rule::RealTime.of(WELCOME), message, &[request.line, line]);
    }
}

/// Judges whether a new action has a greater `serverSeq` than the counter of the host at the time of the subscription.
/// The snapshot includes everything up to this counter, so a later action with a lower number contradicts the snapshot.
/// Invariant A10.
fn covered(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let sub = cx.here().and_then(|conn| conn.subs.get(&delivery.channel));
    let Some((sub, (counter, line))) = sub.and_then(|sub| Some((sub, sub.counter?))) else {
        return;
    };
    let seq = delivery.envelope.seq;
    // Other checks report a `serverSeq` at or below the `fromSeq` of the snapshot, and a `serverSeq` below the last
    // one.
    let last = cx.here().and_then(|conn| conn.last).is_none_or(|(last, _)| last < seq);
    let new = sub.from_seq.is_some_and(|from_seq| from_seq < seq) && last;
    if delivery.envelope.rejected || !new {
        return;
    }
    out.seen(Rule::RealTime);
    if seq <= counter {
        let uri = cx.uri(delivery.channel);
        let message = format!(
            "expected actions on `{uri}` with a `serverSeq` above {counter}, which was received \
             before the subscription, found {seq}"
        );
        out.broken(Rule::RealTime, message, &[line, sub.line, cx.now.line]);
    }
}

/// The requirement about the `serverSeq` of the handshake.
const WELCOME: &str = "lifecycle.initialize.serverseq-matches-snapshots";

/// Judges whether the `serverSeq` of accepted actions grows on a connection. Invariant A1.
fn grows(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let Some(conn) = cx.here() else {
        return;
    };
    let (seq, line) = (delivery.envelope.seq, cx.now.line);
    if delivery.envelope.rejected {
        if let Some((last, before)) = conn.last_any.filter(|(last, _)| seq < *last) {
            let message =
                format!("expected a rejection with a `serverSeq` of at least {last}, found {seq}");
            out.weaker(Rule::SequenceGrows, Weight::Note, message, &[before, line]);
        }
        return;
    }
    // Another check reports a `serverSeq` at or below the `fromSeq` of a snapshot.
    let from_seq = conn.subs.get(&delivery.channel).and_then(|sub| sub.from_seq);
    let welcome = conn.welcome.filter(|_| from_seq.is_none_or(|from_seq| from_seq < seq));
    let Some((last, before)) = conn.last.or(welcome) else {
        return;
    };
    out.seen(Rule::SequenceGrows);
    if seq <= last {
        let message = format!("expected a `serverSeq` above {last}, found {seq}");
        out.broken(Rule::SequenceGrows, message, &[before, line]);
    }
}

/// Judges whether a `serverSeq` belongs to the same action on every connection. Invariant A2.
fn one_envelope(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    let seq = delivery.envelope.seq;
    let Some((conn, logged)) = cx.here().zip(cx.log.get(seq)) else {
        return;
    };
    let merged = conn.subs.get(&delivery.channel).is_some_and(|sub| sub.merged);
    if merged || conn.version != logged.version {
        return;
    }
    if delivery.replayed.is_none() && logged.came_as(&delivery.seen.frame) {
        out.seen(Rule::OneEnvelope);
        return;
    }
    let Some(first) = logged.value() else {
        return;
    };
    out.seen(Rule::OneEnvelope);
    let known = |name: &str| (given(&first, name), given(delivery.value, name));
    for member in ["channel", "action", "origin"] {
        let (first, second) = known(member);
        let alike = match (first, second) {
            (Some(first), Some(second)) => written_alike(member, first, second),
            (first, second) => first == second,
        };
        if !alike {
            let message = format!(
                "expected the same `{member}` wherever `serverSeq` {seq} is received, found \
                 another value"
            );
            out.broken(Rule::OneEnvelope, message, &[logged.line, cx.now.line]);
            return;
        }
    }
}

/// Judges whether the actions of a channel arrive in the order of their `serverSeq`. Invariant A3.
fn order(cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
    if delivery.envelope.rejected {
        return;
    }
    let sub = cx.here().and_then(|conn| conn.subs.get(&delivery.channel));
    let Some(sub) = sub.filter(|sub| sub.last > sub.from_seq.unwrap_or(0)) else {
        return;
    };
    out.seen(Rule::OrderAgreement);
    let seq = delivery.envelope.seq;
    if seq <= sub.last {
        let uri = cx.uri(delivery.channel);
        let line = cx.log.get(sub.last).map_or(0, |logged| logged.line);
        let message = format!(
            "expected the actions on `{uri}` in the order of `serverSeq`, found {seq} after {}",
            sub.last
        );
        out.broken(Rule::OrderAgreement, message, &[line, cx.now.line]);
    }
}

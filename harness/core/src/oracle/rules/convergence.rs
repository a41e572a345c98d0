//! Checks states: every snapshot agrees with all earlier snapshots and the actions after them.
//!
//! Knows: comparisons, the masks. Never knows: how actions are folded into states.

use crate::wire::json::Value;

use crate::model::{ActionOutcome, NoOp, apply};
use crate::verdict::Weight;
use crate::wire::message::Message;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::RefusedAction;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::difference::difference;
use crate::oracle::log::envelope_value;
use crate::oracle::masks::{self, ComparableState};
use crate::oracle::step::{ActionFolding, OracleStep, StateComparison};

/// The reasons for which an action of the host may legally have no effect: repetitions, entries that were removed in
/// the meantime, actions that never change a state, and ends of commands. A host may clear a command's output while the
/// command runs; `terminal.command-pairs` judges whether the command had begun.
const HARMLESS: &[NoOp] = &[
    NoOp::Unchanged,
    NoOp::UnknownRequest,
    NoOp::UnknownChat,
    NoOp::UnknownMcpServer,
    NoOp::UnknownCommand,
    NoOp::RequestOnly,
    NoOp::EventOnly,
];
/// The reasons for which an accepted action of a client may have no effect: the state already has the requested value,
/// or the effect of the action is outside the state.
const IDEMPOTENT: &[NoOp] =
    &[NoOp::Unchanged, NoOp::UnknownDirectory, NoOp::RequestOnly, NoOp::EventOnly];

/// The checks of states. These checks need no state beyond the context.
pub(super) struct ConvergenceChecks;

/// The requirements that the findings of this file name.
const RESOURCE: &str = "subscribe.snapshot-resource-matches";
const LOG: &str = "snapshot.consistent-with-log";

impl CheckFamily for ConvergenceChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Compared(comparison) => compare(cx, comparison, out),
            OracleStep::Folded { folding, outcome } => dead(cx, folding, outcome, out),
            OracleStep::Answered { request, message } if request.method == "subscribe" => {
                answers_for(cx, request, message, out);
            }
            _ => {}
        }
    }
}

/// Judges whether a snapshot belongs to the requested channel. If it belongs to another channel, the client stores the
/// state under the wrong name. Source: `subscribe.snapshot-resource-matches`. Invariant D2.
fn answers_for(
    cx: &OracleContext,
    request: &OpenRequest,
    message: &Message,
    out: &mut FindingSink,
) {
    let snapshot = message.result().and_then(|result| result.get("snapshot"));
    let found = snapshot.and_then(|snapshot| snapshot.get("resource")).and_then(Value::as_str);
    let wanted = request.params().get("channel").and_then(Value::as_str);
    if found.is_some() {
        out.seen_of(Rule::SnapshotAgrees, RESOURCE);
    }
    if let Some((wanted, found)) = wanted.zip(found).filter(|(wanted, found)| wanted != found) {
        let message = format!("expected the snapshot of `{wanted}`, found one of `{found}`");
        out.broken(Rule::SnapshotAgrees.of(RESOURCE), message, &[request.line, cx.now.line]);
    }
}

/// Compares a snapshot with the folded state. Invariants D1 and D3.
fn compare(cx: &OracleContext, comparison: &StateComparison<'_>, out: &mut FindingSink) {
    out.seen(Rule::SnapshotAgrees);
    if masks::agree(comparison) {
        return;
    }
    let canonical = |state: &Value| masks::comparable(comparison, state);
    let (folded, snapshot) = (canonical(comparison.folded), canonical(comparison.snapshot));
    let (folded, snapshot) = masks::align(folded, snapshot, comparison.windowed);
    if folded.hard == snapshot.hard && folded.soft == snapshot.soft {
        return;
    }
    let uri = cx.uri(comparison.channel);
    let from_seq = comparison.from_seq;
    if folded.hard == snapshot.hard {
        let message = format!(
            "expected the snapshot of `{uri}` at {from_seq} to equal the earlier snapshot with the \
             later actions applied, found a changed catalogue entry that no action changed"
        );
        let diff = difference(&folded.soft, &snapshot.soft);
        let lines = &comparison.lines;
        out.with_diff(Rule::SnapshotAgrees.of(LOG), Weight::Note, message, lines, Some(diff));
        return;
    }
    if effect_of_rejection(cx, comparison, &snapshot, &canonical, out) {
        return;
    }
    let mut message = format!(
        "expected the snapshot of `{uri}` at {from_seq} to equal the earlier snapshot with the \
         later actions applied, found differences"
    );
    let mut weight = Weight::Essential;
    if cx.options.foreign && !cx.hears_of_ends(comparison.channel) {
        weight = Weight::Note;
        message.push_str(
            "; a client that was not recorded may have disposed of the channel and created it \
             again",
        );
    }
    let diff = difference(&folded.hard, &snapshot.hard);
    let lines = &comparison.lines;
    out.with_diff(Rule::SnapshotAgrees.of(LOG), weight, message, lines, Some(diff));
}

/// Returns whether the difference between a snapshot and the folded state disappears if a rejected action is folded
/// onto the state, which means that the host has applied the rejected action. Invariant C5.
fn effect_of_rejection(
    cx: &OracleContext,
    comparison: &StateComparison<'_>,
    snapshot: &ComparableState,
    canonical: &dyn Fn(&Value) -> ComparableState,
    out: &mut FindingSink,
) -> bool {
    let Some(channel) = cx.channel(comparison.channel) else {
        return false;
    };
    for RefusedAction { seen, line } in &channel.rejected {
        let Some(action) = envelope_value(seen, None).and_then(|value| value.get("action")) else {
            continue;
        };
        let mut state = comparison.folded.clone();
        let version = comparison.protocol.version();
        if apply(version, comparison.kind, &mut state, action) != ActionOutcome::Applied {
            continue;
        }
        let applied = canonical(&state);
        let (applied, snapshot) = masks::align(applied, snapshot.clone(), comparison.windowed);
        if applied.hard == snapshot.hard {
            let name = action.get("type").and_then(Value::as_str).unwrap_or_default();
            let message = format!(
                "expected a rejected `{name}` to change nothing, found its effect in a snapshot"
            );
            let [base, _, later] = comparison.lines;
            out.broken(Rule::RejectionWithoutEffect, message, &[base, *line, later]);
            return true;
        }
    }
    false
}

/// Judges an accepted action that has no effect on the folded state. Invariants D4 and C7.
fn dead(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    outcome: &ActionOutcome,
    out: &mut FindingSink,
) {
    let (rule, whose, allowed) = match folding.envelope.origin {
        None => (Rule::DeadHostAction, "the host's", HARMLESS),
        Some(_) => (Rule::AcceptedEffect, "a client's accepted", IDEMPOTENT),
    };
    out.seen(rule);
    let ActionOutcome::NoOp(why) = outcome else {
        return;
    };
    if allowed.contains(why) {
        return;
    }
    let uri = cx.uri(folding.channel);
    let name = folding.envelope.action_type;
    let message = format!(
        "expected {whose} `{name}` on `{uri}` to have an effect, found none: {}",
        why.reason()
    );
    let base = cx.folded(folding.channel);
    let base = base.map_or(0, |fold| fold.base_line);
    out.broken(rule, message, &[base, folding.line]);
}

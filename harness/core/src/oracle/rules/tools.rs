//! Checks the life cycle of tool calls against the table of transitions.
//!
//! The checks read the status of a tool call from the folded state, just before an action on the call is folded.
//!
//! Knows: folded chats, the table. Never knows: senders.

use crate::wire::json::Value;

use crate::model::tool_call::{TRANSITIONS, ToolCallStatus, ToolEvent, event_of};
use crate::verdict::Weight;

use crate::oracle::budget::short;
use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, text};
use crate::oracle::memory::ChatMemory;
use crate::oracle::step::{ActionFolding, OracleStep};
use crate::oracle::tool_call::find;

/// Upper bound for the decisions of one turn that are remembered.
const MAX_DECISIONS: usize = 256;

/// A decision about a tool call. Each kind of decision may occur only once between two requests for a decision.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum ToolDecision {
    Confirmed,
    Completed,
    ResultConfirmed,
}

impl ToolDecision {
    fn of(event: ToolEvent) -> Option<ToolDecision> {
        use ToolEvent::*;
        match event {
            Approved | Denied => Some(ToolDecision::Confirmed),
            Complete | CompleteNeedsConfirmation => Some(ToolDecision::Completed),
            ResultApproved | ResultDenied => Some(ToolDecision::ResultConfirmed),
            _ => None,
        }
    }
}

/// The decisions taken in the active turn of each chat.
#[derive(Default)]
pub(super) struct ToolDecisionChecks {
    chats: ChatMemory<Vec<TakenDecision>>,
}

struct TakenDecision {
    call: String,
    decision: ToolDecision,
    line: u64,
}

impl CheckFamily for ToolDecisionChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => self.fold(cx, folding, out),
            OracleStep::Snapshot { channel, state, .. } => {
                finished(cx, *channel, list(state, "turns"), out);
            }
            OracleStep::Folded { folding, .. }
                if folding.envelope.action_type == "chat/turnsLoaded" =>
            {
                finished(cx, folding.channel, list(folding.envelope.action, "turns"), out);
            }
            OracleStep::Restarted | OracleStep::Gap => self.chats.clear(),
            _ => {}
        }
    }
}

impl ToolDecisionChecks {
    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let action = folding.envelope.action;
        if folding.envelope.name == "turnStarted" {
            self.chats.forget(folding.channel);
        }
        let Some(event) = event_of(action) else {
            return;
        };
        let text = |name: &str| action.get(name).and_then(Value::as_str);
        let (Some(call), Some(turn)) = (text("toolCallId"), text("turnId")) else {
            return;
        };
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        // Another check reports an action for the wrong turn.
        let active = fold.state.get("activeTurn");
        let Some(active) = active.filter(|it| it.get("id").and_then(Value::as_str) == Some(turn))
        else {
            return;
        };
        let found = find(active, call);
        let status = found.map(|call| call.get("status").and_then(Value::as_str));
        let known = status.map(|status| status.and_then(ToolCallStatus::from_name));
        // The status of the call belongs to a newer version, so the transition cannot be judged.
        if known == Some(None) {
            return;
        }
        let from = known.flatten();
        let lines = [fold.base_line, folding.line];
        let Some(taken) = self.chats.of(folding.channel, fold) else {
            return;
        };
        if again(cx, folding, taken, (call, event, from), out) {
            return;
        }
        let requirement = match (event, from) {
            (ToolEvent::Start, _) => "chat.tool.id-unique",
            (_, None) => "chat.tool.start-first",
            (ToolEvent::Delta, _) => "chat.tool.delta-only-streaming",
            _ => "chat.tool.lifecycle-legal",
        };
        let rule = Rule::LegalTransitions.of(requirement);
        out.seen(rule);
        let uri = cx.uri(folding.channel);
        let name = folding.envelope.action_type;
        let step = TRANSITIONS.iter().find(|row| row.from == from && row.event == event);
        let message = match (from, step) {
            (Some(from), Some(step)) if !step.diagram => {
                let message = format!(
                    "expected the tool call `{call}` of `{uri}` to be confirmed or rejected first, \
                     found `{name}` while its status is `{}`",
                    from.name()
                );
                out.weaker(rule, Weight::Note, message, &lines);
                return;
            }
            (_, Some(_)) => return,
            (Some(_), None) if event == ToolEvent::Start => {
                format!("expected an unused id for the tool call on `{uri}`, found `{call}` again")
            }
            (Some(from), None) => format!(
                "expected no `{name}` for the tool call `{call}` of `{uri}` while its status is \
                 `{}`, found one",
                from.name()
            ),
            (None, None) => {
                format!(
                    "expected `{name}` on `{uri}` to name a tool call that was started, found \
                     `{call}`"
                )
            }
        };
        out.broken(rule, message, &lines);
    }
}

/// Judges whether a decision about a tool call is the first of its kind. Returns `true` if the decision is a
/// repetition. Invariant F4.
fn again(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    taken: &mut Vec<TakenDecision>,
    (call, event, from): (&str, ToolEvent, Option<ToolCallStatus>),
    out: &mut FindingSink,
) -> bool {
    if event == ToolEvent::ReadyUnconfirmed
        && matches!(from, Some(ToolCallStatus::Running | ToolCallStatus::PendingConfirmation))
    {
        taken.retain(|it| it.call != short(call) || it.decision != ToolDecision::Confirmed);
    }
    let Some(decision) = ToolDecision::of(event) else {
        return false;
    };
    let call = &*short(call);
    out.seen(Rule::OneDecision);
    let first = taken.iter().find(|it| it.call == call && it.decision == decision);
    if let Some(first) = first {
        let uri = cx.uri(folding.channel);
        let name = folding.envelope.action_type;
        let message = format!(
            "expected only one `{name}` for the tool call `{call}` of `{uri}`, found a second one"
        );
        // The specification requires the rejection of a second decision (MUST) only for confirmations.
        let weight = match decision {
            ToolDecision::Confirmed => Weight::Must,
            ToolDecision::Completed | ToolDecision::ResultConfirmed => Weight::Essential,
        };
        out.weaker(Rule::OneDecision, weight, message, &[first.line, folding.line]);
        return true;
    }
    if taken.len() < MAX_DECISIONS {
        taken.push(TakenDecision { call: call.to_owned(), decision, line: folding.line });
    }
    false
}

/// Judges whether finished turns have only completed or cancelled calls. Unknown statuses belong to newer
/// versions. Invariant F8.
fn finished(cx: &OracleContext, channel: ChannelId, turns: &[Value], out: &mut FindingSink) {
    for turn in turns {
        for call in list(turn, "responseParts").iter().filter_map(|part| given(part, "toolCall")) {
            let status = text(call, "status").and_then(ToolCallStatus::from_name);
            let Some(status) = status else {
                continue;
            };
            out.seen(Rule::HistoryFinal);
            if !matches!(status, ToolCallStatus::Completed | ToolCallStatus::Cancelled) {
                let message = format!(
                    "expected the tool calls of the finished turn `{}` of `{}` to be completed or \
                     cancelled, found `{}` as `{}`",
                    text(turn, "id").unwrap_or_default(),
                    cx.uri(channel),
                    text(call, "toolCallId").unwrap_or_default(),
                    status.name()
                );
                out.broken(Rule::HistoryFinal, message, &[cx.now.line]);
            }
        }
    }
}

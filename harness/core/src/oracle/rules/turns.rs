//! Checks the life cycle of turns: one turn is active at a time, the actions of a turn name it, and a turn ends
//! once.
//!
//! The checks read the active turn from the folded state, just before an action is folded.
//!
//! Knows: folded chats. Never knows: senders.

use crate::wire::json::Value;

use crate::verdict::Weight;
use crate::wire::feature::ProtocolFeature;

use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::memory::ChatMemory;
use crate::oracle::step::{ActionFolding, OracleStep, StateComparison};

/// Upper bound for the ended turns of one chat that are remembered.
const MAX_ENDED: usize = 256;

/// The role of an action in the life cycle of turns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TurnActionRole {
    Start,
    Resume,
    End,
    /// The action belongs to the active turn and names the turn.
    Within,
    /// The action appends text to a part of this kind, and names the part.
    Append(&'static str),
    /// The action belongs to the active turn without naming the turn.
    Unnamed,
    /// The action removes turns from the history.
    Truncate,
}

/// The actions about turns. Source: chat-channel.md. Actions about tool calls have their own table.
const ROLES: &[(&str, TurnActionRole)] = &[
    ("turnStarted", TurnActionRole::Start),
    ("turnResume", TurnActionRole::Resume),
    ("turnComplete", TurnActionRole::End),
    ("turnCancelled", TurnActionRole::End),
    ("error", TurnActionRole::End),
    ("delta", TurnActionRole::Append("markdown")),
    ("reasoning", TurnActionRole::Append("reasoning")),
    ("responsePart", TurnActionRole::Within),
    ("usage", TurnActionRole::Within),
    ("toolCallStart", TurnActionRole::Within),
    ("toolCallDelta", TurnActionRole::Within),
    ("toolCallReady", TurnActionRole::Within),
    ("toolCallConfirmed", TurnActionRole::Within),
    ("toolCallComplete", TurnActionRole::Within),
    ("toolCallResultConfirmed", TurnActionRole::Within),
    ("toolCallContentChanged", TurnActionRole::Within),
    ("toolCallAuthRequired", TurnActionRole::Within),
    ("toolCallAuthResolved", TurnActionRole::Within),
    ("inputRequested", TurnActionRole::Unnamed),
    ("inputAnswerChanged", TurnActionRole::Unnamed),
    ("inputCompleted", TurnActionRole::Unnamed),
    ("truncated", TurnActionRole::Truncate),
];

/// The starts and ends of turns, for every folded chat.
#[derive(Default)]
pub(super) struct TurnChecks {
    chats: ChatMemory<TurnChat>,
}

#[derive(Default)]
struct TurnChat {
    /// The turns that have ended, each with its id and the line of its end.
    ended: Vec<(String, u64)>,
    /// The active turns that were replaced by the start of another turn, each with its id and the lines of both starts.
    replaced: Vec<(String, u64, u64)>,
    /// The id of the active turn, and the line of its start.
    started: Option<(String, u64)>,
}

impl CheckFamily for TurnChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => self.fold(cx, folding, out),
            OracleStep::Compared(comparison) => self.compare(cx, comparison, out),
            OracleStep::Restarted | OracleStep::Gap => self.chats.clear(),
            _ => {}
        }
    }
}

impl TurnChecks {
    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let name = folding.envelope.name;
        let Some((_, role)) = ROLES.iter().find(|(known, _)| *known == name) else {
            return;
        };
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        let state = &fold.state;
        let active = active_turn(state);
        let turn = folding.envelope.action.get("turnId").and_then(Value::as_str);
        let Some(chat) = self.chats.of(folding.channel, fold) else {
            return;
        };
        match (role, turn) {
            (TurnActionRole::Start | TurnActionRole::Resume, Some(turn)) => {
                chat.start(cx, folding, *role, active, turn, out);
            }
            (TurnActionRole::End, Some(turn)) => chat.end(cx, folding, active, turn, out),
            (TurnActionRole::Truncate, _) => {
                chat.ended.clear();
                chat.replaced.clear();
            }
            (TurnActionRole::Within, Some(turn)) => {
                chat.within(cx, folding, active, turn, out);
            }
            (TurnActionRole::Append(kind), Some(turn))
                if chat.within(cx, folding, active, turn, out) =>
            {
                append(cx, folding, state, kind, out);
            }
            (TurnActionRole::Unnamed, _)
                if folding.protocol.has(ProtocolFeature::InputRequestParts) =>
            {
                out.seen(Rule::ActiveOnly);
                if active.is_none() {
                    inactive(cx, folding, "an active turn", &[], out);
                }
            }
            _ => {}
        }
    }

    /// If another turn replaced an active turn, judges whether the replaced turn is in the history of a snapshot. This
    /// is the second part of invariant E3.
    fn compare(
        &mut self,
        cx: &OracleContext,
        comparison: &StateComparison<'_>,
        out: &mut FindingSink,
    ) {
        let Some(chat) = self.chats.known(comparison.channel) else {
            return;
        };
        if comparison.windowed || chat.replaced.is_empty() {
            return;
        }
        let [_, _, line] = comparison.lines;
        let turns = comparison.snapshot.get("turns").and_then(Value::as_array);
        for (turn, started, replaced) in chat.replaced.drain(..) {
            let id = |value: &&Value| value.get("id").and_then(Value::as_str) == Some(&turn);
            let kept = turns.into_iter().flatten().find(id).is_some();
            out.seen(Rule::OneEnd);
            if !kept && active_turn(comparison.snapshot) != Some(turn.as_str()) {
                let uri = cx.uri(comparison.channel);
                let message = format!(
                    "expected the accepted turn `{turn}` of `{uri}` to end, found that it is \
                     missing in the history without an end"
                );
                out.broken(Rule::OneEnd, message, &[started, replaced, line]);
            }
        }
    }
}

impl TurnChat {
    fn start(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        role: TurnActionRole,
        active: Option<&str>,
        turn: &str,
        out: &mut FindingSink,
    ) {
        out.seen(Rule::OneActive);
        if let Some(active) = active {
            let uri = cx.uri(folding.channel);
            let name = folding.envelope.action_type;
            let message = format!(
                "expected no `{name}` on `{uri}` while the turn `{active}` is active, found one \
                 for `{turn}`"
            );
            let known = self.started.as_ref().filter(|(started, _)| started == active);
            let before = known.map_or(0, |(_, line)| *line);
            let own = folding.envelope.origin.is_none();
            let weight = if own { Weight::Essential } else { Weight::Note };
            out.weaker(Rule::OneActive, weight, message, &[before, folding.line]);
            if active != turn && role == TurnActionRole::Start && self.replaced.len() < MAX_ENDED {
                self.replaced.push((active.to_owned(), before, folding.line));
            }
        }
        self.ended.retain(|(ended, _)| *ended != short(turn));
        self.started = Some((turn.to_owned(), folding.line));
    }

    fn end(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        active: Option<&str>,
        turn: &str,
        out: &mut FindingSink,
    ) {
        if active == Some(turn) {
            out.seen(Rule::OneEnd);
            out.seen(Rule::ActiveOnly);
            if self.ended.len() >= MAX_ENDED {
                self.ended.remove(0);
            }
            self.ended.push((short(turn).into_owned(), folding.line));
            return;
        }
        match self.ended.iter().find(|(ended, _)| *ended == short(turn)) {
            Some((_, line)) => {
                let uri = cx.uri(folding.channel);
                let name = folding.envelope.action_type;
                let message = format!(
                    "expected the turn `{turn}` of `{uri}` to end only once, found `{name}` after \
                     its end"
                );
                out.broken(Rule::OneEnd, message, &[*line, folding.line]);
            }
            None => {
                self.within(cx, folding, active, turn, out);
            }
        }
    }

    /// Judges whether an action names the active turn, and returns the result. Invariant E2.
    fn within(
        &self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        active: Option<&str>,
        turn: &str,
        out: &mut FindingSink,
    ) -> bool {
        out.seen(Rule::ActiveOnly);
        if active == Some(turn) {
            return true;
        }
        let ended = self.ended.iter().find(|(ended, _)| *ended == short(turn));
        let mut lines = vec![ended.map_or(0, |(_, line)| *line)];
        let expected = match active {
            Some(active) => {
                let known = self.started.as_ref().filter(|(started, _)| started == active);
                lines.push(known.map_or(0, |(_, line)| *line));
                format!("the active turn `{active}`")
            }
            None => "an active turn".to_owned(),
        };
        inactive(cx, folding, &expected, &lines, out);
        false
    }
}

fn inactive(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    expected: &str,
    lines: &[u64],
    out: &mut FindingSink,
) {
    let uri = cx.uri(folding.channel);
    let name = folding.envelope.action_type;
    let turn = folding.envelope.action.get("turnId").and_then(Value::as_str);
    let found = turn.map_or("none".to_owned(), |turn| format!("`{turn}`"));
    let message = format!("expected `{name}` on `{uri}` to name {expected}, found {found}");
    let mut lines = lines.to_vec();
    let fold = cx.folded(folding.channel);
    lines.push(fold.map_or(0, |fold| fold.base_line));
    lines.push(folding.line);
    out.broken(Rule::ActiveOnly, message, &lines);
}

/// Judges whether text is appended to an existing part of the right kind. Invariant E6.
fn append(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    state: &Value,
    kind: &str,
    out: &mut FindingSink,
) {
    let Some(id) = folding.envelope.action.get("partId").and_then(Value::as_str) else {
        return;
    };
    out.seen(Rule::PartBeforeAppend);
    let parts = state.get("activeTurn").and_then(|turn| turn.get("responseParts"));
    let parts = parts.and_then(Value::as_array);
    // Text is nearly always appended to the newest part, so the search starts there.
    let named = |part: &&Value| part.get("id").and_then(Value::as_str) == Some(id);
    let part = parts.into_iter().flatten().rev().find(named);
    let found = match part.map(|part| part.get("kind").and_then(Value::as_str)) {
        Some(Some(found)) if found == kind => return,
        Some(found) => format!("a part of kind `{}`", found.unwrap_or("")),
        None => "no such part".to_owned(),
    };
    let uri = cx.uri(folding.channel);
    let name = folding.envelope.action_type;
    let message = format!(
        "expected `{name}` on `{uri}` to append to a {kind} part, found that `{id}` is {found}"
    );
    let fold = cx.folded(folding.channel);
    let base = fold.map_or(0, |fold| fold.base_line);
    out.broken(Rule::PartBeforeAppend, message, &[base, folding.line]);
}

fn active_turn(state: &Value) -> Option<&str> {
    state.get("activeTurn")?.get("id")?.as_str()
}

//! The life of turns: one is active, its actions name it, it ends once.
//!
//! The active turn is read from the folded state, just before an action is folded.
//!
//! Knows: folded chats. Never knows: who sent an action.

use crate::wire::json::Value;

use crate::verdict::Weight;
use crate::wire::feature::Feature;

use super::catalogue::Rule;
use super::check::{Check, Sink};
use super::context::Context;
use super::memory::Memory;
use super::step::{Comparison, Folding, Step};

/// Ended turns of one chat that are remembered.
const MAX_ENDED: usize = 256;

/// What an action means for turns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Role {
    Start,
    Resume,
    End,
    /// Belongs to the active turn and names it.
    Within,
    /// Appends text to a part of this kind.
    Append(&'static str),
    /// Belongs to the active turn without naming it.
    Unnamed,
    /// Forgets turns.
    Truncate,
}

/// The actions about turns. Source: chat-channel.md; the tool-call actions have their own table.
const ROLES: &[(&str, Role)] = &[
    ("turnStarted", Role::Start),
    ("turnResume", Role::Resume),
    ("turnComplete", Role::End),
    ("turnCancelled", Role::End),
    ("error", Role::End),
    ("delta", Role::Append("markdown")),
    ("reasoning", Role::Append("reasoning")),
    ("responsePart", Role::Within),
    ("usage", Role::Within),
    ("toolCallStart", Role::Within),
    ("toolCallDelta", Role::Within),
    ("toolCallReady", Role::Within),
    ("toolCallConfirmed", Role::Within),
    ("toolCallComplete", Role::Within),
    ("toolCallResultConfirmed", Role::Within),
    ("toolCallContentChanged", Role::Within),
    ("toolCallAuthRequired", Role::Within),
    ("toolCallAuthResolved", Role::Within),
    ("inputRequested", Role::Unnamed),
    ("inputAnswerChanged", Role::Unnamed),
    ("inputCompleted", Role::Unnamed),
    ("truncated", Role::Truncate),
];

/// The turns of every folded chat.
#[derive(Default)]
pub(super) struct Turns {
    chats: Memory<Chat>,
}

#[derive(Default)]
struct Chat {
    /// The ends of turns, with their lines.
    ended: Vec<(String, u64)>,
    /// Turns that another one took the place of, with the lines of both starts.
    replaced: Vec<(String, u64, u64)>,
    /// The start of the active turn.
    started: Option<(String, u64)>,
}

impl Check for Turns {
    fn step(&mut self, cx: &Context, step: &Step<'_>, out: &mut Sink) {
        match step {
            Step::Folding(folding) => self.fold(cx, folding, out),
            Step::Compared(comparison) => self.compare(cx, comparison, out),
            Step::Restarted | Step::Gap => self.chats.clear(),
            _ => {}
        }
    }
}

impl Turns {
    fn fold(&mut self, cx: &Context, folding: &Folding<'_>, out: &mut Sink) {
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
            (Role::Start | Role::Resume, Some(turn)) => {
                chat.start(cx, folding, *role, active, turn, out);
            }
            (Role::End, Some(turn)) => chat.end(cx, folding, active, turn, out),
            (Role::Truncate, _) => {
                chat.ended.clear();
                chat.replaced.clear();
            }
            (Role::Within, Some(turn)) => {
                chat.within(cx, folding, active, turn, out);
            }
            (Role::Append(kind), Some(turn)) if chat.within(cx, folding, active, turn, out) => {
                append(cx, folding, state, kind, out);
            }
            (Role::Unnamed, _) if folding.protocol.has(Feature::InputRequestParts) => {
                out.seen(Rule::ActiveOnly);
                if active.is_none() {
                    inactive(cx, folding, "an active turn", &[], out);
                }
            }
            _ => {}
        }
    }

    /// The second half of E3: a turn that was replaced is in the history all the same.
    fn compare(&mut self, cx: &Context, comparison: &Comparison<'_>, out: &mut Sink) {
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
                    "expected the accepted turn `{turn}` of `{uri}` to end, found it gone without \
                     an end"
                );
                out.broken(Rule::OneEnd, message, &[started, replaced, line]);
            }
        }
    }
}

impl Chat {
    fn start(
        &mut self,
        cx: &Context,
        folding: &Folding<'_>,
        role: Role,
        active: Option<&str>,
        turn: &str,
        out: &mut Sink,
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
            if active != turn && role == Role::Start && self.replaced.len() < MAX_ENDED {
                self.replaced.push((active.to_owned(), before, folding.line));
            }
        }
        self.ended.retain(|(ended, _)| ended != turn);
        self.started = Some((turn.to_owned(), folding.line));
    }

    fn end(
        &mut self,
        cx: &Context,
        folding: &Folding<'_>,
        active: Option<&str>,
        turn: &str,
        out: &mut Sink,
    ) {
        if active == Some(turn) {
            out.seen(Rule::OneEnd);
            out.seen(Rule::ActiveOnly);
            if self.ended.len() >= MAX_ENDED {
                self.ended.remove(0);
            }
            self.ended.push((turn.to_owned(), folding.line));
            return;
        }
        match self.ended.iter().find(|(ended, _)| ended == turn) {
            Some((_, line)) => {
                let uri = cx.uri(folding.channel);
                let name = folding.envelope.action_type;
                let message = format!(
                    "expected one end of the turn `{turn}` of `{uri}`, found `{name}` after it"
                );
                out.broken(Rule::OneEnd, message, &[*line, folding.line]);
            }
            None => {
                self.within(cx, folding, active, turn, out);
            }
        }
    }

    /// E2. Returns whether the action names the active turn.
    fn within(
        &self,
        cx: &Context,
        folding: &Folding<'_>,
        active: Option<&str>,
        turn: &str,
        out: &mut Sink,
    ) -> bool {
        out.seen(Rule::ActiveOnly);
        if active == Some(turn) {
            return true;
        }
        let ended = self.ended.iter().find(|(ended, _)| ended == turn);
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

fn inactive(cx: &Context, folding: &Folding<'_>, expected: &str, lines: &[u64], out: &mut Sink) {
    let uri = cx.uri(folding.channel);
    let name = folding.envelope.action_type;
    let turn = folding.envelope.action.get("turnId").and_then(Value::as_str);
    let found = turn.map_or("none".to_owned(), |turn| format!("`{turn}`"));
    let message = format!("expected {expected} for `{name}` on `{uri}`, found {found}");
    let mut lines = lines.to_vec();
    let fold = cx.folded(folding.channel);
    lines.push(fold.map_or(0, |fold| fold.base_line));
    lines.push(folding.line);
    out.broken(Rule::ActiveOnly, message, &lines);
}

/// E6.
fn append(cx: &Context, folding: &Folding<'_>, state: &Value, kind: &str, out: &mut Sink) {
    let Some(id) = folding.envelope.action.get("partId").and_then(Value::as_str) else {
        return;
    };
    out.seen(Rule::PartBeforeAppend);
    let parts = state.get("activeTurn").and_then(|turn| turn.get("responseParts"));
    let parts = parts.and_then(Value::as_array);
    // Text goes to the newest part nearly always: look there first.
    let named = |part: &&Value| part.get("id").and_then(Value::as_str) == Some(id);
    let part = parts.into_iter().flatten().rev().find(named);
    let found = match part.map(|part| part.get("kind").and_then(Value::as_str)) {
        Some(Some(found)) if found == kind => return,
        Some(found) => format!("a part of kind `{}`", found.unwrap_or("")),
        None => "no such part".to_owned(),
    };
    let uri = cx.uri(folding.channel);
    let name = folding.envelope.action_type;
    let message =
        format!("expected `{name}` on `{uri}` to append to a {kind} part, `{id}` is {found}");
    let fold = cx.folded(folding.channel);
    let base = fold.map_or(0, |fold| fold.base_line);
    out.broken(Rule::PartBeforeAppend, message, &[base, folding.line]);
}

fn active_turn(state: &Value) -> Option<&str> {
    state.get("activeTurn")?.get("id")?.as_str()
}

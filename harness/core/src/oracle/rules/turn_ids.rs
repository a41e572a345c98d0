//! Checks ids within a chat: the id of a turn belongs to one turn, and the id of a part to one part. The checks
//! also judge whether errors arrive as `chat/error`.
//!
//! The ids of a chat are kept beside its fold, and are read again only if the fold restarts. The cost of an
//! action therefore does not depend on the history.
//!
//! Knows: folded chats, snapshots. Never knows: senders.

use crate::wire::json::{Text, Value};

use crate::verdict::Weight;
use crate::wire::feature::ProtocolFeature;

use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{list, repeated_text, text};
use crate::oracle::memory::ChatMemory;
use crate::oracle::step::{ActionFolding, OracleStep};

/// The ids of turns and parts, for every folded chat.
#[derive(Default)]
pub(super) struct TurnIds {
    chats: ChatMemory<TurnIdChat>,
}

#[derive(Default)]
struct TurnIdChat {
    /// The line of the snapshot with which the folded state began; 0 if the turns have to be read again.
    base: u64,
    turns: foldhash::HashSet<Text>,
    /// The id of the turn whose parts are in `parts`, and the line of the snapshot with which the folded state began.
    active: Option<(Text, u64)>,
    /// The ids of the active turn's parts, and whether each is a tool call.
    parts: foldhash::HashMap<Text, bool>,
}

impl CheckFamily for TurnIds {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => self.fold(cx, folding, out),
            OracleStep::Snapshot { channel, state, .. } => snapshot(cx, *channel, state, out),
            OracleStep::Restarted | OracleStep::Gap => self.chats.clear(),
            _ => {}
        }
    }
}

impl TurnIds {
    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let action = folding.envelope.action;
        let name = folding.envelope.name;
        if !matches!(
            name,
            "turnStarted"
                | "turnResume"
                | "truncated"
                | "turnsLoaded"
                | "responsePart"
                | "toolCallStart"
        ) {
            return;
        }
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        let Some(chat) = self.chats.of(folding.channel, fold) else {
            return;
        };
        match name {
            "turnStarted" => chat.start(cx, folding, fold, out),
            "turnResume" => chat.active = None,
            "responsePart" => chat.part(cx, folding, fold, action.get("part"), out),
            "toolCallStart" => chat.call(cx, folding, fold, out),
            _ => chat.base = 0,
        }
    }
}

impl TurnIdChat {
    /// Judges whether a new turn has a new id. Invariant E4.
    fn start(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        let Some(turn) = text(folding.envelope.action, "turnId") else {
            return;
        };
        let active = fold.state.get("activeTurn").and_then(id);
        if self.base != fold.base_line {
            self.base = fold.base_line;
            self.turns = list(&fold.state, "turns")
                .iter()
                .filter_map(id)
                .map(|id| Text::from(short(id)))
                .collect();
        }
        // The check `turns.one-active` judges a repeated start of the active turn.
        if active == Some(turn) {
            return;
        }
        out.seen(Rule::UniqueTurns);
        if !self.turns.insert(short(turn).into()) {
            let uri = cx.uri(folding.channel);
            let message = format!(
                "expected an unused id for a turn on `{uri}`, found the id of an earlier turn"
            );
            out.broken(Rule::UniqueTurns, message, &[fold.base_line, folding.line]);
        }
        self.active = Some((short(turn).into(), fold.base_line));
        self.parts.clear();
    }

    /// Reads the parts of the active turn, unless they are known.
    fn know_parts(&mut self, fold: &ChannelFold) {
        let Some(active) = fold.state.get("activeTurn") else {
            return;
        };
        let turn = id(active).map(|turn| (Text::from(short(turn)), fold.base_line));
        if self.active != turn {
            self.active = turn;
            self.parts = list(active, "responseParts")
                .iter()
                .filter_map(named)
                .map(|(id, call)| (short(id).into(), call))
                .collect();
        }
    }

    /// Judges a new part of the active turn that is not a tool call. Invariants E5 and E7.
    fn part(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        part: Option<&Value>,
        out: &mut FindingSink,
    ) {
        let Some(part) = part else {
            return;
        };
        if folding.protocol.has(ProtocolFeature::ErrorPart) {
            out.seen(Rule::ErrorParts);
            if text(part, "kind") == Some("error") {
                let uri = cx.uri(folding.channel);
                let message = format!(
                    "expected an error on `{uri}` as `chat/error`, found it in \
                     `chat/responsePart`, where the reducers ignore it"
                );
                out.broken(Rule::ErrorParts, message, &[folding.line]);
            }
        }
        self.know_parts(fold);
        if let Some((id, call)) = named(part) {
            self.add(cx, folding, fold, id, call, out);
        }
    }

    /// Judges the id of a tool call against the ids of text parts. The check `tools.legal-transitions` compares it with
    /// the ids of other calls. Invariant E5.
    fn call(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        out: &mut FindingSink,
    ) {
        self.know_parts(fold);
        let call = text(folding.envelope.action, "toolCallId");
        if let Some(call) = call.filter(|call| self.parts.get(&*short(call)) != Some(&true)) {
            self.add(cx, folding, fold, call, true, out);
        }
    }

    fn add(
        &mut self,
        cx: &OracleContext,
        folding: &ActionFolding<'_>,
        fold: &ChannelFold,
        id: &str,
        call: bool,
        out: &mut FindingSink,
    ) {
        out.seen(Rule::UniqueParts);
        let Some(other) = self.parts.insert(short(id).into(), call) else {
            return;
        };
        let uri = cx.uri(folding.channel);
        let message = format!(
            "expected an unused id for a part on `{uri}`, found `{id}` again in the same turn"
        );
        let lines = [fold.base_line, folding.line];
        out.weaker(Rule::UniqueParts, weight(call, other), message, &lines);
    }
}

/// Judges whether the ids of turns and parts in a snapshot are unique. Invariants E4 and E5.
fn snapshot(cx: &OracleContext, channel: ChannelId, state: &Value, out: &mut FindingSink) {
    let lines = [cx.now.line];
    let uri = cx.uri(channel);
    if state.get("turns").is_none() {
        return;
    }
    out.seen(Rule::UniqueTurns);
    out.seen(Rule::UniqueParts);
    let all = || list(state, "turns").iter().chain(state.get("activeTurn"));
    if let Some(turn) = repeated_text(all().filter_map(id)) {
        let message =
            format!("expected the ids of the turns of `{uri}` to differ, found `{turn}` twice");
        out.broken(Rule::UniqueTurns, message, &lines);
    }
    for turn in all() {
        let named = list(turn, "responseParts").iter().filter_map(named);
        if let Some(part) = repeated_text(named.filter(|(_, call)| !call).map(|(id, _)| id)) {
            let message = format!(
                "expected the ids of the parts of a turn of `{uri}` to differ, found `{part}` \
                 twice"
            );
            out.broken(Rule::UniqueParts, message, &lines);
        }
    }
    if let Some(work) = repeated_text(list(state, "backgroundWork").iter().filter_map(id)) {
        let message = format!(
            "expected the ids of the background work of `{uri}` to differ, found `{work}` twice"
        );
        out.broken(Rule::UniqueParts, message, &lines);
    }
}

/// Returns the weight of a finding about two parts with the same id. The specification only implies that a text part
/// and a tool call need different ids.
fn weight(call: bool, other: bool) -> Weight {
    if call == other { Weight::Essential } else { Weight::Note }
}

fn id(value: &Value) -> Option<&str> {
    text(value, "id")
}

/// Returns the id of a text part or of a tool call, and whether the part is a tool call; `None` for other
/// parts.
fn named(part: &Value) -> Option<(&str, bool)> {
    if let Some(call) = part.get("toolCall") {
        return Some((text(call, "toolCallId")?, true));
    }
    let takes = matches!(text(part, "kind")?, "markdown" | "reasoning");
    Some((id(part).filter(|_| takes)?, false))
}

//! Checks the histories of chats that arrive in pages. A subscription that requests no window (a limited number of
//! turns) receives all turns. Pages that are loaded later contain older turns, in order.
//!
//! A page goes to all subscribers, regardless of the number of turns that each subscriber requested, so a page may
//! repeat turns that some subscribers already have; reducers skip these turns. A finding is reported only if the
//! history is wrong for every possible window.
//!
//! Knows: folded chats, snapshots. Never knows: the requested number of turns.
//!
//! Start at [`WindowChecks`].

use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::{ActionFolding, OracleStep, StateComparison};

/// The member whose presence means that older turns exist.
const CURSOR: &str = "turnsNextCursor";

/// The checks of windows. These checks need no state beyond the context.
pub(super) struct WindowChecks;

impl CheckFamily for WindowChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) if folding.envelope.action_type == "chat/turnsLoaded" => {
                if let Some(fold) = cx.folded(folding.channel) {
                    loaded(cx, folding, fold, out);
                }
            }
            OracleStep::Snapshot {
                request, channel, kind: Some(ChannelKind::Chat), state, ..
            } => {
                whole(cx, request, *channel, state, out);
            }
            OracleStep::Compared(comparison) => cut(cx, comparison, out),
            _ => {}
        }
    }
}

fn id(turn: &Value) -> Option<&str> {
    text(turn, "id")
}

/// The requirements about a page of older turns.
const PREPEND: &str = "chat.fetchTurns.prepend";
const CLEARED: &str = "chat.fetchTurns.cursor-cleared";

/// Judges a page of older turns. Invariant L7.
fn loaded(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    fold: &ChannelFold,
    out: &mut FindingSink,
) {
    let page = list(folding.envelope.action, "turns");
    let known = list(&fold.state, "turns");
    let uri = cx.uri(folding.channel);
    let lines = fold.lines(folding.line);
    out.seen(Rule::HistoryPages.of(PREPEND));
    if let Some(twice) = repeated(page, "id") {
        let message =
            format!("expected each turn once in a page of `{uri}`, found `{twice}` twice");
        return out.broken(Rule::HistoryPages.of(PREPEND), message, &lines);
    }
    let active = given(&fold.state, "activeTurn").and_then(id);
    if active.is_some() && page.iter().any(|turn| id(turn) == active) {
        let message =
            format!("expected only finished turns in a page of `{uri}`, found the active turn");
        return out.broken(Rule::HistoryPages.of(PREPEND), message, &lines);
    }
    let all = is_whole(fold);
    // The page contains older turns first, then turns that the folded state already has, in the same order.
    let ids: foldhash::HashSet<Option<&str>> = known.iter().map(id).collect();
    let unknown = page.iter().take_while(|turn| !ids.contains(&id(turn))).count();
    let (older, rest) = page.split_at(unknown);
    let from = rest.first().and_then(|first| known.iter().position(|it| id(it) == id(first)));
    let follows = match from {
        Some(from) => {
            let alike = known.iter().skip(from).zip(rest).take_while(|(a, b)| id(a) == id(b));
            alike.count() == rest.len() && (older.is_empty() || from == 0)
        }
        None => true,
    };
    if !follows || (all && !older.is_empty()) {
        let message = match follows {
            true => format!(
                "expected a page of `{uri}` to hold only turns of its history, found `{}`",
                older.first().and_then(id).unwrap_or_default()
            ),
            false => format!(
                "expected a page of `{uri}` to hold the turns before the loaded ones, in their \
                 order, found other turns or another order"
            ),
        };
        return out.broken(Rule::HistoryPages.of(PREPEND), message, &lines);
    }
    let more = given(folding.envelope.action, CURSOR).is_some();
    if all && from == Some(0) {
        out.seen_of(Rule::HistoryPages, CLEARED);
    }
    if all && from == Some(0) && more {
        let message =
            format!("expected no cursor after the oldest turn of `{uri}` was loaded, found one");
        out.broken(Rule::HistoryPages.of(CLEARED), message, &lines);
    }
}

/// Returns whether the folded state contains every turn of the chat.
fn is_whole(fold: &ChannelFold) -> bool {
    !fold.windowed && given(&fold.state, CURSOR).is_none()
}

/// Judges whether a snapshot contains all turns of a chat if the client did not request a limited number of turns.
/// Invariant L7.
fn whole(
    cx: &OracleContext,
    request: &OpenRequest,
    channel: ChannelId,
    state: &Value,
    out: &mut FindingSink,
) {
    let Some(protocol) = cx.here().and_then(|conn| conn.protocol) else {
        return;
    };
    let asks = matches!(request.method.as_str(), "subscribe" | "initialize");
    if !asks || !protocol.has(ProtocolFeature::TurnWindows) {
        return;
    }
    let window = given(request.params(), "view").and_then(|view| given(view, "turns"));
    let uri = cx.uri(channel);
    if window.is_some() {
        return;
    }
    out.seen(Rule::HistoryWhole);
    if given(state, CURSOR).is_some() {
        let message = format!(
            "expected all turns of `{uri}`, for which no window was requested, found a cursor"
        );
        out.broken(Rule::HistoryWhole, message, &[request.line, cx.now.line]);
    }
}

/// Judges whether a shortened history has a cursor, and a complete history has none. Invariant L7.
fn cut(cx: &OracleContext, comparison: &StateComparison<'_>, out: &mut FindingSink) {
    if comparison.kind != ChannelKind::Chat || !comparison.windowed {
        return;
    }
    let known = cx.folded(comparison.channel).filter(|fold| is_whole(fold));
    if known.is_none() {
        return;
    }
    out.seen(Rule::HistoryWhole);
    let uri = cx.uri(comparison.channel);
    let all = list(comparison.folded, "turns").len();
    let shown = list(comparison.snapshot, "turns").len();
    let cursor = given(comparison.snapshot, CURSOR).is_some();
    if shown < all && !cursor {
        let message = format!(
            "expected a cursor in the snapshot of `{uri}`, which has {shown} of its {all} turns, \
             found none"
        );
        out.weaker(Rule::HistoryWhole, Weight::Essential, message, &comparison.lines);
    } else if shown == all && cursor {
        let message = format!(
            "expected no cursor in the snapshot of `{uri}`, which has all its turns, found one"
        );
        out.weaker(Rule::HistoryWhole, Weight::Note, message, &comparison.lines);
    }
}

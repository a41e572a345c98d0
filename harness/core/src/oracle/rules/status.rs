//! Checks the `status` of chats and sessions: a status has exactly one activity, which follows the content, and
//! flags, which do not depend on the content.
//!
//! The reducers derive a chat's activity themselves. The checks judge the statuses in snapshots, catalogues and
//! lists, which hosts write. A snapshot is judged by its own content, because it shows a single moment.
//!
//! Knows: the bits, snapshots, folded states. Never knows: senders.
//!
//! Start at [`StatusChecks`].

use crate::model::status::{ACTIVITY_MASK, ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED};
use crate::model::status::{IS_ARCHIVED, IS_READ, activity_of};
use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;

use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::{OracleStep, StateComparison};

/// The checks of statuses. These checks need no state beyond the context.
pub(super) struct StatusChecks;

impl CheckFamily for StatusChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { channel, kind, state, .. } => {
                snapshot(cx, *channel, *kind, state, out);
            }
            OracleStep::Envelope(delivery) if !delivery.envelope.rejected => {
                let action = delivery.envelope.action;
                match delivery.envelope.action_type {
                    "session/chatAdded" => {
                        one_activity(cx, given(action, "summary"), out);
                    }
                    "session/chatUpdated" => {
                        one_activity(cx, given(action, "changes"), out);
                    }
                    _ => {}
                }
            }
            OracleStep::Notified { seen, method, .. } => {
                let params = seen.message().map(Message::params);
                let member = match *method {
                    "root/sessionAdded" => "summary",
                    "root/sessionSummaryChanged" => "changes",
                    _ => return,
                };
                let summary = params.and_then(|params| given(params, member));
                one_activity(cx, summary, out);
                chats(cx, summary, out);
                let uri = params.and_then(|params| text(params, "session"));
                if let Some(summary) = summary {
                    let uri = uri.or_else(|| text(summary, "resource"));
                    summarised(cx, uri.unwrap_or_default(), summary, out);
                }
            }
            OracleStep::Answered { request, message } => listed(cx, request, message, out),
            OracleStep::Compared(comparison) => flags(cx, comparison, out),
            _ => {}
        }
    }
}

fn listed(cx: &OracleContext, request: &OpenRequest, message: &Message, out: &mut FindingSink) {
    if request.method == "listSessions" {
        for summary in message.result().map_or(&[][..], |result| list(result, "items")) {
            one_activity(cx, Some(summary), out);
            chats(cx, Some(summary), out);
            summarised(cx, text(summary, "resource").unwrap_or_default(), summary, out);
        }
    }
}

fn chats(cx: &OracleContext, summary: Option<&Value>, out: &mut FindingSink) {
    for chat in summary.map_or(&[][..], |summary| list(summary, "chats")) {
        one_activity(cx, Some(chat), out);
    }
}

/// Judges whether a status has exactly one activity. Bits above the known flags belong to newer versions and are not
/// judged. Invariant G3.
fn one_activity(cx: &OracleContext, holder: Option<&Value>, out: &mut FindingSink) {
    let status = holder.and_then(|holder| holder.get("status")).and_then(Value::as_u64);
    let (Some(holder), Some(status)) = (holder, status) else {
        return;
    };
    out.seen(Rule::OneActivity);
    if !matches!(status & ACTIVITY_MASK, IDLE | ERROR | IN_PROGRESS | INPUT_NEEDED) {
        let whose = text(holder, "resource").map_or(String::new(), |uri| format!(" of `{uri}`"));
        let message = format!(
            "expected one activity (1, 2, 8 or 24) in the low five bits of the status{whose}, \
             found {} in {status}",
            status & ACTIVITY_MASK
        );
        out.broken(Rule::OneActivity, message, &[cx.now.line]);
    }
}

fn snapshot(
    cx: &OracleContext,
    channel: ChannelId,
    kind: Option<ChannelKind>,
    state: &Value,
    out: &mut FindingSink,
) {
    let Some(protocol) = cx.here().and_then(|conn| conn.protocol) else {
        return;
    };
    // Up to 0.4.0 the `summary` of a session contains its title and its status.
    let holder = given(state, "summary").unwrap_or(state);
    if matches!(kind, Some(ChannelKind::Session | ChannelKind::Chat)) {
        one_activity(cx, Some(holder), out);
    }
    match kind {
        Some(ChannelKind::Chat) => derived(cx, channel, protocol, state, out),
        Some(ChannelKind::Session) => {
            for entry in list(state, "chats") {
                one_activity(cx, Some(entry), out);
            }
            aggregated(cx, cx.uri(channel), state, out);
            waits(cx, channel, protocol, state, out);
        }
        _ => {}
    }
}

fn activity(holder: &Value) -> Option<u64> {
    Some(holder.get("status")?.as_u64()? & ACTIVITY_MASK)
}

/// Judges whether a chat's activity follows its turn. After a failed turn both Idle and Error are legal until
/// the next change of the turns. Invariant G1.
fn derived(
    cx: &OracleContext,
    channel: ChannelId,
    protocol: &Protocol,
    state: &Value,
    out: &mut FindingSink,
) {
    let Some(found) = activity(state) else {
        return;
    };
    let expected = activity_of(protocol.version(), state);
    let turns = list(state, "turns");
    // The last turn may have failed, although the snapshot omits it.
    let unseen = turns.is_empty() && given(state, "turnsNextCursor").is_some();
    let failed = turns.last().is_some_and(|turn| text(turn, "state") == Some("error")) || unseen;
    out.seen(Rule::ChatDerived);
    if found != expected && !(failed && found == ERROR && expected == IDLE) {
        let uri = cx.uri(channel);
        let message = format!(
            "expected the activity of `{uri}` to be that of its turn, {expected}, found {found}"
        );
        out.broken(Rule::ChatDerived, message, &[cx.now.line]);
    }
}

/// Judges whether a session's activity follows its chats. The specification does not say whether waiting or
/// failure has priority, so both are legal. Invariant G2.
fn aggregated(cx: &OracleContext, uri: &str, state: &Value, out: &mut FindingSink) {
    let chats = list(state, "chats");
    let (Some(found), false) = (activity(state), chats.is_empty()) else {
        return;
    };
    let default = text(state, "defaultChat");
    let default = chats.iter().find(|chat| default.is_some() && text(chat, "resource") == default);
    let latest = || chats.iter().max_by_key(|chat| text(chat, "modifiedAt").unwrap_or_default());
    let base = default.or_else(latest).and_then(activity).unwrap_or(IDLE);
    let any = |wanted: u64| chats.iter().any(|chat| activity(chat) == Some(wanted));
    let mut expected: Vec<u64> =
        [INPUT_NEEDED, ERROR].into_iter().filter(|wanted| any(*wanted)).collect();
    if expected.is_empty() {
        expected.push(base);
    }
    // Up to 0.7.0, the session may also wait for a client's tool, which the statuses of its chats do not show.
    if !list(state, "inputNeeded").is_empty() {
        expected.push(INPUT_NEEDED);
    }
    out.seen(Rule::SessionAggregates);
    if !expected.contains(&found) {
        let message = format!(
            "expected the activity of `{uri}` to be derived from its chats, {}, found {found}",
            expected.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ")
        );
        out.broken(Rule::SessionAggregates, message, &[cx.now.line]);
    }
}

/// Judges the activity of a summary. A summary has no `inputNeeded`, and only its `defaultChat` shows which chat
/// determines the activity. Summaries without `defaultChat` are not judged. Invariant G2.
fn summarised(cx: &OracleContext, uri: &str, summary: &Value, out: &mut FindingSink) {
    let chats = list(summary, "chats");
    let default = text(summary, "defaultChat");
    let decided = chats.len() == 1 || (default.is_some() && repeated(chats, "resource").is_none());
    let told = chats.iter().all(|chat| activity(chat).is_some());
    let waits = activity(summary) == Some(INPUT_NEEDED);
    let known = chats.len() == 1 || chats.iter().any(|chat| text(chat, "resource") == default);
    if decided && known && told && !waits {
        aggregated(cx, uri, summary, out);
    }
}

/// Judges whether the status of a session shows that it waits, if `inputNeeded` has an entry for a person.
/// Entries of unknown kinds are ignored. Invariant G5.
fn waits(
    cx: &OracleContext,
    channel: ChannelId,
    protocol: &Protocol,
    state: &Value,
    out: &mut FindingSink,
) {
    const FOR_PEOPLE: [&str; 3] = ["chatInput", "toolConfirmation", "toolAuthentication"];
    let clients = protocol.has(ProtocolFeature::ClientToolsRaiseInputNeeded);
    let person = |entry: &&Value| {
        let kind = text(entry, "kind").unwrap_or_default();
        FOR_PEOPLE.contains(&kind) || (clients && kind == "toolClientExecution")
    };
    let (Some(entry), Some(found)) =
        (list(state, "inputNeeded").iter().find(person), activity(state))
    else {
        return;
    };
    out.seen(Rule::InputNeededBits);
    if found != INPUT_NEEDED {
        let message = format!(
            "expected the activity of `{}` to be 24 (input needed) while `inputNeeded` has the \
             entry `{}`, found {found}",
            cx.uri(channel),
            text(entry, "id").unwrap_or_default()
        );
        out.broken(Rule::InputNeededBits, message, &[cx.now.line]);
    }
}

/// Compares the flags of a snapshot with the flags of the folded state, which only actions have changed. Invariant G4.
fn flags(cx: &OracleContext, comparison: &StateComparison<'_>, out: &mut FindingSink) {
    let read = match comparison.kind {
        ChannelKind::Chat => "chat/isReadChanged",
        ChannelKind::Session => "session/isReadChanged",
        _ => return,
    };
    let bits = |state: &Value| {
        let holder = given(state, "summary").unwrap_or(state);
        holder.get("status").and_then(Value::as_u64)
    };
    let (Some(folded), Some(found)) = (bits(comparison.folded), bits(comparison.snapshot)) else {
        return;
    };
    // A host that also supports a newer version may change flags that no action of this version changes.
    let flags = [
        ("IsArchived", IS_ARCHIVED, read.replace("Read", "Archived"), Weight::Essential),
        (
            "IsRead",
            IS_READ,
            read.to_owned(),
            if comparison.kind == ChannelKind::Chat { Weight::Essential } else { Weight::Note },
        ),
    ];
    for (name, bit, action, weight) in flags {
        if comparison.protocol.action(&action).is_none() {
            continue;
        }
        out.seen(Rule::FlagsKept);
        if folded & bit != found & bit {
            let [word_folded, word_found] =
                [folded, found].map(|bits| if bits & bit == 0 { "cleared" } else { "set" });
            let message = format!(
                "expected {name} of `{}` to be {word_folded}, as its actions left it, found it \
                 {word_found}",
                cx.uri(comparison.channel)
            );
            out.weaker(Rule::FlagsKept, weight, message, &comparison.lines);
        }
    }
}

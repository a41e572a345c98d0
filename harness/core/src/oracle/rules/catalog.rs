//! Checks a session's catalogue of chats: its entries equal the chats, the session has one default chat, and
//! each chat has one owner.
//!
//! A host uses one action to change a chat and another action to change the chat's entry. The checks therefore
//! compare entry and chat when the host is at rest.
//!
//! Knows: folded sessions and chats, the copies in summaries. Never knows: whole lists.
//!
//! Start at [`CatalogChecks`].

use crate::model::{ActionOutcome, NoOp};
use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Map, Value, json};
use crate::wire::message::Message;
use crate::wire::trim::TrimType;

use crate::oracle::budget::is_short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::difference::difference;
use crate::oracle::family::{QUIET, SessionFamily, followed_chat};
use crate::oracle::masks::plain;
use crate::oracle::members::{by_text, given, list, repeated, text};
use crate::oracle::memory::ChatMemory;
use crate::oracle::step::{ActionFolding, OracleStep};
use crate::oracle::tool_call::owner;

/// The members of a chat that its entry repeats, each with the action that changes the member in the chat's own
/// state. A member without an action is known only from a snapshot of the chat.
const REPEATED: &[(&str, Option<&str>)] = &[
    ("title", None),
    ("status", Some("chat/turnStarted")),
    ("activity", Some("chat/activityChanged")),
    ("modifiedAt", Some("chat/turnStarted")),
    ("changes", None),
    ("origin", None),
    ("movable", Some("chat/movableChanged")),
    ("interactivity", None),
    ("workingDirectories", Some("chat/workingDirectorySet")),
];
/// The members of [`REPEATED`] whose updates a host may delay.
const LAGGING: &[&str] = &["modifiedAt", "changes"];

/// Upper bound for the statuses of a chat that are remembered between two updates of its entry. If a chat has
/// more statuses, the next update is not judged.
const MAX_STATUSES: usize = 16;

/// The status of each chat in the catalogue, and the statuses that the chat really had.
#[derive(Default)]
pub(super) struct CatalogChecks {
    chats: ChatMemory<ToldStatus>,
}

/// The status that the catalogue last stated for a chat. This status is legal if the chat had it at some time between
/// the previous update and the next update of the chat's entry.
#[derive(Default)]
struct ToldStatus {
    /// Whether the catalogue stated the chat's real status at the previous update of the entry. If so, `since` contains
    /// every status that may legally arrive late.
    sure: bool,
    /// The status that the catalogue states, the line of this update, and the statuses that the chat had before and
    /// after the update.
    told: Option<(Value, u64, Vec<Value>)>,
    /// The statuses that the chat had since the last update of its catalogue entry.
    since: Vec<Value>,
}

impl ToldStatus {
    fn had(&mut self, status: &Value) {
        let told = self.told.as_mut().map(|(_, _, had)| had);
        for had in told.into_iter().chain([&mut self.since]) {
            if had.last() != Some(status) && had.len() <= MAX_STATUSES {
                had.push(status.clone());
            }
        }
    }

    /// Removes the last status in the catalogue. If the chat never had this status between the two updates, returns the
    /// status and its line.
    fn wrong(&mut self) -> Option<(Value, u64)> {
        let (status, line, had) = self.told.take()?;
        (had.len() <= MAX_STATUSES && !had.contains(&status)).then_some((status, line))
    }

    /// Forgets all recorded statuses. `sure` states whether the catalogue states the chat's real status now.
    fn begin(&mut self, sure: bool) {
        *self = ToldStatus { sure, ..ToldStatus::default() };
    }
}

impl CheckFamily for CatalogChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { channel, state, .. } => {
                catalogue(cx, cx.uri(*channel), state, cx.now.line, out);
            }
            OracleStep::Answered { request, message } if request.method == "listSessions" => {
                for summary in message.result().map_or(&[][..], |result| list(result, "items")) {
                    let uri = text(summary, "resource").unwrap_or_default();
                    catalogue(cx, uri, summary, cx.now.line, out);
                }
            }
            OracleStep::Notified { seen, method, .. } => {
                let params = seen.message().map_or(&Value::Null, Message::params);
                let told = match *method {
                    "root/sessionAdded" => given(params, "summary"),
                    "root/sessionSummaryChanged" => given(params, "changes"),
                    _ => return,
                };
                if let Some(told) = told {
                    let uri = text(params, "session").or_else(|| text(told, "resource"));
                    catalogue(cx, uri.unwrap_or_default(), told, cx.now.line, out);
                }
            }
            OracleStep::Folding(folding) => {
                folding_in(cx, folding, out);
                self.had(cx, folding);
            }
            OracleStep::Folded { folding, outcome } => {
                folded(cx, folding, outcome, out);
                if folding.envelope.action_type == "session/chatUpdated" {
                    self.status(cx, folding, out);
                }
            }
            OracleStep::SessionsAtRest { sessions } => {
                let families =
                    sessions.iter().filter_map(|session| SessionFamily::of(cx, *session));
                families.for_each(|family| {
                    self.rested(cx, &family);
                    at_rest(cx, &family, out);
                });
            }
            OracleStep::Restarted | OracleStep::Gap => self.chats.clear(),
            _ => {}
        }
    }
}

impl CatalogChecks {
    /// Records the status of a chat before an action that may change it.
    fn had(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>) {
        if QUIET.contains(&folding.envelope.action_type) {
            return;
        }
        let fold = cx.folded(folding.channel).filter(|fold| fold.kind == ChannelKind::Chat);
        if let Some((fold, status)) = fold.and_then(|fold| Some((fold, status(&fold.state)?)))
            && let Some(known) = self.chats.of(folding.channel, fold)
        {
            known.had(&status);
        }
    }

    /// Judges the status in an update of an entry against the statuses that the chat had. Invariant I1.
    fn status(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let action = folding.envelope.action;
        let uri = text(action, "chat").unwrap_or_default();
        let Some(told) = given(action, "changes").and_then(status) else { return };
        let Some((id, chat)) = cx.channels.find(uri).zip(followed_chat(cx, uri)) else { return };
        // In versions without `chat/turnStarted` only a snapshot of the chat shows its status.
        let protocol = chat.protocol;
        let derived = protocol.action("chat/turnStarted").is_some();
        let (now, lines) = (status(&chat.state), chat.lines(folding.line));
        let Some(known) = self.chats.of(id, chat) else { return };
        // The comparison needs the state of the chat at exactly the `serverSeq` of the update.
        let in_order = folding.live
            && chat.seq < folding.envelope.seq
            && cx.covers(id, cx.now.conn)
            && std::ptr::eq(protocol, folding.protocol);
        if !derived || !in_order {
            known.begin(false);
            return;
        }
        now.iter().for_each(|status| known.had(status));
        out.seen(Rule::CatalogMirrors);
        if let Some((status, line)) = known.wrong() {
            let message = format!(
                "expected `session/chatUpdated` to contain a status that `{uri}` had, found \
                 {status}, which the chat had neither then nor until the next update"
            );
            let [base, last, now] = lines;
            out.broken(Rule::CatalogMirrors, message, &[base, line, last, now]);
        }
        let had = std::mem::take(&mut known.since);
        if known.sure {
            known.told = Some((told.clone(), folding.line, had));
        }
        known.sure |= now.as_ref() == Some(&told);
        known.since.extend(now);
    }

    /// Marks the catalogue entries of a session that is at rest as up to date; [`at_rest`] compares the entries with
    /// their chats.
    fn rested(&mut self, cx: &OracleContext, family: &SessionFamily<'_>) {
        for (uri, chat) in family.chats(cx) {
            if let Some(known) = cx.channels.find(uri).and_then(|id| self.chats.of(id, chat)) {
                known.begin(true);
            }
        }
    }
}

/// Returns the status of a chat or of its entry. Statuses are kept, so a list or an object does not count as one.
fn status(state: &Value) -> Option<Value> {
    let status = given(state, "status").and_then(plain);
    status.filter(|status| status.is_number() || status.as_str().is_some_and(is_short))
}

/// Judges the chats in a session's state or in a summary of the session. A partial summary may change the
/// default chat without listing the chats; in that case the default chat is not judged. Invariants I2 and I4.
fn catalogue(cx: &OracleContext, uri: &str, state: &Value, line: u64, out: &mut FindingSink) {
    let chats = list(state, "chats");
    if chats.is_empty() || cx.here().is_none_or(|conn| conn.protocol.is_none()) {
        return;
    }
    out.seen(Rule::OneOwner);
    if let Some(chat) = repeated(chats, "resource") {
        let message = format!("expected every chat once in `{uri}`, found `{chat}` twice");
        out.broken(Rule::OneOwner, message, &[line]);
    }
    let lines = [line, 0];
    default_known(uri, chats, text(state, "defaultChat"), lines, out);
}

/// Judges whether the default chat is in the catalogue. If there is no default chat, nothing is judged.
/// Invariant I2.
fn default_known(
    session: &str,
    chats: &[Value],
    default: Option<&str>,
    lines: [u64; 2],
    out: &mut FindingSink,
) {
    let Some(default) = default else {
        return;
    };
    out.seen(Rule::DefaultChat);
    if !chats.iter().any(|chat| text(chat, "resource") == Some(default)) {
        let message = format!(
            "expected `defaultChat` of `{session}` to be one of its chats, found `{default}`"
        );
        out.broken(Rule::DefaultChat, message, &lines);
    }
}

/// Judges an action by the state before the action. Invariant I4.
fn folding_in(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    if folding.envelope.action_type != "session/chatAdded" {
        return;
    }
    let fold = cx.folded(folding.channel);
    let summary = given(folding.envelope.action, "summary");
    let (Some(fold), Some(chat)) = (fold, summary.and_then(|summary| text(summary, "resource")))
    else {
        return;
    };
    out.seen(Rule::OneOwner);
    if list(&fold.state, "chats").iter().any(|entry| text(entry, "resource") == Some(chat)) {
        let uri = cx.uri(folding.channel);
        let message = format!("expected `{chat}` to be new in `{uri}`, found it there already");
        // The reducer replaces the entry, so the state stays correct.
        out.weaker(Rule::OneOwner, Weight::Note, message, &[fold.base_line, folding.line]);
    }
}

/// Judges the outcome of an action. Invariants I2, I3 and I4.
fn folded(
    cx: &OracleContext,
    folding: &ActionFolding<'_>,
    outcome: &ActionOutcome,
    out: &mut FindingSink,
) {
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let uri = cx.uri(folding.channel);
    let action = folding.envelope.action;
    let lines = [fold.base_line, folding.line];
    match folding.envelope.action_type {
        "session/chatsReordered" => {
            out.seen(Rule::ReorderPermutes);
            if *outcome == ActionOutcome::NoOp(NoOp::NotAPermutation) {
                let message = format!(
                    "expected `session/chatsReordered` to list every chat of `{uri}` exactly once, \
                     found a list of {} that is not a permutation of its {} chats",
                    list(action, "chats").len(),
                    list(&fold.state, "chats").len()
                );
                out.broken(Rule::ReorderPermutes, message, &lines);
            }
        }
        "session/chatUpdated" => {
            out.seen(Rule::UpdatedKnown);
            if *outcome == ActionOutcome::NoOp(NoOp::UnknownChat) {
                let chat = text(action, "chat").unwrap_or_default();
                let message = format!(
                    "expected `session/chatUpdated` to name a chat of `{uri}`, found `{chat}`"
                );
                out.broken(Rule::UpdatedKnown, message, &lines);
            }
        }
        "session/defaultChatChanged" => {
            let chats = list(&fold.state, "chats");
            default_known(uri, chats, text(action, "defaultChat"), lines, out);
        }
        _ => {}
    }
}

fn at_rest(cx: &OracleContext, family: &SessionFamily<'_>, out: &mut FindingSink) {
    let [base, last] = family.lines();
    owners(cx, family, out);
    let default = text(&family.fold.state, "defaultChat");
    for entry in family.entries() {
        let Some(uri) = text(entry, "resource") else {
            continue;
        };
        if Some(uri) == default && family.fold.protocol.has(ProtocolFeature::ChatMoves) {
            out.seen(Rule::DefaultChat);
            if entry.get("movable").and_then(Value::as_bool) == Some(true) {
                let message = format!(
                    "expected the default chat of `{}` not to be movable, found `{uri}` to be \
                     movable",
                    family.uri
                );
                let lines = [base, last, cx.now.line];
                out.weaker(Rule::DefaultChat, Weight::Must, message, &lines);
            }
        }
    }
    let entries = by_text(family.entries(), "resource");
    for (uri, chat) in family.chats(cx) {
        workers(cx, family, &entries, uri, chat, out);
        if let Some(entry) = entries.get(uri) {
            mirrors(cx, family, uri, chat, entry, out);
        }
    }
}

/// Judges whether no other session lists this session's chats. Invariant I4.
fn owners(cx: &OracleContext, family: &SessionFamily<'_>, out: &mut FindingSink) {
    let mut listed: foldhash::HashMap<ChannelId, foldhash::HashSet<&str>> = Default::default();
    for uri in family.entries().iter().filter_map(|entry| text(entry, "resource")) {
        let Some(other) = cx.families.session_of(uri).filter(|other| *other != family.id) else {
            continue;
        };
        let Some(other) = SessionFamily::of(cx, other) else {
            continue;
        };
        out.seen(Rule::OneOwner);
        let theirs = listed.entry(other.id).or_insert_with(|| {
            other.entries().iter().filter_map(|entry| text(entry, "resource")).collect()
        });
        if theirs.contains(uri) {
            let message = format!(
                "expected `{uri}` to belong to one session, found it in `{}` and `{}`",
                family.uri, other.uri
            );
            let [base, last] = family.lines();
            let [other_base, other_last] = other.lines();
            let lines = [base, last, other_base, other_last, cx.now.line];
            out.broken(Rule::OneOwner, message, &lines);
        }
    }
}

/// If a tool call of a chat shows the chat of a worker, judges whether that chat's entry in the catalogue names the
/// call as its origin. Calls that a fork has copied still show the workers of the original chat, which stay workers of
/// that chat. The content of a client's tool call comes from the client, and the host only forwards it.
fn workers(
    cx: &OracleContext,
    family: &SessionFamily<'_>,
    entries: &foldhash::HashMap<&str, &Value>,
    uri: &str,
    chat: &ChannelFold,
    out: &mut FindingSink,
) {
    let last = list(&chat.state, "turns").last();
    let turns = given(&chat.state, "activeTurn").into_iter().chain(last);
    let parts = turns.flat_map(|turn| list(turn, "responseParts"));
    let forked = given(&chat.state, "origin").is_some_and(|it| text(it, "kind") == Some("fork"));
    let named: &[&str] =
        if forked { &["kind", "toolCallId"] } else { &["kind", "chat", "toolCallId"] };
    let calls = parts.filter_map(|part| given(part, "toolCall"));
    for call in calls.filter(|call| owner(call).is_none()) {
        let shown = list(call, "content").iter();
        let workers = shown.filter(|shown| text(shown, "type") == Some("subagent"));
        for worker in workers.filter_map(|shown| text(shown, "resource")) {
            let Some(entry) = entries.get(worker) else {
                continue;
            };
            out.seen(Rule::WorkerOrigin);
            let id = text(call, "toolCallId").unwrap_or_default();
            let expected = json!({"kind": "tool", "chat": uri, "toolCallId": id});
            let found = given(entry, "origin").cloned().unwrap_or_default();
            if named.iter().any(|name| expected[*name] != found[*name]) {
                let message = format!(
                    "expected the origin of the chat `{worker}` to be the call `{id}` of `{uri}`, \
                     which shows the chat, found another origin"
                );
                let [base, line] = family.lines();
                let lines = [base, line, chat.base_line, chat.last_line, cx.now.line];
                let diff = Some(difference(&expected, &found));
                out.with_diff(Rule::WorkerOrigin, Weight::Must, message, &lines, diff);
            }
        }
    }
}

/// Compares an entry with its chat. A partial update cannot clear a member, so a member that is absent in the chat is
/// compared only if its absence has a meaning. If session and chat are followed in different versions, each may have
/// members that the other version lacks; such members are not compared. Invariant I1.
fn mirrors(
    cx: &OracleContext,
    family: &SessionFamily<'_>,
    uri: &str,
    chat: &ChannelFold,
    entry: &Value,
    out: &mut FindingSink,
) {
    let protocol = chat.protocol;
    if !std::ptr::eq(protocol, family.fold.protocol) {
        return;
    }
    let fresh = chat.base_line > family.fold.base_line.max(family.fold.last_line);
    // Unknown members and the spelling of times may differ legally.
    let [of_chat, of_entry] = [&chat.state, entry].map(|side| {
        let told =
            REPEATED.iter().filter_map(|(name, _)| Some((*name, given(side, name)?.clone())));
        let mut told: Value = Value::Object(told.collect());
        protocol.canonical(TrimType::Named("ChatSummary"), &mut told);
        told
    });
    let mut differs = [Map::new(), Map::new(), Map::new(), Map::new()];
    out.seen(Rule::CatalogMirrors);
    for (name, by) in REPEATED {
        let changed_by_actions = by.is_some_and(|by| protocol.action(by).is_some());
        let timed = *name != "modifiedAt" || protocol.has(ProtocolFeature::DeterministicTimes);
        if !(fresh || changed_by_actions) || !timed {
            continue;
        }
        let (own, copy) = (given(&of_chat, name), given(&of_entry, name));
        let equal = match (own.and_then(plain), copy.and_then(plain)) {
            (None, Some(copy)) => absence(name).is_none_or(|default| copy == default),
            (Some(own), None) => absence(name) == Some(own),
            (own, copy) => own == copy,
        };
        if equal {
            continue;
        }
        let [hard_own, hard_copy, soft_own, soft_copy] = &mut differs;
        let (into_own, into_copy) = match LAGGING.contains(name) {
            true => (soft_own, soft_copy),
            false => (hard_own, hard_copy),
        };
        into_own.extend(own.map(|value| (*name, value.clone())));
        into_copy.extend(copy.map(|value| (*name, value.clone())));
    }
    let [hard_own, hard_copy, soft_own, soft_copy] = differs.map(Value::Object);
    let none = json!({});
    let [base, last] = family.lines();
    let lines = [base, last, chat.base_line, chat.last_line, cx.now.line];
    for (own, copy, weight) in
        [(hard_own, hard_copy, Weight::Must), (soft_own, soft_copy, Weight::Note)]
    {
        if own != none || copy != none {
            let message = format!(
                "expected the entry of `{uri}` in `{}` to equal the chat, found differences",
                family.uri
            );
            let diff = Some(difference(&own, &copy));
            out.with_diff(Rule::CatalogMirrors, weight, message, &lines, diff);
        }
    }
}

/// Returns the default value of an absent member; `None` if the entry may keep a value that the chat no
/// longer has.
fn absence(name: &str) -> Option<Value> {
    match name {
        "movable" => Some(Value::from(false)),
        "interactivity" => Some(Value::from("full")),
        _ => None,
    }
}

//! Checks that a session's `inputNeeded` contains everything that its chats wait for.
//!
//! A host updates `inputNeeded` with other actions than the chats. The checks therefore compare the two when
//! the session is at rest.
//!
//! Knows: folded sessions and chats. Never knows: senders.
//!
//! Start at [`RollupChecks`].

use crate::model::tool_call::ToolCallStatus;
use crate::verdict::Weight;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;
use crate::wire::trim::TrimType;

use crate::oracle::budget::KeptBytes;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::difference::difference;
use crate::oracle::family::{SessionFamily, followed_chat};
use crate::oracle::masks::plain;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the remembered entries that differ from the request or call in their chat.
const MAX_UNLIKE: usize = 256;

/// The entries of `inputNeeded` that have differed from the request or call in their chat ever since they were set.
#[derive(Default)]
pub(super) struct RollupChecks {
    unlike: Vec<UnlikeEntry>,
}

/// An entry of `inputNeeded` that differs from the request or call in its chat.
struct UnlikeEntry {
    session: ChannelId,
    chat: ChannelId,
    /// The entry as it was set, and the line of its action.
    entry: Value,
    line: u64,
    /// [`ChannelFold::since_line`] of the chat when the entry was set.
    since_line: u64,
    /// The request or call in the chat, as it was last seen; `None` if the chat never had it.
    seen: Option<Value>,
    /// The bytes of both values.
    kept: KeptBytes,
}

impl CheckFamily for RollupChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => {
                self.leaves(cx, folding, out);
                fold(cx, folding, out);
            }
            OracleStep::Folded { folding, .. } => self.folded(cx, folding),
            OracleStep::Restarted | OracleStep::Gap => self.unlike.clear(),
            OracleStep::Snapshot { channel, state, .. } => {
                if let Some(id) = repeated(list(state, "inputNeeded"), "id") {
                    let uri = cx.uri(*channel);
                    let message = format!(
                        "expected the ids in `inputNeeded` of `{uri}` to differ, found `{id}` twice"
                    );
                    out.broken(Rule::RollupMirrors, message, &[cx.now.line]);
                }
                list(state, "inputNeeded").iter().for_each(|entry| fits(cx, entry, out));
            }
            OracleStep::SessionsAtRest { sessions } => {
                let families =
                    sessions.iter().filter_map(|session| SessionFamily::of(cx, *session));
                families.for_each(|family| {
                    self.unlike.retain(|unlike| unlike.session != family.id);
                    compare(cx, &family, out);
                });
            }
            _ => {}
        }
    }
}

impl RollupChecks {
    /// Records an entry that is set, or compares the remembered entries with a chat that has changed.
    fn folded(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>) {
        if folding.envelope.action_type == "session/inputNeededSet" {
            self.set(cx, folding);
            return;
        }
        self.unlike.retain_mut(|unlike| {
            let chat = cx.folded(unlike.chat).filter(|_| unlike.chat == folding.channel);
            let Some(chat) = chat else { return true };
            let blocks = blocks(&chat.state);
            let Some(block) = blocks.iter().find(|block| block.is(&unlike.entry)) else {
                return true;
            };
            unlike.seen = Some(block.value.clone());
            let bytes = unlike.entry.heap_size() + block.value.heap_size();
            unlike.kept.resize(bytes) && !is_copy(chat, block, &unlike.entry)
        });
    }

    fn set(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>) {
        let Some(entry) = given(folding.envelope.action, "request") else { return };
        let id = text(entry, "id");
        let same = |it: &UnlikeEntry| it.session == folding.channel && text(&it.entry, "id") == id;
        self.unlike.retain(|unlike| !same(unlike));
        let uri = text(entry, "chat").unwrap_or_default();
        let Some((id, chat)) = cx.channels.find(uri).zip(followed_chat(cx, uri)) else { return };
        let known = KINDS.contains(&text(entry, "kind").unwrap_or_default());
        let blocks = blocks(&chat.state);
        let block = blocks.iter().find(|block| block.is(entry));
        if !known
            || !std::ptr::eq(chat.protocol, folding.protocol)
            || self.unlike.len() >= MAX_UNLIKE
            || block.is_some_and(|block| is_copy(chat, block, entry))
        {
            return;
        }
        let bytes = entry.heap_size() + block.map_or(0, |block| block.value.heap_size());
        let Some(kept) = cx.memory.listed.keep(bytes) else { return };
        self.unlike.push(UnlikeEntry {
            session: folding.channel,
            chat: id,
            entry: entry.clone(),
            line: folding.line,
            since_line: chat.since_line,
            seen: block.map(|block| block.value.clone()),
            kept,
        });
    }

    /// Judges an entry that is removed: at some time, the entry must have equalled the request or call in its chat.
    /// Invariants H2 and H3.
    fn leaves(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        if folding.envelope.action_type != "session/inputNeededRemoved" {
            return;
        }
        let id = text(folding.envelope.action, "id");
        let session = cx.followed(folding.channel);
        let entries = session.map_or(&[][..], |fold| list(&fold.state, "inputNeeded"));
        if let Some((session, entry)) =
            session.zip(entries.iter().find(|entry| text(entry, "id") == id))
        {
            of_a_chat(cx, cx.uri(folding.channel), session, entry, folding.line, out);
        }
        if self.unlike.is_empty() {
            return;
        }
        let leaves =
            |it: &UnlikeEntry| it.session == folding.channel && text(&it.entry, "id") == id;
        let Some(place) = self.unlike.iter().position(leaves) else { return };
        let UnlikeEntry { chat, entry, line, since_line, seen, .. } =
            self.unlike.swap_remove(place);
        let fold = cx.followed(chat).filter(|fold| fold.since_line == since_line);
        // The actions of the chat may arrive on another connection, later than the actions of the session.
        let is_current = cx.known_to(chat) >= folding.envelope.seq;
        let Some(fold) = fold.filter(|_| is_current) else { return };
        let lines = [fold.base_line, line, fold.last_line, folding.line];
        let Some(seen) = seen else {
            if !knows_call(&fold.state, &entry) {
                let message = format!(
                    "expected the entry `{}` in `inputNeeded` of `{}` to be about a tool call of \
                     `{}`, found a tool call that this chat never had",
                    id.unwrap_or_default(),
                    cx.uri(folding.channel),
                    cx.uri(chat)
                );
                out.seen(Rule::RollupStale);
                out.broken(Rule::RollupStale, message, &lines);
            }
            return;
        };
        let message = format!(
            "expected the entry `{}` in `inputNeeded` of `{}` to equal the request or call of \
             `{}`, found a difference until the entry was removed",
            id.unwrap_or_default(),
            cx.uri(folding.channel),
            cx.uri(chat)
        );
        let shown = given(&entry, member_of(&entry)).cloned().unwrap_or_default();
        let diff = Some(difference(&seen, &shown));
        out.with_diff(Rule::RollupMirrors, Weight::Essential, message, &lines, diff);
    }
}

/// Returns whether a chat has a call with this id in any status. The result is `true` for entries without a
/// call.
fn knows_call(chat: &Value, entry: &Value) -> bool {
    let Some(id) = given(entry, "toolCall").and_then(|call| text(call, "toolCallId")) else {
        return true;
    };
    let turns = given(chat, "activeTurn").into_iter().chain(list(chat, "turns"));
    let mut calls = turns.flat_map(|turn| list(turn, "responseParts"));
    calls.any(|part| given(part, "toolCall").and_then(|call| text(call, "toolCallId")) == Some(id))
}

/// Returns the member of an entry that repeats the chat's request or call.
fn member_of(entry: &Value) -> &'static str {
    if text(entry, "kind") == Some("chatInput") { "request" } else { "toolCall" }
}

/// Returns whether an entry equals the request or call that its chat waits for. Members that the tables do not define
/// may occur in only one of the two.
fn is_copy(chat: &ChannelFold, block: &ChatBlock<'_>, entry: &Value) -> bool {
    known_part(chat, entry, block.value)
        == known_part(chat, entry, given(entry, member_of(entry)).unwrap_or(&Value::Null))
}

/// Returns the members of a value that the tables know, normalised for comparison.
fn known_part(chat: &ChannelFold, entry: &Value, value: &Value) -> Option<Value> {
    let name = if member_of(entry) == "request" { "ChatInputRequest" } else { "ToolCallState" };
    let mut value = value.clone();
    chat.protocol.canonical(TrimType::Named(name), &mut value);
    plain(&value)
}

fn fold(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let action = folding.envelope.action;
    match folding.envelope.action_type {
        "session/inputNeededSet" => {
            if let Some(entry) = given(action, "request") {
                fits(cx, entry, out);
            }
        }
        "chat/inputAnswerChanged" | "chat/inputCompleted" => open_only(cx, folding, out),
        _ => {}
    }
}

/// Judges whether an answer or a completion concerns an open request. Another check judges whether a turn is
/// active. Invariant H1.
fn open_only(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let fold = cx.folded(folding.channel);
    let (Some(fold), Some(id)) = (fold, text(folding.envelope.action, "requestId")) else {
        return;
    };
    out.seen(Rule::OpenRequests);
    if requests(&fold.state).any(|request| text(request, "id") == Some(id)) {
        return;
    }
    let message = format!(
        "expected `{}` on `{}` to name an open request, found `{id}`, which is not open",
        folding.envelope.action_type,
        cx.uri(folding.channel)
    );
    let lines = fold.lines(folding.line);
    out.broken(Rule::OpenRequests, message, &lines);
}

/// Judges whether the status of the tool call in an entry fits the kind of the entry. Invariant H2.
fn fits(cx: &OracleContext, entry: &Value, out: &mut FindingSink) {
    use ToolCallStatus::{AuthRequired, PendingConfirmation, PendingResultConfirmation, Running};
    let allowed: &[ToolCallStatus] = match text(entry, "kind") {
        Some("toolConfirmation") => &[PendingConfirmation, PendingResultConfirmation],
        Some("toolClientExecution") => &[Running],
        Some("toolAuthentication") => &[AuthRequired],
        _ => return,
    };
    let Some(call) = given(entry, "toolCall") else {
        return;
    };
    let Some(status) = text(call, "status").and_then(ToolCallStatus::from_name) else {
        return;
    };
    out.seen(Rule::RollupMirrors);
    let id = text(entry, "id").unwrap_or_default();
    let kind = text(entry, "kind").unwrap_or_default();
    if !allowed.contains(&status) {
        let message = format!(
            "expected the entry `{id}` of kind `{kind}` to hold a tool call with the status `{}`, \
             found `{}`",
            allowed.iter().map(|it| it.name()).collect::<Vec<_>>().join("` or `"),
            status.name()
        );
        out.weaker(Rule::RollupMirrors, Weight::Essential, message, &[cx.now.line]);
    }
    let owner = given(call, "contributor").and_then(|contributor| text(contributor, "clientId"));
    let client = text(entry, "clientId");
    if kind == "toolClientExecution" && client != owner {
        let message = format!(
            "expected the entry `{id}` to name the owner of its tool call, `{}`, as `clientId`, \
             found `{}`",
            owner.unwrap_or("nobody"),
            client.unwrap_or("nobody")
        );
        out.broken(Rule::RollupMirrors, message, &[cx.now.line]);
    }
}

/// A request or tool call that a chat waits for.
struct ChatBlock<'a> {
    kind: &'static str,
    /// The id of the turn to which the call belongs; an empty string for an input request.
    turn: &'a str,
    id: &'a str,
    /// The request or the call, which the entry in `inputNeeded` repeats.
    value: &'a Value,
    /// Whether `inputNeeded` has to contain an entry for this request or call.
    required: bool,
}

impl ChatBlock<'_> {
    fn key(&self) -> BlockKey<'_> {
        (self.kind, self.turn, self.id)
    }

    /// Returns whether an entry concerns this request or call.
    fn is(&self, entry: &Value) -> bool {
        key_of(entry) == Some(self.key())
    }
}

/// What an entry says about its request or call: the kind, the turn and the id.
type BlockKey<'a> = (&'a str, &'a str, &'a str);

/// Returns the key of the request or call that an entry concerns; `None` if the entry names none.
fn key_of(entry: &Value) -> Option<BlockKey<'_>> {
    let kind = text(entry, "kind")?;
    if kind == "chatInput" {
        return Some((kind, "", text(given(entry, "request")?, "id")?));
    }
    let id = text(given(entry, "toolCall")?, "toolCallId")?;
    Some((kind, text(entry, "turnId").unwrap_or_default(), id))
}

/// Compares the entries of a session with its chats. Invariants H2 and H3.
fn compare(cx: &OracleContext, family: &SessionFamily<'_>, out: &mut FindingSink) {
    if !family.fold.protocol.has(ProtocolFeature::InputNeeded) {
        return;
    }
    let entries = list(&family.fold.state, "inputNeeded");
    // A host chooses the length of all three lists, so none is searched for each item of another.
    let mut of_chats: foldhash::HashMap<&str, Vec<&Value>> = Default::default();
    for entry in entries {
        if let Some(chat) = text(entry, "chat") {
            of_chats.entry(chat).or_default().push(entry);
        }
    }
    for (uri, chat) in family.chats(cx) {
        let of_chat = of_chats.get(uri).map_or(&[][..], Vec::as_slice);
        let mut by_key: foldhash::HashMap<BlockKey<'_>, Vec<&Value>> = Default::default();
        for entry in of_chat {
            if let Some(key) = key_of(entry) {
                by_key.entry(key).or_default().push(entry);
            }
        }
        let blocks = blocks(&chat.state);
        let known: foldhash::HashSet<BlockKey<'_>> = blocks.iter().map(ChatBlock::key).collect();
        for block in &blocks {
            let mut about = by_key.get(&block.key()).into_iter().flatten();
            let found = about.next();
            if found.is_some() || block.required {
                out.seen(Rule::RollupComplete);
            }
            match found {
                Some(entry) => mirrors(cx, family, uri, chat, block, entry, out),
                None if block.required => {
                    let message = format!(
                        "expected an entry in `inputNeeded` of `{}` for the {} `{}` that `{uri}` \
                         waits for, found none",
                        family.uri, block.kind, block.id
                    );
                    out.broken(Rule::RollupComplete, message, &lines(cx, family, chat));
                }
                None => {}
            }
            if about.next().is_some() {
                let message = format!(
                    "expected one entry in `inputNeeded` of `{}` for `{}`, found two",
                    family.uri, block.id
                );
                out.broken(Rule::RollupMirrors, message, &lines(cx, family, chat));
            }
        }
        for entry in of_chat {
            out.seen(Rule::RollupStale);
            let judged = KINDS.contains(&text(entry, "kind").unwrap_or_default());
            if judged && key_of(entry).is_none_or(|key| !known.contains(&key)) {
                let message = format!(
                    "expected the entry `{}` to be removed from `inputNeeded` of `{}` when `{uri}` \
                     no longer waits for it, found it still there",
                    text(entry, "id").unwrap_or_default(),
                    family.uri
                );
                out.broken(Rule::RollupStale, message, &lines(cx, family, chat));
            }
        }
    }
    gone(cx, family, entries, out);
}

/// Judges whether an entry concerns a chat of the session. A chat that no message has ever named does not
/// exist. Invariant H3.
fn of_a_chat(
    cx: &OracleContext,
    uri: &str,
    session: &ChannelFold,
    entry: &Value,
    line: u64,
    out: &mut FindingSink,
) {
    let Some(chat) = text(entry, "chat") else { return };
    let mut catalogue = list(&session.state, "chats").iter();
    let listed = catalogue.any(|it| text(it, "resource") == Some(chat));
    if listed || cx.channels.find(chat).is_some() {
        return;
    }
    let message = format!(
        "expected the entry `{}` in `inputNeeded` of `{uri}` to name a chat of the session, found \
         `{chat}`",
        text(entry, "id").unwrap_or_default()
    );
    out.broken(Rule::RollupStale, message, &[session.base_line, session.last_line, line]);
}

/// Judges entries whose chat was removed from the session's catalogue. Invariant H3.
fn gone(cx: &OracleContext, family: &SessionFamily<'_>, entries: &[Value], out: &mut FindingSink) {
    let catalogue: foldhash::HashSet<&str> =
        family.entries().iter().filter_map(|chat| text(chat, "resource")).collect();
    for entry in entries {
        let Some(chat) = text(entry, "chat").filter(|chat| !catalogue.contains(chat)) else {
            continue;
        };
        of_a_chat(cx, family.uri, family.fold, entry, cx.now.line, out);
        if cx.families.session_of(chat) == Some(family.id) {
            let message = format!(
                "expected the entry `{}` to be removed from `inputNeeded` of `{}` with its chat \
                 `{chat}`, found it still there",
                text(entry, "id").unwrap_or_default(),
                family.uri
            );
            let [base, last] = family.lines();
            out.broken(Rule::RollupStale, message, &[base, last, cx.now.line]);
        }
    }
}

/// The kinds of entries that are compared. Newer versions may have other kinds.
const KINDS: [&str; 4] =
    ["chatInput", "toolConfirmation", "toolClientExecution", "toolAuthentication"];

fn mirrors(
    cx: &OracleContext,
    family: &SessionFamily<'_>,
    uri: &str,
    chat: &ChannelFold,
    block: &ChatBlock<'_>,
    entry: &Value,
    out: &mut FindingSink,
) {
    let member = member_of(entry);
    let found = given(entry, member).and_then(|found| known_part(chat, entry, found));
    let expected = known_part(chat, entry, block.value);
    out.seen(Rule::RollupMirrors);
    if found != expected {
        let message = format!(
            "expected `{member}` of the entry `{}` in `inputNeeded` of `{}` to equal that of \
             `{uri}`, found differences",
            text(entry, "id").unwrap_or_default(),
            family.uri
        );
        let null = Value::Null;
        let diff = difference(expected.as_ref().unwrap_or(&null), found.as_ref().unwrap_or(&null));
        let lines = lines(cx, family, chat);
        out.with_diff(Rule::RollupMirrors, Weight::Essential, message, &lines, Some(diff));
    }
}

fn lines(cx: &OracleContext, family: &SessionFamily<'_>, chat: &ChannelFold) -> [u64; 5] {
    let [base, last] = family.lines();
    [base, last, chat.base_line, chat.last_line, cx.now.line]
}

/// Returns everything that a chat waits for. A host may omit entries for clients' own tools.
fn blocks(chat: &Value) -> Vec<ChatBlock<'_>> {
    let asked = requests(chat).filter_map(|request| {
        let id = text(request, "id")?;
        Some(ChatBlock { kind: "chatInput", turn: "", id, value: request, required: true })
    });
    let turn = given(chat, "activeTurn");
    let parts = turn.map_or(&[][..], |turn| list(turn, "responseParts"));
    let turn = turn.and_then(|turn| text(turn, "id")).unwrap_or_default();
    let calls = parts.iter().filter_map(|part| given(part, "toolCall"));
    let waiting = calls.filter_map(|call| {
        let id = text(call, "toolCallId")?;
        let contributor = given(call, "contributor");
        let client = contributor.and_then(|it| text(it, "kind")) == Some("client");
        let (kind, required) = match ToolCallStatus::from_name(text(call, "status")?)? {
            ToolCallStatus::PendingConfirmation | ToolCallStatus::PendingResultConfirmation => {
                ("toolConfirmation", true)
            }
            ToolCallStatus::AuthRequired => ("toolAuthentication", true),
            ToolCallStatus::Running if client => ("toolClientExecution", false),
            _ => return None,
        };
        Some(ChatBlock { kind, turn, id, value: call, required })
    });
    asked.chain(waiting).collect()
}

/// Returns the open requests of a chat. Up to 0.5.2 the requests are a list of the chat; in later versions they
/// are parts of the active turn.
fn requests(chat: &Value) -> impl Iterator<Item = &Value> {
    let parts = given(chat, "activeTurn").map_or(&[][..], |turn| list(turn, "responseParts"));
    let open = |part: &&Value| {
        text(part, "kind") == Some("inputRequest") && given(part, "response").is_none()
    };
    let parts = parts.iter().rev().filter(open).filter_map(|part| given(part, "request"));
    list(chat, "inputRequests").iter().chain(parts)
}

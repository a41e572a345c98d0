//! Checks values that never change, or that change in one direction only: names, origins, the life cycle of a
//! session, and the entries of active clients.
//!
//! Knows: folded sessions and chats, summaries. Never knows: whole lists.
//!
//! Start at [`IdentityChecks`].

use std::collections::HashMap;

use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;
use crate::wire::timestamp;
use crate::wire::trim::TrimType;
use crate::wire::version::Version;

use crate::oracle::asking::replaced;
use crate::oracle::budget::{KeptBytes, short};
use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::family::SessionFamily;
use crate::oracle::masks::plain;
use crate::oracle::members::{given, list, repeated, repeated_text, text};
use crate::oracle::step::{ActionFolding, OracleStep, StateComparison};

/// The members of a summary that a partial update must not contain, because they never change.
const FIXED: &[&str] = &["resource", "provider", "createdAt"];

/// The members that have the same value in every summary of a session.
const BORN: [&str; 3] = ["provider", "createdAt", "origin"];
/// Upper bound for the sessions whose first summary is remembered.
const MAX_SESSIONS: usize = 4_096;

/// The sessions whose summaries were received, by URI.
#[derive(Default)]
pub(super) struct IdentityChecks {
    sessions: HashMap<String, SessionOrigin>,
}

/// The constant members of a session, as they were first seen.
struct SessionOrigin {
    members: [Option<Value>; BORN.len()],
    /// The version of the connection. Older versions write times as numbers, so summaries of different versions
    /// are not compared.
    version: Option<Version>,
    line: u64,
    kept: KeptBytes,
}

impl CheckFamily for IdentityChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { channel, kind, state, .. } => {
                snapshot(cx, *channel, state, out);
                match kind {
                    Some(ChannelKind::Session) => self.state(cx, cx.uri(*channel), state, out),
                    Some(ChannelKind::Chat | ChannelKind::AutomationRun) => {
                        named(cx, cx.uri(*channel), state, out);
                    }
                    _ => {}
                }
            }
            OracleStep::Folding(folding) => fold(cx, folding, out),
            OracleStep::Compared(comparison) => compare(cx, comparison, out),
            OracleStep::Envelope(delivery)
                if !delivery.envelope.rejected
                    && delivery.envelope.action_type == "session/chatUpdated" =>
            {
                fixed(cx, given(delivery.envelope.action, "changes"), CHAT_CHANGES, out);
            }
            OracleStep::Notified { seen, method, .. } => {
                if let Some(params) = seen.message().map(Message::params) {
                    self.notified(cx, method, params, out);
                }
            }
            OracleStep::Answered { request, message } => match request.method.as_str() {
                "listSessions" => {
                    let items = message.result().map_or(&[][..], |result| list(result, "items"));
                    items.iter().for_each(|summary| self.summary(cx, summary, out));
                }
                // After one of these requests, the URI belongs to another session or to no session.
                "createSession" | "disposeSession" => {
                    let session = replaced(&request.method, request.params());
                    session.and_then(|(uri, _)| self.sessions.remove(&*short(uri)));
                }
                _ => {}
            },
            OracleStep::Restarted | OracleStep::Gap => self.sessions.clear(),
            OracleStep::SessionsAtRest { sessions } => {
                let families =
                    sessions.iter().filter_map(|session| SessionFamily::of(cx, *session));
                families.for_each(|family| directories(cx, &family, out));
            }
            _ => {}
        }
    }
}

impl IdentityChecks {
    fn notified(
        &mut self,
        cx: &OracleContext,
        method: &str,
        params: &Value,
        out: &mut FindingSink,
    ) {
        match method {
            "root/sessionSummaryChanged" => {
                fixed(cx, given(params, "changes"), SUMMARY_CHANGES, out);
            }
            "root/sessionAdded" => {
                given(params, "summary").into_iter().for_each(|it| self.summary(cx, it, out));
            }
            "root/sessionRemoved" => {
                text(params, "session").and_then(|uri| self.sessions.remove(&*short(uri)));
            }
            _ => {}
        }
    }

    /// Judges whether the constant members of a session's summary are unchanged. Invariant I9.
    fn summary(&mut self, cx: &OracleContext, summary: &Value, out: &mut FindingSink) {
        let Some(uri) = text(summary, "resource") else {
            return;
        };
        self.agrees(cx, uri, &BORN.map(|name| given(summary, name)), out);
    }

    /// Judges whether a session's state agrees with its summaries. Up to 0.4.0 the state has a `summary`
    /// member. Invariant I9.
    fn state(&mut self, cx: &OracleContext, uri: &str, state: &Value, out: &mut FindingSink) {
        let holder = given(state, "summary").unwrap_or(state);
        self.agrees(cx, uri, &[given(holder, BORN[0]), None, None], out);
    }

    fn agrees(
        &mut self,
        cx: &OracleContext,
        uri: &str,
        members: &[Option<&Value>; BORN.len()],
        out: &mut FindingSink,
    ) {
        let version = cx.here().and_then(|conn| conn.version);
        let key = short(uri);
        let size = |member: &Option<&Value>| member.map_or(0, Value::heap_size);
        let size: usize = members.iter().map(size).sum();
        let Some(born) = self.sessions.get_mut(&*key) else {
            if self.sessions.len() < MAX_SESSIONS
                && let Some(kept) = cx.memory.listed.keep(size)
            {
                let members = members.map(|member| member.cloned());
                let born = SessionOrigin { members, version, line: cx.now.line, kept };
                self.sessions.insert(key.into_owned(), born);
            }
            return;
        };
        if born.version != version {
            return;
        }
        let lines = [born.line, 0, cx.now.line];
        for ((name, before), after) in BORN.iter().zip(&mut born.members).zip(members) {
            let Some(after) = after else { continue };
            kept(cx, uri, name, before.as_ref(), Some(after), lines, out);
            let all = || size + after.heap_size();
            if before.is_none() && born.kept.grow(after.heap_size(), all) {
                *before = Some((*after).clone());
            }
        }
    }
}

/// The requirements that the findings of this file name.
const SUMMARY_CHANGES: &str = "root.summaryChanged.identity-omitted";
const CHAT_CHANGES: &str = "session.catalog.chatUpdated-identity";
const NAMED: &str = "chat.state.fields-inlined";

/// The union types of origins. No variant name occurs in two of these types.
const ORIGINS: [&str; 3] = ["ChatOrigin", "SessionOrigin", "AutomationRunOrigin"];

/// Normalises a member for comparison: removes unknown members from an origin, and turns a time into a number.
fn known(name: &str, value: &Value, protocol: Option<&Protocol>) -> Value {
    if let Some(millis) = value.as_str().filter(|_| name == "createdAt").and_then(timestamp::parse)
    {
        return Value::from(millis);
    }
    let mut value = value.clone();
    if let Some(protocol) = protocol.filter(|_| name == "origin") {
        ORIGINS.iter().for_each(|origin| protocol.canonical(TrimType::Named(origin), &mut value));
    }
    value
}

/// Judges whether one constant member is unchanged. A member that was absent may appear later. Invariant I9.
fn kept(
    cx: &OracleContext,
    uri: &str,
    name: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    lines: [u64; 3],
    out: &mut FindingSink,
) {
    let Some(before) = before else {
        return;
    };
    // No document says MUST. Clients keep the members that partial updates omit, so a client never learns of a changed
    // provider or URI, and continues to use the old value. A changed time or origin does no such harm.
    let (requirement, weight) = match name {
        "origin" => (Some("chat.state.origin-immutable"), Weight::Note),
        "createdAt" => (Some("session.modifiedAt.iso"), Weight::Note),
        _ => (None, Weight::Essential),
    };
    let rule = Rule::IdentityKept.about(requirement);
    out.seen(rule);
    let protocol = cx.here().and_then(|conn| conn.protocol);
    let says = |value: &Value| plain(&known(name, value, protocol));
    if after.and_then(says) != says(before) {
        let message = format!(
            "expected `{name}` of `{uri}` to stay {before}, found {}",
            after.map_or("nothing".to_owned(), Value::to_string)
        );
        out.weaker(rule, weight, message, &lines);
    }
}

/// Judges whether the items of a list keep their constant members. Items are matched by `resource`. Invariant
/// I9.
fn kept_items(
    cx: &OracleContext,
    before: &[Value],
    after: &[Value],
    names: &[&str],
    lines: [u64; 3],
    out: &mut FindingSink,
) {
    let known = before.iter().filter_map(|item| Some((text(item, "resource")?, item)));
    let known: foldhash::HashMap<&str, &Value> = known.collect();
    for item in after {
        let uri = text(item, "resource").unwrap_or_default();
        if let Some(before) = known.get(uri) {
            for name in names {
                kept(cx, uri, name, given(before, name), given(item, name), lines, out);
            }
        }
    }
}

/// If a state contains its own `resource`, judges whether this is the URI of its channel. Two spellings of a URI may
/// mean the same resource, so a different spelling is a note. Invariant I9.
fn named(cx: &OracleContext, channel: &str, state: &Value, out: &mut FindingSink) {
    let Some(uri) = text(state, "resource") else { return };
    let rule = Rule::IdentityKept.of(NAMED);
    out.seen(rule);
    if uri == channel {
        return;
    }
    let loosely = |uri: &str| uri.to_lowercase().replace('/', "");
    let escaped = uri.contains('%') || channel.contains('%');
    let same = escaped || loosely(uri) == loosely(channel);
    let weight = if same { Weight::Note } else { Weight::Essential };
    let message = format!(
        "expected the `resource` in the state of `{channel}` to be the channel's own URI, found \
         `{uri}`"
    );
    out.weaker(rule, weight, message, &[cx.now.line]);
}

/// Judges the active clients and the working directories of a snapshot. Invariants I10 and I11.
fn snapshot(cx: &OracleContext, channel: ChannelId, state: &Value, out: &mut FindingSink) {
    let uri = cx.uri(channel);
    let clients = list(state, "activeClients");
    if !clients.is_empty() {
        out.seen(Rule::OwnEntry);
    }
    if let Some(client) = repeated(clients, "clientId") {
        let message =
            format!("expected each active client of `{uri}` once, found `{client}` twice");
        out.broken(Rule::OwnEntry, message, &[cx.now.line]);
    }
    let directories = list(state, "workingDirectories");
    if !directories.is_empty() {
        out.seen(Rule::Directories);
    }
    let twice = repeated_text(directories.iter().filter_map(Value::as_str));
    if let Some(directory) = twice {
        let message =
            format!("expected each working directory of `{uri}` once, found `{directory}` twice");
        out.broken(Rule::Directories, message, &[cx.now.line]);
    }
}

fn fold(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let action = folding.envelope.action;
    let whose = match folding.envelope.action_type {
        "session/ready" | "session/creationFailed" => return once(cx, folding, out),
        "session/chatUpdated" | "automation/set" => return entry(cx, folding, out),
        "session/activeClientSet" => {
            given(action, "activeClient").and_then(|client| text(client, "clientId"))
        }
        "session/activeClientRemoved" => text(action, "clientId"),
        _ => return,
    };
    let (Some(whose), Some(origin)) = (whose, folding.envelope.origin) else {
        return;
    };
    out.seen(Rule::OwnEntry);
    if whose != origin.client_id {
        let message = format!(
            "expected `{}` from `{}` to name only that client, found it accepted for `{whose}`",
            folding.envelope.action_type, origin.client_id
        );
        // Hosts SHOULD reject the action. Other clients depend only on the uniqueness of active clients.
        out.weaker(Rule::OwnEntry, Weight::Should, message, &[folding.line]);
    }
}

/// Judges whether a session becomes ready, or fails to become ready, only once. Invariant I8.
fn once(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let Some(stage) = text(&fold.state, "lifecycle") else {
        return;
    };
    out.seen(Rule::LifecycleOnce);
    if stage != "creating" {
        let message = format!(
            "expected `{}` on `{}` only while the session is being created, found the session \
             `{stage}`",
            folding.envelope.action_type,
            cx.uri(folding.channel)
        );
        let lines = fold.lines(folding.line);
        out.broken(Rule::LifecycleOnce, message, &lines);
    }
}

/// If an action changes an entry of a list, judges whether the entry keeps the members that never change. Invariant I9.
fn entry(cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
    let Some(fold) = cx.folded(folding.channel) else {
        return;
    };
    let action = folding.envelope.action;
    let lines = fold.lines(folding.line);
    let find = |name: &str, uri: Option<&str>| {
        list(&fold.state, name).iter().find(|item| text(item, "resource") == uri)
    };
    if let Some(automation) = given(action, "automation") {
        let Some(before) = find("entries", text(automation, "resource")) else {
            return;
        };
        let uri = text(automation, "resource").unwrap_or_default();
        let created = "createdAt";
        kept(cx, uri, created, given(before, created), given(automation, created), lines, out);
        let runs = [list(before, "runs"), list(automation, "runs")];
        kept_items(cx, runs[0], runs[1], &["automation", "origin"], lines, out);
    } else if let Some(origin) = given(action, "changes").and_then(|it| given(it, "origin")) {
        let chat = text(action, "chat");
        if let Some(before) = find("chats", chat) {
            let uri = chat.unwrap_or_default();
            kept(cx, uri, "origin", given(before, "origin"), Some(origin), lines, out);
        }
    }
}

/// Judges whether a partial update of a list entry omits the members that never change. Invariant I9.
fn fixed(
    cx: &OracleContext,
    changes: Option<&Value>,
    requirement: &'static str,
    out: &mut FindingSink,
) {
    let Some(changes) = changes else {
        return;
    };
    let rule = Rule::IdentityKept.of(requirement);
    out.seen(rule);
    if let Some(name) = FIXED.iter().find(|name| given(changes, name).is_some()) {
        let message = format!("expected `changes` without the constant member `{name}`, found it");
        out.broken(rule, message, &[cx.now.line]);
    }
}

/// Judges whether a later snapshot has the same values in the members that never change. Invariant I9.
fn compare(cx: &OracleContext, comparison: &StateComparison<'_>, out: &mut FindingSink) {
    let (names, items): (&[&str], Option<(&str, &str)>) = match comparison.kind {
        ChannelKind::Session => (&["provider", "origin"], Some(("chats", "origin"))),
        ChannelKind::Chat => (&["resource", "origin"], None),
        ChannelKind::Automations => (&[], Some(("entries", "createdAt"))),
        ChannelKind::AutomationRun => (&["resource", "automation", "origin"], None),
        _ => return,
    };
    let StateComparison { folded, snapshot, lines, .. } = comparison;
    let uri = cx.uri(comparison.channel);
    for name in names {
        kept(cx, uri, name, given(folded, name), given(snapshot, name), *lines, out);
    }
    if let Some((name, member)) = items {
        kept_items(cx, list(folded, name), list(snapshot, name), &[member], *lines, out);
    }
}

/// Judges whether a chat's working directories are among its session's directories. The judgement waits until
/// the session is at rest, because a chat follows a change of its session with a delay. Invariant I10.
fn directories(cx: &OracleContext, family: &SessionFamily<'_>, out: &mut FindingSink) {
    if !family.fold.protocol.has(ProtocolFeature::WorkingDirectories) {
        return;
    }
    let allowed = list(&family.fold.state, "workingDirectories").iter();
    let allowed: foldhash::HashSet<&str> = allowed.filter_map(Value::as_str).collect();
    for (uri, chat) in family.chats(cx) {
        // A directory that is not a string is a wrong shape, which another check reports.
        let own = list(&chat.state, "workingDirectories").iter().filter_map(Value::as_str);
        for directory in own {
            out.seen(Rule::Directories);
            if !allowed.contains(directory) {
                let message = format!(
                    "expected the working directories of `{uri}` among those of its session `{}`, \
                     found \"{directory}\"",
                    family.uri
                );
                let [base, last] = family.lines();
                let lines = [base, last, chat.base_line, chat.last_line, cx.now.line];
                out.broken(Rule::Directories, message, &lines);
            }
        }
    }
}

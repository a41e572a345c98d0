//! Checks lists of sessions: an answer to `listSessions`, updated by the later notifications, equals the next answer.
//!
//! Each connection has its own list, because notifications go only to subscribers. Lists are compared only if
//! the host was at rest at the time of the request, because a host may delay its summaries. Summaries are
//! compared with their sessions under the same condition.
//!
//! Knows: lists, notifications, folded sessions. Never knows: catalogues of chats.
//!
//! Start at [`SessionListChecks`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use litemap::LiteMap;

use crate::model::status::IS_ARCHIVED;
use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Map, Value, json};
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;
use crate::wire::trim::TrimType;
use crate::wire::validate::MessageOrigin;

use crate::oracle::asking::replaced;
use crate::oracle::budget::{KeptBytes, short};
use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::difference::difference;
use crate::oracle::family::SessionFamily;
use crate::oracle::masks::plain;
use crate::oracle::members::{given, list, repeated, text};
use crate::oracle::step::OracleStep;

/// Upper bound for the sessions of one list that are remembered.
const MAX_LISTED: usize = 4_096;
/// Upper bound for the lists that are remembered, one per connection.
const MAX_LISTS: usize = 256;
/// The requests that change nothing, so the host stays at rest.
const READING: &[&str] = &["listSessions", "subscribe", "ping", "initialize", "unsubscribe"];
/// The members of the params of a `listSessions` request for the complete list. Other members select a part of the
/// list.
const WHOLE: &[&str] = &["channel", "limit", "_meta"];
/// The requirement that a list contains created sessions.
const CREATED: &str = "root.listSessions.contains-created";
/// The members of a summary whose updates a host may delay, or that a partial update cannot clear.
const LAGGING: &[&str] = &["modifiedAt", "changes", "activity", "_meta"];

/// The requirement that changes of a summary are announced.
const CHANGED: &str = "root.summaryChanged.emitted";

/// The session list of each connection, and the later events that affect it.
#[derive(Default)]
pub(super) struct SessionListChecks {
    lists: LiteMap<ConnId, SessionListRecord>,
    /// Whether the host was at rest, and nothing that could change a list has happened since.
    at_rest: bool,
    /// The sessions that clients created, by URI.
    created: HashMap<String, CreatedSession>,
    /// The summary changes announced since the host was at rest, by the URI of the session.
    changed: HashMap<String, LatestSummaryValues>,
    /// The announced sessions that are missing in a list, each with the lines for the finding, which is reported later.
    missing: HashMap<String, [u64; 3]>,
}

struct CreatedSession {
    client: Option<Arc<str>>,
    tick: u64,
    line: u64,
    /// Whether the session was ready and at rest. Every later list has to contain such a session.
    settled: bool,
}

/// The latest values of a summary that any connection received.
struct LatestSummaryValues {
    protocol: &'static Protocol,
    /// The entry of the last fence of the connection that received the first value. The host owes the values to
    /// all subscriptions that are older than this entry.
    cause: u64,
    /// The latest value of each member of the summary, with its line.
    members: LiteMap<String, (Value, u64)>,
    kept: KeptBytes,
}

#[derive(Default)]
struct SessionListRecord {
    known: HashMap<String, KnownSession>,
    /// The line of the last answer that contained the complete list; 0 if there is none yet.
    line: u64,
}

/// Returns whether a session is ready.
fn is_ready(family: &SessionFamily<'_>) -> bool {
    text(&family.fold.state, "lifecycle") == Some("ready")
}

/// The state of a session, as its own channel shows it.
#[derive(Clone, Copy)]
struct OwnSessionState<'a> {
    uri: &'a str,
    state: &'a Value,
    protocol: &'static Protocol,
    /// Whether the state comes from a snapshot at this moment. In a folded state, the activity and the read
    /// flags may be out of date.
    fresh: bool,
}

struct KnownSession {
    /// The summary of the session; null if the session was removed, or if it was announced before the first list.
    summary: Value,
    /// The line of the session's last announcement or change.
    line: u64,
    announced: bool,
    removed: bool,
    kept: KeptBytes,
}

impl CheckFamily for SessionListChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Host, .. } => {
                self.at_rest &= seen.message().is_none_or(|message| message.method().is_none());
            }
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                if let Some((method, message)) =
                    seen.message().and_then(|it| Some((it.method()?, it)))
                {
                    self.at_rest = self.at_rest && READING.contains(&method);
                    if let Some((uri, _)) = replaced(method, message.params()) {
                        self.created.remove(&*short(uri));
                        self.missing.remove(&*short(uri));
                    }
                }
            }
            OracleStep::SessionsAtRest { sessions } if !self.created.is_empty() => {
                let families =
                    sessions.iter().filter_map(|session| SessionFamily::of(cx, *session));
                families.filter(is_ready).for_each(|family| {
                    if let Some(created) = self.created.get_mut(&*short(family.uri)) {
                        created.settled = true;
                    }
                });
            }
            OracleStep::Rest { touched } => {
                self.at_rest = true;
                self.still_missing(out);
                self.spread(cx, out);
                let families = touched.iter().filter_map(|session| SessionFamily::of(cx, *session));
                families.for_each(|family| self.followed(cx, &family, out));
            }
            OracleStep::Snapshot { channel, kind: Some(ChannelKind::Session), state, .. }
                if self.at_rest =>
            {
                self.snapshot(cx, *channel, state, out);
            }
            OracleStep::Answered { request, message } if request.method == "listSessions" => {
                self.listed(cx, request, message, out);
            }
            OracleStep::Answered { request, message } if message.result().is_some() => {
                self.is_created(cx, request);
            }
            OracleStep::Notified { seen, method, .. } => {
                if let Some(message) = seen.message() {
                    self.notified(cx, method, message.params(), out);
                }
            }
            OracleStep::Ending { conn, channel } if cx.uri(*channel) == ROOT => {
                self.lists.remove(conn);
            }
            OracleStep::Closed => drop(self.lists.remove(&cx.now.conn)),
            OracleStep::Restarted | OracleStep::Gap => *self = SessionListChecks::default(),
            _ => {}
        }
    }
}

impl SessionListChecks {
    /// Judges an answer to `listSessions`, and compares it with the list that the connection has. Invariant I5.
    fn listed(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        let Some(items) = message.result().map(|result| list(result, "items")) else {
            return;
        };
        out.seen(Rule::ListedOnce);
        if let Some(uri) = repeated(items, "resource") {
            let message = format!("expected every session once in a list, found `{uri}` twice");
            out.broken(Rule::ListedOnce, message, &[cx.now.line]);
        }
        self.contains(cx, request, message, items, out);
        let more = message.result().and_then(|result| given(result, "nextCursor")).is_some();
        let page = given(request.params(), "cursor").is_some();
        let room = self.lists.len() < MAX_LISTS || self.lists.contains_key(&cx.now.conn);
        if more || page || !subscribed(cx) || items.len() > MAX_LISTED || !room {
            return;
        }
        let before = self.lists.get(&cx.now.conn).filter(|before| before.line > 0);
        if let Some(before) = before.filter(|_| self.at_rest) {
            before.compare(cx, items, out);
        }
        if self.at_rest {
            active_count(cx, items.len(), out);
        }
        let line = cx.now.line;
        // The bytes of the old list have to be free.
        self.lists.remove(&cx.now.conn);
        let mut known = HashMap::new();
        for summary in items {
            let Some(uri) = text(summary, "resource") else { continue };
            // Without room for the whole list, no list is compared.
            let Some(session) = KnownSession::new(cx, summary) else { return };
            known.insert(short(uri).into_owned(), session);
        }
        self.lists.insert(cx.now.conn, SessionListRecord { known, line });
    }

    /// Judges whether sessions are announced as added or removed only once, and in the right order. Invariant I5.
    fn notified(
        &mut self,
        cx: &OracleContext,
        method: &str,
        params: &Value,
        out: &mut FindingSink,
    ) {
        let summary = given(params, "summary");
        let uri = text(params, "session").or_else(|| text(summary?, "resource"));
        let Some(uri) = uri.map(short) else {
            return;
        };
        let uri = &*uri;
        match (method, given(params, "changes").and_then(Value::as_object)) {
            ("root/sessionSummaryChanged", Some(changes)) => self.changes(cx, uri, changes),
            _ => drop(self.changed.remove(uri)),
        }
        if method == "root/sessionRemoved" {
            self.created.remove(uri);
            self.missing.remove(uri);
        }
        let room = self.lists.len() < MAX_LISTS;
        if !self.lists.contains_key(&cx.now.conn) && !room {
            return;
        }
        let list = self.lists.entry(cx.now.conn).or_default();
        let line = cx.now.line;
        let fits = list.known.len() < MAX_LISTED;
        let known = list.known.get_mut(uri);
        match (method, known) {
            ("root/sessionAdded", known) => {
                out.seen(Rule::AnnouncedOnce);
                if let Some(known) = known.as_ref().filter(|it| it.announced && !it.removed) {
                    let message = format!(
                        "expected one `root/sessionAdded` for `{uri}`, found another one without a \
                         removal in between"
                    );
                    out.broken(Rule::AnnouncedOnce, message, &[known.line, line]);
                }
                let known = (fits || known.is_some())
                    .then(|| KnownSession::new(cx, summary.unwrap_or(&Value::Null)));
                match known.flatten() {
                    Some(known) => {
                        let known = KnownSession { announced: true, ..known };
                        list.known.insert(uri.to_owned(), known);
                    }
                    None => list.lacks(uri),
                }
            }
            ("root/sessionRemoved" | "root/sessionSummaryChanged", Some(known)) => {
                out.seen(Rule::AnnouncedOnce);
                if known.removed {
                    let message = format!(
                        "expected no notification about `{uri}` after its removal, found \
                         `{method}`"
                    );
                    out.broken(Rule::AnnouncedOnce, message, &[known.line, line]);
                }
                if method == "root/sessionRemoved" {
                    known.removed = true;
                    known.summary = Value::Null;
                    known.kept.resize(KnownSession::EACH);
                } else if let Some(changes) = given(params, "changes")
                    && !known.merge(changes)
                {
                    return list.lacks(uri);
                }
                known.line = line;
            }
            ("root/sessionRemoved", None) if fits => {
                if let Some(known) = KnownSession::new(cx, &Value::Null) {
                    let known = KnownSession { removed: true, ..known };
                    list.known.insert(uri.to_owned(), known);
                }
            }
            _ => {}
        }
    }

    fn is_created(&mut self, cx: &OracleContext, request: &OpenRequest) {
        let asked = replaced(&request.method, request.params());
        let Some((uri, _)) = asked.filter(|_| request.method == "createSession") else { return };
        if self.created.len() < MAX_LISTED {
            let client = cx.here().and_then(|conn| conn.client_id.clone());
            let created =
                CreatedSession { client, tick: cx.now.tick, line: cx.now.line, settled: false };
            self.created.insert(short(uri).into_owned(), created);
        }
    }

    /// Remembers the sessions that are not in a complete list although they were created before the request and
    /// announced on this connection. Another client may have removed such a session a moment before, so the finding is
    /// reported when the host is at rest. Invariant I5.
    fn announced(&mut self, cx: &OracleContext, request: &OpenRequest, items: &[Value]) {
        let Some(list) = self.lists.get(&cx.now.conn) else { return };
        let listed: foldhash::HashSet<Cow<'_, str>> =
            items.iter().filter_map(|item| Some(short(text(item, "resource")?))).collect();
        let announced = list.known.iter().filter(|(_, it)| it.announced && !it.removed);
        for (uri, _) in announced {
            let created = self.created.get(uri).filter(|created| created.line < request.line);
            let Some(created) = created.filter(|created| !created.settled) else { continue };
            if !listed.contains(uri.as_str()) && self.missing.len() < MAX_LISTED {
                self.missing.insert(uri.clone(), [created.line, request.line, cx.now.line]);
            }
        }
    }

    /// Reports the sessions that are missing in a list, except those that were removed in the meantime. Invariant I5.
    fn still_missing(&mut self, out: &mut FindingSink) {
        let mut missing: Vec<_> = self.missing.drain().collect();
        missing.sort_unstable_by_key(|(_, lines)| *lines);
        for (uri, lines) in missing {
            let message = format!(
                "expected the session `{uri}`, which was announced and not removed, in the \
                 complete list of sessions, found none"
            );
            out.broken(Rule::ListAgrees.of(CREATED), message, &lines);
        }
    }

    /// Judges whether a complete list contains the sessions that this client created. A session may be absent from
    /// lists until it is ready. The check judges only sessions that certainly still exist, which the session's own
    /// channel or the root channel shows. Invariant I5.
    fn contains(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        message: &Message,
        items: &[Value],
        out: &mut FindingSink,
    ) {
        let whole = request.params().as_object().into_iter().flatten();
        let whole = whole.map(|(name, _)| name).all(|name| WHOLE.contains(&name.as_str()));
        let more = message.result().and_then(|result| given(result, "nextCursor")).is_some();
        if !whole || more || self.created.is_empty() {
            return;
        }
        if !self.at_rest {
            self.announced(cx, request, items);
        }
        let listed: foldhash::HashSet<Cow<'_, str>> =
            items.iter().filter_map(|item| Some(short(text(item, "resource")?))).collect();
        let client = cx.here().and_then(|conn| conn.client_id.as_ref());
        let own = self.created.iter().filter(|(_, created)| {
            created.client.is_some()
                && (self.at_rest || created.settled)
                && created.client.as_ref() == client
                && created.tick < request.tick
        });
        let mut own: Vec<(&String, &CreatedSession)> = own.collect();
        own.sort_unstable_by_key(|(_, created)| created.line);
        for (uri, created) in own {
            let family = cx.channels.find(uri).and_then(|session| SessionFamily::of(cx, session));
            let Some(family) = family.filter(is_ready) else { continue };
            if cx.options.foreign && family.entries().is_empty() && !subscribed(cx) {
                continue;
            }
            let rule = Rule::ListAgrees.of(CREATED);
            out.seen(rule);
            if !listed.contains(uri.as_str()) {
                let message = format!(
                    "expected the session `{uri}`, which the same client created, in the complete \
                     list of sessions, found none"
                );
                let [base, last] = family.lines();
                let lines = [created.line, base, last, request.line, cx.now.line];
                out.broken(rule, message, &lines);
            }
        }
    }

    /// Records summary changes that a connection received.
    fn changes(&mut self, cx: &OracleContext, uri: &str, changes: &Map) {
        let Some((conn, protocol)) = cx.here().and_then(|conn| Some((conn, conn.protocol?))) else {
            return;
        };
        if self.changed.len() >= MAX_LISTED && !self.changed.contains_key(uri) {
            return;
        }
        let (line, cause) = (cx.now.line, conn.fence);
        if !self.changed.contains_key(uri) {
            let Some(kept) = cx.memory.listed.keep(KnownSession::EACH) else { return };
            let new = LatestSummaryValues { protocol, cause, members: LiteMap::new(), kept };
            self.changed.insert(uri.to_owned(), new);
        }
        let Some(changed) = self.changed.get_mut(uri) else { return };
        let told =
            changes.iter().filter(|(name, it)| !it.is_null() && !LAGGING.contains(&name.as_str()));
        for (name, value) in told {
            let size =
                |name: &str, value: &Value| KnownSession::EACH + name.len() + value.heap_size();
            changed.members.insert(name.to_string(), (value.clone(), line));
            let all = || changed.members.iter().map(|(name, (value, _))| size(name, value)).sum();
            if !changed.kept.grow(size(name, value), all) {
                // Without room for the new values, nobody is judged by the old ones.
                self.changed.remove(uri);
                return;
            }
        }
    }

    /// Judges, when the host is at rest, whether every other connection that knows a session received its
    /// latest summary values. Invariant I12.
    fn spread(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        let Some(root) = cx.channels.find(ROOT) else { return };
        let mut changed: Vec<(String, LatestSummaryValues)> = self.changed.drain().collect();
        changed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (uri, changed) in changed {
            for (id, list) in &self.lists {
                let conn = cx.conns.get(id).filter(|conn| !conn.stale && !conn.closed);
                let same = conn.and_then(|conn| conn.protocol);
                let same = same.is_some_and(|it| std::ptr::eq(it, changed.protocol));
                let sub = conn.and_then(|conn| conn.subs.get(&root));
                let sub = sub.filter(|sub| sub.certain && sub.ending.is_none());
                let Some(sub) = sub.filter(|sub| same && sub.tick < changed.cause) else {
                    continue;
                };
                let Some(known) = list.known.get(&uri).filter(|it| it.summary.is_object()) else {
                    continue;
                };
                out.seen(Rule::AnnouncedToAll.of(CHANGED));
                let mut differing = Vec::new();
                let mut lines = vec![sub.line, known.line, cx.now.line];
                // The host does not owe a change to a connection that has received a newer list. A newer list may also
                // show that a value was removed, which no change can express.
                let told = changed.members.iter().filter(|(_, (_, line))| list.line < *line);
                for (name, (value, line)) in told {
                    if given(&known.summary, name).and_then(plain) != plain(value) {
                        differing.push(name.as_str());
                        lines.push(*line);
                    }
                }
                if differing.is_empty() {
                    continue;
                }
                let message = format!(
                    "expected `root/sessionSummaryChanged` for `{uri}` on every connection \
                     subscribed to the root channel, found connection {id} with an old value of \
                     {}",
                    differing.join(", ")
                );
                let rule = Rule::AnnouncedToAll.of(CHANGED);
                out.weaker(rule, Weight::Should, message, &lines);
            }
        }
    }

    /// Compares a session's snapshot with its summaries; the host is at rest. Invariant I6.
    fn snapshot(
        &self,
        cx: &OracleContext,
        channel: ChannelId,
        state: &Value,
        out: &mut FindingSink,
    ) {
        if let Some(protocol) = cx.here().and_then(|conn| conn.protocol) {
            let own = OwnSessionState { uri: cx.uri(channel), state, protocol, fresh: true };
            self.agrees(cx, own, &[cx.now.line], out);
        }
    }

    /// Compares a followed session with its summaries when the host is at rest. Invariant I6.
    fn followed(&self, cx: &OracleContext, family: &SessionFamily<'_>, out: &mut FindingSink) {
        let ChannelFold { state, protocol, .. } = family.fold;
        let own = OwnSessionState { uri: family.uri, state, protocol, fresh: false };
        self.agrees(cx, own, &family.lines(), out);
    }

    /// Compares a session's state with every list that contains the session in the same version. The meaning of
    /// a status differs between versions. Invariant I6.
    fn agrees(
        &self,
        cx: &OracleContext,
        own: OwnSessionState<'_>,
        lines: &[u64],
        out: &mut FindingSink,
    ) {
        let OwnSessionState { uri, state, protocol, fresh } = own;
        if !protocol.has(ProtocolFeature::FlatSession) {
            return;
        }
        for (conn, list) in &self.lists {
            let told = cx.conns.get(conn).and_then(|conn| conn.protocol);
            if !told.is_some_and(|told| std::ptr::eq(told, protocol)) {
                continue;
            }
            let Some(known) = list.known.get(&*short(uri)).filter(|known| !known.removed) else {
                continue;
            };
            if known.summary.is_null() {
                continue;
            }
            out.seen(Rule::SummaryAgrees);
            let [mut expected, mut found] = [Map::new(), Map::new()];
            for name in ["provider", "title", "status", "workingDirectories", "defaultChat"] {
                let (Some(own), Some(copy)) = (given(state, name), given(&known.summary, name))
                else {
                    continue;
                };
                let seen = |value: &Value| match (name, value.as_u64()) {
                    ("status", Some(bits)) if !fresh => Some(Value::from(bits & IS_ARCHIVED)),
                    _ => plain(value),
                };
                if seen(own) != seen(copy) {
                    expected.insert(name, own.clone());
                    found.insert(name, copy.clone());
                }
            }
            if let Some(chats) = known.summary.get("chats") {
                let [own, copy] = [given(state, "chats").unwrap_or(chats), chats].map(projected);
                if own != copy {
                    expected.insert("chats", own);
                    found.insert("chats", copy);
                }
            }
            if expected.is_empty() {
                continue;
            }
            let message = format!(
                "expected the summary of `{uri}` to agree with the session, found differences"
            );
            let diff = Some(difference(&Value::Object(expected), &Value::Object(found)));
            let lines: Vec<u64> =
                lines.iter().copied().chain([list.line, known.line, cx.now.line]).collect();
            out.with_diff(Rule::SummaryAgrees, Weight::Essential, message, &lines, diff);
        }
    }
}

impl KnownSession {
    /// About the bytes that a session without a summary needs, with its URI.
    const EACH: usize = 256;

    /// Creates a session; `None` if there is no room for the summary.
    fn new(cx: &OracleContext, summary: &Value) -> Option<KnownSession> {
        let kept = cx.memory.listed.keep(KnownSession::EACH + summary.heap_size())?;
        let (summary, line) = (summary.clone(), cx.now.line);
        Some(KnownSession { summary, line, announced: false, removed: false, kept })
    }

    /// Applies changes to the summary. Returns `false` if there is no room for them, so the session cannot be kept.
    fn merge(&mut self, changes: &Value) -> bool {
        let (Some(summary), Some(members)) = (self.summary.as_object_mut(), changes.as_object())
        else {
            return true;
        };
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            summary.insert(name.clone(), value.clone());
        }
        self.kept.grow(changes.heap_size(), || KnownSession::EACH + self.summary.heap_size())
    }
}

impl SessionListRecord {
    /// Forgets a session for which there is no room. The list lacks the session from now on, so it is not compared with
    /// the next answer, and a later notification about the session is not judged.
    fn lacks(&mut self, uri: &str) {
        self.known.remove(uri);
        self.line = 0;
    }

    /// Compares the list, updated by the later announcements, with a new answer. A partial update cannot clear
    /// a member, so members that the answer lacks are not compared. Invariant I5.
    fn compare(&self, cx: &OracleContext, items: &[Value], out: &mut FindingSink) {
        out.seen(Rule::ListAgrees);
        let protocol = cx.here().and_then(|conn| conn.protocol);
        // Unknown members and the spelling of times may differ between answers.
        let told = |summary: &Value| {
            let mut told = steady(summary);
            if let Some(protocol) = protocol {
                protocol.canonical(TrimType::Named("SessionSummary"), &mut told);
            }
            told
        };
        let live = self.known.iter().filter(|(_, known)| !known.removed);
        let mut expected: LiteMap<Cow<'_, str>, Value> = LiteMap::new();
        expected.extend(live.map(|(uri, known)| (uri.into(), told(&known.summary))));
        let listed = items.iter();
        let listed = listed.filter_map(|item| Some((short(text(item, "resource")?), told(item))));
        let mut found: LiteMap<Cow<'_, str>, Value> = LiteMap::new();
        found.extend(listed);
        let mut differs = [Map::new(), Map::new()];
        let [differs_expected, differs_found] = &mut differs;
        for (uri, summary) in &expected {
            match found.get(uri) {
                None => drop(differs_expected.insert(uri.clone(), json!("listed"))),
                Some(other) if other != summary => {
                    let members = summary.as_object().into_iter().flatten();
                    let kept = members.filter(|(name, _)| other.get(name.as_str()).is_some());
                    let kept = kept.map(|(name, it)| (name.clone(), it.clone())).collect();
                    let kept = Value::Object(kept);
                    if *other != kept {
                        differs_expected.insert(uri.clone(), kept);
                        differs_found.insert(uri.clone(), other.clone());
                    }
                }
                Some(_) => {}
            }
        }
        for (uri, _) in found.iter().filter(|(uri, _)| !expected.contains_key(*uri)) {
            differs_found.insert(uri.clone(), json!("listed"));
        }
        if differs.iter().any(|side| !side.is_empty()) {
            let message = "expected the list of sessions to equal the earlier list with the later \
                           announcements applied, found differences";
            let changed = differs.iter().flat_map(Map::keys);
            let lines = changed.filter_map(|uri| self.known.get(uri.as_str()));
            let mut lines: Vec<u64> = lines.map(|known| known.line).collect();
            lines.extend([self.line, cx.now.line]);
            let [expected, found] = differs.map(Value::Object);
            let diff = Some(difference(&expected, &found));
            out.with_diff(Rule::ListAgrees, Weight::Essential, message.to_owned(), &lines, diff);
        }
    }
}

/// Returns a summary without the members whose updates a host may delay.
fn steady(summary: &Value) -> Value {
    let members = summary.as_object().into_iter().flatten();
    let kept = members.filter(|(name, _)| !LAGGING.contains(&name.as_str()));
    kept.filter_map(|(name, value)| Some((name.clone(), plain(value)?))).collect()
}

/// Returns a catalogue of chats with only those members that the compact and the full form of the catalogue have in
/// common.
fn projected(chats: &Value) -> Value {
    let entry = |chat: &Value| {
        let names = ["resource", "title"].iter();
        let members = names.filter_map(|name| Some((*name, given(chat, name)?.clone())));
        Value::Object(members.collect())
    };
    chats.as_array().into_iter().flatten().map(entry).collect()
}

/// Compares `activeSessions` with the number of listed sessions. The specification does not define which
/// sessions are active. Invariant I7.
fn active_count(cx: &OracleContext, listed: usize, out: &mut FindingSink) {
    let root = cx.channels.find(ROOT).and_then(|root| cx.followed(root));
    let Some(root) = root else {
        return;
    };
    let Some(active) = root.state.get("activeSessions").and_then(Value::as_u64) else {
        return;
    };
    out.seen(Rule::ActiveCount);
    if active != listed as u64 {
        let message = format!(
            "expected `activeSessions` to be the number of listed sessions, {listed}, found \
             {active}"
        );
        out.broken(Rule::ActiveCount, message, &[root.base_line, root.last_line, cx.now.line]);
    }
}

/// Returns whether the current connection receives every notification of the root channel.
fn subscribed(cx: &OracleContext) -> bool {
    let root = cx.channels.find(ROOT);
    let sub = root.and_then(|root| cx.here()?.subs.get(&root));
    sub.is_some_and(|sub| sub.certain && sub.ending.is_none())
}

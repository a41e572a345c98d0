//! Checks that every connection subscribed to the root channel is notified of added and removed sessions.
//!
//! Notifications have no `serverSeq`. If one connection receives an announcement, the host owes the announcement to
//! every other connection that subscribed before the request that caused it. The announcement is overdue once the host
//! was at rest, or has answered a later request on that connection a second after the first announcement. If the host
//! announced a session to no connection, the announcement is certainly overdue only if the session is known to be
//! ready.
//!
//! Knows: creations and disposals, subscriptions to the root channel. Never knows: lists, the content of
//! summaries.
//!
//! Start at [`AnnouncementChecks`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::validate::MessageOrigin;

use crate::oracle::asking::replaced;
use crate::oracle::budget::short;
use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::{ConnectionRecord, OpenRequest};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, text};
use crate::oracle::step::OracleStep;

/// The time that an announcement may take to reach another connection. The specification states no limit.
const SPREADING: Duration = Duration::from_secs(1);
/// Upper bound for the announcements that are remembered.
const MAX_NEWS: usize = 1_024;
/// Upper bound for the sessions whose announcements are remembered.
const MAX_SESSIONS: usize = 4_096;

/// The event that a notification announces.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum SessionEvent {
    Added,
    Removed,
}

impl SessionEvent {
    fn of(method: &str) -> Option<SessionEvent> {
        match method {
            "root/sessionAdded" => Some(SessionEvent::Added),
            "root/sessionRemoved" => Some(SessionEvent::Removed),
            _ => None,
        }
    }

    fn of_request(method: &str) -> Option<SessionEvent> {
        match method {
            "createSession" => Some(SessionEvent::Added),
            "disposeSession" => Some(SessionEvent::Removed),
            _ => None,
        }
    }

    fn method(self) -> &'static str {
        match self {
            SessionEvent::Added => "root/sessionAdded",
            SessionEvent::Removed => "root/sessionRemoved",
        }
    }

    fn requirement(self) -> &'static str {
        match self {
            SessionEvent::Added => "root.sessionAdded.emitted",
            SessionEvent::Removed => "root.sessionRemoved.emitted",
        }
    }
}

/// The [`short`] form of the URI of a session, and the event.
type AnnouncementKey = (String, SessionEvent);

/// The announcements received so far, and the announcements that the host still owes.
#[derive(Default)]
pub(super) struct AnnouncementChecks {
    news: HashMap<AnnouncementKey, LatestAnnouncement>,
    /// The keys of `news`, oldest first.
    order: VecDeque<AnnouncementKey>,
    /// The number of announcements that each connection has still to receive.
    owing: HashMap<ConnId, usize>,
    /// The transcript entry at which a client last requested the creation or disposal that the key names.
    asked: HashMap<AnnouncementKey, u64>,
    /// The events that the host confirmed to a client, but has not announced to any connection.
    silent: HashMap<AnnouncementKey, UnannouncedEvent>,
    /// Sessions that are known to be ready.
    ready: HashSet<String>,
    /// The sessions that the host announced to at least one connection.
    told: HashSet<String>,
}

/// The latest announcement of one event.
struct LatestAnnouncement {
    line: u64,
    at: Duration,
    tick: u64,
    told: HashSet<ConnId>,
    owed: HashSet<ConnId>,
}

/// An event that the host confirmed, but has not announced to any connection.
struct UnannouncedEvent {
    line: u64,
    asked: u64,
    at: Duration,
    tick: u64,
    /// Whether the transcript shows that the session is still being created.
    creating: bool,
    /// The connections to which the host owes the announcement.
    owed: Vec<ConnId>,
}

impl CheckFamily for AnnouncementChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                if let Some(message) = seen.message() {
                    self.asks(cx, message);
                }
            }
            OracleStep::Answered { request, message } if message.result().is_some() => {
                self.done(cx, request);
            }
            OracleStep::Notified { seen, method, .. } => {
                let params = seen.message().map_or(&Value::Null, Message::params);
                let summary = given(params, "summary").and_then(|it| text(it, "resource"));
                let uri = text(params, "session").or(summary);
                if let (Some(uri), Some(event)) = (uri, SessionEvent::of(method)) {
                    self.announced(cx, uri, event, out);
                }
            }
            OracleStep::Snapshot { channel, kind: Some(ChannelKind::Session), state, .. } => {
                let uri = cx.uri(*channel);
                match text(state, "lifecycle") {
                    Some("ready") => self.is_ready(uri),
                    Some("creating") => self.is_creating(uri),
                    _ => {}
                }
            }
            OracleStep::Folding(folding) if folding.envelope.action_type == "session/ready" => {
                self.is_ready(cx.uri(folding.channel));
            }
            OracleStep::Fence { sent } => self.fenced(cx, *sent, out),
            OracleStep::Rest { .. } => self.rest(cx, out),
            OracleStep::Ending { conn, channel } if cx.uri(*channel) == ROOT => self.leaves(*conn),
            OracleStep::Closed => self.leaves(cx.now.conn),
            OracleStep::Restarted | OracleStep::Gap => *self = AnnouncementChecks::default(),
            _ => {}
        }
    }
}

impl AnnouncementChecks {
    fn asks(&mut self, cx: &OracleContext, message: &Message) {
        let method = message.method().unwrap_or_default();
        let Some(event) = SessionEvent::of_request(method) else { return };
        let Some((uri, _)) = replaced(method, message.params()) else { return };
        let uri = &*short(uri);
        let key = (uri.to_owned(), event);
        if self.asked.len() < MAX_SESSIONS || self.asked.contains_key(&key) {
            self.asked.insert(key, cx.now.tick);
        }
        // The request may replace or remove the session at this URI.
        for event in [SessionEvent::Added, SessionEvent::Removed] {
            self.silent.remove(&(uri.to_owned(), event));
        }
        self.ready.remove(uri);
    }

    fn is_creating(&mut self, uri: &str) {
        let uri = short(uri).into_owned();
        if let Some(silent) = self.silent.get_mut(&(uri, SessionEvent::Added)) {
            silent.creating = true;
        }
    }

    fn is_ready(&mut self, uri: &str) {
        let uri = &*short(uri);
        if self.ready.len() < MAX_SESSIONS && !self.ready.contains(uri) {
            self.ready.insert(uri.to_owned());
        }
    }

    /// Records that the host has confirmed a creation or a disposal.
    fn done(&mut self, cx: &OracleContext, request: &OpenRequest) {
        let Some(event) = SessionEvent::of_request(&request.method) else { return };
        let Some((uri, _)) = replaced(&request.method, request.params()) else { return };
        let uri = &*short(uri);
        let key = (uri.to_owned(), event);
        let told = self.news.get(&key).is_some_and(|news| news.tick > request.tick);
        // The removal of a session that was never announced needs no announcement.
        let known = event == SessionEvent::Added || self.told.contains(uri);
        if told || !known || self.silent.len() >= MAX_NEWS {
            return;
        }
        let owed = owed(cx, request.tick);
        if !owed.is_empty() {
            let silent = UnannouncedEvent {
                line: cx.now.line,
                asked: request.line,
                at: cx.now.at,
                tick: cx.now.tick,
                creating: false,
                owed,
            };
            self.silent.insert(key, silent);
        }
    }

    /// Records that this connection received an announcement.
    fn announced(
        &mut self,
        cx: &OracleContext,
        uri: &str,
        event: SessionEvent,
        out: &mut FindingSink,
    ) {
        let uri = &*short(uri);
        let key = (uri.to_owned(), event);
        let here = cx.now.conn;
        self.silent.remove(&key);
        match event {
            SessionEvent::Added if self.told.len() < MAX_SESSIONS => {
                self.told.insert(uri.to_owned());
            }
            SessionEvent::Added => {}
            SessionEvent::Removed => {
                self.told.remove(uri);
                self.silent.remove(&(uri.to_owned(), SessionEvent::Added));
            }
        }
        if let Some(news) = self.news.get_mut(&key).filter(|news| !news.told.contains(&here)) {
            news.told.insert(here);
            if news.owed.remove(&here) {
                out.seen(Rule::AnnouncedToAll.of(event.requirement()));
                settle(&mut self.owing, here);
            }
            return;
        }
        let fence = cx.here().map_or(0, |conn| conn.fence);
        let cause = self.asked.get(&key).copied().unwrap_or(0).max(fence);
        let version = cx.here().and_then(|conn| conn.version);
        let same = |id: &ConnId| cx.conns.get(id).is_some_and(|conn| conn.version == version);
        let owed: HashSet<ConnId> =
            owed(cx, cause).into_iter().filter(|id| *id != here && same(id)).collect();
        self.forget(&key);
        while self.news.len() >= MAX_NEWS {
            let Some(oldest) = self.order.pop_front() else { break };
            self.forget(&oldest);
        }
        owed.iter().for_each(|id| *self.owing.entry(*id).or_default() += 1);
        let (line, at, tick) = (cx.now.line, cx.now.at, cx.now.tick);
        let news = LatestAnnouncement { line, at, tick, told: HashSet::from([here]), owed };
        self.order.push_back(key.clone());
        self.news.insert(key, news);
    }

    fn forget(&mut self, key: &AnnouncementKey) {
        let Some(news) = self.news.remove(key) else { return };
        news.owed.into_iter().for_each(|id| settle(&mut self.owing, id));
        self.order.retain(|known| known != key);
    }

    fn leaves(&mut self, conn: ConnId) {
        if self.owing.remove(&conn).is_some() {
            for news in self.news.values_mut() {
                news.owed.remove(&conn);
            }
        }
        for silent in self.silent.values_mut() {
            silent.owed.retain(|id| *id != conn);
        }
    }

    /// Judges the announcements that this connection has still to receive. The host has just answered a request of the
    /// connection.
    fn fenced(&mut self, cx: &OracleContext, sent: u64, out: &mut FindingSink) {
        let here = cx.now.conn;
        if !self.silent.is_empty() {
            let over =
                |it: &UnannouncedEvent| it.owed.contains(&here) && cx.now.at >= it.at + SPREADING;
            let due = self.silent.iter().filter(|(_, silent)| silent.tick < sent && over(silent));
            self.silences(cx, due.map(|(key, _)| key.clone()).collect(), out);
        }
        if !self.owing.contains_key(&here) {
            return;
        }
        let over = |news: &LatestAnnouncement| news.tick < sent && cx.now.at >= news.at + SPREADING;
        let due = self.news.iter().filter(|(_, news)| news.owed.contains(&here) && over(news));
        let mut due: Vec<AnnouncementKey> = due.map(|(key, _)| key.clone()).collect();
        due.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for key in due {
            self.missed(cx, &key, &[here], out);
        }
    }

    fn rest(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        if !self.owing.is_empty() {
            for key in self.order.clone() {
                let owed = self.news.get(&key).map(|news| news.owed.iter().copied().collect());
                let mut owed: Vec<ConnId> = owed.unwrap_or_default();
                owed.sort_unstable();
                self.missed(cx, &key, &owed, out);
            }
        }
        self.silences(cx, self.silent.keys().cloned().collect(), out);
    }

    fn silences(
        &mut self,
        cx: &OracleContext,
        mut due: Vec<AnnouncementKey>,
        out: &mut FindingSink,
    ) {
        due.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        due.iter().for_each(|key| self.silence(cx, key, out));
    }

    /// Reports connections that did not receive an announcement that other connections received. Invariant I12.
    fn missed(
        &mut self,
        cx: &OracleContext,
        key: &AnnouncementKey,
        owed: &[ConnId],
        out: &mut FindingSink,
    ) {
        let (uri, event) = key;
        for id in owed {
            let Some(news) = self.news.get_mut(key).filter(|news| news.owed.contains(id)) else {
                continue;
            };
            news.owed.remove(id);
            settle(&mut self.owing, *id);
            let line = cx.conns.get(id).map_or(0, |conn| conn.handshake_line);
            let message = format!(
                "expected `{}` for `{uri}` on every connection subscribed to the root channel, \
                 found none on connection {id}",
                event.method()
            );
            let rule = Rule::AnnouncedToAll.of(event.requirement());
            out.broken(rule, message, &[line, news.line, cx.now.line]);
        }
    }

    /// Reports an event that the host announced to no connection. A session may remain unannounced until it is
    /// ready. Invariant I12.
    fn silence(&mut self, cx: &OracleContext, key: &AnnouncementKey, out: &mut FindingSink) {
        let (uri, event) = key;
        let Some(silent) = self.silent.get(key) else { return };
        let certain = *event == SessionEvent::Removed || self.ready.contains(uri);
        if !certain && (silent.creating || cx.now.at < silent.at + cx.options.deadline) {
            return;
        }
        let weight = if certain { Weight::Essential } else { Weight::Note };
        if let Some(id) = silent.owed.first() {
            let line = cx.conns.get(id).map_or(0, |conn| conn.handshake_line);
            let message = format!(
                "expected `{}` for `{uri}` on every connection subscribed to the root channel, \
                 found none on any of them so far",
                event.method()
            );
            let rule = Rule::AnnouncedToAll.of(event.requirement());
            out.weaker(rule, weight, message, &[line, silent.asked, silent.line, cx.now.line]);
        }
        self.silent.remove(key);
    }
}

fn settle(owing: &mut HashMap<ConnId, usize>, conn: ConnId) {
    if let Some(count) = owing.get_mut(&conn) {
        *count -= 1;
        if *count == 0 {
            owing.remove(&conn);
        }
    }
}

/// Returns the connections whose subscription to the root channel is certain and older than the entry `cause`.
fn owed(cx: &OracleContext, cause: u64) -> Vec<ConnId> {
    let root = cx.channels.find(ROOT);
    let Some((id, channel)) = root.and_then(|id| Some((id, cx.channel(id)?))) else {
        return Vec::new();
    };
    let listens = |conn: &ConnectionRecord| {
        let sub = conn.subs.get(&id).filter(|sub| sub.certain && sub.ending.is_none());
        !conn.stale
            && !conn.closed
            && conn.protocol.is_some()
            && sub.is_some_and(|it| it.tick < cause)
    };
    let conns = channel.subscribers.iter();
    conns.filter(|id| cx.conns.get(*id).is_some_and(listens)).copied().collect()
}

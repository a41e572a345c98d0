//! The state that the rules need, derived from the entries one by one.
//!
//! The context translates each entry into [`OracleStep`]s for the checks. The context emits each step just before the
//! step changes the context. [`super::asking`] reads the messages of clients, [`super::delivery`] handles actions,
//! [`super::subscriptions`] subscriptions, and [`super::folding`] states.
//!
//! Knows: `wire`, `transcript`. Never knows: rules.
//!
//! Start at [`OracleContext::observe`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::Value;

use crate::transcript::{ClosingSide, ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::wire::channel::ROOT;
use crate::wire::message::{Message, MessageKind};
use crate::wire::protocol::Protocol;
use crate::wire::validate::{MessageOrigin, ShapeError};
use crate::wire::version::Version;

use super::asking::replaced;
use super::budget::OracleMemory;
use super::channel::{ChannelFold, ChannelId, ChannelRecord, ChannelRecords};
use super::connection::{ClientIds, ConnectionRecord, OpenRequest, id_key};
use super::envelope::{is_action, target};
use super::family::SessionFamilies;
use super::log::AcceptedLog;
use super::members::{list, text};
use super::options::OracleOptions;
use super::rest::SessionRests;
use super::step::OracleStep;

/// Upper bound for the clients whose negotiated version is kept for a reconnect.
const MAX_CLIENTS: usize = 16_384;

/// Lower bound for the closed connections that are remembered. When the number is twice as high, the older half is
/// dropped.
const MAX_CLOSED: usize = 1_024;

/// The time without any traffic after which the host counts as at rest. The specification states no such time. Checks
/// of a host at rest do not wait longer for delayed summaries.
const REST: Duration = Duration::from_secs(1);

/// The members of a JSON-RPC error response that the checks judge even before a version is negotiated.
const ERROR_MEMBERS: [&str; 3] = ["error", "error.code", "error.message"];

/// The receiver of the steps.
pub(super) type StepEmitter<'e> = &'e mut dyn FnMut(&OracleContext, &OracleStep<'_>);

/// The position of the current entry.
#[derive(Clone, Copy, Default)]
pub(super) struct CurrentEntry {
    pub line: u64,
    pub at: Duration,
    pub conn: ConnId,
    /// The serial number of the entry. These numbers order the entries independently of their times.
    pub tick: u64,
}

/// The state that is derived from the entries so far.
pub(super) struct OracleContext {
    pub options: OracleOptions,
    pub now: CurrentEntry,
    pub conns: LiteMap<ConnId, ConnectionRecord>,
    pub channels: ChannelRecords,
    pub log: AcceptedLog,
    /// The highest `serverSeq` of an accepted action that any connection received since the start of the host, with its
    /// line.
    pub highest: Option<(u64, u64)>,
    /// The highest `serverSeq` that the host has stated in any message since its start, with its line.
    pub counter: Option<(u64, u64)>,
    /// The channels with snapshots that are ahead of the fold.
    pub waiting: Vec<ChannelId>,
    pub versions: HashMap<Arc<str>, Version>,
    pub clients: ClientIds,
    pub memory: OracleMemory,
    /// Whether a client may have dispatched actions that are missing from the transcript.
    pub unseen: bool,
    /// The number of closed connections that are remembered.
    closed: usize,
    pub families: SessionFamilies,
    pub rests: SessionRests,
    /// The secrets that no frame of the host may contain, each in the form that it has in JSON text, with escapes.
    pub secrets: Vec<String>,
    /// The names by which messages call the connections. A connection may have no name.
    pub names: HashMap<ConnId, Arc<str>>,
}

impl OracleContext {
    pub(super) fn new(options: OracleOptions) -> OracleContext {
        OracleContext {
            options,
            now: CurrentEntry::default(),
            conns: LiteMap::new(),
            channels: ChannelRecords::default(),
            log: AcceptedLog::default(),
            highest: None,
            counter: None,
            waiting: Vec::new(),
            versions: HashMap::new(),
            clients: ClientIds::default(),
            memory: OracleMemory::default(),
            unseen: false,
            closed: 0,
            families: SessionFamilies::default(),
            rests: SessionRests::default(),
            secrets: Vec::new(),
            names: HashMap::new(),
        }
    }

    /// Reads one transcript entry, and emits its steps.
    pub(super) fn observe(&mut self, entry: &TranscriptEntry, emit: StepEmitter<'_>) {
        // The pause before the end of a restart does not count as rest: the host was stopping, and no client was
        // connected.
        if entry.event != ConnectionEvent::Restarted {
            self.rest_before(entry, emit);
        }
        self.now = CurrentEntry {
            line: entry.line,
            at: entry.at,
            conn: entry.conn,
            tick: self.now.tick + 1,
        };
        match &entry.event {
            ConnectionEvent::Open { .. } => self.opened(),
            ConnectionEvent::Sent(seen) => self.sent(seen, emit),
            ConnectionEvent::Received(seen) => self.received(seen, emit),
            ConnectionEvent::Closed { .. } => self.closed(emit),
            ConnectionEvent::Gap { by } => self.gap(*by, emit),
            ConnectionEvent::Restarted => self.restarted(emit),
            ConnectionEvent::Below { way, seen } => {
                emit(self, &OracleStep::Below { way: *way, seen })
            }
            ConnectionEvent::Refused(_)
            | ConnectionEvent::Cut { .. }
            | ConnectionEvent::Fault { .. } => {}
        }
    }

    /// Emits the steps of a host at rest, if the pause before an entry was long enough.
    fn rest_before(&mut self, entry: &TranscriptEntry, emit: StepEmitter<'_>) {
        let quiet = entry.at.saturating_sub(self.now.at);
        let rests = quiet >= REST + self.options.spread && self.answered_all(entry.at);
        let touched = rests.then(|| self.families.take_touched());
        self.sessions_at_rest(entry, touched.as_deref(), emit);
        if let Some(touched) = touched {
            emit(self, &OracleStep::Rest { touched: &touched });
        }
    }

    /// Ends the transcript, and emits the steps that depend on the end.
    pub(super) fn finish(&mut self, emit: StepEmitter<'_>) {
        let open = self.conns.iter().filter(|(_, conn)| !conn.closed && !conn.stale);
        let open: Vec<ConnId> = open.map(|(id, _)| *id).collect();
        for conn in open {
            self.now.conn = conn;
            self.fenced(emit);
        }
    }

    /// Returns whether every request was answered, except requests that have been open for longer than the deadline.
    fn answered_all(&self, now: Duration) -> bool {
        let patience = self.options.patience();
        // If the transcript lacks some traffic of a connection, or not every request was kept, the open requests of the
        // connection are unknown.
        let unknown = |conn: &ConnectionRecord| conn.gap || conn.overflow;
        if self.conns.values().any(|conn| unknown(conn) && !conn.closed && !conn.stale) {
            return false;
        }
        let open = self.conns.iter().filter(|(_, conn)| !conn.closed && !conn.stale);
        let mut waiting = open.flat_map(|(_, conn)| conn.open_requests());
        waiting.all(|request| now.saturating_sub(request.at) >= patience)
    }

    /// Returns the name of a connection for messages.
    pub(super) fn name(&self, conn: ConnId) -> String {
        self.names.get(&conn).map_or_else(|| conn.to_string(), |name| format!("`{name}`"))
    }

    /// Returns the connection of the current entry.
    #[inline]
    pub(super) fn here(&self) -> Option<&ConnectionRecord> {
        self.conns.get(&self.now.conn)
    }

    #[inline]
    pub(super) fn here_mut(&mut self) -> &mut ConnectionRecord {
        let conn = self.conns.entry(self.now.conn).or_default();
        conn.assumed = self.options.assume_version.is_some();
        conn
    }

    #[inline]
    pub(super) fn channel(&self, id: ChannelId) -> Option<&ChannelRecord> {
        self.channels.get(id)
    }

    /// Returns the folded state of a channel; `None` if it is not followed.
    #[inline]
    pub(super) fn folded(&self, id: ChannelId) -> Option<&ChannelFold> {
        self.channel(id)?.fold.as_ref()
    }

    /// Returns the URI of a channel, to be shown in messages.
    pub(super) fn uri(&self, id: ChannelId) -> &str {
        self.channel(id).map_or("", |channel| &channel.uri)
    }

    /// Records a `serverSeq` that the host's counter has reached.
    #[inline]
    pub(super) fn counted(&mut self, seq: u64) {
        if self.counter.is_none_or(|(highest, _)| highest < seq) {
            self.counter = Some((seq, self.now.line));
        }
    }

    fn opened(&mut self) {
        self.conns.insert(
            self.now.conn,
            ConnectionRecord { opened: true, ..ConnectionRecord::default() },
        );
        self.assume();
    }

    /// Assigns the assumed version to a connection without a handshake.
    pub(super) fn assume(&mut self) {
        let version = self.options.assume_version;
        let conn = self.here_mut();
        if conn.version.is_none() && version.is_some() {
            conn.version = version;
            conn.protocol = version.and_then(Protocol::of);
        }
    }

    fn restarted(&mut self, emit: StepEmitter<'_>) {
        emit(self, &OracleStep::Restarted);
        self.log = AcceptedLog::default();
        self.highest = None;
        self.counter = None;
        self.waiting.clear();
        self.families = SessionFamilies::default();
        self.rests = SessionRests::default();
        self.channels.iter_mut().for_each(ChannelRecord::reset);
        for (_, conn) in &mut self.conns {
            conn.stale = true;
            conn.subs.clear();
        }
    }

    fn closed(&mut self, emit: StepEmitter<'_>) {
        let Some(conn) = self.here() else {
            // The transcript does not contain the traffic of this connection, which may have dispatched actions.
            self.unseen = true;
            return;
        };
        if conn.closed {
            return;
        }
        emit(self, &OracleStep::Closed);
        self.fenced(emit);
        let subs: Vec<ChannelId> =
            self.here().map(|conn| conn.subs.keys().copied().collect()).unwrap_or_default();
        for channel in subs {
            self.end(channel, emit);
        }
        let conn = self.here_mut();
        *conn = ConnectionRecord {
            opened: conn.opened,
            closed: true,
            shaken: conn.shaken,
            handshake_line: conn.handshake_line,
            client_id: conn.client_id.take(),
            version: conn.version,
            protocol: conn.protocol,
            last: conn.last,
            ..ConnectionRecord::default()
        };
        let conn = self.here();
        self.unseen |= conn.is_some_and(|conn| {
            conn.partial() || (conn.handshake_line > 0 && conn.client_id.is_none())
        });
        self.closed += 1;
        if self.closed >= 2 * MAX_CLOSED {
            self.forget_closed();
        }
    }

    /// Handles missing traffic on the current connection. From now on the connection counts as one whose beginning is
    /// missing, and the state that checks remember may be out of date. Missing frames of the client may have changed
    /// any state. Missing frames of the host change no state; only their content is unknown.
    fn gap(&mut self, by: ClosingSide, emit: StepEmitter<'_>) {
        emit(self, &OracleStep::Gap);
        self.families = SessionFamilies::default();
        self.rests = SessionRests::default();
        if by == ClosingSide::Client {
            self.unseen = true;
            self.waiting.clear();
            self.channels.iter_mut().for_each(ChannelRecord::lose);
            // The missing frames may include a handshake.
            let conn = self.here_mut();
            (conn.version, conn.protocol) = (None, None);
            if let Some(client) = conn.client_id.clone() {
                self.versions.remove(&client);
            }
        }
        let subs: Vec<ChannelId> =
            self.here().map(|conn| conn.subs.keys().copied().collect()).unwrap_or_default();
        for id in subs {
            self.end(id, &mut |_, _| ());
            let followed = self.followed(id).is_some();
            if let Some(channel) = self.channels.get_mut(id).filter(|_| !followed) {
                channel.lose();
            }
        }
        let conn = self.here_mut();
        *conn = ConnectionRecord {
            gap: true,
            overflow: true,
            closed: conn.closed,
            stale: conn.stale,
            assumed: conn.assumed,
            handshake_line: conn.handshake_line,
            client_id: conn.client_id.take(),
            version: conn.version,
            protocol: conn.protocol,
            ..ConnectionRecord::default()
        };
    }

    /// Forgets the older half of the closed connections.
    fn forget_closed(&mut self) {
        let mut old = self.closed - MAX_CLOSED;
        self.conns.retain(|_, conn| {
            let forgotten = conn.closed && old > 0;
            old -= usize::from(forgotten);
            !forgotten
        });
        self.closed = MAX_CLOSED;
    }

    // Reads a message of the host, and emits its steps.

    fn received(&mut self, seen: &Arc<SeenFrame>, emit: StepEmitter<'_>) {
        self.assume();
        let message = seen.message();
        let mut request = message.and_then(|message| self.answered(message));
        if let Some((message, request)) = message.zip(request.as_mut())
            && self.looks_restarted(message, request)
        {
            self.restarted(emit);
            self.here_mut().stale = false;
            request.floor = None;
            request.counter = None;
        }
        let protocol = self.here().and_then(|conn| conn.protocol);
        let answers = request.as_ref().map(|request| request.method.as_str());
        let mut errors = match (message, protocol) {
            (Some(message), Some(protocol)) => {
                protocol.check_message(message, MessageOrigin::Host, answers)
            }
            (Some(message), None) => sound_error(message),
            _ => Vec::new(),
        };
        if answers.is_some() {
            // The host repeats the id that the client chose, so the host is not responsible for a malformed id.
            errors.retain(|error| error.path != "id");
        }
        let (sender, checked) = (MessageOrigin::Host, protocol.is_some());
        emit(self, &OracleStep::Frame { seen, sender, errors: &errors, checked });
        let Some(message) = message else {
            return;
        };
        match (message.kind(), request) {
            (MessageKind::Success | MessageKind::Failure, Some(request)) => {
                self.respond(seen, message, &request, emit);
            }
            (MessageKind::Success | MessageKind::Failure, None) => self.stray(message, emit),
            (MessageKind::Request, _) => {
                let id = message.id().map(id_key).unwrap_or_default();
                let open = self.here().and_then(|conn| conn.host_requests.get(&id)).copied();
                emit(self, &OracleStep::HostAsked { open });
                let line = self.now.line;
                let conn = self.here_mut();
                if conn.host_requests.len() < super::connection::MAX_OPEN {
                    conn.host_requests.insert(id, line);
                }
            }
            (MessageKind::Notification, _) if is_action(message) => {
                self.deliver(seen, None, message.params(), false, emit);
            }
            (MessageKind::Notification, _) => self.notified(seen, message, emit),
            (MessageKind::Malformed, _) => {}
        }
    }

    /// Returns whether a host that the harness does not control seems to have been restarted: no other client
    /// was connected, and the host's counter starts lower than before.
    fn looks_restarted(&self, message: &Message, request: &OpenRequest) -> bool {
        let alone = || {
            let mut others = self.conns.iter().filter(|(id, _)| **id != self.now.conn);
            others.all(|(_, conn)| conn.closed || conn.stale)
        };
        let seq = message.result().and_then(|result| result.get("serverSeq"));
        let below = seq.and_then(Value::as_u64).zip(request.floor);
        self.options.foreign
            && request.method == "initialize"
            && below.is_some_and(|(seq, (floor, _))| seq < floor)
            && alone()
    }

    /// Removes and returns the request that a response answers, and derives the connection's version from the response.
    fn answered(&mut self, message: &Message) -> Option<OpenRequest> {
        if !matches!(message.kind(), MessageKind::Success | MessageKind::Failure) {
            return None;
        }
        let line = self.now.line;
        let request = self.here_mut().answer(message.id()?, line)?;
        if let Some((uri, true)) = replaced(&request.method, request.params())
            && let Some(channel) = self.channels.intern(uri)
        {
            self.doubt(channel, self.now.tick);
        }
        if request.method == "initialize" && message.kind() == MessageKind::Success {
            let version = message.result().and_then(version_of);
            // If the answer names no known version, the version that the client offered applies, provided that it is
            // unambiguous. Otherwise such an answer would disable the checks.
            let spoken = version.and_then(|it| Some((it, Protocol::of(it)?)));
            let spoken = spoken.or_else(|| offered(request.params(), message.result()?));
            let conn = self.here_mut();
            conn.guessed = version.and_then(Protocol::of).is_none() && spoken.is_some();
            conn.version = spoken.map(|(version, _)| version).or(version);
            conn.protocol = spoken.map(|(_, protocol)| protocol);
            conn.shaken |= version.is_some();
            let (client_id, version) = (conn.client_id.clone(), conn.version);
            if let (Some(client), Some(version)) = (client_id, version)
                && self.versions.len() < MAX_CLIENTS
            {
                self.versions.insert(client, version);
            }
        }
        let resumed = || {
            let result = message.result();
            let lists = ["actions", "snapshots"].into_iter().any(|list| {
                result.and_then(|result| result.get(list)).is_some_and(Value::is_array)
            });
            lists && message.kind() == MessageKind::Success
        };
        if request.method == "reconnect" && resumed() {
            self.here_mut().shaken = true;
        }
        Some(request)
    }

    /// Returns whether an observation exercises a rule. Observations count if the current connection has had a
    /// successful handshake, or may have had one before the transcript began. At the end of the transcript, or if there
    /// is no current connection, a handshake on any connection is enough.
    pub(super) fn counts(&self, ended: bool) -> bool {
        let shaken = |conn: &ConnectionRecord| conn.shaken || conn.partial();
        match self.here() {
            Some(conn) if !ended => shaken(conn),
            _ => self.conns.values().any(shaken),
        }
    }

    fn stray(&mut self, message: &Message, emit: StepEmitter<'_>) {
        let id = message.id().unwrap_or(&Value::Null);
        let conn = self.here_mut();
        if conn.odd > 0 {
            conn.odd -= 1;
            return;
        }
        if conn.partial() || conn.overflow || conn.stale {
            return;
        }
        if id.is_null() && self.options.objects_only {
            // The frame that this message answers is missing from the transcript.
            return;
        }
        let conn = self.here_mut();
        let first = conn.answered_before(id);
        if id.is_null() && first.is_some() {
            // Several requests may have the id null, and answers to unreadable frames also have the id null.
            return;
        }
        emit(self, &OracleStep::Stray { first, id });
    }

    fn respond(
        &mut self,
        seen: &Arc<SeenFrame>,
        message: &Message,
        request: &OpenRequest,
        emit: StepEmitter<'_>,
    ) {
        emit(self, &OracleStep::Answered { request, message });
        if self.here().is_none_or(|conn| conn.stale) {
            return;
        }
        if request.method == "moveChat" && message.error().is_some() {
            self.stays(request);
        }
        self.fence(request.tick, emit);
        let Some(result) = message.result() else {
            return;
        };
        match request.method.as_str() {
            "initialize" => self.initialized(seen, request, result, emit),
            "reconnect" => self.reconnected(seen, request, result, emit),
            "subscribe" => self.subscribed(seen, request, result, emit),
            method => {
                if method == "listSessions" {
                    for summary in list(result, "items") {
                        self.channels.list(text(summary, "resource").unwrap_or_default(), summary);
                    }
                }
                // Later messages may not state which session owns the chat, so the owner is recorded here.
                let params = request.params();
                let owned = match method {
                    "createChat" => Some((&params["channel"], &params["chat"])),
                    "moveChat" => Some((&result["session"], &params["channel"])),
                    _ => None,
                };
                if let Some((session, chat)) = owned
                    && let Some((session, chat)) = session.as_str().zip(chat.as_str())
                    && let Some(session) = self.channels.intern(session)
                    && let Some(chat) = self.channels.intern(chat)
                {
                    self.channels.own(session, chat);
                }
                if let Some((uri, true)) = replaced(method, request.params())
                    && let Some(channel) = self.channels.intern(uri)
                {
                    let line = self.now.line;
                    // The disposal of a session ends its chats, except those that were moved.
                    let chats = self.channel(channel).map(|channel| channel.chats.clone());
                    for chat in chats.into_iter().flatten() {
                        self.ending(chat, emit);
                        self.unsettle(chat);
                    }
                    self.unsettle(channel);
                    if let Some(channel) = self.channels.get_mut(channel) {
                        channel.disposed = Some(line);
                    }
                }
            }
        }
    }

    fn notified(&mut self, seen: &Arc<SeenFrame>, message: &Message, emit: StepEmitter<'_>) {
        let unwrapped = unwrapped(message).map(|message| Arc::new(SeenFrame::of(message)));
        let seen = unwrapped.as_ref().unwrap_or(seen);
        let Some(message) = seen.message() else {
            return;
        };
        let params = message.params();
        let channel = target(params).and_then(|uri| self.channels.intern(uri));
        let method = message.method().unwrap_or_default();
        emit(self, &OracleStep::Notified { seen, method, channel });
        let session = text(params, "session");
        let added = &params["summary"];
        for (session, summary) in [(text(added, "resource"), added), (session, &params["changes"])]
        {
            self.channels.list(session.unwrap_or_default(), summary);
        }
        if method == "root/sessionRemoved"
            && let Some(session) = session.and_then(|uri| self.channels.intern(uri))
        {
            self.unsettle(session);
            self.doubt(session, self.now.tick);
        }
    }
}

/// Returns the version in the answer to `initialize`. The first protocol states its version as a number.
pub(super) fn version_of(result: &Value) -> Option<Version> {
    match result.get("protocolVersion")? {
        number @ Value::Number(_) => Version::number_text(number).parse().ok(),
        other => other.as_str()?.parse().ok(),
    }
}

/// Returns the highest known version that an `initialize` offers, with its table, if all known offered versions share
/// this table. Returns `None` if the answer names an offered version that the harness does not know.
fn offered(params: &Value, result: &Value) -> Option<(Version, &'static Protocol)> {
    let offers = list(params, "protocolVersions");
    if result.get("protocolVersion").is_some_and(|found| offers.contains(found)) {
        return None;
    }
    let offers = offers.iter().filter_map(Value::as_str);
    let offers = offers.filter_map(|offer| offer.parse::<Version>().ok());
    let mut known = offers.filter_map(|offer| Some((offer, Protocol::of(offer)?)));
    let (first, table) = known.next()?;
    known.try_fold((first, table), |(highest, table), (offer, other)| {
        std::ptr::eq(table, other).then_some((highest.max(offer), table))
    })
}

/// Translates the only notification of versions before 0.2.0 into the notifications of later versions.
fn unwrapped(message: &Message) -> Option<Message> {
    const NAMES: [(&str, &str); 4] = [
        ("notify/sessionAdded", "root/sessionAdded"),
        ("notify/sessionRemoved", "root/sessionRemoved"),
        ("notify/sessionSummaryChanged", "root/sessionSummaryChanged"),
        ("notify/authRequired", "auth/required"),
    ];
    let told = message
        .params()
        .get("notification")
        .filter(|_| message.method() == Some("notification"))?;
    let name = told.get("type")?.as_str()?;
    let (_, method) = NAMES.iter().find(|(older, _)| *older == name)?;
    let mut params = told.as_object()?.clone();
    params.remove("type");
    params.insert("channel", Value::from(ROOT));
    Some(Message::notification(method, Value::Object(params)))
}

/// Returns the malformed members of an error that arrives before a version was negotiated. JSON-RPC itself
/// defines these members.
fn sound_error(message: &Message) -> Vec<ShapeError> {
    if message.kind() != MessageKind::Failure {
        return Vec::new();
    }
    let mut errors = Protocol::newest().check_message(message, MessageOrigin::Host, None);
    errors.retain(|error| ERROR_MEMBERS.contains(&error.path.as_str()));
    errors
}

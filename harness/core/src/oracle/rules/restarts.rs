//! Checks what a restarted host has kept: the sessions that it lists can be opened, no decision is undone, no message
//! is shown twice, and lists, titles and histories are the same as before.
//!
//! Knows: folded channels before a restart, lists and snapshots after it. Never knows: the storage of a host.
//!
//! Start at [`RestartChecks`].

use std::sync::Arc;

use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::restart_content::{EarlierValues, KeptContent, MAX_ITEMS};
use crate::oracle::asking::replaced;
use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, subscribed_channel, text};
use crate::oracle::step::OracleStep;

/// Upper bound for the channels whose contents are remembered.
const MAX_CHANNELS: usize = 256;
/// Upper bound for the remembered dispatches of one channel that are not settled.
const MAX_IN_FLIGHT: usize = 256;
/// Upper bound for the remembered sessions of a list.
const MAX_LISTED: usize = 4_096;

/// The kinds of channels whose content is compared.
const KINDS: &[ChannelKind] = &[
    ChannelKind::Session,
    ChannelKind::Chat,
    ChannelKind::Terminal,
    ChannelKind::Automations,
    ChannelKind::Annotations,
];
/// The error codes with which a host refuses to show a session to this client: a missing token, or a missing
/// permission.
const NOT_FOR_YOU: &[i64] = &[-32007, -32009];

/// The knowledge of clients about a host when it was restarted, and the lists of the restarted host.
#[derive(Default)]
pub(super) struct RestartChecks {
    /// The connection that is being closed.
    closing: Option<ConnId>,
    /// The contents of channels, kept when the connection of a subscriber is closed. If the host crashes, the
    /// connections are closed before the transcript shows the restart.
    left: foldhash::HashMap<ChannelId, KeptContent>,
    /// The contents of channels before the restart. A channel is removed at its first snapshot after the restart.
    before: foldhash::HashMap<ChannelId, KeptContent>,
    /// The dispatches on each channel that no envelope has settled yet, by client and `clientSeq`.
    in_flight: foldhash::HashMap<ChannelId, foldhash::HashSet<ClientDispatch>>,
    restarted: bool,
    /// The sessions that the restarted host has listed, each with the line of the first list.
    listed: foldhash::HashMap<String, u64>,
    /// The sessions that the host has listed or announced. `announced_before` contains the sessions from before the
    /// restart, until the first list after the restart.
    announced: foldhash::HashMap<String, SessionAnnouncement>,
    announced_before: foldhash::HashMap<String, SessionAnnouncement>,
    /// The earlier titles, drafts and flags of each channel.
    earlier: foldhash::HashMap<ChannelId, EarlierValues>,
    /// The sessions, chats and terminals that a client disposed of, each with the line of the host's answer.
    /// `disposed_before` contains the disposals from before the restart.
    disposed: foldhash::HashMap<String, u64>,
    disposed_before: foldhash::HashMap<String, u64>,
}

/// The client and the `clientSeq` of a dispatch.
type ClientDispatch = (Option<Arc<str>>, i64);

/// The first message that told a client of a session.
struct SessionAnnouncement {
    line: u64,
    /// The client that received the message. A host may list other sessions for another client.
    client: Option<Arc<str>>,
}

impl CheckFamily for RestartChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        if is_traffic(step) {
            // This traffic shows that the host still runs, so its state may have changed after the connections were
            // closed.
            self.left.clear();
            self.closing = None;
        }
        match step {
            OracleStep::Closed => self.closing = Some(cx.now.conn),
            OracleStep::Ending { conn, channel } => {
                self.left.remove(channel);
                if self.closing == Some(*conn) {
                    self.leave(cx, *channel);
                }
            }
            OracleStep::Restarted => {
                let followed: Vec<ChannelId> = cx.channels.ids().collect();
                followed.into_iter().for_each(|channel| self.leave(cx, channel));
                self.before = std::mem::take(&mut self.left);
                self.announced_before = std::mem::take(&mut self.announced);
                if self.disposed_before.len() + self.disposed.len() > MAX_LISTED {
                    self.disposed_before.clear();
                }
                self.disposed_before.extend(self.disposed.drain());
                self.earlier.clear();
                self.listed.clear();
                self.in_flight.clear();
                self.restarted = true;
            }
            OracleStep::Gap => *self = RestartChecks::default(),
            OracleStep::Dispatched { channel, client_seq, .. } => {
                let client = cx.here().and_then(|conn| conn.client_id.clone());
                let open = self.in_flight.entry(*channel).or_default();
                if open.len() < MAX_IN_FLIGHT {
                    open.insert((client, *client_seq));
                }
            }
            OracleStep::Envelope(delivery) => {
                let action = delivery.envelope.action;
                if !delivery.envelope.rejected && EarlierValues::concerns(action) {
                    self.remember_values(delivery.channel, action);
                }
                // The restarted host may have changed the state with this action.
                self.before.remove(&delivery.channel);
                if let Some(origin) = delivery.envelope.origin
                    && let Some(open) = self.in_flight.get_mut(&delivery.channel)
                    && let Some(client) = cx.clients.find(origin.client_id)
                {
                    open.remove(&(Some(client.clone()), origin.client_seq));
                    if open.is_empty() {
                        self.in_flight.remove(&delivery.channel);
                    }
                }
            }
            OracleStep::Snapshot { channel, kind: Some(kind), state, .. } => {
                self.snapshot(cx, *channel, state, out);
                if KINDS.contains(kind) {
                    self.remember_values(*channel, state);
                }
                for member in ["chats", "terminals"] {
                    self.returned(cx, list(state, member), out);
                }
            }
            OracleStep::Answered { request, message } => {
                self.answered(cx, request, message, out);
            }
            OracleStep::Notified { seen, method, .. } => {
                let params = seen.message().map_or(&Value::Null, Message::params);
                match (*method, given(params, "summary")) {
                    ("root/sessionAdded", Some(summary)) => {
                        self.announce(cx, text(summary, "resource"));
                    }
                    ("root/sessionRemoved", _) => {
                        if let Some(session) = text(params, "session") {
                            self.forget(session);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

impl RestartChecks {
    /// Remembers the content of a channel that a client follows.
    fn leave(&mut self, cx: &OracleContext, channel: ChannelId) {
        let kept = |fold: &&ChannelFold| {
            KINDS.contains(&fold.kind)
                && cx.channel(channel).is_some_and(|it| it.disposed.is_none() && !it.moving)
        };
        let Some(fold) = cx.followed(channel).filter(kept) else { return };
        let items: usize = self.left.values().map(KeptContent::items).sum();
        if self.left.len() < MAX_CHANNELS && items < MAX_ITEMS {
            let line = fold.last_line.max(fold.base_line);
            let mut content = KeptContent::of(fold.protocol, &fold.state, line);
            let latest = cx.channel(channel).and_then(|it| it.recent.back().copied());
            content.earlier = self.earlier.remove(&channel).unwrap_or_default();
            content.is_settled = !self.in_flight.contains_key(&channel)
                && latest <= Some(fold.seq.max(fold.known_to));
            self.left.insert(channel, content);
        }
    }

    /// Compares the first snapshot after the restart with the content before the restart. Invariants M8 and M9.
    fn snapshot(
        &mut self,
        cx: &OracleContext,
        channel: ChannelId,
        state: &Value,
        out: &mut FindingSink,
    ) {
        let Some(before) = self.before.remove(&channel) else { return };
        let Some(protocol) = cx.here().and_then(|conn| conn.protocol) else { return };
        if !std::ptr::eq(protocol, before.protocol) {
            return;
        }
        let after = KeptContent::of(protocol, state, cx.now.line);
        let lines = [before.line, cx.now.line];
        let uri = cx.uri(channel);
        (0..before.decisions_in(&after)).for_each(|_| out.seen(Rule::RestartUndoes));
        for undone in before.undone_by(&after) {
            let message = format!("expected a restart to undo nothing on `{uri}`, {undone}");
            out.broken(Rule::RestartUndoes, message, &lines);
        }
        if !before.is_settled {
            return;
        }
        if before.has_messages() {
            out.seen(Rule::RestartRepeats);
        }
        for repeated in before.repeated_by(&after) {
            let message =
                format!("expected `{uri}` to show each message once after a restart, {repeated}");
            out.broken(Rule::RestartRepeats, message, &lines);
        }
        if before.has_anything() {
            out.seen(Rule::RestartKeeps);
        }
        for difference in before.differences(&after) {
            let message =
                format!("expected `{uri}` to be the same after the restart, {difference}");
            out.broken(Rule::RestartKeeps, message, &lines);
        }
    }

    fn answered(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        if let Some((uri, disposes)) = replaced(&request.method, request.params()) {
            self.forget(uri);
            if disposes && message.result().is_some() && self.disposed.len() < MAX_LISTED {
                self.disposed.insert(short(uri).into_owned(), cx.now.line);
            }
            return;
        }
        match (request.method.as_str(), message.result()) {
            ("listSessions", Some(result)) => self.list(cx, request, result, out),
            ("subscribe", _) if self.restarted => self.opened(cx, request, message, out),
            _ => {}
        }
    }

    /// Remembers the titles, drafts and flags of a channel, for the comparison after a restart.
    fn remember_values(&mut self, channel: ChannelId, state: &Value) {
        if self.earlier.len() < MAX_CHANNELS || self.earlier.contains_key(&channel) {
            self.earlier.entry(channel).or_default().add(state);
        }
    }

    /// Judges whether a list of the restarted host has a session, a chat or a terminal that a client had disposed of.
    /// Invariant M8.
    fn returned(&self, cx: &OracleContext, items: &[Value], out: &mut FindingSink) {
        if !self.restarted || self.disposed_before.is_empty() {
            return;
        }
        for uri in items.iter().filter_map(|item| text(item, "resource")) {
            let Some(line) = self.disposed_before.get(&*short(uri)) else { continue };
            if is_asked(cx, uri, false) {
                continue;
            }
            let message = format!(
                "expected a restart to undo nothing, found `{uri}` in a list, which a client had disposed of"
            );
            out.broken(Rule::RestartUndoes, message, &[*line, cx.now.line]);
        }
    }

    fn announce(&mut self, cx: &OracleContext, session: Option<&str>) {
        let session = session.filter(|_| self.announced.len() < MAX_LISTED).map(short);
        if let Some(session) = session.filter(|session| !self.announced.contains_key(&**session)) {
            let client = cx.here().and_then(|conn| conn.client_id.clone());
            let seen = SessionAnnouncement { line: cx.now.line, client };
            self.announced.insert(session.into_owned(), seen);
        }
    }

    /// Forgets a session that was disposed of.
    fn forget(&mut self, session: &str) {
        let session = &*short(session);
        self.listed.remove(session);
        self.announced.remove(session);
        self.announced_before.remove(session);
        self.disposed.remove(session);
        self.disposed_before.remove(session);
    }

    /// Compares the first list after the restart with the sessions before the restart. Invariant M9.
    fn list(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        result: &Value,
        out: &mut FindingSink,
    ) {
        let items = list(result, "items");
        let is_whole =
            ["cursor", "filter"].iter().all(|name| given(request.params(), name).is_none())
                && given(result, "nextCursor").is_none();
        // Only the complete list shows that a disposed session is absent.
        if self.restarted && is_whole {
            self.disposed_before.iter().for_each(|_| out.seen(Rule::RestartUndoes));
        }
        self.returned(cx, items, out);
        for uri in items.iter().filter_map(|item| text(item, "resource")) {
            self.announce(cx, Some(uri));
            if self.restarted && self.listed.len() < MAX_LISTED {
                self.listed.entry(short(uri).into_owned()).or_insert(cx.now.line);
            }
        }
        if !self.restarted || !is_whole || self.announced_before.is_empty() {
            return;
        }
        let client = cx.here().and_then(|conn| conn.client_id.as_deref());
        let before = std::mem::take(&mut self.announced_before);
        let mut before: Vec<(String, u64)> = before
            .into_iter()
            .filter(|(uri, seen)| seen.client.as_deref() == client && !is_asked(cx, uri, true))
            .map(|(uri, seen)| (uri, seen.line))
            .collect();
        before.sort_unstable();
        before.iter().for_each(|_| out.seen(Rule::RestartKeeps));
        let lost = before.into_iter().filter(|(uri, _)| !self.announced.contains_key(uri));
        for (uri, line) in lost {
            let message = format!(
                "expected `{uri}` in the list after the restart, found no such session: lost"
            );
            out.broken(Rule::RestartKeeps, message, &[line, cx.now.line]);
        }
    }

    /// Judges whether a session that the restarted host has listed can be opened. Invariant M7.
    fn opened(
        &self,
        cx: &OracleContext,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        let params = request.params();
        let Some(uri) = subscribed_channel(params) else {
            return;
        };
        if !request.sound || request.given_up.is_some() {
            return;
        }
        let Some(listed) = self.listed.get(&*short(uri)).filter(|line| request.line > **line)
        else {
            return self.unlisted(cx, uri, request, message, out);
        };
        if let Some(result) = message.result() {
            let state = given(result, "snapshot").and_then(|snapshot| given(snapshot, "state"));
            if state.is_some_and(|state| text(state, "lifecycle").is_some()) {
                out.seen(Rule::RestartOpens);
            }
            return;
        }
        out.seen(Rule::RestartOpens);
        let code = message.error_code();
        if code.is_some_and(|code| NOT_FOR_YOU.contains(&code)) || is_asked(cx, uri, true) {
            return;
        }
        let message = format!(
            "expected that `{uri}`, which the restarted host lists, can be subscribed to, found error {}",
            code.map_or_else(|| "without a code".to_owned(), |code| code.to_string())
        );
        out.broken(Rule::RestartOpens, message, &[*listed, request.line, cx.now.line]);
    }

    /// Reports a channel that clients used before the restart and that cannot be opened after the restart. The host
    /// does not list the channel, so it does not have to keep it. Invariant M9.
    fn unlisted(
        &self,
        cx: &OracleContext,
        uri: &str,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        let before = cx.channels.find(uri).and_then(|channel| self.before.get(&channel));
        let code = message.error_code();
        let is_refused = code.is_some_and(|code| NOT_FOR_YOU.contains(&code));
        let Some(before) = before.filter(|before| {
            before.items() > 0 && code.is_some() && !is_refused && !is_asked(cx, uri, true)
        }) else {
            return;
        };
        out.seen(Rule::RestartKeeps);
        let message = format!(
            "expected `{uri}` to be the same after the restart, found that it cannot be opened (error {}): lost",
            code.unwrap_or_default()
        );
        out.broken(Rule::RestartKeeps, message, &[before.line, request.line, cx.now.line]);
    }
}

/// Returns whether the step shows that the host still runs.
fn is_traffic(step: &OracleStep<'_>) -> bool {
    matches!(
        step,
        OracleStep::Envelope(_)
            | OracleStep::Answered { .. }
            | OracleStep::Notified { .. }
            | OracleStep::Snapshot { .. }
            | OracleStep::HostAsked { .. }
    )
}

/// Returns whether a client has asked to create or to dispose of the channel and has no answer yet.
fn is_asked(cx: &OracleContext, uri: &str, disposes: bool) -> bool {
    // A request that was not kept may ask for this.
    if cx.conns.values().any(|conn| conn.overflow && !conn.gap && !conn.closed) {
        return true;
    }
    let uri = short(uri);
    let mut requests = cx.conns.iter().flat_map(|(_, conn)| conn.requests.values().flatten());
    requests.any(|request| {
        let asked = replaced(&request.method, request.params());
        asked.is_some_and(|(other, other_disposes)| {
            other_disposes == disposes && short(other) == uri
        })
    })
}

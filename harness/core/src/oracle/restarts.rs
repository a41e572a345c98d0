//! Checks what a restarted host has kept: that the sessions that it lists can be opened, that no decision is
//! undone, that no message is shown twice, and that lists, titles and histories are as they were.
//!
//! Knows: folded channels before a restart, lists and snapshots after it. Never knows: how a host
//! stores its state.
//!
//! Start at [`RestartChecks`].

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::protocol::Protocol;

use super::asking::replaced;
use super::catalogue::Rule;
use super::channel::{ChannelFold, ChannelId};
use super::check::{CheckFamily, FindingSink};
use super::connection::OpenRequest;
use super::context::OracleContext;
use super::members::{given, list, text};
use super::step::OracleStep;

/// Upper bound for the channels whose contents are remembered.
const MAX_CHANNELS: usize = 256;
/// Upper bound for the turns and tool calls of all remembered channels.
const MAX_ITEMS: usize = 20_000;
/// Upper bound for the remembered dispatches of one channel.
const MAX_IN_FLIGHT: usize = 256;
/// Upper bound for the remembered sessions of a list.
const MAX_LISTED: usize = 4_096;

/// The members of a session or a chat that a person sets or sees, besides the turns.
const MEMBERS: &[&str] = &["title", "isRead", "isArchived", "workingDirectories", "draft"];
/// The kinds of channels whose content is compared.
const KINDS: &[ChannelKind] =
    &[ChannelKind::Session, ChannelKind::Chat, ChannelKind::Automations, ChannelKind::Annotations];
/// The states of turns that cannot become active again.
const ENDED_TURNS: &[&str] = &["complete", "cancelled"];
/// The final states of tool calls.
const ENDED_CALLS: &[&str] = &["completed", "cancelled"];
/// The errors by which a host refuses to show a session to this client: a missing token or permission.
const NOT_FOR_YOU: &[i64] = &[-32007, -32009];

/// What clients knew of a host when it was restarted, and what the restarted host has listed.
#[derive(Default)]
pub(super) struct RestartChecks {
    /// The connection that is being closed.
    closing: Option<ConnId>,
    /// The contents of channels whose subscribers' connections were closed. A crash closes them before the
    /// restart.
    left: foldhash::HashMap<ChannelId, KeptContent>,
    /// The contents of channels before the restart, until the first snapshot after it.
    before: foldhash::HashMap<ChannelId, KeptContent>,
    /// The dispatches on each channel that no envelope has settled yet, by client and `clientSeq`.
    in_flight: foldhash::HashMap<ChannelId, foldhash::HashSet<(String, i64)>>,
    restarted: bool,
    /// The line of the list in which the restarted host has named a session.
    listed: foldhash::HashMap<String, u64>,
    /// The sessions that the host has listed or announced, and (`announced_before`) those before the restart, until
    /// the first list after it.
    announced: foldhash::HashMap<String, SessionAnnouncement>,
    announced_before: foldhash::HashMap<String, SessionAnnouncement>,
}

/// The first message in which a client has seen a session.
struct SessionAnnouncement {
    line: u64,
    /// The client. A host may show other sessions to another client.
    client: Option<String>,
}

/// The content of a channel, as far as a restart must or should keep it.
struct KeptContent {
    /// Whether the content has every action that clients have seen, and every dispatch on the channel was settled.
    /// The host may have applied a dispatch whose echo was lost.
    is_settled: bool,
    protocol: &'static Protocol,
    /// The line of the last message that changed the content.
    line: u64,
    /// The hash of each of [`MEMBERS`].
    members: Vec<Option<u64>>,
    turns: Vec<KeptTurn>,
    calls: Vec<KeptCall>,
    active: Option<String>,
    /// The hash of the message of the active turn.
    asked_now: Option<u64>,
    /// Whether the list of turns may lack the oldest ones.
    is_window: bool,
    chats: Vec<String>,
    /// The hashes of the messages in the queue, in the order of the queue.
    queue: Vec<u64>,
    /// The automations or annotations: the id, and the hash of what a person sees.
    entries: Vec<(String, u64)>,
}

/// A turn that has ended.
struct KeptTurn {
    id: String,
    state: String,
    /// The hash of the text of the message.
    asked: u64,
    /// The hash of the response.
    answered: u64,
}

struct KeptCall {
    id: String,
    status: String,
    has_succeeded: bool,
}

impl CheckFamily for RestartChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        if is_traffic(step) {
            // The host is still running, so its state may change after the clients have left.
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
                self.listed.clear();
                self.in_flight.clear();
                self.restarted = true;
            }
            OracleStep::Gap => *self = RestartChecks::default(),
            OracleStep::Dispatched { channel, client_seq, .. } => {
                let client = cx.here().and_then(|conn| conn.client_id.as_deref());
                let open = self.in_flight.entry(*channel).or_default();
                if open.len() < MAX_IN_FLIGHT {
                    open.insert((client.unwrap_or_default().to_owned(), *client_seq));
                }
            }
            OracleStep::Envelope(delivery) => {
                // The action may have changed the state since the restart.
                self.before.remove(&delivery.channel);
                if let Some(origin) = delivery.envelope.origin
                    && let Some(open) = self.in_flight.get_mut(&delivery.channel)
                {
                    open.remove(&(origin.client_id.to_owned(), origin.client_seq));
                    if open.is_empty() {
                        self.in_flight.remove(&delivery.channel);
                    }
                }
            }
            OracleStep::Snapshot { channel, kind: Some(_), state, .. } => {
                self.snapshot(cx, *channel, state, out);
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
            content.is_settled = !self.in_flight.contains_key(&channel)
                && latest <= Some(fold.seq.max(fold.known_to));
            self.left.insert(channel, content);
        }
    }

    /// Compares the first snapshot after the restart with the content before it. Invariants M8 and M9.
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
            let message = format!("expected that a restart undoes nothing on `{uri}`, {undone}");
            out.broken(Rule::RestartUndoes, message, &lines);
        }
        if !before.is_settled {
            return;
        }
        if !before.turns.is_empty() || !before.queue.is_empty() {
            out.seen(Rule::RestartRepeats);
        }
        for repeated in before.repeated_by(&after) {
            let message =
                format!("expected `{uri}` to show each message once after a restart, {repeated}");
            out.broken(Rule::RestartRepeats, message, &lines);
        }
        if before.items() > 0 || before.members.iter().any(Option::is_some) {
            out.seen(Rule::RestartKeeps);
        }
        for difference in before.differences(&after) {
            let message = format!("expected `{uri}` after the restart as before it, {difference}");
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
        if let Some((uri, _)) = replaced(&request.method, request.params()) {
            self.forget(uri);
            return;
        }
        match (request.method.as_str(), message.result()) {
            ("listSessions", Some(result)) => self.list(cx, request, result, out),
            ("subscribe", _) if self.restarted => self.opened(cx, request, message, out),
            _ => {}
        }
    }

    fn announce(&mut self, cx: &OracleContext, session: Option<&str>) {
        let session = session.filter(|_| self.announced.len() < MAX_LISTED);
        if let Some(session) = session.filter(|session| !self.announced.contains_key(*session)) {
            let client = cx.here().and_then(|conn| conn.client_id.as_deref()).map(str::to_owned);
            let seen = SessionAnnouncement { line: cx.now.line, client };
            self.announced.insert(session.to_owned(), seen);
        }
    }

    /// Forgets a session that was disposed of.
    fn forget(&mut self, session: &str) {
        self.listed.remove(session);
        self.announced.remove(session);
        self.announced_before.remove(session);
    }

    /// Compares the first list after the restart with the sessions before it. Invariant M9.
    fn list(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        result: &Value,
        out: &mut FindingSink,
    ) {
        let items = list(result, "items");
        for uri in items.iter().filter_map(|item| text(item, "resource")) {
            self.announce(cx, Some(uri));
            if self.restarted && self.listed.len() < MAX_LISTED {
                self.listed.entry(uri.to_owned()).or_insert(cx.now.line);
            }
        }
        let is_whole =
            ["cursor", "filter"].iter().all(|name| given(request.params(), name).is_none())
                && given(result, "nextCursor").is_none();
        if !self.restarted || !is_whole || self.announced_before.is_empty() {
            return;
        }
        let client = cx.here().and_then(|conn| conn.client_id.as_deref());
        let before = std::mem::take(&mut self.announced_before);
        let mut before: Vec<(String, u64)> = before
            .into_iter()
            .filter(|(uri, seen)| seen.client.as_deref() == client && !is_being_disposed(cx, uri))
            .map(|(uri, seen)| (uri, seen.line))
            .collect();
        before.sort_unstable();
        before.iter().for_each(|_| out.seen(Rule::RestartKeeps));
        let lost = before.into_iter().filter(|(uri, _)| !self.announced.contains_key(uri));
        for (uri, line) in lost {
            let message = format!(
                "expected `{uri}` in the list after the restart as before it, found no such session: lost"
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
        let Some(uri) = text(params, "channel").or_else(|| text(params, "resource")) else {
            return;
        };
        if !request.sound || request.given_up.is_some() {
            return;
        }
        let Some(listed) = self.listed.get(uri).filter(|line| request.line > **line) else {
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
        if code.is_some_and(|code| NOT_FOR_YOU.contains(&code)) || is_being_disposed(cx, uri) {
            return;
        }
        let message = format!(
            "expected that `{uri}`, which the restarted host lists, can be subscribed to, found error {}",
            code.map_or_else(|| "without a code".to_owned(), |code| code.to_string())
        );
        out.broken(Rule::RestartOpens, message, &[*listed, request.line, cx.now.line]);
    }

    /// Reports a channel that clients have used before the restart and that cannot be opened after it. The host does
    /// not list it, so it need not keep it. Invariant M9.
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
            before.items() > 0 && code.is_some() && !is_refused && !is_being_disposed(cx, uri)
        }) else {
            return;
        };
        out.seen(Rule::RestartKeeps);
        let message = format!(
            "expected `{uri}` after the restart as before it, found that it cannot be opened (error {}): lost",
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

/// Returns whether a client has asked to dispose of the session and has no answer yet.
fn is_being_disposed(cx: &OracleContext, uri: &str) -> bool {
    let mut requests = cx.conns.iter().flat_map(|(_, conn)| conn.requests.values().flatten());
    requests.any(|request| replaced(&request.method, request.params()) == Some((uri, true)))
}

impl KeptContent {
    fn of(protocol: &'static Protocol, state: &Value, line: u64) -> KeptContent {
        let id = |turn: &Value| text(turn, "id").unwrap_or_default().to_owned();
        let active = given(state, "activeTurn");
        let turns = list(state, "turns");
        let kept = |turn: &Value| KeptTurn {
            id: id(turn),
            state: text(turn, "state").unwrap_or_default().to_owned(),
            asked: hash_of(&asked(turn)),
            answered: answered(turn),
        };
        let calls = turns.iter().chain(active).flat_map(|turn| list(turn, "responseParts"));
        let calls = calls.filter_map(|part| given(part, "toolCall")).filter_map(|call| {
            Some(KeptCall {
                id: text(call, "toolCallId")?.to_owned(),
                status: text(call, "status")?.to_owned(),
                has_succeeded: given(call, "success") == Some(&Value::Bool(true)),
            })
        });
        // Up to 0.3.0 a session has its title in a summary.
        let summary = given(state, "summary");
        let member = |name: &&str| given(state, name).or_else(|| given(summary?, name));
        let uris = list(state, "chats").iter().filter_map(|chat| text(chat, "resource"));
        KeptContent {
            is_settled: true,
            protocol,
            line,
            members: MEMBERS.iter().map(|name| member(name).map(hash_of)).collect(),
            turns: turns.iter().map(kept).collect(),
            calls: calls.take(MAX_ITEMS).collect(),
            active: active.map(id),
            asked_now: active.map(|turn| hash_of(&asked(turn))),
            is_window: given(state, "turnsNextCursor").is_some(),
            chats: uris.map(str::to_owned).collect(),
            queue: list(state, "queuedMessages").iter().map(|one| hash_of(&asked(one))).collect(),
            entries: list(state, "entries")
                .iter()
                .chain(list(state, "annotations"))
                .map(entry)
                .collect(),
        }
    }

    fn items(&self) -> usize {
        self.turns.len()
            + self.calls.len()
            + self.chats.len()
            + self.queue.len()
            + self.entries.len()
    }

    /// Returns a sentence for each message that is shown more often than before, in turns and in the queue.
    fn repeated_by(&self, after: &KeptContent) -> Vec<String> {
        let shown = |content: &KeptContent, active: Option<u64>| {
            let mut counts: foldhash::HashMap<u64, usize> = Default::default();
            let turns = content.turns.iter().map(|turn| turn.asked);
            for message in turns.chain(active).chain(content.queue.iter().copied()) {
                *counts.entry(message).or_default() += 1;
            }
            counts
        };
        if self.is_window {
            return Vec::new();
        }
        // A host may begin the interrupted turn again.
        let before = shown(self, None);
        let nothing = hash_of(&Value::Null);
        let more = |(message, count): (u64, usize)| {
            let was = before.get(&message).copied().unwrap_or_default();
            let is_repeated = was > 0 && count > was && message != nothing;
            let interrupted = self.asked_now == Some(message);
            (is_repeated && !interrupted).then_some((was, count))
        };
        let mut repeated: Vec<(usize, usize)> =
            shown(after, after.asked_now).into_iter().filter_map(more).collect();
        // The order of a map differs from run to run.
        repeated.sort_unstable();
        repeated
            .into_iter()
            .map(|(was, now)| format!("found a message {now} times that was shown {was} times"))
            .collect()
    }

    /// Returns the number of ended turns and calls that a later content still shows.
    fn decisions_in(&self, after: &KeptContent) -> usize {
        let is_active = |turn: &KeptTurn| after.active.as_ref() == Some(&turn.id);
        let turns = self.turns.iter().zip(self.places(after)).filter(|(turn, place)| {
            ENDED_TURNS.contains(&turn.state.as_str()) && (place.is_some() || is_active(turn))
        });
        let calls = after.calls_by_id();
        let is_shown = |call: &&KeptCall| {
            ENDED_CALLS.contains(&call.status.as_str()) && calls.contains_key(&call.id[..])
        };
        turns.count() + self.calls.iter().filter(is_shown).count()
    }

    fn calls_by_id(&self) -> foldhash::HashMap<&str, &KeptCall> {
        self.calls.iter().map(|call| (&call.id[..], call)).collect()
    }

    /// Returns a sentence for each turn or call that had ended and has not ended in the content after the restart.
    fn undone_by(&self, after: &KeptContent) -> Vec<String> {
        let mut undone = Vec::new();
        let is_ended = |turn: &&KeptTurn| ENDED_TURNS.contains(&turn.state.as_str());
        for turn in self.turns.iter().filter(is_ended) {
            if after.active.as_ref() == Some(&turn.id) {
                undone.push(format!(
                    "found turn `{}` active again, which was `{}`",
                    turn.id, turn.state
                ));
            }
        }
        let calls = after.calls_by_id();
        for was in self.calls.iter().filter(|call| ENDED_CALLS.contains(&call.status.as_str())) {
            let Some(now) = calls.get(&was.id[..]) else { continue };
            // A host may store a denied call as one that failed.
            let has_run = was.status == "cancelled" && now.has_succeeded;
            if has_run || !ENDED_CALLS.contains(&now.status.as_str()) {
                let (id, now, was) = (&was.id, &now.status, &was.status);
                undone.push(format!("found tool call `{id}` as `{now}`, which was `{was}`"));
            }
        }
        undone
    }

    /// Returns the place of each turn in a later content: the turn with the same id, or else the next turn with the
    /// same message.
    fn places(&self, after: &KeptContent) -> Vec<Option<usize>> {
        let by_id: foldhash::HashMap<&str, usize> =
            after.turns.iter().enumerate().map(|(at, turn)| (&turn.id[..], at)).collect();
        let mut by_message: foldhash::HashMap<u64, VecDeque<usize>> = Default::default();
        for (at, turn) in after.turns.iter().enumerate() {
            by_message.entry(turn.asked).or_default().push_back(at);
        }
        let mut next = 0;
        let mut place = |turn: &KeptTurn| {
            let mut same = || {
                let places = by_message.get_mut(&turn.asked)?;
                while places.front().is_some_and(|at| *at < next) {
                    places.pop_front();
                }
                places.front().copied()
            };
            let at = by_id.get(&turn.id[..]).copied().or_else(&mut same)?;
            next = next.max(at + 1);
            Some(at)
        };
        self.turns.iter().map(&mut place).collect()
    }

    /// Returns a sentence for each difference that a person would notice.
    fn differences(&self, after: &KeptContent) -> Vec<String> {
        let mut differences = Vec::new();
        for ((name, was), now) in MEMBERS.iter().zip(&self.members).zip(&after.members) {
            match (was, now) {
                (Some(_), None) => differences.push(format!("found no `{name}`: lost")),
                (Some(was), Some(now)) if was != now => {
                    differences.push(format!("found another `{name}`: changed"));
                }
                _ => {}
            }
        }
        let places = self.places(after);
        // A snapshot may leave out the oldest turns.
        let first = places.iter().position(Option::is_some);
        let skipped = if after.turns.is_empty() { 0 } else { first.unwrap_or_default() };
        let mut last = None;
        for (turn, place) in self.turns.iter().zip(&places).skip(skipped) {
            let id = &turn.id;
            let Some((at, now)) = place.and_then(|at| Some((at, after.turns.get(at)?))) else {
                if after.active.as_ref() != Some(id) {
                    differences.push(format!("found no turn `{id}`: lost"));
                }
                continue;
            };
            if last.is_some_and(|last| at < last) {
                differences.push(format!("found turn `{id}` at another place: changed"));
            }
            last = Some(at);
            if now.id != *id {
                differences.push(format!("found turn `{id}` under the id `{}`: changed", now.id));
            }
            if now.state != turn.state {
                let (was, now) = (&turn.state, &now.state);
                differences
                    .push(format!("found turn `{id}` as `{now}`, which was `{was}`: changed"));
            } else if now.answered != turn.answered {
                differences.push(format!("found another response in turn `{id}`: changed"));
            }
        }
        let shown: foldhash::HashSet<&String> = after.chats.iter().collect();
        for chat in self.chats.iter().filter(|chat| !shown.contains(chat)) {
            differences.push(format!("found no chat `{chat}`: lost"));
        }
        // A restarted host may go on with the queue.
        let asked = after.turns.iter().map(|turn| turn.asked).chain(after.asked_now);
        let shown: foldhash::HashSet<u64> = asked.chain(after.queue.iter().copied()).collect();
        let lost = self.queue.iter().filter(|message| !shown.contains(message)).count();
        if lost > 0 {
            let all = self.queue.len();
            differences.push(format!("found no {lost} of {all} messages of the queue: lost"));
        }
        let entries: foldhash::HashMap<&String, u64> =
            after.entries.iter().map(|(id, hash)| (id, *hash)).collect();
        for (id, was) in &self.entries {
            match entries.get(id) {
                None => differences.push(format!("found no entry `{id}`: lost")),
                Some(now) if now != was => {
                    differences.push(format!("found another entry `{id}`: changed"));
                }
                Some(_) => {}
            }
        }
        differences
    }
}

/// Returns the id of an automation or an annotation, and the hash of what a person has written.
fn entry(entry: &Value) -> (String, u64) {
    let id = text(entry, "id").or_else(|| text(entry, "resource")).unwrap_or_default();
    let mut hasher = FixedState::default().build_hasher();
    match given(entry, "definition") {
        Some(definition) => hash_of(definition).hash(&mut hasher),
        None => {
            given(entry, "resolved").map(hash_of).hash(&mut hasher);
            list(entry, "entries").iter().filter_map(|one| given(one, "text")).for_each(|text| {
                hash_of(text).hash(&mut hasher);
            });
        }
    }
    (id.to_owned(), hasher.finish())
}

/// Returns the text of a turn's message.
fn asked(turn: &Value) -> Value {
    let message = given(turn, "message").or_else(|| given(turn, "userMessage"));
    message.and_then(|message| given(message, "text")).cloned().unwrap_or_default()
}

/// Returns the hash of the parts of a turn's response. Ids of parts, times and usage do not count: a person does not
/// see them.
fn answered(turn: &Value) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for part in list(turn, "responseParts") {
        text(part, "kind").hash(&mut hasher);
        text(part, "content").hash(&mut hasher);
        if let Some(call) = given(part, "toolCall") {
            text(call, "toolCallId").hash(&mut hasher);
            text(call, "status").hash(&mut hasher);
            given(call, "content").map(hash_of).hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn hash_of(value: &Value) -> u64 {
    FixedState::default().hash_one(value.to_text())
}

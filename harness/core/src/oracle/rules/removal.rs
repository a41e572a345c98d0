//! Checks that no message arrives on the channel of a removed resource.
//!
//! Knows: removals, by their `serverSeq` or by their position on a connection. Never knows: states.

use std::collections::VecDeque;

use crate::wire::json::Value;

use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

use crate::oracle::asking::replaced;
use crate::oracle::catalogue::{CheckRule as _, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::text;
use crate::oracle::step::{ActionDelivery, OracleStep};

/// Upper bound for the removed channels, and for the requested disposals, that are remembered.
const MAX_GONE: usize = 1_024;
/// The actions that a host may still send while it removes a session.
const LAST_WORDS: &[&str] =
    &["session/chatRemoved", "session/inputNeededRemoved", "changeset/cleared"];

/// Upper bound for the dispatches to removed channels that are remembered.
const MAX_VAIN: usize = 1_024;
/// The requirement about dispatches to a channel that was disposed of.
const IGNORED: &str = "dispatch.disposed-channel-ignored";

/// The removed channels, and the channels that a client requested to dispose of.
#[derive(Default)]
pub(super) struct RemovalChecks {
    gone: VecDeque<GoneResource>,
    disposed: VecDeque<ChannelId>,
    vain: VecDeque<VainDispatch>,
}

/// A dispatch that a client sent to a channel although it had been notified of the channel's removal.
struct VainDispatch {
    conn: ConnId,
    channel: ChannelId,
    client_seq: i64,
    /// The line that notified the client of the removal, and the line of the dispatch.
    lines: [u64; 2],
}

struct GoneResource {
    channel: ChannelId,
    since: SilentSince,
    line: u64,
}

/// The moment after which nothing may arrive on a channel.
#[derive(Clone, Copy, PartialEq)]
enum SilentSince {
    /// Nothing may arrive with a higher `serverSeq` than this.
    Number(u64),
    /// The removal was a notification or an answer, which have no `serverSeq`. Nothing may arrive later on the
    /// connection that received it.
    Notice(ConnId),
}

impl CheckFamily for RemovalChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                let asked = seen.message().and_then(|it| replaced(it.method()?, it.params()));
                if let Some((uri, disposes)) = asked
                    && let Some(channel) = cx.channels.find(uri)
                {
                    self.asked(cx, channel, disposes);
                }
            }
            OracleStep::Answered { request, message } if message.result().is_some() => {
                if let Some((uri, true)) = replaced(&request.method, request.params())
                    && let Some(channel) = cx.channels.find(uri)
                    && self.disposed.contains(&channel)
                {
                    self.taken(cx, channel);
                }
            }
            OracleStep::Dispatched { channel, client_seq, .. } if !self.gone.is_empty() => {
                self.dispatched(cx, *channel, *client_seq);
            }
            OracleStep::Notified { seen, method, .. } => {
                let params = seen.message().map_or(&Value::Null, |message| message.params());
                match *method {
                    "root/sessionRemoved" => self.session_removed(cx, params),
                    "root/sessionAdded" => {
                        let summary = params.get("summary").unwrap_or(&Value::Null);
                        self.returned(cx, summary.get("resource"));
                    }
                    _ => {}
                }
            }
            OracleStep::Envelope(delivery) if delivery.envelope.rejected => {
                self.answered(cx, delivery, out);
            }
            OracleStep::Envelope(delivery) => {
                self.after(cx, delivery, out);
                self.removed(cx, delivery);
            }
            OracleStep::Closed => {
                let here = SilentSince::Notice(cx.now.conn);
                self.gone.retain(|gone| gone.since != here);
                self.vain.retain(|dispatch| dispatch.conn != cx.now.conn);
            }
            OracleStep::Restarted | OracleStep::Gap => *self = RemovalChecks::default(),
            _ => {}
        }
    }
}

impl RemovalChecks {
    /// Records a request that creates or disposes of a channel.
    fn asked(&mut self, cx: &OracleContext, channel: ChannelId, disposes: bool) {
        if !disposes {
            self.gone.retain(|gone| gone.channel != channel);
            self.disposed.retain(|other| *other != channel);
            self.vain.retain(|dispatch| dispatch.channel != channel);
            return;
        }
        let chats = cx.channel(channel).into_iter().flat_map(|channel| &channel.chats);
        for channel in std::iter::once(&channel).chain(chats) {
            if self.disposed.len() >= MAX_GONE {
                self.disposed.pop_front();
            }
            self.disposed.push_back(*channel);
        }
    }

    fn session_removed(&mut self, cx: &OracleContext, params: &Value) {
        let session = params.get("session").and_then(Value::as_str);
        let Some(session) = session.and_then(|uri| cx.channels.find(uri)) else {
            return;
        };
        self.taken(cx, session);
    }

    /// Records that the current connection was notified of a removal. The chats of a removed session are
    /// removed with the session.
    fn taken(&mut self, cx: &OracleContext, channel: ChannelId) {
        let since = SilentSince::Notice(cx.now.conn);
        let chats = cx.channel(channel).into_iter().flat_map(|channel| &channel.chats);
        for channel in std::iter::once(&channel).chain(chats) {
            self.goes(*channel, since, cx.now.line);
        }
    }

    /// Records a dispatch to a channel that the client knows to be removed.
    fn dispatched(&mut self, cx: &OracleContext, channel: ChannelId, client_seq: i64) {
        let conn = cx.now.conn;
        let here = SilentSince::Notice(conn);
        let gone = self.gone.iter().find(|gone| gone.channel == channel && gone.since == here);
        let Some(gone) = gone else { return };
        if self.vain.len() >= MAX_VAIN {
            self.vain.pop_front();
        }
        let lines = [gone.line, cx.now.line];
        self.vain.push_back(VainDispatch { conn, channel, client_seq, lines });
    }

    /// Judges a rejection: the host should not answer a dispatch to a removed channel.
    fn answered(
        &mut self,
        cx: &OracleContext,
        delivery: &ActionDelivery<'_>,
        out: &mut FindingSink,
    ) {
        let Some(origin) = delivery.envelope.origin.filter(|_| !self.vain.is_empty()) else {
            return;
        };
        let own = cx.here().and_then(|conn| conn.client_id.as_deref()) == Some(origin.client_id);
        let vain = self.vain.iter().find(|dispatch| {
            own && dispatch.conn == cx.now.conn
                && dispatch.channel == delivery.channel
                && dispatch.client_seq == origin.client_seq
        });
        if let Some(VainDispatch { lines: [removal, dispatch], .. }) = vain {
            let rule = Rule::AfterRemoval.of(IGNORED);
            out.seen(rule);
            let message = format!(
                "expected no answer to the dispatch with `clientSeq` {} on the removed channel \
                 `{}`, found a rejection",
                origin.client_seq,
                cx.uri(delivery.channel)
            );
            out.broken(rule, message, &[*removal, *dispatch, cx.now.line]);
        }
    }

    /// Records actions that remove a channel or add it again.
    fn removed(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>) {
        let action = delivery.envelope.action;
        let since = SilentSince::Number(delivery.envelope.seq);
        match delivery.envelope.action_type {
            "session/chatRemoved" => {
                let chat = action.get("chat").and_then(Value::as_str);
                let Some(chat) = chat.and_then(|uri| cx.channels.find(uri)) else {
                    return;
                };
                // If any connection uses a version in which chats can move, the chat may continue in a session that no
                // connection follows. Connections of older versions receive a move as a removal.
                let moves = |protocol: &Protocol| protocol.has(ProtocolFeature::ChatMoves);
                let mut spoken = cx.conns.values().filter_map(|conn| conn.protocol);
                let known = cx.here().is_some_and(|conn| conn.protocol.is_some());
                let own = delivery.envelope.origin.is_none();
                let default = own && is_default(cx, delivery.channel, chat);
                let ends = known && (default || !spoken.any(moves));
                if ends || self.disposed.contains(&chat) {
                    self.goes(chat, since, cx.now.line);
                }
            }
            "session/chatAdded" => {
                let summary = action.get("summary").unwrap_or(&Value::Null);
                self.returned(cx, summary.get("resource"));
            }
            "root/terminalsChanged" => self.terminals(cx, action, since),
            _ => {}
        }
    }

    /// Records terminals that the root state no longer lists.
    fn terminals(&mut self, cx: &OracleContext, action: &Value, since: SilentSince) {
        let Some(list) = action.get("terminals") else {
            return;
        };
        let root = cx.channels.find(ROOT).and_then(|root| cx.channel(root));
        let fold = root.and_then(|root| root.fold.as_ref());
        // If the folded state already includes this action, the state no longer contains the earlier list of terminals.
        let before =
            fold.filter(|fold| matches!(since, SilentSince::Number(seq) if fold.seq < seq));
        let before = before.and_then(|fold| fold.state.get("terminals"));
        // A host may list tens of thousands of terminals, so the lists are compared by a set.
        let listed: foldhash::HashSet<ChannelId> =
            resources(list).filter_map(|uri| cx.channels.find(uri)).collect();
        let before = before.into_iter().flat_map(resources);
        for terminal in before.filter_map(|uri| cx.channels.find(uri)) {
            if !listed.contains(&terminal) {
                self.goes(terminal, since, cx.now.line);
            }
        }
        self.gone.retain(|gone| !listed.contains(&gone.channel));
    }

    fn returned(&mut self, cx: &OracleContext, resource: Option<&Value>) {
        let uri = resource.and_then(Value::as_str);
        if let Some(channel) = uri.and_then(|uri| cx.channels.find(uri)) {
            self.gone.retain(|gone| gone.channel != channel);
        }
    }

    fn goes(&mut self, channel: ChannelId, since: SilentSince, line: u64) {
        if self.gone.iter().any(|gone| gone.channel == channel && gone.since == since) {
            return;
        }
        if self.gone.len() >= MAX_GONE {
            self.gone.pop_front();
        }
        self.gone.push_back(GoneResource { channel, since, line });
    }

    /// Judges whether an action arrives after the removal of its channel. Invariant A12.
    fn after(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
        if self.gone.is_empty() || LAST_WORDS.contains(&delivery.envelope.action_type) {
            return;
        }
        out.seen(Rule::AfterRemoval);
        let seq = delivery.envelope.seq;
        let late = |gone: &&GoneResource| {
            gone.channel == delivery.channel
                && match gone.since {
                    SilentSince::Number(removal) => seq > removal,
                    SilentSince::Notice(conn) => conn == cx.now.conn && delivery.replayed.is_none(),
                }
        };
        if let Some(gone) = self.gone.iter().find(late) {
            let (uri, name) = (cx.uri(delivery.channel), delivery.envelope.action_type);
            let message = format!(
                "expected no action on `{uri}` after its removal, found `{name}` with `serverSeq` \
                 {seq}"
            );
            out.broken(Rule::AfterRemoval, message, &[gone.line, cx.now.line]);
        }
    }
}

/// Returns whether a chat is the default chat of its session, which cannot be moved.
fn is_default(cx: &OracleContext, session: ChannelId, chat: ChannelId) -> bool {
    let seen = cx.followed(session).and_then(|fold| text(&fold.state, "defaultChat"));
    seen.is_some_and(|uri| uri == cx.uri(chat))
}

fn resources(list: &Value) -> impl Iterator<Item = &str> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| entry.get("resource")?.as_str())
}

//! Records actions in the log, in the subscription, and in the fold of their channel.
//!
//! Knows: the context. Never knows: rules.

use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::SeenFrame;
use crate::wire::channel::ChannelKind;

use super::channel::{ChannelFold, ChannelId};
use super::connection::OpenRequest;
use super::context::{OracleContext, StepEmitter};
use super::envelope::{ActionEnvelope, target};
use super::folding::ActionArrival;
use super::log::{KeptAction, LoggedAction};
use super::step::{ActionDelivery, OracleStep};

impl OracleContext {
    /// Records an action. `replayed` is the index of the action in a replay; `None` if the action arrived live.
    /// `resumes` is `true` if the replay continues the channel's fold.
    pub(super) fn deliver(
        &mut self,
        seen: &Arc<SeenFrame>,
        replayed: Option<usize>,
        value: &Value,
        resumes: bool,
        emit: StepEmitter<'_>,
    ) {
        let envelope = ActionEnvelope::read(value);
        let channel = envelope.and_then(|envelope| self.channels.intern(envelope.channel));
        if replayed.is_none() {
            self.action_came(channel);
        }
        let Some((envelope, channel)) = envelope.zip(channel) else {
            return;
        };
        let Some(conn) = self.here().filter(|conn| !conn.stale && !conn.closed) else {
            return;
        };
        let row = conn.protocol.and_then(|protocol| protocol.action(envelope.action_type));
        let delivery = ActionDelivery { seen, envelope, value, channel, row, replayed };
        emit(self, &OracleStep::Envelope(delivery));
        if let Some(origin) = envelope.origin.as_ref().filter(|_| replayed.is_none()) {
            self.settled_after_leaving(origin);
        }
        let line = self.now.line;
        if envelope.rejected {
            self.here_mut().last_any = Some((envelope.seq, line));
            self.reject(channel, seen, replayed);
            return;
        }
        self.learn(channel, row.map(|row| row.channel), line);
        self.take(channel, &envelope, seen, replayed);
        if !self.waiting.is_empty() {
            self.reached(envelope.seq, emit);
        }
        let way = match (replayed, resumes) {
            (None, _) => ActionArrival::Live,
            (Some(_), false) => ActionArrival::Replayed,
            (Some(_), true) => ActionArrival::Resuming,
        };
        self.fold(channel, &envelope, way, emit);
        self.catalogue(channel, &envelope);
    }

    /// Adds an accepted action to the log and to the subscription of the current connection.
    fn take(
        &mut self,
        channel: ChannelId,
        envelope: &ActionEnvelope<'_>,
        seen: &Arc<SeenFrame>,
        replayed: Option<usize>,
    ) {
        let (now, seq) = (self.now, envelope.seq);
        if self.highest.is_none_or(|(highest, _)| highest < seq) {
            self.highest = Some((seq, now.line));
        }
        self.counted(seq);
        let conn = self.here_mut();
        let version = conn.version;
        conn.last = Some((seq, now.line));
        conn.last_any = Some((seq, now.line));
        let mut merged = false;
        match conn.subs.get_mut(&channel) {
            Some(sub) => {
                merged = sub.merged;
                sub.last = sub.last.max(seq);
                sub.replayed = sub.replayed.filter(|_| replayed.is_some());
            }
            None => {
                let early = conn.early.entry(channel).or_default();
                *early = seq.max(*early);
            }
        }
        if merged || !self.log.is_new(seq) {
            return;
        }
        let logged = LoggedAction {
            channel,
            kept: match replayed {
                None => KeptAction::Live(Arc::clone(&seen.frame)),
                Some(index) => KeptAction::Replayed(Arc::clone(seen), index),
            },
            line: now.line,
            tick: now.tick,
            version,
        };
        for (old, channel) in self.log.insert(seq, logged) {
            if let Some(channel) = self.channels.get_mut(channel) {
                channel.forget(old);
            }
        }
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.remember(seq);
            // The `serverSeq` of this new action is within the range that the fold already covers, so the fold has
            // missed the action.
            let skipped =
                |fold: &ChannelFold| fold.base_seq < seq && seq <= fold.seq.max(fold.known_to);
            if replayed.is_none() && channel.fold.as_ref().is_some_and(skipped) {
                channel.lose();
            }
        }
    }

    /// Records the kind of a channel, unless the kind is known.
    fn learn(&mut self, channel: ChannelId, kind: Option<ChannelKind>, line: u64) {
        if let Some(channel) = self.channels.get_mut(channel)
            && channel.kind.is_none()
            && kind.is_some()
        {
            channel.kind = kind;
            channel.kind_line = line;
        }
    }

    /// Records the chats of a session from its actions. When a chat is removed from the catalogue, its channel may end
    /// at any moment, unless the chat is moved.
    fn catalogue(&mut self, session: ChannelId, envelope: &ActionEnvelope<'_>) {
        let uri = match envelope.action_type {
            "session/chatAdded" => envelope.action.get("summary").and_then(|it| it.get("resource")),
            "session/chatRemoved" => envelope.action.get("chat"),
            _ => return,
        };
        let uri = uri.and_then(Value::as_str);
        let Some(chat) = uri.and_then(|uri| self.channels.intern(uri)) else {
            return;
        };
        match envelope.action_type {
            "session/chatAdded" => {
                self.learn(chat, Some(ChannelKind::Chat), self.now.line);
                self.channels.own(session, chat);
            }
            _ if self.moves(session, chat) => {}
            _ => self.unsettle(chat),
        }
    }

    /// Returns whether a chat that is removed from a session's catalogue continues in another session: the
    /// other session already has the chat, or a request to move the chat is open.
    fn moves(&mut self, session: ChannelId, chat: ChannelId) -> bool {
        let Some(channel) = self.channels.get_mut(chat) else { return false };
        if channel.owner.is_some_and(|owner| owner != session) {
            return true;
        }
        let uri = channel.uri.clone();
        let asked = |request: &OpenRequest| {
            request.method == "moveChat" && target(request.params()) == Some(&*uri)
        };
        let open = self.conns.iter().filter(|(_, conn)| !conn.closed && !conn.stale);
        let moving = open.flat_map(|(_, conn)| conn.open_requests()).any(asked);
        if let Some(channel) = self.channels.get_mut(chat) {
            channel.moving = moving;
        }
        moving
    }

    /// Handles a refused request to move a chat. If the chat was removed from its catalogue in the meantime, the chat
    /// has ended.
    pub(super) fn stays(&mut self, request: &OpenRequest) {
        let chat = target(request.params()).and_then(|uri| self.channels.find(uri));
        if let Some(chat) = chat
            && let Some(channel) = self.channels.get_mut(chat)
            && std::mem::take(&mut channel.moving)
        {
            self.unsettle(chat);
        }
    }
}

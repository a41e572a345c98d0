//! Detects when a session is at rest: the host has sent every action that results from earlier actions.
//!
//! A host is at rest after some time without any frame. A busy host is never at rest, but most of its sessions are. A
//! session is at rest if no request about it is open, and if for some time no frame has concerned it or may have
//! concerned it. This time is longer than the time for a host.
//!
//! Knows: the session of a frame. Never knows: rules.
//!
//! Start at [`SessionRests`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::transcript::{ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::channel::ChannelId;
use super::connection::{OpenRequest, id_key};
use super::context::{OracleContext, StepEmitter};
use super::envelope::{channel_of, is_action, target};
use super::members::text;
use super::step::OracleStep;

/// The time without activity after which a session of a busy host counts as at rest. The specification states
/// no such time. This time is longer than the time for an idle host.
const REST: Duration = Duration::from_secs(3);
/// Upper bound for the active sessions that are remembered until they are at rest. Further sessions are not
/// judged.
const MAX_WAITING: usize = 4_096;
/// The methods that only read, and therefore change no session.
const READING: &[&str] = &["ping", "listSessions", "listResources"];
/// The prefixes of methods that concern no session.
const ALOOF: &[&str] = &["otlp/", "resource"];

/// The sessions that a frame concerns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FrameSubject {
    /// The frame concerns no session.
    Nothing,
    /// The frame concerns one session or its chats.
    Session(ChannelId),
    /// The frame may concern any session.
    Anything,
}

/// The sessions with recent activity, which are not at rest yet.
#[derive(Default)]
pub(super) struct SessionRests {
    /// The time of the last activity in each waiting session.
    last: foldhash::HashMap<ChannelId, Duration>,
    /// The sessions of `last`, each with the time at which it was added or last examined.
    queue: VecDeque<(Duration, ChannelId)>,
    /// The time of the last activity that may concern any session.
    anything: Duration,
}

impl SessionRests {
    fn disturb(&mut self, at: Duration, about: FrameSubject) {
        match about {
            FrameSubject::Nothing => {}
            FrameSubject::Anything => self.anything = at,
            FrameSubject::Session(session) => {
                if let Some(last) = self.last.get_mut(&session) {
                    *last = at;
                } else if self.last.len() < MAX_WAITING {
                    self.last.insert(session, at);
                    self.queue.push_back((at, session));
                }
            }
        }
    }

    /// Removes and returns the next session in which nothing has happened for the time `rest`; `None` if there is none.
    fn next(&mut self, at: Duration, rest: Duration) -> Option<ChannelId> {
        if self.anything + rest > at {
            return None;
        }
        while let Some((since, session)) = self.queue.front().copied() {
            if since + rest > at {
                return None;
            }
            self.queue.pop_front();
            match self.last.get(&session).copied() {
                Some(last) if last + rest <= at => {
                    self.last.remove(&session);
                    return Some(session);
                }
                Some(last) => self.queue.push_back((last, session)),
                None => {}
            }
        }
        None
    }

    /// Removes and returns every waiting session, together with the sessions in `touched`, sorted and without
    /// duplicates.
    fn take_all(&mut self, touched: &[ChannelId]) -> Vec<ChannelId> {
        self.queue.clear();
        let mut all: Vec<ChannelId> = self.last.drain().map(|(session, _)| session).collect();
        all.extend(touched);
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl OracleContext {
    /// Emits the sessions that are at rest before this entry. If the whole host is at rest, `touched` contains the
    /// sessions that have changed since the last rest.
    pub(super) fn sessions_at_rest(
        &mut self,
        entry: &TranscriptEntry,
        touched: Option<&[ChannelId]>,
        emit: StepEmitter<'_>,
    ) {
        let at = entry.at;
        let mut sessions = Vec::new();
        if let Some(touched) = touched {
            sessions = self.rests.take_all(touched);
        } else {
            let rest = REST + self.options.spread;
            while let Some(session) = self.rests.next(at, rest) {
                // The answer to an open request about the session counts as activity and will add the session again.
                if self.is_answered(session, at) {
                    sessions.push(session);
                }
            }
        }
        if !sessions.is_empty() {
            emit(self, &OracleStep::SessionsAtRest { sessions: &sessions });
        }
        if let Some(about) = self.about(entry) {
            self.rests.disturb(at, about);
        }
    }

    /// Records an action on a channel. If the channel is unknown, the action may concern any session.
    pub(super) fn action_came(&mut self, channel: Option<ChannelId>) {
        let about = channel.map_or(FrameSubject::Anything, |id| self.about_channel(id));
        self.rests.disturb(self.now.at, about);
    }

    /// Returns whether every request that may concern this session was answered, except requests that have been open
    /// for longer than the deadline.
    fn is_answered(&self, session: ChannelId, at: Duration) -> bool {
        let open = self.conns.iter().filter(|(_, conn)| !conn.closed && !conn.stale);
        // If the transcript lacks some traffic of a connection, the open requests of the connection are unknown.
        if open.clone().any(|(_, conn)| conn.gap || conn.overflow) {
            return false;
        }
        let young =
            |request: &&OpenRequest| at.saturating_sub(request.at) < self.options.patience();
        open.flat_map(|(_, conn)| conn.open_requests()).filter(young).all(|request| {
            let about = self.about_params(&request.method, request.params());
            about != FrameSubject::Anything && about != FrameSubject::Session(session)
        })
    }

    /// Returns the subject of an entry; `None` for actions of the host, for which
    /// [`OracleContext::action_came`] is called once their channel is known.
    fn about(&self, entry: &TranscriptEntry) -> Option<FrameSubject> {
        let about = match &entry.event {
            ConnectionEvent::Open { .. } | ConnectionEvent::Below { .. } => FrameSubject::Nothing,
            ConnectionEvent::Sent(seen) => self.about_frame(seen, None),
            ConnectionEvent::Received(seen) => {
                let message = seen.message();
                if message.is_some_and(is_action) {
                    return None;
                }
                let conn = self.conns.get(&entry.conn);
                let id = message.and_then(Message::id).map(id_key);
                let asked = conn.zip(id).and_then(|(conn, id)| conn.requests.get(&id)?.front());
                self.about_frame(seen, asked)
            }
            _ => FrameSubject::Anything,
        };
        Some(about)
    }

    fn about_frame(&self, seen: &Arc<SeenFrame>, asked: Option<&OpenRequest>) -> FrameSubject {
        let Some(message) = seen.message() else { return FrameSubject::Anything };
        match (message.method(), asked) {
            (Some(method), _) => self.about_params(method, message.params()),
            (None, Some(request)) => self.about_params(&request.method, request.params()),
            (None, None) => FrameSubject::Anything,
        }
    }

    fn about_params(&self, method: &str, params: &Value) -> FrameSubject {
        if READING.contains(&method) || ALOOF.iter().any(|begin| method.starts_with(begin)) {
            return FrameSubject::Nothing;
        }
        let action = params.get("action");
        let uri = match action {
            Some(action) => channel_of(params, action),
            None => target(params),
        };
        let Some(uri) = uri.filter(|_| method != "moveChat") else {
            return FrameSubject::Anything;
        };
        if uri == ROOT {
            let session = text(params, "session").or_else(|| text(&params["summary"], "resource"));
            return match (method, session) {
                ("action" | "subscribe" | "unsubscribe", _) => FrameSubject::Nothing,
                (_, Some(session)) => self.about_uri(session),
                _ => FrameSubject::Anything,
            };
        }
        self.about_uri(uri)
    }

    fn about_uri(&self, uri: &str) -> FrameSubject {
        self.channels.find(uri).map_or(FrameSubject::Anything, |id| self.about_channel(id))
    }

    fn about_channel(&self, id: ChannelId) -> FrameSubject {
        let Some(channel) = self.channel(id) else { return FrameSubject::Anything };
        match channel.kind {
            Some(ChannelKind::Session) => FrameSubject::Session(id),
            Some(ChannelKind::Root | ChannelKind::Terminal | ChannelKind::ResourceWatch) => {
                FrameSubject::Nothing
            }
            _ => {
                let session = channel.owner.or_else(|| self.families.session_of(&channel.uri));
                session.map_or(FrameSubject::Anything, FrameSubject::Session)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::channel::ChannelRecords;

    fn second(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_session_can_be_at_rest_while_others_are_not() {
        let mut channels = ChannelRecords::default();
        let mut session = |uri| channels.intern(uri).expect("room");
        let (busy, calm) = (session("ahp-session:/busy"), session("ahp-session:/calm"));
        let mut rests = SessionRests::default();
        rests.disturb(second(0), FrameSubject::Session(calm));
        rests.disturb(second(0), FrameSubject::Session(busy));
        rests.disturb(second(2), FrameSubject::Session(busy));
        rests.disturb(second(2), FrameSubject::Nothing);
        assert_eq!(rests.next(second(2), REST), None);
        assert_eq!(rests.next(second(3), REST), Some(calm));
        assert_eq!(rests.next(second(3), REST), None, "once for each time that something happens");
        assert_eq!(rests.next(second(5), REST), Some(busy));
        rests.disturb(second(6), FrameSubject::Session(calm));
        rests.disturb(second(8), FrameSubject::Anything);
        assert_eq!(rests.next(second(9), REST), None, "it may have been about the session");
        assert_eq!(rests.next(second(11), REST), Some(calm));
    }

    #[test]
    fn a_host_at_rest_has_all_its_sessions_at_rest() {
        let mut channels = ChannelRecords::default();
        let mut session = |uri| channels.intern(uri).expect("room");
        let (one, other) = (session("ahp-session:/1"), session("ahp-session:/2"));
        let mut rests = SessionRests::default();
        rests.disturb(second(0), FrameSubject::Session(other));
        assert_eq!(rests.take_all(&[other, one]), [one, other]);
        assert_eq!(rests.take_all(&[]), []);
        assert_eq!(rests.next(second(9), REST), None);
    }
}

//! When nothing more happens in a session: what follows an action with other actions has been sent by then.
//!
//! A host is at rest after a while without any frame. A busy host never is, though most of its sessions are. A session
//! is at rest when for a longer while no frame was about it, or may have been, and no request about it is open.
//!
//! Knows: what a frame is about. Never knows: rules.
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

/// How long nothing may have happened in a session of a busy host for the session to be at rest. The text gives no
/// figure. It is longer than for a host that has nothing else to do.
const REST: Duration = Duration::from_secs(3);
/// Sessions that may wait to be looked at; those beyond are not.
const MAX_WAITING: usize = 4_096;
/// Methods that change no session.
const READING: &[&str] = &["ping", "listSessions", "listResources"];
/// How the methods begin that are about no session.
const ALOOF: &[&str] = &["otlp/", "resource"];

/// What a frame is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FrameSubject {
    /// No session.
    Nothing,
    /// One session, or its chats.
    Session(ChannelId),
    /// Any session.
    Anything,
}

/// The sessions in which something happened.
#[derive(Default)]
pub(super) struct SessionRests {
    /// When something happened last in each session that waits.
    last: foldhash::HashMap<ChannelId, Duration>,
    /// The same sessions, each with the time at which it was entered, or looked at last.
    queue: VecDeque<(Duration, ChannelId)>,
    /// When something happened last that may be about any session.
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

    /// The next session in which nothing has happened for a while.
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

    /// Every session that waits, and those that were touched, once.
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
    /// Tells which sessions are at rest before this entry. Where the whole host is, `touched` has the sessions that
    /// were touched.
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
                // The answer to an open request will be about the session again.
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

    /// Takes note that an action came on a channel. Where it cannot be said on which, any session may be meant.
    pub(super) fn action_came(&mut self, channel: Option<ChannelId>) {
        let about = channel.map_or(FrameSubject::Anything, |id| self.about_channel(id));
        self.rests.disturb(self.now.at, about);
    }

    /// Whether every request was answered that may be about this session, but for those that never will be.
    fn is_answered(&self, session: ChannelId, at: Duration) -> bool {
        let open = self.conns.iter().filter(|(_, conn)| !conn.closed && !conn.stale);
        // What is open on a connection with a gap is not known.
        if open.clone().any(|(_, conn)| conn.gap) {
            return false;
        }
        let young =
            |request: &&OpenRequest| at.saturating_sub(request.at) < self.options.patience();
        open.flat_map(|(_, conn)| conn.open_requests()).filter(young).all(|request| {
            let about = self.about_params(&request.method, request.params());
            about != FrameSubject::Anything && about != FrameSubject::Session(session)
        })
    }

    /// What an entry is about; `None` for actions of the host, for which [`OracleContext::action_came`] is called once
    /// their channel is known.
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
    fn a_session_rests_while_others_do_not() {
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

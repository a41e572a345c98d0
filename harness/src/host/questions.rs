//! The open requests of the host to clients.
//!
//! Owns: the open requests, the numbers of requests. Knows: nothing else. Never knows: connections, the content of
//! responses.
//!
//! Start at [`OpenQuestions`].

use std::time::Duration;

use litemap::LiteMap;

use crate::transcript::ConnId;
use crate::wire::json::Value;

/// The maximum number of open requests to clients.
const MAX_QUESTIONS: usize = 1_000;

/// An open request of the host to a client.
#[derive(Debug)]
struct PendingQuestion {
    conn: ConnId,
    cause: QuestionCause,
    until: Duration,
}

/// The reason for a request of the host to a client.
#[derive(Debug)]
pub(super) enum QuestionCause {
    /// The host reads a plugin.
    Plugin { session: String, client: String, source: Value },
    /// The host forwards the request of another client, which is identified by its connection and its request id.
    Request { conn: ConnId, id: Value },
}

/// The open requests of the host to clients, and the number of all requests to clients and to a model.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    /// The open requests to clients, by request id.
    open: LiteMap<u64, PendingQuestion>,
    /// The number of requests so far.
    asked: u64,
}

impl OpenQuestions {
    /// Returns the id of the next request. Ids begin with 1.
    pub(super) fn next_id(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Returns whether the host may send no further request.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= MAX_QUESTIONS
    }

    /// Adds a request that was sent to a connection; `until` is the end of the time for its response.
    pub(super) fn add(&mut self, id: u64, conn: ConnId, cause: QuestionCause, until: Duration) {
        self.open.insert(id, PendingQuestion { conn, cause, until });
    }

    /// Closes the request to which a connection responds, and returns its reason; `None` if no open request of this
    /// connection has the id.
    pub(super) fn close(&mut self, conn: ConnId, id: u64) -> Option<QuestionCause> {
        self.open.get(&id).filter(|question| question.conn == conn)?;
        self.open.remove(&id).map(|question| question.cause)
    }

    /// Returns the earliest timeout of an open request; `None` if there is no open request.
    pub(super) fn next_timeout(&self) -> Option<Duration> {
        self.open.values().map(|question| question.until).min()
    }

    /// Closes the requests that have timed out, and returns their reasons.
    pub(super) fn expire(&mut self, now: Duration) -> Vec<QuestionCause> {
        let due = self.open.iter().filter(|(_, question)| question.until <= now);
        let due: Vec<u64> = due.map(|(id, _)| *id).collect();
        due.iter().filter_map(|id| self.open.remove(id)).map(|question| question.cause).collect()
    }
}

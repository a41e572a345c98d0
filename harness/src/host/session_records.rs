//! The host's records of sessions: what the host knows about a session in addition to the session's state.
//!
//! Owns: the progress of the creation of each session, the announced summaries, the use of storage.
//! Knows: nothing else. Never knows: states, connections, agents.
//!
//! Start at [`SessionRecords`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use crate::transcript::ConnId;
use crate::wire::json::Value;

/// The record of one session.
#[derive(Debug)]
struct SessionRecord {
    created_at: String,
    /// The time of the next stage of the session's creation; `None` once the session is ready.
    ready_at: Option<Duration>,
    /// The last announced summary.
    summary: Value,
    /// The connection that requested progress notifications of the creation, and the progress token.
    progress: Option<(ConnId, String)>,
    /// The number of bytes that clients have stored permanently in the session's annotations.
    annotated: usize,
    /// The URI of the session's changeset, which is the prefix of the changesets of turns; `None` before the
    /// first edit.
    changes: Option<String>,
    /// The turns that the default chat inherits from a fork.
    history: Vec<Value>,
}

/// The records of all sessions, by URI. A method does nothing, or returns an empty value, for a session without a
/// record.
#[derive(Debug, Default)]
pub(super) struct SessionRecords {
    all: LiteMap<String, SessionRecord>,
    /// The sessions that are not ready yet.
    creating: HashSet<String>,
}

impl SessionRecords {
    pub(super) fn has(&self, uri: &str) -> bool {
        self.all.contains_key(uri)
    }

    /// Returns the number of sessions.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the URIs of all sessions.
    pub(super) fn uris(&self) -> impl Iterator<Item = &String> {
        self.all.keys()
    }

    /// Adds a session that is being created. `ready_at` is the time of the next stage of its creation.
    pub(super) fn add(
        &mut self,
        uri: &str,
        created_at: String,
        ready_at: Duration,
        progress: Option<(ConnId, String)>,
    ) {
        let session = SessionRecord {
            created_at,
            ready_at: Some(ready_at),
            summary: Value::Null,
            progress,
            annotated: 0,
            changes: None,
            history: Vec::new(),
        };
        self.all.insert(uri.to_owned(), session);
        self.creating.insert(uri.to_owned());
    }

    pub(super) fn remove(&mut self, uri: &str) {
        self.all.remove(uri);
        self.creating.remove(uri);
    }

    /// Returns the sessions whose creation has a stage that is due, in the order of their URIs.
    pub(super) fn due(&self, now: Duration) -> Vec<String> {
        let due = |uri: &&String| self.ready_at(uri).is_none_or(|at| at <= now);
        let mut due: Vec<String> = self.creating.iter().filter(due).cloned().collect();
        due.sort();
        due
    }

    /// Returns the time of the next stage of a creation; `None` if no session is being created.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.creating.iter().filter_map(|uri| self.ready_at(uri)).min()
    }

    /// Delays the next stage of a session's creation.
    pub(super) fn hold_back(&mut self, uri: &str, ready_at: Duration) {
        self.change(uri, |session| session.ready_at = Some(ready_at));
        self.creating.insert(uri.to_owned());
    }

    /// Ends the creation of a session. Returns whether the session exists.
    pub(super) fn end_creation(&mut self, uri: &str) -> bool {
        self.creating.remove(uri);
        self.change(uri, |session| session.ready_at = None);
        self.has(uri)
    }

    /// Ends the creations of all sessions before they are ready. Only an injected fault does this.
    pub(super) fn abandon_creations(&mut self) {
        for uri in std::mem::take(&mut self.creating) {
            self.change(&uri, |session| session.ready_at = None);
        }
    }

    /// Returns the connection that requested progress notifications of a creation, and the progress token.
    pub(super) fn progress(&self, uri: &str) -> Option<&(ConnId, String)> {
        self.all.get(uri)?.progress.as_ref()
    }

    pub(super) fn end_progress(&mut self, uri: &str) {
        self.change(uri, |session| session.progress = None);
    }

    /// Returns the timestamp of a session's creation.
    pub(super) fn created_at(&self, uri: &str) -> &str {
        self.all.get(uri).map_or("", |session| &session.created_at)
    }

    /// Returns the URI and the last announced summary of each session.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.all.iter().map(|(uri, session)| (uri.as_str(), &session.summary))
    }

    /// Returns the last announced summary of a session.
    pub(super) fn summary(&self, uri: &str) -> Option<&Value> {
        self.all.get(uri).map(|session| &session.summary)
    }

    /// Records the summary of a session that is announced. Returns the summary that it replaces; `None` if the
    /// summary has not changed.
    pub(super) fn announce(&mut self, uri: &str, summary: &Value) -> Option<Value> {
        let session = self.all.get_mut(uri).filter(|session| session.summary != *summary)?;
        Some(std::mem::replace(&mut session.summary, summary.clone()))
    }

    /// Adds to the number of bytes that clients have stored in a session's annotations.
    pub(super) fn store(&mut self, uri: &str, bytes: usize) {
        self.change(uri, |session| session.annotated += bytes);
    }

    pub(super) fn stored(&self, uri: &str) -> usize {
        self.all.get(uri).map_or(0, |session| session.annotated)
    }

    /// Returns the URI of a session's changeset; `None` before the first edit.
    pub(super) fn changeset(&self, uri: &str) -> Option<&str> {
        self.all.get(uri)?.changes.as_deref()
    }

    /// Returns the sessions that have a changeset, with the URIs of their changesets.
    pub(super) fn changesets(&self) -> impl Iterator<Item = (&String, &str)> {
        self.all.iter().filter_map(|(uri, session)| Some((uri, session.changes.as_deref()?)))
    }

    pub(super) fn set_changeset(&mut self, uri: &str, changeset: String) {
        self.change(uri, |session| session.changes = Some(changeset));
    }

    /// Stores the turns that the default chat of a session inherits from a fork.
    pub(super) fn keep_history(&mut self, uri: &str, turns: Vec<Value>) {
        self.change(uri, |session| session.history = turns);
    }

    pub(super) fn take_history(&mut self, uri: &str) -> Vec<Value> {
        self.all
            .get_mut(uri)
            .map(|session| std::mem::take(&mut session.history))
            .unwrap_or_default()
    }

    fn ready_at(&self, uri: &str) -> Option<Duration> {
        self.all.get(uri)?.ready_at
    }

    fn change(&mut self, uri: &str, change: impl FnOnce(&mut SessionRecord)) {
        if let Some(session) = self.all.get_mut(uri) {
            change(session);
        }
    }
}

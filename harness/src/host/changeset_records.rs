//! The host's records of changesets: the edited files of each changeset and the computations that are running.
//!
//! Owns: the edited files, the times of computations. Knows: nothing else. Never knows: states, the content of files.
//!
//! Start at [`ChangesetRecords`].

use std::time::Duration;

use litemap::LiteMap;

/// The record of one changeset.
#[derive(Debug)]
struct ChangesetRecord {
    /// The session to which the changeset belongs.
    session: String,
    /// Whether this is the changeset of the whole session.
    whole: bool,
    entries: Vec<EditedFile>,
    /// The time at which the computation of the changeset ends; `None` if no computation is running.
    due: Option<Duration>,
}

/// A file that was edited.
#[derive(Clone, Debug)]
pub(super) struct EditedFile {
    pub(super) path: String,
    /// The path of the saved content from before the edit; `None` if the file did not exist before the edit.
    pub(super) before: Option<String>,
    /// The etag of the content that the changeset shows.
    pub(super) shown: Option<u64>,
}

/// The records of all changesets, by URI. A method does nothing, or returns an empty value, for a changeset without a
/// record.
#[derive(Debug, Default)]
pub(super) struct ChangesetRecords {
    all: LiteMap<String, ChangesetRecord>,
}

impl ChangesetRecords {
    pub(super) fn has(&self, uri: &str) -> bool {
        self.all.contains_key(uri)
    }

    /// Adds a changeset without files. `whole` is set for the changeset of a whole session.
    pub(super) fn add(&mut self, uri: &str, session: &str, whole: bool) {
        let session = session.to_owned();
        let changeset = ChangesetRecord { session, whole, entries: Vec::new(), due: None };
        self.all.insert(uri.to_owned(), changeset);
    }

    /// Removes a changeset and returns its files.
    pub(super) fn remove(&mut self, uri: &str) -> Vec<EditedFile> {
        self.all.remove(uri).map(|changeset| changeset.entries).unwrap_or_default()
    }

    /// Returns the changesets of a session.
    pub(super) fn of_session(&self, session: &str) -> Vec<String> {
        let own = self.all.iter().filter(|(_, changeset)| changeset.session == session);
        own.map(|(uri, _)| uri.clone()).collect()
    }

    /// Returns the session to which a changeset belongs.
    pub(super) fn session_of(&self, uri: &str) -> Option<&str> {
        self.all.get(uri).map(|changeset| changeset.session.as_str())
    }

    /// Returns whether this is the changeset of a whole session.
    pub(super) fn is_whole(&self, uri: &str) -> bool {
        self.all.get(uri).is_some_and(|changeset| changeset.whole)
    }

    /// Returns the edited files of a changeset.
    pub(super) fn files(&self, uri: &str) -> &[EditedFile] {
        self.all.get(uri).map_or(&[], |changeset| &changeset.entries)
    }

    pub(super) fn has_file(&self, uri: &str, path: &str) -> bool {
        self.files(uri).iter().any(|entry| entry.path == path)
    }

    pub(super) fn add_file(&mut self, uri: &str, file: EditedFile) {
        if let Some(changeset) = self.all.get_mut(uri) {
            changeset.entries.push(file);
        }
    }

    pub(super) fn remove_file(&mut self, uri: &str, path: &str) {
        if let Some(changeset) = self.all.get_mut(uri) {
            changeset.entries.retain(|entry| entry.path != path);
        }
    }

    /// Records the etag of the content that a changeset shows of a file.
    pub(super) fn show(&mut self, uri: &str, path: &str, etag: Option<u64>) {
        let entries = self.all.get_mut(uri).map(|changeset| changeset.entries.iter_mut());
        if let Some(entry) = entries.into_iter().flatten().find(|entry| entry.path == path) {
            entry.shown = etag;
        }
    }

    /// Starts a computation. Returns `false` if one is already running.
    pub(super) fn begin_computing(&mut self, uri: &str, due: Duration) -> bool {
        let changeset = self.all.get_mut(uri).filter(|changeset| changeset.due.is_none());
        changeset.map(|changeset| changeset.due = Some(due)).is_some()
    }

    /// Ends a computation. Returns whether the changeset exists.
    pub(super) fn end_computing(&mut self, uri: &str) -> bool {
        self.all.get_mut(uri).map(|changeset| changeset.due = None).is_some()
    }

    pub(super) fn is_computing(&self, uri: &str) -> bool {
        self.all.get(uri).is_some_and(|changeset| changeset.due.is_some())
    }

    /// Returns the changesets whose computations are due.
    pub(super) fn due(&self, now: Duration) -> Vec<String> {
        let due = self.all.iter().filter(|(_, it)| it.due.is_some_and(|due| due <= now));
        due.map(|(uri, _)| uri.clone()).collect()
    }

    /// Returns the time at which the next computation ends; `None` if no computation is running.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.all.values().filter_map(|changeset| changeset.due).min()
    }
}

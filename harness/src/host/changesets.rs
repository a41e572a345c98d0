//! Changesets: what the agents of a session have done to files, as a whole and turn by turn.
//!
//! A session has none until its first edit; then its catalogue names two. The whole one can be
//! reviewed, and its changes can be taken back; that of a turn only shows. An edit makes both be
//! computed anew, which takes a moment in which they show what they had. The one of a turn without
//! edits comes about when somebody asks for it.
//!
//! Readings taken where the specification is silent:
//! - Who speaks a version without the status `recomputing` is told it all the same: the statuses are
//!   open, and there is one state for everybody.
//! - A turn's changeset stays as it was when its changes are taken back.
//! - What has been reviewed stays so as long as the file keeps its content.
//!
//! Knows: files as they were and are. Never knows: who edits them.
//!
//! Start at [`RefHost::record_edit`].

use std::time::Duration;

use crate::wire::json::{Map, Value, json};

use super::engine::RefHost;
use super::files::{HostFile, within};
use super::resources::{escaped, uri_of};
use super::rules::{RuleFacts, require};
use crate::wire::channel::ChannelKind;
use crate::wire::protocol::Protocol;

/// How long a changeset takes to be computed.
const COMPUTING: Duration = Duration::from_millis(20);
/// The most files that a changeset shows; with more of them it has failed.
const MAX_FILES: usize = 500;

/// What the host knows of a changeset beyond its state.
#[derive(Debug)]
pub(super) struct HostChangeset {
    /// The session it belongs to.
    pub(super) session: String,
    /// Whether it is the one of the whole session.
    pub(super) whole: bool,
    pub(super) entries: Vec<EditedFile>,
    /// When it will have been computed, while it is.
    due: Option<Duration>,
}

/// A file that was edited.
#[derive(Debug)]
pub(super) struct EditedFile {
    pub(super) path: String,
    /// Where its content from before is kept; nowhere, if it was not there.
    pub(super) before: Option<String>,
    /// The content that the changeset shows.
    pub(super) shown: Option<u64>,
}

/// How many lines are new, and how many are gone: what is left between the beginnings and the ends
/// that are alike.
fn lines_apart(before: &[u8], after: &[u8]) -> (usize, usize) {
    fn lines(bytes: &[u8]) -> Vec<&[u8]> {
        bytes.split_inclusive(|byte| *byte == b'\n').collect()
    }
    let (before, after) = (lines(before), lines(after));
    let pairs = before.iter().zip(&after);
    let start = pairs.take_while(|(one, other)| one == other).count();
    let pairs = before[start..].iter().rev().zip(after[start..].iter().rev());
    let end = pairs.take_while(|(one, other)| one == other).count();
    (after.len() - start - end, before.len() - start - end)
}

impl RefHost {
    /// Notes that a turn has changed a file, and begins to compute what shows it.
    pub(super) fn record_edit(
        &mut self,
        chat: &str,
        turn: &str,
        path: String,
        before: Option<Vec<u8>>,
    ) {
        let Some(session) = self.chats.get(chat).map(|chat| chat.session.clone()) else {
            return;
        };
        let known = self.sessions.get(&session).and_then(|session| session.changes.clone());
        let base = match &known {
            Some(base) => base.clone(),
            None => format!("ahp-changeset:/{}", self.fresh_id("changes")),
        };
        let mut places = vec![(base.clone(), true), (of_turn(&base, turn), false)];
        if self.works_at(chat, &path) {
            places.push((of_chat(&base, chat), false));
        }
        for (uri, whole) in places {
            if !self.changesets.contains_key(&uri) {
                self.add_changeset(&uri, &session, whole, "computing");
            }
            let listed = self.changesets.get(&uri).map(|it| &it.entries);
            if listed.is_some_and(|entries| entries.iter().all(|entry| entry.path != path)) {
                let kept = before.as_ref().and_then(|bytes| self.files.keep(bytes));
                let entry = EditedFile { path: path.clone(), before: kept, shown: None };
                if let Some(changeset) = self.changesets.get_mut(&uri) {
                    changeset.entries.push(entry);
                }
            }
            self.begin_computing(&uri);
        }
        if let Some(session) = self.sessions.get_mut(&session) {
            session.changes = Some(base.clone());
        }
        if known.is_none() {
            let catalogue = RefHost::catalogue(&base);
            let action = json!({"type": "session/changesetsChanged", "changesets": catalogue});
            self.publish(&session, action);
        }
        self.offer_changes(chat, &base);
    }

    /// Whether a chat has directories of its own, and a path lies in one of them.
    fn works_at(&self, chat: &str, path: &str) -> bool {
        let own = self.state(chat)["workingDirectories"].as_array().into_iter().flatten();
        let mut folders = own.filter_map(|uri| self.place_of(uri.as_str()?).ok());
        let anywhere = !self.keeps("chat.changesets.scoped") && folders.next().is_some();
        anywhere || folders.any(|folder| within(path, &folder))
    }

    /// Makes a chat with directories of its own say where its changes in them show.
    fn offer_changes(&mut self, chat: &str, base: &str) {
        let uri = of_chat(base, chat);
        if self.changesets.contains_key(&uri) && self.state(chat)["changesets"].is_null() {
            let offered = json!([{"label": "Chat", "uriTemplate": uri, "changeKind": "chat"}]);
            self.publish(chat, json!({"type": "chat/changesetsChanged", "changesets": offered}));
        }
    }

    /// What a session offers.
    fn catalogue(base: &str) -> Value {
        json!([
            {
                "label": "Session", "uriTemplate": base, "changeKind": "session",
                "description": "What was done in this session.",
                "capabilities": {"review": {}},
            },
            {"label": "Turn", "uriTemplate": format!("{base}/turn/{{turnId}}"), "changeKind": "turn"},
        ])
    }

    fn add_changeset(&mut self, uri: &str, session: &str, whole: bool, status: &str) {
        let state = json!({"status": status, "files": []});
        self.add_channel(uri, ChannelKind::Changeset, state);
        let session = session.to_owned();
        let changeset = HostChangeset { session, whole, entries: Vec::new(), due: None };
        self.changesets.insert(uri.to_owned(), changeset);
    }

    /// Makes the changeset of a turn that has changed nothing, if the URI names one.
    pub(super) fn expand_changeset(&mut self, uri: &str) {
        if self.channels.contains_key(uri) {
            return;
        }
        let of = |(name, session): (&String, &super::sessions::HostSession)| {
            let turn = uri.strip_prefix(session.changes.as_deref()?)?.strip_prefix("/turn/")?;
            Some((name.clone(), turn.to_owned()))
        };
        let Some((session, turn)) = self.sessions.iter().find_map(of) else {
            return;
        };
        let known = self.chats_of(&session).iter().any(|chat| {
            let state = self.state(chat);
            let turns = state["turns"].as_array().into_iter().flatten();
            let mut ids =
                turns.chain([&state["activeTurn"]]).filter_map(|turn| turn["id"].as_str());
            ids.any(|id| escaped(id) == turn)
        });
        if known {
            self.add_changeset(uri, &session, false, "ready");
        }
    }

    fn begin_computing(&mut self, uri: &str) {
        let due = self.now + COMPUTING;
        let Some(changeset) = self.changesets.get_mut(uri) else {
            return;
        };
        if changeset.due.is_some() {
            return;
        }
        changeset.due = Some(due);
        if self.state(uri)["status"] == "computing" {
            return;
        }
        self.publish(uri, json!({"type": "changeset/statusChanged", "status": "recomputing"}));
    }

    /// When the next changeset will have been computed.
    pub(super) fn next_computed(&self) -> Option<Duration> {
        self.changesets.values().filter_map(|changeset| changeset.due).min()
    }

    /// Ends every computation whose time has come.
    pub(super) fn end_computing(&mut self) {
        let due = |(uri, changeset): (&String, &HostChangeset)| {
            changeset.due.is_some_and(|due| due <= self.now).then(|| uri.clone())
        };
        let due: Vec<String> = self.changesets.iter().filter_map(due).collect();
        due.iter().for_each(|uri| self.compute(uri));
    }

    /// Makes a changeset show what its files are now.
    fn compute(&mut self, uri: &str) {
        let Some(changeset) = self.changesets.get_mut(uri) else {
            return;
        };
        changeset.due = None;
        let (whole, session) = (changeset.whole, changeset.session.clone());
        if changeset.entries.len() > MAX_FILES {
            let error = json!({"errorType": "too-many-files", "message": "too many files"});
            let failed = json!({
                "type": "changeset/statusChanged", "status": "error", "error": error,
            });
            self.publish(uri, failed);
            return;
        }
        let mut entries = std::mem::take(&mut changeset.entries);
        let files: Vec<Value> =
            entries.iter_mut().filter_map(|entry| self.changed_file(uri, entry)).collect();
        if let Some(changeset) = self.changesets.get_mut(uri) {
            changeset.entries = entries;
        }
        self.tell_file_by_file(uri, &session, whole, &files);
        let mut content = json!({"type": "changeset/contentChanged", "files": files});
        if whole && self.state(uri)["operations"].is_null() {
            content["operations"] = super::operations::offered();
        }
        self.publish(uri, content);
        self.publish(uri, json!({"type": "changeset/statusChanged", "status": "ready"}));
        if whole {
            self.announce_summary(&session);
        }
    }

    /// Tells clients of versions that have no `changeset/contentChanged` what it says: up to 0.3.0 file by
    /// file, and before there were changesets as the differences of the session.
    fn tell_file_by_file(&mut self, uri: &str, session: &str, whole: bool, files: &[Value]) {
        if whole {
            let diffs: Vec<&Value> = files.iter().map(|file| &file["edit"]).collect();
            let action = json!({"type": "session/diffsChanged", "diffs": diffs});
            self.say_old(session, &action, |_| true);
            // How much it is once stood in the catalogue.
            let mut catalogue = RefHost::catalogue(uri);
            for (name, count) in counted(files).as_object().into_iter().flat_map(Map::iter) {
                catalogue[0][name.as_str()] = count.clone();
            }
            let action = json!({"type": "session/changesetsChanged", "changesets": catalogue});
            self.say_old(session, &action, |protocol| protocol.has_type("ChangesetSummary"));
        }
        let by_file: fn(&Protocol) -> bool =
            |protocol| protocol.action("changeset/contentChanged").is_none();
        let before = self.state(uri)["files"].as_array().cloned().unwrap_or_default();
        let gone = before.iter().filter(|old| files.iter().all(|file| file["id"] != old["id"]));
        let gone: Vec<Value> = gone.map(|file| file["id"].clone()).collect();
        for id in gone {
            self.say_old(uri, &json!({"type": "changeset/fileRemoved", "fileId": id}), by_file);
        }
        for file in files.iter().filter(|file| !before.contains(file)) {
            self.say_old(uri, &json!({"type": "changeset/fileSet", "file": file}), by_file);
        }
        if whole && self.state(uri)["operations"].is_null() {
            let operations = super::operations::offered();
            let action = json!({"type": "changeset/operationsChanged", "operations": operations});
            self.say_old(uri, &action, by_file);
        }
    }

    /// A file as a changeset shows it; none, where nothing of its changes is left.
    fn changed_file(&self, uri: &str, entry: &mut EditedFile) -> Option<Value> {
        let before = entry.before.as_deref().and_then(|path| self.files.file(path).ok());
        let after = self.files.file(&entry.path).ok();
        let bytes = |file: Option<&HostFile>| file.map(|file| file.bytes.clone());
        if bytes(before) == bytes(after) {
            return None;
        }
        let id = uri_of(&entry.path);
        let side = |content: &str, file: &HostFile| {
            let content = json!({"uri": uri_of(content), "sizeHint": file.bytes.len()});
            json!({"uri": id, "content": content})
        };
        let none = &[][..];
        let (added, removed) = lines_apart(
            before.map_or(none, |file| &file.bytes),
            after.map_or(none, |file| &file.bytes),
        );
        let mut edit = json!({"diff": {"added": added, "removed": removed}});
        if let (Some(file), Some(path)) = (before, &entry.before) {
            edit["before"] = side(path, file);
        }
        if let Some(file) = after {
            edit["after"] = side(&entry.path, file);
        }
        let mut shown = json!({"id": id, "edit": edit});
        let now = after.map(|file| file.etag);
        let known = self.state(uri)["files"].as_array();
        let known = known.into_iter().flatten().find(|file| file["id"] == shown["id"]);
        let same = entry.shown == now || !self.keeps("changeset.review.reset-on-edit");
        if known.is_some_and(|file| file["reviewed"] == true) && same {
            shown["reviewed"] = json!(true);
        }
        entry.shown = now;
        Some(shown)
    }

    /// How much a session has changed: files and lines. Nothing, where no agent has edited any.
    pub(super) fn changes_of(&self, session: &str) -> Option<Value> {
        let base = self.sessions.get(session)?.changes.as_deref()?;
        let files = self.state(base)["files"].as_array()?;
        Some(counted(files))
    }

    /// Takes a session's changesets away. Source: `session.dispose.cascade-changesets`.
    pub(super) fn drop_changesets(&mut self, session: &str) {
        if !self.keeps("session.dispose.cascade-changesets") {
            return;
        }
        let own = self.changesets.iter().filter(|(_, it)| it.session == session);
        let own: Vec<String> = own.map(|(uri, _)| uri.clone()).collect();
        for uri in own {
            // What is being computed shows its files until it has been.
            if self.changesets.get(&uri).is_some_and(|it| it.due.is_some()) {
                self.compute(&uri);
            }
            self.publish(&uri, json!({"type": "changeset/cleared"}));
            let entries = self.changesets.remove(&uri).map(|it| it.entries).unwrap_or_default();
            for path in entries.into_iter().filter_map(|entry| entry.before) {
                self.files.forget(&path);
            }
            self.drop_channel(&uri);
        }
    }
}

/// The changeset of a turn; that of the whole session is where both begin.
fn of_turn(base: &str, turn: &str) -> String {
    format!("{base}/turn/{}", escaped(turn))
}

fn of_chat(base: &str, chat: &str) -> String {
    format!("{base}/chat/{}", escaped(chat))
}

pub(super) fn reviewable(facts: &RuleFacts) -> Result<(), String> {
    let offers = facts.host.changesets.get(facts.uri).is_some_and(|it| it.whole);
    require(offers, "the changeset offers no review")
}

/// How much files were changed: how many, and their lines.
fn counted(files: &[Value]) -> Value {
    let sum = |name: &str| {
        let counts = files.iter().filter_map(|file| file["edit"]["diff"][name].as_u64());
        counts.sum::<u64>()
    };
    json!({"files": files.len(), "additions": sum("added"), "deletions": sum("removed")})
}

#[cfg(test)]
mod tests {
    use super::lines_apart;

    #[test]
    fn counts_the_lines_between() {
        for (before, after, expected) in [
            ("", "", (0, 0)),
            ("", "a\nb", (2, 0)),
            ("a\nb\n", "", (0, 2)),
            ("a\nb\nc\n", "a\nx\nc\n", (1, 1)),
            ("a\nc\n", "a\nb\nc\n", (1, 0)),
            ("a\nb\nc\n", "a\nc\n", (0, 1)),
            ("a\na\n", "a\na\na\n", (1, 0)),
            ("one", "one two", (1, 1)),
            ("a\nsame", "b\nsame", (1, 1)),
            ("xb\n", "yb\n", (1, 1)),
        ] {
            let found = lines_apart(before.as_bytes(), after.as_bytes());
            assert_eq!(found, expected, "{before:?} {after:?}");
        }
    }
}

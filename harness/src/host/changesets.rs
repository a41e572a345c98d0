//! Changesets: the file changes of a session's agents, for the whole session and for each turn.
//!
//! A session has no changesets before its first edit; after the edit, the session's catalogue lists two
//! changesets. The session's changeset can be reviewed and reverted. A turn's changeset is read-only. An edit
//! makes the host recompute both changesets. During the computation, which takes a moment, the changesets still
//! show their previous content. If a client asks for the changeset of a turn without edits, the host creates
//! this changeset.
//!
//! Interpretations where the specification is silent:
//! - The host sends the status `recomputing` also to clients of a version that does not define it: the set of
//!   statuses is open, and all clients share one state.
//! - Reverting changes does not alter a turn's changeset.
//! - A reviewed file stays reviewed as long as its content does not change.
//!
//! Knows: the former and the current content of files. Never knows: the authors of edits.
//!
//! Start at [`RefHost::record_edit`].

use std::time::Duration;

use crate::wire::json::{Map, Value, json};
use crate::wire::percent;

use super::changeset_records::EditedFile;
use super::engine::RefHost;
use super::files::KEPT;
use super::resources::uri_of;
use super::rule_facts::{RuleFacts, require};
use crate::files::tree::{TreeFile, within};
use crate::wire::channel::ChannelKind;
use crate::wire::protocol::Protocol;

/// The time that the host takes to compute a changeset.
const COMPUTING: Duration = Duration::from_millis(20);
/// The maximum number of files of a changeset. A changeset with more files has the status `error`.
const MAX_FILES: usize = 500;

/// Returns the numbers of added and removed lines: the lines between the common start and the common end.
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
    /// Records that a turn has changed a file, and starts to recompute the changesets that show it.
    pub(super) fn record_edit(
        &mut self,
        chat: &str,
        turn: &str,
        path: String,
        before: Option<Vec<u8>>,
    ) {
        let Some(session) = self.chats.session_of(chat).map(str::to_owned) else {
            return;
        };
        let known = self.sessions.changeset(&session).map(str::to_owned);
        let base = match &known {
            Some(base) => base.clone(),
            None => format!("ahp-changeset:/{}", self.fresh_id("changes")),
        };
        let mut places = vec![(base.clone(), true), (of_turn(&base, turn), false)];
        if self.works_at(chat, &path) {
            places.push((of_chat(&base, chat), false));
        }
        for (uri, whole) in places {
            if !self.changesets.has(&uri) {
                self.add_changeset(&uri, &session, whole, "computing");
            }
            if !self.changesets.has_file(&uri, &path) {
                let kept = before.as_ref().and_then(|bytes| self.files.save(KEPT, bytes));
                let file = EditedFile { path: path.clone(), before: kept, shown: None };
                self.changesets.add_file(&uri, file);
            }
            self.begin_computing(&uri);
        }
        self.sessions.set_changeset(&session, base.clone());
        if known.is_none() {
            let catalogue = RefHost::catalogue(&base);
            let action = json!({"type": "session/changesetsChanged", "changesets": catalogue});
            self.publish(&session, action);
        }
        self.offer_changes(chat, &base);
    }

    /// Returns whether a chat has its own working directories and one of them contains the path.
    fn works_at(&self, chat: &str, path: &str) -> bool {
        let own = self.state(chat)["workingDirectories"].as_array().into_iter().flatten();
        let mut folders = own.filter_map(|uri| self.place_of(uri.as_str()?).ok());
        let anywhere = !self.keeps("chat.changesets.scoped") && folders.next().is_some();
        anywhere || folders.any(|folder| within(path, &folder))
    }

    /// Publishes the changeset of a chat that has its own working directories.
    fn offer_changes(&mut self, chat: &str, base: &str) {
        let uri = of_chat(base, chat);
        if self.changesets.has(&uri) && self.state(chat)["changesets"].is_null() {
            let offered = json!([{"label": "Chat", "uriTemplate": uri, "changeKind": "chat"}]);
            self.publish(chat, json!({"type": "chat/changesetsChanged", "changesets": offered}));
        }
    }

    /// Returns the catalogue of changesets of a session.
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
        self.changesets.add(uri, session, whole);
    }

    /// Creates the changeset of a turn without edits, if the URI names such a changeset.
    pub(super) fn expand_changeset(&mut self, uri: &str) {
        if self.channels.has(uri) {
            return;
        }
        let of = |(session, base): (&String, &str)| {
            let turn = uri.strip_prefix(base)?.strip_prefix("/turn/")?;
            Some((session.clone(), turn.to_owned()))
        };
        let Some((session, turn)) = self.sessions.changesets().find_map(of) else {
            return;
        };
        let known = self.chats_of(&session).iter().any(|chat| {
            let state = self.state(chat);
            let turns = state["turns"].as_array().into_iter().flatten();
            let mut ids =
                turns.chain([&state["activeTurn"]]).filter_map(|turn| turn["id"].as_str());
            ids.any(|id| percent::escaped(id, percent::SEGMENT) == turn)
        });
        if known {
            self.add_changeset(uri, &session, false, "ready");
        }
    }

    fn begin_computing(&mut self, uri: &str) {
        if !self.changesets.begin_computing(uri, self.clock.now() + COMPUTING) {
            return;
        }
        if self.state(uri)["status"] == "computing" {
            return;
        }
        self.publish(uri, json!({"type": "changeset/statusChanged", "status": "recomputing"}));
    }

    /// Finishes every computation that is due.
    pub(super) fn end_computing(&mut self) {
        self.changesets.due(self.clock.now()).iter().for_each(|uri| self.compute(uri));
    }

    /// Recomputes a changeset from the current content of its files.
    fn compute(&mut self, uri: &str) {
        if !self.changesets.end_computing(uri) {
            return;
        }
        let whole = self.changesets.is_whole(uri);
        let session = self.changesets.session_of(uri).unwrap_or_default().to_owned();
        if self.changesets.files(uri).len() > MAX_FILES {
            let error = json!({"errorType": "too-many-files", "message": "too many files"});
            let failed = json!({
                "type": "changeset/statusChanged", "status": "error", "error": error,
            });
            self.publish(uri, failed);
            return;
        }
        let mut files = Vec::new();
        for entry in self.changesets.files(uri).to_vec() {
            if let Some((file, etag)) = self.changed_file(uri, &entry) {
                self.changesets.show(uri, &entry.path, etag);
                files.push(file);
            }
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

    /// Sends the new content to clients of versions without `changeset/contentChanged`: file by file up to
    /// 0.3.0, and as the session's diffs in versions without changesets.
    fn tell_file_by_file(&mut self, uri: &str, session: &str, whole: bool, files: &[Value]) {
        if whole {
            let diffs: Vec<&Value> = files.iter().map(|file| &file["edit"]).collect();
            let action = json!({"type": "session/diffsChanged", "diffs": diffs});
            self.say_old(session, &action, |_| true);
            // Older versions show the numbers of files and lines in the catalogue.
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

    /// Returns the changeset entry of a file, and the etag of the content that it shows; `None` if the file has its
    /// original content again.
    fn changed_file(&self, uri: &str, entry: &EditedFile) -> Option<(Value, Option<u64>)> {
        let before = entry.before.as_deref().and_then(|path| self.files.file(path).ok());
        let after = self.files.file(&entry.path).ok();
        let bytes = |file: Option<&TreeFile>| file.map(|file| file.bytes.clone());
        if bytes(before) == bytes(after) {
            return None;
        }
        let id = uri_of(&entry.path);
        let side = |content: &str, file: &TreeFile| {
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
        Some((shown, now))
    }

    /// Returns the numbers of changed files and lines of a session; `None` if no agent has edited a file in the
    /// session.
    pub(super) fn changes_of(&self, session: &str) -> Option<Value> {
        let base = self.sessions.changeset(session)?;
        let files = self.state(base)["files"].as_array()?;
        Some(counted(files))
    }

    /// Removes a session's changesets. Source: `session.dispose.cascade-changesets`.
    pub(super) fn drop_changesets(&mut self, session: &str) {
        if !self.keeps("session.dispose.cascade-changesets") {
            return;
        }
        for uri in self.changesets.of_session(session) {
            // Finish the computation, so that the changeset shows its files before it is cleared.
            if self.changesets.is_computing(&uri) {
                self.compute(&uri);
            }
            self.publish(&uri, json!({"type": "changeset/cleared"}));
            let files = self.changesets.remove(&uri);
            for path in files.into_iter().filter_map(|file| file.before) {
                self.files.discard(&path);
            }
            self.drop_channel(&uri);
        }
    }
}

/// Returns the URI of a turn's changeset. `base` is the URI of the session's changeset.
fn of_turn(base: &str, turn: &str) -> String {
    format!("{base}/turn/{}", percent::escaped(turn, percent::SEGMENT))
}

fn of_chat(base: &str, chat: &str) -> String {
    format!("{base}/chat/{}", percent::escaped(chat, percent::SEGMENT))
}

pub(super) fn reviewable(facts: &RuleFacts) -> Result<(), String> {
    require(facts.host.changesets.is_whole(facts.uri), "the changeset offers no review")
}

/// Returns the number of changed files and the sums of their added and removed lines.
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

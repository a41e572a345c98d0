//! File edits of agents' tools: `write` and `edit`, inside the folders that clients may reach.
//!
//! The host's own agent takes an edit from the input of the tool call. An agent subprocess reports an edit as a
//! diff. Both change the host's files, and notify the watches and the session's changesets.
//!
//! Knows: the input of a call, differences. Never knows: channels.
//!
//! Start at [`RefHost::edit_called`].

use crate::agent::script::ToolClass;
use crate::wire::json::Value;

use super::engine::RefHost;
use super::files::AREA;
use crate::files::tree::{ExpectedContent, WriteMode, parent};

/// A change of a file's content.
enum FileEdit<'a> {
    /// Replaces the content with this string.
    Whole(&'a str),
    /// Replaces the first occurrence of the first text with the second text.
    Part(&'a str, &'a str),
}

/// Returns the absolute path for a path relative to the agent's folder; `None` if the path leads out of the
/// folder.
fn absolute(path: &str) -> Option<String> {
    let plain = |piece: &str| !matches!(piece, "" | "." | "..") && !piece.contains('\0');
    path.split('/').all(plain).then(|| format!("{AREA}/{path}"))
}

/// Returns the text and the file name of a command of the form `echo TEXT > NAME`.
fn written_by(command: &str) -> Option<(&str, &str)> {
    let (text, name) = command.strip_prefix("echo ")?.split_once(" > ")?;
    let is_name = |name: &str| {
        let allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '.' | '_');
        !name.is_empty() && name.chars().all(allowed)
    };
    is_name(name).then_some((text, name))
}

impl RefHost {
    /// Performs the file edit of a call of the host's own tools.
    ///
    /// # Errors
    /// Returns the reason for a failed edit, as a string for people.
    pub(super) fn edit_called(
        &mut self,
        chat: &str,
        turn: &str,
        class: &ToolClass,
        input: &str,
    ) -> Result<(), String> {
        let (path, rest) = input.split_once('\n').unwrap_or((input, ""));
        let edit = match class {
            ToolClass::Write => FileEdit::Whole(rest),
            ToolClass::Edit => {
                let (old, new) = rest.split_once('\n').unwrap_or((rest, ""));
                FileEdit::Part(old, new)
            }
            // The simulated shell writes a file in the folder of the session.
            ToolClass::Shell => {
                let Some((text, name)) = written_by(input) else { return Ok(()) };
                let session = self.chats.session_of(chat).unwrap_or_default();
                let folder = self.state(session)["workingDirectories"][0].as_str();
                let folder = folder.and_then(|folder| self.path_of(folder).ok());
                let folder = folder.as_deref().and_then(|folder| folder.strip_prefix(AREA));
                let path = format!("{}/{name}", folder.unwrap_or_default());
                let path = path.trim_start_matches('/');
                return self.edit(chat, turn, path, &FileEdit::Whole(&format!("{text}\n")));
            }
            _ => return Ok(()),
        };
        self.edit(chat, turn, path, &edit)
    }

    /// Applies the diffs that an agent subprocess reports for its folder. Ignores a diff that does not fit the
    /// host's files, because the agent may have files that the host does not have.
    pub(super) fn edit_told(&mut self, chat: &str, turn: &str, folder: &str, content: &Value) {
        let differences = content.as_array().into_iter().flatten();
        for one in differences.filter(|item| item["type"] == "diff") {
            let path = one["path"]
                .as_str()
                .and_then(|path| path.strip_prefix(folder.trim_end_matches('/')));
            let path = path.and_then(|path| path.strip_prefix('/'));
            let (Some(path), Some(new)) = (path, one["newText"].as_str()) else {
                continue;
            };
            let edit = match one["oldText"].as_str() {
                Some(old) => FileEdit::Part(old, new),
                None => FileEdit::Whole(new),
            };
            let _ = self.edit(chat, turn, path, &edit);
        }
    }

    fn edit(&mut self, chat: &str, turn: &str, path: &str, edit: &FileEdit) -> Result<(), String> {
        let path = absolute(path).ok_or("the path is outside of the folder")?;
        let before = self.files.file(&path).ok().map(|file| file.bytes.clone());
        let after = match edit {
            FileEdit::Whole(text) => (*text).to_owned(),
            FileEdit::Part(old, new) => {
                let text = before.as_deref().and_then(|bytes| str::from_utf8(bytes).ok());
                let text = text.filter(|text| !old.is_empty() && text.contains(old));
                text.ok_or("that text is not in the file")?.replacen(old, new, 1)
            }
        };
        let now = self.clock.timestamp();
        let how = (WriteMode::Truncate, 0);
        let mut changes =
            self.files.make_folder(parent(&path)).map_err(|it| it.message.to_owned())?;
        let written =
            self.files.write(&path, after.as_bytes(), how, &ExpectedContent::default(), &now);
        changes.extend(written.map_err(|it| it.message.to_owned())?);
        self.tell_watches(&changes);
        self.record_edit(chat, turn, path, before);
        Ok(())
    }
}

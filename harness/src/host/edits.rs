//! What the tools of agents do to files: `write` and `edit`, in the area of clients.
//!
//! The host's own agent says what it does as the agent script has it; agents that the host has
//! started tell of it in a difference. Either way the host's files change, and those who watch them
//! and the session's changesets follow.
//!
//! Knows: the input of a call, differences. Never knows: channels.
//!
//! Start at [`RefHost::edit_called`].

use crate::agent::script::ToolClass;
use crate::wire::json::Value;

use super::engine::RefHost;
use super::files::{AREA, ExpectedContent, WriteMode, parent};

/// What a file is to become.
enum FileEdit<'a> {
    /// This.
    Whole(&'a str),
    /// What it was, with another text at the first place of one.
    Part(&'a str, &'a str),
}

/// The absolute path of a file that an agent names from its folder.
fn absolute(path: &str) -> Option<String> {
    let plain = |piece: &str| !matches!(piece, "" | "." | "..") && !piece.contains('\0');
    path.split('/').all(plain).then(|| format!("{AREA}/{path}"))
}

impl RefHost {
    /// Does to files what a call of the host's own tools does to them.
    ///
    /// # Errors
    /// Why not, for a person.
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
            _ => return Ok(()),
        };
        self.edit(chat, turn, path, &edit)
    }

    /// Does to files what a call of an agent that works in a folder of its own has told of. What
    /// fits nothing here is left alone: that agent has other files than this host.
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
        let path = absolute(path).ok_or("the path leads out of the folder")?;
        let before = self.files.file(&path).ok().map(|file| file.bytes.clone());
        let after = match edit {
            FileEdit::Whole(text) => (*text).to_owned(),
            FileEdit::Part(old, new) => {
                let text = before.as_deref().and_then(|bytes| str::from_utf8(bytes).ok());
                let text = text.filter(|text| !old.is_empty() && text.contains(old));
                text.ok_or("that text is not in the file")?.replacen(old, new, 1)
            }
        };
        let now = self.timestamp();
        let how = (WriteMode::Truncate, 0);
        let mut changes = self.files.make_folder(parent(&path)).map_err(|it| it.message)?;
        let written =
            self.files.write(&path, after.as_bytes(), how, &ExpectedContent::default(), &now);
        changes.extend(written.map_err(|it| it.message)?);
        self.tell_watches(&changes);
        self.record_edit(chat, turn, path, before);
        Ok(())
    }
}

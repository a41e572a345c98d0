//! Stores the sessions of the reference agent on disk, for later processes of the agent. The folder has a JSON
//! file for each session.

use std::path::{Path, PathBuf};

use crate::agent::acp::MAX_SESSIONS;
use crate::transport::acp::KeepSession;
use crate::wire::json::Value;

use super::exit::CommandStop;
use super::files;

/// A folder of sessions.
#[derive(Clone, Debug)]
pub(super) struct SessionFolder(PathBuf);

impl SessionFolder {
    /// Opens the folder, and makes the folder if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made.
    pub(super) fn open(path: &Path) -> Result<SessionFolder, CommandStop> {
        std::fs::create_dir_all(path).map_err(|error| {
            CommandStop::usage(format!("`{}` cannot be made: {error}", path.display()))
        })?;
        Ok(SessionFolder(path.to_owned()))
    }

    /// Reads the sessions that earlier processes have stored. A file with invalid JSON is skipped: the process
    /// that wrote the file was killed.
    pub(super) fn read(&self) -> Value {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let texts = paths.take(MAX_SESSIONS).filter_map(|path| files::text(&path).ok());
        texts.filter_map(|text| Value::read(&text).ok()).collect()
    }

    /// Returns a function that writes sessions into the folder. A session that cannot be written is skipped
    /// without an error.
    pub(super) fn keeper(self) -> KeepSession {
        Box::new(move |id, kept| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
            if id.is_empty() || !id.chars().all(plain) {
                return;
            }
            let path = self.0.join(format!("{id}.json"));
            match kept.is_null() {
                true => drop(std::fs::remove_file(path)),
                false => drop(files::replace(&path, &kept.to_text())),
            }
        })
    }
}

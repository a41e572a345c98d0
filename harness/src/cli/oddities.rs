//! Puts special files on the disk of an external host, for the duration of a run: links that lead out of the clients'
//! folder, a pipe without a writer, and a sparse file of one gibibyte.
//!
//! The special files are in a separate folder, which is removed after the run.
//!
//! Start at [`RunFolders::put`].

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::system::{link, pipe};
use crate::wire::percent;

/// The content of the file outside of the clients' folder. No frame of the host may contain this text.
pub(super) const CANARY: &str = "ahp-harness-canary-7c19d2e0b4";
/// The prefix of the names of all folders that the harness makes.
pub(super) const FOLDER_PREFIX: &str = "ahp-harness-";
/// The size of the sparse file, in bytes.
const LARGE: u64 = 1 << 30;

/// The special files of a run, which are removed when this value is dropped.
pub(super) struct RunFolders {
    inside: TempDir,
    outside: TempDir,
}

impl RunFolders {
    /// Puts the files into a folder that clients may use, and into a folder that clients may not use.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written.
    pub(super) fn put(inside: &Path, outside: &Path) -> io::Result<RunFolders> {
        let make = |parent| tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir_in(parent);
        let folders = RunFolders { inside: make(inside)?, outside: make(outside)? };
        let [inside, outside] = [folders.inside.path(), folders.outside.path()];
        let canary = outside.join("canary.txt");
        fs::write(&canary, CANARY)?;
        fs::write(inside.join("inside.txt"), "inside")?;
        link(&fs::canonicalize(outside)?, &inside.join("link"))?;
        link(&fs::canonicalize(canary)?, &inside.join("link.txt"))?;
        pipe(&inside.join("pipe"))?;
        fs::File::create(inside.join("large"))?.set_len(LARGE)?;
        Ok(folders)
    }

    /// Returns the URI of the folder that clients may use.
    pub(super) fn folder(&self) -> String {
        uri_of(self.inside.path())
    }
}

/// Returns the file URI of a path on this machine.
pub(super) fn uri_of(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = percent::escaped(path.as_os_str().as_encoded_bytes(), percent::PATH);
    format!("file://{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_files_are_made_and_removed() {
        let here = tempfile::tempdir().unwrap();
        let [inside, outside] = ["in side", "outside"].map(|name| here.path().join(name));
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(&outside).unwrap();
        let put = RunFolders::put(&inside, &outside).unwrap();
        assert!(put.folder().contains("/in%20side/ahp-harness-"));
        let through = put.inside.path().join("link/canary.txt");
        assert_eq!(fs::read_to_string(through).unwrap(), CANARY);
        assert_eq!(fs::metadata(put.inside.path().join("large")).unwrap().len(), LARGE);
        drop(put);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}

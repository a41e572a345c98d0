//! Special files on the disk of a host outside, for the time of a run: links that lead out of the clients'
//! folder, a pipe without a writer, a sparse file of one gibibyte.
//!
//! They lie in a folder of their own, which is removed after the run.
//!
//! Start at [`RunFolders::put`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::system::{link, pipe};

/// The content of the file outside of the clients' folder. It may not occur in any frame of the host.
pub(super) const CANARY: &str = "ahp-harness-canary-7c19d2e0b4";
/// The size of the sparse file, in bytes.
const LARGE: u64 = 1 << 30;

/// The special files of a run. Dropping it removes them.
pub(super) struct RunFolders {
    inside: PathBuf,
    outside: PathBuf,
}

impl RunFolders {
    /// Puts the files into a folder that clients may use, and into one that they may not.
    ///
    /// # Errors
    /// The files cannot be written.
    pub(super) fn put(inside: &Path, outside: &Path, tag: u64) -> io::Result<RunFolders> {
        let own = format!("ahp-harness-{tag:016x}");
        let [inside, outside] = [inside, outside].map(|folder| folder.join(&own));
        fs::create_dir(&outside)?;
        let put = RunFolders { inside, outside };
        fs::create_dir(&put.inside)?;
        let canary = put.outside.join("canary.txt");
        fs::write(&canary, CANARY)?;
        fs::write(put.inside.join("inside.txt"), "inside")?;
        link(&fs::canonicalize(&put.outside)?, &put.inside.join("link"))?;
        link(&fs::canonicalize(canary)?, &put.inside.join("link.txt"))?;
        pipe(&put.inside.join("pipe"))?;
        fs::File::create(put.inside.join("large"))?.set_len(LARGE)?;
        Ok(put)
    }

    /// Returns the URI of the folder that clients may use.
    pub(super) fn folder(&self) -> String {
        uri_of(&self.inside)
    }
}

/// Returns the file URI of a path on this machine.
pub(super) fn uri_of(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let escaped = |byte: u8| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let path = path.as_os_str().as_encoded_bytes();
    format!("file://{}", path.iter().copied().map(escaped).collect::<String>())
}

impl Drop for RunFolders {
    fn drop(&mut self) {
        // A folder that cannot be removed is left behind.
        let _ = fs::remove_dir_all(&self.inside);
        let _ = fs::remove_dir_all(&self.outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_and_go() {
        let here = std::env::temp_dir().join(format!("ahp-odd-{}", std::process::id()));
        let [inside, outside] = ["in side", "outside"].map(|name| here.join(name));
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(&outside).unwrap();
        let put = RunFolders::put(&inside, &outside, 7).unwrap();
        assert!(put.folder().ends_with("/in%20side/ahp-harness-0000000000000007"));
        let through = put.inside.join("link/canary.txt");
        assert_eq!(fs::read_to_string(through).unwrap(), CANARY);
        assert_eq!(fs::metadata(put.inside.join("large")).unwrap().len(), LARGE);
        assert!(RunFolders::put(&inside, &outside, 7).is_err());
        drop(put);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_dir_all(here).unwrap();
    }
}

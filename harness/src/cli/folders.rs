//! Finds folders for scenarios about files: those that the user prepared on the host's disk, or those that the
//! harness makes on the disk that a host may share with it.
//!
//! The harness makes its folders in one temporary folder, which is removed after the run.
//!
//! Knows: the disk, the purpose of each folder. Never knows: the requests to a host.
//!
//! Start at [`look`].

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::run::detect::{self, DetectedFeature};
use crate::run::folders::{CANARY, CANARY_TEXT, FILE, FolderProbe};

use super::exit::CommandStop;
use super::oddities::{FOLDER_PREFIX, uri_of};

/// The folders of a run, which are removed when this value is dropped.
pub(super) struct SharedDisk {
    base: TempDir,
}

impl SharedDisk {
    /// Makes the workspace folder, and the folders whose files may need permission. All folders are siblings,
    /// as on the reference host, so `..` leads from one to the other. The names of the folders differ from the
    /// names in every other run, even if both runs have the same seed.
    ///
    /// # Errors
    /// Returns an error if the folders cannot be made.
    pub(super) fn make() -> io::Result<SharedDisk> {
        let base = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir()?;
        let disk = SharedDisk { base };
        for (folder, file, text) in [
            ("harness", CANARY, CANARY_TEXT.as_bytes()),
            ("shown", CANARY, CANARY_TEXT.as_bytes()),
            ("shown", "text.txt", "grüße".as_bytes()),
            ("shown", "bytes", &[0xff, 0x00, 0xfe]),
            ("shown/folder", "text.txt", b"text"),
            ("asked", FILE, b""),
            ("asked", "two", b""),
            ("outside", CANARY, CANARY_TEXT.as_bytes()),
        ] {
            let folder = disk.base.path().join(folder);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(file), text)?;
        }
        Ok(disk)
    }

    fn uri(&self) -> String {
        uri_of(self.base.path())
    }
}

/// The facts about a host that are known before the harness requests files.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileHost<'a> {
    /// Whether the host answers requests for files.
    pub(super) resources: bool,
    /// Whether the host may share the disk of this machine.
    pub(super) is_local: bool,
    /// The URI of the folder that the user has prepared, with the same content as [`SharedDisk`].
    pub(super) prepared: Option<&'a str>,
    /// The folder that the user has declared writable for clients.
    pub(super) inside: Option<&'a Path>,
    /// The `defaultDirectory` of the host.
    pub(super) default_directory: Option<&'a str>,
}

/// Determines what clients of a host may do with files. Returns the harness's folders if the host uses them. The
/// function `shows` returns whether a probe passes when it uses a folder.
///
/// # Errors
/// Returns an error if the folders cannot be made, or if a probe cannot be played.
pub(super) async fn look(
    host: FileHost<'_>,
    shows: impl AsyncFn(FolderProbe, &str) -> Result<bool, CommandStop>,
) -> Result<(Vec<DetectedFeature>, Option<SharedDisk>), CommandStop> {
    let mut found = Vec::new();
    let mut shared = None;
    // The URI of the folder that contains all probe folders, and the reason why this folder is used.
    let mut base = None;
    if let Some(uri) = host.prepared.filter(|_| host.resources) {
        let uri = uri.strip_suffix('/').unwrap_or(uri);
        base = Some((uri.to_owned(), "`--prepared-folder` names it"));
    } else if host.resources && host.is_local {
        let disk = SharedDisk::make();
        let disk = disk.map_err(|error| {
            CommandStop::fault(format!("the folder for files could not be made: {error}"))
        })?;
        base = Some((disk.uri(), "the harness made it on a disk that the host shares"));
        shared = Some(disk);
    }
    if let Some((uri, how)) = &base {
        let uri = format!("{uri}/shown");
        match shows(FolderProbe::Shared, &uri).await? {
            true => {
                let how = format!("the host reads {uri}: {how}");
                found.push(detect::folder("readableFolder", &uri, how));
            }
            false => (base, shared) = (None, None),
        }
    }
    let own = base.as_ref().map(|(uri, how)| (format!("{uri}/harness"), *how));
    let candidates = [
        own,
        host.inside.map(|path| (uri_of(path), "`--files` names it")),
        host.default_directory.map(|uri| (uri.to_owned(), "the host's `defaultDirectory`")),
    ];
    for (uri, how) in candidates.into_iter().flatten().filter(|_| host.resources) {
        if shows(FolderProbe::Workspace, &uri).await? {
            let uri = uri.trim_end_matches('/');
            found.push(detect::folder(
                "workspace",
                uri,
                format!("clients may write in {uri}: {how}"),
            ));
            break;
        }
    }
    if let Some((base, _)) = &base {
        let uri = format!("{base}/asked");
        if shows(FolderProbe::Granted, &uri).await? {
            let how = format!("files in {uri} need permission, which the host grants");
            found.push(detect::folder("grantedFolder", &uri, how));
        }
        let folder = format!("{base}/outside");
        let file = format!("{folder}/{CANARY}");
        if shows(FolderProbe::Denied, &file).await? {
            let how = format!("the host does not open {file}");
            found.push(detect::denied_file(&file, how.as_str()));
            found.push(detect::folder("deniedFolder", &folder, how));
        }
    }
    let why = match (host.resources, &base, host.prepared) {
        (false, ..) => "the host does not answer `resourceRead`",
        (true, Some((_, how)), _) => &format!("tried in a folder: {how}"),
        (true, None, Some(uri)) => {
            &format!("the host does not read `shown/{CANARY}` in the prepared folder {uri}")
        }
        (true, None, None) => {
            "the host does not read files that the harness writes on this machine"
        }
    };
    for capability in ["workspace", "readableFolder", "grantedFolder", "deniedFile", "deniedFolder"]
    {
        if found.iter().all(|it| it.capability != capability) {
            found.push(DetectedFeature::new(capability, false, why));
        }
    }
    Ok((found, shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of [`look`] for a simulated host. The host passes exactly the probes in this list, each in a
    /// folder whose URI ends with this suffix.
    async fn found(
        is_local: bool,
        prepared: Option<&str>,
        passes: &[(FolderProbe, &str)],
    ) -> Vec<String> {
        let host = FileHost {
            resources: true,
            is_local,
            prepared,
            inside: None,
            default_directory: Some("file:///given/"),
        };
        let shows = async |probe: FolderProbe, uri: &str| {
            Ok(passes.iter().any(|(passing, end)| *passing == probe && uri.ends_with(end)))
        };
        let (found, _disk) = look(host, shows).await.ok().unwrap();
        let folder = |it: DetectedFeature| format!("{} {}", it.capability, it.offered);
        found.into_iter().map(folder).collect()
    }

    #[tokio::test]
    async fn a_folder_is_used_where_the_host_knows_it() {
        use FolderProbe::{Denied, Granted, Shared, Workspace};
        let own = [(Shared, "/shown"), (Workspace, "/harness")];
        let all = [&own[..], &[(Granted, "/asked"), (Denied, "/outside/canary.txt")]].concat();
        let check = |mut found: Vec<String>, expected: [bool; 5]| {
            let names =
                ["deniedFile", "deniedFolder", "grantedFolder", "readableFolder", "workspace"];
            let expected = names.iter().zip(expected).map(|(name, is)| format!("{name} {is}"));
            found.sort();
            assert!(found.iter().cloned().eq(expected), "{found:?}");
        };
        check(found(true, None, &all).await, [true, true, true, true, true]);
        check(found(true, None, &own).await, [false, false, false, true, true]);
        // The harness only requests files that it has created itself.
        let elsewhere = [(Workspace, "/given/"), (Denied, "")];
        check(found(true, None, &elsewhere).await, [false, false, false, false, true]);
        check(found(false, None, &all).await, [false, false, false, false, false]);
        // A folder that the user prepared is used on any machine.
        let there = "file:///there/";
        check(found(false, Some(there), &all).await, [true, true, true, true, true]);
        check(found(true, Some(there), &elsewhere).await, [false, false, false, false, true]);
    }

    #[test]
    fn folders_are_made_and_removed() {
        let disk = SharedDisk::make().unwrap();
        let base = disk.base.path().to_owned();
        // Two simultaneous runs have different folders, even with the same seed.
        assert_ne!(SharedDisk::make().unwrap().base.path(), base);
        assert_eq!(fs::read_to_string(base.join("harness").join(CANARY)).unwrap(), CANARY_TEXT);
        assert!(disk.uri().starts_with("file:///"));
        drop(disk);
        assert!(!base.exists());
    }
}

//! Makes folders for scenarios about files, on the disk that a host may share with the harness.
//!
//! The folders are in one temporary folder, which is removed after the run.
//!
//! Knows: the disk, which folder shows what. Never knows: how a host is asked.
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

    fn uri(&self, folder: &str) -> String {
        uri_of(&self.base.path().join(folder))
    }
}

/// The facts about a host that are known before the harness requests files.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileHost<'a> {
    /// Whether the host answers requests for files.
    pub(super) resources: bool,
    /// Whether the host may share the disk of this machine.
    pub(super) is_local: bool,
    /// The folder that the user has declared writable for clients.
    pub(super) inside: Option<&'a Path>,
    /// The `defaultDirectory` of the host.
    pub(super) default_directory: Option<&'a str>,
}

/// Determines what clients of a host may do with files. Returns the harness's folders if the host uses them.
/// `shows` says whether a probe passes with a folder.
///
/// # Errors
/// Returns an error if the folders cannot be made, or if a probe cannot be played.
pub(super) async fn look(
    host: FileHost<'_>,
    shows: impl AsyncFn(FolderProbe, &str) -> Result<bool, CommandStop>,
) -> Result<(Vec<DetectedFeature>, Option<SharedDisk>), CommandStop> {
    let mut found = Vec::new();
    let mut shared = None;
    if host.resources && host.is_local {
        let disk = SharedDisk::make();
        let disk = disk.map_err(|error| {
            CommandStop::fault(format!("the folder for files could not be made: {error}"))
        })?;
        let uri = disk.uri("shown");
        if shows(FolderProbe::Shared, &uri).await? {
            let how =
                format!("the host reads {uri}: the harness made it on the disk that both share");
            found.push(detect::folder("readableFolder", &uri, how));
            shared = Some(disk);
        }
    }
    let candidates = [
        (
            shared.as_ref().map(|disk| disk.uri("harness")),
            "the harness made it on the disk that the host shares",
        ),
        (host.inside.map(uri_of), "`--files` names it"),
        (host.default_directory.map(str::to_owned), "the host's `defaultDirectory`"),
    ];
    for (uri, how) in candidates {
        let Some(uri) = uri.filter(|_| host.resources) else { continue };
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
    if let Some(disk) = &shared {
        let uri = disk.uri("asked");
        if shows(FolderProbe::Granted, &uri).await? {
            let how = format!("files in {uri} need permission, which the host grants");
            found.push(detect::folder("grantedFolder", &uri, how));
        }
        let folder = disk.uri("outside");
        let file = disk.uri("outside/canary.txt");
        if shows(FolderProbe::Denied, &file).await? {
            let how = format!("the host does not open {file}");
            found.push(detect::denied_file(&file, how.as_str()));
            found.push(detect::folder("deniedFolder", &folder, how));
        }
    }
    let why = match (host.resources, &shared) {
        (false, _) => "the host does not answer `resourceRead`",
        (true, Some(_)) => {
            "tried in a folder that the harness made on the disk that the host shares"
        }
        (true, None) => "the host does not read what the harness writes on this machine",
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

    /// Returns the result for a host that passes these probes in folders with these URI suffixes.
    async fn found(is_local: bool, passes: &[(FolderProbe, &str)]) -> Vec<String> {
        let host = FileHost {
            resources: true,
            is_local,
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
        check(found(true, &all).await, [true, true, true, true, true]);
        check(found(true, &own).await, [false, false, false, true, true]);
        // The harness only requests files that it has created itself.
        let elsewhere = [(Workspace, "/given/"), (Denied, "")];
        check(found(true, &elsewhere).await, [false, false, false, false, true]);
        check(found(false, &all).await, [false, false, false, false, false]);
    }

    #[test]
    fn folders_are_made_and_removed() {
        let disk = SharedDisk::make().unwrap();
        let base = disk.base.path().to_owned();
        // Two simultaneous runs have different folders, even with the same seed.
        assert_ne!(SharedDisk::make().unwrap().base.path(), base);
        assert_eq!(fs::read_to_string(base.join("harness").join(CANARY)).unwrap(), CANARY_TEXT);
        assert!(disk.uri("asked").starts_with("file:///"));
        drop(disk);
        assert!(!base.exists());
    }
}

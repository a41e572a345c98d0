//! The part of the first look about files: where the clients of an external host may write, for which files they have
//! to request access, and which files they may not read.
//!
//! Hosts do not declare these facts. If the host and the harness share a disk, the harness creates folders and checks
//! whether the host can read them. Otherwise, the harness uses the host's `defaultDirectory`. Each probe is a small
//! scenario that is played before all others. A folder is used if its probe passes. Probes do not judge the host.
//!
//! Knows: scenarios. Never knows: disks, sockets, the origin of a folder.
//!
//! Start at [`FolderProbe`].

use crate::scenario::capability::WORKSPACE;

use super::detect;
use super::suite::{CarriedFiles, ScenarioSuite, SuiteEntry};

/// The content of the file [`CANARY`]. A host that can read this content shares the harness's disk.
pub const CANARY_TEXT: &str = "of ahp-harness";
/// The name of a file that the harness writes and the host has to read, which shows whether they share a disk.
pub const CANARY: &str = "canary.txt";
/// The name of the file that shows whether clients have to request access before they read a file.
pub const FILE: &str = "one";

/// A scenario that determines what clients may do in a folder. The folder is bound to a name such as
/// `${workspace.folder}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FolderProbe {
    /// The host can read a file that the harness wrote.
    Shared,
    /// Clients may create folders and files.
    Workspace,
    /// Clients can read a file after they requested access, and not before.
    Granted,
    /// A request for access to the file is refused.
    Denied,
}

impl FolderProbe {
    /// Returns the capability that the host has if the probe passes.
    pub fn capability(self) -> &'static str {
        match self {
            FolderProbe::Shared => "readableFolder",
            FolderProbe::Workspace => WORKSPACE,
            FolderProbe::Granted => "grantedFolder",
            FolderProbe::Denied => "deniedFile",
        }
    }

    fn text(self) -> &'static str {
        match self {
            FolderProbe::Shared => {
                r#"
scenario: detect/folder
title: The host reads what the harness wrote
needs: [readableFolder]
clients: [A]

steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: resourceRequest, params: { uri: "${readableFolder.folder}", read: true, write: true }, result: {}, error: { code: { $type: integer } }, spec: ">=0.1.0" }
  - request: { by: A, method: resourceRead, params: { uri: "${readableFolder.folder}/canary.txt" }, result: { data: of ahp-harness }, proves: resource.read.text }
"#
            }
            FolderProbe::Workspace => {
                r#"
scenario: detect/folder
title: Clients may make folders and files
needs: [workspace]
clients: [A]

steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: resourceRequest, params: { uri: "${workspace.folder}", read: true, write: true }, result: {}, error: { code: { $type: integer } }, spec: ">=0.1.0" }
  - request: { by: A, method: resourceMkdir, params: { uri: "${new path folder}" }, result: {}, spec: ">=0.2.0" }
  - request: { by: A, method: resourceWrite, params: { uri: "${new path file}", data: a, encoding: utf-8 }, result: {} }
  - request: { by: A, method: resourceRead, params: { uri: "${file}" }, result: { data: a }, proves: resource.read.text }
"#
            }
            FolderProbe::Granted => {
                r#"
scenario: detect/folder
title: A file can be read once it was asked for, and not before
needs: [grantedFolder]
spec: ">=0.1.0"
clients: [A]

steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: resourceRead, params: { uri: "${grantedFolder.folder}/one" }, error: { code: { $type: integer } } }
  - request: { by: A, method: resourceRequest, params: { uri: "${grantedFolder.folder}/one", read: true }, result: {} }
  - request: { by: A, method: resourceRead, params: { uri: "${grantedFolder.folder}/one" }, result: { data: $present }, proves: resource.request.granted-then-use }
"#
            }
            FolderProbe::Denied => {
                r#"
scenario: detect/folder
title: A file cannot even be asked for
needs: [deniedFile]
spec: ">=0.1.0"
clients: [A]

steps:
  - connect: A
  - initialize: A
  - request: { by: A, method: resourceRequest, params: { uri: "${deniedFile.uri}", read: true }, error: { code: { $type: integer } } }
  - request: { by: A, method: resourceRead, params: { uri: "${deniedFile.uri}" }, error: { code: { $type: integer } }, proves: resource.permission.scope }
"#
            }
        }
    }

    /// Returns the scenario, ready to be played.
    ///
    /// # Errors
    /// Returns all mistakes in the text of the scenario. They are mistakes of the harness, not of the host.
    pub fn entry(self) -> Result<SuiteEntry, String> {
        let file = "detect/folder.yaml".to_owned();
        let mut suite = ScenarioSuite::of([(file, self.text().to_owned())], &CarriedFiles);
        let mistakes = suite.broken.iter().flat_map(|loaded| &loaded.errors);
        let mistakes: Vec<_> = mistakes.map(|error| error.kind.to_string()).collect();
        let why = || format!("a scenario of the first look does not load: {}", mistakes.join("; "));
        suite.entries.pop().ok_or_else(why)
    }

    /// Returns the values that scenarios can use: the location of the folder, or of the unreadable file.
    pub fn facts(self, uri: &str) -> Vec<(String, String)> {
        let tried = match self {
            FolderProbe::Denied => detect::denied_file(uri, ""),
            _ => detect::folder(self.capability(), uri, ""),
        };
        tried.facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_loads() {
        let all = [
            FolderProbe::Shared,
            FolderProbe::Workspace,
            FolderProbe::Granted,
            FolderProbe::Denied,
        ];
        for probe in all {
            let entry = probe.entry().unwrap();
            assert_eq!(entry.scenario.needs, [probe.capability()]);
        }
        assert!(FolderProbe::Shared.text().contains(CANARY_TEXT));
        assert!(FolderProbe::Shared.text().contains(CANARY));
    }
}

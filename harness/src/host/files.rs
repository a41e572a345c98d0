//! The host's files: the folders that clients may reach, and their initial content.
//!
//! The tree also has a folder outside of the clients' folders, which a host reveals if it does not confine clients.
//! Another folder holds special nodes of a file system.
//!
//! Knows: the folders. Never knows: clients, channels.
//!
//! Start at [`host_files`].

use std::collections::BTreeMap;

use crate::files::tree::{FileError, FileNode, FileTree, TreeFile, parent};

use super::request::ErrorResponse;

/// The folder that every client may read and write.
pub(super) const AREA: &str = "/harness";
/// The folder of file contents from before an agent's edit. Clients may read this folder.
pub(super) const KEPT: &str = "/before";
/// The folder whose files a client may reach after the host has granted access.
pub(super) const ASKED: &str = "/asked";
/// The folder of read-only files.
pub(super) const SHOWN: &str = "/shown";
/// The URI of the folder of read-only files.
pub const SHOWN_URI: &str = "file:///shown";
/// The read-only files: some with text, and some with bytes that are not UTF-8.
const SHOWN_FILES: [(&str, &[u8]); 4] = [
    ("/shown/canary.txt", b"of ahp-harness"),
    ("/shown/text.txt", "grüße".as_bytes()),
    ("/shown/bytes", &[0xff, 0x00, 0xfe]),
    ("/shown/folder/text.txt", b"text"),
];
/// The folder of special file system nodes. Clients may reach this folder.
pub(super) const ODD: &str = "/odd";
/// The URI of the folder of special file system nodes.
pub const ODD_URI: &str = "file:///odd";
/// The URI of the folder that clients may read and write.
pub const AREA_URI: &str = "file:///harness";
/// The URI of the folder whose files a client may reach after the host has granted access.
pub const ASKED_URI: &str = "file:///asked";
/// The URI of a folder that no client may reach.
pub const OUTSIDE_URI: &str = "file:///outside";
/// The links among the special nodes, with their targets.
const LINKS: [(&str, &str); 2] =
    [("/odd/link", "/outside"), ("/odd/link.txt", "/outside/canary.txt")];
/// The size in bytes of the large file among the special nodes.
const LARGE: u64 = 1 << 30;
/// The folders and files that no client may reach: folder, file, content.
const OUTSIDE: [(&str, &str, &str); 1] = [("/outside", "/outside/canary.txt", "of ahp-harness")];
/// Creates the tree of a new host.
pub(super) fn host_files() -> FileTree {
    let mut nodes = BTreeMap::from([(AREA.to_owned(), FileNode::Folder)]);
    for (folder, path, content) in OUTSIDE {
        let file = TreeFile { bytes: content.into(), etag: 0, at: String::new() };
        nodes.insert(folder.to_owned(), FileNode::Folder);
        nodes.insert(path.to_owned(), FileNode::File(file));
    }
    nodes.insert(KEPT.to_owned(), FileNode::Folder);
    nodes.insert(ASKED.to_owned(), FileNode::Folder);
    for name in ["one", "two"] {
        let file = TreeFile { bytes: Vec::new(), etag: 0, at: String::new() };
        nodes.insert(format!("{ASKED}/{name}"), FileNode::File(file));
    }
    for (path, bytes) in SHOWN_FILES {
        let file = TreeFile { bytes: bytes.into(), etag: 0, at: String::new() };
        nodes.insert(parent(path).to_owned(), FileNode::Folder);
        nodes.insert(path.to_owned(), FileNode::File(file));
    }
    nodes.insert(ODD.to_owned(), FileNode::Folder);
    let inside = TreeFile { bytes: "inside".into(), etag: 0, at: String::new() };
    nodes.insert(format!("{ODD}/inside.txt"), FileNode::File(inside));
    nodes.insert(format!("{ODD}/pipe"), FileNode::Pipe);
    nodes.insert(format!("{ODD}/large"), FileNode::Large(LARGE));
    nodes.extend(LINKS.map(|(link, to)| (link.to_owned(), FileNode::Link(to))));
    FileTree::new(nodes)
}

impl From<FileError> for ErrorResponse {
    fn from(error: FileError) -> ErrorResponse {
        ErrorResponse::named(error.name, error.message)
    }
}

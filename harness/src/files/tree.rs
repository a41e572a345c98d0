//! A tree of files and folders in memory, with the changes that `resource*` requests make.
//!
//! Each change returns the changed paths, so that the caller can notify the watches of these paths. A tree can also
//! contain links, a pipe without a writer, and a file that is too large to be read at once.
//!
//! Knows: paths, bytes. Never knows: URIs, requests, permissions.
//!
//! Start at [`FileTree`].

use crate::wire::error_code::ErrorName;
use std::collections::BTreeMap;

use std::ops::Bound;

/// The maximum number of links that the resolution of a path follows.
const MAX_LINKS: usize = 8;
/// The maximum number of files and folders in a tree.
const MAX_NODES: usize = 10_000;
/// The maximum size of a file in bytes.
const MAX_FILE: usize = 1 << 20;
/// The maximum number of bytes in all files of a tree together.
const MAX_BYTES: usize = 32 << 20;
/// The maximum length of a path in bytes.
const MAX_PATH: usize = 1_024;

/// A file.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// The content.
    pub bytes: Vec<u8>,
    /// The version number of the content; every write assigns a new number.
    pub etag: u64,
    /// The timestamp of the last write.
    pub at: String,
}

/// A file or a folder.
#[derive(Clone, Debug)]
pub enum FileNode {
    /// A file with its content.
    File(TreeFile),
    /// A folder.
    Folder,
    /// A symbolic link to another path.
    Link(&'static str),
    /// A pipe, whose content has no end.
    Pipe,
    /// A file of this many zeros; the zeros are not stored.
    Large(u64),
}

impl FileNode {
    /// Returns the kind of the node, with the name that the protocol uses.
    pub fn kind(&self) -> &'static str {
        match self {
            FileNode::File(_) | FileNode::Pipe | FileNode::Large(_) => "file",
            FileNode::Folder => "directory",
            FileNode::Link(_) => "symlink",
        }
    }
}

/// A path and the kind of its change: `added`, `updated`, `deleted`.
pub type FileChange = (String, &'static str);

/// The mode of a write.
#[derive(Clone, Copy, Debug)]
pub enum WriteMode {
    /// Replaces the content from the position to the end.
    Truncate,
    /// Inserts the data; the position counts backwards from the end.
    Append,
    /// Inserts the data at the position.
    Insert,
}

/// The content that a file must have for a write to succeed.
#[derive(Clone, Debug, Default)]
pub struct ExpectedContent {
    /// Whether the file must not exist.
    pub nothing: bool,
    /// The etag that the file must have; `None` permits every etag.
    pub etag: Option<String>,
}

/// A tree of files and folders.
#[derive(Debug)]
pub struct FileTree {
    nodes: BTreeMap<String, FileNode>,
    bytes: usize,
    written: u64,
}

/// The reason why a request for a file fails: the name of the protocol's error, and a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileError {
    /// The name of the error.
    pub name: ErrorName,
    /// The reason, as a message for people.
    pub message: &'static str,
}

impl FileError {
    pub(super) const fn new(name: ErrorName, message: &'static str) -> FileError {
        FileError { name, message }
    }
}

fn missing() -> FileError {
    FileError::new(ErrorName::NotFound, "no such file or folder")
}

fn exists() -> FileError {
    FileError::new(ErrorName::AlreadyExists, "there is something already")
}

/// Returns the folder of a path.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Returns whether a path equals `folder` or is below it.
pub fn within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl FileTree {
    /// Creates a tree with these nodes, by path. Paths begin with a slash; the root of the tree is the empty path.
    pub fn new(nodes: BTreeMap<String, FileNode>) -> FileTree {
        let bytes = nodes.values().map(FileNode::size).sum();
        FileTree { nodes, bytes, written: 0 }
    }

    /// Returns whether there is a link at a path.
    pub fn is_link(&self, path: &str) -> bool {
        matches!(self.nodes.get(path), Some(FileNode::Link(_)))
    }

    /// Resolves the links in a path.
    pub fn real(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let links = ends.filter_map(|end| match self.nodes.get(&path[..end]) {
                Some(FileNode::Link(to)) => Some(format!("{to}{}", &path[end..])),
                _ => None,
            });
            match links.into_iter().next() {
                Some(next) => path = next,
                None => break,
            }
        }
        path
    }

    /// Returns the file, folder, link or special file at a path.
    pub fn get(&self, path: &str) -> Result<&FileNode, FileError> {
        self.nodes.get(path).ok_or_else(missing)
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &str) -> Result<&TreeFile, FileError> {
        match self.get(path)? {
            FileNode::File(file) => Ok(file),
            FileNode::Folder => {
                Err(FileError::new(ErrorName::InvalidRequest, "the path is a folder"))
            }
            FileNode::Link(_) => Err(missing()),
            FileNode::Pipe => Err(FileError::new(
                ErrorName::InvalidRequest,
                "the path is a pipe, whose content has no end",
            )),
            FileNode::Large(_) => {
                Err(FileError::new(ErrorName::InvalidRequest, "the file is too large to be read"))
            }
        }
    }

    /// Returns the nodes below a path, in order.
    fn below(&self, path: &str) -> impl Iterator<Item = (&String, &FileNode)> {
        let from = format!("{path}/");
        let range = (Bound::Included(from.clone()), Bound::Unbounded);
        self.nodes.range(range).take_while(move |(at, _)| at.starts_with(&from))
    }

    /// Returns the names and kinds of the nodes in a folder.
    pub fn list(&self, path: &str) -> Result<Vec<(&str, &'static str)>, FileError> {
        if !matches!(self.get(path)?, FileNode::Folder) {
            return Err(FileError::new(ErrorName::InvalidRequest, "the path is no folder"));
        }
        let mut direct = Vec::new();
        for (at, node) in self.below(path) {
            let name = &at[path.len() + 1..];
            if !name.contains('/') {
                direct.push((name, node.kind()));
            }
        }
        Ok(direct)
    }

    /// Writes bytes to a file; creates a missing file.
    pub fn write(
        &mut self,
        path: &str,
        data: &[u8],
        how: (WriteMode, usize),
        wanted: &ExpectedContent,
        now: &str,
    ) -> Result<Vec<FileChange>, FileError> {
        let known = match self.nodes.get(path) {
            Some(FileNode::Folder) => {
                return Err(FileError::new(ErrorName::InvalidRequest, "the path is a folder"));
            }
            Some(FileNode::File(file)) => Some(file),
            Some(_) => {
                return Err(FileError::new(ErrorName::InvalidRequest, "the path is no plain file"));
            }
            None => None,
        };
        if wanted.nothing && known.is_some() {
            return Err(exists());
        }
        let etag = known.map(|file| etag(file.etag));
        if wanted.etag.is_some() && wanted.etag != etag {
            return Err(FileError::new(ErrorName::Conflict, "the file has another content"));
        }
        let old = known.map_or(&[][..], |file| file.bytes.as_slice());
        let (mode, position) = how;
        if position > old.len() {
            return Err(FileError::new(
                ErrorName::InvalidParams,
                "expected a position in the file",
            ));
        }
        let at = if let WriteMode::Append = mode { old.len() - position } else { position };
        let rest = if let WriteMode::Truncate = mode { &[][..] } else { &old[at..] };
        let bytes = [&old[..at], data, rest].concat();
        let kind = if known.is_some() { "updated" } else { "added" };
        self.put(path, bytes, now)?;
        Ok(vec![(path.to_owned(), kind)])
    }

    /// Sets the content of a file. Fails if the folder of the file is missing or a limit is reached.
    fn put(&mut self, path: &str, bytes: Vec<u8>, now: &str) -> Result<(), FileError> {
        if !matches!(self.nodes.get(parent(path)), Some(FileNode::Folder)) {
            return Err(missing());
        }
        let old = match self.nodes.get(path) {
            Some(FileNode::File(file)) => file.bytes.len(),
            _ => 0,
        };
        let full = self.bytes - old + bytes.len() > MAX_BYTES || self.nodes.len() >= MAX_NODES;
        if full || bytes.len() > MAX_FILE || path.len() > MAX_PATH {
            return Err(FileError::new(ErrorName::InvalidRequest, "there is no room for that"));
        }
        self.bytes = self.bytes - old + bytes.len();
        self.written += 1;
        let file = TreeFile { bytes, etag: self.written, at: now.to_owned() };
        self.nodes.insert(path.to_owned(), FileNode::File(file));
        Ok(())
    }

    /// Saves bytes in a new file of a folder and returns its path; `None` if the tree is full.
    pub fn save(&mut self, folder: &str, bytes: &[u8]) -> Option<String> {
        let path = format!("{folder}/{}", self.written);
        self.put(&path, bytes.to_vec(), "").ok()?;
        Some(path)
    }

    /// Deletes a file that [`FileTree::save`] has written.
    pub fn discard(&mut self, path: &str) {
        if let Some(FileNode::File(file)) = self.nodes.remove(path) {
            self.bytes -= file.bytes.len();
        }
    }

    /// Creates a folder and its missing parents.
    pub fn make_folder(&mut self, path: &str) -> Result<Vec<FileChange>, FileError> {
        let mut made = Vec::new();
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let folders: Vec<&str> = ends.map(|end| &path[..end]).filter(|it| !it.is_empty()).collect();
        for folder in &folders {
            match self.nodes.get(*folder) {
                Some(FileNode::Folder) => {}
                Some(_) => return Err(exists()),
                None => made.push((*folder).to_owned()),
            }
        }
        if self.nodes.len() + made.len() > MAX_NODES || path.len() > MAX_PATH {
            return Err(FileError::new(ErrorName::InvalidRequest, "there is no room for that"));
        }
        for folder in &made {
            self.nodes.insert(folder.clone(), FileNode::Folder);
        }
        Ok(made.into_iter().map(|folder| (folder, "added")).collect())
    }

    /// Removes a file, or a folder and everything in the folder.
    pub fn remove(&mut self, path: &str, recursive: bool) -> Result<Vec<FileChange>, FileError> {
        self.get(path)?;
        let mut gone: Vec<String> = self.below(path).map(|(at, _)| at.clone()).collect();
        if !gone.is_empty() && !recursive {
            return Err(FileError::new(ErrorName::InvalidRequest, "the folder is not empty"));
        }
        gone.push(path.to_owned());
        for at in &gone {
            if let Some(FileNode::File(file)) = self.nodes.remove(at) {
                self.bytes -= file.bytes.len();
            }
        }
        Ok(gone.into_iter().map(|at| (at, "deleted")).collect())
    }

    /// Copies a file or a folder; with `moves`, removes the source.
    pub fn copy(
        &mut self,
        from: &str,
        to: &str,
        moves: bool,
        overwrites: bool,
        now: &str,
    ) -> Result<Vec<FileChange>, FileError> {
        let source = self.get(from)?.clone();
        if self.nodes.contains_key(to) && !overwrites {
            return Err(exists());
        }
        if from == to {
            return Ok(Vec::new());
        }
        if within(to, from) || within(from, to) {
            return Err(FileError::new(
                ErrorName::InvalidRequest,
                "one of the two paths is inside the other",
            ));
        }
        let mut changes = Vec::new();
        match (source, self.nodes.get(to)) {
            (FileNode::File(file), None) => {
                self.put(to, file.bytes, now)?;
                changes.push((to.to_owned(), "added"));
            }
            (FileNode::File(file), Some(FileNode::File(_))) => {
                self.put(to, file.bytes, now)?;
                changes.push((to.to_owned(), "updated"));
            }
            (FileNode::Folder, None) => changes.extend(self.copy_folder(from, to, now)?),
            // A folder never replaces an existing node, and is never merged with an existing folder.
            _ => return Err(exists()),
        }
        if moves {
            changes.extend(self.remove(from, true)?);
        }
        Ok(changes)
    }

    fn copy_folder(
        &mut self,
        from: &str,
        to: &str,
        now: &str,
    ) -> Result<Vec<FileChange>, FileError> {
        if !matches!(self.nodes.get(parent(to)), Some(FileNode::Folder)) {
            return Err(missing());
        }
        let below = self.below(from).map(|(at, node)| (at[from.len()..].to_owned(), node.clone()));
        let below: Vec<(String, FileNode)> = below.collect();
        let more: usize = below.iter().map(|(_, node)| node.size()).sum();
        let longest = below.iter().map(|(rest, _)| rest.len()).max().unwrap_or(0);
        let nodes = self.nodes.len() + below.len() + 1;
        if self.bytes + more > MAX_BYTES || nodes > MAX_NODES || to.len() + longest > MAX_PATH {
            return Err(FileError::new(ErrorName::InvalidRequest, "there is no room for that"));
        }
        let mut changes = self.make_folder(to)?;
        for (rest, node) in below {
            let path = format!("{to}{rest}");
            match node {
                FileNode::File(file) => self.put(&path, file.bytes, now)?,
                other => {
                    self.nodes.insert(path.clone(), other);
                }
            }
            changes.push((path, "added"));
        }
        Ok(changes)
    }
}

impl FileNode {
    fn size(&self) -> usize {
        match self {
            FileNode::File(file) => file.bytes.len(),
            FileNode::Folder | FileNode::Link(_) | FileNode::Pipe | FileNode::Large(_) => 0,
        }
    }
}

/// Returns the etag for the version number of a file's content.
pub fn etag(number: u64) -> String {
    format!("w{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: &str = "/harness";

    fn empty() -> FileTree {
        FileTree::new(BTreeMap::from([(AREA.to_owned(), FileNode::Folder)]))
    }

    fn tree() -> FileTree {
        let mut files = empty();
        files.make_folder("/harness/a/b").unwrap();
        put(&mut files, "/harness/a/one", "abcdef");
        put(&mut files, "/harness/a/b/two", "x");
        files
    }

    fn put(files: &mut FileTree, path: &str, text: &str) {
        let how = (WriteMode::Truncate, 0);
        files.write(path, text.as_bytes(), how, &ExpectedContent::default(), "now").unwrap();
    }

    fn all(files: &FileTree) -> String {
        let paths: Vec<&str> = files.below(AREA).map(|(at, _)| &at[AREA.len()..]).collect();
        paths.join(" ")
    }

    #[test]
    fn write_modes_put_bytes_at_their_position() {
        let check = |mode: WriteMode, position: usize, expected: Option<&str>| {
            let mut files = tree();
            let how = (mode, position);
            let came = files.write("/harness/a/one", b"X", how, &ExpectedContent::default(), "now");
            assert_eq!(came.is_ok(), expected.is_some(), "{mode:?} {position}");
            let bytes = files.file("/harness/a/one").unwrap().bytes.clone();
            assert_eq!(bytes, expected.unwrap_or("abcdef").as_bytes(), "{mode:?} {position}");
        };
        check(WriteMode::Truncate, 0, Some("X"));
        check(WriteMode::Truncate, 2, Some("abX"));
        check(WriteMode::Append, 0, Some("abcdefX"));
        check(WriteMode::Append, 3, Some("abcXdef"));
        check(WriteMode::Insert, 0, Some("Xabcdef"));
        check(WriteMode::Insert, 6, Some("abcdefX"));
        check(WriteMode::Truncate, 7, None);
        check(WriteMode::Append, 7, None);
        check(WriteMode::Insert, 7, None);
    }

    #[test]
    fn trees_move_whole_and_never_into_themselves() {
        let check = |from: &str, to: &str, moves: bool, expected: Option<&str>| {
            let mut files = tree();
            let before = all(&files);
            let [from, to] = [from, to].map(|path| format!("{AREA}{path}"));
            let came = files.copy(&from, &to, moves, true, "now");
            assert_eq!(came.is_ok(), expected.is_some(), "{from} {to}");
            assert_eq!(all(&files), expected.unwrap_or(&before), "{from} {to}");
            let bytes: usize = files.below(AREA).map(|(_, node)| node.size()).sum();
            assert_eq!(files.bytes - empty().bytes, bytes, "{from} {to}");
        };
        check("/a", "/c", true, Some("/c /c/b /c/b/two /c/one"));
        check("/a/b", "/b", false, Some("/a /a/b /a/b/two /a/one /b /b/two"));
        check("/a/one", "/a/b/two", true, Some("/a /a/b /a/b/two"));
        check("/a", "/a", true, Some("/a /a/b /a/b/two /a/one"));
        check("/a", "/a/b/c", true, None);
        check("/a/b", "/a", false, None);
        check("/a/one", "/a/b", false, None);
        check("/a/one", "/none/one", false, None);
        check("/none", "/c", false, None);
    }

    #[test]
    fn folders_are_removed_only_recursively() {
        let mut files = tree();
        assert!(files.remove("/harness/a", false).is_err());
        assert_eq!(files.list("/harness/a").unwrap(), [("b", "directory"), ("one", "file")]);
        let gone = files.remove("/harness/a", true).unwrap();
        assert_eq!(gone.len(), 4);
        assert_eq!(all(&files), "");
        assert_eq!(files.bytes, empty().bytes);
    }

    #[test]
    fn initial_files_can_be_overwritten() {
        let file = TreeFile { bytes: "inside".into(), etag: 0, at: String::new() };
        let nodes = [(AREA, FileNode::Folder), ("/harness/f", FileNode::File(file))];
        let nodes = nodes.map(|(path, node)| (path.to_owned(), node));
        let mut files = FileTree::new(BTreeMap::from(nodes));
        let before = files.bytes;
        put(&mut files, "/harness/f", "x");
        assert_eq!(files.bytes, before - "inside".len() + 1);
    }

    #[test]
    fn the_size_of_files_is_bounded() {
        let mut files = empty();
        let how = (WriteMode::Append, 0);
        let mut write = |path: &str, size: usize| {
            let data = vec![b'x'; size];
            files.write(path, &data, how, &ExpectedContent::default(), "now").is_ok()
        };
        assert!(write("/harness/f", MAX_FILE));
        assert!(!write("/harness/f", 1));
        assert!(!write(&format!("/harness/{}", "n".repeat(MAX_PATH)), 1));
        let fits = (0..100).filter(|n| write(&format!("/harness/{n}"), MAX_FILE)).count();
        assert_eq!(fits, (MAX_BYTES - empty().bytes) / MAX_FILE - 1);
    }
}

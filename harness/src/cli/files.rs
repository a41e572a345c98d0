//! Reads and writes files that a user names, including scenarios. Every command does so through this module, so that a
//! device or a pipe without a partner cannot block a command or fill the memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::reducers::vector::{self, VectorFile};
use crate::report::draw;
use crate::run::suite::{ScenarioSuite, SuiteEntry};
use crate::scenario::deviation;
use crate::scenario::load::{FileSource, LoadedFile};
use crate::system::{InputFile, append_output, create_output};

use super::context::CliContext;
use super::exit::CommandStop;

/// The largest file that is read as a whole, in bytes. Captures and runs may be longer, and [`open`] reads them
/// piece by piece.
pub(super) const MAX_TEXT: u64 = 16 << 20;

/// The largest state of a campaign that is read, in bytes. The harness has written it, and it grows with the campaign.
pub(super) const MAX_STATE: u64 = 128 << 20;

/// Opens a file that a user named.
///
/// # Errors
/// Returns an error if the file does not exist, may not be read, or is neither a regular file nor a pipe.
pub fn open(path: &Path) -> Result<InputFile, CommandStop> {
    InputFile::open(path).map_err(|error| unreadable(path, &error))
}

/// Reads a file that a user named.
///
/// # Errors
/// Returns the errors of [`open`]. Also returns an error if the file is too long or not UTF-8, or if no process
/// writes to the pipe.
pub fn text(path: &Path) -> Result<String, CommandStop> {
    read(path, MAX_TEXT).map_err(|error| unreadable(path, &error))
}

/// Reads a file of at most `limit` bytes that need not exist.
///
/// # Errors
/// Returns the errors of [`text`], except that a missing file is `None`.
pub(super) fn text_if_any(path: &Path, limit: u64) -> Result<Option<String>, String> {
    match read(path, limit) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("`{}` could not be read: {error}", path.display())),
    }
}

fn read(path: &Path, limit: u64) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let read = InputFile::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if read as u64 > limit {
        return Err(std::io::Error::other(format!("it is longer than {} MiB", limit >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandStop {
    CommandStop::usage(format!("`{}` could not be read: {}", path.display(), explain(error)))
}

/// The file system as a source of scenario files.
struct DiskFiles;

impl FileSource for DiskFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        read(Path::new(path), MAX_TEXT).map_err(|error| explain(&error))
    }
}

/// Returns whether a path names something other than a regular file, such as `/dev/null`. Replacing it by a rename
/// would put a regular file in its place.
pub fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file())
}

/// Replaces a file atomically: a reader sees the old or the new content.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<(), CommandStop> {
    let written = if is_special(path) {
        create_output(path).and_then(|mut file| file.write_all(text.as_bytes()))
    } else {
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(".new");
        std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, path))
    };
    written.map_err(|error| unwritable(path, &error))
}

/// Creates a file, or truncates an existing file.
///
/// # Errors
/// Returns an error if the file cannot be written, or if it is a pipe that no process reads.
pub fn create(path: &Path) -> Result<File, CommandStop> {
    create_output(path).map_err(|error| unwritable(path, &error))
}

/// Opens a file for appending. Creates the file if it does not exist.
///
/// # Errors
/// Returns the errors of [`create`].
pub fn append(path: &Path) -> Result<File, CommandStop> {
    append_output(path).map_err(|error| unwritable(path, &error))
}

/// Writes a whole file.
///
/// # Errors
/// Returns the errors of [`create`].
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), CommandStop> {
    create(path)?.write_all(text.as_ref()).map_err(|error| unwritable(path, &error))
}

fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// Loads the suite: the user's files and folders, or the built-in scenarios.
///
/// # Errors
/// Returns an error if a path does not exist, a file cannot be read, or a folder has no scenarios.
pub fn suite(paths: &[PathBuf]) -> Result<ScenarioSuite, CommandStop> {
    if paths.is_empty() {
        return Ok(ScenarioSuite::all_carried());
    }
    let mut texts = texts(paths)?;
    texts.retain(|(path, text)| !vector::is_vectors(path, text));
    Ok(ScenarioSuite::of(texts, &DiskFiles))
}

/// Loads the vectors: the user's files and folders, or the built-in vectors.
///
/// # Errors
/// Returns the errors of [`suite`].
pub fn vectors(paths: &[PathBuf]) -> Result<Vec<VectorFile>, CommandStop> {
    if paths.is_empty() {
        return Ok(vector::carried());
    }
    let texts = texts(paths)?;
    let chosen = texts.iter().filter(|(path, text)| vector::is_vectors(path, text));
    let mut files: Vec<_> = chosen.map(|(path, text)| vector::load(path, text)).collect();
    vector::unique(&mut files);
    Ok(files)
}

/// Reads files and folders. Returns the names and texts of the files, in order.
fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, CommandStop> {
    let mut texts = Vec::new();
    for path in paths {
        let before = texts.len();
        collect(path, &mut BTreeSet::new(), &mut texts)?;
        if texts.len() == before {
            let path = path.display();
            return Err(CommandStop::usage(format!(
                "`{path}` contains no scenario (hint: scenarios end with `.yaml` or `.json`)"
            )));
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// Returns whether a file in a folder is a scenario. The JSON Schema for editors is in the same folder as the
/// scenarios.
fn is_scenario(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (name.ends_with(".yaml") || name.ends_with(".json")) && !name.ends_with(".schema.json")
}

/// Collects a file, or the scenarios of a folder and its folders. `visited` has the folders that were read, because a
/// link to a folder may lead back to it.
fn collect(
    path: &Path,
    visited: &mut BTreeSet<PathBuf>,
    texts: &mut Vec<(String, String)>,
) -> Result<(), CommandStop> {
    let name = path.display().to_string();
    let unreadable = |error: &std::io::Error| {
        CommandStop::usage(format!("`{name}` could not be read: {}", explain(error)))
    };
    if path.is_dir() {
        let real = std::fs::canonicalize(path).map_err(|error| unreadable(&error))?;
        if !visited.insert(real) {
            return Ok(());
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|error| unreadable(&error))? {
            entries.push(entry.map_err(|error| unreadable(&error))?.path());
        }
        entries.sort();
        for entry in entries {
            if entry.is_dir() || is_scenario(&entry) {
                collect(&entry, visited, texts)?;
            }
        }
        return Ok(());
    }
    let text = text(path)?;
    texts.push((name.replace('\\', "/").trim_start_matches("./").to_owned(), text));
    Ok(())
}

/// Prints every mistake in the files, with the line.
pub fn mistakes(context: &CliContext, broken: &[LoadedFile]) -> String {
    let mut out = String::new();
    for loaded in broken {
        for error in &loaded.errors {
            out.push_str(&draw::mistake(&loaded.sources, error, context.style));
        }
    }
    out
}

/// Prints every mistake in vector files, with the line.
pub fn vector_mistakes(context: &CliContext, files: &[VectorFile]) -> String {
    let mut out = String::new();
    for file in files {
        let sources = std::slice::from_ref(&file.source);
        for error in &file.errors {
            out.push_str(&draw::mistake(sources, error, context.style));
        }
    }
    out
}

/// Prints every message that does not conform to the tables of the protocol without `deviates`, and the number
/// of files with such messages. A fragment that several scenarios include is printed once.
pub fn deviations(context: &CliContext, entries: &[SuiteEntry]) -> (String, usize, usize) {
    let (mut out, mut count, mut files) = (String::new(), 0, 0);
    let mut told = std::collections::HashSet::new();
    for entry in entries {
        let found = deviation::deviations(&entry.scenario);
        let fresh: Vec<_> = found
            .iter()
            .filter(|error| {
                let file = entry.sources.get(error.span.file as usize);
                let file = file.map(|source| source.name.clone());
                told.insert((file, error.span.start, error.to_string()))
            })
            .collect();
        files += usize::from(!fresh.is_empty());
        count += fresh.len();
        for error in fresh {
            out.push_str(&draw::mistake(&entry.sources, error, context.style));
        }
    }
    (out, count, files)
}

/// Counts the mistakes.
pub fn count(broken: &[LoadedFile]) -> usize {
    broken.iter().map(|loaded| loaded.errors.len()).sum()
}

/// Returns the error message for a file or folder that cannot be written.
pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> CommandStop {
    CommandStop::usage(format!("`{}` could not be written: {error}", path.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_links_to_itself_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("one.yaml"), "id: one").unwrap();
        for name in ["a", "b", "c"] {
            crate::system::link(Path::new("."), &folder.path().join(name)).unwrap();
        }
        assert_eq!(texts(&[folder.path().to_owned()]).unwrap().len(), 1);
    }

    /// A file that is renamed over a device replaces it, for every process of the machine.
    #[test]
    fn devices_are_written_and_not_replaced() {
        assert!(is_special(Path::new("/dev/null")));
        assert!(!is_special(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path()));
        replace(Path::new("/dev/null"), "text").unwrap();
        assert!(is_special(Path::new("/dev/null")));
    }
}

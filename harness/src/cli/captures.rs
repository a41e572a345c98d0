//! Opens captures and connection logs that are given as arguments: files and folders, with detection of the
//! format.

use std::io::{BufRead, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};

use crate::system::InputFile;
use crate::transcript::ahp_log;
use crate::transcript::logs::{ConnectionLogs, LogsError};

use super::exit::CommandStop;
use super::files;

/// The content of a capture.
type CaptureReader = Box<dyn BufRead>;

/// The input of a command that reads captures.
pub(super) enum CaptureInput {
    /// One file that is not a connection log, with the name of the file.
    Capture(String, CaptureReader),
    /// Connection logs, merged.
    Logs(Box<ConnectionLogs>),
}

/// Opens files and folders of files.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be read, or if one of several files is not a log.
pub(super) fn open(paths: &[PathBuf]) -> Result<CaptureInput, CommandStop> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(folder(path)?);
        } else {
            files.push(path.clone());
        }
    }
    let mut known = std::collections::HashSet::new();
    files.retain(|path| known.insert(path.clone()));
    let mut logs: Vec<(String, CaptureReader)> = Vec::new();
    let mut empty = Vec::new();
    let several = files.len() > 1;
    for path in &files {
        let name = shown(path);
        let file = files::open(path)?;
        let (first, input) = begin(file)
            .map_err(|error| CommandStop::usage(format!("`{name}` could not be read: {error}")))?;
        let is_log = ahp_log::is_log(&first);
        if !is_log && !several {
            return Ok(CaptureInput::Capture(name, input));
        }
        if !is_log && first.is_empty() {
            empty.push((name, input));
        } else if is_log {
            logs.push((name, input));
        } else {
            return Err(CommandStop::usage(format!(
                "{name}:1: expected a log of a connection, whose lines have a member `{}`, found \
                 something else (hint: other captures are read one at a time)",
                ahp_log::MEMBER
            )));
        }
    }
    if logs.is_empty()
        && let Some((name, input)) = empty.into_iter().next()
    {
        return Ok(CaptureInput::Capture(name, input));
    }
    let logs =
        ConnectionLogs::read(logs).map_err(|LogsError(reason)| CommandStop::usage(reason))?;
    Ok(CaptureInput::Logs(Box::new(logs)))
}

/// Returns the name of a file with control characters escaped.
fn shown(path: &Path) -> String {
    let name = path.display().to_string();
    match name.contains(char::is_control) {
        true => name.escape_debug().to_string(),
        false => name,
    }
}

/// Lists the logs of a folder, sorted by name.
fn folder(path: &Path) -> Result<Vec<PathBuf>, CommandStop> {
    let name = shown(path);
    let unreadable =
        |error: std::io::Error| CommandStop::usage(format!("`{name}` could not be read: {error}"));
    let mut files = Vec::new();
    let mut folders = false;
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        folders |= path.is_dir();
        if path.is_file() && path.extension().is_some_and(|end| end == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let hint = match folders {
            true => "give one of the folders in it",
            false => "logs end with `.jsonl`",
        };
        return Err(CommandStop::usage(format!("`{name}` holds no log (hint: {hint})")));
    }
    Ok(files)
}

/// The maximum number of bytes that are read to recognise a log. The first line of a log is short.
const FIRST_BYTES: usize = 1 << 20;

/// Reads up to the first line that is not blank. Returns this line, and a reader of the whole file.
fn begin(file: InputFile) -> std::io::Result<(String, CaptureReader)> {
    let mut input = BufReader::new(file);
    let mut bytes = Vec::new();
    let mut first = String::new();
    while first.is_empty() && bytes.len() <= FIRST_BYTES {
        let start = bytes.len();
        let mut line = (&mut input).take((FIRST_BYTES + 1 - start) as u64);
        if line.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        first = String::from_utf8_lossy(&bytes[start..]).trim().to_owned();
    }
    Ok((first, Box::new(Cursor::new(bytes).chain(input))))
}

//! Files that a user names for output: regular files, devices and named pipes.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The time within which a process has to open a named pipe for reading.
const READER_WAIT: Duration = Duration::from_secs(10);

/// Opens a file for writing. Creates the file if it does not exist, and truncates it if it exists.
///
/// # Errors
/// Returns the error of the operating system. Also returns an error if the path is a named pipe that no process reads;
/// without this limit, the open call would block forever.
pub fn create_output(path: &Path) -> io::Result<File> {
    opened(path, OpenOptions::new().write(true).create(true).truncate(true), READER_WAIT)
}

/// Opens a file for appending. Creates the file if it does not exist.
///
/// # Errors
/// Returns the errors of [`create_output`].
pub fn append_output(path: &Path) -> io::Result<File> {
    opened(path, OpenOptions::new().append(true).create(true), READER_WAIT)
}

#[cfg(unix)]
fn opened(path: &Path, options: &OpenOptions, patience: Duration) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt as _;

    if std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo()) {
        return super::unix::open_pipe(path, patience);
    }
    options.open(path)
}

#[cfg(not(unix))]
fn opened(path: &Path, options: &OpenOptions, _: Duration) -> io::Result<File> {
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pipe_without_a_reader_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        super::super::pipe(&pipe).unwrap();
        let options = OpenOptions::new();
        let error = opened(&pipe, &options, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("no process reads the pipe"), "{error}");
        let reader = pipe.clone();
        let reads = std::thread::spawn(move || std::fs::read_to_string(reader));
        // More than the buffer of a pipe, so that the write has to wait for the reader.
        let mut file = opened(&pipe, &options, Duration::from_secs(10)).unwrap();
        file.write_all("x".repeat(300_000).as_bytes()).unwrap();
        drop(file);
        assert_eq!(reads.join().unwrap().unwrap().len(), 300_000);
    }
}

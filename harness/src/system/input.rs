//! Files that a user names: regular files and named pipes.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// The time limit for a read from a pipe that contains no data.
const SILENCE: Duration = Duration::from_secs(10);
/// The size of a read from a pipe, in bytes.
const PIECE: usize = 64 << 10;
const WAITING: usize = 4;

/// A file that a user named, open for reading.
#[derive(Debug)]
pub enum InputFile {
    /// A regular file.
    File(File),
    /// A pipe, or a file of the kernel. A separate thread reads it, because a read may block forever.
    Pipe(PipeInput),
}

/// The data from a pipe.
#[derive(Debug)]
pub struct PipeInput {
    pieces: Receiver<io::Result<Vec<u8>>>,
    rest: io::Cursor<Vec<u8>>,
    silence: Duration,
}

impl InputFile {
    /// Opens a file.
    ///
    /// # Errors
    /// Returns the error of the operating system, or an error if the path is neither a regular file nor a pipe.
    /// A device is refused because a read from it may never end.
    pub fn open(path: &Path) -> io::Result<InputFile> {
        let about = std::fs::metadata(path)?;
        match about.file_type() {
            // Files of the kernel, such as `/proc/kmsg`, are regular files without a length, and a read may block.
            kind if kind.is_file() && about.len() == 0 => {
                Ok(InputFile::Pipe(PipeInput::open(path, SILENCE)))
            }
            kind if kind.is_file() => Ok(InputFile::File(File::open(path)?)),
            kind if is_pipe(kind) => Ok(InputFile::Pipe(PipeInput::open(path, SILENCE))),
            kind => {
                let found = if kind.is_dir() { "a folder" } else { "a device or a socket" };
                Err(io::Error::other(format!("expected a regular file or a pipe, found {found}")))
            }
        }
    }
}

impl PipeInput {
    fn open(path: &Path, silence: Duration) -> PipeInput {
        let (told, pieces) = sync_channel(WAITING);
        let path = path.to_owned();
        std::thread::spawn(move || {
            let mut file = match File::open(path) {
                Ok(file) => file,
                Err(error) => return drop(told.send(Err(error))),
            };
            loop {
                let mut piece = vec![0; PIECE];
                let read = file.read(&mut piece);
                let last = !matches!(read, Ok(1..));
                let read = read.map(|count| {
                    piece.truncate(count);
                    piece
                });
                if told.send(read).is_err() || last {
                    return;
                }
            }
        });
        PipeInput { pieces, rest: io::Cursor::default(), silence }
    }
}

impl Read for PipeInput {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.rest.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            match self.pieces.recv_timeout(self.silence) {
                Ok(Ok(piece)) if piece.is_empty() => return Ok(0),
                Ok(piece) => self.rest = io::Cursor::new(piece?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    let reason = format!("it contained no data for {:?}", self.silence);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
            }
        }
    }
}

impl Read for InputFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            InputFile::File(file) => file.read(out),
            InputFile::Pipe(pipe) => pipe.read(out),
        }
    }
}

#[cfg(unix)]
fn is_pipe(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: FileType) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn opens_only_files_and_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (file, pipe) = (folder.join("file"), folder.join("pipe"));
        // The reader that times out has its own pipe, because its thread continues to read from this pipe.
        let empty = folder.join("empty");
        std::fs::write(&file, "text").unwrap();
        super::super::pipe(&pipe).unwrap();
        super::super::pipe(&empty).unwrap();
        let mut text = String::new();
        InputFile::open(&file).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        for (path, expected) in [
            (Path::new("/dev/zero"), "a device"),
            (folder, "a folder"),
            (&folder.join("none"), "No such file"),
        ] {
            let error = InputFile::open(path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        // Without a writer, the read times out; with a writer, the pipe is read to its end.
        let mut silent = PipeInput::open(&empty, Duration::from_millis(50));
        let error = silent.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let writer = pipe.clone();
        let writes = std::thread::spawn(move || std::fs::write(writer, "x".repeat(200_000)));
        let mut text = String::new();
        let mut pipe = PipeInput::open(&pipe, Duration::from_secs(5));
        pipe.read_to_string(&mut text).unwrap();
        writes.join().unwrap().unwrap();
        assert_eq!(text.len(), 200_000);
    }
}

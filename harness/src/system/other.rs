//! The implementation for Windows. Each item documents what Windows does not support.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::{FileAccess, ProcessEnding};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A process group. Windows has none, so the descendants of a process keep running when the process is stopped.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup(i32);

impl ProcessGroup {
    /// Returns the group that the process with this identifier leads.
    pub fn led_by(id: u32) -> Option<ProcessGroup> {
        i32::try_from(id).ok().map(ProcessGroup)
    }

    /// Returns the identifier of the process that leads the group.
    pub fn leader(self) -> i32 {
        self.0
    }

    /// Does nothing; the process itself is stopped when its handle is dropped.
    pub fn end(self, _: ProcessEnding) {}
}

/// Returns the command unchanged, because there are no process groups.
pub fn lead_group(command: &mut Command) -> &mut Command {
    command
}

/// A folder, identified by its path.
#[derive(Debug)]
pub struct SystemFolder(PathBuf);

impl SystemFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn open(path: &Path) -> io::Result<SystemFolder> {
        Ok(SystemFolder(path.canonicalize()?))
    }

    /// Opens a file below the folder without following links. A link that another process creates at the same
    /// moment is still followed.
    ///
    /// # Errors
    /// Returns an error if the path does not consist of plain names, or the error of the operating system.
    pub fn file(&self, path: &Path, access: FileAccess) -> io::Result<File> {
        let mut whole = self.0.clone();
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::Error::other("not a path below the folder"));
            };
            whole.push(name);
            if whole.is_symlink() {
                return Err(io::Error::other("a link"));
            }
        }
        let file = match access {
            FileAccess::Read => File::open(whole)?,
            FileAccess::Write => {
                File::options().write(true).create(true).truncate(false).open(whole)?
            }
        };
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("not a plain file")),
        }
    }
}

/// Does nothing, because on this system, the owner of a folder can always access it.
pub fn let_in(_: &Path) {}

/// Creates no link: always returns an error.
///
/// # Errors
/// Always returns an error, because not every user may create links.
pub fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "no links can be made on this system"))
}

/// Creates no pipe: always returns an error.
///
/// # Errors
/// Always returns an error, because the file system has no named pipes.
pub fn pipe(_: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "no pipes can be made on this system"))
}

/// Returns the time since the first call, because the CPU time of a thread is not available.
pub fn thread_time() -> Duration {
    BEGAN.elapsed()
}

/// Makes a folder, unless it exists.
///
/// # Errors
/// Returns an error if the folder cannot be made.
pub fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Returns `files` unchanged, because this system has no limit on open files that a process can change.
pub fn allow_files(files: u64) -> u64 {
    files
}

/// Returns `None`, because the system does not report this.
pub fn peak_memory() -> Option<u64> {
    None
}

/// A shell on a pseudo-terminal, which is not supported.
#[derive(Debug)]
pub struct SystemShell {
    /// The output of the shell.
    pub reads: tokio::io::Empty,
    /// The input of the shell.
    pub types: tokio::io::Sink,
}

impl SystemShell {
    /// Starts no shell: always returns an error.
    ///
    /// # Errors
    /// Always returns an error, because shells are not supported on this system.
    pub fn start(
        _: &str,
        _: &Path,
        _: &[(&str, &str)],
        _: (u16, u16),
    ) -> io::Result<(SystemShell, Child)> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no pseudo-terminals"))
    }
}

/// Does nothing, because there are no pseudo-terminals.
pub fn resize(_: &tokio::io::Sink, _: u16, _: u16) {}

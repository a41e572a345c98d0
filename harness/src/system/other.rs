//! Windows. What it has no counterpart for is refused or done as far as it goes, as each says.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::{Access, Ending};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nothing ends together here: what a process has started goes on.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup(i32);

impl ProcessGroup {
    /// The one that this process leads, by its id.
    pub fn led_by(id: u32) -> Option<ProcessGroup> {
        i32::try_from(id).ok().map(ProcessGroup)
    }

    /// The id of its leader.
    pub fn leader(self) -> i32 {
        self.0
    }

    /// The process itself ends when it is dropped.
    pub fn end(self, _: Ending) {}
}

/// The process of a command is one like any other.
pub fn lead_group(command: &mut Command) -> &mut Command {
    command
}

/// A folder, by its name.
#[derive(Debug)]
pub struct SystemFolder(PathBuf);

impl SystemFolder {
    /// Opens it.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<SystemFolder> {
        Ok(SystemFolder(path.canonicalize()?))
    }

    /// Opens a file below it where no link leads. Whoever puts a link there at this moment is followed.
    ///
    /// # Errors
    /// The path is not one of plain names, or what the system says.
    pub fn file(&self, path: &Path, access: Access) -> io::Result<File> {
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
            Access::Read => File::open(whole)?,
            Access::Write => {
                File::options().write(true).create(true).truncate(false).open(whole)?
            }
        };
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("not a plain file")),
        }
    }
}

/// Makes a folder. Who can look into it is up to the one that it is in.
///
/// # Errors
/// What the system says.
pub fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// Nobody closes folders here.
pub fn let_in(_: &Path) {}

/// # Errors
/// There are no links that every user may make.
pub fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "no links can be made on this system"))
}

/// # Errors
/// There are no pipes among files.
pub fn pipe(_: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "no pipes can be made on this system"))
}

/// The time since it was asked for first.
pub fn thread_time() -> Duration {
    BEGAN.elapsed()
}

/// There are no pseudo-terminals of this kind.
#[derive(Debug)]
pub struct SystemShell {
    /// What it would print.
    pub reads: tokio::io::Empty,
    /// What would be typed.
    pub types: tokio::io::Sink,
}

impl SystemShell {
    /// # Errors
    /// Always.
    pub fn start(
        _: &str,
        _: &Path,
        _: &[(&str, &str)],
        _: (u16, u16),
    ) -> io::Result<(SystemShell, Child)> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "there are no pseudo-terminals here"))
    }
}

/// Nothing has a size.
pub fn resize(_: &tokio::io::Sink, _: u16, _: u16) {}

//! Linux, macOS and their like.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};
use std::time::Duration;

use pty_process::{Command as OnPty, OwnedReadPty, OwnedWritePty, Size};
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::{FileAccess, ProcessEnding};

/// The mode of a folder that is its owner's alone.
const PRIVATE: u32 = 0o700;
/// The mode of a file that is made.
const PLAIN: u32 = 0o644;

/// Processes that end together.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The one that this process leads, by its id.
    pub fn led_by(id: u32) -> Option<ProcessGroup> {
        Pid::from_raw(i32::try_from(id).ok()?).map(ProcessGroup)
    }

    /// The id of its leader.
    pub fn leader(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Ends all of it.
    pub fn end(self, ending: ProcessEnding) {
        let signal = match ending {
            ProcessEnding::Asked => Signal::TERM,
            ProcessEnding::Forced => Signal::KILL,
        };
        let _ = kill_process_group(self.0, signal);
    }
}

/// The process of a command leads a group of its own.
pub fn lead_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// A folder as it was opened, whatever has its name by now.
#[derive(Debug)]
pub struct SystemFolder(OwnedFd);

impl SystemFolder {
    /// Opens it.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<SystemFolder> {
        Ok(SystemFolder(File::open(path)?.into()))
    }

    /// Opens a file below it without following any link. Whatever is no plain file with one name is not opened; a pipe
    /// or a device would never end.
    ///
    /// # Errors
    /// The path is not one of plain names, or what the system says.
    pub fn file(&self, path: &Path, access: FileAccess) -> io::Result<File> {
        let mut names = path.components().map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(io::Error::other("not a path below the folder")),
        });
        let name = names.next_back().ok_or_else(|| io::Error::other("not a file"))??;
        let plain = OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = self.0.try_clone()?;
        for name in names {
            folder = openat(&folder, name?, plain | OFlags::DIRECTORY, Mode::empty())?;
        }
        let flags = match access {
            FileAccess::Read => OFlags::RDONLY,
            FileAccess::Write => OFlags::WRONLY | OFlags::CREATE,
        };
        let flags = flags | plain | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(rustix::fs::RawMode::try_from(PLAIN).unwrap_or_default());
        let file = File::from(openat(&folder, name, flags, mode)?);
        let about = file.metadata()?;
        match about.is_file() && about.nlink() == 1 {
            true => Ok(file),
            false => Err(io::Error::other("not a plain file with one name")),
        }
    }
}

/// Makes a folder that nobody else can look into.
///
/// # Errors
/// What the system says.
pub fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(PRIVATE).create(path)
}

/// Lets us into a folder that was closed to us, if it can be done.
pub fn let_in(folder: &Path) {
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(PRIVATE));
}

/// Makes a link to a file or a folder.
///
/// # Errors
/// What the system says.
pub fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

/// Makes a pipe with a name. By the system's own program, since not every system has the call that would do.
///
/// # Errors
/// What the system says.
pub fn pipe(at: &Path) -> io::Result<()> {
    match std::process::Command::new("mkfifo").arg(at).status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("`mkfifo` failed")),
    }
}

/// The time that this thread has worked: what others do on the machine does not count.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// A process on a pseudo-terminal of its own, whose session and group it leads.
#[derive(Debug)]
pub struct SystemShell {
    /// What it prints; an error where nobody holds the other end any more.
    pub reads: OwnedReadPty,
    /// What is typed.
    pub types: OwnedWritePty,
}

impl SystemShell {
    /// Starts a command line with these variables.
    ///
    /// # Errors
    /// There is no pseudo-terminal, or the command cannot be started.
    pub fn start(
        line: &str,
        folder: &Path,
        variables: &[(&str, &str)],
        size: (u16, u16),
    ) -> io::Result<(SystemShell, Child)> {
        let (pty, other) = pty_process::open().map_err(io::Error::other)?;
        pty.resize(Size::new(size.1, size.0)).map_err(io::Error::other)?;
        let line = format!("exec {line}");
        let command = OnPty::new("sh").arg("-c").arg(line).current_dir(folder);
        let command = command.envs(variables.iter().copied()).kill_on_drop(true);
        let child = command.spawn(other).map_err(io::Error::other)?;
        let (reads, types) = pty.into_split();
        Ok((SystemShell { reads, types }, child))
    }
}

/// Makes a pseudo-terminal so many columns and rows large, if it can be done.
pub fn resize(types: &OwnedWritePty, columns: u16, rows: u16) {
    let _ = types.resize(Size::new(rows, columns));
}

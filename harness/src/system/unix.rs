//! The implementation for Linux, macOS and other Unix systems.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};
use std::time::Duration;

use pty_process::{Command as OnPty, OwnedReadPty, OwnedWritePty, Size};
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::{FileAccess, ProcessEnding};

/// The permissions of a folder that only its owner can access.
const PRIVATE: u32 = 0o700;
/// The permissions of a new file: the owner may read and write it, and other users may read it.
const PLAIN: u32 = 0o644;

/// The pause between two attempts to open a named pipe for writing.
const PIPE_RETRY: Duration = Duration::from_millis(20);

/// Opens a named pipe for writing.
///
/// # Errors
/// Returns an error if no process opens the pipe for reading within `patience`.
pub fn open_pipe(path: &Path, patience: Duration) -> io::Result<File> {
    let since = std::time::Instant::now();
    loop {
        let opened = rustix::fs::open(
            path,
            OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        );
        match opened {
            Ok(pipe) => {
                let flags = rustix::fs::fcntl_getfl(&pipe)?;
                rustix::fs::fcntl_setfl(&pipe, flags - OFlags::NONBLOCK)?;
                return Ok(pipe.into());
            }
            // The system returns this error while no process has opened the pipe for reading.
            Err(rustix::io::Errno::NXIO) if since.elapsed() < patience => {
                std::thread::sleep(PIPE_RETRY);
            }
            Err(rustix::io::Errno::NXIO) => {
                let reason = format!("no process reads the pipe (waited {patience:?})");
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A process group.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// Returns the group that the process with this identifier leads.
    pub fn led_by(id: u32) -> Option<ProcessGroup> {
        Pid::from_raw(i32::try_from(id).ok()?).map(ProcessGroup)
    }

    /// Returns the identifier of the process that leads the group.
    pub fn leader(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Sends a signal to all processes of the group.
    pub fn end(self, ending: ProcessEnding) {
        let signal = match ending {
            ProcessEnding::Asked => Signal::TERM,
            ProcessEnding::Forced => Signal::KILL,
        };
        let _ = kill_process_group(self.0, signal);
    }
}

/// Makes the command start in its own process group.
pub fn lead_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// An open folder. The value refers to the same folder even if the path later names another folder.
#[derive(Debug)]
pub struct SystemFolder(OwnedFd);

impl SystemFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn open(path: &Path) -> io::Result<SystemFolder> {
        Ok(SystemFolder(File::open(path)?.into()))
    }

    /// Opens a file below the folder without following links. Only regular files with a single hard link are
    /// opened; a read from a pipe or a device might never end.
    ///
    /// # Errors
    /// Returns an error if the path does not consist of plain names, or the error of the operating system.
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
            false => {
                Err(io::Error::other("not a regular file, or a file with more than one hard link"))
            }
        }
    }
}

/// Gives the current user access to a folder, if possible, and takes the access from all other users.
pub fn let_in(folder: &Path) {
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(PRIVATE));
}

/// Creates a symbolic link at `at` to a file or folder.
///
/// # Errors
/// Returns the error of the `symlink` system call.
pub fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

/// Creates a named pipe with the program `mkfifo`, because not every system has a suitable call.
///
/// # Errors
/// Returns the error of the operating system.
pub fn pipe(at: &Path) -> io::Result<()> {
    match std::process::Command::new("mkfifo").arg(at).status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("`mkfifo` failed")),
    }
}

/// Returns the CPU time of this thread, which does not depend on the load of the machine.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Makes a folder that only its owner can use, unless it exists.
///
/// # Errors
/// Returns an error if the folder cannot be made.
pub fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Lets the process open this many files, or as many as the system permits. Returns the number of files that it can
/// open.
pub fn allow_files(files: u64) -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < files) else { return files };
    let wanted = limit.maximum.map_or(files, |maximum| maximum.min(files));
    let raised = rustix::process::Rlimit { current: Some(wanted), maximum: limit.maximum };
    match rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => current,
    }
}

/// Returns the largest amount of memory that the process has used, in bytes; `None` if the system does not report it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// A process on its own pseudo-terminal. The process leads its session and its process group.
#[derive(Debug)]
pub struct SystemShell {
    /// The output of the process; a read fails when no process has the terminal open any more.
    pub reads: OwnedReadPty,
    /// The input of the process.
    pub types: OwnedWritePty,
}

impl SystemShell {
    /// Starts a command line with these environment variables.
    ///
    /// # Errors
    /// Returns an error if the system provides no pseudo-terminal, or if the command could not be started.
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

/// Sets the size of a pseudo-terminal, if possible.
pub fn resize(types: &OwnedWritePty, columns: u16, rows: u16) {
    let _ = types.resize(Size::new(rows, columns));
}

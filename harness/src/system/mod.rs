//! Functions that differ between operating systems: process groups, folders that no path can leave, special files, the
//! CPU time of a thread.
//!
//! Both implementations have the same interface. If a system lacks a feature, `other` documents the
//! restriction.
//!
//! Knows: the operating system. Never knows: other parts of the harness.

mod input;
#[cfg(not(unix))]
mod other;
mod output;
#[cfg(unix)]
mod unix;

pub use input::InputFile;
#[cfg(not(unix))]
pub use other::{
    ProcessGroup, SystemFolder, SystemShell, allow_files, lead_group, let_in, link, peak_memory,
    pipe, private_folder, resize, thread_time,
};
pub use output::{append_output, create_output};
#[cfg(unix)]
pub use unix::{
    ProcessGroup, SystemFolder, SystemShell, allow_files, lead_group, let_in, link, peak_memory,
    pipe, private_folder, resize, thread_time,
};

/// The way in which the processes of a group are stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessEnding {
    /// The processes are asked to exit, and may handle this request.
    Asked,
    /// The processes are killed, which they cannot prevent.
    Forced,
}

/// The access to a file for which the file is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileAccess {
    /// The file is read.
    Read,
    /// The file is written, and created if it does not exist.
    Write,
}

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
#[cfg(unix)]
mod unix;

pub use input::InputFile;
#[cfg(not(unix))]
pub use other::{
    ProcessGroup, SystemFolder, SystemShell, allow_files, lead_group, let_in, link, peak_memory,
    pipe, private_folder, resize, thread_time,
};
#[cfg(unix)]
pub use unix::{
    ProcessGroup, SystemFolder, SystemShell, allow_files, lead_group, let_in, link, peak_memory,
    pipe, private_folder, resize, thread_time,
};

/// The way in which a process is stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessEnding {
    /// A request to exit, which the process may handle.
    Asked,
    /// A kill, which the process cannot prevent.
    Forced,
}

/// The access for which a file is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileAccess {
    /// Reading.
    Read,
    /// Writing; a missing file is created.
    Write,
}

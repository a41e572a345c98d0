//! What systems do differently: groups of processes, folders that nobody is led out of, odd files, the time of a thread.
//!
//! Both halves offer the same. Where a system cannot do what is asked, `other` says so, or what is lost.
//!
//! Knows: the operating system. Never knows: anything of ours.

mod input;
#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

pub use input::InputFile;
#[cfg(not(unix))]
pub use other::{
    Folder, Group, Shell, lead_group, let_in, link, pipe, private_folder, resize, thread_time,
};
#[cfg(unix)]
pub use unix::{
    ProcessGroup, SystemFolder, SystemShell, lead_group, let_in, link, pipe, private_folder,
    resize, thread_time,
};

/// How a process is ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessEnding {
    /// It is asked to.
    Asked,
    /// It is not asked.
    Forced,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileAccess {
    /// To be read.
    Read,
    /// To be written, and made if it is not there.
    Write,
}

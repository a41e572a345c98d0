//! Splits a command that starts other processes into two processes: a worker, which does the work, and a watcher.
//!
//! A process of the target can hide from the harness: it can leave its process group, clear its environment, and wait
//! until its parents have ended. On Linux a hidden process is reparented to the worker, and to the watcher if the
//! worker has ended. If the worker or the watcher is killed, the other one ends all started processes: the watcher
//! notices the end of the worker, and the system signals the end of the watcher to the worker. On other systems there
//! is no watcher.
//!
//! Start at [`supervised`].

use std::process::ExitCode;

/// The environment variable with the process id of the watcher, set for the worker.
#[cfg(target_os = "linux")]
const WATCHER: &str = "AHP_HARNESS_WATCHER";

/// Starts a worker for this command, watches it, and returns its exit code. Returns `None` if this process is
/// the worker.
#[cfg(target_os = "linux")]
pub(super) fn supervised() -> Option<ExitCode> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    let parent = getppid().map(|id| id.as_raw_nonzero().get().to_string());
    if std::env::var(WATCHER).ok() == parent && parent.is_some() {
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        crate::transport::child::adopt();
        // The watcher may have ended before the signal was set up.
        let gone = getppid().map(|id| id.as_raw_nonzero().get().to_string()) != parent;
        return gone.then_some(ExitCode::from(super::exit::CommandExit::Interrupted as u8));
    }
    linux::watch().ok()
}

/// Returns `None`, because this system has no watcher.
#[cfg(not(target_os = "linux"))]
pub(super) fn supervised() -> Option<ExitCode> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::process::ExitCode;

    use rustix::process::{Pid, Signal, kill_process};
    use tokio::process::Command;
    use tokio::signal::unix::{SignalKind, signal};

    use crate::system::lead_group;
    use crate::transport::child;

    use super::WATCHER;

    /// The offset of the exit code for a process that a signal ended: the exit code is this value plus the
    /// number of the signal.
    const BY_SIGNAL: i32 = 128;

    pub(super) fn watch() -> io::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let code = runtime.block_on(watched())?;
        Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
    }

    async fn watched() -> io::Result<i32> {
        child::adopt();
        let mut kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
            .into_iter()
            .map(signal)
            .collect::<io::Result<Vec<_>>>()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1)).env(WATCHER, std::process::id().to_string());
        // The worker has its own process group, so a Ctrl-C reaches the worker once, through this process.
        let mut worker = lead_group(&mut command).spawn()?;
        let id = worker.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let [interrupt, terminate, hang_up] = &mut kinds[..] else { return Ok(BY_SIGNAL) };
        let status = loop {
            let asked = tokio::select! {
                status = worker.wait() => break status?,
                _ = interrupt.recv() => Signal::INT,
                _ = terminate.recv() => Signal::TERM,
                _ = hang_up.recv() => Signal::HUP,
            };
            if let Some(id) = id {
                let _ = kill_process(id, asked);
            }
        };
        child::end_adopted();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        Ok(status.code().or(signal.map(|signal| BY_SIGNAL + signal)).unwrap_or(BY_SIGNAL))
    }
}

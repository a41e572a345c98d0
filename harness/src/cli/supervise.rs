//! Two processes for a command that starts others: one that does the work, and one that watches it.
//!
//! What a target starts can hide: it leaves its group, clears its environment, and waits until its parents have ended. On
//! Linux all of it comes back to the worker, and to the watcher when there is no worker any more. So whichever of the two
//! is killed, the other ends what was started: the watcher when the worker has ended, the worker when the system tells it
//! that the watcher has. Elsewhere there is only the worker.
//!
//! Start at [`supervised`].

use std::process::ExitCode;

/// The variable by which the worker knows who watches it.
#[cfg(target_os = "linux")]
const WATCHER: &str = "AHP_HARNESS_WATCHER";

/// Watches a worker that does the work of this command, and gives its exit code; `None` where this process is the worker.
#[cfg(target_os = "linux")]
pub(super) fn supervised() -> Option<ExitCode> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    let parent = getppid().map(|id| id.as_raw_nonzero().get().to_string());
    if std::env::var(WATCHER).ok() == parent && parent.is_some() {
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        crate::transport::child::adopt();
        // It may have ended just before.
        let gone = getppid().map(|id| id.as_raw_nonzero().get().to_string()) != parent;
        return gone.then_some(ExitCode::from(super::exit::CommandExit::Interrupted as u8));
    }
    linux::watch().ok()
}

/// Watches nothing.
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

    /// What an exit code adds to the signal that ended a process.
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
        // A group of its own, so that a Ctrl-C reaches it once, by way of this process.
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

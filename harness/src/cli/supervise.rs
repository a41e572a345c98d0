//! Splits a command that starts other processes into three processes: the front, which the user started, the watcher,
//! and the worker, which does the work. Each of them starts the next one.
//!
//! A process of the target can hide from the harness: it can leave its process group, clear its environment, and wait
//! until its parents have ended. On Linux a hidden process is reparented to the nearest of the three that still runs.
//! It can also turn against the harness, because it runs as the same user. Each of the three therefore looks after its
//! neighbours:
//!
//! - If one of them is killed, the process above it notices this, and the system signals it to the process below. Both
//!   end all started processes.
//! - If one of them is stopped (SIGSTOP), a neighbour continues it.
//! - If the worker does not end in time after a second Ctrl-C or after its time budget, because it is stopped again and
//!   again or computes for a long time, the watcher kills it.
//!
//! The watcher is a process between the other two, and not beside them, because only an ancestor adopts orphans. It has
//! a name of its own, so that a `killall` of the harness does not end all three. If all three are killed or stopped at
//! the same time, nothing is left that could act, and the started processes remain. On other systems, the command
//! is a single process.
//!
//! Start at [`supervised`].

#[cfg(target_os = "linux")]
pub(super) use linux::{must_end_within, supervised};

/// Returns `None`, because this system has no watcher.
#[cfg(not(target_os = "linux"))]
pub(super) fn supervised() -> Option<std::process::ExitCode> {
    None
}

/// Does nothing, because this system has no watcher.
#[cfg(not(target_os = "linux"))]
pub(super) fn must_end_within(_: std::time::Duration) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;
    use std::process::ExitCode;
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
    use tokio::net::unix::pipe;
    use tokio::process::Command;
    use tokio::signal::unix::{SignalKind, signal};

    use crate::cli::context::CliContext;
    use crate::cli::exit::CommandExit;
    use crate::system::lead_group;
    use crate::transport::child::{self, StopRight};

    /// The environment variable that makes a process the watcher. Its value is a [`ParentLink`] to the front.
    const FRONT: &str = "AHP_HARNESS_FRONT";
    /// The environment variable that makes a process the worker. Its value is a [`ParentLink`] to the watcher.
    const WATCHER: &str = "AHP_HARNESS_WATCHER";
    /// The name of the watcher. It does not contain the name of the program.
    const NAME: &str = "ahp-watcher";
    /// The offset of the exit code for a process that a signal ended: the exit code is this value plus the
    /// number of the signal.
    const BY_SIGNAL: i32 = 128;
    /// The interval at which each process looks after its neighbours.
    const LOOK: Duration = Duration::from_millis(100);
    /// The time after the first Ctrl-C after which the watcher kills the worker. The worker itself needs two seconds,
    /// and the rest is for reports on a busy machine.
    const FIRST: Duration = Duration::from_secs(10);
    /// The time after the second Ctrl-C after which the watcher kills the worker.
    const SECOND: Duration = Duration::from_secs(1);
    /// The further time after which the front kills the watcher.
    const FURTHER: Duration = Duration::from_secs(2);
    /// The largest message about a time.
    const LONGEST: usize = 256;

    /// The pipe to the process above this one.
    static ABOVE: OnceLock<File> = OnceLock::new();

    /// The process that started this one, and the pipe on which it learns when this process must have ended.
    struct ParentLink {
        id: Pid,
        pipe: String,
    }

    impl ParentLink {
        /// Returns the link in this environment variable, unless the variable was meant for an ancestor.
        fn find(variable: &str) -> Option<ParentLink> {
            let value = std::env::var(variable).ok()?;
            let (id, pipe) = value.split_once(':')?;
            let id = Pid::from_raw(id.parse().ok()?)?;
            (getppid() == Some(id))
                .then(|| ParentLink { id, pipe: format!("/proc/{id}/fd/{pipe}") })
        }

        /// Ends this process with its parent, and opens the pipe. Returns whether the parent is still there.
        fn follow(&self) -> bool {
            let _ = set_parent_process_death_signal(Some(Signal::TERM));
            // The pipe is opened by its path, because a descriptor that is inherited would also reach started
            // processes. Without `/proc` there is no time limit from outside.
            if let Ok(pipe) = File::options().write(true).open(&self.pipe) {
                let _ = ABOVE.set(pipe);
            }
            // The parent may have ended before the signal was set up.
            getppid() == Some(self.id)
        }
    }

    /// Starts the other processes for this command, and returns the exit code. Returns `None` if this process is the
    /// worker.
    pub(in crate::cli) fn supervised() -> Option<ExitCode> {
        let gone = ExitCode::from(CommandExit::Interrupted as u8);
        if let Some(watcher) = ParentLink::find(WATCHER) {
            child::adopt();
            if !watcher.follow() {
                return Some(gone);
            }
            look_after_watcher();
            return None;
        }
        let front = ParentLink::find(FRONT);
        match &front {
            Some(front) if !front.follow() => return Some(gone),
            // `killall` compares this name, and the arguments have it already.
            Some(_) => drop(fs::write("/proc/self/comm", NAME)),
            None => {}
        }
        watch(front.is_none()).ok()
    }

    /// Tells the watcher that this process must have ended after this time, and may be killed otherwise.
    pub(in crate::cli) fn must_end_within(time: Duration) {
        if let Some(mut pipe) = ABOVE.get() {
            let _ = pipe.write_all(format!("{}\n", time.as_millis()).as_bytes());
        }
    }

    /// Continues the watcher whenever it is stopped. This needs a thread, because the worker may compute for a long time.
    fn look_after_watcher() {
        let look = || {
            loop {
                std::thread::sleep(LOOK);
                wake_above(StopRight::Nobody);
            }
        };
        // Without the thread, only the front continues the watcher.
        let _ = std::thread::Builder::new().name("looks up".to_owned()).spawn(look);
    }

    fn wake_above(whose: StopRight) {
        if let Some(above) = getppid().filter(|_| ABOVE.get().is_some()) {
            child::wake(above.as_raw_nonzero().get(), whose);
        }
    }

    fn watch(is_front: bool) -> io::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let code = runtime.block_on(watched(is_front))?;
        Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
    }

    /// The time at which the process below is killed, and what it is killed for.
    struct KillTime {
        at: Instant,
        why: CommandExit,
    }

    impl KillTime {
        fn after(time: Duration, why: CommandExit, is_front: bool) -> Option<KillTime> {
            let further = if is_front { FURTHER } else { Duration::ZERO };
            Some(KillTime { at: Instant::now().checked_add(time)?.checked_add(further)?, why })
        }

        fn message(&self) -> &'static str {
            match self.why {
                CommandExit::Interrupted => {
                    "error: the command did not stop in time after it was interrupted, and was killed; the files have what was written before\n"
                }
                _ => {
                    "error: the command did not stop in time when its time budget was over, and was killed; the files have what was written before (hint: `--budget`)\n"
                }
            }
        }
    }

    async fn watched(is_front: bool) -> io::Result<i32> {
        child::adopt();
        let mut kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
            .into_iter()
            .map(signal)
            .collect::<io::Result<Vec<_>>>()?;
        // This process keeps the sender, so that the pipe never ends.
        let (sender, times) = pipe::pipe()?;
        let link = format!("{}:{}", std::process::id(), sender.as_raw_fd());
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1));
        match is_front {
            true => command.env(FRONT, link).arg0(NAME),
            false => command.env(WATCHER, link),
        };
        // The next process has its own process group, so a Ctrl-C reaches it once, through this process, and a Ctrl-Z
        // does not reach it.
        let mut below = lead_group(&mut command).spawn()?;
        let id = below.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let [interrupt, terminate, hang_up] = &mut kinds[..] else { return Ok(BY_SIGNAL) };
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut over, mut leaving, mut killed) = (None::<KillTime>, None::<KillTime>, None);
        let status = loop {
            let asked = tokio::select! {
                biased;
                status = below.wait() => break status?,
                _ = interrupt.recv() => Signal::INT,
                _ = terminate.recv() => Signal::TERM,
                _ = hang_up.recv() => Signal::HUP,
                _ = looks.tick() => {
                    if let Some(id) = id {
                        child::wake(id.as_raw_nonzero().get(), StopRight::Nobody);
                    }
                    // Only the front can be stopped by a Ctrl-Z. Its stop signal is not visible to its child, so a front
                    // with a terminal is left to the user, who can continue it there. Elsewhere, a front that the user
                    // has stopped with `kill -STOP` is continued as well.
                    wake_above(StopRight::TerminalUser);
                    if let Some(time) = told(&times) {
                        // The front may have to act for a watcher that is stopped again and again.
                        must_end_within(time);
                        over = KillTime::after(time, CommandExit::Failed, is_front);
                    }
                    let late = |time: &&KillTime| time.at <= Instant::now();
                    let late = leaving.iter().chain(&over).find(late);
                    if let Some(time) = late.filter(|_| killed.is_none()) {
                        killed = Some(time.why as i32);
                        CliContext::gather().error(time.message());
                        let _ = below.start_kill();
                    }
                    continue;
                }
            };
            if let Some(id) = id {
                let _ = kill_process(id, asked);
            }
            let within = if leaving.is_none() { FIRST } else { SECOND };
            let next = KillTime::after(within, CommandExit::Interrupted, is_front);
            // A further Ctrl-C must not give the worker more time.
            leaving = leaving.into_iter().chain(next).min_by_key(|time| time.at);
        };
        child::end_adopted();
        wake_above(StopRight::TerminalUser);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let code = match signal {
            // The signal that was passed on ended a process that did not handle it yet.
            Some(_) if leaving.is_some() => CommandExit::Interrupted as i32,
            Some(signal) => BY_SIGNAL + signal,
            None => status.code().unwrap_or(BY_SIGNAL),
        };
        Ok(killed.unwrap_or(code))
    }

    /// Returns the time after which the process below must have ended, if it has told one since the last call.
    fn told(times: &pipe::Receiver) -> Option<Duration> {
        let mut bytes = [0; LONGEST];
        let length = times.try_read(&mut bytes).ok()?;
        let text = str::from_utf8(bytes.get(..length)?).ok()?;
        Some(Duration::from_millis(text.lines().last()?.parse().ok()?))
    }
}

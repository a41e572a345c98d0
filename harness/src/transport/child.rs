//! A child process of the harness, which is stopped together with all its descendants.
//!
//! The signal to a process group does not reach a process that has left the group (`setsid`, a daemon). On Linux, such
//! strays are found by [`MARK`], an environment variable that they inherit. A stray that has also cleared its
//! environment is adopted by [`OrphanReaper`] when its parent exits, and is killed at the end of the run. A child
//! process may itself be a harness that starts further processes through this module, such as a reference host that
//! starts an agent. These processes carry the marks of both harness processes, so they end when either harness process
//! ends. On other systems, only the process group is killed.
//!
//! Start at [`ChildProcess::start`].

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::task::AbortHandle;

use crate::system::{ProcessEnding, ProcessGroup, lead_group};

/// The environment variable that marks the descendants of a child process.
pub const MARK: &str = "AHP_HARNESS_PROCESS";
/// The maximum number of rounds in which strays are searched and killed.
const LOOKS: u32 = 200;
/// The pause between two rounds, because a killed process takes a moment to disappear.
const BETWEEN: Duration = Duration::from_millis(2);
/// The interval at which orphans that have exited are reaped.
const REAPING: Duration = Duration::from_millis(250);
/// The maximum number of strays that are listed by name. Further strays are only counted.
const NAMED: usize = 8;

/// The counter that makes the marks of this process unique.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// The process groups of child processes that are not orphans, because a [`ChildProcess`] waits for them.
static OWN: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

fn own() -> MutexGuard<'static, Option<HashSet<i32>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child process that is killed together with all its descendants.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    group: Option<ProcessGroup>,
    mark: String,
}

impl ChildProcess {
    /// Starts a command in its own process group.
    ///
    /// # Errors
    /// Returns an error if the process could not be started.
    pub fn start(command: &mut Command) -> std::io::Result<ChildProcess> {
        let (process, ()) = ChildProcess::with(|mark| {
            Ok((lead_group(command.env(MARK, mark)).kill_on_drop(true).spawn()?, ()))
        })?;
        Ok(process)
    }

    /// Calls `start` with a value of [`MARK`]; `start` must start the leader of a process group with this value in its
    /// environment. Also returns the second result of `start`.
    ///
    /// # Errors
    /// Returns an error if the process could not be started.
    pub fn with<T>(
        start: impl FnOnce(&str) -> std::io::Result<(Child, T)>,
    ) -> std::io::Result<(ChildProcess, T)> {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let own_mark = format!("{}-{serial}", std::process::id());
        let mark = match std::env::var(MARK) {
            Ok(outer) => format!("{outer}/{own_mark}"),
            Err(_) => own_mark,
        };
        // The lock is held during the start, so that the reaper does not take the process for an orphan.
        let mut own = own();
        let (child, rest) = start(&mark)?;
        let group = child.id().and_then(ProcessGroup::led_by);
        own.get_or_insert_default().extend(group.map(ProcessGroup::leader));
        Ok((ChildProcess { child, group, mark }, rest))
    }

    /// Returns the process, for its pipes and its exit status.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Asks the process group to exit.
    pub fn ask_to_end(&self) {
        if let Some(group) = self.group {
            group.end(ProcessEnding::Asked);
        }
    }

    /// Returns the descendants that are still running, without the process itself.
    pub fn left(&self) -> Vec<String> {
        shown(&self.marked())
    }

    /// Kills the process group and all other descendants.
    pub fn kill(&self) {
        if let Some(group) = self.group {
            group.end(ProcessEnding::Forced);
        }
        end(|| self.marked());
    }

    fn marked(&self) -> Vec<strays::StrayProcess> {
        strays::marked(&self.mark, self.group.map(ProcessGroup::leader))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
        if let (Some(group), Some(own)) = (self.group, own().as_mut()) {
            own.remove(&group.leader());
        }
    }
}

/// Kills all child processes and their descendants at once, before this process exits.
pub fn end_all() {
    let groups = own().clone().unwrap_or_default();
    let groups = groups.into_iter().filter_map(|id| ProcessGroup::led_by(u32::try_from(id).ok()?));
    groups.for_each(|group| group.end(ProcessEnding::Forced));
    let mark = format!("{}-", std::process::id());
    end(|| strays::of_process(&mark));
    end_adopted();
}

/// Makes this process the parent of all its descendants whose own parents exit.
pub fn adopt() {
    strays::adopt();
}

/// Kills all adopted processes, and all child processes.
pub fn end_adopted() {
    end(|| strays::adopted(None));
}

/// Continues a process that a signal has stopped. Returns whether the process was stopped.
///
/// Any process can stop another one of the same user, and a stopped process can neither prevent nor notice this. A
/// process with a terminal is only continued if `whose` permits it, because the user may have stopped it (Ctrl-Z).
#[cfg(target_os = "linux")]
pub fn wake(id: i32, whose: StopRight) -> bool {
    strays::wake(id, whose)
}

/// Those who have the right to stop a process.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopRight {
    /// Nobody: a Ctrl-Z does not reach the process.
    Nobody,
    /// The user, if the process has a terminal.
    TerminalUser,
}

/// Returns the names of the first [`NAMED`] processes, and the number of further processes.
fn shown(found: &[strays::StrayProcess]) -> Vec<String> {
    let mut names: Vec<String> =
        found.iter().take(NAMED).map(|stray| format!("{} ({})", stray.name, stray.id)).collect();
    if let Some(more) = found.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names
}

/// Kills the processes that `find` returns, until it returns none. First suspends the processes, so that they cannot
/// start further processes.
fn end(find: impl Fn() -> Vec<strays::StrayProcess>) {
    for _ in 0..LOOKS {
        let found = find();
        if found.is_empty() {
            return;
        }
        found.iter().for_each(strays::stop);
        found.iter().for_each(strays::kill);
        found.iter().for_each(strays::reap);
        std::thread::sleep(BETWEEN);
    }
}

/// The adoption of orphans: descendants whose parents have exited. When the reaper is dropped, the adopted
/// processes are killed.
#[derive(Debug)]
pub struct OrphanReaper(AbortHandle);

impl OrphanReaper {
    /// Starts to adopt orphans, and to reap orphans that have exited. While the reaper exists, processes must
    /// only be started as [`ChildProcess`].
    pub fn adopt() -> OrphanReaper {
        strays::adopt();
        let burying = tokio::spawn(async {
            loop {
                tokio::time::sleep(REAPING).await;
                strays::ended(own().as_ref()).iter().for_each(strays::reap);
            }
        });
        OrphanReaper(burying.abort_handle())
    }

    /// Kills all orphans and returns their names.
    pub fn end(&self) -> Vec<String> {
        let alive = || strays::adopted(own().as_ref());
        let left = shown(&alive());
        end(alive);
        left
    }
}

impl Drop for OrphanReaper {
    fn drop(&mut self) {
        self.0.abort();
        self.end();
    }
}

/// Access to processes through Linux's `/proc`.
#[cfg(target_os = "linux")]
mod strays {
    use std::collections::HashSet;
    use std::fs;

    use rustix::process::{
        Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
    };

    use super::{MARK, StopRight};

    /// A process that the harness did not start itself, but that descends from one of its child processes.
    #[derive(Debug)]
    pub(super) struct StrayProcess {
        pub(super) id: i32,
        pub(super) name: String,
        parent: i32,
        ended: bool,
        stopped: bool,
        has_terminal: bool,
    }

    fn all() -> impl Iterator<Item = StrayProcess> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        ids.filter_map(stray)
    }

    fn stray(id: i32) -> Option<StrayProcess> {
        let mut stray = read(id, &format!("/proc/{id}/stat"))?;
        stray.ended = stray.ended && alive(id).is_none();
        Some(stray)
    }

    /// Reads a file `stat` of `/proc`. The name of a process can have any bytes.
    fn read(id: i32, path: &str) -> Option<StrayProcess> {
        let line = fs::read(path).ok()?;
        // The process name is in parentheses and may contain parentheses itself.
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let name_begins = line.iter().position(|byte| *byte == b'(')? + 1;
        let name = String::from_utf8_lossy(line.get(name_begins..name_ends)?).into_owned();
        let tail = str::from_utf8(line.get(name_ends + 1..)?).ok()?;
        let mut words = tail.split_whitespace();
        let state = words.next()?;
        let (ended, stopped) = (matches!(state, "Z" | "X"), state == "T");
        let parent = words.next()?.parse().ok()?;
        // The terminal follows the process group and the session.
        let has_terminal = words.nth(2)? != "0";
        Some(StrayProcess { id, name, parent, ended, stopped, has_terminal })
    }

    /// Returns a thread of a process that has not ended. The main thread of a process can end before the other threads;
    /// the process then looks like one that has ended.
    fn alive(id: i32) -> Option<i32> {
        let entries = fs::read_dir(format!("/proc/{id}/task")).ok()?.flatten();
        let mut ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        ids.find(|thread| {
            read(*thread, &format!("/proc/{id}/task/{thread}/stat")).is_some_and(|it| !it.ended)
        })
    }

    /// Returns the processes with the mark `mark` or a mark that begins with `mark/`, except for the process
    /// `but`.
    pub(super) fn marked(mark: &str, but: Option<i32>) -> Vec<StrayProcess> {
        let below = |rest: &[u8]| matches!(rest.first(), None | Some(b'/'));
        let others = all().filter(|stray| Some(stray.id) != but);
        others.filter(|stray| inherits(stray, mark, below)).collect()
    }

    /// Returns the descendants of all child processes of this process: the processes whose marks begin with this
    /// prefix.
    pub(super) fn of_process(mark: &str) -> Vec<StrayProcess> {
        all().filter(|stray| inherits(stray, mark, |_| true)).collect()
    }

    /// Returns whether a running process has a mark with this prefix, and `goes_on` accepts the rest of the mark.
    fn inherits(stray: &StrayProcess, mark: &str, goes_on: impl Fn(&[u8]) -> bool) -> bool {
        let line = format!("{MARK}={mark}");
        let mut variables = fs::read(format!("/proc/{}/environ", stray.id)).unwrap_or_default();
        if variables.is_empty()
            && let Some(thread) = alive(stray.id)
        {
            // The main thread has ended, and its files in `/proc` are empty.
            variables =
                fs::read(format!("/proc/{}/task/{thread}/environ", stray.id)).unwrap_or_default();
        }
        let mut variables = variables.split(|byte| *byte == 0);
        let has = |variable: &[u8]| variable.strip_prefix(line.as_bytes()).is_some_and(&goes_on);
        !stray.ended && variables.any(has)
    }

    fn ours(own: Option<&HashSet<i32>>) -> impl Iterator<Item = StrayProcess> {
        let me = getpid().as_raw_nonzero().get();
        let taken = move |id: &i32| own.is_some_and(|own| own.contains(id));
        all().filter(move |stray| stray.parent == me && !taken(&stray.id))
    }

    /// Returns the orphans that are still running.
    pub(super) fn adopted(own: Option<&HashSet<i32>>) -> Vec<StrayProcess> {
        ours(own).filter(|stray| !stray.ended).collect()
    }

    /// Returns the orphans that have exited.
    pub(super) fn ended(own: Option<&HashSet<i32>>) -> Vec<StrayProcess> {
        ours(own).filter(|stray| stray.ended).collect()
    }

    pub(super) fn stop(stray: &StrayProcess) {
        signal(stray, Signal::STOP);
    }

    pub(super) fn kill(stray: &StrayProcess) {
        signal(stray, Signal::KILL);
    }

    pub(super) fn wake(id: i32, whose: StopRight) -> bool {
        let stopped = stray(id).filter(|stray| stray.stopped);
        let left = |stray: &StrayProcess| whose == StopRight::TerminalUser && stray.has_terminal;
        let stopped = stopped.filter(|stray| !left(stray));
        stopped.iter().for_each(|stray| signal(stray, Signal::CONT));
        stopped.is_some()
    }

    fn signal(stray: &StrayProcess, signal: Signal) {
        if let Some(id) = Pid::from_raw(stray.id) {
            let _ = kill_process(id, signal);
        }
    }

    /// Reaps an orphan that has exited.
    pub(super) fn reap(stray: &StrayProcess) {
        if stray.parent == getpid().as_raw_nonzero().get() {
            let _ = waitpid(Pid::from_raw(stray.id), WaitOptions::NOHANG);
        }
    }

    pub(super) fn adopt() {
        let _ = set_child_subreaper(Some(getpid()));
    }
}

/// On other systems, the harness cannot list other processes.
#[cfg(not(target_os = "linux"))]
mod strays {
    use std::collections::HashSet;

    #[derive(Debug)]
    pub(super) struct StrayProcess {
        pub(super) id: i32,
        pub(super) name: String,
    }

    pub(super) fn marked(_: &str, _: Option<i32>) -> Vec<StrayProcess> {
        Vec::new()
    }

    pub(super) fn of_process(_: &str) -> Vec<StrayProcess> {
        Vec::new()
    }

    pub(super) fn adopted(_: Option<&HashSet<i32>>) -> Vec<StrayProcess> {
        Vec::new()
    }

    pub(super) fn ended(_: Option<&HashSet<i32>>) -> Vec<StrayProcess> {
        Vec::new()
    }

    pub(super) fn stop(_: &StrayProcess) {}

    pub(super) fn kill(_: &StrayProcess) {}

    pub(super) fn reap(_: &StrayProcess) {}

    pub(super) fn adopt() {}
}

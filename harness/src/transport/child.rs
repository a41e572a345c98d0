//! A process of ours with everything that it starts, ended as one.
//!
//! A process group ends together, but whoever has left it (`setsid`, a daemon) does not. On Linux such strays are found by
//! [`MARK`], a variable that they inherit; one that has cleared its environment too is taken in by [`OrphanReaper`] when its
//! parent ends, and goes with the run. What one of ours starts as a process of its own (the agent of a reference host that
//! runs as a command) carries the marks of both, so that it goes with either. Elsewhere the process group is all that ends.
//!
//! Start at [`ChildProcess::start`].

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::task::AbortHandle;

use crate::system::{ProcessEnding, ProcessGroup, lead_group};

/// The variable by which the processes that one of ours has started are known.
pub const MARK: &str = "AHP_HARNESS_PROCESS";
/// Looks for strays, each of which ends what it finds, before it is given up.
const LOOKS: u32 = 200;
/// Between two of them: what is killed takes a moment to go.
const BETWEEN: Duration = Duration::from_millis(2);
/// Between two looks for orphans that have ended.
const REAPING: Duration = Duration::from_millis(250);
/// Strays that are named; the others are counted.
const NAMED: usize = 8;

/// Tells the processes of this one apart.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// Those that somebody else waits for.
static OWN: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

fn own() -> MutexGuard<'static, Option<HashSet<i32>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything that a command has started ends with it.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    group: Option<ProcessGroup>,
    mark: String,
}

impl ChildProcess {
    /// Starts a command in a process group of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> std::io::Result<ChildProcess> {
        let (process, ()) = ChildProcess::with(|mark| {
            Ok((lead_group(command.env(MARK, mark)).kill_on_drop(true).spawn()?, ()))
        })?;
        Ok(process)
    }

    /// Takes what starts a process that leads a group, with the value that [`MARK`] has to have there; and gives what
    /// comes with it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn with<T>(
        start: impl FnOnce(&str) -> std::io::Result<(Child, T)>,
    ) -> std::io::Result<(ChildProcess, T)> {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let own_mark = format!("{}-{serial}", std::process::id());
        let mark = match std::env::var(MARK) {
            Ok(outer) => format!("{outer}/{own_mark}"),
            Err(_) => own_mark,
        };
        // Held meanwhile, so that nobody takes it for an orphan.
        let mut own = own();
        let (child, rest) = start(&mark)?;
        let group = child.id().and_then(ProcessGroup::led_by);
        own.get_or_insert_default().extend(group.map(ProcessGroup::leader));
        Ok((ChildProcess { child, group, mark }, rest))
    }

    /// Its pipes, once, and its end.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Asks all of it to end.
    pub fn ask_to_end(&self) {
        if let Some(group) = self.group {
            group.end(ProcessEnding::Asked);
        }
    }

    /// What it has started that runs on, besides the process itself.
    pub fn left(&self) -> Vec<String> {
        shown(&self.marked())
    }

    /// Kills what is left of it.
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

/// Ends everything that was started, at once, for a process that is about to end itself.
pub fn end_all() {
    let groups = own().clone().unwrap_or_default();
    let groups = groups.into_iter().filter_map(|id| ProcessGroup::led_by(u32::try_from(id).ok()?));
    groups.for_each(|group| group.end(ProcessEnding::Forced));
    let mark = format!("{}-", std::process::id());
    end(|| strays::of_process(&mark));
    end_adopted();
}

/// From now on whatever this process has started, and what that has, comes back to it when its parents end.
pub fn adopt() {
    strays::adopt();
}

/// Ends all that has come back to this process, and that it has started itself.
pub fn end_adopted() {
    end(|| strays::adopted(None));
}

/// Names of processes, and how many more there are.
fn shown(found: &[strays::StrayProcess]) -> Vec<String> {
    let mut names: Vec<String> =
        found.iter().take(NAMED).map(|stray| format!("{} ({})", stray.name, stray.id)).collect();
    if let Some(more) = found.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names
}

/// Ends what is found until nothing is found any more. What goes on starting others is stopped first, so that it cannot.
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

/// Takes in what the processes that we start leave behind, as long as it is kept; then that ends.
#[derive(Debug)]
pub struct OrphanReaper(AbortHandle);

impl OrphanReaper {
    /// From now on, and whoever of them ends is taken note of. Processes that are not of [`ChildProcess`] must not be started meanwhile.
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

    /// Ends all that there are, and says which.
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

/// Processes by the folder in which Linux shows them.
#[cfg(target_os = "linux")]
mod strays {
    use std::collections::HashSet;
    use std::fs;

    use rustix::process::{
        Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
    };

    use super::MARK;

    /// Somebody else's process, which came of one of ours.
    #[derive(Debug)]
    pub(super) struct StrayProcess {
        pub(super) id: i32,
        pub(super) name: String,
        parent: i32,
        ended: bool,
    }

    fn all() -> impl Iterator<Item = StrayProcess> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        ids.filter_map(stray)
    }

    fn stray(id: i32) -> Option<StrayProcess> {
        let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name is between parentheses, and may hold any.
        let (head, tail) = line.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let mut words = tail.split_whitespace();
        let ended = matches!(words.next()?, "Z" | "X");
        Some(StrayProcess { id, name, parent: words.next()?.parse().ok()?, ended })
    }

    /// Those with this mark, or one below it, but for one.
    pub(super) fn marked(mark: &str, but: Option<i32>) -> Vec<StrayProcess> {
        let below = |rest: &[u8]| matches!(rest.first(), None | Some(b'/'));
        let others = all().filter(|stray| Some(stray.id) != but);
        others.filter(|stray| inherits(stray, mark, below)).collect()
    }

    /// Those of every process that this one has started; the mark of each begins with this.
    pub(super) fn of_process(mark: &str) -> Vec<StrayProcess> {
        all().filter(|stray| inherits(stray, mark, |_| true)).collect()
    }

    /// Whether a process that goes on has a mark that begins so, and goes on as it has to.
    fn inherits(stray: &StrayProcess, mark: &str, goes_on: impl Fn(&[u8]) -> bool) -> bool {
        let line = format!("{MARK}={mark}");
        let variables = fs::read(format!("/proc/{}/environ", stray.id)).unwrap_or_default();
        let mut variables = variables.split(|byte| *byte == 0);
        let has = |variable: &[u8]| variable.strip_prefix(line.as_bytes()).is_some_and(&goes_on);
        !stray.ended && variables.any(has)
    }

    fn ours(own: Option<&HashSet<i32>>) -> impl Iterator<Item = StrayProcess> {
        let me = getpid().as_raw_nonzero().get();
        let taken = move |id: &i32| own.is_some_and(|own| own.contains(id));
        all().filter(move |stray| stray.parent == me && !taken(&stray.id))
    }

    /// Orphans of ours that go on.
    pub(super) fn adopted(own: Option<&HashSet<i32>>) -> Vec<StrayProcess> {
        ours(own).filter(|stray| !stray.ended).collect()
    }

    /// Orphans of ours that have ended.
    pub(super) fn ended(own: Option<&HashSet<i32>>) -> Vec<StrayProcess> {
        ours(own).filter(|stray| stray.ended).collect()
    }

    pub(super) fn stop(stray: &StrayProcess) {
        signal(stray, Signal::STOP);
    }

    pub(super) fn kill(stray: &StrayProcess) {
        signal(stray, Signal::KILL);
    }

    fn signal(stray: &StrayProcess, signal: Signal) {
        if let Some(id) = Pid::from_raw(stray.id) {
            let _ = kill_process(id, signal);
        }
    }

    /// Buries an orphan of ours that has ended.
    pub(super) fn reap(stray: &StrayProcess) {
        if stray.parent == getpid().as_raw_nonzero().get() {
            let _ = waitpid(Pid::from_raw(stray.id), WaitOptions::NOHANG);
        }
    }

    pub(super) fn adopt() {
        let _ = set_child_subreaper(Some(getpid()));
    }
}

/// Elsewhere nothing is known of other processes.
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

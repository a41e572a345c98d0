//! Tests that a command ends in time, and leaves no process, whatever its processes do to it and to each other.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// A line for a shell that sets `up` to the grandparent of the host.
const UP: &str = "read -r _ _ _ up _ </proc/$PPID/stat; ";
/// The longest time that a test waits for something on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which a test looks again.
const LOOK: Duration = Duration::from_millis(20);

/// The number of marks so far.
static MARKS: AtomicUsize = AtomicUsize::new(0);

/// A command that starts a host. Its processes have a mark in their command lines.
struct HostRun {
    child: Child,
    mark: String,
}

impl HostRun {
    /// Starts a run with a host that is this line of a shell.
    fn start(line: &str, budget: &str) -> HostRun {
        HostRun::command(&["run", "--timeout", "300ms", "--budget", budget], "--command", line)
    }

    /// Starts a command. The value of its last option is this line of a shell, in which `MARK` becomes a number of
    /// seconds.
    fn command(arguments: &[&str], last: &str, line: &str) -> HostRun {
        let number = MARKS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("31336.{}{number}", std::process::id());
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg(last).arg(line.replace("MARK", &mark));
        command.current_dir(env!("CARGO_TARGET_TMPDIR"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        HostRun { child: command.spawn().unwrap(), mark }
    }

    /// Returns the ids of the processes with the mark, without those of the run itself. If the main thread of a process
    /// has ended, only its other threads have a command line.
    fn marked(&self) -> Vec<String> {
        let marked = |path: &PathBuf| {
            let threads = fs::read_dir(path.join("task")).into_iter().flatten().flatten();
            let mut lines =
                threads.map(|it| fs::read(it.path().join("cmdline")).unwrap_or_default());
            lines.any(|line| {
                let line = String::from_utf8_lossy(&line).into_owned();
                line.contains(&self.mark) && !line.contains("--timeout")
            })
        };
        let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let found = all.filter(marked);
        let ids = found.filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
        ids.filter(|name| name.parse::<u32>().is_ok()).collect()
    }

    /// Waits until this many processes have the mark.
    fn until_marked(&self, count: usize) {
        let began = Instant::now();
        while self.marked().len() != count {
            assert!(began.elapsed() < PATIENCE, "expected {count} processes: {:?}", self.marked());
            std::thread::sleep(LOOK);
        }
    }

    fn id(&self) -> String {
        self.child.id().to_string()
    }

    fn ended_within(&mut self, limit: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < limit, "the run has not ended within {limit:?}");
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for HostRun {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for id in self.marked() {
            send("-KILL", &id);
        }
    }
}

fn send(signal: &str, id: &str) {
    let _ = Command::new("kill").args([signal, id]).stderr(Stdio::null()).status();
}

/// Returns the parts of the line of a process in `/proc/ID/stat`: its name and the id of its parent.
fn name_and_parent(id: &str) -> (String, String) {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let (head, tail) = line.rsplit_once(") ").unwrap();
    let name = head.split_once('(').unwrap().1.to_owned();
    (name, tail.split(' ').nth(1).unwrap().to_owned())
}

fn ends_without_processes(line: &str) {
    let mut run = HostRun::start(line, "3s");
    let began = Instant::now();
    run.until_marked(1);
    run.ended_within(PATIENCE.saturating_sub(began.elapsed()));
    assert_eq!(run.marked(), Vec::<String>::new());
}

#[test]
fn a_daemon_whose_name_is_not_utf_8_ends_with_the_run() {
    // The name ends as the name in `/proc/ID/stat` ends, and is followed by the state of another process.
    ends_without_processes(
        r#"env -i setsid sh -c 'printf "\377) Z 1 (x" >/proc/self/comm; while sleep 1; do : MARK; done' & exit 0"#,
    );
}

#[test]
fn a_daemon_whose_main_thread_has_ended_ends_with_the_run() {
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    for environment in ["-i", "X=1"] {
        ends_without_processes(&format!(
            "env {environment} setsid python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(MARK,)).start(); ctypes.CDLL(None).pthread_exit(None)' & exit 0"
        ));
    }
}

#[test]
fn a_host_that_stops_its_parents_does_not_stop_the_run() {
    // The front is stopped only if it is the harness, and not the program with this test.
    let top = "read -r _ _ _ top _ </proc/$up/stat; grep -q harness /proc/$top/comm || exit 1; ";
    let lines = [
        "kill -STOP $PPID; sleep MARK".to_owned(),
        format!("{UP}kill -STOP $up; sleep MARK"),
        format!("{UP}{top}kill -STOP $top $up; sleep MARK"),
    ];
    for line in lines {
        let mut run = HostRun::start(&line, "3s");
        run.ended_within(PATIENCE);
        assert_eq!(run.marked(), Vec::<String>::new(), "{line}");
    }
    // A command that is never at rest has to look after the watcher as well.
    let line = format!("{UP}{top}kill -STOP $top $up; sleep MARK");
    let subject = ["reducers", "--spec", "1.0.0", "--timeout", "300ms", "--budget", "3s"];
    let mut run = HostRun::command(&subject, "--subject", &line);
    run.ended_within(PATIENCE);
    assert_eq!(run.marked(), Vec::<String>::new(), "reducers");
}

/// A line of a host that keeps its parent stopped, so that the parent can do nothing itself.
const KEEPS_STOPPED: &str =
    "sleep MARK & while kill -STOP $PPID; do :; done & while kill -STOP $PPID; do :; done";

#[test]
fn a_command_that_cannot_keep_its_budget_is_killed() {
    let mut run = HostRun::start(KEEPS_STOPPED, "3s");
    // The budget, 1.5 s for closing, 0.3 s as a part of the budget, 3 s, and time for a busy machine.
    run.ended_within(Duration::from_secs(8) + PATIENCE / 2);
    assert_eq!(run.marked(), Vec::<String>::new());
}

#[test]
fn the_second_interrupt_ends_a_command_that_cannot_act() {
    for signal in ["-INT", "-TERM"] {
        let mut run = HostRun::start(KEEPS_STOPPED, "10m");
        run.until_marked(3);
        send(signal, &run.id());
        std::thread::sleep(Duration::from_millis(300));
        send(signal, &run.id());
        let status = run.ended_within(PATIENCE / 2);
        assert_eq!(status.code(), Some(130), "{signal}");
        assert_eq!(run.marked(), Vec::<String>::new(), "{signal}");
    }
}

#[test]
fn no_process_outlives_all_processes_with_the_name_of_the_harness() {
    let mut run =
        HostRun::start("env -i setsid setsid sleep MARK & sleep MARK & sleep MARK", "10m");
    run.until_marked(4);
    // From the host, which is the only shell, up to the front.
    let shell = run.marked().into_iter().find(|id| name_and_parent(id).0 == "sh").unwrap();
    let mut above = vec![name_and_parent(&shell).1];
    while let Some(last) = above.last().filter(|last| **last != run.id()) {
        above.push(name_and_parent(last).1);
    }
    let named = above.iter().filter(|id| name_and_parent(id).0.contains("harness"));
    let named: Vec<&String> = named.collect();
    assert_eq!(named.len(), 2, "{above:?}");
    let _ = Command::new("kill").arg("-KILL").args(named).status();
    run.child.wait().unwrap();
    run.until_marked(0);
}

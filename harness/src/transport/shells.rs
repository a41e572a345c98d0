//! Real shells for the terminals of a served host. Each shell has its own pseudo-terminal and is killed together with
//! its descendants.
//!
//! Environment variables make a shell mark, in its output, the beginning and end of each command, the command line and
//! the working directory. Only `bash` supports these marks; with other shells, commands are not detected.
//!
//! Start at [`HostShells::take`].

use std::path::PathBuf;
use std::time::Duration;

use litemap::LiteMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::host::shell::{ShellDeed, ShellEvent, TerminalSize};
use crate::system::{SystemShell, resize};

use super::child::{ChildProcess, MARK};

/// The environment of a shell. The variables enable the marks of `OSC 133`, `633` and `7`, and disable the
/// user's history.
const VARIABLES: &[(&str, &str)] = &[
    ("TERM", "xterm-256color"),
    ("PS1", "$ "),
    ("PS0", r"\e]633;E;$(HISTTIMEFORMAT= history 1)\a\e]133;C\a"),
    ("PROMPT_COMMAND", r#"printf '\033]133;D;%s\007\033]7;file://%s\007' "$?" "$PWD""#),
    ("HISTFILE", ""),
    ("HISTCONTROL", ""),
];
/// The size of a read, in bytes.
const CHUNK: usize = 16 << 10;
/// The maximum number of tasks queued for one shell, and the maximum number of queued events from all shells.
const WAITING: usize = 1_000;
const SAID: usize = 64;
/// The time limit for reading the remaining output of a shell that has exited.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The shells of one host.
pub struct HostShells {
    line: String,
    serial: u64,
    running: LiteMap<String, RunningShell>,
    tell: mpsc::Sender<(u64, String, ShellEvent)>,
    said: mpsc::Receiver<(u64, String, ShellEvent)>,
}

struct RunningShell {
    serial: u64,
    deeds: mpsc::Sender<ShellDeed>,
    /// The task of the shell. If the task is aborted, its values are dropped, and the shell is killed.
    task: AbortHandle,
}

impl Drop for RunningShell {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HostShells {
    /// Creates a set of shells that this command line starts.
    pub fn new(line: String) -> HostShells {
        let (tell, said) = mpsc::channel(SAID);
        HostShells { line, serial: 0, running: LiteMap::new(), tell, said }
    }

    /// Performs a task for the shell of a terminal. Input is lost if the queue of the shell is full.
    pub fn take(&mut self, terminal: String, deed: ShellDeed) {
        match deed {
            ShellDeed::Start { folder, size } => {
                self.serial += 1;
                let (deeds, to_do) = mpsc::channel(WAITING);
                let (serial, line, tell) = (self.serial, self.line.clone(), self.tell.clone());
                let name = terminal.clone();
                let task = tokio::spawn(async move {
                    let say = |said| {
                        let told = tell.send((serial, name.clone(), said));
                        async { told.await.is_ok() }
                    };
                    let code = match start(&line, folder.as_deref(), size) {
                        Ok((process, shell)) => attend(process, shell, to_do, &say).await,
                        Err(error) => {
                            say(ShellEvent::Printed(format!("{error}\r\n").into_bytes())).await;
                            Some(127)
                        }
                    };
                    say(ShellEvent::Ended(code)).await;
                });
                let running = RunningShell { serial, deeds, task: task.abort_handle() };
                self.running.insert(terminal, running);
            }
            ShellDeed::End => drop(self.running.remove(&terminal)),
            deed => {
                if let Some(running) = self.running.get(&terminal) {
                    let _ = running.deeds.try_send(deed);
                }
            }
        }
    }

    /// Waits for the next event of any shell, and returns it with its terminal. Never returns if there is no
    /// shell.
    pub async fn hear(&mut self) -> (String, ShellEvent) {
        loop {
            // `recv` never returns `None`, because `self` holds a sender.
            let Some((serial, terminal, said)) = self.said.recv().await else {
                return std::future::pending().await;
            };
            if self.running.get(&terminal).is_some_and(|running| running.serial == serial) {
                if matches!(said, ShellEvent::Ended(_)) {
                    self.running.remove(&terminal);
                }
                return (terminal, said);
            }
        }
    }
}

fn start(
    line: &str,
    folder: Option<&str>,
    size: TerminalSize,
) -> std::io::Result<(ChildProcess, SystemShell)> {
    // If the folder does not exist, the shell starts in the harness's folder; the shell's marks then report
    // that folder.
    let wanted = folder.and_then(|uri| uri.strip_prefix("file://")).map(PathBuf::from);
    let here = wanted.filter(|path| path.is_dir()).unwrap_or_else(|| PathBuf::from("."));
    ChildProcess::with(|mark| {
        let variables: Vec<_> = VARIABLES.iter().copied().chain([(MARK, mark)]).collect();
        let (shell, child) =
            SystemShell::start(line, &here, &variables, (size.columns, size.rows))?;
        Ok((child, shell))
    })
}

/// Transfers input and output until the shell exits. Returns the exit code; `None` if a signal killed the shell.
async fn attend<F: Future<Output = bool>>(
    mut process: ChildProcess,
    shell: SystemShell,
    mut deeds: mpsc::Receiver<ShellDeed>,
    say: &impl Fn(ShellEvent) -> F,
) -> Option<i64> {
    let SystemShell { mut reads, mut types } = shell;
    let typing = async {
        while let Some(deed) = deeds.recv().await {
            match deed {
                ShellDeed::Type(text) => {
                    if types.write_all(text.as_bytes()).await.is_err() {
                        break;
                    }
                }
                ShellDeed::Resize(size) => resize(&types, size.columns, size.rows),
                ShellDeed::Start { .. } | ShellDeed::End => {}
            }
        }
        std::future::pending().await
    };
    let mut buffer = vec![0; CHUNK];
    let running = async {
        let mut child = std::pin::pin!(process.child().wait());
        let mut quiet = false;
        let status = loop {
            tokio::select! {
                status = &mut child => break status,
                read = reads.read(&mut buffer), if !quiet => match read {
                    Ok(read @ 1..) => {
                        say(ShellEvent::Printed(buffer[..read].to_vec())).await;
                    }
                    _ => quiet = true,
                },
            }
        };
        while let Ok(Ok(read @ 1..)) = timeout(LAST_WORDS, reads.read(&mut buffer)).await {
            say(ShellEvent::Printed(buffer[..read].to_vec())).await;
        }
        status.ok().and_then(|status| status.code()).map(i64::from)
    };
    tokio::select! {
        code = running => code,
        () = typing => None,
    }
}

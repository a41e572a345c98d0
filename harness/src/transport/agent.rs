//! An agent that a host starts: a process that reads and writes lines.
//!
//! Start at [`AgentProcess::say`].

use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::mpsc;

use super::below::MAX_LINE;
use super::child::ChildProcess;

/// The maximum number of lines that are queued to the agent, and from the agent.
const WAITING: usize = 10_000;
/// The maximum number of lines of standard error that are passed on, and the maximum number of bytes of each line.
const MAX_ERRORS: usize = 1_000;
const MAX_ERROR: u64 = 4_096;

/// A function that receives each line that a process writes to its standard error.
pub type ProcessVoice = Arc<dyn Fn(&str) + Send + Sync>;

/// An agent process, started on first use.
#[derive(Default)]
pub struct AgentProcess {
    command: String,
    /// The function that receives the lines of standard error. If it is `None`, the process inherits the standard error
    /// of the harness.
    voice: Option<ProcessVoice>,
    started: Option<StartedAgent>,
}

struct StartedAgent {
    lines: mpsc::Sender<String>,
    said: mpsc::Receiver<String>,
    /// The process, which ends when this value is dropped.
    _process: ChildProcess,
}

impl AgentProcess {
    /// Creates an agent that this command line starts.
    pub fn new(command: String) -> AgentProcess {
        AgentProcess { command, voice: None, started: None }
    }

    /// Passes each line of standard error to a function, up to a limit.
    pub fn with_voice(self, voice: ProcessVoice) -> AgentProcess {
        AgentProcess { voice: Some(voice), ..self }
    }

    /// Writes a line. An agent that cannot be started, or that does not read, is treated as if it had exited.
    pub fn say(&mut self, line: String) {
        if self.started.is_none() {
            self.started = start(&self.command, self.voice.clone()).ok();
        }
        if let Some(started) = &self.started
            && started.lines.try_send(line).is_err()
        {
            self.started = None;
        }
    }

    /// Returns the next line from the agent; `None` if the agent has exited. Waits forever if the agent was never
    /// started.
    pub async fn hear(&mut self) -> Option<String> {
        match &mut self.started {
            Some(started) => {
                let line = started.said.recv().await;
                if line.is_none() {
                    self.started = None;
                }
                line
            }
            None => std::future::pending().await,
        }
    }
}

/// Passes the lines of standard error on, up to a limit. Also reads and discards the rest, because a full pipe would
/// block the process.
async fn repeat(errors: ChildStderr, voice: ProcessVoice) {
    let mut errors = BufReader::new(errors);
    for _ in 0..MAX_ERRORS {
        let mut bytes = Vec::new();
        let read = (&mut errors).take(MAX_ERROR).read_until(b'\n', &mut bytes).await;
        if !read.is_ok_and(|read| read > 0) {
            return;
        }
        voice(String::from_utf8_lossy(&bytes).trim_end());
    }
    let _ = tokio::io::copy_buf(&mut errors, &mut tokio::io::sink()).await;
}

fn start(command: &str, voice: Option<ProcessVoice>) -> std::io::Result<StartedAgent> {
    let mut line = Command::new("sh");
    line.arg("-c").arg(command).stdin(Stdio::piped()).stdout(Stdio::piped());
    if voice.is_some() {
        line.stderr(Stdio::piped());
    }
    let mut process = ChildProcess::start(&mut line)?;
    let child = process.child();
    if let Some((errors, voice)) = child.stderr.take().zip(voice) {
        tokio::spawn(repeat(errors, voice));
    }
    let (lines, mut to_write) = mpsc::channel::<String>(WAITING);
    let (tell, said) = mpsc::channel(WAITING);
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    tokio::spawn(async move {
        let Some(mut stdin) = stdin else { return };
        while let Some(mut line) = to_write.recv().await {
            line.push('\n');
            if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        let Some(stdout) = stdout else { return };
        let mut stdout = BufReader::new(stdout);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = (&mut stdout).take(MAX_LINE).read_until(b'\n', &mut bytes).await;
            if !read.is_ok_and(|read| read > 0) {
                break;
            }
            let line = String::from_utf8_lossy(&bytes).trim().to_owned();
            if !line.is_empty() && tell.send(line).await.is_err() {
                break;
            }
        }
    });
    Ok(StartedAgent { lines, said, _process: process })
}

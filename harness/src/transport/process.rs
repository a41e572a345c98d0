//! An agent as a process of its own: a line a message on standard input and output, everything that it starts ended with it.
//!
//! The process is hostile until proven otherwise: lines are bounded, standard error is read and forgotten past a bound,
//! and the whole process group is killed when the link ends, however it ends.
//!
//! Start at [`Link`].

use std::path::PathBuf;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::transcript::{Below, Seen};
use crate::wire::frame::Frame;

use super::below::{Heard, Hub};
use super::websocket::{LinkEvent, MAX_MESSAGE};
use std::sync::Arc;

/// Lines that may wait for the case; the agent waits with further ones.
const WAITING: usize = 256;
/// Lines of standard error that are kept; the rest is read and forgotten.
const MAX_STDERR: usize = 1_000;
/// Bytes of such a line that are kept.
const STDERR_LINE: usize = 4_096;
/// How long an agent may take to end by itself once its standard input is closed.
const ENDING: Duration = Duration::from_millis(300);

/// How an agent is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that it is started in.
    pub folder: PathBuf,
    /// Variables of its environment, besides those of this process.
    pub env: Vec<(String, String)>,
    /// Who is told what it writes to standard error, and which scenario that is of.
    pub hub: Arc<Hub>,
    /// The scenario.
    pub case: String,
}

/// A process, and the pipes to it.
pub struct Link {
    events: mpsc::Receiver<LinkEvent>,
    lines: Option<mpsc::UnboundedSender<String>>,
    process: Option<Process>,
}

/// Everything that a command has started ends with it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Option<Pid>,
}

impl Process {
    /// Starts a command in a process group of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> std::io::Result<Process> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Process { child, group })
    }

    /// Its pipes, once.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Kills what is left of it.
    pub fn kill(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Link {
    /// Starts the agent.
    pub fn start(start: &Start) -> Link {
        let (told, events) = mpsc::channel(WAITING);
        let mut link = Link { events, lines: None, process: None };
        match link.open(start, &told) {
            Ok(()) => {
                let _ = told.try_send(LinkEvent::Opened);
            }
            Err(error) => {
                let program = start.command.first().map_or("", String::as_str);
                let reason = format!("`{program}` could not be started: {error}");
                let _ = told.try_send(LinkEvent::Ended { code: None, reason });
            }
        }
        link
    }

    fn open(&mut self, start: &Start, told: &mpsc::Sender<LinkEvent>) -> std::io::Result<()> {
        let (program, args) = start
            .command
            .split_first()
            .ok_or_else(|| std::io::Error::other("there is no command"))?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&start.folder)
            .envs(start.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let child = process.child();
        if let Some(output) = child.stdout.take() {
            tokio::spawn(read(output, told.clone()));
        }
        if let Some(errors) = child.stderr.take() {
            tokio::spawn(complain(errors, Arc::clone(&start.hub), start.case.clone()));
        }
        if let Some(mut input) = child.stdin.take() {
            let (lines, mut queue) = mpsc::unbounded_channel::<String>();
            self.lines = Some(lines);
            tokio::spawn(async move {
                // Nobody but the case writes there, and a case is bounded.
                while let Some(line) = queue.recv().await {
                    if input.write_all(line.as_bytes()).await.is_err()
                        || input.flush().await.is_err()
                    {
                        return;
                    }
                }
            });
        }
        self.process = Some(process);
        Ok(())
    }

    /// Queues a message.
    pub fn send(&mut self, frame: &Frame) {
        let text = match frame {
            Frame::Text(text) => text.clone(),
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => {
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        if let Some(lines) = &self.lines {
            let _ = lines.send(text + "\n");
        }
    }

    /// Closes standard input, and kills what does not end by itself.
    pub async fn close(mut self, limit: Duration) {
        self.lines = None;
        if let Some(mut process) = self.process.take() {
            let _ = timeout(limit.min(ENDING), process.child().wait()).await;
            process.kill();
            let _ = process.child().kill().await;
        }
    }

    /// The next thing that happens.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match self.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(event),
            // Whoever reads has said how it ended.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// Reads messages, a line each, until the output ends. Blank lines are nothing.
async fn read(output: impl AsyncRead + Unpin, told: mpsc::Sender<LinkEvent>) {
    let mut output = BufReader::new(output);
    let reason = loop {
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_MESSAGE).unwrap_or(u64::MAX);
        match (&mut output).take(most).read_until(b'\n', &mut bytes).await {
            Ok(0) => break "the agent ended".to_owned(),
            Err(error) => break format!("its output cannot be read: {error}"),
            Ok(read) if read >= MAX_MESSAGE => {
                break format!("it wrote a line of more than {} MiB", MAX_MESSAGE >> 20);
            }
            Ok(_) => {}
        }
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let frame = match String::from_utf8(bytes) {
            Ok(text) => Frame::Text(text),
            Err(error) => Frame::NotUtf8(error.into_bytes()),
        };
        if told.send(LinkEvent::Frame(frame)).await.is_err() {
            return;
        }
    };
    let _ = told.send(LinkEvent::Ended { code: None, reason }).await;
}

/// Reads standard error until it ends, tells the first lines, and forgets the others.
async fn complain(errors: impl AsyncRead + Unpin, hub: Arc<Hub>, case: String) {
    let mut errors = BufReader::new(errors);
    let mut count = 0;
    loop {
        let mut bytes = Vec::new();
        let most = u64::try_from(STDERR_LINE).unwrap_or(u64::MAX);
        match (&mut errors).take(most).read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        count += 1;
        if count <= MAX_STDERR {
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            let seen = Arc::new(Seen::new(Frame::Text(text)));
            let way = Below::Stderr;
            hub.tell(&case, Heard { peer: way.peer().to_owned(), way, seen });
        }
    }
}

//! An agent under test as a child process: one message per line on standard input and output.
//!
//! The process is not trusted: the length of lines is limited, standard error beyond a limit is discarded, and
//! all descendants of the process are killed when the link ends. When the process exits, the scenario receives a report
//! outside the conversation: `{"ended": HOW, "left": [PROCESS ..]}`.
//!
//! Start at [`ProcessLink`].

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::peer::errand::KILLED;
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire::frame::Frame;
use crate::wire::json::json;

use super::below::{AgentHub, HeardBelow};
use super::child::ChildProcess;
use super::websocket::{LinkEvent, MAX_MESSAGE};

/// The maximum number of lines queued for the scenario. If the queue is full, the agent has to wait.
const WAITING: usize = 256;
/// The maximum number of lines of standard error that are kept; the rest is discarded.
const MAX_STDERR: usize = 1_000;
/// The number of the line that is replaced by a note about omitted lines.
const LEFT_OUT: usize = MAX_STDERR + 1;
/// The maximum number of bytes that are kept of each line of standard error.
const STDERR_LINE: usize = 4_096;
/// The number of last lines of standard error that are reported when the agent ends, and the number of
/// characters of each. The cause of an error is often above a long stack trace.
const LAST_LINES: usize = 14;
const LAST_WORDS: usize = 200;
/// The time limit for an agent to exit by itself after its standard input is closed.
const ENDING: Duration = Duration::from_secs(1);

/// The maximum number of checks for remaining descendants. There are several checks, because the helper processes of an
/// agent also need a moment to exit.
const GOING: u32 = 10;
/// The pause between two checks.
const BETWEEN: Duration = Duration::from_millis(30);

/// The options for starting an agent.
#[derive(Clone, Debug)]
pub struct ProcessStart {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// The environment variables that are set in addition to those of this process.
    pub env: Vec<(String, String)>,
    /// The hub that receives standard error and the exit of the process.
    pub hub: Arc<AgentHub>,
    /// The scenario that receives standard error and the exit of the process.
    pub case: String,
}

/// A process, and the pipes to it.
pub struct ProcessLink {
    events: mpsc::Receiver<LinkEvent>,
    lines: Option<mpsc::UnboundedSender<String>>,
    process: Option<ChildProcess>,
    hub: Arc<AgentHub>,
    case: String,
    /// The last lines of standard error.
    words: watch::Receiver<String>,
}

impl ProcessLink {
    /// Starts the agent.
    pub fn start(start: &ProcessStart) -> ProcessLink {
        let (told, events) = mpsc::channel(WAITING);
        let (hub, case) = (Arc::clone(&start.hub), start.case.clone());
        let (last, words) = watch::channel(String::new());
        let mut link = ProcessLink { events, lines: None, process: None, hub, case, words };
        match link.open(start, &told, last) {
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

    fn open(
        &mut self,
        start: &ProcessStart,
        told: &mpsc::Sender<LinkEvent>,
        last: watch::Sender<String>,
    ) -> std::io::Result<()> {
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
        let mut process = ChildProcess::start(&mut command)?;
        let child = process.child();
        if let Some(output) = child.stdout.take() {
            tokio::spawn(read(output, told.clone(), self.words.clone()));
        }
        if let Some(errors) = child.stderr.take() {
            tokio::spawn(complain(errors, Arc::clone(&start.hub), start.case.clone(), last));
        }
        if let Some(mut input) = child.stdin.take() {
            let (lines, mut queue) = mpsc::unbounded_channel::<String>();
            self.lines = Some(lines);
            tokio::spawn(async move {
                // Only the scenario writes to this channel, and the number of messages of a scenario is
                // limited.
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

    /// Closes standard input, and kills the process if it does not exit by itself within the usual time.
    pub async fn close(self) {
        self.close_within(ENDING).await;
    }

    /// Closes standard input, and kills the process if it does not exit by itself within this time.
    pub async fn close_within(mut self, limit: Duration) {
        self.lines = None;
        if let Some(mut process) = self.process.take() {
            let ended = timeout(limit, process.child().wait()).await;
            let ended = match ended {
                Ok(Ok(status)) => status.to_string(),
                _ => KILLED.to_owned(),
            };
            let mut left = process.left();
            for _ in 0..GOING {
                if left.is_empty() {
                    break;
                }
                sleep(BETWEEN).await;
                left = process.left();
            }
            process.kill();
            let _ = process.child().kill().await;
            let told = json!({"ended": ended, "left": left});
            tell(&self.hub, &self.case, BelowEvent::Local, Frame::json(&told));
        }
    }

    /// Returns the last lines of standard error so far.
    pub fn last_words(&self) -> String {
        self.words.borrow().clone()
    }

    /// Polls for the next event.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match self.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(event),
            // The reading task has already reported the end.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// Reads messages, one per line, until the output ends. Blank lines are skipped.
async fn read(
    output: impl AsyncRead + Unpin,
    told: mpsc::Sender<LinkEvent>,
    words: watch::Receiver<String>,
) {
    let mut output = BufReader::new(output);
    let reason = loop {
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_MESSAGE).unwrap_or(u64::MAX);
        match (&mut output).take(most).read_until(b'\n', &mut bytes).await {
            Ok(0) => {
                // The task first waits a moment, because the agent's last error messages arrive through another pipe.
                sleep(BETWEEN).await;
                let words = words.borrow();
                break match words.is_empty() {
                    true => "the agent ended".to_owned(),
                    false => format!("the agent ended (its last words: {})", *words),
                };
            }
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

/// Reads standard error until the stream ends, reports the first lines and discards the others.
async fn complain(
    errors: impl AsyncRead + Unpin,
    hub: Arc<AgentHub>,
    case: String,
    last: watch::Sender<String>,
) {
    let mut errors = BufReader::new(errors);
    let mut count: usize = 0;
    let mut lines: VecDeque<String> = VecDeque::new();
    loop {
        let mut bytes = Vec::new();
        let most = u64::try_from(STDERR_LINE).unwrap_or(u64::MAX);
        match (&mut errors).take(most).read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        count += 1;
        let said = String::from_utf8_lossy(&bytes);
        if !said.trim().is_empty() {
            if lines.len() == LAST_LINES {
                lines.pop_front();
            }
            lines.push_back(said.trim().chars().take(LAST_WORDS).collect());
            last.send_replace(Vec::from_iter(lines.iter().map(String::as_str)).join(" | "));
        }
        let text = match count {
            ..=MAX_STDERR => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
            LEFT_OUT => format!("(after {MAX_STDERR} lines, further output is left out)"),
            _ => continue,
        };
        tell(&hub, &case, BelowEvent::Stderr, Frame::Text(text));
    }
}

/// Sends the scenario a frame that does not belong to the conversation with the agent, such as a line of standard
/// error.
fn tell(hub: &AgentHub, case: &str, way: BelowEvent, frame: Frame) {
    let seen = Arc::new(SeenFrame::new(frame));
    hub.tell(case, HeardBelow { peer: way.peer().to_owned(), way, seen });
}

//! The ACP agent as a process: lines on standard input and output, tools that really run, everything in a log.
//!
//! Start at [`serve`].

use std::io::{BufRead as _, Read as _, Write};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use crate::agent::acp::{Agent, Effect, Output, Ran};
use crate::transcript::{Below, Event, Seen, line};
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::below::MAX_LINE;
use super::child::Process;

/// Lines that may wait for the agent; further ones wait in the pipe.
const INBOX: usize = 64;
/// How long the run may take to answer a connection; without it the agent plays on its own.
const CONNECTING: Duration = Duration::from_secs(2);
/// How long a tool may run.
const RUNNING: Duration = Duration::from_secs(120);
/// Bytes of a tool's output, and of a file, that are kept.
const KEPT: u64 = 1 << 20;
/// A wait that never ends, for an agent that waits for nothing.
const LONG: Duration = Duration::from_secs(3600);

/// How the process is run.
#[derive(Default)]
pub struct Options {
    /// Where what is heard and said is written, a line of a capture each.
    pub log: Option<Box<dyn Write + Send>>,
    /// The run that wants to know of it, and that releases holds.
    pub run: Option<SocketAddr>,
    /// Tools only say what they would do.
    pub pretend: bool,
}

/// Serves the client on standard input and output until that ends.
pub async fn serve(mut agent: Agent, options: Options) {
    let began = Instant::now();
    let Options { log, run, pretend } = options;
    let (told, mut commands) = connect(run).await;
    let mut journal = Journal { began, log, told };
    let mut lines = standard_input();
    let mut effects: JoinSet<(u64, Ran)> = JoinSet::new();
    let mut handles: LiteMap<u64, AbortHandle> = LiteMap::new();
    loop {
        let due = agent.next_timeout().unwrap_or_else(|| began.elapsed() + LONG);
        tokio::select! {
            came = lines.recv() => match came {
                Some(text) => {
                    journal.note(Below::ToAgent, &text);
                    agent.handle_line(began.elapsed(), &text);
                }
                None => return,
            },
            Some(ended) = effects.join_next() => {
                // One that was stopped has nothing to say.
                if let Ok((token, ran)) = ended {
                    handles.remove(&token);
                    agent.handle_ran(began.elapsed(), token, ran);
                }
            }
            Some((case, name)) = commands.recv() => agent.release(began.elapsed(), &case, &name),
            () = sleep_until(began + due) => agent.handle_timeout(began.elapsed()),
        }
        while let Some(output) = agent.poll_output() {
            match output {
                Output::Line(text) => {
                    journal.note(Below::FromAgent, &text);
                    let mut out = std::io::stdout().lock();
                    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
                        return;
                    }
                }
                Output::Run { token, effect } if pretend => {
                    agent.handle_ran(began.elapsed(), token, effect.pretended());
                }
                Output::Run { token, effect } => {
                    let handle = effects.spawn(async move { (token, brought_about(effect).await) });
                    handles.insert(token, handle);
                }
                Output::Exit => return,
                Output::Stop(token) => {
                    if let Some(handle) = handles.remove(&token) {
                        handle.abort();
                    }
                }
            }
        }
    }
}

/// Keeps what passes.
struct Journal {
    began: Instant,
    log: Option<Box<dyn Write + Send>>,
    told: Option<mpsc::UnboundedSender<String>>,
}

impl Journal {
    fn note(&mut self, way: Below, text: &str) {
        if self.log.is_none() && self.told.is_none() {
            return;
        }
        let seen = Arc::new(Seen::new(Frame::Text(text.to_owned())));
        let mut out = String::new();
        line::write(&mut out, None, self.began.elapsed(), way.peer(), &Event::Below { way, seen });
        if let Some(log) = &mut self.log {
            // A log that cannot be written is no reason to fail the host.
            let _ = log.write_all(out.as_bytes()).and_then(|()| log.flush());
        }
        if let Some(told) = &self.told {
            let _ = told.send(out);
        }
    }
}

/// The lines of standard input, read by a thread of their own, since nothing else can wait for them. What is not
/// UTF-8 is replaced.
fn standard_input() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(INBOX);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            match (&mut input).take(MAX_LINE).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&bytes).trim().to_owned();
            if !text.is_empty() && sender.blocking_send(text).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Connects to the run: what is told goes there, releases come back.
async fn connect(
    run: Option<SocketAddr>,
) -> (Option<mpsc::UnboundedSender<String>>, mpsc::Receiver<(String, String)>) {
    let (releases, commands) = mpsc::channel(INBOX);
    let Some(address) = run else {
        // Kept, so that the receiver waits instead of ending.
        tokio::spawn(async move { releases.closed().await });
        return (None, commands);
    };
    let Ok(Ok(stream)) = timeout(CONNECTING, TcpStream::connect(address)).await else {
        tokio::spawn(async move { releases.closed().await });
        return (None, commands);
    };
    let (told, mut telling) = mpsc::unbounded_channel::<String>();
    let (reading, mut writing) = stream.into_split();
    tokio::spawn(async move {
        while let Some(line) = telling.recv().await {
            if writing.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        let mut lines = BufReader::new(reading.take(MAX_LINE)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let command = Value::read(&line).unwrap_or_default();
            let text = |name: &str| command[name].as_str().unwrap_or_default().to_owned();
            if releases.send((text("case"), text("release"))).await.is_err() {
                return;
            }
        }
        releases.closed().await;
    });
    (Some(told), commands)
}

/// Does what a tool does.
async fn brought_about(effect: Effect) -> Ran {
    match effect {
        Effect::Shell { command, cwd } => match timeout(RUNNING, shell(&command, &cwd)).await {
            Ok(Ok(ran)) => ran,
            Ok(Err(error)) => Ran::badly(error.to_string()),
            Err(_) => Ran::badly(format!("it ran for more than {RUNNING:?}")),
        },
        file => {
            let done = tokio::task::spawn_blocking(move || on_file(&file)).await;
            done.unwrap_or_else(|error| Ok(Ran::badly(error.to_string())))
                .unwrap_or_else(|error| Ran::badly(error.to_string()))
        }
    }
}

async fn shell(command: &str, cwd: &str) -> std::io::Result<Ran> {
    let mut line = Command::new("sh");
    line.arg("-c").arg(command).current_dir(cwd).stdin(Stdio::null());
    let mut process = Process::start(line.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let child = process.child();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = async {
        tokio::join!(
            async {
                match stdout {
                    Some(pipe) => pipe.take(KEPT).read_to_end(&mut out).await,
                    None => Ok(0),
                }
            },
            async {
                match stderr {
                    Some(pipe) => pipe.take(KEPT).read_to_end(&mut err).await,
                    None => Ok(0),
                }
            }
        )
    };
    let (status, _) = tokio::join!(child.wait(), read);
    out.append(&mut err);
    let text = String::from_utf8_lossy(&out).into_owned();
    Ok(Ran { ok: status?.success(), text })
}

fn on_file(effect: &Effect) -> std::io::Result<Ran> {
    let read = |path: &str| {
        let mut text = String::new();
        std::fs::File::open(path)?.take(KEPT).read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    Ok(match effect {
        Effect::Read { path } => Ran::well(read(path)?),
        Effect::Write { path, text } => {
            std::fs::write(path, text)?;
            Ran::well("written")
        }
        Effect::Edit { path, old, new } => {
            let text = read(path)?;
            if !text.contains(old.as_str()) {
                return Ok(Ran::badly("the file does not hold the text"));
            }
            std::fs::write(path, text.replacen(old.as_str(), new, 1))?;
            Ran::well("written")
        }
        Effect::Shell { .. } | Effect::Call { .. } => effect.pretended(),
    })
}

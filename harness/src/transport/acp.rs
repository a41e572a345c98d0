//! Runs the ACP agent as a process. The process exchanges lines on standard input and output, or frames on a WebSocket.
//! The agent's tools perform real actions, and the process logs all messages.
//!
//! Start at [`serve`] and [`listen`].

use std::io::{BufRead as _, Read as _, Write};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use litemap::LiteMap;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::accept_async_with_config;
use tokio_tungstenite::tungstenite::Message;

use crate::agent::acp::variant::VariantAgent;
use crate::agent::acp::{AgentEffect, AgentOutput, EffectResult};
use crate::transcript::{BelowEvent, ConnectionEvent, SeenFrame, line};
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::below::MAX_LINE;
use super::child::ChildProcess;
use super::mcp_client;
use super::websocket::config;

/// The maximum number of lines queued for the agent; further lines wait in the pipe.
const INBOX: usize = 64;
/// The maximum number of frames queued for a client. If a client does not read and the queue is full, its connection
/// ends.
const OUTBOX: usize = 100_000;
/// The maximum number of concurrent clients.
const MAX_CLIENTS: usize = 1_000;
/// The maximum number of pings whose answers wait to be sent. A connection with more of them is closed.
const MAX_PINGS: usize = 512;
/// The pause before the next attempt to accept a connection.
const PAUSE: Duration = Duration::from_millis(20);
/// The timeout for connecting to the `ahp-harness run` process. If that process does not answer, the agent works
/// without a connection to it.
const CONNECTING: Duration = Duration::from_secs(2);
/// The timeout of a tool.
const RUNNING: Duration = Duration::from_secs(120);
/// The maximum number of bytes that are kept: of the output of a tool, and of the content of a file.
const KEPT: u64 = 1 << 20;
/// The duration of a wait without a deadline.
const LONG: Duration = Duration::from_secs(3600);

/// A function that stores a session for other processes of the agent: the id, and the session or null if it was
/// deleted.
pub type KeepSession = Box<dyn FnMut(&str, &Value) + Send>;

/// The options of the agent's process.
#[derive(Default)]
pub struct AcpProcessOptions {
    /// The log of all messages; each line has the format of a capture.
    pub log: Option<Box<dyn Write + Send>>,
    /// The address of the `ahp-harness run` process, which receives all messages and releases holds.
    pub run: Option<SocketAddr>,
    /// Whether tools only describe their actions instead of performing them.
    pub pretend: bool,
    /// The function that stores changed sessions; `None` if no session is stored.
    pub keep: Option<KeepSession>,
}

/// Serves the client on standard input and output until the input ends.
pub async fn serve(agent: VariantAgent, options: AcpProcessOptions) {
    let say = |text: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
    };
    converse(agent, options, standard_input(), say).await;
}

/// Serves every client that connects, with a separate agent for each and one message per frame, until the task
/// is dropped.
pub async fn listen(
    listener: TcpListener,
    agent: impl Fn() -> VariantAgent,
    options: impl Fn() -> AcpProcessOptions,
) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if clients.len() < MAX_CLIENTS => {
                    clients.spawn(connection(stream, agent(), options()));
                }
                // The process has too many clients or, for example, no free file descriptor. It waits until a client
                // leaves or a descriptor is free.
                _ => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = clients.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, agent: VariantAgent, options: AcpProcessOptions) {
    let _ = stream.set_nodelay(true);
    let Ok(socket) = accept_async_with_config(stream, Some(config())).await else { return };
    let (mut sink, mut stream) = socket.split();
    let (heard, lines) = mpsc::channel(INBOX);
    let (said, mut outbox) = mpsc::channel::<String>(OUTBOX);
    let (pinged, mut pings) = mpsc::channel(MAX_PINGS);
    let reading = async {
        while let Some(Ok(frame)) = stream.next().await {
            let text = match frame {
                Message::Text(text) => text.as_str().to_owned(),
                Message::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Message::Close(_) => return,
                // The WebSocket library creates the answer, and the writing part sends it.
                Message::Ping(_) if pinged.try_send(()).is_err() => return,
                _ => continue,
            };
            if heard.send(text).await.is_err() {
                return;
            }
        }
    };
    let writing = async {
        loop {
            let sent = tokio::select! {
                said = outbox.recv() => match said {
                    Some(text) => sink.send(Message::text(text)).await,
                    None => break,
                },
                Some(()) = pings.recv() => sink.flush().await,
            };
            if sent.is_err() {
                return;
            }
        }
        let _ = sink.close().await;
    };
    let talking = converse(agent, options, lines, |text| said.try_send(text).is_ok());
    tokio::select! {
        () = reading => {}
        () = writing => {}
        () = talking => {}
    }
}

/// Exchanges lines with a client until the input ends or the output fails.
async fn converse(
    mut agent: VariantAgent,
    options: AcpProcessOptions,
    mut lines: mpsc::Receiver<String>,
    say: impl Fn(String) -> bool,
) {
    let began = Instant::now();
    let AcpProcessOptions { log, run, pretend, mut keep } = options;
    let (told, mut commands) = connect(run).await;
    let mut journal = AcpJournal { began, log, told };
    let mut effects: JoinSet<(u64, EffectResult)> = JoinSet::new();
    let mut handles: LiteMap<u64, AbortHandle> = LiteMap::new();
    'talking: loop {
        let due = agent.next_timeout().unwrap_or_else(|| began.elapsed() + LONG);
        tokio::select! {
            came = lines.recv() => match came {
                Some(text) => {
                    journal.note(BelowEvent::ToAgent, &text);
                    agent.handle_line(began.elapsed(), &text);
                }
                None => break,
            },
            Some(ended) = effects.join_next() => {
                // A task that was aborted has no result.
                if let Ok((token, ran)) = ended {
                    handles.remove(&token);
                    agent.handle_ran(began.elapsed(), token, ran);
                }
            }
            Some((case, name)) = commands.recv() => agent.release(began.elapsed(), &case, &name),
            () = sleep_until(began + due) => agent.handle_timeout(began.elapsed()),
        }
        // Sessions are stored before the output is sent, because a client may load a session as soon as it knows the
        // session.
        let changed = agent.take_changed(false);
        keep.iter_mut().for_each(|keep| changed.iter().for_each(|(id, kept)| keep(id, kept)));
        while let Some(output) = agent.poll_output() {
            match output {
                AgentOutput::Line(text) => {
                    journal.note(BelowEvent::FromAgent, &text);
                    if !say(text) {
                        break 'talking;
                    }
                }
                AgentOutput::Run { token, effect } if pretend => {
                    agent.handle_ran(began.elapsed(), token, effect.pretended());
                }
                AgentOutput::Run { token, effect } => {
                    let handle = effects.spawn(async move { (token, brought_about(effect).await) });
                    handles.insert(token, handle);
                }
                AgentOutput::Exit => break 'talking,
                AgentOutput::Stop(token) => {
                    if let Some(handle) = handles.remove(&token) {
                        handle.abort();
                    }
                }
            }
        }
    }
    let changed = agent.take_changed(true);
    keep.iter_mut().for_each(|keep| changed.iter().for_each(|(id, kept)| keep(id, kept)));
}

/// The log of an agent's messages, for the log file and for the run.
struct AcpJournal {
    began: Instant,
    log: Option<Box<dyn Write + Send>>,
    told: Option<mpsc::UnboundedSender<String>>,
}

impl AcpJournal {
    fn note(&mut self, way: BelowEvent, text: &str) {
        if self.log.is_none() && self.told.is_none() {
            return;
        }
        let seen = Arc::new(SeenFrame::new(Frame::Text(text.to_owned())));
        let mut out = String::new();
        line::write(
            &mut out,
            None,
            self.began.elapsed(),
            way.peer(),
            &ConnectionEvent::Below { way, seen },
        );
        if let Some(log) = &mut self.log {
            // The agent must not stop if the log cannot be written.
            let _ = log.write_all(out.as_bytes()).and_then(|()| log.flush());
        }
        if let Some(told) = &self.told {
            let _ = told.send(out);
        }
    }
}

/// Returns the lines of standard input. A separate thread reads them, because the read blocks. Invalid UTF-8 is
/// replaced.
pub(super) fn standard_input() -> mpsc::Receiver<String> {
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

/// Connects to the `ahp-harness run` process. Returns the sender for messages to this process, and the receiver of the
/// releases that it sends.
async fn connect(
    run: Option<SocketAddr>,
) -> (Option<mpsc::UnboundedSender<String>>, mpsc::Receiver<(String, String)>) {
    let (releases, commands) = mpsc::channel(INBOX);
    let Some(address) = run else {
        // The sender is kept, so that the receiver waits and does not end.
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

/// Performs the action of a tool.
async fn brought_about(effect: AgentEffect) -> EffectResult {
    match effect {
        AgentEffect::Shell { command, cwd } => {
            match timeout(RUNNING, shell(&command, &cwd)).await {
                Ok(Ok(ran)) => ran,
                Ok(Err(error)) => EffectResult::badly(error.to_string()),
                Err(_) => EffectResult::badly(format!("it ran for more than {RUNNING:?}")),
            }
        }
        AgentEffect::Call { server, arguments } => {
            match timeout(RUNNING, mcp_client::call(&server, arguments)).await {
                Ok(Ok(ran)) => ran,
                Ok(Err(error)) => EffectResult::badly(error.to_string()),
                Err(_) => EffectResult::badly(format!("it ran for more than {RUNNING:?}")),
            }
        }
        file => {
            let done = tokio::task::spawn_blocking(move || on_file(&file)).await;
            done.unwrap_or_else(|error| Ok(EffectResult::badly(error.to_string())))
                .unwrap_or_else(|error| EffectResult::badly(error.to_string()))
        }
    }
}

async fn shell(command: &str, cwd: &str) -> std::io::Result<EffectResult> {
    let mut line = Command::new("sh");
    line.arg("-c").arg(command).current_dir(cwd).stdin(Stdio::null());
    let mut process = ChildProcess::start(line.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
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
    Ok(EffectResult { ok: status?.success(), text, blocks: Vec::new() })
}

fn on_file(effect: &AgentEffect) -> std::io::Result<EffectResult> {
    let read = |path: &str| {
        let mut text = String::new();
        std::fs::File::open(path)?.take(KEPT).read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    Ok(match effect {
        AgentEffect::Read { path } => EffectResult::well(read(path)?),
        AgentEffect::Write { path, text } => {
            std::fs::write(path, text)?;
            EffectResult::well("written")
        }
        AgentEffect::Edit { path, old, new } => {
            let text = read(path)?;
            if !text.contains(old.as_str()) {
                return Ok(EffectResult::badly("the file does not contain the text"));
            }
            std::fs::write(path, text.replacen(old.as_str(), new, 1))?;
            EffectResult::well("written")
        }
        AgentEffect::Shell { .. } | AgentEffect::Call { .. } => effect.pretended(),
    })
}

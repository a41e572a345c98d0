//! Serves a host engine on a port. Each connection runs in its own task, and the engine runs in another task.

use std::future::poll_fn;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use litemap::LiteMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

use crate::host::shell::ShellEvent;
use crate::host::{HostOutput, SansIoHost, door};
use crate::transcript::ConnId;
use crate::wire::frame::Frame;

use super::agent::AgentProcess;
use super::host_journal::{HostJournal, JournalExtent, JournaledEvent, TimedEvent};
use super::request_head::{HEAD_TIMEOUT, read_head};
use super::shells::HostShells;
use super::websocket::{PongBacklog, config};

/// The maximum number of frames queued for the engine; further frames wait in their sockets.
const INBOX: usize = 1024;
/// The maximum number of frames queued for a client, and the maximum number of their bytes. If a client does not read
/// and a limit is reached, its connection ends.
const OUTBOX: usize = 100_000;
const OUTBOX_BYTES: usize = 64 << 20;
/// A client with this many queued bytes counts as not reading, until the queue is empty.
const UNREAD: usize = 64 << 10;
/// The maximum number of events that are stored together.
const AT_ONCE: usize = 256;
/// The duration of a wait without a deadline.
const LONG: Duration = Duration::from_secs(3600);

/// The time for sending the last frames of a host that has ended.
const LEAVING: Duration = Duration::from_millis(30);
/// The close code that ends a connection without a closing handshake.
const ABRUPT: u16 = 1006;

/// A connection whose first bytes have already been read.
type ServerSocket =
    tokio::io::Join<tokio::io::Chain<Cursor<Vec<u8>>, OwnedReadHalf>, OwnedWriteHalf>;

/// An input to the engine.
enum EngineInput {
    /// A handshake with these headers. The answer is the HTTP status of a refusal.
    Admit(ConnId, Vec<(String, String)>, oneshot::Sender<Result<(), u16>>),
    Open(ConnId, ConnectionHandle),
    Frame(ConnId, Frame),
    Closed(ConnId),
    /// The client has read everything that was queued.
    Read(ConnId),
    Restart(oneshot::Sender<()>),
}

/// An output to a connection.
enum ConnectionOutput {
    Frame(Frame),
    Close(u16, String),
}

/// A handle for sending to a connection.
struct ConnectionHandle {
    outward: mpsc::Sender<ConnectionOutput>,
    /// The number of bytes in queued frames.
    waiting: Arc<AtomicUsize>,
    /// Whether the engine knows that the client does not read.
    held: Arc<AtomicBool>,
}

impl ConnectionHandle {
    /// Queues an output; returns false if the queue is full.
    fn send(&self, outward: ConnectionOutput) -> bool {
        let bytes = outward.bytes();
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        (waiting == 0 || waiting + bytes <= OUTBOX_BYTES) && self.outward.try_send(outward).is_ok()
    }
}

impl ConnectionOutput {
    fn bytes(&self) -> usize {
        match self {
            ConnectionOutput::Frame(frame) => frame.len(),
            ConnectionOutput::Close(..) => 0,
        }
    }
}

/// A host that is being served.
#[derive(Clone)]
pub struct ServedHost {
    inward: mpsc::Sender<EngineInput>,
}

impl ServedHost {
    /// Restarts the engine. Every connection ends.
    pub async fn restart(&self) {
        let (done, wait) = oneshot::channel();
        if self.inward.send(EngineInput::Restart(done)).await.is_ok() {
            let _ = wait.await;
        }
    }
}

/// The processes and the journal that a host uses.
pub struct ServedBehind {
    /// The host's agent; unused if the host starts none.
    pub agent: AgentProcess,
    /// The shells of the host's terminals; unused if the terminals are simulated.
    pub shells: HostShells,
    /// The journal that keeps the host's state on disk, and the end of the journal; `None` if the state is not kept.
    pub journal: Option<(HostJournal, JournalExtent)>,
}

impl ServedBehind {
    /// Returns the value for a host without processes and without a journal.
    pub fn nothing() -> ServedBehind {
        let shells = HostShells::new(String::new());
        ServedBehind { agent: AgentProcess::default(), shells, journal: None }
    }
}

/// Serves a host engine until the host has ended, the returned task is aborted or the runtime ends. The task ends with
/// an error if the journal cannot store an event.
pub fn serve(
    listener: TcpListener,
    host: Box<dyn SansIoHost + Send>,
    behind: ServedBehind,
) -> (ServedHost, tokio::task::JoinHandle<Result<(), String>>) {
    let (inward, inbox) = mpsc::channel(INBOX);
    let served = ServedHost { inward: inward.clone() };
    let first = behind.journal.as_ref().map_or(0, |(_, end)| end.next_conn);
    let task = tokio::spawn(async move {
        tokio::select! {
            () = accept(listener, inward, first) => Ok(()),
            outcome = engine(host, behind, inbox) => outcome,
        }
    });
    (served, task)
}

async fn accept(listener: TcpListener, inward: mpsc::Sender<EngineInput>, first: u32) {
    let mut tasks = tokio::task::JoinSet::new();
    let mut next = first;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let conn = ConnId(next);
                    next += 1;
                    tasks.spawn(connection(conn, stream, inward.clone()));
                }
                // For example, the process may have no free file descriptor. The pause prevents a busy loop until a
                // descriptor is free.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
}

async fn connection(conn: ConnId, stream: TcpStream, inward: mpsc::Sender<EngineInput>) {
    let _ = stream.set_nodelay(true);
    let Some(mut socket) =
        timeout(HEAD_TIMEOUT, admitted(conn, stream, &inward)).await.ok().flatten()
    else {
        return;
    };
    let (outward, mut outbox) = mpsc::channel(OUTBOX);
    let waiting = Arc::new(AtomicUsize::new(0));
    let held = Arc::new(AtomicBool::new(false));
    let client =
        ConnectionHandle { outward, waiting: Arc::clone(&waiting), held: Arc::clone(&held) };
    if inward.send(EngineInput::Open(conn, client)).await.is_err() {
        return;
    }
    let mut pongs = PongBacklog::default();
    loop {
        tokio::select! {
            out = outbox.recv() => {
                let Some(first) = out else { break };
                if !write(&mut socket, first, &mut outbox, &waiting).await {
                    break;
                }
                let was_held = held.swap(false, Ordering::Relaxed);
                if was_held && inward.send(EngineInput::Read(conn)).await.is_err() {
                    break;
                }
            }
            came = socket.next() => match came {
                Some(Ok(Message::Text(text))) => {
                    let frame = Frame::Text(text.as_str().to_owned());
                    if inward.send(EngineInput::Frame(conn, frame)).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Binary(bytes))) => {
                    let frame = Frame::Binary(bytes.to_vec());
                    if inward.send(EngineInput::Frame(conn, frame)).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Ping(payload))) => {
                    let answered = poll_fn(|cx| {
                        Poll::Ready(pongs.poll_answer(Pin::new(&mut socket), cx, payload.len()))
                    });
                    if !answered.await {
                        break;
                    }
                }
                Some(Ok(Message::Close(_))) | Some(Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    let _ = inward.send(EngineInput::Closed(conn)).await;
}

/// Performs the handshake if the engine admits the client. The engine decides before any answer is sent.
/// Therefore, this function reads the head of the request, and the WebSocket library then reads the same bytes
/// again.
async fn admitted(
    conn: ConnId,
    stream: TcpStream,
    inward: &mpsc::Sender<EngineInput>,
) -> Option<WebSocketStream<ServerSocket>> {
    let (mut from, mut to) = stream.into_split();
    let begun = read_head(&mut from).await?;
    let head = begun.text();
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    let headers = head.lines().skip(1).filter_map(header).collect();
    let (answer, said) = oneshot::channel();
    inward.send(EngineInput::Admit(conn, headers, answer)).await.ok()?;
    if let Err(status) = said.await.ok()? {
        let line = door::refusal(status);
        let answer = format!("{line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        let _ = to.write_all(answer.as_bytes()).await;
        let _ = to.shutdown().await;
        return None;
    }
    let socket = tokio::io::join(Cursor::new(begun.bytes).chain(from), to);
    accept_async_with_config(socket, Some(config())).await.ok()
}

/// Writes all queued outputs; returns false if the connection has ended.
async fn write(
    socket: &mut WebSocketStream<ServerSocket>,
    first: ConnectionOutput,
    outbox: &mut mpsc::Receiver<ConnectionOutput>,
    waiting: &AtomicUsize,
) -> bool {
    let mut next = Some(first);
    while let Some(outward) = next {
        let bytes = outward.bytes();
        let fed = match outward {
            ConnectionOutput::Frame(frame) => socket.feed(message(frame)).await,
            ConnectionOutput::Close(ABRUPT, _) => {
                let _ = socket.flush().await;
                return false;
            }
            ConnectionOutput::Close(code, reason) => {
                let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
                let _ = socket.close(Some(frame)).await;
                return false;
            }
        };
        if fed.is_err() {
            return false;
        }
        waiting.fetch_sub(bytes, Ordering::Relaxed);
        next = outbox.try_recv().ok();
    }
    socket.flush().await.is_ok()
}

fn message(frame: Frame) -> Message {
    match frame {
        Frame::Text(text) => Message::text(text),
        Frame::Binary(bytes) | Frame::NotUtf8(bytes) => Message::binary(bytes),
    }
}

/// An event that the engine has to handle.
enum EngineStep {
    Input(EngineInput),
    Agent(Option<String>),
    Shell(String, ShellEvent),
    Timeout,
}

impl EngineStep {
    /// Returns the event that the journal stores for this step; `None` for an event of a shell, because shells do not
    /// outlive the process.
    fn journaled(&self) -> Option<JournaledEvent> {
        Some(match self {
            EngineStep::Input(EngineInput::Admit(conn, headers, _)) => {
                JournaledEvent::Admit(conn.0, headers.clone())
            }
            EngineStep::Input(EngineInput::Open(conn, _)) => JournaledEvent::Open(conn.0),
            EngineStep::Input(EngineInput::Frame(conn, frame)) => {
                JournaledEvent::frame(*conn, frame)
            }
            EngineStep::Input(EngineInput::Closed(conn)) => JournaledEvent::Closed(conn.0),
            EngineStep::Input(EngineInput::Read(conn)) => JournaledEvent::Held(conn.0, false),
            EngineStep::Input(EngineInput::Restart(_)) => JournaledEvent::Restart,
            EngineStep::Agent(line) => JournaledEvent::Agent(line.clone()),
            EngineStep::Timeout => JournaledEvent::Timeout,
            EngineStep::Shell(..) => return None,
        })
    }
}

/// A host engine that is being served, and the connections and processes that receive its outputs.
struct ServedEngine {
    host: Box<dyn SansIoHost + Send>,
    agent: AgentProcess,
    shells: HostShells,
    clients: LiteMap<ConnId, ConnectionHandle>,
    journal: Option<HostJournal>,
    /// The time on the engine's clock at which this process began to serve it.
    base: Duration,
    began: Instant,
}

async fn engine(
    host: Box<dyn SansIoHost + Send>,
    behind: ServedBehind,
    mut inbox: mpsc::Receiver<EngineInput>,
) -> Result<(), String> {
    let ServedBehind { agent, shells, journal } = behind;
    let end = journal.as_ref().map_or_else(JournalExtent::default, |(_, end)| *end);
    let mut engine = ServedEngine {
        host,
        agent,
        shells,
        clients: LiteMap::new(),
        journal: journal.map(|(journal, _)| journal),
        base: end.at,
        began: Instant::now(),
    };
    if end.events > 0 {
        engine.store(engine.base, &[JournaledEvent::Restart])?;
        engine.host.restart(engine.base);
    }
    // A host may have outputs before the first event.
    engine.flush(engine.base)?;
    let mut steps = Vec::new();
    while !engine.host.is_over() {
        let due = engine.host.next_timeout().unwrap_or_else(|| engine.now() + LONG);
        let rings = engine.began + due.saturating_sub(engine.base);
        steps.push(tokio::select! {
            inward = inbox.recv() => match inward {
                Some(inward) => EngineStep::Input(inward),
                None => return Ok(()),
            },
            line = engine.agent.hear() => EngineStep::Agent(line),
            (terminal, said) = engine.shells.hear() => EngineStep::Shell(terminal, said),
            () = sleep_until(rings) => EngineStep::Timeout,
        });
        // All waiting events are stored together, because each transaction waits for the disk.
        while engine.journal.is_some()
            && steps.len() < AT_ONCE
            && let Ok(inward) = inbox.try_recv()
        {
            steps.push(EngineStep::Input(inward));
        }
        let now = engine.now();
        let events: Vec<_> = match &engine.journal {
            Some(_) => steps.iter().filter_map(EngineStep::journaled).collect(),
            None => Vec::new(),
        };
        engine.store(now, &events)?;
        for step in steps.drain(..) {
            engine.handle(now, step);
            engine.flush(now)?;
        }
    }
    // The last frames may still be in the queues of their connections.
    tokio::time::sleep(LEAVING).await;
    Ok(())
}

impl ServedEngine {
    fn now(&self) -> Duration {
        self.base + self.began.elapsed()
    }

    /// Stores events, if there is a journal.
    fn store(&mut self, now: Duration, events: &[JournaledEvent]) -> Result<(), String> {
        let Some(journal) = self.journal.as_mut().filter(|_| !events.is_empty()) else {
            return Ok(());
        };
        let at_us = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        let events = events.iter().map(|event| TimedEvent { at_us, event: event.clone() });
        journal.append(&events.collect::<Vec<_>>())
    }

    fn handle(&mut self, now: Duration, step: EngineStep) {
        // The time is rounded to microseconds, as in the journal, so that the host sees the same times in a replay.
        let now = Duration::from_micros(u64::try_from(now.as_micros()).unwrap_or(u64::MAX));
        match step {
            EngineStep::Input(EngineInput::Admit(conn, headers, answer)) => {
                let _ = answer.send(self.host.admit(now, conn, &headers));
            }
            EngineStep::Input(EngineInput::Open(conn, client)) => {
                self.clients.insert(conn, client);
                self.host.handle_open(now, conn);
            }
            EngineStep::Input(EngineInput::Frame(conn, frame)) => {
                self.host.handle_frame(now, conn, &frame);
            }
            // If the connection ended because its queue was full, the host has already handled the end, and ignores
            // this second report of it.
            EngineStep::Input(EngineInput::Closed(conn)) => {
                self.clients.remove(&conn);
                self.host.handle_close(now, conn);
            }
            EngineStep::Input(EngineInput::Read(conn)) => self.host.handle_held(now, conn, false),
            EngineStep::Input(EngineInput::Restart(done)) => {
                self.clients.clear();
                self.host.restart(now);
                let _ = done.send(());
            }
            EngineStep::Agent(line) => self.host.handle_agent(now, line.as_deref()),
            EngineStep::Shell(terminal, said) => self.host.handle_shell(now, &terminal, said),
            EngineStep::Timeout => self.host.handle_timeout(now),
        }
    }

    /// Carries out the outputs of the host.
    fn flush(&mut self, now: Duration) -> Result<(), String> {
        while let Some(output) = self.host.poll_output() {
            let (conn, outward) = match output {
                HostOutput::Send { conn, frame } => (conn, ConnectionOutput::Frame(frame)),
                HostOutput::Close { conn, code, reason } => {
                    (conn, ConnectionOutput::Close(code, reason))
                }
                HostOutput::ToAgent(line) => {
                    self.agent.say(line);
                    continue;
                }
                HostOutput::Shell(terminal, deed) => {
                    self.shells.take(terminal, deed);
                    continue;
                }
                // A reference agent calls tools only when it runs in memory, never when it is served.
                HostOutput::Called(_) | HostOutput::Asked(_) => continue,
            };
            let Some(client) = self.clients.get(&conn) else { continue };
            if !client.send(outward) {
                self.clients.remove(&conn);
                self.store(now, &[JournaledEvent::Closed(conn.0)])?;
                self.handle(now, EngineStep::Input(EngineInput::Closed(conn)));
            } else if client.waiting.load(Ordering::Relaxed) >= UNREAD
                && !client.held.swap(true, Ordering::Relaxed)
            {
                self.store(now, &[JournaledEvent::Held(conn.0, true)])?;
                self.host.handle_held(now, conn, true);
            }
        }
        Ok(())
    }
}

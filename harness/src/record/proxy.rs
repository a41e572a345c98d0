//! The sockets of a recording: the connections of the clients, and for each of them a connection to the host.
//!
//! Each connection has one task with two pumps. A pump reads from one side only as fast as the other side accepts the
//! data. Backpressure therefore reaches the sender, and no data accumulates in the proxy. A pump also stops reading
//! while the journal lags too far behind. [`ConnectionRelay`] makes all decisions about the data.
//!
//! Knows: tokio, TLS. Never knows: the content of messages, faults.
//!
//! Start at [`RecordProxy::serve`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::MaybeTlsStream;

use crate::report::redact::SecretRedactor;
use crate::transcript::{ClosingSide, ConnId, HandshakeLines};

use super::handshake::{
    MAX_HEAD, RelayedRequest, RelayedResponse, UpstreamHost, end_of_head, response,
};
use super::relay::{ConnectionRelay, LaneFollowUp, RecordedItem, RelayNote};

/// The size of a read, in bytes.
const CHUNK: usize = 64 << 10;
/// The maximum size of the notes that wait for the journal (the backlog), in bytes. Above this size, the proxy stops
/// reading.
const MAX_BACKLOG: usize = 64 << 20;
/// The memory that a note needs in the backlog in addition to its message, in bytes.
const NOTE: usize = 64;
/// The time limit for a handshake, on both sides together.
const SHAKING: Duration = Duration::from_secs(10);
/// The time limit for the remaining data of one side after the other side has ended.
const LINGER: Duration = Duration::from_secs(2);
/// The duration of a wait without a deadline: long enough to have no effect.
const LONG: Duration = Duration::from_secs(3600);

/// A note with its time since the start of the recording.
#[derive(Debug)]
pub struct TimedNote {
    /// The time since the start of the recording.
    pub at: Duration,
    /// The note.
    pub note: RelayNote,
}

/// A proxy that forwards the data between clients and their host.
pub struct RecordProxy {
    upstream: UpstreamHost,
    tls: Option<TlsConnector>,
    redactor: SecretRedactor,
    relay: Mutex<ConnectionRelay>,
    wakes: Mutex<HashMap<ConnId, Arc<[Notify; 2]>>>,
    /// The sender of notes to the journal. At the end, the proxy drops the sender, which shows the journal that no more
    /// notes follow.
    notes: Mutex<Option<mpsc::UnboundedSender<TimedNote>>>,
    backlog: JournalBacklog,
    began: Instant,
}

/// The notes that wait for the journal.
#[derive(Debug, Default)]
struct JournalBacklog {
    bytes: AtomicUsize,
    /// The number of notes that were sent to the journal (`sent`), and the number of notes that the journal has written
    /// (`recorded`). If no capture is written, `recorded` has the maximum value, so that the proxy never waits.
    sent: AtomicU64,
    recorded: AtomicU64,
    eased: Notify,
}

type ProxyHost = MaybeTlsStream<TcpStream>;

impl RecordProxy {
    /// Creates a proxy for a host, and the receiver of its notes.
    ///
    /// # Errors
    /// Returns an error if the host needs TLS, and the system has no trusted certificates.
    pub fn new(
        upstream: UpstreamHost,
        relay: ConnectionRelay,
        redactor: SecretRedactor,
    ) -> Result<(Arc<RecordProxy>, mpsc::UnboundedReceiver<TimedNote>), String> {
        let tls = if upstream.tls { Some(connector()?) } else { None };
        let (notes, noted) = mpsc::unbounded_channel();
        let proxy = RecordProxy {
            upstream,
            tls,
            redactor,
            relay: Mutex::new(relay),
            wakes: Mutex::default(),
            notes: Mutex::new(Some(notes)),
            backlog: JournalBacklog {
                recorded: AtomicU64::new(u64::MAX),
                ..JournalBacklog::default()
            },
            began: Instant::now(),
        };
        Ok((Arc::new(proxy), noted))
    }

    /// Serves clients until the future is dropped. The caller must then call [`end`](Self::end).
    pub async fn serve(self: &Arc<RecordProxy>, listener: TcpListener) {
        let mut tasks = JoinSet::new();
        let mut next = 0;
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((client, _)) => {
                        let (proxy, conn) = (Arc::clone(self), ConnId(next));
                        next += 1;
                        tasks.spawn(async move { proxy.connection(conn, client).await });
                    }
                    // For example, the process may have no free file descriptor, so the proxy waits a moment and tries
                    // again.
                    Err(_) => sleep(Duration::from_millis(20)).await,
                },
                Some(_) = tasks.join_next() => {}
            }
        }
    }

    /// Records the end of every connection, and closes the channel of notes.
    pub fn end(&self) {
        self.act(|relay, _| {
            for conn in relay.open_connections() {
                relay.close(conn, ClosingSide::Client, "the recording ended");
            }
        });
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Removes a processed note from the backlog.
    pub fn done(&self, weight: usize) {
        self.backlog.bytes.fetch_sub(weight, Ordering::Relaxed);
        self.backlog.eased.notify_waiters();
    }

    /// Tells the proxy that the first `notes` notes have been written to the capture. After the first call, the proxy
    /// forwards a message only when the notes about it have been written, so that no message that a client has received
    /// is lost if the process is killed. With `u64::MAX`, the proxy no longer waits.
    pub fn recorded(&self, notes: u64) {
        self.backlog.recorded.store(notes, Ordering::Release);
        self.backlog.eased.notify_waiters();
    }

    /// Returns the rules that no message triggered.
    pub fn unused(&self) -> Vec<String> {
        self.act(|relay, _| relay.unused().map(|rule| rule.text.clone()).collect())
    }

    /// Calls `act` with the relay, and sends the notes that result to the journal, in order.
    fn act<T>(&self, act: impl FnOnce(&mut ConnectionRelay, Duration) -> T) -> T {
        let mut relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.began.elapsed();
        let result = act(&mut relay, now);
        let made = relay.notes();
        if !made.is_empty()
            && let Some(notes) = &*self.notes.lock().unwrap_or_else(PoisonError::into_inner)
        {
            for note in made {
                let noted = TimedNote { at: now, note };
                self.backlog.bytes.fetch_add(noted.weight(), Ordering::Relaxed);
                if notes.send(noted).is_ok() {
                    self.backlog.sent.fetch_add(1, Ordering::Release);
                }
            }
        }
        if relay.has_stirred() {
            let wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
            wakes.values().flat_map(|lanes| lanes.iter()).for_each(Notify::notify_one);
        }
        result
    }

    async fn connection(&self, conn: ConnId, mut client: TcpStream) {
        let _ = client.set_nodelay(true);
        let shaken = timeout(SHAKING, self.shake(&mut client)).await;
        let failed = |reason: String| self.act(|relay, _| relay.failed(conn, reason));
        match shaken {
            Ok(Ok(AnsweredHandshake { request, response, head, rest, mut host, early })) => {
                let handshake = HandshakeLines { request: request.lines, response: response.lines };
                if response.status != 101 {
                    self.act(|relay, _| relay.refused(conn, handshake));
                    let _ = client.write_all(&[head, rest].concat()).await;
                    refusal(&mut host, &mut client).await;
                    return;
                }
                self.act(|relay, now| {
                    relay.open(conn, handshake);
                    relay.bytes(now, conn, ClosingSide::Host, &rest);
                    relay.bytes(now, conn, ClosingSide::Client, &early);
                });
                if client.write_all(&head).await.is_ok() {
                    self.relayed(conn, client, host).await;
                }
                self.act(|relay, _| relay.close(conn, ClosingSide::Client, ""));
            }
            Ok(Err(ProxyRefusal { status, reason })) => {
                if status == 502 {
                    failed(reason.clone());
                }
                let text = format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{reason}",
                    reason.len()
                );
                let _ = client.write_all(text.as_bytes()).await;
            }
            Err(_) => failed(format!("no handshake within {SHAKING:?}")),
        }
    }

    /// Forwards the handshake of a client, and returns the host's answer.
    async fn shake(&self, client: &mut TcpStream) -> Result<AnsweredHandshake, ProxyRefusal> {
        let bad = |reason: String| ProxyRefusal { status: 400, reason };
        let gone = |reason: String| ProxyRefusal { status: 502, reason };
        let (head, early) = read_head(client).await.map_err(bad)?;
        let request = self.upstream.request(&head).map_err(bad)?;
        request.secrets.iter().for_each(|secret| self.redactor.learn(secret));
        let mut host = self.dial().await.map_err(gone)?;
        let sent = async {
            host.write_all(&request.bytes).await?;
            host.flush().await
        };
        sent.await.map_err(|error| gone(error.to_string()))?;
        let (head, rest) = read_head(&mut host).await.map_err(gone)?;
        let response = response(&head).map_err(gone)?;
        response.secrets.iter().for_each(|secret| self.redactor.learn(secret));
        Ok(AnsweredHandshake { request, response, head, rest, host, early })
    }

    async fn dial(&self) -> Result<ProxyHost, String> {
        let UpstreamHost { host, port, .. } = &self.upstream;
        let stream = TcpStream::connect((host.as_str(), *port)).await;
        let stream = stream.map_err(|error| format!("the host cannot be reached: {error}"))?;
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return Ok(MaybeTlsStream::Plain(stream));
        };
        let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
        let stream = tls.connect(name, stream).await;
        stream
            .map(MaybeTlsStream::Rustls)
            .map_err(|error| format!("the TLS handshake with the host failed: {error}"))
    }

    /// Forwards both directions of a connection until it ends.
    async fn relayed(&self, conn: ConnId, client: TcpStream, host: ProxyHost) {
        let wake = Arc::new([Notify::new(), Notify::new()]);
        let wakes = || self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
        wakes().insert(conn, Arc::clone(&wake));
        {
            let (client_in, client_out) = tokio::io::split(client);
            let (host_in, host_out) = tokio::io::split(host);
            let mut up = Box::pin(self.pump(conn, ClosingSide::Client, client_in, host_out, &wake));
            let mut down = Box::pin(self.pump(conn, ClosingSide::Host, host_in, client_out, &wake));
            // The other side may still send its remaining data, unless a fault has cut the connection.
            let first = tokio::select! {
                then = &mut up => (ClosingSide::Client, then),
                then = &mut down => (ClosingSide::Host, then),
            };
            let _ = match first {
                (_, LaneFollowUp::Cut | LaneFollowUp::More) => Ok(LaneFollowUp::Cut),
                (ClosingSide::Client, LaneFollowUp::End) => timeout(LINGER, down).await,
                (ClosingSide::Host, LaneFollowUp::End) => timeout(LINGER, up).await,
            };
        }
        wakes().remove(&conn);
    }

    /// Forwards one direction until it ends.
    async fn pump(
        &self,
        conn: ConnId,
        from: ClosingSide,
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
        wake: &[Notify; 2],
    ) -> LaneFollowUp {
        let (own, across) = match from {
            ClosingSide::Client => (&wake[0], &wake[1]),
            ClosingSide::Host => (&wake[1], &wake[0]),
        };
        let mut buffer = vec![0; CHUNK];
        let mut open = true;
        loop {
            let taken = self.act(|relay, now| relay.take(now, conn, from));
            if !taken.bytes.is_empty() {
                self.backlog.wait_for_record().await;
                let written = async {
                    writer.write_all(&taken.bytes).await?;
                    writer.flush().await
                };
                if written.await.is_err() {
                    // A failed write means that the receiver has disconnected. The other pump still reads the last data
                    // that the receiver sent.
                    return LaneFollowUp::End;
                }
            }
            if taken.then != LaneFollowUp::More {
                let _ = writer.shutdown().await;
                return taken.then;
            }
            self.backlog.wait().await;
            let (due, room) =
                self.act(|relay, _| (relay.next_timeout(conn, from), relay.has_room(conn, from)));
            let due = due.map_or_else(|| Instant::now() + LONG, |due| self.began + due);
            tokio::select! {
                read = reader.read(&mut buffer), if open && room => match read {
                    Ok(0) => {
                        open = false;
                        self.act(|relay, _| relay.ended(conn, from, ""));
                    }
                    Ok(count) => {
                        self.act(|relay, now| relay.bytes(now, conn, from, &buffer[..count]));
                        // A fault may have added bytes to the lane of the other direction.
                        across.notify_one();
                    }
                    Err(error) => {
                        open = false;
                        self.act(|relay, _| relay.ended(conn, from, &error.to_string()));
                    }
                },
                () = own.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }
}

/// A client's handshake that the host has answered.
struct AnsweredHandshake {
    request: RelayedRequest,
    response: RelayedResponse,
    /// The head of the host's answer, and the bytes that follow the head.
    head: Vec<u8>,
    rest: Vec<u8>,
    host: ProxyHost,
    /// The bytes that the client sent before the host answered.
    early: Vec<u8>,
}

/// The HTTP error that the proxy sends to a client if the host has not answered the client's handshake.
struct ProxyRefusal {
    status: u16,
    reason: String,
}

impl TimedNote {
    /// Returns the size that the note has in the backlog, in bytes.
    pub fn weight(&self) -> usize {
        let frame = match &self.note.what {
            RecordedItem::Message(_, frame) => frame.len(),
            RecordedItem::Event(_) => 0,
        };
        frame + NOTE
    }
}

impl JournalBacklog {
    /// Waits until the capture contains all notes so far.
    async fn wait_for_record(&self) {
        let notes = self.sent.load(Ordering::Acquire);
        loop {
            let eased = self.eased.notified();
            if self.recorded.load(Ordering::Acquire) >= notes {
                return;
            }
            eased.await;
        }
    }

    /// Waits until the journal's backlog is small enough.
    async fn wait(&self) {
        loop {
            let eased = self.eased.notified();
            if self.bytes.load(Ordering::Relaxed) < MAX_BACKLOG {
                return;
            }
            eased.await;
        }
    }
}

/// Reads the head of a request or response, and returns it with the bytes that follow.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Vec<u8>, Vec<u8>), String> {
    let mut head = Vec::new();
    loop {
        if let Some(end) = end_of_head(&head) {
            let rest = head.split_off(end);
            return Ok((head, rest));
        }
        if head.len() > MAX_HEAD {
            return Err(format!("expected an HTTP head of at most {MAX_HEAD} bytes"));
        }
        match stream.read_buf(&mut head).await {
            Ok(0) => return Err("the connection ended during the handshake".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Forwards the body of a response in which the host refused the handshake, until the host sends nothing more.
async fn refusal(host: &mut ProxyHost, client: &mut TcpStream) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(Ok(count @ 1..)) = timeout(LINGER, host.read(&mut buffer)).await {
        if client.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// Creates a TLS connector that trusts the certificates of the system.
fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let errors = found.errors;
        return Err(format!("the system has no trusted certificates: {errors:?}"));
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

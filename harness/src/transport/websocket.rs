//! A client's WebSocket connection. The connection is polled manually, so that one task can serve many
//! connections without queues between tasks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
pub use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue, Response};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async_tls_with_config, connect_async_with_config,
};

use crate::peer::guise::{ClientCredentials, ClientGuise};
use crate::wire::frame::Frame;

/// The headers of a handshake, as names and values.
pub type HandshakeHeaders = Vec<(String, String)>;

/// The address of a host, and the handshake headers.
#[derive(Clone, Debug, Default)]
pub struct WebSocketEndpoint {
    /// The URL, `ws://` or `wss://`, with path and query.
    pub url: String,
    /// Additional headers of the handshake.
    pub headers: HandshakeHeaders,
    /// The URL and headers for clients with other credentials.
    pub others: Vec<(ClientCredentials, String, HandshakeHeaders)>,
    /// The size of the operating system's receive buffer, in bytes; `None` for the default of the system. With a small
    /// buffer, a host soon notices that a client does not read.
    pub receive_buffer: Option<u32>,
}

impl WebSocketEndpoint {
    /// Returns the URL and headers for a client with this guise.
    fn door(&self, guise: &ClientGuise) -> (String, HandshakeHeaders) {
        let other = self.others.iter().find(|(known, ..)| *known == guise.credentials);
        let (url, headers) =
            other.map_or((&self.url, &self.headers), |(_, url, headers)| (url, headers));
        let origin = guise.origin.iter().map(|origin| ("Origin".to_owned(), origin.clone()));
        (url.clone(), headers.iter().cloned().chain(origin).collect())
    }
}

/// The maximum length of a message from a host, in bytes.
pub const MAX_MESSAGE: usize = 8 << 20;
/// The size of the read buffer, in bytes. With this size, a connection uses 5 KiB of memory; with the library's
/// default, it uses 129 KiB.
const READ_BUFFER: usize = 4096;
/// The size of the write buffer, in bytes. With 0, each frame is written immediately.
const WRITE_BUFFER: usize = 0;

/// The maximum length of the answers to pings that wait to be sent, in bytes.
const MAX_PONGS: usize = 64 << 10;
/// The length of the head of a client's pong, in bytes.
const PONG_HEAD: usize = 6;
/// The maximum number of control frames processed per poll.
const SHARE: u32 = 64;

/// An event of a connection.
#[derive(Debug)]
pub enum LinkEvent {
    /// The connection is open.
    Opened,
    /// The host refused the handshake. Holds the lines of the head of the answer.
    Refused(Vec<String>),
    /// A frame arrived.
    Frame(Frame),
    /// The connection ended, or could not be opened.
    Ended {
        /// The close code, if the other side sent one.
        code: Option<u16>,
        /// The reason for the end, as a text for the user.
        reason: String,
    },
}

/// Limits the answers to pings that wait to be sent, because the other side does not read.
///
/// The WebSocket library answers each ping and keeps the answers that it cannot send, without a limit. Its own limit
/// of the write buffer would also apply to long messages.
#[derive(Debug, Default)]
pub struct PongBacklog {
    /// The length of the answers since the last time that all answers were sent, in bytes.
    waiting: usize,
}

impl PongBacklog {
    /// Tries to send the answer to a ping with a payload of this length in bytes. Returns false if too many answers
    /// wait.
    pub fn poll_answer<S>(
        &mut self,
        socket: Pin<&mut WebSocketStream<S>>,
        cx: &mut Context<'_>,
        payload: usize,
    ) -> bool
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        match socket.poll_flush(cx) {
            Poll::Ready(Ok(())) => self.waiting = 0,
            Poll::Ready(Err(_)) | Poll::Pending => self.waiting += payload + PONG_HEAD,
        }
        self.waiting <= MAX_PONGS
    }
}

type ClientSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type ConnectFuture = Pin<Box<dyn Future<Output = Result<ClientSocket, Error>> + Send>>;

/// A connection, from the first attempt to its end.
pub struct WebSocketLink {
    state: WebSocketState,
    /// The frames that are not sent yet.
    queue: VecDeque<Message>,
    unflushed: bool,
    pongs: PongBacklog,
    /// Whether reading is stopped.
    held: bool,
}

enum WebSocketState {
    Connecting(ConnectFuture),
    Open(Box<ClientSocket>),
    Ended,
}

/// Returns the WebSocket settings of both sides.
pub fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
}

impl WebSocketLink {
    /// Starts to connect.
    pub fn connect(endpoint: &WebSocketEndpoint, guise: &ClientGuise) -> WebSocketLink {
        let (url, headers) = endpoint.door(guise);
        let receive_buffer = endpoint.receive_buffer;
        let future = async move {
            let mut request = url.as_str().into_client_request()?;
            for (name, value) in &headers {
                let name: HeaderName = name.parse().map_err(tungstenite_http)?;
                let value: HeaderValue = value.parse().map_err(tungstenite_http)?;
                request.headers_mut().append(name, value);
            }
            let (socket, _) = match receive_buffer {
                None => connect_async_with_config(request, Some(config()), true).await?,
                Some(bytes) => {
                    let stream = connect_with_buffer(request.uri(), bytes).await?;
                    client_async_tls_with_config(request, stream, Some(config()), None).await?
                }
            };
            Ok(socket)
        };
        WebSocketLink {
            state: WebSocketState::Connecting(Box::pin(future)),
            queue: VecDeque::new(),
            unflushed: false,
            pongs: PongBacklog::default(),
            held: false,
        }
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: &Frame) {
        self.queue.push_back(match frame {
            Frame::Text(text) => Message::text(text.as_str()),
            // The library cannot send text that is invalid UTF-8, and the harness never sends such a frame.
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => Message::binary(bytes.clone()),
        });
    }

    /// Stops or resumes reading. While reading is stopped, backpressure reaches the other side.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Ends the connection with a closing handshake that may take `limit`.
    pub async fn close(mut self, limit: Duration) {
        if let WebSocketState::Open(socket) = &mut self.state {
            let _ = tokio::time::timeout(limit, socket.close(None)).await;
        }
    }

    /// Polls for the next event. Also sends queued frames.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match &mut self.state {
            WebSocketState::Connecting(future) => match future.as_mut().poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(socket)) => {
                    self.state = WebSocketState::Open(Box::new(socket));
                    Poll::Ready(LinkEvent::Opened)
                }
                Poll::Ready(Err(error)) => {
                    self.state = WebSocketState::Ended;
                    Poll::Ready(match error {
                        Error::Http(response) => LinkEvent::Refused(head(&response)),
                        error => LinkEvent::Ended { code: None, reason: explain(&error) },
                    })
                }
            },
            WebSocketState::Open(_) => match self.poll_open(cx) {
                Poll::Ready(ended @ LinkEvent::Ended { .. }) => {
                    self.state = WebSocketState::Ended;
                    Poll::Ready(ended)
                }
                other => other,
            },
            WebSocketState::Ended => Poll::Pending,
        }
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        let WebSocketState::Open(socket) = &mut self.state else {
            return Poll::Pending;
        };
        let mut socket = Pin::new(socket.as_mut());
        // A failed write does not end the link: the host's last messages must still be read, and reading shows
        // how the connection was closed.
        while !self.queue.is_empty()
            && matches!(socket.as_mut().poll_ready(cx), Poll::Ready(Ok(())))
        {
            if let Some(message) = self.queue.pop_front() {
                let _ = socket.as_mut().start_send(message);
                self.unflushed = true;
            }
        }
        if self.unflushed && socket.as_mut().poll_flush(cx).is_ready() {
            self.unflushed = false;
        }
        if self.held {
            return Poll::Pending;
        }
        for _ in 0..SHARE {
            return match socket.as_mut().poll_next(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Some(Ok(Message::Text(text)))) => {
                    Poll::Ready(LinkEvent::Frame(Frame::Text(text.as_str().to_owned())))
                }
                Poll::Ready(Some(Ok(Message::Binary(bytes)))) => {
                    Poll::Ready(LinkEvent::Frame(Frame::Binary(bytes.to_vec())))
                }
                Poll::Ready(Some(Ok(Message::Close(close)))) => Poll::Ready(LinkEvent::Ended {
                    code: close.as_ref().map(|close| close.code.into()),
                    reason: close.map(|close| close.reason.as_str().to_owned()).unwrap_or_default(),
                }),
                // The WebSocket library creates the answer.
                Poll::Ready(Some(Ok(Message::Ping(payload)))) => {
                    self.unflushed = true;
                    if self.pongs.poll_answer(socket.as_mut(), cx, payload.len()) {
                        continue;
                    }
                    Poll::Ready(LinkEvent::Ended { code: None, reason: unread_pongs() })
                }
                Poll::Ready(Some(Ok(_))) => continue,
                Poll::Ready(Some(Err(error))) => {
                    Poll::Ready(LinkEvent::Ended { code: None, reason: explain(&error) })
                }
                Poll::Ready(None) => {
                    Poll::Ready(LinkEvent::Ended { code: None, reason: String::new() })
                }
            };
        }
        // During a flood of pings, this task yields, so that other tasks can run.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Connects to the host of a URL with a receive buffer of this size. The size has to be set before the connection is
/// made.
async fn connect_with_buffer(uri: &Uri, bytes: u32) -> Result<TcpStream, Error> {
    let host = uri.host().unwrap_or_default();
    let secure = uri.scheme_str() == Some("wss");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let mut failure = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in lookup_host((host.trim_matches(['[', ']']), port)).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_recv_buffer_size(bytes)?;
        match socket.connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure.into())
}

fn tungstenite_http(error: impl Into<tokio_tungstenite::tungstenite::http::Error>) -> Error {
    Error::HttpFormat(error.into())
}

/// Returns the lines of an answer's head. The values of cookies are omitted.
fn head<T>(response: &Response<T>) -> Vec<String> {
    let mut lines = vec![format!("{:?} {}", response.version(), response.status())];
    lines.extend(response.headers().iter().map(|(name, value)| match name.as_str() {
        "set-cookie" => format!("{name}: (left out)"),
        _ => format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())),
    }));
    lines
}

/// Describes the end of a connection whose host sends pings and does not read the answers.
fn unread_pongs() -> String {
    format!(
        "the host sent pings without reading the answers: more than {} KiB wait",
        MAX_PONGS >> 10
    )
}

/// Describes a transport error for a user who only knows the URL.
fn explain(error: &Error) -> String {
    match error {
        Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            "connection refused: nothing listens there".to_owned()
        }
        Error::AttackAttempt => {
            "the host sent its handshake in pieces so small that it looks like an attack".to_owned()
        }
        Error::Capacity(error) => format!("the host sent too much in one message: {error}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio_tungstenite::accept_async;

    use super::*;

    /// Connects to a server that sends the same bytes again and again, and reads nothing. Returns the reason for the
    /// end of the connection.
    async fn end_at_flood(bytes: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = accept_async(stream).await.unwrap();
            let many = bytes.repeat(1_000);
            while socket.get_mut().write_all(&many).await.is_ok() {}
        });
        let endpoint = WebSocketEndpoint { url, ..WebSocketEndpoint::default() };
        let mut link = WebSocketLink::connect(&endpoint, &ClientGuise::default());
        let end = async {
            loop {
                if let LinkEvent::Ended { reason, .. } =
                    std::future::poll_fn(|cx| link.poll(cx)).await
                {
                    return reason;
                }
            }
        };
        let reason = tokio::time::timeout(Duration::from_secs(60), end).await;
        server.abort();
        reason.expect("the link keeps all answers that the server does not read")
    }

    #[test]
    fn a_server_that_sends_pings_and_reads_no_answer_is_left() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for ping in [&b"\x89\x00"[..], b"\x89\x08payload."] {
            let reason = runtime.block_on(end_at_flood(ping));
            assert!(reason.contains("pings without reading"), "{reason}");
        }
    }
}

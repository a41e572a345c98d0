//! The connection of a client to the peer under test: a WebSocket, or the standard input and output of a
//! process.
//!
//! Start at [`TransportLink`].

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::peer::guise::ClientGuise;
use crate::wire::frame::Frame;

use super::process::{self, ProcessStart};
use super::websocket;
pub use super::websocket::LinkEvent;

/// The endpoint of the peer under test.
#[derive(Clone, Debug)]
pub enum LinkEndpoint {
    /// A peer that listens on a socket.
    Socket(websocket::WebSocketEndpoint),
    /// A process to be started.
    Process(Box<ProcessStart>),
}

impl LinkEndpoint {
    /// Returns the same endpoint for connections with a receive buffer of this size, in bytes. A process has no
    /// such buffer.
    pub fn with_receive_buffer(&self, bytes: u32) -> LinkEndpoint {
        match self {
            LinkEndpoint::Socket(endpoint) => LinkEndpoint::Socket(websocket::WebSocketEndpoint {
                receive_buffer: Some(bytes),
                ..endpoint.clone()
            }),
            LinkEndpoint::Process(_) => self.clone(),
        }
    }
}

/// A connection, from the first attempt to its end.
pub enum TransportLink {
    /// A WebSocket connection.
    Socket(Box<websocket::WebSocketLink>),
    /// The pipes of a process.
    Process(Box<process::ProcessLink>),
}

impl TransportLink {
    /// Starts to connect with the credentials and the origin of `guise`. A process does not use them.
    pub fn connect(endpoint: &LinkEndpoint, guise: &ClientGuise) -> TransportLink {
        match endpoint {
            LinkEndpoint::Socket(endpoint) => {
                TransportLink::Socket(Box::new(websocket::WebSocketLink::connect(endpoint, guise)))
            }
            LinkEndpoint::Process(start) => {
                TransportLink::Process(Box::new(process::ProcessLink::start(start)))
            }
        }
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: &Frame) {
        match self {
            TransportLink::Socket(link) => link.send(frame),
            TransportLink::Process(link) => link.send(frame),
        }
    }

    /// Stops or resumes reading. The output of a process is always read.
    pub fn hold(&mut self, held: bool) {
        if let TransportLink::Socket(link) = self {
            link.hold(held);
        }
    }

    /// Ends the connection; a closing handshake may take `limit`.
    pub async fn close(self, limit: Duration) {
        match self {
            TransportLink::Socket(link) => link.close(limit).await,
            TransportLink::Process(link) => link.close().await,
        }
    }

    /// Closes the connection like [`close`](Self::close), but applies `limit` to a process as well.
    pub async fn close_soon(self, limit: Duration) {
        match self {
            TransportLink::Socket(link) => link.close(limit).await,
            TransportLink::Process(link) => link.close_within(limit).await,
        }
    }

    /// Returns the last lines of the process's standard error so far; empty for a socket.
    pub fn last_words(&self) -> String {
        match self {
            TransportLink::Socket(_) => String::new(),
            TransportLink::Process(link) => link.last_words(),
        }
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> LinkEvent {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Polls for the next event. Also sends queued frames.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match self {
            TransportLink::Socket(link) => link.poll(cx),
            TransportLink::Process(link) => link.poll(cx),
        }
    }
}

/// Describes an HTTP answer that refuses a WebSocket handshake; `head` contains the lines of its head.
pub fn refusal_text(head: &[String]) -> String {
    let answer = head.first().map_or("nothing", String::as_str);
    format!("expected HTTP 101 (WebSocket), the host answered {answer}")
}

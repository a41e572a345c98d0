//! A client's way to what is put to the test: a WebSocket, or the standard input and output of a process.
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

/// Where it is found.
#[derive(Clone, Debug)]
pub enum LinkEndpoint {
    /// It listens.
    Socket(websocket::WebSocketEndpoint),
    /// It is started.
    Process(Box<ProcessStart>),
}

/// A connection, from the first attempt to its end.
pub enum TransportLink {
    /// By WebSocket.
    Socket(Box<websocket::WebSocketLink>),
    /// By pipes.
    Process(Box<process::ProcessLink>),
}

impl TransportLink {
    /// Begins to connect, in this guise; a process that is started knows none.
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

    /// Stops reading, or goes on. What a process writes is read all the same: its pipe is its own affair.
    pub fn hold(&mut self, held: bool) {
        if let TransportLink::Socket(link) = self {
            link.hold(held);
        }
    }

    /// Ends the connection; a closing handshake has `limit`.
    pub async fn close(self, limit: Duration) {
        match self {
            TransportLink::Socket(link) => link.close(limit).await,
            TransportLink::Process(link) => link.close().await,
        }
    }

    /// Waits for the next thing that happens.
    pub async fn next(&mut self) -> LinkEvent {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// The next thing that happens. Frames that wait to go out go out meanwhile.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match self {
            TransportLink::Socket(link) => link.poll(cx),
            TransportLink::Process(link) => link.poll(cx),
        }
    }
}

/// What a host did that answered a WebSocket handshake with another HTTP answer, of which `head` is the head.
pub fn refusal_text(head: &[String]) -> String {
    let answer = head.first().map_or("nothing", String::as_str);
    format!("expected HTTP 101 (WebSocket), the host answered {answer}")
}

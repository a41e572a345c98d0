//! A client's way to what is put to the test: a WebSocket, or the standard input and output of a process.
//!
//! Start at [`Link`].

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::peer::guise::Guise;
use crate::wire::frame::Frame;

use super::process::{self, Start};
use super::websocket;
pub use super::websocket::LinkEvent;

/// Where it is found.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// It listens.
    Socket(websocket::Endpoint),
    /// It is started.
    Process(Box<Start>),
}

/// A connection, from the first attempt to its end.
pub enum Link {
    /// By WebSocket.
    Socket(Box<websocket::Link>),
    /// By pipes.
    Process(Box<process::Link>),
}

impl Link {
    /// Begins to connect, in this guise; a process that is started knows none.
    pub fn connect(endpoint: &Endpoint, guise: &Guise) -> Link {
        match endpoint {
            Endpoint::Socket(endpoint) => {
                Link::Socket(Box::new(websocket::Link::connect(endpoint, guise)))
            }
            Endpoint::Process(start) => Link::Process(Box::new(process::Link::start(start))),
        }
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: &Frame) {
        match self {
            Link::Socket(link) => link.send(frame),
            Link::Process(link) => link.send(frame),
        }
    }

    /// Stops reading, or goes on. What a process writes is read all the same: its pipe is its own affair.
    pub fn hold(&mut self, held: bool) {
        if let Link::Socket(link) = self {
            link.hold(held);
        }
    }

    /// Ends the connection; a closing handshake has `limit`.
    pub async fn close(self, limit: Duration) {
        match self {
            Link::Socket(link) => link.close(limit).await,
            Link::Process(link) => link.close().await,
        }
    }

    /// Waits for the next thing that happens.
    pub async fn next(&mut self) -> LinkEvent {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// The next thing that happens. Frames that wait to go out go out meanwhile.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match self {
            Link::Socket(link) => link.poll(cx),
            Link::Process(link) => link.poll(cx),
        }
    }
}

/// What a host did that answered a WebSocket handshake with another HTTP answer, of which `head` is the head.
pub fn refusal_text(head: &[String]) -> String {
    let answer = head.first().map_or("nothing", String::as_str);
    format!("expected HTTP 101 (WebSocket), the host answered {answer}")
}

//! One event on one connection. A frame is decoded once, when it enters the transcript, and shared
//! from there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::frame::Frame;
use crate::wire::message::{Decoded, Message, decode};

/// One connection of a transcript, numbered in the order of opening.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnId(pub u32);

impl fmt::Display for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A frame with what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The frame, byte for byte. Shared, so that it can be kept without what it holds, which takes
    /// some fifteen times the space.
    pub frame: Arc<Frame>,
    /// What it turned out to hold.
    pub decoded: Decoded,
}

impl Seen {
    /// Decodes a frame.
    pub fn new(frame: Frame) -> Seen {
        Seen::again(Arc::new(frame))
    }

    /// Decodes a frame that was kept.
    pub fn again(frame: Arc<Frame>) -> Seen {
        let decoded = decode(&frame);
        Seen { frame, decoded }
    }

    /// Takes a message of our own making, which needs no decoding.
    pub fn of(message: Message) -> Seen {
        Seen { frame: Arc::new(message.frame()), decoded: Decoded::Message(message) }
    }

    /// The message, where the frame holds one.
    #[inline]
    pub fn message(&self) -> Option<&Message> {
        match &self.decoded {
            Decoded::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The client, or the harness for it.
    Client,
    /// The host, or the network on its side.
    Host,
}

/// What happened on a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It was opened, by the client of this name.
    Open {
        /// The name the client has in the scenario or the capture.
        client: String,
        /// What was said before the first frame, where that was seen.
        handshake: Option<Box<Handshake>>,
    },
    /// It was not opened: the host answered the WebSocket handshake with something else.
    Refused(Box<Handshake>),
    /// The client sent a frame.
    Sent(Arc<Seen>),
    /// The host sent a frame.
    Received(Arc<Seen>),
    /// It ended.
    Closed {
        /// Who ended it.
        by: Side,
        /// The WebSocket close code, where there was one.
        code: Option<u16>,
        /// The reason that came with it, or what went wrong below the protocol.
        reason: String,
    },
    /// A message that was never sent to its end: the connection ended first.
    Cut {
        /// Who began to send it.
        by: Side,
        /// What of its payload there was.
        frame: Frame,
    },
    /// The recorder did something of its own to the connection, to see how both sides take it.
    Fault {
        /// What, as it was asked for.
        what: String,
    },
    /// Something passed between the host and the agent behind it, or what that agent asks.
    Below {
        /// Which way, and to whom.
        way: Below,
        /// What.
        seen: Arc<Seen>,
    },
    /// Something passed here that the transcript does not have, or has in part only: what was known of
    /// the connection need not be so any more.
    Gap {
        /// Who sent it.
        by: Side,
    },
    /// The host was restarted: numbers and states of before mean nothing after.
    Restarted,
}

/// What passes below a host, or beside a conversation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Below {
    /// The host sent a message to its agent, which it speaks ACP to.
    ToAgent,
    /// Its agent sent a message.
    FromAgent,
    /// The model stand-in was asked and answers: a line of its log, see `AGENT_SCRIPT.md`.
    Model,
    /// A tool of ours was called: a line of the log of the MCP server, see `AGENT_SCRIPT.md`.
    Tool,
    /// The agent wrote a line to standard error.
    Stderr,
    /// What came of something that the client did beside the conversation: a file, a command.
    Local,
}

impl Below {
    /// Every way, with its word in a capture.
    pub const ALL: [(Below, &'static str); 6] = [
        (Below::ToAgent, "c2a"),
        (Below::FromAgent, "a2c"),
        (Below::Model, "model"),
        (Below::Tool, "tool"),
        (Below::Stderr, "err"),
        (Below::Local, "local"),
    ];

    /// Its word in a capture.
    pub fn word(self) -> &'static str {
        Below::ALL.iter().find(|(way, _)| *way == self).map_or("", |(_, word)| word)
    }

    /// Who is on the other side, as a capture calls the connection.
    pub fn peer(self) -> &'static str {
        match self {
            Below::ToAgent | Below::FromAgent | Below::Stderr => "agent",
            Below::Model => "model",
            Below::Tool => "tool",
            Below::Local => "client",
        }
    }
}

impl Event {
    /// A connection that was opened, of which nothing else is known.
    pub fn open(client: impl Into<String>) -> Event {
        Event::Open { client: client.into(), handshake: None }
    }
}

/// The WebSocket handshake, a line of HTTP each: the request or status line, then the headers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Handshake {
    /// What the client asked.
    pub request: Vec<String>,
    /// What the host answered; empty where it did not.
    pub response: Vec<String>,
}

impl Handshake {
    /// The HTTP status of the host's answer, where there is one.
    pub fn status(&self) -> Option<u16> {
        self.response.first()?.split(' ').nth(1)?.parse().ok()
    }

    /// The subprotocol that the host chose (RFC 6455, 4.2.2), if it chose one.
    pub fn subprotocol(&self) -> Option<&str> {
        self.response.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("sec-websocket-protocol").then(|| value.trim())
        })
    }
}

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its line in the file that the transcript is kept in; counts from 1.
    pub line: u64,
    /// When it happened, since the transcript began.
    pub at: Duration,
    /// Where it happened.
    pub conn: ConnId,
    /// What happened.
    pub event: Event,
}

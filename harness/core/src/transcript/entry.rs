//! One event on one connection. A frame is decoded once, when it enters the transcript, and shared
//! from there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::frame::Frame;
use crate::wire::message::{DecodedFrame, Message, decode};

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
pub struct SeenFrame {
    /// The frame, byte for byte. Shared, so that it can be kept without what it holds, which takes
    /// some fifteen times the space.
    pub frame: Arc<Frame>,
    /// What it turned out to hold.
    pub decoded: DecodedFrame,
}

impl SeenFrame {
    /// Decodes a frame.
    pub fn new(frame: Frame) -> SeenFrame {
        SeenFrame::again(Arc::new(frame))
    }

    /// Decodes a frame that was kept.
    pub fn again(frame: Arc<Frame>) -> SeenFrame {
        let decoded = decode(&frame);
        SeenFrame { frame, decoded }
    }

    /// Takes a message of our own making, which needs no decoding.
    pub fn of(message: Message) -> SeenFrame {
        SeenFrame { frame: Arc::new(message.frame()), decoded: DecodedFrame::Message(message) }
    }

    /// The message, where the frame holds one.
    #[inline]
    pub fn message(&self) -> Option<&Message> {
        match &self.decoded {
            DecodedFrame::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClosingSide {
    /// The client, or the harness for it.
    Client,
    /// The host, or the network on its side.
    Host,
}

/// What happened on a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEvent {
    /// It was opened, by the client of this name.
    Open {
        /// The name the client has in the scenario or the capture.
        client: String,
        /// What was said before the first frame, where that was seen.
        handshake: Option<Box<HandshakeLines>>,
    },
    /// It was not opened: the host answered the WebSocket handshake with something else.
    Refused(Box<HandshakeLines>),
    /// The client sent a frame.
    Sent(Arc<SeenFrame>),
    /// The host sent a frame.
    Received(Arc<SeenFrame>),
    /// It ended.
    Closed {
        /// Who ended it.
        by: ClosingSide,
        /// The WebSocket close code, where there was one.
        code: Option<u16>,
        /// The reason that came with it, or what went wrong below the protocol.
        reason: String,
    },
    /// A message that was never sent to its end: the connection ended first.
    Cut {
        /// Who began to send it.
        by: ClosingSide,
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
        way: BelowEvent,
        /// What.
        seen: Arc<SeenFrame>,
    },
    /// Something passed here that the transcript does not have, or has in part only: what was known of
    /// the connection need not be so any more.
    Gap {
        /// Who sent it.
        by: ClosingSide,
    },
    /// The host was restarted: numbers and states of before mean nothing after.
    Restarted,
}

/// What passes below a host, or beside a conversation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BelowEvent {
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

impl BelowEvent {
    /// Every way, with its word in a capture.
    pub const ALL: [(BelowEvent, &'static str); 6] = [
        (BelowEvent::ToAgent, "c2a"),
        (BelowEvent::FromAgent, "a2c"),
        (BelowEvent::Model, "model"),
        (BelowEvent::Tool, "tool"),
        (BelowEvent::Stderr, "err"),
        (BelowEvent::Local, "local"),
    ];

    /// Its word in a capture.
    pub fn word(self) -> &'static str {
        BelowEvent::ALL.iter().find(|(way, _)| *way == self).map_or("", |(_, word)| word)
    }

    /// Who is on the other side, as a capture calls the connection.
    pub fn peer(self) -> &'static str {
        match self {
            BelowEvent::ToAgent | BelowEvent::FromAgent | BelowEvent::Stderr => "agent",
            BelowEvent::Model => "model",
            BelowEvent::Tool => "tool",
            BelowEvent::Local => "client",
        }
    }
}

impl ConnectionEvent {
    /// A connection that was opened, of which nothing else is known.
    pub fn open(client: impl Into<String>) -> ConnectionEvent {
        ConnectionEvent::Open { client: client.into(), handshake: None }
    }
}

/// The WebSocket handshake, a line of HTTP each: the request or status line, then the headers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HandshakeLines {
    /// What the client asked.
    pub request: Vec<String>,
    /// What the host answered; empty where it did not.
    pub response: Vec<String>,
}

impl HandshakeLines {
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
pub struct TranscriptEntry {
    /// Its line in the file that the transcript is kept in; counts from 1.
    pub line: u64,
    /// When it happened, since the transcript began.
    pub at: Duration,
    /// Where it happened.
    pub conn: ConnId,
    /// What happened.
    pub event: ConnectionEvent,
}

//! An event on a connection. A frame is decoded once, when it is added to the transcript, and shared
//! afterwards.

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

/// A frame and its decoded content.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenFrame {
    /// The frame, byte for byte. The frame is shared, so it can be kept without the decoded content, which needs about
    /// fifteen times the memory.
    pub frame: Arc<Frame>,
    /// The decoded content.
    pub decoded: DecodedFrame,
}

impl SeenFrame {
    /// Decodes a frame.
    pub fn new(frame: Frame) -> SeenFrame {
        SeenFrame::again(Arc::new(frame))
    }

    /// Decodes a frame again that was kept without its decoded content.
    pub fn again(frame: Arc<Frame>) -> SeenFrame {
        let decoded = decode(&frame);
        SeenFrame { frame, decoded }
    }

    /// Wraps a message that the harness itself has built, which needs no decoding.
    pub fn of(message: Message) -> SeenFrame {
        SeenFrame { frame: Arc::new(message.frame()), decoded: DecodedFrame::Message(message) }
    }

    /// Returns the number of bytes that the frame and its decoded content have allocated. Only a message counts as
    /// decoded content, because nothing else is kept.
    pub fn heap_size(&self) -> usize {
        self.frame.len() + self.message().map_or(0, |message| message.value().heap_size())
    }

    /// Returns the message; `None` if the frame does not contain a message.
    #[inline]
    pub fn message(&self) -> Option<&Message> {
        match &self.decoded {
            DecodedFrame::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// The side of a connection: the side that closed the connection, or that sent a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClosingSide {
    /// The client, or the harness on the client's behalf.
    Client,
    /// The host, or the network on the host's side.
    Host,
}

/// An event on a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEvent {
    /// The client with this name opened the connection.
    Open {
        /// The name of the client in the scenario or the capture.
        client: String,
        /// The WebSocket handshake, if it was recorded.
        handshake: Option<Box<HandshakeLines>>,
    },
    /// The connection was not opened: the host refused the WebSocket handshake.
    Refused(Box<HandshakeLines>),
    /// The client sent a frame.
    Sent(Arc<SeenFrame>),
    /// The host sent a frame.
    Received(Arc<SeenFrame>),
    /// The connection was closed.
    Closed {
        /// The side that closed the connection.
        by: ClosingSide,
        /// The WebSocket close code, if there was one.
        code: Option<u16>,
        /// The reason in the close frame, or the error of the network or the operating system.
        reason: String,
    },
    /// A message is incomplete, because the connection ended first.
    Cut {
        /// The side that sent the incomplete message.
        by: ClosingSide,
        /// The part of the message that arrived before the connection ended.
        frame: Frame,
    },
    /// The recorder injected a fault into the connection, to test the reaction of both sides.
    Fault {
        /// The injected fault, in the words of the user who requested it.
        what: String,
    },
    /// A message passed between the host and its agent, or between the agent and its model or tools.
    Below {
        /// The direction of the message, and the two parties.
        way: BelowEvent,
        /// The frame that contains the message.
        seen: Arc<SeenFrame>,
    },
    /// The transcript lacks some traffic of the connection. Earlier knowledge about the connection may be out
    /// of date.
    Gap {
        /// The side that sent the missing traffic.
        by: ClosingSide,
    },
    /// The host was restarted. Earlier `serverSeq` numbers and earlier states are meaningless from now on.
    Restarted,
}

/// The kind of a message that is not part of the AHP conversation itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BelowEvent {
    /// The host sent a message to its agent over ACP.
    ToAgent,
    /// The agent sent a message to the host.
    FromAgent,
    /// The agent called the model stand-in. The content is a line of the stand-in's log, see `AGENT_SCRIPT.md`.
    Model,
    /// The agent called a tool of the harness. The content is a line of the log of the harness's MCP server,
    /// see `AGENT_SCRIPT.md`.
    Tool,
    /// The agent wrote a line to standard error.
    Stderr,
    /// The content is the result of something that the client did outside the conversation, such as a file or a
    /// command.
    Local,
    /// The harness sent a command to the driver of the tested client.
    ToDriver,
    /// The driver of the tested client answered a command, or reported an event.
    FromDriver,
}

impl BelowEvent {
    /// Every kind, with its keyword in a capture.
    pub const ALL: [(BelowEvent, &'static str); 8] = [
        (BelowEvent::ToAgent, "c2a"),
        (BelowEvent::FromAgent, "a2c"),
        (BelowEvent::Model, "model"),
        (BelowEvent::Tool, "tool"),
        (BelowEvent::Stderr, "err"),
        (BelowEvent::Local, "local"),
        (BelowEvent::ToDriver, "h2d"),
        (BelowEvent::FromDriver, "d2h"),
    ];

    /// Returns the keyword of the kind in a capture.
    pub fn word(self) -> &'static str {
        BelowEvent::ALL.iter().find(|(way, _)| *way == self).map_or("", |(_, word)| word)
    }

    /// Returns the name by which a capture calls the other party of the connection.
    pub fn peer(self) -> &'static str {
        match self {
            BelowEvent::ToAgent | BelowEvent::FromAgent | BelowEvent::Stderr => "agent",
            BelowEvent::Model => "model",
            BelowEvent::Tool => "tool",
            BelowEvent::Local => "client",
            BelowEvent::ToDriver | BelowEvent::FromDriver => "driver",
        }
    }
}

impl ConnectionEvent {
    /// Creates the event for an opened connection without a recorded handshake.
    pub fn open(client: impl Into<String>) -> ConnectionEvent {
        ConnectionEvent::Open { client: client.into(), handshake: None }
    }
}

/// The WebSocket handshake as lines of HTTP: the request or status line, then the headers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HandshakeLines {
    /// The client's request.
    pub request: Vec<String>,
    /// The host's response; empty if there was none.
    pub response: Vec<String>,
}

impl HandshakeLines {
    /// Returns the HTTP status of the host's response, if there is one.
    pub fn status(&self) -> Option<u16> {
        self.response.first()?.split(' ').nth(1)?.parse().ok()
    }

    /// Returns the subprotocol that the host chose; `None` if it chose no subprotocol. Source: RFC 6455,
    /// section 4.2.2.
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
    /// The line number in the file of the transcript, counted from 1.
    pub line: u64,
    /// The time since the transcript began.
    pub at: Duration,
    /// The connection on which the event occurred.
    pub conn: ConnId,
    /// The event on the connection.
    pub event: ConnectionEvent,
}

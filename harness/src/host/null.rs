//! Hosts that do no useful work. No rule and no scenario may pass on such a host.
//!
//! Knows: frames. Never knows: the protocol.
//!
//! Start at [`NullBehaviour`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::{HostOutput, SansIoHost};
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::message::{DecodedFrame, MessageKind, decode};

/// The reaction of a host that does nothing useful.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum NullBehaviour {
    /// Ignores every frame.
    Mute,
    /// Closes the connection at the first frame.
    Closing,
    /// Answers every request with an error.
    Refusing,
    /// Answers every request with `{}`.
    Empty,
    /// Sends every frame back.
    Echo,
    /// Closes the connection as soon as it opens.
    Aborting,
}

impl NullBehaviour {
    /// All behaviours.
    pub const ALL: &'static [NullBehaviour] = &[
        NullBehaviour::Mute,
        NullBehaviour::Closing,
        NullBehaviour::Refusing,
        NullBehaviour::Empty,
        NullBehaviour::Echo,
        NullBehaviour::Aborting,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            NullBehaviour::Mute => "mute",
            NullBehaviour::Closing => "closing",
            NullBehaviour::Refusing => "refusing",
            NullBehaviour::Empty => "empty",
            NullBehaviour::Echo => "echo",
            NullBehaviour::Aborting => "aborting",
        }
    }
}

/// A host that does no useful work.
#[derive(Debug)]
pub struct NullHost {
    kind: NullBehaviour,
    outputs: VecDeque<HostOutput>,
}

impl NullHost {
    /// Creates a host with this behaviour.
    pub fn new(kind: NullBehaviour) -> NullHost {
        NullHost { kind, outputs: VecDeque::new() }
    }

    fn close(&mut self, conn: ConnId) {
        let (code, reason) = (1001, String::new());
        self.outputs.push_back(HostOutput::Close { conn, code, reason });
    }

    fn answer(&mut self, conn: ConnId, frame: &Frame, name: &str, value: Value) {
        let DecodedFrame::Message(message) = decode(frame) else {
            return;
        };
        if message.kind() == MessageKind::Request {
            let mut answer = json!({"jsonrpc": "2.0", "id": message.id()});
            answer[name] = value;
            let frame = Frame::json(&answer);
            self.outputs.push_back(HostOutput::Send { conn, frame });
        }
    }
}

impl SansIoHost for NullHost {
    fn handle_open(&mut self, _now: Duration, conn: ConnId) {
        if self.kind == NullBehaviour::Aborting {
            self.close(conn);
        }
    }

    fn handle_frame(&mut self, _now: Duration, conn: ConnId, frame: &Frame) {
        match self.kind {
            NullBehaviour::Mute | NullBehaviour::Aborting => {}
            NullBehaviour::Closing => self.close(conn),
            NullBehaviour::Refusing => {
                let error = json!({"code": -32603, "message": "no"});
                self.answer(conn, frame, "error", error);
            }
            NullBehaviour::Empty => self.answer(conn, frame, "result", json!({})),
            NullBehaviour::Echo => {
                let frame = frame.clone();
                self.outputs.push_back(HostOutput::Send { conn, frame });
            }
        }
    }

    fn handle_close(&mut self, _now: Duration, _conn: ConnId) {}

    fn handle_timeout(&mut self, _now: Duration) {}

    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    fn restart(&mut self, _now: Duration) {
        self.outputs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_null_behaviour_answers_as_named() {
        let check = |kind: NullBehaviour, expected: &str| {
            let mut host = NullHost::new(kind);
            host.handle_open(Duration::ZERO, ConnId(1));
            let frame = Frame::Text(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into());
            host.handle_frame(Duration::ZERO, ConnId(1), &frame);
            let mut said = String::new();
            while let Some(output) = host.poll_output() {
                match output {
                    HostOutput::Send { frame, .. } => said.push_str(&frame.display()),
                    HostOutput::Close { .. } => said.push_str("close"),
                    HostOutput::ToAgent(_)
                    | HostOutput::Called(_)
                    | HostOutput::Asked(_)
                    | HostOutput::Shell(..) => said.push_str("agent"),
                }
            }
            let fits = if expected.is_empty() { said.is_empty() } else { said.contains(expected) };
            assert!(fits, "{}: {said}", kind.name());
        };
        check(NullBehaviour::Mute, "");
        check(NullBehaviour::Closing, "close");
        check(NullBehaviour::Refusing, r#""error""#);
        check(NullBehaviour::Empty, r#""result":{}"#);
        check(NullBehaviour::Echo, r#""method":"ping""#);
        check(NullBehaviour::Aborting, "close");
    }
}

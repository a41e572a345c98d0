//! Hosts that do nothing: no rule and no scenario may pass on them.
//!
//! Knows: frames. Never knows: the protocol.
//!
//! Start at [`Null`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::wire::json::{Value, json};

use super::{Host, Output};
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::message::{Decoded, Kind, decode};

/// One way of doing nothing.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Null {
    /// Takes every frame and sends none.
    Mute,
    /// Closes the connection at the first frame.
    Closing,
    /// Answers every request with an error.
    Refusing,
    /// Answers every request with `{}`.
    Empty,
    /// Sends every frame back.
    Echo,
    /// Closes the connection the moment it opens.
    Aborting,
}

impl Null {
    /// Every one of them.
    pub const ALL: &'static [Null] =
        &[Null::Mute, Null::Closing, Null::Refusing, Null::Empty, Null::Echo, Null::Aborting];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Null::Mute => "mute",
            Null::Closing => "closing",
            Null::Refusing => "refusing",
            Null::Empty => "empty",
            Null::Echo => "echo",
            Null::Aborting => "aborting",
        }
    }
}

/// A host that does nothing.
#[derive(Debug)]
pub struct NullHost {
    kind: Null,
    outputs: VecDeque<Output>,
}

impl NullHost {
    /// Makes one.
    pub fn new(kind: Null) -> NullHost {
        NullHost { kind, outputs: VecDeque::new() }
    }

    fn close(&mut self, conn: ConnId) {
        let (code, reason) = (1001, String::new());
        self.outputs.push_back(Output::Close { conn, code, reason });
    }

    fn answer(&mut self, conn: ConnId, frame: &Frame, name: &str, value: Value) {
        let Decoded::Message(message) = decode(frame) else {
            return;
        };
        if message.kind() == Kind::Request {
            let mut answer = json!({"jsonrpc": "2.0", "id": message.id()});
            answer[name] = value;
            let frame = Frame::json(&answer);
            self.outputs.push_back(Output::Send { conn, frame });
        }
    }
}

impl Host for NullHost {
    fn handle_open(&mut self, _now: Duration, conn: ConnId) {
        if self.kind == Null::Aborting {
            self.close(conn);
        }
    }

    fn handle_frame(&mut self, _now: Duration, conn: ConnId, frame: &Frame) {
        match self.kind {
            Null::Mute | Null::Aborting => {}
            Null::Closing => self.close(conn),
            Null::Refusing => {
                let error = json!({"code": -32603, "message": "no"});
                self.answer(conn, frame, "error", error);
            }
            Null::Empty => self.answer(conn, frame, "result", json!({})),
            Null::Echo => {
                let frame = frame.clone();
                self.outputs.push_back(Output::Send { conn, frame });
            }
        }
    }

    fn handle_close(&mut self, _now: Duration, _conn: ConnId) {}

    fn handle_timeout(&mut self, _now: Duration) {}

    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    fn poll_output(&mut self) -> Option<Output> {
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
    fn does_what_its_name_says() {
        let check = |kind: Null, expected: &str| {
            let mut host = NullHost::new(kind);
            host.handle_open(Duration::ZERO, ConnId(1));
            let frame = Frame::Text(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into());
            host.handle_frame(Duration::ZERO, ConnId(1), &frame);
            let mut said = String::new();
            while let Some(output) = host.poll_output() {
                match output {
                    Output::Send { frame, .. } => said.push_str(&frame.display()),
                    Output::Close { .. } => said.push_str("close"),
                    Output::ToAgent(_) | Output::Called(_) | Output::Shell(..) => {
                        said.push_str("agent")
                    }
                }
            }
            let fits = if expected.is_empty() { said.is_empty() } else { said.contains(expected) };
            assert!(fits, "{}: {said}", kind.name());
        };
        check(Null::Mute, "");
        check(Null::Closing, "close");
        check(Null::Refusing, r#""error""#);
        check(Null::Empty, r#""result":{}"#);
        check(Null::Echo, r#""method":"ping""#);
        check(Null::Aborting, "close");
    }
}

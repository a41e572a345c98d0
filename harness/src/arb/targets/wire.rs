//! Fuzz targets about frames: decoding, shape checks, and a host that receives any frame.

use std::time::Duration;

use crate::host::engine::{HostConfig, RefHost};
use crate::host::{HostOutput, SansIoHost};
use crate::oracle::{Oracle, OracleOptions};
use crate::transcript::{ConnId, ConnectionEvent, SeenFrame, TranscriptEntry};
use crate::wire::channel::ChannelKind;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::message::{DecodedFrame, Message, decode};
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;
use crate::wire::version::PUBLISHED;

/// Decodes the bytes as a text frame or a binary frame. A decoded message has to decode as the same message after it is
/// encoded again.
pub fn frame(data: &[u8]) {
    let frame = match std::str::from_utf8(data) {
        Ok(text) => Frame::Text(text.to_owned()),
        Err(_) => Frame::NotUtf8(data.to_vec()),
    };
    assert_eq!(frame.bytes(), data, "a frame keeps its bytes");
    if let DecodedFrame::Message(message) = decode(&frame) {
        let again = decode(&message.frame());
        let DecodedFrame::Message(again) = again else {
            panic!("expected {message:?} to be written as a message, found {again:?}");
        };
        assert_eq!(again.value(), message.value());
        assert_eq!(again.kind(), message.kind());
    }
    decode(&Frame::Binary(data.to_vec()));
}

/// Checks JSON against the tables of a version, as a message, an action and a state. The first byte selects the
/// version and the sender. The result has to be reproducible, and every reported mistake has to have a place and a
/// description.
pub fn shape(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let first = usize::from(*first);
    let version = PUBLISHED[first % PUBLISHED.len()];
    let sender = if first % 2 == 0 { MessageOrigin::Host } else { MessageOrigin::Client };
    let Some(protocol) = Protocol::of(version) else { return };
    let Ok(value) = serde_json::from_slice::<Value>(rest) else { return };
    let message = Message::new(value.clone());
    let answers = message.value()["answers"].as_str().map(str::to_owned);
    let judged = || {
        let mut errors = protocol.check_message(&message, sender, answers.as_deref());
        errors.extend(protocol.check_action(&value));
        errors.extend(protocol.check_state(ChannelKind::Chat, &value));
        errors.extend(protocol.check_state(ChannelKind::Session, &value));
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let errors = judged();
    assert_eq!(errors, judged(), "expected two checks of the same value to agree");
    assert!(errors.iter().all(|error| !error.is_empty()));
}

/// Sends each line as a frame of one client to the reference host, while the oracle observes. A line of
/// hexadecimal digits after `#` is a binary frame.
pub fn host(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut host = RefHost::new(HostConfig::default());
    let mut oracle = Oracle::new(OracleOptions::default());
    let conn = ConnId(0);
    let mut line = 0;
    let mut tell = |event: ConnectionEvent| {
        line += 1;
        oracle.observe(&TranscriptEntry { line, at: Duration::from_millis(line), conn, event });
    };
    host.handle_open(Duration::ZERO, conn);
    tell(ConnectionEvent::open("A"));
    for (number, text) in text.lines().enumerate() {
        let frame = match text.strip_prefix('#') {
            Some(bytes) => Frame::Binary(bytes.as_bytes().to_vec()),
            None => Frame::Text(text.to_owned()),
        };
        let now = Duration::from_millis(number as u64);
        tell(ConnectionEvent::Sent(SeenFrame::new(frame.clone()).into()));
        host.handle_frame(now, conn, &frame);
        host.handle_timeout(now);
        while let Some(output) = host.poll_output() {
            if let HostOutput::Send { frame, .. } = output {
                tell(ConnectionEvent::Received(SeenFrame::new(frame).into()));
            }
        }
    }
    oracle.finish();
}

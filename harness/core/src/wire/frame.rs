//! One WebSocket message, as it crossed the wire.

use std::borrow::Cow;

/// One WebSocket data message, byte for byte.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Frame {
    /// A text message. AHP puts one JSON-RPC message into each.
    Text(String),
    /// A binary message, which AHP gives no meaning.
    Binary(Vec<u8>),
    /// A message that was sent as text and is not UTF-8, which WebSocket forbids (RFC 6455, 8.1).
    NotUtf8(Vec<u8>),
}

impl Frame {
    /// The payload.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Frame::Text(text) => text.as_bytes(),
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => bytes,
        }
    }

    /// Makes a text frame of a JSON value, without insignificant white space.
    pub fn json(value: &crate::wire::json::Value) -> Frame {
        Frame::Text(value.to_text())
    }

    /// Length of the payload in bytes.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether the payload has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The payload for a person: text as it is, bytes as text where they are text.
    pub fn display(&self) -> Cow<'_, str> {
        match self {
            Frame::Text(text) => Cow::Borrowed(text),
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => String::from_utf8_lossy(bytes),
        }
    }
}

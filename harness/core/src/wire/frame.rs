//! One WebSocket message, byte for byte.

use std::borrow::Cow;

/// One WebSocket data message, byte for byte.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Frame {
    /// A text message. In AHP, each text message is one JSON-RPC message.
    Text(String),
    /// A binary message, which has no meaning in AHP.
    Binary(Vec<u8>),
    /// A message that was sent as text but is not UTF-8, which the WebSocket protocol forbids (RFC 6455, 8.1).
    NotUtf8(Vec<u8>),
}

/// Upper bound for the number of values in a message.
pub const MAX_VALUES: usize = 200_000;
/// The size in bytes below which a frame cannot exceed [`MAX_VALUES`], so its values are not counted.
const SHORT: usize = 256 << 10;

/// The error for a text frame that has more values than the harness accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a message of about {values} values, more than the {MAX_VALUES} that the harness accepts")]
pub struct FrameExcess {
    /// The approximate number of values in the frame.
    pub values: usize,
}

impl Frame {
    /// Returns the payload.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Frame::Text(text) => text.as_bytes(),
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => bytes,
        }
    }

    /// Creates a text frame from a JSON value, without insignificant white space.
    pub fn json(value: &crate::wire::json::Value) -> Frame {
        Frame::Text(value.to_text())
    }

    /// Returns the length of the payload in bytes.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Returns whether the payload is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an error if the frame is text with more values than the harness accepts. A value in memory takes
    /// many times the space of its text, so the values are counted before parsing. Short frames are not
    /// counted.
    pub fn excess(&self) -> Option<FrameExcess> {
        if self.len() < SHORT {
            return None;
        }
        let values = self.values();
        (values > MAX_VALUES).then_some(FrameExcess { values })
    }

    /// Returns the approximate number of JSON values in the text, without parsing it.
    pub fn values(&self) -> usize {
        let text = self.bytes();
        let (mut values, mut quoted, mut at) = (1_usize, false, 0);
        while let Some(byte) = text.get(at) {
            match byte {
                b'"' => quoted = !quoted,
                b'\\' if quoted => at += 1,
                b',' | b'[' | b'{' if !quoted => values += 1,
                _ => {}
            }
            at += 1;
        }
        values
    }

    /// Returns the payload as text for display. Invalid UTF-8 is replaced.
    pub fn display(&self) -> Cow<'_, str> {
        match self {
            Frame::Text(text) => Cow::Borrowed(text),
            Frame::Binary(bytes) | Frame::NotUtf8(bytes) => String::from_utf8_lossy(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_values_outside_of_texts() {
        let many =
            |value: &str| Frame::Text(format!("[{}1]", format!("{value},").repeat(MAX_VALUES)));
        assert_eq!(many("0").excess(), Some(FrameExcess { values: MAX_VALUES + 2 }));
        assert!(many("{}").excess().is_some_and(|excess| excess.values > 2 * MAX_VALUES));
        let text = format!("[\"{}\"]", ",[{\\\"".repeat(MAX_VALUES));
        assert_eq!(Frame::Text(text).excess(), None);
        assert_eq!(Frame::Text("[0,".repeat(100)).excess(), None);
    }
}

//! JSON-RPC 2.0 messages over a lossless value.
//!
//! A [`Message`] keeps the whole JSON object and adds its kind, so parsing loses nothing that a peer sent.
//! [`decode`] never fails: a frame that is not a message becomes [`DecodedFrame::Odd`], with the reason.

use crate::wire::json::{Map, Value, json};

use super::frame::Frame;

/// Returns whether a method begins or resumes a session.
pub fn is_handshake(method: &str) -> bool {
    matches!(method, "initialize" | "reconnect")
}

/// The kind of a JSON object on the wire.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum MessageKind {
    /// A request has `method` and `id`, and expects one response. The id may be null, which JSON-RPC only
    /// discourages.
    Request,
    /// A notification has `method` without `id`, and expects no response.
    Notification,
    /// A successful response has `result` without `error`.
    Success,
    /// An error response has `error` without `result`.
    Failure,
    /// The object is none of these kinds, or a mixture of them.
    Malformed,
}

/// One JSON object of a frame, complete, with its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    value: Value,
    kind: MessageKind,
}

/// The decoded content of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum DecodedFrame {
    /// The frame is one JSON object.
    Message(Message),
    /// The frame is a JSON array, which JSON-RPC calls a batch. AHP never mentions batches.
    Batch(Vec<Value>),
    /// The frame is JSON, but neither an object nor an array.
    Scalar(Value),
    /// The frame is not JSON text. The string is the reason why the frame is unreadable.
    Odd(String),
    /// The frame is JSON that exceeds a limit: it is nested too deeply, or has too many values.
    Deep,
}

/// The maximum nesting depth of JSON that is parsed.
pub const MAX_NESTING: usize = 127;

/// Returns whether JSON nests lists and objects more deeply than the limit. Brackets within strings do not
/// count.
fn is_deep(text: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    text.bytes().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_NESTING
    })
}

/// Decodes a frame. The function never fails: an unreadable frame becomes [`DecodedFrame::Odd`].
pub fn decode(frame: &Frame) -> DecodedFrame {
    let text = match frame {
        Frame::Text(text) => text,
        Frame::Binary(bytes) => {
            return DecodedFrame::Odd(format!("binary frame of {} bytes", bytes.len()));
        }
        Frame::NotUtf8(bytes) => {
            return DecodedFrame::Odd(format!(
                "text frame of {} bytes that is not UTF-8",
                bytes.len()
            ));
        }
    };
    if frame.excess().is_some() {
        return DecodedFrame::Deep;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => DecodedFrame::Message(Message::new(value)),
        Ok(Value::Array(items)) => DecodedFrame::Batch(items),
        Ok(scalar) => DecodedFrame::Scalar(scalar),
        Err(_) if is_deep(text) => DecodedFrame::Deep,
        Err(error) => DecodedFrame::Odd(format!("not JSON: {error}")),
    }
}

impl Message {
    /// Wraps a JSON value as a message. A value that is not an object becomes [`MessageKind::Malformed`].
    pub fn new(value: Value) -> Message {
        let kind = classify(&value);
        Message { value, kind }
    }

    /// Creates a request.
    pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Message {
        Message::of([("id", id.into()), ("method", method.into()), ("params", params)])
    }

    /// Creates a notification.
    pub fn notification(method: &str, params: Value) -> Message {
        Message::of([("method", method.into()), ("params", params)])
    }

    /// Creates a successful response.
    pub fn success(id: Value, result: Value) -> Message {
        Message::of([("id", id), ("result", result)])
    }

    /// Creates an error response. If `data` is null, the response has no `data`.
    pub fn failure(id: Value, code: i64, message: &str, data: Value) -> Message {
        let mut error = json!({"code": code, "message": message});
        if !data.is_null() {
            error["data"] = data;
        }
        Message::of([("id", id), ("error", error)])
    }

    /// Creates a message from its members. The members are moved, whereas the macro `json!` would copy them, including
    /// whole states.
    fn of<const N: usize>(members: [(&str, Value); N]) -> Message {
        let mut object = Map::new();
        object.insert("jsonrpc", Value::from("2.0"));
        object.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Message::new(Value::Object(object))
    }

    /// Returns the kind of the message.
    #[inline]
    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// Returns the whole object.
    #[inline]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the whole object by value.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns the unchanged `id`, even if it is null; `None` if the member is absent.
    #[inline]
    pub fn id(&self) -> Option<&Value> {
        self.value.get("id")
    }

    /// Returns the `method`; `None` if it is absent or not a string.
    #[inline]
    pub fn method(&self) -> Option<&str> {
        self.value.get("method").and_then(Value::as_str)
    }

    /// Returns the `params`; null if the member is absent.
    #[inline]
    pub fn params(&self) -> &Value {
        self.value.get("params").unwrap_or(&Value::Null)
    }

    /// Returns the `result`, even if it is null; `None` if the member is absent.
    #[inline]
    pub fn result(&self) -> Option<&Value> {
        self.value.get("result")
    }

    /// Returns the `error`; `None` if the member is absent.
    #[inline]
    pub fn error(&self) -> Option<&Value> {
        self.value.get("error")
    }

    /// Returns the `code` of the error; `None` if the code is absent or not an integer.
    pub fn error_code(&self) -> Option<i64> {
        self.error()?.get("code")?.as_i64()
    }

    /// Returns the message as a text frame.
    pub fn frame(&self) -> Frame {
        Frame::json(&self.value)
    }
}

fn classify(value: &Value) -> MessageKind {
    let Some(object) = value.as_object() else {
        return MessageKind::Malformed;
    };
    let has = |name: &str, object: &Map| object.contains_key(name);
    let method = object.get("method");
    match (method, has("result", object), has("error", object)) {
        (Some(Value::String(_)), false, false) if has("id", object) => MessageKind::Request,
        (Some(Value::String(_)), false, false) => MessageKind::Notification,
        (None, true, false) => MessageKind::Success,
        (None, false, true) => MessageKind::Failure,
        _ => MessageKind::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_kinds_apart() {
        let check = |text: &str, expected: MessageKind| match decode(&Frame::Text(text.into())) {
            DecodedFrame::Message(message) => assert_eq!(message.kind(), expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        };
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, MessageKind::Request);
        check(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, MessageKind::Request);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, MessageKind::Request);
        check(r#"{"jsonrpc":"2.0","method":"action"}"#, MessageKind::Notification);
        check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, MessageKind::Success);
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, MessageKind::Failure);
        check(r#"{"id":1,"result":1,"error":{}}"#, MessageKind::Malformed);
        check(r#"{"id":1,"method":5}"#, MessageKind::Malformed);
        check("{}", MessageKind::Malformed);
    }

    #[test]
    fn reads_numbers_as_they_were_written() {
        let text = r#"{"id":-1.2980316245353666e82}"#;
        let read = |text: &str| match decode(&Frame::Text(text.into())) {
            DecodedFrame::Message(message) => message,
            other => panic!("{other:?}"),
        };
        let message = read(text);
        assert_eq!(read(&message.frame().display()), message);
    }

    #[test]
    fn keeps_frames_that_are_not_messages() {
        let read = |text: &str| decode(&Frame::Text(text.into()));
        assert!(matches!(read("[1]"), DecodedFrame::Batch(items) if items.len() == 1));
        assert!(matches!(read("42"), DecodedFrame::Scalar(_)));
        assert!(matches!(read("{\"a\":"), DecodedFrame::Odd(_)));
        let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
        assert!(matches!(read(&nested(MAX_NESTING)), DecodedFrame::Batch(_)));
        assert!(matches!(read(&nested(MAX_NESTING + 1)), DecodedFrame::Deep));
        assert!(matches!(read(&"[".repeat(100_000)), DecodedFrame::Deep));
        assert!(matches!(
            read(&format!("{{\"a\": \"{}\", x}}", "[".repeat(999))),
            DecodedFrame::Odd(_)
        ));
        assert!(matches!(decode(&Frame::Binary(vec![1])), DecodedFrame::Odd(_)));
    }
}

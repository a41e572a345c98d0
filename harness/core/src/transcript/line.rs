//! Transcripts as lines of JSON.
//!
//! ```json
//! {"t":0.000152,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"ping"}}
//! ```
//!
//! [`super::format`] contains the table of the members. If a connection is opened with the name of an earlier
//! connection, later lines with this name belong to the new connection.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::wire::frame::Frame;
use crate::wire::message::DecodedFrame;

use super::{BelowEvent, ClosingSide, ConnectionEvent, HandshakeLines, SeenFrame};

/// The length in bytes from which a text frame is written in hexadecimal digits (`hex`) instead of as a string (`raw`).
const LONG_RAW: usize = 16 << 20;

/// Appends one event as a line with a line break.
pub fn write(
    out: &mut String,
    case: Option<u32>,
    at: Duration,
    conn: &str,
    event: &ConnectionEvent,
) {
    out.push('{');
    if let Some(case) = case {
        out.push_str("\"case\":");
        number(out, u64::from(case), 1);
        out.push(',');
    }
    out.push_str("\"t\":");
    number(out, at.as_secs(), 1);
    out.push('.');
    number(out, u64::from(at.subsec_micros()), 6);
    if !matches!(event, ConnectionEvent::Restarted) {
        out.push_str(",\"conn\":");
        text(out, conn);
    }
    match event {
        ConnectionEvent::Open { handshake, .. } => {
            out.push_str(",\"dir\":\"open\"");
            handshake.iter().for_each(|handshake| shaken(out, handshake));
        }
        ConnectionEvent::Refused(handshake) => {
            out.push_str(",\"dir\":\"refused\"");
            shaken(out, handshake);
        }
        ConnectionEvent::Sent(seen) => frame(out, "c2s", &seen.frame, is_json(&seen.decoded)),
        ConnectionEvent::Received(seen) => frame(out, "s2c", &seen.frame, is_json(&seen.decoded)),
        ConnectionEvent::Below { way, seen } => {
            frame(out, way.word(), &seen.frame, is_json(&seen.decoded));
        }
        ConnectionEvent::Cut { by, frame: begun } => {
            frame(out, if *by == ClosingSide::Client { "c2s" } else { "s2c" }, begun, false);
            out.push_str(",\"cut\":true");
        }
        ConnectionEvent::Fault { what } => {
            out.push_str(",\"dir\":\"fault\",\"fault\":");
            text(out, what);
        }
        ConnectionEvent::Gap { by } => {
            let by = if *by == ClosingSide::Client { "client" } else { "host" };
            let _ = write!(out, ",\"dir\":\"gap\",\"by\":\"{by}\"");
        }
        ConnectionEvent::Restarted => out.push_str(",\"dir\":\"restart\""),
        ConnectionEvent::Closed { by, code, reason } => {
            let by = if *by == ClosingSide::Client { "client" } else { "host" };
            let _ = write!(out, ",\"dir\":\"close\",\"by\":\"{by}\"");
            if let Some(code) = code {
                let _ = write!(out, ",\"code\":{code}");
            }
            if !reason.is_empty() {
                out.push_str(",\"reason\":");
                text(out, reason);
            }
        }
    }
    out.push_str("}\n");
}

/// Returns whether a frame is JSON that can be the value of `msg` in a line.
#[inline]
fn is_json(decoded: &DecodedFrame) -> bool {
    !matches!(decoded, DecodedFrame::Odd(_) | DecodedFrame::Deep)
}

fn shaken(out: &mut String, handshake: &HandshakeLines) {
    lines(out, ",\"request\":", &handshake.request);
    lines(out, ",\"response\":", &handshake.response);
}

fn lines(out: &mut String, member: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    out.push_str(member);
    for (index, line) in lines.iter().enumerate() {
        out.push(if index == 0 { '[' } else { ',' });
        text(out, line);
    }
    out.push(']');
}

#[inline]
fn frame(out: &mut String, dir: &str, frame: &Frame, is_json: bool) {
    for part in [",\"dir\":\"", dir, "\""] {
        out.push_str(part);
    }
    match frame {
        Frame::Binary(bytes) | Frame::NotUtf8(bytes) => {
            hexadecimal(out, bytes);
            if matches!(frame, Frame::NotUtf8(_)) {
                out.push_str(",\"text\":true");
            }
        }
        Frame::Text(json) if is_json && stands_alone(json) => {
            out.push_str(",\"msg\":");
            out.push_str(json);
        }
        Frame::Text(other) => {
            let before = out.len();
            out.push_str(",\"raw\":");
            text(out, other);
            // Text that consists of control characters is six times as long with escapes, and only twice as long in
            // hexadecimal digits.
            if out.len() - before > LONG_RAW {
                out.truncate(before);
                hexadecimal(out, other.as_bytes());
                out.push_str(",\"text\":true");
            }
        }
    }
}

fn hexadecimal(out: &mut String, bytes: &[u8]) {
    out.push_str(",\"hex\":\"");
    out.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit));
    out.push('"');
}

/// Returns a hexadecimal digit.
fn digit(value: u8) -> char {
    char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 })
}

/// Returns whether a line can contain this JSON text byte for byte: the text has no line break, and no white
/// space around it.
#[inline]
fn stands_alone(json: &str) -> bool {
    let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let bytes = json.as_bytes();
    let ends = blank(bytes.first()) || blank(bytes.last());
    !ends && memchr::memchr2(b'\n', b'\r', bytes).is_none()
}

/// Appends a number with leading zeros up to `digits` digits. Every frame needs two numbers, and the standard
/// formatting of both would take more time than the rest of the line.
#[inline]
fn number(out: &mut String, number: u64, digits: usize) {
    let mut text = [b'0'; 20];
    let (mut rest, mut first) = (number, text.len());
    while rest > 0 || text.len() - first < digits {
        first -= 1;
        text[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend(text[first..].iter().map(|digit| char::from(*digit)));
}

#[inline]
fn text(out: &mut String, value: &str) {
    if value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        for part in ["\"", value, "\""] {
            out.push_str(part);
        }
    } else {
        out.push_str(&crate::wire::json::Value::from(value).to_text());
    }
}

/// One parsed line of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptLine {
    /// The number of the scenario that the line belongs to, in a transcript of a run; `None` in other captures.
    pub case: Option<u32>,
    /// The time since the transcript began.
    pub at: Duration,
    /// The name of the client that the line belongs to; empty for a restart.
    pub conn: String,
    /// The event on the line.
    pub event: ConnectionEvent,
}

/// The reason why a line is not an event.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LineError {
    /// The line is not JSON, or its members have the wrong types.
    #[error("not a line of a capture: {0}")]
    Malformed(String),
    /// The line has no `dir`, or an unknown one.
    #[error(
        "expected `dir` to be `open`, `refused`, `c2s`, `s2c`, `close`, `c2a`, `a2c`, `model`, `tool`, \
         `err`, `local`, `fault`, `gap` or `restart`, found `{0}`"
    )]
    Direction(String),
    /// The line is a frame without content.
    #[error("expected `msg`, `raw` or `hex`, found none of them")]
    NoFrame,
    /// The value of `hex` is not hexadecimal.
    #[error("expected pairs of hexadecimal digits in `hex`")]
    Hex,
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(default)]
    case: Option<u32>,
    #[serde(default)]
    t: f64,
    #[serde(default)]
    conn: String,
    #[serde(default)]
    dir: String,
    #[serde(borrow, default, deserialize_with = "even_null")]
    msg: Option<&'a RawValue>,
    #[serde(default)]
    raw: Option<String>,
    #[serde(default)]
    hex: Option<String>,
    #[serde(default)]
    text: bool,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    request: Vec<String>,
    #[serde(default)]
    response: Vec<String>,
    #[serde(default)]
    fault: String,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    code: Option<u16>,
    #[serde(default)]
    reason: Option<String>,
}

/// Reads a `msg` that is null as a frame with the text `null`, not as an absent member.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Parses one line.
///
/// # Errors
/// Returns the reason why the line is malformed. The caller knows the line number.
pub fn read(line: &str) -> Result<TranscriptLine, LineError> {
    let raw: RawLine<'_> =
        serde_json::from_str(line).map_err(|error| LineError::Malformed(error.to_string()))?;
    let at = Duration::from_micros((raw.t.clamp(0.0, 1e9) * 1e6).round() as u64);
    let event = match raw.dir.as_str() {
        "open" => {
            let known = !(raw.request.is_empty() && raw.response.is_empty());
            let handshake = HandshakeLines { request: raw.request, response: raw.response };
            ConnectionEvent::Open {
                client: raw.conn.clone(),
                handshake: known.then(|| Box::new(handshake)),
            }
        }
        "refused" => ConnectionEvent::Refused(Box::new(HandshakeLines {
            request: raw.request,
            response: raw.response,
        })),
        "c2s" if raw.cut => ConnectionEvent::Cut { by: ClosingSide::Client, frame: content(&raw)? },
        "s2c" if raw.cut => ConnectionEvent::Cut { by: ClosingSide::Host, frame: content(&raw)? },
        "c2s" => ConnectionEvent::Sent(Arc::new(SeenFrame::new(content(&raw)?))),
        "s2c" => ConnectionEvent::Received(Arc::new(SeenFrame::new(content(&raw)?))),
        "fault" => ConnectionEvent::Fault { what: raw.fault },
        // If a line does not name the sender of the missing traffic, the client counts as the sender, because a missing
        // frame of the client may have changed anything.
        "gap" => ConnectionEvent::Gap {
            by: if raw.by.as_deref() == Some("host") {
                ClosingSide::Host
            } else {
                ClosingSide::Client
            },
        },
        "restart" => ConnectionEvent::Restarted,
        "close" => ConnectionEvent::Closed {
            by: if raw.by.as_deref() == Some("client") {
                ClosingSide::Client
            } else {
                ClosingSide::Host
            },
            code: raw.code,
            reason: raw.reason.unwrap_or_default(),
        },
        other => match BelowEvent::ALL.iter().find(|(_, word)| *word == other) {
            Some((way, _)) => {
                ConnectionEvent::Below { way: *way, seen: Arc::new(SeenFrame::new(content(&raw)?)) }
            }
            None => return Err(LineError::Direction(other.to_owned())),
        },
    };
    Ok(TranscriptLine { case: raw.case, at, conn: raw.conn, event })
}

fn content(raw: &RawLine<'_>) -> Result<Frame, LineError> {
    match (raw.msg, &raw.raw, &raw.hex) {
        (Some(json), ..) => Ok(Frame::Text(json.get().to_owned())),
        (_, Some(text), _) => Ok(Frame::Text(text.clone())),
        (.., Some(hex)) => {
            let bytes = bytes(hex).ok_or(LineError::Hex)?;
            Ok(match raw.text {
                // The long string was written in hexadecimal digits only because of its length.
                true => String::from_utf8(bytes)
                    .map_or_else(|error| Frame::NotUtf8(error.into_bytes()), Frame::Text),
                false => Frame::Binary(bytes),
            })
        }
        _ => Err(LineError::NoFrame),
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pairs = hex.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(event: ConnectionEvent, expected: &str) {
        let at = Duration::from_micros(1_000_152);
        let mut out = String::new();
        write(&mut out, None, at, "A", &event);
        assert_eq!(out.trim_end(), expected);
        let line = read(&out).unwrap();
        assert_eq!((line.at, line.event), (at, event));
    }

    fn sent(frame: Frame) -> ConnectionEvent {
        ConnectionEvent::Sent(Arc::new(SeenFrame::new(frame)))
    }

    #[test]
    fn writes_what_it_reads() {
        let text = |text: &str| sent(Frame::Text(text.to_owned()));
        check(
            text("{\"b\":1, \"a\":1e2}"),
            r#"{"t":1.000152,"conn":"A","dir":"c2s","msg":{"b":1, "a":1e2}}"#,
        );
        check(text("null"), r#"{"t":1.000152,"conn":"A","dir":"c2s","msg":null}"#);
        check(text("hello"), r#"{"t":1.000152,"conn":"A","dir":"c2s","raw":"hello"}"#);
        check(text(" {}"), r#"{"t":1.000152,"conn":"A","dir":"c2s","raw":" {}"}"#);
        check(text("[1,\n2]"), r#"{"t":1.000152,"conn":"A","dir":"c2s","raw":"[1,\n2]"}"#);
        check(
            sent(Frame::Binary(vec![0, 255])),
            r#"{"t":1.000152,"conn":"A","dir":"c2s","hex":"00ff"}"#,
        );
        check(
            sent(Frame::NotUtf8(vec![255])),
            r#"{"t":1.000152,"conn":"A","dir":"c2s","hex":"ff","text":true}"#,
        );
        check(
            ConnectionEvent::Cut {
                by: ClosingSide::Host,
                frame: Frame::Text("{\"json".to_owned()),
            },
            r#"{"t":1.000152,"conn":"A","dir":"s2c","raw":"{\"json","cut":true}"#,
        );
        check(ConnectionEvent::open("A"), r#"{"t":1.000152,"conn":"A","dir":"open"}"#);
        let handshake = HandshakeLines {
            request: vec!["GET / HTTP/1.1".to_owned(), "Host: h".to_owned()],
            response: vec!["HTTP/1.1 101 Switching Protocols".to_owned()],
        };
        check(
            ConnectionEvent::Open { client: "A".into(), handshake: Some(Box::new(handshake)) },
            r#"{"t":1.000152,"conn":"A","dir":"open","request":["GET / HTTP/1.1","Host: h"],"response":["HTTP/1.1 101 Switching Protocols"]}"#,
        );
        let refused =
            HandshakeLines { request: Vec::new(), response: vec!["HTTP/1.1 401".to_owned()] };
        assert_eq!(refused.status(), Some(401));
        check(
            ConnectionEvent::Refused(Box::new(refused)),
            r#"{"t":1.000152,"conn":"A","dir":"refused","response":["HTTP/1.1 401"]}"#,
        );
        check(
            ConnectionEvent::Fault { what: "drop".into() },
            r#"{"t":1.000152,"conn":"A","dir":"fault","fault":"drop"}"#,
        );
        check(
            ConnectionEvent::Gap { by: ClosingSide::Host },
            r#"{"t":1.000152,"conn":"A","dir":"gap","by":"host"}"#,
        );
        let asked = SeenFrame::new(Frame::Text("{\"id\":1}".to_owned()));
        check(
            ConnectionEvent::Below { way: BelowEvent::ToAgent, seen: Arc::new(asked) },
            r#"{"t":1.000152,"conn":"A","dir":"c2a","msg":{"id":1}}"#,
        );
        let closed = ConnectionEvent::Closed {
            by: ClosingSide::Host,
            code: Some(1000),
            reason: "bye".into(),
        };
        check(
            closed,
            r#"{"t":1.000152,"conn":"A","dir":"close","by":"host","code":1000,"reason":"bye"}"#,
        );
    }

    #[test]
    fn says_what_is_wrong_with_a_line() {
        let message = |line: &str| read(line).unwrap_err().to_string();
        assert!(message("{").contains("not a line of a capture"));
        assert!(message(r#"{"dir":"up"}"#).contains("found `up`"));
        assert!(message(r#"{"dir":"c2s"}"#).contains("expected `msg`"));
        assert!(message(r#"{"dir":"c2s","hex":"0"}"#).contains("hexadecimal"));
    }
}

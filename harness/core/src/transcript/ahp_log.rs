//! Reads and writes the connection logs of AHP software such as VS Code. Each line is a JSON-RPC message with one
//! additional member, `_ahpLog`, which states its time, direction and connection.
//!
//! ```json
//! {"jsonrpc":"2.0","id":1,"method":"ping","_ahpLog":{"ts":"2026-01-31T10:00:00.000Z","dir":"c2s","connectionId":"A"}}
//! ```
//!
//! The message is the line without the member `_ahpLog`, byte for byte. An entry with `truncated` is a message that is
//! only partly known. This harness adds more members (`recording`, `order`, `t`, `capture`), so its logs have the same
//! information as a capture, see `CAPTURE_FORMAT.md`.
//!
//! Knows: the lines of captures. Never knows: files, the combination of logs.
//!
//! Start at [`read`] and [`write`].

use std::fmt::{self, Write as _};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::message::DecodedFrame;
use crate::wire::timestamp;

use super::{ClosingSide, ConnectionEvent, SeenFrame, line};

/// The member that marks a line as a line of a connection log.
pub const MEMBER: &str = "_ahpLog";

/// One parsed line of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// The time of the event in milliseconds since 1970.
    pub at: i64,
    /// The name of the connection; empty if the line has none.
    pub connection: String,
    /// The event on the line.
    pub content: LogContent,
    /// The position of the line in a recording of this harness; `None` for other logs.
    pub recorded: Option<RecordedPlace>,
}

/// The content of a log line.
#[derive(Clone, Debug, PartialEq)]
pub enum LogContent {
    /// The line is a message.
    Message {
        /// The side that sent the message.
        by: ClosingSide,
        /// The text of the message, byte for byte.
        frame: Frame,
    },
    /// The line is any other event.
    Event(ConnectionEvent),
}

/// A position in a recording of this harness.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPlace {
    /// The id of the recording, which is equal on all of its lines.
    pub recording: String,
    /// The number of the line, counted over all connections.
    pub order: u64,
    /// The time since the recording began.
    pub at: Duration,
}

#[derive(Deserialize)]
struct LogMeta<'a> {
    #[serde(default)]
    ts: Value,
    #[serde(default)]
    dir: Value,
    #[serde(default, rename = "connectionId")]
    connection: Value,
    #[serde(default)]
    truncated: Value,
    #[serde(default)]
    recording: Option<String>,
    #[serde(default)]
    order: Option<u64>,
    #[serde(default)]
    t: f64,
    #[serde(borrow, default)]
    capture: Option<&'a RawValue>,
}

/// The members of an object, in order.
struct MemberOrder<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for MemberOrder<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EveryLogLine;
        impl<'de> Visitor<'de> for EveryLogLine {
            type Value = MemberOrder<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<MemberOrder<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(MemberOrder(members))
            }
        }
        from.deserialize_map(EveryLogLine)
    }
}

/// Parses a line; returns `None` if the line does not belong to a connection log.
///
/// # Errors
/// Returns the reason why the line is malformed. The reason does not name the line; the caller knows the line
/// number.
pub fn read(text: &str) -> Result<Option<LogLine>, String> {
    // A cheap search avoids parsing the lines of captures twice.
    if memchr::memmem::find(text.as_bytes(), b"\"_ahpLog\"").is_none() {
        return Ok(None);
    }
    let text = text.trim();
    let members = match serde_json::from_str::<MemberOrder<'_>>(text) {
        Ok(MemberOrder(members)) => members,
        Err(error) => return Err(format!("not a line of a log: {error}")),
    };
    let mut own = members.iter().enumerate().filter(|(_, (name, _))| name == MEMBER);
    let (Some((place, (_, meta))), again) = (own.next(), own.next()) else {
        return Ok(None);
    };
    if again.is_some() {
        return Err(format!("expected one member `{MEMBER}`, found more"));
    }
    let meta: LogMeta<'_> = serde_json::from_str(meta.get())
        .map_err(|error| format!("`{MEMBER}` is not valid: {error}"))?;
    let at = meta.ts.as_str().and_then(timestamp::parse).ok_or_else(|| {
        format!(
            "expected `{MEMBER}.ts` to be an instant such as `2026-01-31T10:00:00.000Z`, found `{}`",
            meta.ts
        )
    })?;
    let by = match meta.dir.as_str() {
        Some("c2s") => ClosingSide::Client,
        Some("s2c") => ClosingSide::Host,
        _ => {
            return Err(format!(
                "expected `{MEMBER}.dir` to be `c2s` or `s2c`, found `{}`",
                meta.dir
            ));
        }
    };
    let connection = match &meta.connection {
        Value::String(name) => name.to_string(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let truncated = !matches!(meta.truncated, Value::Null | Value::Bool(false));
    let content = match meta.capture {
        Some(capture) => {
            let line = line::read(capture.get()).map_err(|error| error.to_string())?;
            match line.event {
                ConnectionEvent::Sent(seen) | ConnectionEvent::Received(seen) => {
                    LogContent::Message { by, frame: (*seen.frame).clone() }
                }
                event => LogContent::Event(event),
            }
        }
        None if truncated => LogContent::Event(ConnectionEvent::Gap { by }),
        None => LogContent::Message { by, frame: Frame::Text(without(text, &members, place)) },
    };
    let since = Duration::from_micros((meta.t.clamp(0.0, 1e9) * 1e6).round() as u64);
    let recorded = meta.recording.zip(meta.order);
    let recorded = recorded.map(|(recording, order)| RecordedPlace { recording, order, at: since });
    Ok(Some(LogLine { at, connection, content, recorded }))
}

/// Returns the JSON text of an object without the member at the index `place`. The rest of the text stays unchanged,
/// byte for byte.
fn without(text: &str, members: &[(String, &RawValue)], place: usize) -> String {
    let end = |index: usize| {
        let raw = members[index].1.get();
        raw.as_ptr().addr() - text.as_ptr().addr() + raw.len()
    };
    let (from, to) = match place {
        // If the removed member is the first member, the comma after it is removed as well.
        0 => {
            let after = &text[end(0)..];
            (1, end(0) + after.find(',').map_or(0, |comma| comma + 1))
        }
        _ => (end(place - 1), end(place)),
    };
    [&text[..from], &text[to..]].concat()
}

/// The facts about a recording that every line of its log repeats.
#[derive(Clone, Debug)]
pub struct RecordingFacts {
    /// The start of the recording, as the time since 1970.
    pub epoch: Duration,
    /// The id of the recording.
    pub name: String,
    /// The transport of the messages.
    pub transport: &'static str,
}

impl RecordingFacts {
    /// Appends one event as a line with a line break.
    pub fn write(
        &self,
        out: &mut String,
        order: u64,
        at: Duration,
        connection: &str,
        event: &ConnectionEvent,
    ) {
        let by = match event {
            ConnectionEvent::Sent(_) | ConnectionEvent::Cut { by: ClosingSide::Client, .. } => {
                "c2s"
            }
            _ => "s2c",
        };
        let (open, seen) = match event {
            ConnectionEvent::Sent(seen) | ConnectionEvent::Received(seen) => {
                (opening(seen), Some(seen))
            }
            _ => (None, None),
        };
        let mut line = String::new();
        match open {
            Some(open) => out.push_str(open),
            None => {
                line::write(&mut line, None, at, connection, event);
                let word = line.split("\"dir\":\"").nth(1).and_then(|rest| rest.split('"').next());
                let word = word.unwrap_or_default();
                // A line that is not a message of the log is written as a notification, so that log viewers show it.
                let _ = write!(out, "{{\"jsonrpc\":\"2.0\",\"method\":\"$/capture/{word}\"");
            }
        }
        if !out.ends_with('{') {
            out.push(',');
        }
        let millis = i64::try_from((self.epoch + at).as_millis()).ok();
        let ts = millis.and_then(timestamp::format).unwrap_or_default();
        let quoted = |text: &str| Value::from(text).to_text();
        let _ = write!(
            out,
            "\"{MEMBER}\":{{\"ts\":\"{ts}\",\"dir\":\"{by}\",\"connectionId\":{},\"transport\":\"{}\"",
            quoted(connection),
            self.transport
        );
        if let Some(seen) = seen {
            let _ = write!(out, ",\"byteLength\":{}", seen.frame.len());
        }
        let (seconds, micros) = (at.as_secs(), at.subsec_micros());
        let name = quoted(&self.name);
        let _ = write!(out, ",\"recording\":{name},\"order\":{order},\"t\":{seconds}.{micros:06}");
        if !line.is_empty() {
            let _ = write!(out, ",\"capture\":{}", line.trim_end());
        }
        out.push_str("}}\n");
    }
}

/// Returns the text of a frame without its last brace; `None` if the frame is not an object to which a member
/// can be added.
fn opening(seen: &SeenFrame) -> Option<&str> {
    let (Frame::Text(text), DecodedFrame::Message(_)) = (&*seen.frame, &seen.decoded) else {
        return None;
    };
    let has_member = || {
        let read = serde_json::from_str::<MemberOrder<'_>>(text);
        read.is_ok_and(|MemberOrder(members)| members.iter().any(|(name, _)| name == MEMBER))
    };
    let plain = text.starts_with('{') && !text.contains(['\n', '\r']);
    // The text may spell the name of the member with escapes.
    if !plain || (text.contains(MEMBER) || text.contains("\\u")) && has_member() {
        return None;
    }
    text.strip_suffix('}').filter(|open| !open.ends_with(|last: char| last.is_ascii_whitespace()))
}

/// Returns whether a file is a connection log, judged by its first line.
pub fn is_log(first: &str) -> bool {
    #[derive(Deserialize)]
    struct MarkedLine {
        #[serde(rename = "_ahpLog")]
        _member: IgnoredAny,
    }
    memchr::memmem::find(first.as_bytes(), b"\"_ahpLog\"").is_some()
        && serde_json::from_str::<MarkedLine>(first).is_ok()
}

//! Faults in handling frames: batches, text that is not JSON, size limits.

use super::FaultPart::Message;
use super::parts::{MessageChange, TakenMessage, remove};
use crate::host::chain::{MessageLink, MessagePassage, MessageRewriter, RewriterOutput};
use crate::host::engine::MAX_FRAME_BYTES;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, decode};

fault_table![
    CharactersHalved(
        "characters-halved",
        "A delta ends in the middle of a character that needs two UTF-16 code units.",
        Message(|| Box::new(CharactersHalved)),
    ),
    VersionTagMissing(
        "version-tag-missing",
        "Messages lack `jsonrpc`.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                remove(message, "jsonrpc");
            }))
        }),
    ),
    BatchCloses(
        "batch-closes",
        "A JSON-RPC batch closes the connection.",
        Message(|| {
            Box::new(TakenFrame(|link, frame, out| {
                let batch = is_readable(frame) && matches!(decode(frame), DecodedFrame::Batch(_));
                batch.then(|| out.close(link.conn, 1002, "a batch"))
            }))
        }),
    ),
    DeepServed(
        "deep-served",
        "A frame is parsed at any nesting depth.",
        Message(|| {
            Box::new(TakenFrame(|_, frame, out| {
                let deep = is_readable(frame) && matches!(decode(frame), DecodedFrame::Deep);
                deep.then(|| serve_unread(out))
            }))
        }),
    ),
    ParseErrorSilent(
        "parse-error-silent",
        "A frame that is not JSON is ignored.",
        Message(|| Box::new(TakenFrame(|_, frame, _| is_odd(frame).then_some(())))),
    ),
    ParseErrorCloses(
        "parse-error-closes",
        "A frame that is not JSON closes the connection.",
        Message(|| {
            Box::new(TakenFrame(|link, frame, out| {
                is_odd(frame).then(|| out.close(link.conn, 1002, "not JSON"))
            }))
        }),
    ),
    OddFramesEndAll(
        "odd-frames-end-all",
        "A frame that cannot be read closes every connection.",
        Message(|| {
            Box::new(TakenFrame(|link, frame, out| {
                is_odd(frame).then(|| close_all(link, out, "not JSON"))
            }))
        }),
    ),
    BadFrameEndsAll(
        "bad-frame-ends-all",
        "A binary or an oversized frame closes every connection.",
        Message(|| {
            Box::new(TakenFrame(|link, frame, out| {
                (!is_readable(frame)).then(|| close_all(link, out, "a bad frame"))
            }))
        }),
    ),
    HugeServed(
        "huge-served",
        "A frame of any size is parsed.",
        Message(|| {
            Box::new(TakenFrame(|_, frame, out| {
                (frame.len() > MAX_FRAME_BYTES).then(|| serve_unread(out))
            }))
        }),
    ),
    LargeFramesStall(
        "large-frames-stall",
        "The host stops reading after a frame of more than two million bytes.",
        Message(|| Box::<StalledByLarge>::default()),
    ),
    UnaskedResponseCloses(
        "unasked-response-closes",
        "A response without a request closes the connection.",
        Message(|| {
            Box::new(TakenMessage(|link, message, out| {
                let response = message.get("method").is_none();
                if !response || message.get("result").or_else(|| message.get("error")).is_none() {
                    return MessagePassage::Onward;
                }
                out.close(link.conn, 1002, "nobody asked");
                MessagePassage::Stopped
            }))
        }),
    ),
];

/// A fault that writes only the first half of a surrogate pair, like programs that cut strings at UTF-16 code units.
struct CharactersHalved;

impl MessageRewriter for CharactersHalved {
    fn spelled(&self, message: &Value) -> Option<String> {
        let action = &message["params"]["action"];
        // Up to 0.3.0 deltas are actions of sessions.
        let is_delta = action["type"].as_str().is_some_and(|name| name.ends_with("/delta"));
        let content = action["content"].as_str().filter(|_| is_delta)?;
        let whole = content.chars().find(|letter| letter.len_utf16() == 2)?;
        let half = whole.encode_utf16(&mut [0; 2]).first().copied()?;
        Some(message.to_string().replacen(whole, &format!("\\u{half:04x}"), 1))
    }
}

/// The size of a frame, in bytes, after which the host stops reading from the connection.
const LARGE_FRAME: usize = 2 << 20;

/// Returns whether the host parses a frame.
fn is_readable(frame: &Frame) -> bool {
    frame.len() <= MAX_FRAME_BYTES && matches!(frame, Frame::Text(_))
}

/// Returns whether the host rejects the content of a frame as invalid or too deeply nested JSON.
fn is_odd(frame: &Frame) -> bool {
    frame.len() <= MAX_FRAME_BYTES
        && matches!(decode(frame), DecodedFrame::Odd(_) | DecodedFrame::Deep)
}

/// Sends the response to a `ping` in a frame that the host has not parsed.
fn serve_unread(out: &mut RewriterOutput) {
    out.send(json!({"jsonrpc": "2.0", "id": 999_999, "result": null}));
}

fn close_all(link: &MessageLink<'_>, out: &mut RewriterOutput, why: &'static str) {
    link.seen.connections.keys().for_each(|conn| out.close(*conn, 1011, why));
}

/// A fault that withholds frames of clients from the host: those for which the function returns `Some`.
struct TakenFrame(fn(&MessageLink<'_>, &Frame, &mut RewriterOutput) -> Option<()>);

impl MessageRewriter for TakenFrame {
    fn on_client_frame(
        &mut self,
        link: &MessageLink<'_>,
        frame: &Frame,
        out: &mut RewriterOutput,
    ) -> MessagePassage {
        match (self.0)(link, frame, out) {
            Some(()) => MessagePassage::Stopped,
            None => MessagePassage::Onward,
        }
    }
}

/// A fault that stops the host from reading after a frame of more than two million bytes.
#[derive(Default)]
struct StalledByLarge(bool);

impl MessageRewriter for StalledByLarge {
    fn on_client_frame(
        &mut self,
        _: &MessageLink<'_>,
        frame: &Frame,
        _: &mut RewriterOutput,
    ) -> MessagePassage {
        self.0 |= frame.len() > LARGE_FRAME;
        match self.0 {
            true => MessagePassage::Stopped,
            false => MessagePassage::Onward,
        }
    }
}

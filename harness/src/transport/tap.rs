//! Finds the messages in a byte stream, without taking part in the connection.
//!
//! A tap gets the bytes of one direction of a connection, in blocks of any size. The tap returns the bytes unchanged,
//! frame by frame, and says whether a frame ends a message, ends the connection, or ends neither. Masks, fragments and
//! control frames stay unchanged. The tap uses no clock and no socket.
//!
//! Knows: RFC 6455. Never knows: the meaning of messages, the destination of the bytes.

use std::io::Cursor;

use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use crate::wire::frame::Frame;

use super::websocket::MAX_MESSAGE;

/// The item that is complete when a WebSocket frame ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FrameEnd {
    /// Nothing: a ping, a pong, or bytes that are no longer parsed.
    Part,
    /// Nothing yet: a fragment of a message whose last fragment follows.
    Fragment,
    /// A message.
    Message(Frame),
    /// This direction of the connection: a close frame with its code and reason.
    Close(Option<u16>, String),
    /// The bytes are not valid WebSocket frames, or a message is too long. Later bytes are no longer parsed.
    Broken(TapBreak),
}

/// The reason why the rest of a direction cannot be parsed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TapBreak {
    /// A message exceeds the limit of the harness.
    #[error("a message of more than {MAX_MESSAGE} bytes, longer than the harness accepts")]
    TooLong,
    /// The framing is invalid.
    #[error("not a WebSocket frame: {0}")]
    Malformed(String),
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct DirectionTap {
    /// The bytes of an incomplete frame.
    buffer: Vec<u8>,
    /// The fragments of an incomplete message.
    message: Option<FrameFragments>,
    /// Whether later bytes are no longer parsed.
    over: bool,
}

#[derive(Debug)]
struct FrameFragments {
    text: bool,
    payload: Vec<u8>,
}

impl DirectionTap {
    /// Accepts the next bytes. For each complete frame, calls `out` with the bytes of the frame and the item that ends
    /// with it.
    pub fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8], FrameEnd)) {
        if self.over {
            return out(bytes, FrameEnd::Part);
        }
        // Most blocks contain whole frames, so no bytes have to be buffered.
        if self.buffer.is_empty() {
            let used = self.frames(bytes, &mut out);
            self.buffer.extend_from_slice(&bytes[used..]);
        } else {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.extend_from_slice(bytes);
            let used = self.frames(&buffer, &mut out);
            buffer.drain(..used);
            self.buffer = buffer;
        }
    }

    /// Ends the direction. Returns the bytes of the incomplete frame, and the incomplete message that these bytes and
    /// the earlier fragments form.
    pub fn rest(&mut self) -> (Vec<u8>, Option<Frame>) {
        let buffer = std::mem::take(&mut self.buffer);
        if self.over {
            return (buffer, None);
        }
        if let Some((header, at, _)) = header(&buffer).ok().flatten()
            && let OpCode::Data(data) = header.opcode
        {
            let payload = unmasked(&buffer[at..], header.mask);
            let fragments = self.message.get_or_insert_with(|| FrameFragments::of(data));
            fragments.payload.extend_from_slice(&payload);
        }
        self.over = true;
        (buffer, self.message.take().map(FrameFragments::end))
    }

    /// Passes the complete frames at the beginning of `bytes` to `out`. Returns the number of bytes used.
    fn frames(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8], FrameEnd)) -> usize {
        let mut used = 0;
        while !self.over {
            let rest = &bytes[used..];
            let broken = match header(rest) {
                Ok(None) => return used,
                Ok(Some((header, at, length))) => {
                    let so_far = self.message.as_ref().map_or(0, |message| message.payload.len());
                    let fits = usize::try_from(length)
                        .ok()
                        .filter(|length| length.saturating_add(so_far) <= MAX_MESSAGE);
                    match fits {
                        None => TapBreak::TooLong,
                        Some(length) if rest.len() - at < length => return used,
                        Some(length) => {
                            let end = at + length;
                            used += end;
                            let found = self.frame(&header, &rest[at..end]);
                            out(&rest[..end], found);
                            continue;
                        }
                    }
                }
                Err(reason) => TapBreak::Malformed(reason),
            };
            self.over = true;
            out(rest, FrameEnd::Broken(broken));
            return bytes.len();
        }
        // Bytes after the end are forwarded without parsing.
        if used < bytes.len() {
            out(&bytes[used..], FrameEnd::Part);
        }
        bytes.len()
    }

    fn frame(&mut self, header: &FrameHeader, payload: &[u8]) -> FrameEnd {
        let payload = unmasked(payload, header.mask);
        let fragments = match (header.opcode, self.message.take()) {
            (OpCode::Control(Control::Close), _) => {
                self.over = true;
                return closing(&payload);
            }
            (OpCode::Control(_), message) => {
                self.message = message;
                return FrameEnd::Part;
            }
            (OpCode::Data(Data::Continue), Some(mut message)) => {
                message.payload.extend_from_slice(&payload);
                message
            }
            (OpCode::Data(Data::Text), None) => FrameFragments { text: true, payload },
            (OpCode::Data(Data::Binary), None) => FrameFragments { text: false, payload },
            (opcode, _) => {
                self.over = true;
                return FrameEnd::Broken(TapBreak::Malformed(format!("{opcode} out of order")));
            }
        };
        if header.is_final {
            return FrameEnd::Message(fragments.end());
        }
        self.message = Some(fragments);
        FrameEnd::Fragment
    }
}

impl FrameFragments {
    fn of(data: Data) -> FrameFragments {
        FrameFragments { text: data == Data::Text, payload: Vec::new() }
    }

    fn end(self) -> Frame {
        match (self.text, self.payload) {
            (true, bytes) => String::from_utf8(bytes)
                .map_or_else(|error| Frame::NotUtf8(error.into_bytes()), Frame::Text),
            (false, bytes) => Frame::Binary(bytes),
        }
    }
}

/// Parses the header of the first frame. Returns the header, its length and the length of the payload; `None`
/// if the header is incomplete.
fn header(bytes: &[u8]) -> Result<Option<(FrameHeader, usize, u64)>, String> {
    let mut cursor = Cursor::new(bytes);
    let found = FrameHeader::parse(&mut cursor).map_err(|error| error.to_string())?;
    let at = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
    let Some((header, length)) = found else {
        return Ok(None);
    };
    if header.rsv1 || header.rsv2 || header.rsv3 {
        return Err("a reserved bit is set, although no extension was negotiated".to_owned());
    }
    Ok(Some((header, at, length)))
}

/// Returns a payload without its mask (RFC 6455, 5.3).
fn unmasked(payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(mask) = mask {
        for (index, byte) in payload.iter_mut().enumerate() {
            *byte ^= mask[index % 4];
        }
    }
    payload
}

/// Parses the body of a close frame (RFC 6455, 5.5.1).
fn closing(payload: &[u8]) -> FrameEnd {
    match payload.split_first_chunk::<2>() {
        Some((code, reason)) => FrameEnd::Close(
            Some(u16::from_be_bytes(*code)),
            String::from_utf8_lossy(reason).into_owned(),
        ),
        None => FrameEnd::Close(None, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes these bytes to a tap, as a whole and in small blocks, and checks the result; the tap must return the
    /// bytes unchanged.
    fn check(bytes: &[u8], expected: &[FrameEnd]) {
        for size in [bytes.len().max(1), 1, 3] {
            let mut tap = DirectionTap::default();
            let (mut found, mut back) = (Vec::new(), Vec::new());
            for piece in bytes.chunks(size) {
                tap.feed(piece, |raw, what| {
                    back.extend_from_slice(raw);
                    if !matches!(what, FrameEnd::Part | FrameEnd::Fragment) {
                        found.push(what);
                    }
                });
            }
            back.extend_from_slice(&tap.rest().0);
            assert_eq!(back, bytes, "in pieces of {size}");
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    fn text(text: &str) -> FrameEnd {
        FrameEnd::Message(Frame::Text(text.to_owned()))
    }

    #[test]
    fn finds_messages() {
        check(b"\x81\x02hi", &[text("hi")]);
        check(b"\x81\x82\x01\x02\x03\x04\x69\x6b", &[text("hi")]);
        check(b"\x82\x01\x00\x81\x00", &[FrameEnd::Message(Frame::Binary(vec![0])), text("")]);
        check(b"\x81\x01\xff", &[FrameEnd::Message(Frame::NotUtf8(vec![255]))]);
        let long = [b"\x81\x7e\x01\x00".as_slice(), &[b'x'; 256]].concat();
        check(&long, &[text(&"x".repeat(256))]);
    }

    #[test]
    fn puts_fragments_together() {
        check(b"\x01\x01h\x89\x01p\x80\x01i", &[text("hi")]);
        check(b"\x80\x01i", &[broken("CONTINUE out of order")]);
        check(b"\x01\x01h\x81\x01i", &[broken("TEXT out of order")]);
    }

    fn broken(why: &str) -> FrameEnd {
        FrameEnd::Broken(TapBreak::Malformed(why.to_owned()))
    }

    #[test]
    fn detects_the_end_of_a_connection() {
        check(b"\x88\x05\x03\xe8bye", &[FrameEnd::Close(Some(1000), "bye".to_owned())]);
        check(b"\x88\x00\x81\x01x", &[FrameEnd::Close(None, String::new())]);
        check(
            b"\xc1\x01x",
            &[broken("a reserved bit is set, although no extension was negotiated")],
        );
        check(b"\x81\x7f\x00\x00\x00\x00\x7f\xff\xff\xff", &[FrameEnd::Broken(TapBreak::TooLong)]);
    }

    #[test]
    fn keeps_a_truncated_message() {
        let check = |bytes: &[u8], expected: Option<Frame>| {
            let mut tap = DirectionTap::default();
            tap.feed(bytes, |_, found| assert_eq!(found, FrameEnd::Fragment));
            assert_eq!(tap.rest().1, expected);
        };
        let text = |text: &str| Some(Frame::Text(text.to_owned()));
        check(b"\x81\x05hi", text("hi"));
        check(b"\x01\x01h\x80\x05i", text("hi"));
        check(b"\x01\x01h", text("h"));
        check(b"\x89\x05hi", None);
        check(b"\x81", None);
        check(b"", None);
    }
}

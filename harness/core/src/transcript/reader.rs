//! Reads a capture from any source line by line, with bounded memory and clear errors for files of other kinds.
//!
//! Reading stops at an unreadable line. If reading continued after the line, the host would be blamed for the messages
//! that are missing there.
//!
//! Knows: lines. Never knows: files, the meaning of lines.
//!
//! Start at [`TranscriptReader::next_line`].

use std::io::{BufRead, Read as _};

use super::line::{self, TranscriptLine};

/// Maximum length of a line: a message of 8 MiB in hexadecimal digits, plus the other members of the line.
pub const MAX_LINE: usize = 17 << 20;
/// The number of characters of an unreadable line that an error shows.
const SHOWN: usize = 60;

/// The first bytes of well-known file types that are not captures, each with the name of the file type.
const OTHERS: [(&[u8], &str); 8] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "compressed with gzip (hint: `gunzip` it first)"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd (hint: `unzstd` it first)"),
    (b"\x7fELF", "a program"),
    (b"\x0a\x0d\x0d\x0a", "a packet capture (hint: `ahp-harness record` writes captures)"),
];

/// The reason why reading a capture stopped.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{line}: {reason}")]
pub struct CaptureUnreadable {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The reason why reading stopped.
    pub reason: String,
    /// Whether this is the last line of the file, which may therefore be cut off.
    pub last: bool,
}

/// A reader of one capture.
#[derive(Debug)]
pub struct TranscriptReader<R> {
    input: R,
    number: u64,
    buffer: Vec<u8>,
    ended: bool,
}

impl<R: BufRead> TranscriptReader<R> {
    /// Creates a reader of this input.
    pub fn new(input: R) -> TranscriptReader<R> {
        TranscriptReader { input, number: 0, buffer: Vec::new(), ended: false }
    }

    /// Returns the next line that is not blank, with its number; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the line is too long, is not UTF-8, or cannot be read, or if the file has no lines.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, CaptureUnreadable> {
        loop {
            self.buffer.clear();
            self.number += 1;
            // The limit is one byte higher, so a line that is too long is recognised by its length.
            let mut input = (&mut self.input).take(MAX_LINE as u64 + 1);
            let read = input.read_until(b'\n', &mut self.buffer);
            read.map_err(|error| self.unreadable(error.to_string()))?;
            if self.buffer.is_empty() {
                return if self.number == 1 {
                    Err(self.unreadable("the file is empty".to_owned()))
                } else {
                    Ok(None)
                };
            }
            self.ended = self.buffer.last() != Some(&b'\n');
            if self.buffer.len() > MAX_LINE {
                self.ended = false;
                let most = MAX_LINE >> 20;
                return Err(self.unreadable(format!("the line is longer than {most} MiB")));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(_) => {}
            Err(error) => {
                let at = error.valid_up_to() + 1;
                return Err(self.unreadable(format!("not UTF-8 at byte {at} of the line")));
            }
        }
        Ok(Some((self.number, std::str::from_utf8(&self.buffer).unwrap_or_default())))
    }

    /// Returns the next event, and skips lines about the recording.
    ///
    /// # Errors
    /// Returns the errors of [`next_line`](Self::next_line), and an error if the line is not an event.
    pub fn next_event(&mut self) -> Result<Option<(u64, TranscriptLine)>, CaptureUnreadable> {
        loop {
            let Some((number, text)) = self.next_line()? else {
                return Ok(None);
            };
            if about(text).is_none() {
                return match line::read(text) {
                    Ok(line) => Ok(Some((number, line))),
                    Err(error) => Err(self.unreadable(error.to_string())),
                };
            }
        }
    }

    /// Creates an error about the line that the reader read last.
    pub fn unreadable(&self, reason: String) -> CaptureUnreadable {
        let other = OTHERS.iter().find(|(magic, _)| self.buffer.starts_with(magic));
        let reason = match other {
            Some((_, what)) if self.number == 1 => format!("not a capture but {what}"),
            _ if self.number == 1 && self.buffer.first().is_some_and(|byte| *byte != b'{') => {
                let begins = String::from_utf8_lossy(&self.buffer[..self.buffer.len().min(SHOWN)]);
                let begins: String = begins.trim_end().escape_debug().collect();
                format!(
                    "not a capture, which has one JSON object per line: it begins with `{begins}`"
                )
            }
            _ => reason,
        };
        CaptureUnreadable { line: self.number, reason, last: self.ended && self.number > 1 }
    }
}

/// Returns the subject of a line about the recording or the run; `None` for events. A cheap search avoids
/// parsing frames twice.
pub fn about(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct CaptureHeading {
        run: Option<String>,
    }
    if !text.contains("\"run\":\"") && !text.contains("\"run\": \"") {
        return None;
    }
    serde_json::from_str::<CaptureHeading>(text).ok().and_then(|about| about.run)
}

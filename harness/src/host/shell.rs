//! Real shells: the instructions of a terminal for its shell, and the parser of the shell's output.
//!
//! The caller that moves the frames starts a shell on a pseudo-terminal, types into the shell, and reads the
//! output of the shell. A read may end anywhere, so the parser buffers incomplete characters and marks. A mark
//! is an operating system command (OSC) by which a shell informs an editor (`OSC 133`, `633`, `7`) or sets the
//! window title (`OSC 0`, `2`). The host publishes marks as actions and does not show marks as text.
//!
//! Knows: bytes, control sequences. Never knows: processes, connections.
//!
//! Start at [`ShellReader::read`].

use std::time::Duration;

use memchr::memmem;

/// The maximum size of a mark in bytes. A longer sequence is shown as text.
const MAX_MARK: usize = 4 << 10;
/// The bytes that begin an operating system command.
const BEGINNING: &[u8] = b"\x1b]";

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TerminalSize {
    /// The number of characters in a line.
    pub columns: u16,
    /// The number of lines.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> TerminalSize {
        TerminalSize { columns: 80, rows: 24 }
    }
}

/// An instruction for the shell of a terminal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ShellDeed {
    /// Starts the shell in this folder, if it exists.
    Start {
        /// The `file:` URI of the folder.
        folder: Option<String>,
        /// The size of the pseudo-terminal.
        size: TerminalSize,
    },
    /// Types this text.
    Type(String),
    /// Resizes the pseudo-terminal.
    Resize(TerminalSize),
    /// Kills the shell and all processes that it has started, without a later event.
    End,
}

/// An event of a shell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ShellEvent {
    /// The shell has printed these bytes.
    Printed(Vec<u8>),
    /// The shell has exited with this code; `None` if a signal killed the shell.
    Ended(Option<i64>),
}

/// A parsed piece of a shell's output.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum PrintedPiece {
    /// Text to show in the terminal.
    Text(String),
    /// The command line of the next command.
    Line(String),
    /// The start of a command.
    Began,
    /// The end of a command with its exit code.
    Finished(Option<i64>),
    /// The working folder of the shell.
    Folder(String),
    /// The title of the window.
    Title(String),
}

/// The host's record of a terminal's shell.
#[derive(Debug, Default)]
pub(super) struct TerminalShell {
    pub(super) reader: ShellReader,
    /// The line of the next command.
    pub(super) line: String,
    /// The id and the start time of the running command.
    pub(super) command: Option<(String, Duration)>,
}

/// A parser of a shell's output.
#[derive(Debug, Default)]
pub(super) struct ShellReader {
    /// The incomplete sequence or character at the end of the output so far.
    rest: Vec<u8>,
}

impl ShellReader {
    /// Parses further output into pieces.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<PrintedPiece> {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let mut pieces = Vec::new();
        let mut shown = Vec::new();
        let mut left = bytes.as_slice();
        while let Some(at) = memmem::find(left, BEGINNING) {
            let (before, mark) = left.split_at(at);
            shown.extend_from_slice(before);
            let Some((body, after)) = ended(mark) else {
                if mark.len() <= MAX_MARK {
                    show(&mut pieces, &mut shown, true);
                    self.rest = mark.to_vec();
                    return pieces;
                }
                shown.extend_from_slice(BEGINNING);
                left = mark.get(BEGINNING.len()..).unwrap_or_default();
                continue;
            };
            match known(&String::from_utf8_lossy(body)) {
                Some(piece) => {
                    show(&mut pieces, &mut shown, true);
                    pieces.extend(piece);
                }
                None => {
                    shown.extend_from_slice(mark.get(..mark.len() - after.len()).unwrap_or(mark))
                }
            }
            left = after;
        }
        shown.extend_from_slice(left);
        // An escape character at the end may begin a mark, so it is buffered.
        let cut = shown.pop_if(|last| *last == b'\x1b');
        show(&mut pieces, &mut shown, cut.is_some());
        shown.extend(cut);
        self.rest = shown;
        pieces
    }

    /// Returns the buffered incomplete output at the end of the shell; `None` if there is none.
    pub(super) fn end(&mut self) -> Option<PrintedPiece> {
        let rest = std::mem::take(&mut self.rest);
        let text = String::from_utf8_lossy(&rest).into_owned();
        (!text.is_empty()).then_some(PrintedPiece::Text(text))
    }
}

/// Splits bytes into the body of a mark and the bytes after the mark; `None` if the mark is incomplete.
fn ended(mark: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = mark.get(BEGINNING.len()..)?;
    let bell = memchr::memchr(b'\x07', body).map(|at| (at, 1));
    let string = memmem::find(body, b"\x1b\\").map(|at| (at, 2));
    let (at, long) = bell.into_iter().chain(string).min()?;
    Some((body.get(..at)?, body.get(at + long..)?))
}

/// Parses the body of a mark. Returns `None` if the sequence is not a mark and has to be shown, and `Some(None)` if the
/// host ignores the mark.
fn known(body: &str) -> Option<Option<PrintedPiece>> {
    let (kind, said) = body.split_once(';').unwrap_or((body, ""));
    Some(match kind {
        "0" | "2" => Some(PrintedPiece::Title(said.to_owned())),
        "7" => Some(PrintedPiece::Folder(said.to_owned())),
        "133" | "633" => match said.split_once(';').unwrap_or((said, "")) {
            ("C", _) => Some(PrintedPiece::Began),
            ("D", code) => Some(PrintedPiece::Finished(code.parse().ok())),
            ("E", line) => Some(PrintedPiece::Line(line.to_owned())),
            _ => None,
        },
        _ => return None,
    })
}

/// Moves the text in `shown` to `pieces`. Unless `all` is set, leaves an incomplete character at the end of
/// `shown`.
fn show(pieces: &mut Vec<PrintedPiece>, shown: &mut Vec<u8>, all: bool) {
    let end = shown.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let cut = std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none());
    let kept = shown.split_off(shown.len() - if cut && !all { end.len() } else { 0 });
    let text = String::from_utf8_lossy(&std::mem::replace(shown, kept)).into_owned();
    if !text.is_empty() {
        pieces.push(PrintedPiece::Text(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "grüße 🙂\r\n\x1b]133;C\x07out\x1b[1mbold\x1b]8;;x\x1b\\link\x1b]133;D;3\x1b\\\
                           \x1b]7;file:///a\x07\x1b]633;E;ls -l; ls\x07\x1b]2;title\x07$ ";

    fn pieces(cuts: &[&[u8]]) -> Vec<PrintedPiece> {
        let mut reader = ShellReader::default();
        let mut all: Vec<PrintedPiece> = Vec::new();
        let mut read: Vec<PrintedPiece> = cuts.iter().flat_map(|cut| reader.read(cut)).collect();
        read.extend(reader.end());
        for piece in read {
            match (all.last_mut(), piece) {
                (Some(PrintedPiece::Text(before)), PrintedPiece::Text(text)) => {
                    before.push_str(&text)
                }
                (_, piece) => all.push(piece),
            }
        }
        all
    }

    #[test]
    fn output_is_the_same_wherever_a_read_ends() {
        let expected = [
            PrintedPiece::Text("grüße 🙂\r\n".to_owned()),
            PrintedPiece::Began,
            PrintedPiece::Text("out\x1b[1mbold\x1b]8;;x\x1b\\link".to_owned()),
            PrintedPiece::Finished(Some(3)),
            PrintedPiece::Folder("file:///a".to_owned()),
            PrintedPiece::Line("ls -l; ls".to_owned()),
            PrintedPiece::Title("title".to_owned()),
            PrintedPiece::Text("$ ".to_owned()),
        ];
        let bytes = PRINTED.as_bytes();
        assert_eq!(pieces(&[bytes]), expected);
        for at in 0..bytes.len() {
            let (before, after) = bytes.split_at(at);
            assert_eq!(pieces(&[before, after]), expected, "cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(pieces(&single), expected);
    }

    #[test]
    fn invalid_text_and_endless_sequences_are_shown_unchanged() {
        let mut reader = ShellReader::default();
        assert_eq!(reader.read(b"a\xffb"), [PrintedPiece::Text("a\u{fffd}b".to_owned())]);
        let endless = [BEGINNING, "x".repeat(MAX_MARK).as_bytes()].concat();
        let text = String::from_utf8(endless.clone()).unwrap();
        assert_eq!(reader.read(&endless), [PrintedPiece::Text(text)]);
        assert_eq!(reader.read(b"\x1b]133;C"), []);
        assert_eq!(reader.end(), Some(PrintedPiece::Text("\x1b]133;C".to_owned())));
    }
}

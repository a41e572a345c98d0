//! Real shells: what a terminal has done with the one behind it, and what is made of what that prints.
//!
//! Whoever moves the frames starts a shell on a pseudo-terminal, types into it, and brings back the bytes. A read may end
//! anywhere: characters and marks that are cut in two wait for the rest. Marks are what a shell says to editors about
//! itself (`OSC 133`, `633`, `7`) or to the window that it is in (`OSC 0`, `2`): they are told as actions, and are not shown.
//!
//! Knows: bytes, control sequences. Never knows: processes, connections.
//!
//! Start at [`ShellReader::read`].

use std::time::Duration;

use memchr::memmem;

/// Bytes of a mark; what is longer is none.
const MAX_MARK: usize = 4 << 10;
/// How an operating system command begins.
const BEGINNING: &[u8] = b"\x1b]";

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TerminalSize {
    /// Characters of a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> TerminalSize {
        TerminalSize { columns: 80, rows: 24 }
    }
}

/// Something to be done with the shell of a terminal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ShellDeed {
    /// Starts it, in this folder (a `file:` URI) if there is such a one.
    Start {
        /// Where.
        folder: Option<String>,
        /// How large the pseudo-terminal is.
        size: TerminalSize,
    },
    /// Types this.
    Type(String),
    /// From now on the pseudo-terminal is as large as this.
    Resize(TerminalSize),
    /// Ends it with everything that it has started; no further steps of it.
    End,
}

/// Something that happened to a shell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ShellEvent {
    /// It printed this.
    Printed(Vec<u8>),
    /// It has ended, with this code unless a signal ended it.
    Ended(Option<i64>),
}

/// A part of what was printed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum PrintedPiece {
    /// Text that is shown.
    Text(String),
    /// The line of the command that begins next.
    Line(String),
    /// A command begins.
    Began,
    /// It ended, with this code.
    Finished(Option<i64>),
    /// The shell is in this folder.
    Folder(String),
    /// The window has this title.
    Title(String),
}

/// What is known of a terminal's shell.
#[derive(Debug, Default)]
pub(super) struct TerminalShell {
    pub(super) reader: ShellReader,
    /// The line of the command that begins next.
    pub(super) line: String,
    /// The id of the command that runs, and when it began.
    pub(super) command: Option<(String, Duration)>,
}

/// Takes apart what a shell prints.
#[derive(Debug, Default)]
pub(super) struct ShellReader {
    /// What was cut off.
    rest: Vec<u8>,
}

impl ShellReader {
    /// Takes what was printed.
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
        // It may begin a mark.
        let cut = shown.pop_if(|last| *last == b'\x1b');
        show(&mut pieces, &mut shown, cut.is_some());
        shown.extend(cut);
        self.rest = shown;
        pieces
    }

    /// What was cut off and never went on.
    pub(super) fn end(&mut self) -> Option<PrintedPiece> {
        let rest = std::mem::take(&mut self.rest);
        let text = String::from_utf8_lossy(&rest).into_owned();
        (!text.is_empty()).then_some(PrintedPiece::Text(text))
    }
}

/// The body of a mark, and what follows it; `None` where its end has not come.
fn ended(mark: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = mark.get(BEGINNING.len()..)?;
    let bell = memchr::memchr(b'\x07', body).map(|at| (at, 1));
    let string = memmem::find(body, b"\x1b\\").map(|at| (at, 2));
    let (at, long) = bell.into_iter().chain(string).min()?;
    Some((body.get(..at)?, body.get(at + long..)?))
}

/// What a mark says; `None` where it is to be shown, an empty one where it says nothing to us.
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

/// Shows what can be shown, and keeps a character that was cut in two unless that is `all`.
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
    fn it_is_the_same_wherever_a_read_ends() {
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
    fn what_is_no_text_or_never_ends_is_shown_as_it_is() {
        let mut reader = ShellReader::default();
        assert_eq!(reader.read(b"a\xffb"), [PrintedPiece::Text("a\u{fffd}b".to_owned())]);
        let endless = [BEGINNING, "x".repeat(MAX_MARK).as_bytes()].concat();
        let text = String::from_utf8(endless.clone()).unwrap();
        assert_eq!(reader.read(&endless), [PrintedPiece::Text(text)]);
        assert_eq!(reader.read(b"\x1b]133;C"), []);
        assert_eq!(reader.end(), Some(PrintedPiece::Text("\x1b]133;C".to_owned())));
    }
}

//! The host's records of terminals: what the host knows about a terminal in addition to the terminal's state.
//!
//! Owns: the typed lines, the amounts of retained output, the shells. Knows: the parser of a shell's output. Never
//! knows: states, processes.
//!
//! Start at [`HostTerminals`].

use litemap::LiteMap;

use super::shell::{TerminalShell, TerminalSize};

/// The maximum number of terminals.
const MAX_TERMINALS: usize = 200;
/// The maximum number of bytes of output that a terminal retains.
const MAX_RETAINED: usize = 1 << 20;
/// The maximum length of a typed line in bytes; the rest is dropped.
const MAX_LINE: usize = 4 << 10;

/// The record of one terminal.
#[derive(Debug, Default)]
struct HostTerminal {
    /// The input since the last line end.
    line: String,
    /// The number of bytes of retained output.
    retained: usize,
    /// The size that the shell sees.
    size: TerminalSize,
    /// The real shell; `None` for a simulated shell.
    shell: Option<TerminalShell>,
}

/// The records of all terminals, by URI. A method does nothing, or returns an empty value, for a terminal without a
/// record.
#[derive(Debug, Default)]
pub(super) struct HostTerminals {
    all: LiteMap<String, HostTerminal>,
}

impl HostTerminals {
    /// Returns whether the host creates no further terminal.
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= MAX_TERMINALS
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        self.all.contains_key(uri)
    }

    /// Returns the URIs of all terminals.
    pub(super) fn uris(&self) -> impl Iterator<Item = &String> {
        self.all.keys()
    }

    /// Adds a terminal with a simulated shell.
    pub(super) fn add(&mut self, uri: &str, size: TerminalSize) {
        self.all.insert(uri.to_owned(), HostTerminal { size, ..HostTerminal::default() });
    }

    pub(super) fn remove(&mut self, uri: &str) {
        self.all.remove(uri);
    }

    /// Gives a terminal a real shell.
    pub(super) fn add_shell(&mut self, uri: &str) {
        if let Some(terminal) = self.all.get_mut(uri) {
            terminal.shell = Some(TerminalShell::default());
        }
    }

    /// Returns whether a terminal has a real shell.
    pub(super) fn has_shell(&self, uri: &str) -> bool {
        self.all.get(uri).is_some_and(|terminal| terminal.shell.is_some())
    }

    /// Returns the real shell of a terminal.
    pub(super) fn shell(&mut self, uri: &str) -> Option<&mut TerminalShell> {
        self.all.get_mut(uri)?.shell.as_mut()
    }

    /// Returns the size that the shell of a terminal sees.
    pub(super) fn size(&self, uri: &str) -> TerminalSize {
        self.all.get(uri).map(|terminal| terminal.size).unwrap_or_default()
    }

    pub(super) fn set_size(&mut self, uri: &str, size: TerminalSize) {
        if let Some(terminal) = self.all.get_mut(uri) {
            terminal.size = size;
        }
    }

    /// Adds typed text to the line of a terminal, and returns the lines that the text completes.
    pub(super) fn type_text(&mut self, uri: &str, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(terminal) = self.all.get_mut(uri) else {
            return lines;
        };
        for character in text.chars() {
            match character {
                '\r' | '\n' if terminal.line.is_empty() => {}
                '\r' | '\n' => lines.push(std::mem::take(&mut terminal.line)),
                other if terminal.line.len() < MAX_LINE => terminal.line.push(other),
                _ => {}
            }
        }
        lines
    }

    /// Adds to the retained output of a terminal. Returns whether the terminal has to be cleared first, because it
    /// cannot retain that much.
    pub(super) fn retain(&mut self, uri: &str, more: usize) -> bool {
        let Some(terminal) = self.all.get_mut(uri) else {
            return false;
        };
        terminal.retained += more;
        let full = terminal.retained > MAX_RETAINED;
        if full {
            terminal.retained = more;
        }
        full
    }
}

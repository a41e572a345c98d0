//! The only module that reads the clock and the environment and writes to the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::report::draw::DrawStyle;

use crate::report::github::WorkflowCommand;
use crate::wire::foreign_text::{self, LineBreaks, shown};

/// Returns the current Unix time.
pub(super) fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The environment of the process at its start, and its output.
#[derive(Clone, Debug)]
pub struct CliContext {
    /// The Unix time at which the process started.
    pub epoch: Duration,
    /// The seed of runs without `--seed`.
    pub seed: u64,
    /// The width of drawings, and whether they have colours.
    pub style: DrawStyle,
    /// Whether the process runs in GitHub Actions, which parses the output.
    pub github: bool,
    /// The file of the job summary in GitHub Actions.
    pub step_summary: Option<PathBuf>,
    /// The buffered output; `None` if this context prints at once. Several commands can run at the same time
    /// and print their output in turn.
    held: Option<Arc<Mutex<Vec<CliMessage>>>>,
}

/// A piece of output.
#[derive(Debug)]
enum CliMessage {
    Out(String),
    Command(WorkflowCommand),
    Error(String),
    Summary(String),
}

impl CliContext {
    /// Reads the environment.
    pub fn gather() -> CliContext {
        let epoch = wall_clock();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = !plain && std::io::stdout().is_terminal();
        // The seed is short enough to type. The seed is random, because several runs may start at the same
        // time, and identifiers are made from the seed.
        let seed = RandomState::new().hash_one(epoch) >> 32;
        let github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let step_summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| github);
        let step_summary = step_summary.map(PathBuf::from);
        CliContext { epoch, seed, style: DrawStyle { colour }, github, step_summary, held: None }
    }

    /// Returns a context that buffers its output.
    pub fn quiet(&self) -> CliContext {
        CliContext { held: Some(Arc::default()), ..self.clone() }
    }

    /// Prints the output that another context has buffered.
    pub fn say_kept(&self, other: &CliContext) {
        let Some(held) = &other.held else { return };
        for said in std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner)) {
            match said {
                CliMessage::Out(text) => self.say(&text),
                CliMessage::Command(command) => self.command(&command),
                CliMessage::Error(text) => self.error(&text),
                CliMessage::Summary(text) => self.summarise(&text),
            }
        }
    }

    /// Returns the buffered lines of standard error.
    #[cfg(test)]
    pub fn buffered_errors(&self) -> Vec<String> {
        let Some(held) = &self.held else { return Vec::new() };
        let held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter()
            .filter_map(|said| match said {
                CliMessage::Error(text) => Some(text.clone()),
                _ => None,
            })
            .collect()
    }

    /// If this context buffers its output, adds the result of `said` to the buffer. Returns whether this context
    /// buffers its output.
    fn keeps(&self, said: impl FnOnce() -> CliMessage) -> bool {
        if let Some(held) = &self.held {
            held.lock().unwrap_or_else(PoisonError::into_inner).push(said());
        }
        self.held.is_some()
    }

    /// Appends to the job summary, if the process has one.
    pub fn summarise(&self, text: &str) {
        let Some(path) = &self.step_summary else { return };
        if self.keeps(|| CliMessage::Summary(text.to_owned())) {
            return;
        }
        let file = std::fs::File::options().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            self.error(&format!("note: the summary of the step could not be written: {error}\n"));
        }
    }

    /// Prints text on standard output. Removes all control sequences except the harness's own colours. A closed
    /// pipe is not an error.
    pub fn say(&self, text: &str) {
        if self.keeps(|| CliMessage::Out(text.to_owned())) {
            return;
        }
        out(&self.visible(text));
    }

    /// Prints JSON and escapes control characters, so the output remains valid JSON.
    pub fn say_json(&self, text: &str) {
        self.say(&format!("{}\n", foreign_text::json(text)));
    }

    /// Sends a workflow command to GitHub Actions.
    pub fn command(&self, command: &WorkflowCommand) {
        if !self.keeps(|| CliMessage::Command(command.clone())) {
            out(command.line());
        }
    }

    /// Makes text safe for the terminal or the log.
    fn visible<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.style.colour { with_colours(text) } else { shown(text, LineBreaks::Kept) }
    }

    /// Returns whether [`CliContext::progress`] shows anything, which is the case if standard error is a
    /// terminal.
    pub fn shows_progress(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Shows the progress of a long run on one line, which each call overwrites. An empty string clears the line.
    pub fn progress(&self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.is_terminal() {
            let _ = write!(err, "\r\u{1b}[K{}", shown(text, LineBreaks::Shown));
            let _ = err.flush();
        }
    }

    /// Prints text on standard error.
    pub fn error(&self, text: &str) {
        if self.keeps(|| CliMessage::Error(text.to_owned())) {
            return;
        }
        let _ = std::io::stderr().lock().write_all(self.visible(text).as_bytes());
    }
}

fn out(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Keeps the colours of a text and removes all other control sequences. Text from outside no longer has
/// colours, because [`ForeignText`](crate::wire::foreign_text::ForeignText) removes them.
fn with_colours(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default();
    let mut out = shown(first, LineBreaks::Kept);
    for piece in pieces {
        let end = piece.find(|letter: char| !(letter.is_ascii_digit() || letter == ';'));
        let (colour, rest) = piece.split_at(end.unwrap_or(piece.len()));
        let rest = match rest.strip_prefix('m') {
            Some(rest) => {
                let _ = write!(out.to_mut(), "\u{1b}[{colour}m");
                rest
            }
            None => {
                out.to_mut().push_str("\\u{1b}[");
                piece
            }
        };
        out.to_mut().push_str(&shown(rest, LineBreaks::Kept));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escape_sequences_of_colours_pass() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}]0;t\u{7}\u{1b}[31";
        let expected = "\u{1b}[1;31mred\u{1b}[0m \\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}[31";
        assert_eq!(with_colours(text), expected);
        assert_eq!(with_colours("plain"), "plain");
    }
}

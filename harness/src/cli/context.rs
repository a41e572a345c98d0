//! The one place that reads the clock, the terminal and the environment.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::report::draw::DrawStyle;

use crate::report::github::WorkflowCommand;
use crate::wire::foreign_text::{LineBreaks, shown};

/// The wall clock now, since 1970.
pub(super) fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What the world is like at the start.
#[derive(Clone, Debug)]
pub struct CliContext {
    /// The wall clock, since 1970.
    pub epoch: Duration,
    /// A seed for runs that were given none.
    pub seed: u64,
    /// How things are drawn.
    pub style: DrawStyle,
    /// Whether GitHub runs us, and reads what we say.
    pub github: bool,
    /// Where GitHub takes the summary of a step.
    pub step_summary: Option<PathBuf>,
    /// What is said is kept here until its turn comes, where several things are done at once.
    held: Option<Arc<Mutex<Vec<CliMessage>>>>,
}

/// Something that was said.
#[derive(Debug)]
enum CliMessage {
    Out(String),
    Command(WorkflowCommand),
    Error(String),
    Summary(String),
}

impl CliContext {
    /// Looks once.
    pub fn gather() -> CliContext {
        let epoch = wall_clock();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = !plain && std::io::stdout().is_terminal();
        // Short enough to type, different from run to run.
        let seed = (epoch.as_micros() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let step_summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| github);
        let step_summary = step_summary.map(PathBuf::from);
        CliContext { epoch, seed, style: DrawStyle { colour }, github, step_summary, held: None }
    }

    /// The same, but for what is said: that is kept.
    pub fn quiet(&self) -> CliContext {
        CliContext { held: Some(Arc::default()), ..self.clone() }
    }

    /// Says what another one has kept.
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

    /// Whether it is kept for later.
    fn keeps(&self, said: impl FnOnce() -> CliMessage) -> bool {
        if let Some(held) = &self.held {
            held.lock().unwrap_or_else(PoisonError::into_inner).push(said());
        }
        self.held.is_some()
    }

    /// Adds to the summary of the step, where GitHub takes one.
    pub fn summarise(&self, text: &str) {
        let Some(path) = &self.step_summary else { return };
        if self.keeps(|| CliMessage::Summary(text.to_owned())) {
            return;
        }
        let file = std::fs::File::options().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            self.error(&format!("note: no summary of the step: {error}\n"));
        }
    }

    /// Says something on the standard output, without anything that acts on the terminal or on a CI service but our own
    /// colours. A reader that has gone away is no error.
    pub fn say(&self, text: &str) {
        if self.keeps(|| CliMessage::Out(text.to_owned())) {
            return;
        }
        out(&self.visible(text));
    }

    /// Has GitHub do something.
    pub fn command(&self, command: &WorkflowCommand) {
        if !self.keeps(|| CliMessage::Command(command.clone())) {
            out(command.line());
        }
    }

    /// The text as a terminal or a log may have it.
    fn visible<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.style.colour { with_colours(text) } else { shown(text, LineBreaks::Kept) }
    }

    /// Whether somebody looks at [`CliContext::progress`].
    pub fn shows_progress(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Shows where a long run has come to, on a line that is written over; nothing where nobody
    /// looks. An empty text clears the line.
    pub fn progress(&self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.is_terminal() {
            let _ = write!(err, "\r\u{1b}[K{}", shown(text, LineBreaks::Shown));
            let _ = err.flush();
        }
    }

    /// Says something on the standard error.
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

/// A text with its colours, and with nothing else that acts on a terminal. What came from outside has lost its colours
/// before it got here ([`ForeignText`](crate::wire::foreign_text::ForeignText)).
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
    fn only_colours_pass() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}]0;t\u{7}\u{1b}[31";
        let expected = "\u{1b}[1;31mred\u{1b}[0m \\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}[31";
        assert_eq!(with_colours(text), expected);
        assert_eq!(with_colours("plain"), "plain");
    }
}

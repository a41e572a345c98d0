//! The one place that reads the clock, the terminal and the environment.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::report::draw::Style;

/// What the world is like at the start.
#[derive(Clone, Debug)]
pub struct Context {
    /// The wall clock, since 1970.
    pub epoch: Duration,
    /// A seed for runs that were given none.
    pub seed: u64,
    /// How things are drawn.
    pub style: Style,
    /// Whether GitHub runs us, and reads what we say.
    pub github: bool,
    /// Where GitHub takes the summary of a step.
    pub step_summary: Option<PathBuf>,
}

impl Context {
    /// Looks once.
    pub fn gather() -> Context {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = !plain && std::io::stdout().is_terminal();
        // Short enough to type, different from run to run.
        let seed = (epoch.as_micros() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let step_summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| github);
        let step_summary = step_summary.map(PathBuf::from);
        Context { epoch, seed, style: Style { colour }, github, step_summary }
    }

    /// Says something on the standard output. A reader that has gone away is no error.
    pub fn say(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }

    /// Shows where a long run has come to, on a line that is written over; nothing where nobody
    /// looks. An empty text clears the line.
    pub fn progress(&self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.is_terminal() {
            let _ = write!(err, "\r\u{1b}[K{text}");
            let _ = err.flush();
        }
    }

    /// Says something on the standard error.
    pub fn error(&self, text: &str) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

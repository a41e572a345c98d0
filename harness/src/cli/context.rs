//! The one place that reads the clock, the terminal and the environment.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::report::draw::Style;

/// The wall clock now, since 1970.
pub(super) fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

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
    /// What is said is kept here until its turn comes, where several things are done at once.
    held: Option<Arc<Mutex<Vec<Said>>>>,
}

/// Something that was said.
#[derive(Debug)]
enum Said {
    Out(String),
    Error(String),
    Summary(String),
}

impl Context {
    /// Looks once.
    pub fn gather() -> Context {
        let epoch = wall_clock();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = !plain && std::io::stdout().is_terminal();
        // Short enough to type, different from run to run.
        let seed = (epoch.as_micros() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let step_summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| github);
        let step_summary = step_summary.map(PathBuf::from);
        Context { epoch, seed, style: Style { colour }, github, step_summary, held: None }
    }

    /// The same, but for what is said: that is kept.
    pub fn quiet(&self) -> Context {
        Context { held: Some(Arc::default()), ..self.clone() }
    }

    /// Says what another one has kept.
    pub fn say_kept(&self, other: &Context) {
        let Some(held) = &other.held else { return };
        for said in std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner)) {
            match said {
                Said::Out(text) => self.say(&text),
                Said::Error(text) => self.error(&text),
                Said::Summary(text) => self.summarise(&text),
            }
        }
    }

    /// Whether it is kept for later.
    fn keeps(&self, said: impl FnOnce() -> Said) -> bool {
        if let Some(held) = &self.held {
            held.lock().unwrap_or_else(PoisonError::into_inner).push(said());
        }
        self.held.is_some()
    }

    /// Adds to the summary of the step, where GitHub takes one.
    pub fn summarise(&self, text: &str) {
        let Some(path) = &self.step_summary else { return };
        if self.keeps(|| Said::Summary(text.to_owned())) {
            return;
        }
        let file = std::fs::File::options().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            self.error(&format!("note: no summary of the step: {error}\n"));
        }
    }

    /// Says something on the standard output. A reader that has gone away is no error.
    pub fn say(&self, text: &str) {
        if self.keeps(|| Said::Out(text.to_owned())) {
            return;
        }
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
        if self.keeps(|| Said::Error(text.to_owned())) {
            return;
        }
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

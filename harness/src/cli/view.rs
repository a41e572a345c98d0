//! `ahp-harness view`: shows a run, capture or log as a page for a browser.

use std::io::BufRead as _;
use std::path::PathBuf;

use clap::Args;

use crate::report::conversation::DrawnConversation;
use crate::report::html::viewer::viewer;
use crate::report::judge_logs::judge_logs;
use crate::report::replay;
use crate::verdict::FailOn;

use super::captures::{self, CaptureInput};
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};

/// The maximum number of messages that a page shows.
const MAX_ROWS: usize = 20_000;
/// The maximum number of bytes of a frame that a page shows.
const FRAME: usize = 1_500;

/// Makes a page of a run.jsonl, a capture or connection logs: a lane for each client, the host and the agent,
/// filters, and the findings.
#[derive(Args, Debug)]
pub struct ViewArguments {
    /// The file; several files or a folder if they are connection logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file for the page
    #[arg(long, value_name = "FILE", default_value = "view.html")]
    out: PathBuf,
}

impl ViewArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let wrong = |name: &str, error: String| CommandStop::usage(format!("{name}: {error}"));
        let (name, conversation, judged, left_out) = match captures::open(&self.files)? {
            CaptureInput::Capture(name, input) => {
                let mut lines = Vec::new();
                let mut left_out = 0;
                for (number, line) in (1..).zip(input.lines()) {
                    let line = line.map_err(|error| wrong(&name, error.to_string()))?;
                    match lines.len() < MAX_ROWS {
                        true => lines.push((number, line)),
                        false => left_out += 1,
                    }
                }
                let CaptureInput::Capture(_, again) = captures::open(&self.files)? else {
                    return Err(wrong(&name, "it changed while it was read".to_owned()));
                };
                let judged = replay::judge(again, None, FailOn::default())
                    .map_err(|error| wrong(&name, error.to_string()))?;
                let lines = lines.iter().map(|(number, text)| (*number, text.as_str()));
                (name, DrawnConversation::of(lines), judged, left_out)
            }
            CaptureInput::Logs(logs) => {
                let lines = logs.as_capture();
                let left_out = lines.len().saturating_sub(MAX_ROWS) as u64;
                let conversation = DrawnConversation::of_lines(lines.into_iter().take(MAX_ROWS));
                let judged = judge_logs(&logs, None, FailOn::default());
                (format!("{} logs", logs.files.len()), conversation, judged, left_out)
            }
        };
        let rows = conversation.all(FRAME);
        std::fs::write(&self.out, viewer(&name, &rows, &judged, left_out))
            .map_err(|error| wrong(&self.out.display().to_string(), error.to_string()))?;
        context.say(&format!("{} lines of {name}: {}\n", rows.len(), self.out.display()));
        Ok(CommandExit::Ok)
    }
}

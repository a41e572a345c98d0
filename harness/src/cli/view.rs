//! `ahp-harness view`: shows a run, capture or log as a page for a browser.

use std::path::PathBuf;

use clap::Args;

use crate::report::conversation::DrawnConversation;
use crate::report::html::viewer::viewer;
use crate::report::judge_logs::judge_logs;
use crate::report::replay;
use crate::report::viewed::{ViewReading, ViewedScenario};
use crate::transcript::reader::TranscriptReader;
use crate::verdict::FailOn;

use super::captures::{self, CaptureInput};
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;

/// The maximum number of messages that a page shows.
const MAX_ROWS: usize = 20_000;

/// Makes an HTML page from a run.jsonl, a capture or connection logs. The page has a lane for each client, the host and
/// the agent, and shows the findings; filters select messages.
#[derive(Args, Debug)]
pub struct ViewArguments {
    /// The run.jsonl or capture; for connection logs, the files or their folder
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show only this scenario of a run
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// The file for the page
    #[arg(long, value_name = "FILE", default_value = "view.html")]
    out: PathBuf,
}

impl ViewArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let wrong = |name: &str, error: String| CommandStop::usage(format!("{name}: {error}"));
        let (name, mut scenarios, judged, left_out) = match captures::open(&self.files)? {
            CaptureInput::Capture(name, input) => {
                let mut reading = ViewReading::new(self.case.as_deref(), MAX_ROWS);
                let mut reader = TranscriptReader::new(input);
                // A line that cannot be read is reported by the judgement below.
                while let Ok(Some((number, line))) = reader.next_line() {
                    reading.line(number, line);
                }
                let CaptureInput::Capture(_, again) = captures::open(&self.files)? else {
                    return Err(wrong(&name, "it changed while it was read".to_owned()));
                };
                let judged = replay::judge(again, None, FailOn::default())
                    .map_err(|error| wrong(&name, error.to_string()))?;
                let left_out = reading.left_out;
                (name, reading.finish(), judged, left_out)
            }
            CaptureInput::Logs(logs) => {
                let lines = logs.as_capture();
                let left_out = lines.len().saturating_sub(MAX_ROWS) as u64;
                let conversation = DrawnConversation::of_lines(lines.into_iter().take(MAX_ROWS));
                let judged = judge_logs(&logs, None, FailOn::default());
                let name = format!("{} logs", logs.files.len());
                (name, vec![ViewedScenario::of_capture(conversation)], judged, left_out)
            }
        };
        if let Some(case) =
            self.case.as_ref().filter(|_| scenarios.iter().all(|it| it.rows.is_empty()))
        {
            return Err(wrong(&name, format!("it has no messages of a scenario `{case}`")));
        }
        scenarios.iter_mut().for_each(|it| it.mark(&judged));
        files::write(&self.out, viewer(&name, &scenarios, &judged, left_out))?;
        let lines: usize = scenarios.iter().map(|it| it.rows.len()).sum();
        context.say(&format!("{lines} lines of {name}: {}\n", self.out.display()));
        Ok(CommandExit::Ok)
    }
}

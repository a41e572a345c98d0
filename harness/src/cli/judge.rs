//! `ahp-harness judge`: the same verdicts again, from a file.

use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;

use crate::report::console::Console;
use crate::report::replay;
use crate::verdict::Status;
use crate::wire::version::Version;

use super::context::Context;
use super::exit::{Code, Outcome, Stop};
use super::reduce::published;

/// Judges a recorded conversation.
///
/// A run.jsonl comes to the same verdicts as the run that wrote it. A capture from elsewhere, one
/// JSON object a line with t, conn, dir and msg or raw, is held against the always-on checks.
#[derive(Args, Debug)]
pub struct Judge {
    /// The file
    file: PathBuf,
    /// The protocol version of connections whose handshake the capture does not show
    #[arg(long, value_name = "VERSION", value_parser = published)]
    assume: Option<Version>,
    /// Count broken SHOULD rules as failures
    #[arg(long)]
    strict: bool,
}

impl Judge {
    pub(super) fn main(self, context: &Context) -> Outcome {
        let name = self.file.display().to_string();
        let file = std::fs::File::open(&self.file)
            .map_err(|error| Stop::usage(format!("`{name}` could not be read: {error}")))?;
        let judged = replay::judge(BufReader::new(file), self.assume, self.strict)
            .map_err(|error| Stop::usage(format!("{name}:{error}")))?;
        let console = Console::new(context.style, Some(name));
        for case in &judged.cases {
            context.say(&console.progress(case));
        }
        for case in &judged.cases {
            if !matches!(case.status, Status::Pass | Status::Skip | Status::Known) {
                context.say(&console.failure(case));
            }
        }
        context.say(&console.findings(&judged.summary));
        for note in &judged.notes {
            context.say(&format!("note: {note}\n"));
        }
        context.say(&format!("\n{}", console.summary(&judged.summary, judged.took)));
        if !judged.differences.is_empty() {
            let differences = judged.differences.join("\n");
            return Err(Stop::fault(format!("the file's verdicts are not these:\n{differences}")));
        }
        Ok(if judged.summary.failed() { Code::Failed } else { Code::Ok })
    }
}

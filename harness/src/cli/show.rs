//! `ahp-harness show`: shows the conversation of a scenario on the terminal.

use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;

use crate::report::conversation::{ConversationLine, LineRole, ProofLine};
use crate::report::drawing::{self, FrameDetail};
use crate::report::event::CaseReport;
use crate::report::finished::{self, proofs};
use crate::report::summary::OWN_FRAMES;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;

/// The maximum number of bytes that are shown of a frame: the first value with `--all`, the second value without it.
const WHOLE: usize = 300_000;
const SHORT: usize = 3_000;

/// Shows the messages of a scenario of a run, and marks those that prove the findings.
///
/// Each row has the line number in the file, the time, and the message in the column of its client. `!` marks a message
/// that proves a finding, and `>` marks a message that led to it. Long sequences of other messages are left out, unless
/// `--all` is given.
#[derive(Args, Debug)]
pub struct ShowArguments {
    /// The run.jsonl of a run
    file: PathBuf,
    /// The id of the scenario
    #[arg(long, value_name = "ID")]
    case: String,
    /// Show only the messages between this client and the host
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Show every message, with its frame
    #[arg(long)]
    all: bool,
}

impl ShowArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let name = self.file.display();
        let input = files::open(&self.file)?;
        let found = finished::one(BufReader::new(input), &self.case)
            .map_err(|error| CommandStop::usage(format!("{name}: {error}")))?;
        let Some((report, conversation)) = found else {
            return Err(CommandStop::usage(format!("`{name}` has no scenario `{}`", self.case)));
        };
        let proofs = proofs(&report);
        let mut rows = conversation.marked(&proofs, if self.all { WHOLE } else { SHORT });
        if let Some(client) = &self.client {
            rows.retain(|row| row.client == *client);
        }
        let proven = rows.iter().any(|row: &ConversationLine| row.role != LineRole::Beside);
        let detail = match proven {
            _ if self.all => FrameDetail::All,
            true => FrameDetail::Proofs,
            // Without proving messages, no message is more important than another one.
            false => FrameDetail::Summaries,
        };
        context.say(&findings(&report, &proofs));
        context.say(&drawing::text(&rows, detail, context.style));
        if !proven {
            context.say(
                "no message of this scenario proves a finding (hint: `--all` shows the frames)\n",
            );
        }
        Ok(CommandExit::Ok)
    }
}

/// Describes the findings of the scenario.
fn findings(report: &CaseReport, proofs: &[ProofLine]) -> String {
    let mut out = format!("{} {}: {}\n", report.status.word(), report.scenario, report.title);
    for failure in report.failures() {
        out.push_str(&format!("  {}\n    {:?}\n", failure.message.lines(), failure.transcript));
    }
    for line in report.checks.iter().filter(|line| line.check != OWN_FRAMES) {
        for finding in &line.findings {
            let proven =
                finding.transcript.iter().any(|it| proofs.iter().any(|proof| proof.line == *it));
            if proven {
                let lines = &finding.transcript;
                out.push_str(&format!(
                    "  {}: {}\n    {lines:?}\n",
                    line.check,
                    finding.message.lines()
                ));
            }
        }
    }
    out.push('\n');
    out
}

//! `ahp-harness scenario`: makes scenarios from recorded conversations.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::record::convert;
use crate::transcript::line::TranscriptLine;
use crate::transcript::reader::TranscriptReader;

use super::captures::{self, CaptureInput};
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;

/// Makes scenarios.
#[derive(Args, Debug)]
pub struct ScenarioArguments {
    #[command(subcommand)]
    from: CaptureSource,
}

#[derive(Debug, Subcommand)]
enum CaptureSource {
    /// Make a scenario from a recorded conversation
    From(FromCapture),
}

/// Makes a scenario from a recorded conversation.
///
/// Messages of clients become steps, and messages of the host become expectations. Ids of clients, sessions, chats,
/// turns and tool calls become names, so that the scenario can be played again.
#[derive(Args, Debug)]
struct FromCapture {
    /// The run.jsonl or capture; for connection logs, the files or their folder
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// The file for the scenario [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Use the scenario with this number in a run.jsonl
    #[arg(long, value_name = "NUMBER")]
    case: Option<u32>,
}

impl ScenarioArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let CaptureSource::From(from) = self.from;
        from.main(context)
    }
}

impl FromCapture {
    fn main(self, context: &CliContext) -> CommandOutcome {
        let (name, lines) = match captures::open(&self.captures)? {
            CaptureInput::Capture(name, input) => {
                let lines = self.lines(context, &name, input)?;
                (name, lines)
            }
            CaptureInput::Logs(logs) => {
                for note in &logs.notes {
                    context.error(&format!("note: {note}\n"));
                }
                ("the logs".to_owned(), logs.as_capture())
            }
        };
        let id = self.id();
        let made = convert::scenario(&id, lines)
            .map_err(|error| CommandStop::usage(format!("{name}: {error}")))?;
        match &self.out {
            Some(path) => files::write(path, &made.text)?,
            None => context.say(&made.text),
        }
        for note in &made.notes {
            context.error(&format!("note: {note}\n"));
        }
        Ok(CommandExit::Ok)
    }

    fn lines(
        &self,
        context: &CliContext,
        name: &str,
        input: impl BufRead,
    ) -> Result<Vec<(u64, TranscriptLine)>, CommandStop> {
        let mut reader = TranscriptReader::new(input);
        let mut lines = Vec::new();
        let (mut cases, mut bytes) = (false, 0);
        loop {
            match reader.next_event() {
                Ok(Some((number, line))) => {
                    cases |= line.case.is_some();
                    if line.case == self.case && lines.len() <= convert::MAX_EVENTS {
                        let line = (number, line);
                        bytes += convert::bytes([&line]);
                        lines.push(line);
                    }
                    if bytes > convert::MAX_BYTES {
                        // The conversation is already too long for a scenario, so the rest is not read.
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) if lines.is_empty() => {
                    return Err(CommandStop::usage(format!("{name}:{error}")));
                }
                Err(error) => {
                    context.error(&format!(
                        "note: {name}:{error}; the scenario is made from the lines before it\n"
                    ));
                    break;
                }
            }
        }
        if lines.is_empty() && cases {
            return Err(CommandStop::usage(format!(
                "{name} is a run of scenarios (hint: `--case 0` takes the first of them)"
            )));
        }
        Ok(lines)
    }

    /// Returns the id of the scenario: the last two parts of the path of its file, or the only part. `check` requires
    /// an id that is the end of the path.
    fn id(&self) -> String {
        let first = self.captures.first().map_or(Path::new(""), PathBuf::as_path);
        let path = self.out.as_deref().unwrap_or(first);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = path.parent().and_then(Path::file_name);
        match (&self.out, folder) {
            (Some(_), Some(folder)) => format!("{}/{stem}", folder.to_string_lossy()),
            (Some(_), None) => stem.into_owned(),
            (None, _) => format!("recorded/{stem}"),
        }
    }
}

//! `ahp-harness judge`: judges a recorded conversation.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use crate::report::cause::CauseFold;
use crate::report::console::{ConsoleDetail, ConsoleReport, TranscriptPlace};
use crate::report::first::as_json;
use crate::report::jsonl::RunWriter;
use crate::report::judge_logs::judge_logs_of;
use crate::report::junit::JunitReport;
use crate::report::redact::SecretRedactor;
use crate::report::replay::{self, JudgedFile};
use crate::report::rule_quotes::RuleQuotes;
use crate::transcript::logs::LogFile;
use crate::verdict::Status;
use crate::wire::version::Version;

use super::captures::{self, CaptureInput};
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::options::{self, FailureThreshold, ReportOption, SubjectOption};
use super::reduce::published;

/// Judges a recorded conversation.
///
/// A run.jsonl gets the same verdicts as in the run that wrote it. A capture from elsewhere is judged by the always-on
/// checks. It has one JSON object per line, with t, conn, dir, and msg or raw. If the first line has the direction c2a
/// or a2c, the checks for agents are used.
///
/// `--of clients` judges what the clients of an AHP host have sent, with a separate set of checks (`clients.*`).
///
/// Connection logs of VS Code and other AHP software (lines with `_ahpLog`) are judged together: give all files, or
/// their folder. Rules that depend on the order of messages of different connections within one millisecond are not
/// judged.
#[derive(Args, Debug)]
pub struct JudgeArguments {
    /// The run.jsonl or capture; for connection logs, the files or their folder
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The protocol version of connections whose handshake is not in the capture; `acp-1` for connections to agents
    #[arg(long, value_name = "VERSION", value_parser = assumed)]
    assume: Option<Version>,
    #[command(flatten)]
    subject: SubjectOption,
    #[command(flatten)]
    threshold: FailureThreshold,
    /// How much to print: brief (failures by cause), full (everything), json (one JSON object)
    #[arg(long, value_name = "FORMAT", value_parser = options::format, default_value = "brief", help_heading = "Judging")]
    format: ConsoleDetail,
    /// Write a report, KIND=FILE; the kinds are junit and jsonl (repeatable)
    #[arg(long, value_name = "KIND=FILE", value_parser = options::report)]
    report: Vec<ReportOption>,
}

impl JudgeArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let fail_on = self.threshold.fail_on();
        let subject = self.subject.subject().map_err(CommandStop::usage)?;
        let (judged, kept) = match captures::open(&self.files)? {
            CaptureInput::Capture(name, input) => {
                let judged = replay::judge_subject(input, self.assume, fail_on, &subject)
                    .map_err(|error| CommandStop::usage(format!("{name}:{error}")))?;
                (judged, TranscriptPlace::File(name))
            }
            CaptureInput::Logs(logs) => {
                let judged = judge_logs_of(&logs, self.assume, fail_on, &subject);
                (judged, TranscriptPlace::Logs(Arc::from(logs)))
            }
        };
        let quotes = judged.version.map_or_else(RuleQuotes::newest, RuleQuotes::of);
        let console = ConsoleReport::new(context.style, kept.clone(), quotes)
            .with_format(self.format, judged.cases.len());
        if self.format != ConsoleDetail::Json {
            context.say(&self.as_text(&console, &judged));
        }
        self.reports(&judged, &kept)?;
        if !judged.differences.is_empty() {
            let differences = judged.differences.join("\n");
            return Err(CommandStop::fault(format!(
                "the verdicts in the file differ from these:\n{differences}"
            )));
        }
        let nothing = judged.nothing();
        if let Some(reason) = &nothing {
            context.error(&format!("nothing could be judged: {reason}\n"));
        }
        let code = match (judged.summary.failed(), judged.broken) {
            (true, _) => CommandExit::Failed,
            (false, true) => CommandExit::Usage,
            (false, false) if nothing.is_some() => CommandExit::Failed,
            (false, false) => CommandExit::Ok,
        };
        if self.format == ConsoleDetail::Json {
            context.say_json(&format!("{:#}", as_value(&judged, code)));
        }
        Ok(code)
    }

    /// Returns the result as text.
    fn as_text(&self, console: &ConsoleReport, judged: &JudgedFile) -> String {
        let mut out = String::new();
        for case in judged.cases.iter().filter(|case| console.tells(case.status)) {
            out.push_str(&console.progress(case));
        }
        let held = |status| matches!(status, Status::Pass | Status::Skip | Status::Known);
        let failed = judged.cases.iter().filter(|case| !held(case.status));
        match &judged.header {
            Some(header) if self.format == ConsoleDetail::Brief => {
                let drawings = failed.map(|case| (case.case, console.failure(case))).collect();
                let causes = CauseFold::of(&judged.cases);
                out.push_str(&console.causes(&causes, header, &drawings));
            }
            _ => {
                failed.for_each(|case| out.push_str(&console.failure(case)));
                out.push_str(&console.findings(&judged.summary));
            }
        }
        for note in &judged.notes {
            let _ = writeln!(out, "note: {note}");
        }
        let summary = match judged.cases.is_empty() {
            true => format!(
                "{} connections, {} messages over {:.2} s\n{}",
                judged.connections,
                judged.messages,
                judged.took.as_secs_f64(),
                console.checks(&judged.summary)
            ),
            false => console.summary(&judged.summary, judged.took),
        };
        let _ = write!(out, "\n{summary}");
        out
    }

    fn reports(&self, judged: &JudgedFile, kept: &TranscriptPlace) -> Result<(), CommandStop> {
        for report in &self.report {
            let (ReportOption::Junit(path) | ReportOption::Jsonl(path)) = report;
            let wrong = |error: String| {
                CommandStop::usage(format!("`{}` could not be written: {error}", path.display()))
            };
            let mut file = files::create(path)?;
            match report {
                ReportOption::Junit(_) => {
                    let mut junit = JunitReport::default();
                    judged.cases.iter().for_each(|case| junit.add(case));
                    junit.write(&judged.summary, &[], &mut file).map_err(wrong)?;
                }
                ReportOption::Jsonl(_) => {
                    let writer = RunWriter::new(Box::new(file), SecretRedactor::default());
                    judged.cases.iter().for_each(|case| writer.about("result", case));
                    let mut footer = json!({
                        "scenarios": judged.summary.counts,
                        "checks": judged.summary.checks,
                        "notes": judged.notes,
                    });
                    if let TranscriptPlace::Logs(logs) = kept {
                        // Line numbers continue from one file to the next.
                        let place =
                            |file: &LogFile| json!({"file": file.name, "before": file.before});
                        footer["files"] = logs.files.iter().map(place).collect();
                    }
                    writer.about("footer", &footer);
                    writer.finish().map_err(|error| wrong(error.to_string()))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the result as JSON in the form of a run, with the checks, the size of the capture and the notes.
fn as_value(judged: &JudgedFile, code: CommandExit) -> Value {
    let causes = CauseFold::of(&judged.cases);
    let header = judged.header.clone().unwrap_or_default();
    let mut value = as_json(&causes, &header, &judged.summary, code as u8);
    if judged.header.is_none() {
        value["version"] = json!(judged.version.map(|version| version.to_string()));
        for of_run in ["harness", "target", "host", "seed"] {
            value[of_run] = Value::Null;
        }
    }
    value["checks"] = json!(judged.summary.checks);
    value["connections"] = json!(judged.connections);
    value["messages"] = json!(judged.messages);
    value["notes"] = json!(judged.notes);
    value
}

/// Parses a published version of AHP or ACP.
fn assumed(text: &str) -> Result<Version, String> {
    match text.parse() {
        Ok(Version::ACP_1) => Ok(Version::ACP_1),
        _ => published(text),
    }
}

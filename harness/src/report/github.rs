//! Output for GitHub Actions: an annotation for each failure, and a summary of the workflow step.
//!
//! Start at [`annotations`].

use std::fmt::Write as _;

use crate::verdict::Status;
use crate::wire::foreign_text::{LineBreaks, markdown, shown};

use super::cause::{CauseFold, FailureCause};
use super::command;
use super::event::RunHeader;
use super::first::{is_to_mend, name};
use super::redact::SecretRedactor;
use super::summary::{RunSummary, word};

/// The maximum number of causes in the summary.
const LISTED: usize = 50;

/// Returns GitHub's level for a status; `None` if the status needs no annotation.
fn level(status: Status) -> Option<&'static str> {
    match status {
        Status::Fail | Status::Error | Status::Untested => Some("error"),
        Status::Warn => Some("warning"),
        _ => None,
    }
}

/// A line that GitHub interprets as a command. [`crate::wire::foreign_text`] ensures that no other output of
/// the harness is such a line.
#[derive(Clone, Debug)]
pub struct WorkflowCommand(String);

impl WorkflowCommand {
    /// Returns the command without secrets.
    pub fn redacted(&self, redactor: &SecretRedactor) -> WorkflowCommand {
        WorkflowCommand(redactor.text(&self.0).into_owned())
    }

    /// Returns the line, including the line break.
    pub fn line(&self) -> &str {
        &self.0
    }

    /// Makes an annotation. `properties` must already be escaped; `message` may be any string.
    fn new(level: &str, properties: &str, message: &str) -> WorkflowCommand {
        // Redaction adds no line break, so the command remains on one line.
        WorkflowCommand(format!("::{level} {properties}::{}\n", data(message)))
    }
}

/// The number of annotations that GitHub shows per step.
const SHOWN: usize = 10;

/// Returns the annotations for the worst causes and for stale entries of the baseline. `own` says whether the scenarios
/// are the user's files; an annotation can refer only to such files.
pub fn annotations(
    causes: &CauseFold,
    header: &RunHeader,
    stale: &[String],
    own: bool,
) -> Vec<WorkflowCommand> {
    let stale = stale.iter().map(|line| WorkflowCommand::new("error", "title=baseline", line));
    let of_cause = |cause: &FailureCause<'_>| {
        let (breach, place) = cause.worst().zip(cause.shown())?;
        let level = level(cause.status())?;
        let mut properties = String::new();
        if own && place.line > 0 {
            properties = format!("file={},line={},", property(&place.file), place.line);
        }
        let title = format!("{} {} ({})", cause.status().word(), name(cause), word(breach.weight));
        properties.push_str(&format!("title={}", property(&title)));
        let scenarios = cause.scenarios().len();
        let message = format!(
            "{}\nin {} and {} more scenarios\nagain: {}",
            place.message.line(),
            place.scenario,
            scenarios.saturating_sub(1),
            command::again_at(header, place)
        );
        Some(WorkflowCommand::new(level, &properties, &message))
    };
    let all = causes.by_cause();
    let causes = all.iter().filter_map(of_cause);
    stale.chain(causes).take(SHOWN).collect()
}

/// Formats the summary of the workflow step as Markdown. `verdict` is the result of the run.
pub fn summary(
    header: &RunHeader,
    summary: &RunSummary,
    causes: &CauseFold,
    stale: &[String],
    verdict: &str,
) -> String {
    let host = header.host.as_ref().unwrap_or(&header.target);
    let mut out = format!("### {} · {}: {verdict}\n\n", header.title(), host.markdown());
    let counts: Vec<_> =
        summary.counts.iter().map(|(status, count)| format!("{count} {}", status.word())).collect();
    let _ = writeln!(
        out,
        "{} scenarios: {}. Always-on checks: {} held, {} broken.",
        summary.total(),
        counts.join(", "),
        summary.checks_with(Status::Pass),
        summary.checks_with(Status::Fail)
    );
    for line in stale {
        let _ = writeln!(out, "\n{}", markdown(line));
    }
    let all = causes.by_cause();
    let rows: Vec<&FailureCause<'_>> = all.iter().filter(|cause| is_to_mend(cause)).collect();
    if !rows.is_empty() {
        let count = rows.len();
        let _ = writeln!(
            out,
            "\n{count} causes, the worst first:\n\n| | what | why | scenarios |\n|---|---|---|--:|"
        );
    }
    for cause in rows.iter().take(LISTED) {
        let Some(place) = cause.shown() else { continue };
        let (status, what) = (cause.status().word(), markdown(&name(cause)));
        let scenarios = cause.scenarios().len();
        let _ = writeln!(out, "| {status} | {what} | {} | {scenarios} |", place.message.markdown());
    }
    if rows.len() > LISTED {
        let _ = writeln!(out, "\n{} more are in the report.", rows.len() - LISTED);
    }
    if let Some(place) = rows.first().and_then(|cause| cause.shown()) {
        let again = command::again_at(header, place);
        let _ =
            writeln!(out, "\nThe first of them again:\n\n```sh\n{}\n```", again.replace('`', "'"));
    }
    out
}

/// Escapes text as the message of a workflow command. The escaped text is on one line and cannot start another command.
fn data(text: &str) -> String {
    shown(text, LineBreaks::Kept).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes text as a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_in_workflow_commands() {
        assert_eq!(data("100%\n::error::x"), "100%25%0A\\u{3a}:error::x");
        assert_eq!(property("a:b,c\n"), "a%3Ab%2Cc%0A");
    }
}

//! A run for whoever looks at it on GitHub: an annotation for each thing that does not hold, and a
//! summary of the step.
//!
//! Start at [`annotation`].

use std::fmt::Write as _;

use crate::verdict::Status;
use crate::wire::foreign_text::{Breaks, ForeignText, markdown, shown};

use super::event::{CaseReport, Header};
use super::redact::Redactor;
use super::summary::{CheckTotal, Summary};

/// Scenarios and checks that the summary lists.
const LISTED: usize = 50;

/// How GitHub calls what a status amounts to; `None` for what needs no annotation.
fn level(status: Status) -> Option<&'static str> {
    match status {
        Status::Fail | Status::Error | Status::Untested => Some("error"),
        Status::Warn => Some("warning"),
        _ => None,
    }
}

/// A line that GitHub takes for a command. Nothing else that is said is one ([`crate::wire::foreign_text`]).
#[derive(Clone, Debug)]
pub struct WorkflowCommand(String);

impl WorkflowCommand {
    /// The same without secrets.
    pub fn redacted(&self, redactor: &Redactor) -> WorkflowCommand {
        WorkflowCommand(redactor.text(&self.0).into_owned())
    }

    /// The line, with its end.
    pub fn line(&self) -> &str {
        &self.0
    }

    /// An annotation; `properties` are ready, `message` is any text.
    fn new(level: &str, properties: &str, message: &str) -> WorkflowCommand {
        // A redacted text could hold a line break no more than this one.
        WorkflowCommand(format!("::{level} {properties}::{}\n", data(message)))
    }
}

/// The command that makes GitHub annotate a scenario that does not hold.
pub fn annotation(case: &CaseReport) -> Option<WorkflowCommand> {
    let level = level(case.status)?;
    let place = match &case.failure {
        Some(failure) => {
            let file = property(&failure.file);
            format!("file={file},line={},col={},", failure.line, failure.column)
        }
        None => format!("file={},", property(&case.file)),
    };
    let title = property(&format!("{} {}", case.status.word(), case.name()));
    let message = case.failure.as_ref().map_or(&case.reason, |failure| &failure.message);
    Some(WorkflowCommand::new(level, &format!("{place}title={title}"), &message.lines()))
}

/// The same for an always-on check.
pub fn finding(check: &str, total: &CheckTotal) -> Option<WorkflowCommand> {
    let level = level(total.worst?)?;
    let (scenario, first) = total.shown.first()?;
    let title = property(&format!("{check}: {} of {}", total.findings, total.observations));
    let message = format!("{scenario}: {}", first.message.lines());
    Some(WorkflowCommand::new(level, &format!("title={title}"), &message))
}

/// The summary of the step, as Markdown.
pub fn summary(
    header: &Header,
    summary: &Summary,
    cases: &[(String, Status, ForeignText)],
) -> String {
    let host = header.host.as_ref().unwrap_or(&header.target);
    let mut out = format!("### {} · {}\n\n", header.title(), host.markdown());
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
    let broken = summary.checks.iter().filter_map(|(id, total)| {
        let (scenario, first) = total.shown.first()?;
        level(total.worst?)?;
        Some((id.clone(), total.worst?, first.message.after(&format!("{scenario}: "))))
    });
    let rows: Vec<_> = cases.iter().cloned().chain(broken).collect();
    if !rows.is_empty() {
        out.push_str("\n| | what | why |\n|---|---|---|\n");
    }
    for (id, status, reason) in rows.iter().take(LISTED) {
        let _ = writeln!(out, "| {} | {} | {} |", status.word(), markdown(id), reason.markdown());
    }
    if rows.len() > LISTED {
        let _ = writeln!(out, "\n{} more are in the report.", rows.len() - LISTED);
    }
    out
}

/// Text as the message of a workflow command: on one line, and no command of its own.
fn data(text: &str) -> String {
    shown(text, Breaks::Kept).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text as a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_command_of_its_own() {
        assert_eq!(data("100%\n::error::x"), "100%25%0A\\u{3a}:error::x");
        assert_eq!(property("a:b,c\n"), "a%3Ab%2Cc%0A");
    }
}

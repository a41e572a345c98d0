//! Writes JUnit output: a test case for each scenario, for each always-on check over the run, and for each
//! baseline entry that no longer fails.
//!
//! Jenkins, GitLab and GitHub's viewers read different parts of the file. The file and line are therefore
//! attributes, and the text of a failure contains them as well.

use std::io;
use std::io::Write;

use quick_xml::Writer;
use quick_xml::events::BytesText;

use crate::verdict::Status;
use crate::wire::foreign_text::xml;

use super::command;
use super::event::{CaseReport, RunHeader};
use super::rule_quotes::RuleQuotes;
use super::summary::{CheckTotal, RunSummary, row, word};

/// The content of the file until the run is over. If the process is killed during the run, a reader sees from this
/// content that the run has no result.
pub const UNFINISHED: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite name=\"scenarios\" tests=\"1\" errors=\"1\" ",
    "failures=\"0\"><testcase name=\"the run\" classname=\"scenarios\" time=\"0\"><error type=\"error\" ",
    "message=\"the run did not end: run.jsonl has what was played, if that report was \
     requested\"/></testcase></testsuite></testsuites>\n"
);

/// A collector of scenarios that writes the file.
#[derive(Debug, Default)]
pub struct JunitReport {
    cases: Vec<JunitCase>,
    /// The header of the run; `None` if the report is not about a run.
    header: Option<RunHeader>,
}

/// A test case, with strings that are already escaped for XML.
#[derive(Debug, Default)]
struct JunitCase {
    name: String,
    class: String,
    file: String,
    /// The line, from 1; 0 if the test case has no line.
    line: usize,
    took_ms: u64,
    outcome: JunitOutcome,
    out: String,
}

#[derive(Debug, Default)]
enum JunitOutcome {
    #[default]
    Passed,
    Skipped(String),
    /// A failure or, if `error` is set, an error: the type, a message of one line and the full text.
    Broken {
        error: bool,
        kind: &'static str,
        message: String,
        body: String,
    },
}

impl JunitReport {
    /// Makes a report about this run.
    pub fn about(header: &RunHeader) -> JunitReport {
        JunitReport { cases: Vec::new(), header: Some(header.clone()) }
    }

    /// Adds a scenario.
    pub fn add(&mut self, case: &CaseReport) {
        let area = case.scenario.split('/').next().unwrap_or_default();
        let detail = xml(&detail(case, self.header.as_ref()));
        let broken = |error: bool, kind: &'static str, message: String| JunitOutcome::Broken {
            error,
            kind,
            message: xml(&message),
            body: detail.clone(),
        };
        let reason = case.reason.line();
        let outcome = match case.status {
            Status::Pass | Status::Warn | Status::Note => JunitOutcome::Passed,
            Status::Fail => broken(false, "fail", reason),
            Status::Untested => broken(false, "untested", format!("not exercised: {reason}")),
            Status::Error => broken(true, "error", reason),
            Status::Skip | Status::Known => {
                JunitOutcome::Skipped(xml(&format!("{}: {reason}", case.status.word())))
            }
        };
        let place = case.failure.as_ref();
        let tells = matches!(case.status, Status::Warn | Status::Note | Status::Known);
        self.cases.push(JunitCase {
            name: xml(&case.name()),
            class: xml(&format!("scenarios.{area}")),
            file: xml(place.map_or(&case.file, |failure| &failure.file)),
            line: place.map_or(0, |failure| failure.line),
            took_ms: case.took_ms,
            outcome,
            out: if tells { detail } else { String::new() },
        });
    }

    /// Writes the file. `stale` contains the baseline entries that no longer fail.
    ///
    /// # Errors
    /// Returns an error if the output is not writable.
    pub fn write(
        self,
        summary: &RunSummary,
        stale: &[String],
        out: &mut dyn Write,
    ) -> Result<(), String> {
        let quotes = self.header.as_ref().map_or_else(RuleQuotes::newest, RuleQuotes::of_run);
        let case = |(check, total): (&String, &CheckTotal)| check_case(check, total, &quotes);
        let checks = summary.checks.iter().map(case).collect();
        let mut suites = vec![("scenarios", self.cases), ("always-on checks", checks)];
        if !stale.is_empty() {
            suites.push(("baseline", stale.iter().map(|line| stale_case(line)).collect()));
        }
        let mut writer = Writer::new_with_indent(out, b' ', 1);
        written(&mut writer, &suites, self.header.as_ref()).map_err(|error| error.to_string())
    }
}

fn written(
    writer: &mut Writer<&mut dyn Write>,
    suites: &[(&str, Vec<JunitCase>)],
    header: Option<&RunHeader>,
) -> io::Result<()> {
    writer.get_mut().write_all(b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n")?;
    let all = || suites.iter().flat_map(|(_, cases)| cases);
    let root = writer.create_element("testsuites").with_attributes(pairs(&counts(all())));
    root.write_inner_content(|writer| {
        for (name, cases) in suites {
            let mut attributes = vec![("name", (*name).to_owned())];
            attributes.extend(counts(cases.iter()));
            if let Some(header) = header {
                // Programs that read JUnit files expect whole seconds.
                let started = header.started.split('.').next().unwrap_or_default();
                let started = started.trim_end_matches('Z').to_owned();
                attributes.push(("timestamp", started));
            }
            let suite = writer.create_element("testsuite").with_attributes(pairs(&attributes));
            suite.write_inner_content(|writer| {
                properties(writer, header)?;
                cases.iter().try_for_each(|case| case.write(writer))
            })?;
        }
        Ok(())
    })?;
    writer.get_mut().write_all(b"\n")
}

fn properties(writer: &mut Writer<&mut dyn Write>, header: Option<&RunHeader>) -> io::Result<()> {
    let Some(header) = header else { return Ok(()) };
    let host = header.host.as_ref().map(|host| host.xml()).unwrap_or_default();
    let values = [
        ("harness", header.harness.clone()),
        ("protocol", header.version.to_string()),
        ("target", header.target.xml()),
        ("host", host),
        ("seed", header.seed.to_string()),
        ("command", xml(&command::whole(header))),
    ];
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in &values {
            let attributes = [("name", *name), ("value", value.as_str())];
            writer.create_element("property").with_attributes(attributes).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn pairs<'a>(attributes: &'a [(&'a str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    attributes.iter().map(|(name, value)| (*name, value.as_str()))
}

/// Returns the totals of these test cases.
fn counts<'a>(cases: impl Iterator<Item = &'a JunitCase>) -> Vec<(&'static str, String)> {
    let [mut tests, mut failures, mut errors, mut skipped, mut took] = [0_u64; 5];
    for case in cases {
        tests += 1;
        took += case.took_ms;
        match case.outcome {
            JunitOutcome::Passed => {}
            JunitOutcome::Skipped(_) => skipped += 1,
            JunitOutcome::Broken { error: true, .. } => errors += 1,
            JunitOutcome::Broken { error: false, .. } => failures += 1,
        }
    }
    let counts =
        [("tests", tests), ("failures", failures), ("errors", errors), ("skipped", skipped)];
    let time = [("time", seconds(took))];
    counts.map(|(name, count)| (name, count.to_string())).into_iter().chain(time).collect()
}

fn seconds(took_ms: u64) -> String {
    format!("{}.{:03}", took_ms / 1_000, took_ms % 1_000)
}

impl JunitCase {
    fn write(&self, writer: &mut Writer<&mut dyn Write>) -> io::Result<()> {
        let mut attributes = vec![
            ("name", self.name.clone()),
            ("classname", self.class.clone()),
            ("time", seconds(self.took_ms)),
        ];
        if !self.file.is_empty() {
            attributes.push(("file", self.file.clone()));
        }
        if self.line > 0 {
            attributes.push(("line", self.line.to_string()));
        }
        let element = writer.create_element("testcase").with_attributes(pairs(&attributes));
        if matches!(self.outcome, JunitOutcome::Passed) && self.out.is_empty() {
            element.write_empty()?;
            return Ok(());
        }
        element.write_inner_content(|writer| {
            match &self.outcome {
                JunitOutcome::Passed => {}
                JunitOutcome::Skipped(message) => {
                    let skipped = writer.create_element("skipped");
                    skipped.with_attribute(("message", message.as_str())).write_empty()?;
                }
                JunitOutcome::Broken { error, kind, message, body } => {
                    let name = if *error { "error" } else { "failure" };
                    let attributes = [("type", *kind), ("message", message.as_str())];
                    let broken = writer.create_element(name).with_attributes(attributes);
                    broken.write_text_content(BytesText::new(body))?;
                }
            }
            if !self.out.is_empty() {
                let out = writer.create_element("system-out");
                out.write_text_content(BytesText::new(&self.out))?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Formats the details of a scenario that did not hold, with the command that plays the scenario again.
fn detail(case: &CaseReport, header: Option<&RunHeader>) -> String {
    let quotes = header.map_or_else(RuleQuotes::newest, RuleQuotes::of_run);
    let mut lines = Vec::new();
    for failure in case.failures() {
        lines.push(format!(
            "{}:{}:{}: {}",
            failure.file,
            failure.line,
            failure.column,
            failure.message.lines()
        ));
        lines.push(failure.label.lines());
        lines.push(match failure.rule.as_str() {
            "" => {
                "this breaks no requirement; the claims that depend on it are untested".to_owned()
            }
            rule => quotes.requirement(rule).map_or_else(
                || format!("requirement: {rule}"),
                |quote| format!("requirement: {rule} ({}): {}", quote.standing, quote.statement),
            ),
        });
        lines.push(format!("transcript lines: {:?}", failure.transcript));
    }
    lines.extend(case.notes.iter().map(|note| format!("note: {}", note.lines())));
    if lines.is_empty() {
        lines.push(case.reason.lines());
    }
    if let Some(header) = header {
        lines.push(format!(
            "again: {}",
            command::again(header, &case.scenario, case.provider.as_deref(), None)
        ));
    }
    lines.join("\n")
}

fn check_case(check: &str, total: &CheckTotal, quotes: &RuleQuotes) -> JunitCase {
    let found: Vec<String> = total
        .shown
        .iter()
        .map(|(scenario, finding)| {
            format!(
                "[{}] {scenario}: {} (lines {:?})",
                word(finding.weight),
                finding.message.lines(),
                finding.transcript
            )
        })
        .collect();
    let doc = quotes.text(row(check).map_or("", |row| row.doc));
    let (observations, findings) = (total.observations, total.findings);
    let body = format!("{doc}\n{observations} observations, {findings} findings\n");
    let body = xml(&(body + &found.join("\n")));
    let message = total.shown.first().map(|(_, first)| xml(&first.message.line()));
    let (outcome, out) = match total.status() {
        Status::Fail => {
            let message = message.unwrap_or_default();
            (JunitOutcome::Broken { error: false, kind: "fail", message, body }, String::new())
        }
        Status::Untested => {
            let why = "untested: not exercised: nothing was observed";
            (JunitOutcome::Skipped(why.to_owned()), String::new())
        }
        _ => (JunitOutcome::Passed, if found.is_empty() { String::new() } else { body }),
    };
    JunitCase {
        name: check.to_owned(),
        class: "checks".to_owned(),
        outcome,
        out,
        ..JunitCase::default()
    }
}

fn stale_case(line: &str) -> JunitCase {
    let name = line.split('`').nth(1).unwrap_or("entry");
    let (message, body) = (xml(line), xml(line));
    JunitCase {
        name: xml(name),
        class: "baseline".to_owned(),
        outcome: JunitOutcome::Broken { error: false, kind: "stale", message, body },
        ..JunitCase::default()
    }
}

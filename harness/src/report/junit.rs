//! JUnit: a test case for each scenario, and one for each always-on check over the run.

use std::io::Write;

use junit_report::{Duration, ReportBuilder, TestCase, TestCaseBuilder, TestSuite};

use crate::verdict::Status;

use crate::wire::foreign_text::xml;

use super::event::CaseReport;
use super::summary::{CheckTotal, Summary, row, word};

/// What stands in the file until the run is over: whoever reads it then, since the run was killed, sees that it is no
/// result.
pub const UNFINISHED: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite name=\"scenarios\" tests=\"1\" errors=\"1\" ",
    "failures=\"0\"><testcase name=\"the run\" classname=\"scenarios\" time=\"0\"><error type=\"error\" ",
    "message=\"the run did not end: run.jsonl has what was played, where one was asked for\"/></testcase></testsuite></testsuites>\n"
);

/// Collects scenarios and writes the file.
#[derive(Debug, Default)]
pub struct Junit {
    cases: Vec<TestCase>,
}

impl Junit {
    /// Adds a scenario.
    pub fn add(&mut self, case: &CaseReport) {
        let took = Duration::milliseconds(i64::try_from(case.took_ms).unwrap_or(i64::MAX));
        let name = xml(&case.name());
        let area = case.scenario.split('/').next().unwrap_or_default();
        let mut built = match case.status {
            Status::Pass | Status::Warn | Status::Note => TestCaseBuilder::success(&name, took),
            Status::Fail => TestCaseBuilder::failure(&name, took, "fail", &case.reason.xml()),
            Status::Untested => {
                let message = format!("not exercised: {}", case.reason.lines());
                TestCaseBuilder::failure(&name, took, "untested", &xml(&message))
            }
            Status::Error => TestCaseBuilder::error(&name, took, "error", &case.reason.xml()),
            Status::Skip | Status::Known => {
                TestCaseBuilder::skipped_with_cause(&name, case.status.word(), &case.reason.xml())
            }
        };
        let place = match &case.failure {
            Some(failure) => format!("{}:{}", failure.file, failure.line),
            None => case.file.clone(),
        };
        built.set_classname(&format!("scenarios.{area}")).set_filepath(&xml(&place));
        let detail = detail(case);
        if case.status != Status::Pass && !detail.is_empty() {
            built.set_system_out(&xml(&detail));
        }
        self.cases.push(built.build());
    }

    /// Writes the file.
    ///
    /// # Errors
    /// What went wrong with writing.
    pub fn write(self, summary: &Summary, out: &mut dyn Write) -> Result<(), String> {
        let mut scenarios = TestSuite::new("scenarios");
        scenarios.add_testcases(self.cases);
        let mut checks = TestSuite::new("always-on checks");
        checks.add_testcases(summary.checks.iter().map(|(check, total)| check_case(check, total)));
        let report = ReportBuilder::new().add_testsuite(scenarios).add_testsuite(checks).build();
        let mut bytes = Vec::new();
        report.write_xml(&mut bytes).map_err(|error| error.to_string())?;
        out.write_all(&bytes).map_err(|error| error.to_string())
    }
}

fn detail(case: &CaseReport) -> String {
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
            "" => "no requirement is blamed for this; what depends on it is untested".to_owned(),
            rule => format!("requirement: {rule}"),
        });
        lines.push(format!("transcript lines: {:?}", failure.transcript));
    }
    lines.extend(case.notes.iter().map(|note| format!("note: {}", note.lines())));
    lines.join("\n")
}

fn check_case(check: &str, total: &CheckTotal) -> TestCase {
    let said: Vec<_> = total
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
    let said = xml(&said.join("\n"));
    let message = total.shown.first().map(|(_, first)| first.message.xml()).unwrap_or_default();
    let mut built = match total.status() {
        Status::Fail => TestCaseBuilder::failure(check, Duration::ZERO, "fail", &message),
        Status::Untested => TestCaseBuilder::skipped_with_cause(
            check,
            "untested",
            "not exercised: nothing was observed",
        ),
        _ => TestCaseBuilder::success(check, Duration::ZERO),
    };
    built.set_classname("checks");
    let doc = row(check).map_or("", |row| row.doc);
    built.set_system_out(&xml(&format!(
        "{doc}\n{} observations, {} findings\n{said}",
        total.observations, total.findings
    )));
    built.build()
}

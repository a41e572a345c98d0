//! Shows how a subject's reducers compare with the harness's reducers: on the console, and as JUnit.
//!
//! Knows: the report of `reducers`. Never knows: the source of the report, files.
//!
//! Start at [`console`].

use litemap::LiteMap;
use std::fmt::Write as _;

use junit_report::{Duration, ReportBuilder, TestCase, TestCaseBuilder, TestSuite};

use super::draw::DrawStyle;
use crate::reducers::case::DisagreementKind;
use crate::reducers::exchange::cut;
use crate::reducers::hold::HoldProgress;
use crate::reducers::report::{AgreementTally, SubjectFinding, SubjectReport};
use crate::verdict::Status;
use crate::wire::foreign_text::xml;

/// The maximum length of a state or action on the console, in characters.
const SHOWN: usize = 600;

/// Formats the progress of a run, on one line.
pub fn progress(at: &HoldProgress) -> String {
    match at {
        HoldProgress::Vectors(done, all) => format!("vectors {done}/{all}"),
        HoldProgress::Sequences(done, all) => format!("sequences {done}/{all}"),
        HoldProgress::Shrunk(done, all) => format!("shrinking {done}/{all}"),
    }
}

/// Formats the whole report. `written` contains the files of the smallest cases, by key.
pub fn console(report: &SubjectReport, written: &[(String, String)], style: DrawStyle) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "subject    {}", report.subject);
    let _ = writeln!(out, "spec       {}", report.version);
    let sequences = report.sequences;
    let _ = writeln!(out, "seed       {} (--cases {sequences})", report.seed);
    tallies(&mut out, "agreement, by action", &report.actions);
    tallies(&mut out, "round trips, by type", &report.round_trips);
    if !report.unserved.is_empty() {
        let _ = writeln!(
            out,
            "\ntypes without round trips, since the subject does not serve them: {}",
            {
                let shown: Vec<_> = report.unserved.iter().take(6).map(String::as_str).collect();
                let more = report.unserved.len().saturating_sub(shown.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{}{more}", shown.join(", "))
            }
        );
    }
    for finding in &report.findings {
        let file = written.iter().find(|(key, _)| *key == finding.key).map(|(_, file)| file);
        out.push('\n');
        self::finding(&mut out, report, finding, file, style);
    }
    out.push('\n');
    if report.unasked > 0 {
        let unasked = report.unasked;
        let _ = writeln!(out, "the subject failed too often; {unasked} questions were not asked");
    }
    summary(&mut out, report);
    out
}

/// Formats the rows in which the subject and the harness differ, and the number of rows in which they agree.
fn tallies(out: &mut String, title: &str, rows: &LiteMap<String, AgreementTally>) {
    if rows.is_empty() {
        return;
    }
    let agreed: u64 = rows.values().map(|tally| tally.agreed).sum();
    let total: u64 = rows.values().map(|tally| tally.total).sum();
    let _ = writeln!(out, "\n{title}: {agreed}/{total}");
    let whole = |tally: &AgreementTally| tally.agreed == tally.total;
    let width = rows.keys().map(String::len).max().unwrap_or_default();
    for (name, tally) in rows.iter().filter(|(_, tally)| !whole(tally)) {
        let open = match tally.open {
            0 => String::new(),
            open => format!("  ({open} where the specification is open)"),
        };
        let _ = writeln!(out, "  {name:width$}  {}/{}{open}", tally.agreed, tally.total);
    }
    let others = rows.values().filter(|tally| whole(tally)).count();
    if others > 0 {
        let _ = writeln!(out, "  {others} agree everywhere");
    }
}

fn finding(
    out: &mut String,
    report: &SubjectReport,
    finding: &SubjectFinding,
    file: Option<&String>,
    style: DrawStyle,
) {
    let (code, word) = match finding.status {
        Status::Fail => ("31;1", "FAIL"),
        Status::Warn => ("33", "warn"),
        Status::Known => ("2", "known"),
        _ => ("36", "note"),
    };
    let word =
        if style.colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() };
    let _ = writeln!(out, "{word}  {}  [seen {}x]", finding.title(), finding.seen);
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "      {name:9} {}", cut(text, SHOWN));
    };
    row("key", &finding.key);
    if let Some(reason) = &finding.known {
        return row("known", reason);
    }
    if finding.what.kind == DisagreementKind::Lost {
        row("type", &finding.what.action);
        row("value", &finding.case.state.to_string());
    } else {
        row("reducer", finding.case.channel.reducer_name());
        row("state", &finding.case.state.to_string());
        for action in &finding.case.actions {
            row("action", &action.to_string());
        }
        if finding.what.kind == DisagreementKind::State {
            row("expected", &finding.case.fold(report.version).state.to_string());
        }
    }
    if finding.what.kind == DisagreementKind::State {
        row("place", &finding.what.path);
    }
    row("ours", &finding.what.ours);
    row("theirs", &finding.what.theirs);
    for (number, reading) in finding.readings.iter().enumerate() {
        row(if number == 0 { "readings" } else { "" }, &format!("- {reading}"));
    }
    if !finding.vectors.is_empty() {
        row("vectors", &finding.vectors.join(", "));
    }
    if let Some(file) = file {
        row("written", file);
    }
}

fn summary(out: &mut String, report: &SubjectReport) {
    let vectors =
        |status: Status| report.vectors.iter().filter(|vector| vector.status == status).count();
    let mut parts =
        vec![format!("{} of {} vectors pass", vectors(Status::Pass), report.vectors.len())];
    let several = [
        (Status::Fail, "fail"),
        (Status::Warn, "warn"),
        (Status::Note, "are open"),
        (Status::Known, "are known"),
        (Status::Untested, "were not asked"),
    ];
    for (status, word) in several {
        if vectors(status) > 0 {
            parts.push(format!("{} {word}", vectors(status)));
        }
    }
    let _ = writeln!(out, "{}", parts.join(", "));
    let count = |status| report.of_status(status).count();
    let _ = writeln!(
        out,
        "{} disagreements, {} warnings, {} notes, {} known",
        count(Status::Fail),
        count(Status::Warn),
        count(Status::Note),
        count(Status::Known)
    );
}

/// Formats the report as JUnit: a case for each vector, each type of action, each type of round trip, and each
/// disagreement.
///
/// # Errors
/// Returns an error if the report cannot be written as XML.
pub fn junit(report: &SubjectReport) -> Result<String, String> {
    let mut vectors = TestSuite::new("vectors");
    for vector in &report.vectors {
        let reason = xml(&vector.reason);
        let mut case = built(&xml(&vector.name), vector.status, &reason);
        case.set_classname("vectors").set_filepath(&xml(&vector.file));
        vectors.add_testcase(case.build());
    }
    let mut actions = TestSuite::new("actions");
    actions.add_testcases(report.actions.iter().map(|row| tally("actions", row)));
    let mut trips = TestSuite::new("round trips");
    trips.add_testcases(report.round_trips.iter().map(|row| tally("roundtrips", row)));
    let mut findings = TestSuite::new("disagreements");
    findings.add_testcases(report.findings.iter().map(|finding| {
        let what = &finding.what;
        let message = xml(&format!("expected {}, found {}", what.ours, what.theirs));
        let reason = finding.known.as_deref().map_or(message, xml);
        let mut case = built(&xml(&finding.key), finding.status, &reason);
        let mut text = String::new();
        self::finding(&mut text, report, finding, None, DrawStyle::default());
        case.set_classname("disagreements").set_system_out(&xml(&text));
        case.build()
    }));
    let mut builder = ReportBuilder::new();
    builder.add_testsuite(vectors).add_testsuite(actions).add_testsuite(trips);
    let whole = builder.add_testsuite(findings).build();
    let mut bytes = Vec::new();
    whole.write_xml(&mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

fn built(name: &str, status: Status, reason: &str) -> TestCaseBuilder {
    let took = Duration::ZERO;
    match status {
        Status::Fail => TestCaseBuilder::failure(name, took, "fail", reason),
        Status::Untested => {
            let message = format!("not exercised: {reason}");
            TestCaseBuilder::failure(name, took, "untested", &message)
        }
        Status::Error => TestCaseBuilder::error(name, took, "error", reason),
        Status::Skip | Status::Known => {
            TestCaseBuilder::skipped_with_cause(name, status.word(), reason)
        }
        Status::Pass | Status::Warn | Status::Note => {
            let mut case = TestCaseBuilder::success(name, took);
            if status != Status::Pass {
                case.set_system_out(reason);
            }
            case
        }
    }
}

/// Makes a test case that always passes. The percentage of agreement is a figure, not a verdict; each disagreement has
/// a separate test case that fails.
fn tally(class: &str, (name, tally): (&String, &AgreementTally)) -> TestCase {
    let mut case = TestCaseBuilder::success(&xml(name), Duration::ZERO);
    let AgreementTally { agreed, open, total } = tally;
    case.set_classname(class);
    case.set_system_out(&format!("{agreed} of {total} agree, {open} are open"));
    case.build()
}

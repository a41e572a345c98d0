//! The console report of a run: progress, failures and the summary.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use crate::run::detect::DetectedFeature;
use crate::scenario::capability::WORKSPACE;
use crate::scenario::own::OwnRequirement;
use crate::transcript::logs::ConnectionLogs;
use crate::verdict::{Finding, Status};
use crate::wire::foreign_text::{ForeignText, LineBreaks, shown};

use super::cause::CauseFold;
use super::command;
use super::draw::{self, DrawStyle};
use super::event::{CaseReport, FailureReport, FindingLine, RunHeader};
use super::first::{fix_first, is_to_mend, name, noted, one_line};
use super::rule_quotes::RuleQuotes;
use super::summary::{OWN_FRAMES, RunSummary, row, word};

/// The place of the transcript. The line numbers in the report refer to this transcript.
#[derive(Clone, Debug)]
pub enum TranscriptPlace {
    /// The transcript is not kept.
    Nowhere,
    /// One file.
    File(String),
    /// A folder of logs. Lines are counted over all connections.
    Folder(String),
    /// Connection logs that the harness has read and judges.
    Logs(Arc<ConnectionLogs>),
}

impl TranscriptPlace {
    /// Returns the place for an optional file.
    pub fn in_file(file: Option<String>) -> TranscriptPlace {
        file.map_or(TranscriptPlace::Nowhere, TranscriptPlace::File)
    }

    /// Returns a name for the whole transcript.
    fn name(&self) -> Option<String> {
        match self {
            TranscriptPlace::Nowhere => None,
            TranscriptPlace::File(name) | TranscriptPlace::Folder(name) => Some(name.clone()),
            TranscriptPlace::Logs(logs) => Some(match &logs.files[..] {
                [file] => file.name.clone(),
                files => format!("{} logs", files.len()),
            }),
        }
    }

    /// Returns the location of a line of the transcript.
    fn place(&self, line: u64) -> String {
        match self {
            TranscriptPlace::Nowhere => format!("line {line}"),
            TranscriptPlace::File(file) => format!("{file}:{line}"),
            TranscriptPlace::Folder(folder) => format!("{folder} order {line}"),
            TranscriptPlace::Logs(logs) => {
                let connection = logs.connection_at(line).unwrap_or_default();
                format!("connection `{connection}` at {}", logs.place(line))
            }
        }
    }
}

/// The amount of detail.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ConsoleDetail {
    /// Only the failures, grouped by cause with the worst first, and the number of scenarios that passed.
    #[default]
    Brief,
    /// A line for each scenario, and every failure and finding in full.
    Full,
    /// One JSON object at the end. No other text is written.
    Json,
}

/// The maximum number of scenarios for which brief output has one line per scenario.
const FEW: usize = 20;
/// The maximum number of lines of a state difference in brief output.
const DIFF_LINES: usize = 12;
/// The maximum number of causes that brief output shows with drawings. If there are more causes, they are only listed.
const DRAWN: usize = 3;
/// The maximum length of the reason in the line of a scenario, in bytes.
const REASON: usize = 100;
/// The maximum number of names of missing capabilities in brief output.
const NAMES: usize = 8;
/// The maximum number of names in a line. A host may declare any number of names.
const MANY: usize = 20;

/// A renderer that writes a run as text, piece by piece.
#[derive(Clone, Debug)]
pub struct ConsoleReport {
    style: DrawStyle,
    kept: TranscriptPlace,
    /// Whether the report includes findings about the harness's own frames; set if the user wrote the scenarios.
    own_frames: bool,
    /// The amount of detail.
    format: ConsoleDetail,
    /// Whether the run has too many scenarios for one line per scenario.
    many: bool,
    /// The wording of requirements and checks.
    quotes: RuleQuotes,
}

/// Returns the first names, followed by the number of further names.
fn lines(names: &[ForeignText]) -> Vec<String> {
    let mut lines: Vec<String> = names.iter().take(MANY).map(ForeignText::line).collect();
    if names.len() > MANY {
        lines.push(format!("and {} more", names.len() - MANY));
    }
    lines
}

/// Returns the capabilities that the host does not offer: first the capabilities that an option could provide, then all
/// other missing capabilities.
fn lacking(header: &RunHeader) -> (Vec<&DetectedFeature>, Vec<&DetectedFeature>) {
    let lacking = header.detected.iter().filter(|detected| !detected.offered);
    lacking.partition(|detected| detected.how.raw().contains("(hint: "))
}

/// Returns the option that the hint in a reason names.
fn hint_in(how: &str) -> Option<String> {
    let (_, hint) = how.split_once("(hint: ")?;
    hint.split_once('`')?.1.split('`').next().map(str::to_owned)
}

impl ConsoleReport {
    /// Makes a console report. `kept` is the place of the transcript, and `quotes` has the wording of requirements and
    /// checks.
    pub fn new(style: DrawStyle, kept: TranscriptPlace, quotes: RuleQuotes) -> ConsoleReport {
        let format = ConsoleDetail::Full;
        ConsoleReport { style, kept, own_frames: false, format, many: false, quotes }
    }

    /// Sets the amount of detail for a run with this number of scenarios.
    pub fn with_format(self, format: ConsoleDetail, scenarios: usize) -> ConsoleReport {
        ConsoleReport { format, many: format == ConsoleDetail::Brief && scenarios > FEW, ..self }
    }

    /// Returns whether the report includes findings about the harness's own frames.
    pub fn own_frames(&self) -> bool {
        self.own_frames
    }

    /// Returns the amount of detail.
    pub fn format(&self) -> ConsoleDetail {
        self.format
    }

    /// Returns whether the report writes a line for a scenario with this status.
    pub fn tells(&self, status: Status) -> bool {
        let held = matches!(status, Status::Pass | Status::Skip | Status::Note | Status::Known);
        !(self.many && held)
    }

    /// Includes findings about the frames that the scenarios send.
    pub fn shows_own_frames(&mut self) {
        self.own_frames = true;
    }

    /// Formats the lines before the first scenario.
    pub fn header(&self, header: &RunHeader, scenarios: usize) -> String {
        let host =
            header.host.as_ref().map(|host| format!(" ({})", host.line())).unwrap_or_default();
        let shard = header.shard.as_ref().map(|shard| format!(" (shard {shard})"));
        let shard = shard.unwrap_or_default();
        let mut text = format!(
            "ahp-harness {}: {scenarios} scenarios{shard}, protocol {}, {} {}{host}, seed {}\n",
            header.harness,
            header.version,
            header.subject(),
            header.target.line(),
            header.seed
        );
        let folders = header.detected.iter().filter(|it| it.capability == WORKSPACE && it.offered);
        for folder in folders.filter(|_| header.shared) {
            let _ = writeln!(text, "files: {}", folder.how.line());
        }
        let (with_hint, without_hint) = lacking(header);
        let brief = self.format == ConsoleDetail::Brief;
        for (words, names) in [
            ("set before the run", header.settings.clone()),
            ("speaks", lines(&header.versions)),
            ("agents", lines(&header.providers)),
            ("not offered", without_hint.iter().map(|it| it.capability.clone()).collect()),
        ] {
            match names.len().saturating_sub(NAMES) {
                _ if names.is_empty() => {}
                more if brief && more > 1 => {
                    let names = names.get(..NAMES).unwrap_or_default().join(", ");
                    let _ = writeln!(text, "{words}: {names} and {more} more");
                }
                _ => {
                    let _ = writeln!(text, "{words}: {}", names.join(", "));
                }
            }
        }
        for agent in &header.agents {
            if let Some(why) = &agent.untested {
                let (agent, why) =
                    (shown(&agent.provider, LineBreaks::Shown), shown(why, LineBreaks::Shown));
                let _ = writeln!(text, "not tested: agent {agent}: {why}");
            }
        }
        // The header names each missing capability once, so that skipped scenarios do not have to repeat the reason.
        let hints: Vec<String> =
            with_hint.iter().filter_map(|it| hint_in(&it.how.line())).collect();
        if brief && !hints.is_empty() {
            let _ = writeln!(
                text,
                "more could be tested with these options, which were not given: {}",
                hints.join("; ")
            );
            return text;
        }
        for detected in with_hint {
            let _ = writeln!(text, "not offered: {}: {}", detected.capability, detected.how.line());
        }
        text
    }

    /// Formats the failures by cause: as drawings if there are few causes, or else as a list of at most ten
    /// lines. `drawings` contains the output of [`ConsoleReport::failure`] by scenario number.
    pub fn causes(
        &self,
        causes: &CauseFold,
        header: &RunHeader,
        drawings: &LiteMap<u32, String>,
    ) -> String {
        let all = causes.by_cause();
        let to_mend: Vec<_> = all.iter().filter(|cause| is_to_mend(cause)).collect();
        if to_mend.len() > DRAWN {
            // If there are few scenarios, the worst failure is drawn above the list.
            let mut places = to_mend.iter().filter_map(|cause| cause.shown());
            let worst = places.find_map(|place| drawings.get(&place.case)).filter(|_| !self.many);
            let list = fix_first(causes, header, |status| self.tag(status));
            let drawing = worst.map_or_else(String::new, |drawing| format!("{drawing}\n"));
            return drawing + &list + &noted(causes);
        }
        let mut out = String::new();
        for cause in to_mend {
            let Some((breach, place)) = cause.worst().zip(cause.shown()) else { continue };
            let drawing = drawings.get(&place.case).filter(|it| !it.is_empty());
            match drawing.filter(|_| breach.check.is_none()) {
                Some(drawing) => out.push_str(drawing),
                None => {
                    let tag = self.tag(cause.status());
                    let rule = self.rule(&breach.id.rule, &[]);
                    let lines = self.lines(&place.transcript);
                    let (named, message) = (name(cause), place.message.lines());
                    let _ = writeln!(
                        out,
                        "{tag} {named} in {}\n  {message}\n  {rule}\n  {lines}",
                        place.scenario
                    );
                    let diff = place.diff.as_ref().map(ForeignText::lines).unwrap_or_default();
                    for line in diff.lines().take(DIFF_LINES) {
                        let _ = writeln!(out, "  {line}");
                    }
                }
            }
            let others = cause.scenarios().len().saturating_sub(1);
            if others > 0 {
                let _ = writeln!(out, "also in {others} more scenarios");
            }
            let _ = writeln!(out, "again: {}\n", command::again_at(header, place));
        }
        out.push_str(&noted(causes));
        out
    }

    /// Formats the line of a scenario that has ended.
    pub fn progress(&self, case: &CaseReport) -> String {
        let detail = match case.status {
            Status::Pass => match case.flaky {
                Some(attempt) => format!("flaky: it held at attempt {attempt}"),
                None => format!("{} observed", case.observations),
            },
            _ => case.reason.lines().lines().next().unwrap_or_default().to_owned(),
        };
        let detail = if self.many { one_line(&detail, REASON) } else { detail };
        format!("{} {:<44} {detail}\n", self.tag(case.status), case.name())
    }

    /// Formats the failures in full: the author's line, the expected and the actual value, the rule and the
    /// lines of the transcript.
    pub fn failure(&self, case: &CaseReport) -> String {
        let title = format!("{} {}: {}\n", self.tag(case.status), case.name(), case.title);
        let help = |report: &FailureReport| {
            format!("{}\n{}", self.rule(&report.rule, &case.own), self.lines(&report.transcript))
        };
        let most = if self.format == ConsoleDetail::Full { usize::MAX } else { 1 };
        let texts: Vec<String> = match &case.drawn[..] {
            [] => case.failures().take(most).map(|report| plain(report, &help(report))).collect(),
            drawn => drawn
                .iter()
                .take(most)
                .map(|(report, failure)| {
                    draw::failure(&case.sources, failure, help(report), self.style)
                })
                .collect(),
        };
        if texts.is_empty() {
            return String::new();
        }
        format!("{title}{}", texts.concat())
    }

    fn rule(&self, id: &str, own: &[OwnRequirement]) -> String {
        if id.is_empty() {
            return "this breaks no requirement; the claims that depend on it are untested"
                .to_owned();
        }
        if let Some(own) = own.iter().find(|own| own.id == id) {
            return format!("{id} ({}, your own): {}", word(own.weight), own.text);
        }
        match self.quotes.requirement(id) {
            Some(rule) => format!("{id} ({}): {}", rule.standing, rule.statement),
            None => id.to_owned(),
        }
    }

    fn lines(&self, lines: &[u64]) -> String {
        let Some(whole) = self.kept.name() else {
            return "transcript: not kept (hint: `--report jsonl=run.jsonl` keeps it)".to_owned();
        };
        let places: Vec<_> = lines.iter().map(|line| self.kept.place(*line)).collect();
        match &places[..] {
            [] => format!("transcript: {whole}"),
            places => format!("transcript: {}", places.join(", ")),
        }
    }

    /// Formats the findings of the always-on checks.
    pub fn findings(&self, summary: &RunSummary) -> String {
        let mut out = String::new();
        for (check, total) in &summary.checks {
            let Some(worst) = total.worst else { continue };
            // The built-in scenarios send malformed frames on purpose.
            if check == OWN_FRAMES && !self.own_frames {
                continue;
            }
            let doc = self.quotes.text(row(check).map_or("", |row| row.doc));
            let _ = writeln!(
                out,
                "{} {check}: {} of {} observations\n      {doc}",
                self.tag(worst),
                total.findings,
                total.observations
            );
            for (scenario, finding) in &total.shown {
                let place = format!("in {scenario}, ");
                let _ = writeln!(out, "      - {}", self.finding(&place, finding));
            }
            let shown: u64 = total.shown.iter().map(|(_, finding)| finding.times).sum();
            let more = total.findings.saturating_sub(shown);
            if more > 0 {
                let _ = writeln!(out, "      - and {more} more");
            }
        }
        out
    }

    /// Formats a single finding, for output as soon as the finding occurs.
    pub fn found(&self, finding: &Finding) -> String {
        let line = self.finding("", &FindingLine::from(finding));
        format!("{}: {line}", finding.check)
    }

    fn finding(&self, place: &str, finding: &FindingLine) -> String {
        let mut text = format!(
            "[{}] {}{}\n        {place}{}",
            finding.weight.broken().word(),
            finding.message.lines(),
            match finding.times {
                1 => String::new(),
                times => format!(" ({times} times; the first is shown)"),
            },
            self.lines(&finding.transcript)
        );
        if let Some(diff) = &finding.diff {
            for line in diff.lines().lines() {
                let _ = write!(text, "\n        {line}");
            }
        }
        text
    }

    /// Formats the summary of the run.
    pub fn summary(&self, summary: &RunSummary, took: Duration) -> String {
        let order = [
            (Status::Pass, "passed"),
            (Status::Fail, "failed"),
            (Status::Warn, "warned"),
            (Status::Note, "noted"),
            (Status::Known, "known"),
            (Status::Untested, "untested"),
            (Status::Error, "not judged"),
            (Status::Skip, "skipped"),
        ];
        let counts: Vec<_> = order
            .iter()
            .map(|(status, word)| (summary.count(*status), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let flaky = match summary.flaky {
            0 => String::new(),
            flaky => format!(" ({flaky} flaky)"),
        };
        let (total, took) = (summary.total(), took.as_secs_f64());
        let scenarios = format!("{total} scenarios in {took:.2} s: {}{flaky}", counts.join(", "));
        format!("{scenarios}\n{}", self.checks(summary))
    }

    /// Formats the summary of the always-on checks.
    pub fn checks(&self, summary: &RunSummary) -> String {
        let observations: u64 = summary.checks.values().map(|total| total.observations).sum();
        let mut out = format!(
            "{} always-on checks, {observations} observations: {} held, {} broken",
            summary.checks.len(),
            summary.checks_with(Status::Pass),
            summary.checks_with(Status::Fail),
        );
        for (status, word) in [(Status::Warn, "warned"), (Status::Note, "noted")] {
            let count = summary.checks_with(status);
            if count > 0 {
                let _ = write!(out, ", {count} {word}");
            }
        }
        let idle = summary.checks_with(Status::Untested);
        if idle > 0 {
            let _ = write!(out, ", {idle} not exercised");
        }
        if let Some(whole) = self.kept.name() {
            let _ = write!(out, "\ntranscript: {whole}");
        }
        out.push('\n');
        out
    }

    fn tag(&self, status: Status) -> String {
        let colour = match status {
            Status::Pass => "32",
            Status::Fail | Status::Error => "1;31",
            Status::Warn | Status::Untested => "33",
            Status::Note | Status::Known => "36",
            Status::Skip => "2",
        };
        let word = format!("{:>8}", status.word());
        if self.style.colour { format!("\u{1b}[{colour}m{word}\u{1b}[0m") } else { word }
    }
}

fn plain(report: &FailureReport, help: &str) -> String {
    format!(
        "  {}\n  at {}:{}:{}: {}\n  {}\n",
        report.message.lines(),
        report.file,
        report.line,
        report.column,
        report.label.lines(),
        help.replace('\n', "\n  ")
    )
}

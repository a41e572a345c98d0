//! Writes the reports of a run while the run is in progress.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use litemap::LiteMap;
use serde_json::json;

use crate::report::baseline::FailureBaseline;
use crate::report::cause::CauseFold;
use crate::report::connection_logs::{LogWriter, RecorderGroup, file_part};
use crate::report::console::{ConsoleDetail, ConsoleReport, TranscriptPlace};
use crate::report::event::{CaseReport, CaseStart, RunHeader, SourceText};
use crate::report::first::{as_json, fix_first, is_to_mend};
use crate::report::github;
use crate::report::jsonl::RunWriter;
use crate::report::junit::{JunitReport, UNFINISHED};
use crate::report::outage::VoidCase;
use crate::report::redact::SecretRedactor;
use crate::report::rule_quotes::RuleQuotes;
use crate::report::sarif::SarifReport;
use crate::report::skips::SkipReasons;
use crate::report::summary::RunSummary;
use crate::run::plan::PlannedScenario;
use crate::run::play::{CountingRecorder, TranscriptRecorder};
use crate::run::setup::CaseSetup;
use crate::run::side::AgentSide;
use crate::verdict::{FailOn, Status};
use crate::wire::foreign_text::ForeignText;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files::{self, create, replace};
use super::log_folder::{self, prepared};
use super::options::{ReportOption, RunReport};

/// The folder for the transcript if no `jsonl` report is requested. The harness uses this folder only if it exists.
const FOLDER: &str = "reports";

/// The maximum number of drawings of failed scenarios that the brief output format keeps.
const DRAWINGS: usize = 200;
/// The interval at which the progress line is updated.
const PROGRESS: Duration = Duration::from_millis(200);

/// The reports of one run.
pub(super) struct RunReports<'a> {
    context: &'a CliContext,
    redactor: SecretRedactor,
    console: ConsoleReport,
    summary: RunSummary,
    writers: Vec<RunWriter>,
    junit: Vec<(PathBuf, JunitReport)>,
    sarif: Vec<(PathBuf, SarifReport)>,
    /// The folder for connection logs, and the writers of these logs.
    logs: Option<PathBuf>,
    log_writers: Vec<LogWriter>,
    /// The failures, grouped by cause.
    causes: CauseFold,
    skips: SkipReasons,
    /// The description of each failed scenario, by number. In the brief output format, only the first scenario of each
    /// cause has a description.
    drawings: LiteMap<u32, String>,
    /// The number of scenarios, and the number of scenarios that have ended.
    scenarios: usize,
    ended: usize,
    /// The time of the last update of the progress line.
    progressed: Option<Instant>,
    quiet: bool,
    /// Whether the run only writes files and prints nothing.
    silent: bool,
    faults: Vec<String>,
    remarks: Vec<String>,
    /// The reasons why scenarios were not played. The number counts the further scenarios with the same reason.
    unplayed: Vec<(ForeignText, usize)>,
    /// The header and the failures of the run, for the job summary.
    header: RunHeader,
    /// The first scenario that made the run fail.
    first_failure: Option<String>,
    /// The path of the baseline to write at the end.
    renewed: Option<PathBuf>,
}

impl<'a> RunReports<'a> {
    /// Also shows the messages in the user's own scenarios that do not conform to the tables.
    pub(super) fn shows_own_frames(&mut self) {
        self.console.shows_own_frames();
    }

    pub(super) fn open(
        context: &'a CliContext,
        wanted: &[RunReport],
        redactor: &SecretRedactor,
        fail_on: FailOn,
        quiet: bool,
        header: &RunHeader,
    ) -> Result<RunReports<'a>, CommandStop> {
        let mut writers = Vec::new();
        let mut junit = Vec::new();
        let mut sarif = Vec::new();
        let mut transcript = None;
        let mut logs = None;
        let folder = Path::new(FOLDER);
        let usual = RunReport::Shared(ReportOption::Jsonl(folder.join("run.jsonl")));
        let has_jsonl =
            wanted.iter().any(|report| matches!(report, RunReport::Shared(ReportOption::Jsonl(_))));
        let usual = (!has_jsonl && folder.is_dir()).then_some(&usual);
        for report in wanted.iter().chain(usual) {
            match report {
                RunReport::Shared(ReportOption::Jsonl(path)) => {
                    let out = Box::new(create(path)?);
                    let writer = RunWriter::new(out, redactor.clone());
                    writer.about("header", header);
                    writers.push(writer);
                    transcript.get_or_insert(path.display().to_string());
                }
                RunReport::AhpLog(path) => logs = Some(prepared(path)?),
                RunReport::Sarif(path) => {
                    // Until the run is over, the file says that the run was not successful and has no results.
                    let report = SarifReport::default();
                    let unfinished = report.unfinished(header);
                    replace(path, &redactor.text(&format!("{unfinished:#}\n")))?;
                    sarif.push((path.clone(), report));
                }
                RunReport::Shared(ReportOption::Junit(path)) => {
                    replace(path, UNFINISHED)?;
                    junit.push((path.clone(), JunitReport::about(header)));
                }
            }
        }
        let console = ConsoleReport::new(
            context.style,
            match (transcript, &logs) {
                (None, Some(folder)) => TranscriptPlace::Folder(folder.display().to_string()),
                (transcript, _) => TranscriptPlace::in_file(transcript),
            },
            RuleQuotes::of_run(header),
        );
        Ok(RunReports {
            context,
            redactor: redactor.clone(),
            console,
            summary: RunSummary::of_party(header.standard(), header.party(), fail_on),
            writers,
            junit,
            sarif,
            logs,
            log_writers: Vec::new(),
            causes: CauseFold::default(),
            skips: SkipReasons::default(),
            drawings: LiteMap::new(),
            scenarios: 0,
            ended: 0,
            progressed: None,
            quiet,
            silent: false,
            faults: Vec::new(),
            remarks: Vec::new(),
            unplayed: Vec::new(),
            header: header.clone(),
            first_failure: None,
            renewed: None,
        })
    }

    /// Writes the files of a run that could not begin. The files list every scenario as not judged.
    pub(super) fn unreachable(
        mut self,
        planned: &[PlannedScenario],
        reason: &str,
    ) -> Result<(), CommandStop> {
        self.silent = true;
        for (number, planned) in planned.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let report = match &planned.skip {
                Some(skip) => CaseReport::skipped(number, planned, skip.clone()),
                None => {
                    let (entry, reason) = (&planned.entry, reason.to_owned());
                    CaseReport::unplayed(number, entry, Status::Error, reason).with(planned)
                }
            };
            self.case(report, &mut FailureBaseline::default());
        }
        self.finish(Duration::ZERO, CommandExit::Unreachable, false, &[])
    }

    /// Records that a scenario begins. Returns the recorder that writes the scenario's transcript to the first `jsonl`
    /// report and to the connection logs.
    pub(super) fn begin(
        &mut self,
        case: u32,
        planned: &PlannedScenario,
        setup: &CaseSetup,
    ) -> Box<dyn TranscriptRecorder> {
        let entry = &planned.entry;
        let text = |source: &crate::scenario::source::SourceFile| SourceText {
            name: source.name.clone(),
            text: source.text.to_string(),
        };
        let header = &self.header;
        let epoch_us = u64::try_from(setup.epoch.as_micros()).unwrap_or(u64::MAX);
        let start = CaseStart {
            case,
            scenario: entry.scenario.id.clone(),
            name: setup.name.clone(),
            sources: entry.sources.iter().map(text).collect(),
            epoch_us: (epoch_us != header.epoch_us).then_some(epoch_us),
            provider: planned.agent.as_ref().map(|agent| agent.provider.clone()),
            side: (setup.side != AgentSide::default()).then(|| setup.side.clone()),
            ..CaseStart::default()
        };
        let mut recorders: Vec<Box<dyn TranscriptRecorder>> = Vec::new();
        if let Some(writer) = self.writers.first() {
            writer.about("case", &start);
            recorders.push(writer.recorder(Some(case)));
        }
        if let Some(folder) = &self.logs {
            let what = format!("seed {} scenario {case}", header.seed);
            let place = folder.join(format!("{case:04}-{}", file_part(&entry.scenario.id)));
            let writer = log_folder::writer(place, self.redactor.clone(), setup.epoch, &what);
            recorders.push(writer.recorder());
            self.log_writers.push(writer);
        }
        match recorders.len() {
            0 => Box::new(CountingRecorder::default()),
            1 => recorders.remove(0),
            _ => Box::new(RecorderGroup(recorders)),
        }
    }

    /// Sets the baseline that is written at the end.
    pub(super) fn renew(&mut self, baseline: Option<&Path>) {
        self.renewed = baseline.map(Path::to_owned);
    }

    /// Records a scenario that was not played, and counts scenarios with the same reason.
    pub(super) fn unplayed(&mut self, report: CaseReport, baseline: &mut FailureBaseline) {
        if report.status != Status::Skip {
            let known = self.unplayed.iter_mut().find(|(reason, _)| *reason == report.reason);
            if let Some((_, count)) = known {
                *count += 1;
                return self.add(report, baseline, false);
            }
            self.unplayed.push((report.reason.clone(), 0));
        }
        self.add(report, baseline, true);
    }

    /// Records that a scenario has ended.
    pub(super) fn case(&mut self, report: CaseReport, baseline: &mut FailureBaseline) {
        self.add(report, baseline, true);
    }

    /// Returns the first scenario that made the run fail, by its own result or by a finding of the checks.
    pub(super) fn first_failure(&self) -> Option<&str> {
        self.first_failure.as_deref()
    }

    fn add(&mut self, mut report: CaseReport, baseline: &mut FailureBaseline, told: bool) {
        baseline.settle(&mut report, self.summary.fail_on);
        self.ended += 1;
        self.summary.add(&report);
        self.causes.add(&report);
        self.skips.add(&report);
        // A known finding does not stop the run, so the baseline is applied to the checks now and again at the
        // end.
        baseline.settle_checks(&mut self.summary);
        if self.first_failure.is_none() && self.summary.failed() {
            self.first_failure = Some(report.name());
        }
        for writer in &self.writers {
            writer.about("result", &report);
        }
        self.log_writers.iter().for_each(LogWriter::flush);
        for (_, junit) in &mut self.junit {
            junit.add(&report);
        }
        for (_, sarif) in &mut self.sarif {
            sarif.add(&report);
        }
        if !told {
            return;
        }
        let passed = matches!(report.status, Status::Pass | Status::Skip);
        if !(self.silent || self.quiet && passed) && self.console.tells(report.status) {
            self.say(&self.console.progress(&report));
        }
        let held = matches!(report.status, Status::Pass | Status::Skip | Status::Known);
        let drawn = self.console.format() == ConsoleDetail::Full || self.drawings.len() < DRAWINGS;
        if !held && drawn {
            self.drawings.insert(report.case, self.console.failure(&report));
        }
        // Each update groups the causes again, so an update after every scenario would make a run quadratic.
        let due = self.progressed.is_none_or(|at| at.elapsed() > PROGRESS);
        if !self.silent && due && self.context.shows_progress() {
            self.progressed = Some(Instant::now());
            let broken = self.causes.by_cause().iter().filter(|cause| is_to_mend(cause)).count();
            let (ended, scenarios) = (self.ended, self.scenarios);
            self.context
                .progress(&format!("{ended} of {scenarios} scenarios, {broken} causes to fix"));
        }
    }

    /// Returns the failures so far.
    pub(super) fn causes(&self) -> &CauseFold {
        &self.causes
    }

    /// Records that a scenario was played and its result is not used.
    pub(super) fn void(&mut self, void: &VoidCase) {
        for writer in &self.writers {
            writer.about("void", void);
        }
    }

    /// Adds a remark for the end of the run that does not affect the verdict.
    pub(super) fn remark(&mut self, text: &str) {
        self.remarks.push(text.to_owned());
    }

    /// Records that the run begins.
    pub(super) fn header(&mut self, header: &RunHeader, scenarios: usize, format: ConsoleDetail) {
        self.scenarios = scenarios;
        self.console = self.console.clone().with_format(format, scenarios);
        self.say(&self.console.header(header, scenarios));
    }

    fn say(&self, text: &str) {
        if self.console.format() == ConsoleDetail::Json {
            return;
        }
        self.context.progress("");
        self.context.say(&self.redactor.text(text));
    }

    /// Records a defect of the harness.
    pub(super) fn fault(&mut self, what: &str) {
        self.faults.push(what.to_owned());
    }

    /// Ends the run: writes all files and returns the exit code.
    pub(super) fn close(
        mut self,
        took: Duration,
        mut baseline: FailureBaseline,
        interrupted: bool,
    ) -> CommandOutcome {
        baseline.settle_checks(&mut self.summary);
        let stale = baseline.stale();
        // A run that ended early says nothing about the remaining scenarios.
        let whole = self.faults.is_empty() && !interrupted;
        let renewed = self.renewed.take().filter(|_| whole);
        let stale = if renewed.is_some() { Vec::new() } else { stale };
        let code = match () {
            () if !self.faults.is_empty() => CommandExit::Fault,
            () if interrupted => CommandExit::Interrupted,
            // A new baseline makes a run a success only if every scenario was judged.
            () if renewed.is_some() && self.summary.count(Status::Error) == 0 => CommandExit::Ok,
            () if self.summary.failed() || !stale.is_empty() => CommandExit::Failed,
            () => CommandExit::Ok,
        };
        let full = self.console.format() == ConsoleDetail::Full;
        if full {
            let failures: String = self.drawings.values().map(String::as_str).collect();
            if !failures.is_empty() {
                self.say(&format!("\n{failures}"));
            }
        }
        if self.context.github {
            let own = self.console.own_frames();
            for command in github::annotations(&self.causes, &self.header, &stale, own) {
                self.context.command(&command.redacted(&self.redactor));
            }
        }
        if self.context.step_summary.is_some() {
            let verdict = match code {
                CommandExit::Ok => "passed",
                CommandExit::Interrupted => "interrupted",
                _ => "failed",
            };
            let text = github::summary(&self.header, &self.summary, &self.causes, &stale, verdict);
            self.context.summarise(&self.redactor.text(&text));
        }
        if full {
            let findings = self.console.findings(&self.summary);
            if !findings.is_empty() {
                self.say(&format!("\n{findings}"));
            }
        }
        for (reason, more) in self.unplayed.iter().filter(|(_, more)| *more > 0) {
            self.say(&format!("{more} more scenarios: {}\n", reason.lines()));
        }
        for line in stale.iter().chain(&self.faults).chain(&self.remarks) {
            self.say(&format!("{line}\n"));
        }
        let causes = match full {
            true => fix_first(&self.causes, &self.header, |status| format!("{:>8}", status.word())),
            false => self.console.causes(&self.causes, &self.header, &self.drawings),
        };
        if !causes.is_empty() {
            self.say(&format!("\n{causes}"));
        }
        self.say(&format!("\n{}", self.console.summary(&self.summary, took)));
        if !self.console.tells(Status::Skip) {
            self.say(&self.skips.lines());
        }
        if self.console.format() == ConsoleDetail::Json {
            let run = as_json(&self.causes, &self.header, &self.summary, code as u8);
            self.context.say_json(&self.redactor.text(&format!("{run:#}")));
        }
        if let Some(path) = renewed {
            files::write(&path, baseline.renewed())?;
            let fresh = baseline.fresh();
            self.say(&format!("baseline: {}, {fresh} new entries\n", path.display()));
        }
        self.finish(took, code, interrupted, &stale)?;
        Ok(code)
    }

    /// Writes the end of each file.
    fn finish(
        mut self,
        took: Duration,
        code: CommandExit,
        interrupted: bool,
        stale: &[String],
    ) -> Result<(), CommandStop> {
        let footer = json!({
            "scenarios": self.summary.counts,
            "checks": self.summary.checks,
            "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "interrupted": interrupted,
            "stale": stale,
            "exit": code as u8,
        });
        for writer in &self.writers {
            writer.about("footer", &footer);
            writer.finish().map_err(|error| {
                CommandStop::fault(format!("the transcript could not be written: {error}"))
            })?;
        }
        for writer in &self.log_writers {
            writer.finish().map_err(|error| {
                CommandStop::fault(format!("the logs could not be written: {error}"))
            })?;
        }
        for (path, junit) in std::mem::take(&mut self.junit) {
            let mut report = Vec::new();
            junit.write(&self.summary, stale, &mut report).map_err(|error| {
                CommandStop::fault(format!("`{}` could not be written: {error}", path.display()))
            })?;
            replace(&path, &self.redactor.text(&String::from_utf8_lossy(&report)))?;
        }
        let whole = !interrupted && matches!(code, CommandExit::Ok | CommandExit::Failed);
        for (path, sarif) in std::mem::take(&mut self.sarif) {
            let report = sarif.report(&self.header, &self.causes, stale, (code as u8, whole));
            replace(&path, &self.redactor.text(&format!("{report:#}\n")))?;
        }
        Ok(())
    }
}

//! A finished run, read from its file. The reports that are made after a run use only this data.
//!
//! Only the frames that explain a failure are kept: frames around the lines of evidence, in scenarios that did
//! not hold. [`ResultLimit`] bounds the number of results.
//!
//! Start at [`FinishedRun::read`].

use std::io::BufRead;

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::transcript::reader::{self, TranscriptReader};
use crate::verdict::{FailOn, Status, Weight};
use crate::wire::foreign_text::ForeignText;

use super::conversation::{ConversationLine, DrawnConversation, ProofLine};
use super::event::{CaseReport, CaseStart, RunHeader, SourceText};
use super::excerpt;
use super::result_limit::{LastLines, ResultLimit};
use super::summary::{CheckTotal, RunSummary};

/// A run that was written to a file.
#[derive(Debug, Default)]
pub struct FinishedRun {
    /// The facts that are known before the first scenario.
    pub header: RunHeader,
    /// The scenarios, in the order in which they ended.
    pub cases: Vec<FinishedCase>,
    /// The number of results that are counted but are not in `cases`, because the run has too many results.
    pub left_out: u64,
    /// The summary of the scenarios.
    pub summary: RunSummary,
    /// The summary for each tested agent of a host with several agents.
    pub agents: LiteMap<String, AgentSummary>,
    /// The last line of the file; `None` if the file was cut off.
    pub footer: Option<RunFooter>,
}

/// The summary of the scenarios that were played with an agent or once for all agents.
#[derive(Debug)]
pub struct AgentSummary {
    /// The number of scenarios that were planned for the agent, by status.
    pub scenarios: LiteMap<Status, u64>,
    /// The summary of all these scenarios.
    pub summary: RunSummary,
}

/// One scenario of the run.
#[derive(Debug)]
pub struct FinishedCase {
    /// The report of the scenario.
    pub report: CaseReport,
    /// The sources; empty if the scenario held.
    pub sources: Vec<SourceText>,
    /// The frames around the lines of evidence; empty if the scenario held.
    pub frames: Vec<ConversationLine>,
    /// The number of transcript lines that are not in `frames`.
    pub left_out: u64,
    /// The seed of the scenario's identifiers, if it differs from the seed in the header because several runs were
    /// merged.
    pub seed: Option<u64>,
}

/// The last line of a run file.
#[derive(Clone, Debug, Deserialize)]
pub struct RunFooter {
    /// The duration of the run, in milliseconds.
    pub took_ms: u64,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
    /// The exit code of the run.
    pub exit: u8,
    /// The baseline entries that no longer fail.
    #[serde(default)]
    pub stale: Vec<String>,
    /// The always-on checks, with the baseline applied.
    pub checks: LiteMap<String, CheckTotal>,
}

/// The maximum number of scenarios that have begun but whose result has not been read yet.
pub(super) const MAX_OPEN: usize = 1_000;
/// The maximum number of bytes of the sources of the scenarios that are read at the same time.
const SOURCE_BYTES: usize = 4 << 20;

impl FinishedRun {
    /// Reads the file of a run. A file that was cut off is read as far as possible.
    ///
    /// # Errors
    /// Returns the line and the reason if the file is not the file of a run.
    pub fn read(input: impl BufRead) -> Result<FinishedRun, String> {
        let mut reading = RunReading::default();
        let mut reader = TranscriptReader::new(input);
        loop {
            match reader.next_line() {
                Ok(Some((number, text))) => reading.line(number, text)?,
                Ok(None) => break,
                Err(error) if error.last => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        if reading.header.is_none() {
            return Err("1: expected the header of a run (hint: `ahp-harness run --report \
                        jsonl=FILE` writes such a file)"
                .to_owned());
        }
        Ok(reading.finish())
    }
}

impl AgentSummary {
    /// Adds a scenario, unless it was played with a different agent.
    fn add(&mut self, provider: &str, report: &CaseReport) {
        if report.provider.as_deref().is_some_and(|other| other != provider) {
            return;
        }
        self.summary.add(report);
        if report.provider.is_some() {
            *self.scenarios.entry(report.status).or_default() += 1;
        }
    }
}

/// Returns the report and the whole conversation of one scenario. If the scenario was repeated, returns the
/// first repetition that did not hold, or else the first repetition.
///
/// # Errors
/// Returns an error if the file is unreadable.
pub fn one(
    input: impl BufRead,
    scenario: &str,
) -> Result<Option<(CaseReport, DrawnConversation)>, String> {
    let mut open: LiteMap<u32, LastLines> = LiteMap::new();
    let (mut found, mut held) = (None, 0);
    let mut reader = TranscriptReader::new(input);
    while let Some((number, text)) = reader.next_line().map_err(|error| error.to_string())? {
        let wrong = |error: serde_json::Error| format!("{number}: {error}");
        match reader::about(text).as_deref() {
            Some("case") => {
                let start: CaseStart = serde_json::from_str(text).map_err(wrong)?;
                if start.scenario == scenario && open.len() < MAX_OPEN {
                    open.insert(start.case, LastLines::default());
                }
            }
            Some("result") => {
                let report: CaseReport = serde_json::from_str(text).map_err(wrong)?;
                let Some(lines) = open.remove(&report.case) else { continue };
                held -= lines.bytes();
                let passed = report.status == Status::Pass;
                if found.is_none() || !passed {
                    found = Some((report, DrawnConversation::of(lines.iter())));
                }
                if !passed {
                    break;
                }
            }
            Some(_) => {}
            None => {
                if let Some(lines) = case_of(text).and_then(|case| open.get_mut(&case)) {
                    lines.push(number, text, &mut held);
                }
            }
        }
    }
    Ok(found)
}

#[derive(Default)]
struct RunReading {
    header: Option<RunHeader>,
    open: LiteMap<u32, OpenCase>,
    /// The number of bytes of the lines that are kept for scenarios without a result so far. `source_bytes` is the
    /// number of bytes of the sources of these scenarios.
    held: usize,
    source_bytes: usize,
    limit: ResultLimit,
    finished: FinishedRun,
}

/// A scenario whose end has not been read yet.
#[derive(Default)]
struct OpenCase {
    sources: Vec<SourceText>,
    lines: LastLines,
    seed: Option<u64>,
}

impl OpenCase {
    fn source_bytes(&self) -> usize {
        self.sources.iter().map(|source| source.text.len()).sum()
    }
}

impl RunReading {
    fn line(&mut self, number: u64, text: &str) -> Result<(), String> {
        let wrong = |error: serde_json::Error| format!("{number}: {error}");
        match reader::about(text).as_deref() {
            Some("header") => {
                let header: RunHeader = serde_json::from_str(text).map_err(wrong)?;
                let tested = header.agents.iter().filter(|agent| agent.untested.is_none());
                let empty = || AgentSummary {
                    scenarios: LiteMap::new(),
                    summary: RunSummary::of_party(
                        header.standard(),
                        header.party(),
                        FailOn::default(),
                    ),
                };
                self.finished.agents =
                    tested.map(|agent| (agent.provider.clone(), empty())).collect();
                self.header = Some(header);
            }
            Some("case") => {
                let start: CaseStart = serde_json::from_str(text).map_err(wrong)?;
                let CaseStart { case, sources, seed, .. } = start;
                if self.open.len() >= MAX_OPEN {
                    return Err(format!(
                        "{number}: expected at most {MAX_OPEN} scenarios without a result, found more"
                    ));
                }
                let mut open = OpenCase { sources, seed, ..OpenCase::default() };
                if self.source_bytes + open.source_bytes() > SOURCE_BYTES {
                    open.sources.clear();
                }
                self.source_bytes += open.source_bytes();
                self.open.insert(case, open);
            }
            Some("result") => {
                let report: CaseReport = serde_json::from_str(text).map_err(wrong)?;
                let open = self.open.remove(&report.case).unwrap_or_default();
                self.held -= open.lines.bytes();
                self.source_bytes -= open.source_bytes();
                self.finished.summary.add(&report);
                self.add(report, open);
            }
            Some("footer") => {
                self.finished.footer = Some(serde_json::from_str(text).map_err(wrong)?);
            }
            Some(_) => {}
            None => {
                let case = case_of(text);
                if let Some(open) = case.and_then(|case| self.open.get_mut(&case)) {
                    open.lines.push(number, text, &mut self.held);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, mut report: CaseReport, open: OpenCase) {
        for (provider, agent) in self.finished.agents.iter_mut() {
            agent.add(provider, &report);
        }
        // Checks without findings are dropped, because the summary has their totals.
        report.checks.retain(|line| !line.findings.is_empty());
        // Otherwise, each of thousands of results would keep the memory that was allocated for all checks.
        report.checks.shrink_to_fit();
        let case = FinishedCase::of(report, open);
        let report = &case.report;
        if self.limit.takes(report.status, &report.name(), case.bytes()) {
            self.finished.cases.push(case);
        }
    }

    fn finish(self) -> FinishedRun {
        let mut finished = self.finished;
        finished.left_out = self.limit.left_out;
        finished.header = self.header.unwrap_or_default();
        // Only the footer contains the checks after the baseline was applied.
        if let Some(footer) = &finished.footer {
            finished.summary.checks = footer.checks.clone();
        }
        finished
    }
}

/// Returns the number of the scenario to which a line belongs, which is the first member of the line.
pub(super) fn case_of(text: &str) -> Option<u32> {
    let rest = text.strip_prefix("{\"case\":")?;
    rest[..rest.find(',')?].parse().ok()
}

impl FinishedCase {
    fn of(report: CaseReport, open: OpenCase) -> FinishedCase {
        let proofs = proofs(&report);
        let held = matches!(report.status, Status::Pass | Status::Skip) && proofs.is_empty();
        let seed = open.seed;
        if held {
            return FinishedCase {
                report,
                sources: Vec::new(),
                frames: Vec::new(),
                left_out: 0,
                seed,
            };
        }
        let (frames, left_out) = DrawnConversation::of(open.lines.iter()).chosen(&proofs);
        let left_out = open.lines.left_out + left_out;
        FinishedCase { report, sources: open.sources, frames, left_out, seed }
    }

    /// Returns an estimate of the size in memory, in bytes.
    fn bytes(&self) -> usize {
        let sources: usize = self.sources.iter().map(|source| source.text.len()).sum();
        let frames: usize = self.frames.iter().map(|frame| frame.text.raw().len()).sum();
        size_of_json(&self.report) + sources + frames
    }
}

/// Returns the length of a value as JSON, in bytes.
pub(super) fn size_of_json(value: &impl Serialize) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = ByteCounter(0);
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Returns the lines of evidence in the report of a scenario, each with the names of the members that its finding is
/// about.
pub fn proofs(report: &CaseReport) -> Vec<ProofLine> {
    let failures = report.failures().map(|failure| (&failure.message, &failure.transcript));
    let findings = report.checks.iter().flat_map(|check| &check.findings);
    let heavy = findings.filter(|finding| finding.weight > Weight::Note);
    let all = failures.chain(heavy.map(|finding| (&finding.message, &finding.transcript)));
    let proof = |(message, lines): (&ForeignText, &Vec<u64>)| {
        let message = message.raw();
        let members = excerpt::path_in(message).map(excerpt::members_of).unwrap_or_default();
        let client = message.strip_prefix("client `").and_then(|rest| rest.split('`').next());
        let client = client.map(str::to_owned);
        let proof = |line: &u64| ProofLine {
            line: *line,
            members: members.clone(),
            client: client.clone(),
        };
        lines.iter().map(proof).collect::<Vec<_>>()
    };
    all.flat_map(proof).collect()
}

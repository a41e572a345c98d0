//! Replays a transcript from its file, without a host. The replay reaches the same verdicts as the original run.
//!
//! Every scenario of a `run.jsonl` is played again with the host's messages from the file, and must send the same
//! messages as in the file. Other captures have no scenarios; only the always-on checks judge such captures.

use std::collections::HashSet;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use litemap::LiteMap;

use crate::run::detect;
use crate::run::output::DriverOutput;
use crate::run::play::{ScenarioPlay, TranscriptRecorder};
use crate::run::setup::{CaseSetup, TestedClientSetup};
use crate::run::suite;
use crate::scenario::load::{FileSource, load};
use crate::transcript::ahp_log;
use crate::transcript::line::{self, TranscriptLine};
use crate::transcript::reader::{self, CaptureUnreadable, TranscriptReader};
use crate::transcript::{ClosingSide, ConnId, ConnectionEvent};
use crate::verdict::{CheckReport, FailOn, Status};
use crate::wire::version::{ProtocolStandard, Version};

use super::event::{CaseReport, CaseStart, CaseStop, CheckLine, FORMAT, RunHeader};
use super::finished::{MAX_OPEN, size_of_json};
use super::foreign_capture::ForeignCapture;
use super::judged_subject::JudgedSubject;
use super::outage::VoidCase;
use super::redact::{MARK, REDACTED};
use super::result_limit::ResultLimit;
use super::summary::{CheckTotal, OWN_FRAMES, RunSummary};

/// The result of judging a file.
#[derive(Debug, Default)]
pub struct JudgedFile {
    /// The header of the run; `None` for a capture from elsewhere.
    pub header: Option<RunHeader>,
    /// The scenarios, in the order in which they ended, within [`ResultLimit`].
    pub cases: Vec<CaseReport>,
    /// The summary of the scenarios.
    pub summary: RunSummary,
    /// The protocol version, if the file or the caller names a version.
    pub version: Option<Version>,
    /// The duration of the transcript.
    pub took: Duration,
    /// The number of connections outside any scenario.
    pub connections: u32,
    /// The number of messages outside any scenario.
    pub messages: u64,
    /// Remarks about irregularities of the file.
    pub notes: Vec<String>,
    /// Whether a line in the middle of the file is unreadable. The replay judges only the lines before an
    /// unreadable line.
    pub broken: bool,
    /// The differences between the verdicts of the replay and the verdicts in the file.
    pub differences: Vec<String>,
    /// The party that was judged.
    pub subject: JudgedSubject,
}

impl JudgedFile {
    /// Returns the reason why no message of a capture could be judged, with advice; `None` if any message was
    /// judged.
    pub fn nothing(&self) -> Option<String> {
        // The check of the harness's own frames is no evidence about a host.
        let of_host = |(check, _): &(&String, &CheckTotal)| *check != OWN_FRAMES;
        let totals = self.summary.checks.iter().filter(of_host);
        let observed = totals.map(|(_, total)| total.observations).sum::<u64>() > 0;
        if observed || self.summary.failed() || !self.cases.is_empty() {
            return None;
        }
        Some(match self.messages {
            _ if self.subject.client.is_some() => self.subject.nobody(),
            0 => "there is no message in it (hint: lines with `dir` `c2s` and `s2c` are messages)"
                .to_owned(),
            count => format!(
                "its {count} messages test no rule, since they have no successful handshake with a \
                 known version, or no message of the host (hint: `--assume 1.0.0` if the handshake \
                 is not in the file)"
            ),
        })
    }
}

/// Judges a file up to the first unreadable line. Later lines are not judged, because the host would be blamed for the
/// messages that are missing between them.
///
/// # Errors
/// Returns an error if the first line is unreadable.
pub fn judge(
    input: impl BufRead,
    assume: Option<Version>,
    fail_on: FailOn,
) -> Result<JudgedFile, CaptureUnreadable> {
    judge_subject(input, assume, fail_on, &JudgedSubject::default())
}

/// Judges one party of the conversations in a file, as [`judge`] does. Clients can be judged only in a capture, because
/// the clients in the file of a run are clients of the harness.
///
/// # Errors
/// Returns an error if the first line is unreadable, or if the file has no clients to judge.
pub fn judge_subject(
    input: impl BufRead,
    assume: Option<Version>,
    fail_on: FailOn,
    subject: &JudgedSubject,
) -> Result<JudgedFile, CaptureUnreadable> {
    let summary = subject.summary(ProtocolStandard::Ahp, fail_on);
    let mut replay = RunReplay {
        judged: JudgedFile { summary, subject: subject.clone(), ..JudgedFile::default() },
        assume,
        header: None,
        cases: LiteMap::new(),
        limit: ResultLimit::default(),
        unequal: 0,
        foreign: None,
        begun: false,
        ended: false,
    };
    let mut reader = TranscriptReader::new(input);
    let mut first = true;
    loop {
        let read = match reader.next_line() {
            Ok(None) => break,
            Ok(Some((number, text))) => replay.line(number, text),
            Err(error) if first => return Err(error),
            Err(error) => {
                replay.stopped(error);
                break;
            }
        };
        match read.map_err(|reason| reader.unreadable(reason)) {
            Ok(()) => first = false,
            Err(error) if first => return Err(error),
            Err(error) => {
                replay.stopped(error);
                break;
            }
        }
    }
    Ok(replay.finish())
}

/// Judges a capture in memory with the always-on checks. Line numbers count from 1.
pub fn judge_lines(lines: &[TranscriptLine], assume: Option<Version>) -> Vec<CheckReport> {
    judge_lines_of(lines, assume, &JudgedSubject::default())
}

/// Judges one party of a capture in memory, as [`judge_lines`] does.
pub fn judge_lines_of(
    lines: &[TranscriptLine],
    assume: Option<Version>,
    subject: &JudgedSubject,
) -> Vec<CheckReport> {
    let mut foreign = ForeignCapture::new(assume, subject.clone());
    for (number, line) in (1..).zip(lines) {
        if foreign.line(number, line.clone()).is_err() {
            break;
        }
    }
    foreign.oracle.finish()
}

struct RunReplay {
    judged: JudgedFile,
    assume: Option<Version>,
    header: Option<RunHeader>,
    cases: LiteMap<u32, ReplayedScenario>,
    limit: ResultLimit,
    /// The number of differences between the replay and the file, including those that are not listed.
    unequal: usize,
    foreign: Option<ForeignCapture>,
    /// Whether the file begins with the first line that a recorder of the harness writes. `ended` says whether the file
    /// has the last line of a recording or run.
    begun: bool,
    ended: bool,
}

impl RunReplay {
    fn line(&mut self, number: u64, text: &str) -> Result<(), String> {
        if let Some(kind) = reader::about(text) {
            return self.about(&kind, text);
        }
        let line = line::read(text).map_err(|error| match ahp_log::is_log(text) {
            true => {
                "expected a line of a capture, as before, found a line of a log (hint: keep the two in separate files)"
                    .to_owned()
            }
            false => error.to_string(),
        })?;
        self.judged.took = self.judged.took.max(line.at);
        match line.case {
            Some(case) => {
                let found = self.cases.get_mut(&case);
                let found =
                    found.ok_or_else(|| format!("case {case} did not begin before this line"))?;
                found.line(number, line);
            }
            None => {
                let (assume, subject) = (self.assume, &self.judged.subject);
                let new = || ForeignCapture::new(assume, subject.clone());
                let foreign = self.foreign.get_or_insert_with(new);
                foreign.line(number, line)?;
            }
        }
        Ok(())
    }

    fn about(&mut self, kind: &str, text: &str) -> Result<(), String> {
        let wrong = |error: serde_json::Error| format!("not a `{kind}` line of a run: {error}");
        match kind {
            "header" => {
                if self.judged.subject.is_client() {
                    return Err(
                        "expected a capture, found a run, whose clients are those of the harness"
                            .to_owned(),
                    );
                }
                let header: RunHeader = serde_json::from_str(text).map_err(wrong)?;
                if header.format != FORMAT {
                    return Err(format!(
                        "expected a run of format {FORMAT}, found {} (hint: it was written by ahp-harness {})",
                        header.format, header.harness
                    ));
                }
                self.header = Some(header);
            }
            "case" => {
                let start: CaseStart = serde_json::from_str(text).map_err(wrong)?;
                let header =
                    self.header.as_ref().ok_or("expected a `header` line before this one")?;
                if self.cases.len() >= MAX_OPEN {
                    return Err(format!(
                        "expected at most {MAX_OPEN} scenarios without a result, found more"
                    ));
                }
                self.cases.insert(start.case, ReplayedScenario::new(&start, header)?);
            }
            "result" => {
                let report: CaseReport = serde_json::from_str(text).map_err(wrong)?;
                self.result(report);
            }
            "stop" => {
                let stop: CaseStop = serde_json::from_str(text).map_err(wrong)?;
                if let Some(replayed) = self.cases.get_mut(&stop.case) {
                    replayed.stop(&stop);
                }
            }
            "void" => {
                let void: VoidCase = serde_json::from_str(text).map_err(wrong)?;
                self.cases.remove(&void.case);
            }
            "capture" => self.begun = true,
            "footer" | "end" => self.ended = true,
            _ => {}
        }
        Ok(())
    }

    fn result(&mut self, recorded: CaseReport) {
        let Some(replayed) = self.cases.remove(&recorded.case) else {
            // The scenario was not played, so there is nothing to replay.
            return self.keep(recorded);
        };
        let (mut report, odd) = replayed.finish(&recorded);
        if let Some(outage) = &recorded.outage {
            report = report.charged(outage.clone());
        }
        let interrupted = recorded.status == Status::Error;
        let known = recorded.status == Status::Known && report.status != Status::Pass;
        if interrupted || known {
            report.status = recorded.status;
            report.reason.clone_from(&recorded.reason);
        }
        let place = &recorded.name();
        if report.status != recorded.status {
            let difference = format!(
                "{place}: {} in the file, {} now",
                recorded.status.word(),
                report.status.word()
            );
            self.differs(difference);
        }
        let findings = |report: &CaseReport| -> usize {
            report.checks.iter().map(|check| check.findings.len()).sum()
        };
        if !interrupted && findings(&report) != findings(&recorded) {
            let difference = format!(
                "{place}: {} findings in the file, {} now",
                findings(&recorded),
                findings(&report)
            );
            self.differs(difference);
        }
        if !interrupted {
            odd.into_iter().for_each(|odd| self.differs(format!("{place}: {odd}")));
        }
        self.keep(report);
    }

    fn keep(&mut self, report: CaseReport) {
        self.judged.summary.add(&report);
        if self.limit.takes(report.status, &report.name(), size_of_json(&report)) {
            self.judged.cases.push(report);
        }
    }

    fn differs(&mut self, difference: String) {
        self.unequal += 1;
        if self.unequal <= MAX_DIFFERENCES {
            self.judged.differences.push(difference);
        }
    }

    /// Records that the rest of the file is unreadable.
    fn stopped(&mut self, error: CaptureUnreadable) {
        let CaptureUnreadable { line, reason, last } = &error;
        let note = match last {
            true => format!("line {line} was cut off with the file: {reason}"),
            false => format!(
                "line {line} cannot be read, only the lines before it were judged: {reason}"
            ),
        };
        self.judged.notes.push(note);
        self.judged.broken = !last;
    }

    fn finish(mut self) -> JudgedFile {
        for (_, replayed) in std::mem::take(&mut self.cases) {
            self.judged.notes.push(format!("`{}` did not end before the file did", replayed.id));
        }
        if self.limit.left_out > 0 {
            self.judged.notes.push(format!(
                "{} results are counted and not listed: the run has too many",
                self.limit.left_out
            ));
        }
        if self.unequal > MAX_DIFFERENCES {
            let more = self.unequal - MAX_DIFFERENCES;
            self.judged.differences.push(format!("and {more} more"));
        }
        let of_run = self.header.as_ref().map(|header| header.version);
        self.judged.version = of_run.or(self.assume);
        if self.header.is_some() && !self.ended {
            self.judged.notes.push("the file has no footer: the run was cut off".to_owned());
        }
        if self.begun && !self.ended {
            let note = "the file has no `end`: the recording was cut off, or is still running";
            self.judged.notes.push(note.to_owned());
        }
        self.judged.header = self.header.take();
        if let Some(foreign) = self.foreign {
            self.judged.connections = foreign.next;
            self.judged.messages = foreign.messages;
            if let (Some(standard), None) = (foreign.standard, &self.judged.header) {
                let fail_on = self.judged.summary.fail_on;
                self.judged.summary = self.judged.subject.summary(standard, fail_on);
            }
            let lines: Vec<CheckLine> =
                foreign.oracle.finish().iter().map(CheckLine::from).collect();
            self.judged.summary.add_checks("the capture", &lines);
        }
        self.judged
    }
}

/// The maximum number of differences that are listed.
const MAX_DIFFERENCES: usize = 100;
/// A scenario that is replayed from the file.
struct ReplayedScenario {
    id: String,
    entry: suite::SuiteEntry,
    play: ScenarioPlay,
    at_line: Arc<Mutex<ReplayPlace>>,
    conns: LiteMap<String, ConnId>,
    odd: Vec<String>,
    /// The clients whose connections the scenario has begun to open.
    opening: HashSet<String>,
    /// The time of the previous line that belongs to the scenario.
    last: Duration,
    /// Whether the scenario ended before its cleanup was complete.
    abandoned: bool,
}

/// The number of the line with the scenario's next event.
#[derive(Debug, Default)]
struct ReplayPlace {
    line: u64,
}

struct FromFile(Arc<Mutex<ReplayPlace>>);

impl TranscriptRecorder for FromFile {
    fn record(&mut self, _at: Duration, _client: &str, _event: &ConnectionEvent) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).line
    }
}

/// The sources of a scenario, as contained in the file.
struct CarriedTexts<'a>(&'a CaseStart);

impl FileSource for CarriedTexts<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = self.0.sources.iter().find(|source| source.name == path);
        found.map(|source| source.text.clone()).ok_or_else(|| "not in the file".to_owned())
    }
}

impl ReplayedScenario {
    fn new(start: &CaseStart, header: &RunHeader) -> Result<ReplayedScenario, String> {
        let first = start.sources.first().ok_or("a case without the text of its scenario")?;
        let loaded = load(&first.name, &first.text, &CarriedTexts(start));
        let scenario = match (loaded.scenario, loaded.errors.first()) {
            (Some(scenario), None) => Arc::new(scenario),
            (_, error) => {
                let reason = error.map(ToString::to_string).unwrap_or_default();
                return Err(format!(
                    "`{}` is not a valid scenario for this version of the harness: {reason}",
                    start.scenario
                ));
            }
        };
        let redacted = |resource: &String| (resource.clone(), REDACTED.to_owned());
        let setup = CaseSetup {
            scenario: Arc::clone(&scenario),
            version: header.version,
            offers: header.offers.clone(),
            seed: start.seed.unwrap_or(header.seed),
            name: start.name.clone(),
            epoch: Duration::from_micros(start.epoch_us.unwrap_or(header.epoch_us)),
            limit: Duration::from_millis(header.limit_ms),
            authenticate: header.authenticated.iter().map(redacted).collect(),
            required_tokens: header.required_tokens.clone(),
            facts: detect::facts(&header.detected, Some(REDACTED)),
            forms: header.forms.clone(),
            secrets: header.secrets.then(|| REDACTED.to_owned()).into_iter().collect(),
            provider: start
                .provider
                .clone()
                .or_else(|| header.provider.as_ref().map(|it| it.raw().to_owned())),
            observe: header.observe,
            agent: header.agent,
            side: start.side.clone().unwrap_or_default(),
            tested: TestedClientSetup::default(),
        };
        let at_line = Arc::new(Mutex::new(ReplayPlace::default()));
        let recorder = Box::new(FromFile(Arc::clone(&at_line)));
        let mut play = ScenarioPlay::new(setup, header.shared, recorder);
        play.begin(Duration::ZERO);
        Ok(ReplayedScenario {
            id: start.scenario.clone(),
            entry: suite::SuiteEntry { scenario, sources: loaded.sources.into() },
            play,
            at_line,
            conns: LiteMap::new(),
            odd: Vec::new(),
            opening: HashSet::new(),
            last: Duration::ZERO,
            abandoned: false,
        })
    }

    fn line(&mut self, number: u64, line: TranscriptLine) {
        self.at_line.lock().unwrap_or_else(PoisonError::into_inner).line = number;
        let at = line.at;
        match line.event {
            ConnectionEvent::Sent(seen) => match self.next_sent(at) {
                Some(DriverOutput::Send { seen: ours, .. }) => {
                    let same = ours.frame == seen.frame || seen.frame.display().contains(MARK);
                    if !same {
                        self.odd
                            .push(format!("line {number}: the scenario sends another frame now"));
                    }
                }
                _ => self.odd.push(format!("line {number}: the scenario sends nothing here now")),
            },
            ConnectionEvent::Closed { by: ClosingSide::Client, .. } => {
                if !matches!(self.next_sent(at), Some(DriverOutput::Close { .. })) {
                    self.odd.push(format!("line {number}: the scenario closes nothing here now"));
                }
            }
            event => {
                // In a run, a message is handled before a timer that is due at the same time, so the output of the
                // timer comes after the message.
                match event {
                    // The replayed scenario may already have further outputs that the original run produced only after
                    // this event, so only the outputs up to the opening are taken.
                    ConnectionEvent::Open { .. } | ConnectionEvent::Refused(_) => {
                        if !self.begins(self.last, &line.conn) {
                            self.begins(at, &line.conn);
                        }
                        self.opening.remove(&line.conn);
                    }
                    ConnectionEvent::Restarted => self.drain(at),
                    _ => self.drain(self.last),
                }
                self.host(at, &line.conn, event);
            }
        }
        self.last = at;
    }

    /// Ends the scenario at the same time as in the run.
    fn stop(&mut self, stop: &CaseStop) {
        let at = Duration::from_micros(stop.at_us);
        self.drain(self.last);
        match &stop.reason {
            Some(reason) => self.play.interrupt(at, reason),
            None => {
                self.play.timeout(at);
                self.abandoned = true;
            }
        }
        self.last = at;
    }

    fn host(&mut self, at: Duration, client: &str, event: ConnectionEvent) {
        if matches!(event, ConnectionEvent::Restarted) {
            self.play.restarted(at, Ok(()));
            return;
        }
        if let ConnectionEvent::Below { way, seen } = event {
            return self.play.below(at, client, way, seen);
        }
        let Some(conn) = self.conns.get(client).copied() else {
            self.odd.push(format!("`{client}` has no connection now"));
            return;
        };
        match event {
            ConnectionEvent::Open { .. } => self.play.opened(at, conn),
            ConnectionEvent::Received(seen) => self.play.seen(at, conn, seen),
            ConnectionEvent::Refused(handshake) => self.play.refused(at, conn, *handshake),
            ConnectionEvent::Closed { code, reason, .. } => {
                self.play.closed(at, conn, code, &reason)
            }
            ConnectionEvent::Sent(_)
            | ConnectionEvent::Below { .. }
            | ConnectionEvent::Restarted
            | ConnectionEvent::Cut { .. }
            | ConnectionEvent::Gap { .. }
            | ConnectionEvent::Fault { .. } => {}
        }
    }

    /// Returns the next output that has a line in the file. A request to open a connection has no line until
    /// the connection is open.
    fn next_sent(&mut self, at: Duration) -> Option<DriverOutput> {
        loop {
            if let Some(output) = self.taken(at)? {
                return Some(output);
            }
        }
    }

    /// Removes and returns the next output; `None` if there is no output, or if the output has no line in the file.
    fn taken(&mut self, at: Duration) -> Option<Option<DriverOutput>> {
        match self.play.poll_output(at)? {
            DriverOutput::Open { conn, client, .. } => {
                self.opening.insert(client.clone());
                self.conns.insert(client, conn);
            }
            DriverOutput::Flood { .. }
            | DriverOutput::Hold { .. }
            | DriverOutput::Restart { .. }
            | DriverOutput::Release(_)
            | DriverOutput::Errand(_) => {}
            output => return Some(Some(output)),
        }
        Some(None)
    }

    /// Removes outputs of the scenario until the scenario begins to open a client's connection, or no output is left.
    /// Returns whether the scenario has begun to open this connection.
    fn begins(&mut self, at: Duration, client: &str) -> bool {
        while !self.opening.contains(client) {
            match self.taken(at) {
                Some(Some(output)) => self.is_missing(&output),
                Some(None) => {}
                None => return false,
            }
        }
        true
    }

    /// Removes all outputs of the scenario that are due. Outputs that should have a line in the file are reported as
    /// missing.
    fn drain(&mut self, at: Duration) {
        while let Some(output) = self.next_sent(at) {
            self.is_missing(&output);
        }
    }

    fn is_missing(&mut self, output: &DriverOutput) {
        let what = if matches!(output, DriverOutput::Send { .. }) { "sends" } else { "closes" };
        self.odd.push(format!("the scenario {what} something that the file does not have"));
    }

    fn finish(mut self, recorded: &CaseReport) -> (CaseReport, Vec<String>) {
        while let Some(due) = self.play.next_timeout().filter(|_| !self.play.is_over()) {
            if self.abandoned {
                break;
            }
            self.play.timeout(due);
            self.drain(due);
        }
        let verdict = self.play.finish();
        let report = CaseReport::of(recorded.case, &self.entry, &verdict);
        (CaseReport { provider: recorded.provider.clone(), ..report }, self.odd)
    }
}

//! A finished run, read back from its file: what every report that is made afterwards is made of.
//!
//! Of the frames only those are kept that a reader of a failure wants to see: of scenarios that did
//! not hold, and in them around the lines that prove it.
//!
//! Start at [`Finished::read`].

use std::collections::VecDeque;
use std::io::BufRead;

use litemap::LiteMap;
use serde::Deserialize;

use crate::transcript::line;
use crate::transcript::reader::{self, Reader};
use crate::transcript::{Event, Side};
use crate::verdict::{Status, Weight};
use crate::wire::frame::Frame;
use crate::wire::message::Kind;

use super::event::{CaseReport, CaseStart, Header, SourceText};
use super::summary::{CheckTotal, Summary};

/// A run that was written to a file.
#[derive(Debug, Default)]
pub struct Finished {
    /// What was known before the first scenario.
    pub header: Header,
    /// The scenarios, in the order in which they ended.
    pub cases: Vec<Case>,
    /// The fold over them.
    pub summary: Summary,
    /// What the file ends with; a file without it was cut off.
    pub footer: Option<Footer>,
}

/// One scenario of the run.
#[derive(Debug)]
pub struct Case {
    /// How it ended.
    pub report: CaseReport,
    /// The texts it was made of; only of one that did not hold.
    pub sources: Vec<SourceText>,
    /// Its frames; only of one that did not hold.
    pub frames: Vec<Row>,
    /// Lines of its transcript that are not among them.
    pub left_out: u64,
}

/// The end of the file.
#[derive(Clone, Debug, Deserialize)]
pub struct Footer {
    /// How long the run took, in milliseconds.
    pub took_ms: u64,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// Its exit code.
    pub exit: u8,
    /// The always-on checks, with the baseline applied.
    pub checks: LiteMap<String, CheckTotal>,
}

/// One line of a transcript, for a person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// Its number in the file.
    pub line: u64,
    /// When, in microseconds since the scenario began.
    pub at_us: u64,
    /// The client.
    pub client: String,
    /// Which way.
    pub way: Way,
    /// What, in a few words.
    pub what: String,
    /// The frame, cut where it is long.
    pub text: String,
    /// Bytes of it that were cut.
    pub cut: usize,
}

/// Which way something went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// From the client.
    Out,
    /// From the host.
    In,
    /// Neither: a connection opened or ended.
    Across,
}

/// Lines of a scenario that is still being read.
const HELD: usize = 4_000;
/// Bytes of them.
const HELD_BYTES: usize = 16 << 20;
/// Rows that a scenario shows.
const SHOWN: usize = 60;
/// Rows before and after one that proves something, which are shown with it.
const AROUND: u64 = 6;
/// Bytes of a frame that are shown.
const FRAME: usize = 1_500;

impl Finished {
    /// Reads a file that a run wrote.
    ///
    /// # Errors
    /// Where it is no such file, and why; a file that was cut off is read as far as it goes.
    pub fn read(input: impl BufRead) -> Result<Finished, String> {
        let mut reading = Reading::default();
        let mut reader = Reader::new(input);
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

#[derive(Default)]
struct Reading {
    header: Option<Header>,
    open: LiteMap<u32, Open>,
    finished: Finished,
}

/// A scenario whose end has not come.
#[derive(Default)]
struct Open {
    sources: Vec<SourceText>,
    lines: VecDeque<(u64, String)>,
    bytes: usize,
    left_out: u64,
}

impl Reading {
    fn line(&mut self, number: u64, text: &str) -> Result<(), String> {
        let wrong = |error: serde_json::Error| format!("{number}: {error}");
        match reader::about(text).as_deref() {
            Some("header") => self.header = Some(serde_json::from_str(text).map_err(wrong)?),
            Some("case") => {
                let start: CaseStart = serde_json::from_str(text).map_err(wrong)?;
                let open = Open { sources: start.sources, ..Open::default() };
                self.open.insert(start.case, open);
            }
            Some("result") => {
                let report: CaseReport = serde_json::from_str(text).map_err(wrong)?;
                let open = self.open.remove(&report.case).unwrap_or_default();
                self.finished.summary.add(&report);
                self.finished.cases.push(Case::of(report, open));
            }
            Some("footer") => {
                self.finished.footer = Some(serde_json::from_str(text).map_err(wrong)?);
            }
            Some(_) => {}
            None => {
                let case = case_of(text);
                if let Some(open) = case.and_then(|case| self.open.get_mut(&case)) {
                    open.push(number, text);
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Finished {
        let mut finished = self.finished;
        finished.header = self.header.unwrap_or_default();
        // What the baseline made of the checks is known at the end only.
        if let Some(footer) = &finished.footer {
            finished.summary.checks = footer.checks.clone();
        }
        finished
    }
}

/// The number of the scenario that a line belongs to, which is its first member.
pub(super) fn case_of(text: &str) -> Option<u32> {
    let rest = text.strip_prefix("{\"case\":")?;
    rest[..rest.find(',')?].parse().ok()
}

impl Open {
    fn push(&mut self, number: u64, text: &str) {
        self.bytes += text.len();
        self.lines.push_back((number, text.to_owned()));
        while self.lines.len() > HELD || self.bytes > HELD_BYTES {
            let Some((_, text)) = self.lines.pop_front() else { break };
            self.bytes -= text.len();
            self.left_out += 1;
        }
    }
}

impl Case {
    fn of(report: CaseReport, open: Open) -> Case {
        let proofs = proofs(&report);
        let held = matches!(report.status, Status::Pass | Status::Skip) && proofs.is_empty();
        if held {
            return Case { report, sources: Vec::new(), frames: Vec::new(), left_out: 0 };
        }
        let mut chosen: Vec<usize> = Vec::new();
        let near = |number: u64| proofs.iter().any(|proof| proof.abs_diff(number) <= AROUND);
        let all = open.lines.len();
        for (place, (number, _)) in open.lines.iter().enumerate() {
            if near(*number) || proofs.is_empty() && place + SHOWN >= all {
                chosen.push(place);
            }
        }
        // What proves it comes before what stands beside it.
        if chosen.len() > SHOWN {
            let number = |place: &usize| open.lines.get(*place).map_or(0, |(number, _)| *number);
            chosen.sort_by_key(|place| !proofs.contains(&number(place)));
            chosen.truncate(SHOWN);
            chosen.sort_unstable();
        }
        let frames: Vec<Row> = chosen
            .iter()
            .filter_map(|place| open.lines.get(*place))
            .filter_map(|(number, text)| Row::of(*number, text))
            .collect();
        let left_out = open.left_out + (all - frames.len()) as u64;
        Case { report, sources: open.sources, frames, left_out }
    }
}

/// The lines that prove what was wrong.
fn proofs(report: &CaseReport) -> Vec<u64> {
    let failure = report.failures().flat_map(|failure| &failure.transcript);
    let findings = report.checks.iter().flat_map(|check| &check.findings);
    let heavy = findings.filter(|finding| finding.weight > Weight::Note);
    failure.chain(heavy.flat_map(|finding| &finding.transcript)).copied().collect()
}

impl Row {
    fn of(number: u64, text: &str) -> Option<Row> {
        let line = line::read(text).ok()?;
        let (way, what, frame) = match &line.event {
            Event::Open { .. } => (Way::Across, "connection opened".to_owned(), None),
            Event::Refused(handshake) => {
                let answer = handshake.response.first().map_or("", String::as_str);
                (Way::Across, format!("connection refused: {answer}"), None)
            }
            Event::Sent(seen) => (Way::Out, what(seen.message()), Some(&*seen.frame)),
            Event::Received(seen) => (Way::In, what(seen.message()), Some(&*seen.frame)),
            Event::Below { way, seen } => {
                (Way::Across, format!("below the host: {}", way.word()), Some(&*seen.frame))
            }
            Event::Closed { by, code, reason } => {
                let by = if *by == Side::Client { "client" } else { "host" };
                let code = code.map(|code| format!(" with code {code}")).unwrap_or_default();
                let reason = if reason.is_empty() { "" } else { &format!(": {reason}") };
                (Way::Across, format!("closed by the {by}{code}{reason}"), None)
            }
            Event::Cut { .. } => (Way::Across, "a message that was cut off".to_owned(), None),
            Event::Fault { what } => (Way::Across, format!("fault: {what}"), None),
            Event::Gap { .. } => {
                (Way::Across, "something that is not in the capture".to_owned(), None)
            }
            Event::Restarted => (Way::Across, "the host was restarted".to_owned(), None),
        };
        let (text, cut) = frame.map(shown).unwrap_or_default();
        let at_us = u64::try_from(line.at.as_micros()).unwrap_or(u64::MAX);
        Some(Row { line: number, at_us, client: line.conn, way, what, text, cut })
    }
}

/// A message in a few words.
fn what(message: Option<&crate::wire::message::Message>) -> String {
    let Some(message) = message else { return "no JSON-RPC message".to_owned() };
    let id = message.id().map(|id| format!(" #{id}")).unwrap_or_default();
    let params = message.params();
    match (message.kind(), message.method()) {
        (Kind::Success, _) => format!("result{id}"),
        (Kind::Failure, _) => {
            let code = message.error_code().map(|code| format!(" {code}")).unwrap_or_default();
            format!("error{code}{id}")
        }
        (_, Some("action" | "dispatchAction")) => {
            let name = params["action"]["type"].as_str().unwrap_or("action");
            let seq = params["serverSeq"].as_u64();
            let seq = seq.map(|seq| format!(" serverSeq {seq}")).unwrap_or_default();
            let rejected = match params["rejectionReason"].as_str() {
                Some(_) => ", rejected",
                None => "",
            };
            format!("{name}{seq}{rejected}")
        }
        (_, Some(method)) => format!("{method}{id}"),
        _ => "no JSON-RPC message".to_owned(),
    }
}

/// The text of a frame, cut where it is long, with the bytes that were cut.
fn shown(frame: &Frame) -> (String, usize) {
    let text = match frame {
        Frame::Text(text) => text.clone(),
        Frame::Binary(bytes) | Frame::NotUtf8(bytes) => {
            let hex: String = bytes.iter().take(FRAME).map(|byte| format!("{byte:02x}")).collect();
            return (hex, bytes.len().saturating_sub(FRAME));
        }
    };
    let shown = beginning(&text, FRAME);
    (shown.to_owned(), text.len() - shown.len())
}

/// The beginning of a text, of so many bytes at most.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

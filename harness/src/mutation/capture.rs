//! A conversation as lines, and the judgement of the always-on checks.
//!
//! Knows: the capture format, the checks of `judge`. Never knows: the changes of captures.
//!
//! Start at [`MutableCapture`].

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use crate::report::judged_subject::JudgedSubject;
use crate::report::replay;
use crate::transcript::line::{self, TranscriptLine};
use crate::transcript::reader::{CaptureUnreadable, TranscriptReader};
use crate::transcript::{ConnectionEvent, SeenFrame};
use crate::verdict::Weight;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::version::Version;

/// A conversation between clients and a host.
#[derive(Clone, Debug, PartialEq)]
pub struct MutableCapture {
    /// The capture's origin: a scenario, the number of a generated conversation, or a file.
    pub name: String,
    /// The version of connections whose handshake the capture does not contain.
    pub assume: Option<Version>,
    /// The party whose messages the checks judge.
    pub subject: JudgedSubject,
    /// The lines of the conversation, as in a capture file.
    pub lines: Vec<TranscriptLine>,
}

/// The judgement of a capture: the number of breaches by check and weight.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CaptureJudgement {
    breaches: BTreeMap<(&'static str, Weight), u64>,
    /// The message of the heaviest breach.
    pub message: String,
}

impl MutableCapture {
    /// Creates a capture whose host or agent is judged.
    pub fn new(
        name: String,
        assume: Option<Version>,
        lines: Vec<TranscriptLine>,
    ) -> MutableCapture {
        MutableCapture { name, assume, subject: JudgedSubject::default(), lines }
    }

    /// Reads a capture.
    ///
    /// # Errors
    /// Returns the first line that cannot be read.
    pub fn read(name: &str, input: impl BufRead) -> Result<MutableCapture, CaptureUnreadable> {
        let mut reader = TranscriptReader::new(input);
        let mut lines = Vec::new();
        while let Some((_, line)) = reader.next_event()? {
            // The number of the scenario is removed, because `judge` would otherwise look up this scenario.
            lines.push(TranscriptLine { case: None, ..line });
        }
        Ok(MutableCapture::new(name.to_owned(), None, lines))
    }

    /// Returns the same capture, in which the clients are judged.
    pub fn of_clients(self) -> MutableCapture {
        MutableCapture { subject: JudgedSubject::clients(None), ..self }
    }

    /// Returns the capture in the form of a capture file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for one in &self.lines {
            line::write(&mut out, None, one.at, &one.conn, &one.event);
        }
        out
    }

    /// Runs the always-on checks, as `judge` does.
    pub fn judge(&self) -> CaptureJudgement {
        let reports = replay::judge_lines_of(&self.lines, self.assume, &self.subject);
        let mut judgement = CaptureJudgement::default();
        let mut heaviest = None;
        for report in &reports {
            for finding in &report.findings {
                *judgement.breaches.entry((report.check, finding.weight)).or_default() +=
                    finding.times;
                if heaviest.is_none_or(|weight| weight < finding.weight) {
                    heaviest = Some(finding.weight);
                    judgement.message = format!("{}: {}", report.check, finding.message);
                }
            }
        }
        judgement
    }
}

impl CaptureJudgement {
    /// Returns the weight of the heaviest breach; `None` if there is no breach.
    pub fn heaviest(&self) -> Option<Weight> {
        self.breaches.keys().map(|(_, weight)| *weight).max()
    }

    /// Returns the checks with breaches of this weight or more.
    pub fn checks(&self, from: Weight) -> Vec<&'static str> {
        let mut checks: Vec<_> =
            self.breaches.keys().filter(|(_, weight)| *weight >= from).map(|(id, _)| *id).collect();
        checks.dedup();
        checks
    }

    /// Returns whether a check reports more breaches of a weight than in another judgement.
    pub fn says_more_than(&self, other: &CaptureJudgement) -> bool {
        self.breaches.iter().any(|(key, times)| other.breaches.get(key).is_none_or(|it| it < times))
    }
}

/// Returns the message of a line; `None` if the line is not a frame with a message.
pub(super) fn message_of(line: &TranscriptLine) -> Option<&Value> {
    match &line.event {
        ConnectionEvent::Sent(seen) | ConnectionEvent::Received(seen) => {
            Some(seen.message()?.value())
        }
        _ => None,
    }
}

/// Replaces the message of a line.
pub(super) fn put_message(line: &mut TranscriptLine, value: &Value) {
    put_frame(line, Frame::json(value));
}

/// Replaces the frame of a line.
pub(super) fn put_frame(line: &mut TranscriptLine, frame: Frame) {
    if let ConnectionEvent::Sent(seen) | ConnectionEvent::Received(seen) = &mut line.event {
        *seen = Arc::new(SeenFrame::new(frame));
    }
}

/// Changes the message of a line. Returns whether the message has changed.
pub(super) fn edit(line: &mut TranscriptLine, change: impl FnOnce(&mut Value) -> bool) -> bool {
    let Some(mut value) = message_of(line).cloned() else { return false };
    let before = value.clone();
    if !change(&mut value) || value == before {
        return false;
    }
    put_message(line, &value);
    true
}

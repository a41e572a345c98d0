//! The conversations of a file, one per scenario of a run, for the page of `ahp-harness view`. A capture is a
//! single conversation.
//!
//! Knows: lines of a file. Never knows: the presentation of conversations.
//!
//! Start at [`ViewReading::line`].

use std::collections::{HashMap, HashSet};

use crate::transcript::reader;
use crate::verdict::{Status, Weight};

use super::conversation::{ConversationLine, DrawnConversation, LineRole};
use super::event::{CaseReport, CaseStart};
use super::finished::{case_of, proofs};
use super::replay::JudgedFile;
use super::summary::OWN_FRAMES;

/// The maximum number of bytes of a frame in a failed scenario or a capture. `HELD_FRAME` is the maximum in a scenario
/// that held.
const FRAME: usize = 1_500;
const HELD_FRAME: usize = 300;
/// The maximum number of bytes of the kept lines. `MAX_SCENARIOS` is the maximum number of scenarios.
const MAX_BYTES: usize = 8 << 20;
const MAX_SCENARIOS: usize = 5_000;

/// One conversation.
#[derive(Clone, Debug)]
pub struct ViewedScenario {
    /// The identifier of the scenario; empty for a capture.
    pub name: String,
    /// The title of the scenario.
    pub title: String,
    /// The result of the scenario; `None` for a capture, and for a scenario without a result.
    pub status: Option<Status>,
    /// The lines of the conversation.
    pub rows: Vec<ConversationLine>,
}

impl ViewedScenario {
    /// Makes the conversation of a capture.
    pub fn of_capture(conversation: DrawnConversation) -> ViewedScenario {
        let rows = conversation.all(FRAME);
        ViewedScenario { name: String::new(), title: String::new(), status: None, rows }
    }

    /// Marks the lines that prove a finding of an always-on check. Notes are not marked.
    pub fn mark(&mut self, judged: &JudgedFile) {
        let checks = judged.summary.checks.iter().filter(|(check, _)| *check != OWN_FRAMES);
        let findings = checks.flat_map(|(_, total)| &total.shown).map(|(_, finding)| finding);
        let heavy = findings.filter(|finding| finding.weight > Weight::Note);
        let lines: HashSet<u64> = heavy.flat_map(|finding| &finding.transcript).copied().collect();
        for row in self.rows.iter_mut().filter(|row| lines.contains(&row.line)) {
            row.role = LineRole::Proof;
        }
    }

    /// Returns the key by which the conversations are sorted: scenarios that did not hold come first.
    fn rank(&self) -> u8 {
        match self.status {
            Some(Status::Fail | Status::Error) => 0,
            Some(Status::Untested | Status::Warn) | None => 1,
            Some(Status::Note | Status::Known) => 2,
            Some(Status::Pass | Status::Skip) => 3,
        }
    }
}

/// The lines of one scenario that were read so far.
#[derive(Debug, Default)]
struct ScenarioLines {
    name: String,
    report: Option<CaseReport>,
    lines: Vec<(u64, String)>,
}

/// The conversations of a file that were read so far.
#[derive(Debug, Default)]
pub struct ViewReading {
    /// The only scenario to read; `None` for every scenario.
    only: Option<String>,
    most: usize,
    held: usize,
    bytes: usize,
    scenarios: Vec<ScenarioLines>,
    known: HashMap<u32, usize>,
    capture: Vec<(u64, String)>,
    /// The number of lines that were dropped because the file has too many lines.
    pub left_out: u64,
}

impl ViewReading {
    /// Creates a reader of at most this many lines.
    pub fn new(only: Option<&str>, most: usize) -> ViewReading {
        ViewReading { only: only.map(str::to_owned), most, ..ViewReading::default() }
    }

    /// Reads a line.
    pub fn line(&mut self, number: u64, text: &str) {
        match reader::about(text).as_deref() {
            Some("case") => {
                let Ok(start) = serde_json::from_str::<CaseStart>(text) else { return };
                let wanted = self.only.as_ref().is_none_or(|only| *only == start.scenario);
                if wanted && self.scenarios.len() < MAX_SCENARIOS {
                    self.known.insert(start.case, self.scenarios.len());
                    let name = start.scenario;
                    self.scenarios.push(ScenarioLines { name, ..ScenarioLines::default() });
                }
            }
            Some("result") => {
                let Ok(report) = serde_json::from_str::<CaseReport>(text) else { return };
                let place = self.known.remove(&report.case);
                if let Some(scenario) = place.and_then(|it| self.scenarios.get_mut(it)) {
                    scenario.report = Some(report);
                }
            }
            Some(_) => {}
            None => {
                let place = case_of(text).map(|case| self.known.get(&case).copied());
                let lines = match place {
                    Some(Some(place)) => {
                        self.scenarios.get_mut(place).map(|scenario| &mut scenario.lines)
                    }
                    // The line belongs to a scenario that is not read.
                    Some(None) => None,
                    None => self.only.is_none().then_some(&mut self.capture),
                };
                let Some(lines) = lines else { return };
                match self.held < self.most && self.bytes + text.len() <= MAX_BYTES {
                    true => lines.push((number, text.to_owned())),
                    false => self.left_out += 1,
                }
                self.held += 1;
                self.bytes += text.len();
            }
        }
    }

    /// Returns the conversations; scenarios that did not hold come first.
    pub fn finish(self) -> Vec<ViewedScenario> {
        let borrowed = |lines: &[(u64, String)]| {
            DrawnConversation::of(lines.iter().map(|(number, text)| (*number, text.as_str())))
        };
        let mut all: Vec<ViewedScenario> = Vec::new();
        if !self.capture.is_empty() || self.scenarios.is_empty() {
            all.push(ViewedScenario::of_capture(borrowed(&self.capture)));
        }
        for ScenarioLines { name, report, lines } in self.scenarios {
            // A scenario that was skipped has no conversation.
            if lines.is_empty() {
                continue;
            }
            let status = report.as_ref().map(|report| report.status);
            let evidence = report.as_ref().map(proofs).unwrap_or_default();
            let held = status == Some(Status::Pass) && evidence.is_empty();
            let most = if held { HELD_FRAME } else { FRAME };
            let rows = borrowed(&lines).marked(&evidence, most);
            let title = report.map(|report| report.title).unwrap_or_default();
            all.push(ViewedScenario { name, title, status, rows });
        }
        all.sort_by_key(ViewedScenario::rank);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"run":"header"}
{"run":"case","case":0,"scenario":"a/held","name":"a/held","sources":[]}
{"run":"case","case":1,"scenario":"b/broken","name":"b/broken","sources":[]}
{"case":0,"t":0.1,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"ping"}}
{"case":1,"t":0.1,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"subscribe"}}
{"case":0,"t":0.2,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":null}}
{"case":1,"t":0.2,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"result":{}}}"#;

    fn read(only: Option<&str>, most: usize) -> (Vec<ViewedScenario>, u64) {
        let mut reading = ViewReading::new(only, most);
        (1..).zip(RUN.lines()).for_each(|(number, text)| reading.line(number, text));
        let left_out = reading.left_out;
        (reading.finish(), left_out)
    }

    #[test]
    fn scenarios_that_were_played_at_once_are_shown_apart() {
        let (scenarios, left_out) = read(None, 100);
        let names: Vec<&str> = scenarios.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, left_out), (vec!["a/held", "b/broken"], 0));
        // Both scenarios have a client `A` and a request with the id 1.
        let answers: Vec<_> = scenarios.iter().map(|it| it.rows[1].answers).collect();
        assert_eq!(answers, [Some(4), Some(5)]);
    }

    #[test]
    fn reads_only_the_wanted_scenario_and_counts_what_it_drops() {
        let (scenarios, _) = read(Some("b/broken"), 100);
        assert_eq!(scenarios.len(), 1);
        assert_eq!(scenarios[0].rows.len(), 2);
        let (scenarios, left_out) = read(None, 3);
        assert_eq!((scenarios.iter().map(|it| it.rows.len()).sum::<usize>(), left_out), (3, 1));
    }
}

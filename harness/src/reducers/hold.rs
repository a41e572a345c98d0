//! Compares a subject (a tested reducer) with the harness's reducers, from the first question to the report.
//!
//! The vectors come first. Then the subject is asked about each step of each generated sequence separately, from the
//! state that the harness's reducer computed, so that one disagreement never hides another. Before each step, the
//! subject is asked to decode and encode this state, and the step starts from the result. Data that the subject loses
//! in decoding is therefore reported only once. The subject is also asked about each sequence as a whole, to detect a
//! subject that keeps state between actions. Finally, each disagreement is shrunk to its smallest case.
//!
//! Knows: all other modules of this layer. Never knows: processes, files, clocks.
//!
//! Start at [`hold`].

use std::collections::HashSet;

use litemap::LiteMap;

use crate::wire::json::Value;

use super::case::{self, CaseDisagreement, DisagreementKind, ReducerCase, SEQUENCE};
use super::compare::{SubjectClock, differences_with, same};
use super::exchange::{ExchangeError, ReducerSubject, SubjectAnswer, SubjectQuestion};
use super::generate::SequenceGenerator;
use super::report::{SubjectFinding, SubjectReport, VectorResult};
use super::shrink::CaseShrinker;
use super::vector::{ReducerVector, VectorFile};
use crate::verdict::Status;
use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

/// The options of a comparison.
#[derive(Clone, Debug)]
pub struct HoldOptions {
    /// The protocol version.
    pub version: Version,
    /// The name of the subject.
    pub subject: String,
    /// The clock that the subject reads.
    pub clock: SubjectClock,
    /// The seed of the generated sequences.
    pub seed: u64,
    /// The number of generated sequences.
    pub sequences: u64,
    /// The channels to compare; empty for all channels.
    pub channels: Vec<ChannelKind>,
    /// Whether round trips are tested.
    pub round_trips: bool,
    /// The values for round trips, by type; if empty, values of all types are generated.
    pub said: LiteMap<String, Vec<Value>>,
}

/// The progress of a run: for each stage, the number of finished items and the number of all items.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HoldProgress {
    /// The progress with asking about the vectors.
    Vectors(usize, usize),
    /// The progress with asking about the generated sequences.
    Sequences(u64, u64),
    /// The progress with shrinking disagreements to smaller cases.
    Shrunk(usize, usize),
}

/// The number of generated sequences about which the subject is asked in one batch of questions.
const CHUNK: u64 = 16;
/// The number of vectors about which the subject is asked in one batch of questions.
const VECTORS: usize = 64;
/// The maximum number of disagreements that are shrunk. It is bounded because a subject with more disagreements differs
/// almost everywhere.
const MAX_FINDINGS: usize = 200;
/// One of this many sequences is asked about twice, to compare the two answers.
const TWICE_IN: u64 = 8;

/// Compares a subject with the harness's reducers.
pub fn hold(
    subject: &mut dyn ReducerSubject,
    vectors: &[VectorFile],
    options: &HoldOptions,
    progress: &mut dyn FnMut(HoldProgress),
) -> SubjectReport {
    let report = blank(options);
    let refused = HashSet::new();
    let mut run = HoldRun { subject, options, report, classes: LiteMap::new(), refused };
    if let Some(why) = run.greet() {
        run.report.unusable = Some(why);
        return run.report;
    }
    if options.said.is_empty() {
        run.served();
    }
    run.vectors(vectors, progress);
    run.sequences(progress);
    if options.round_trips {
        run.round_trips();
    }
    run.shrink(progress);
    run.finish()
}

fn blank(options: &HoldOptions) -> SubjectReport {
    SubjectReport {
        version: options.version,
        subject: options.subject.clone(),
        seed: options.seed,
        sequences: options.sequences,
        vectors: Vec::new(),
        actions: LiteMap::new(),
        round_trips: LiteMap::new(),
        unserved: Vec::new(),
        findings: Vec::new(),
        unusable: None,
        unasked: 0,
    }
}

struct HoldRun<'a> {
    subject: &'a mut dyn ReducerSubject,
    options: &'a HoldOptions,
    report: SubjectReport,
    /// The disagreements found so far, by their key.
    classes: LiteMap<String, SubjectFinding>,
    /// The channels whose simplest state the subject refuses.
    refused: HashSet<ChannelKind>,
}

type AnswerStream = Vec<Result<SubjectAnswer, ExchangeError>>;

impl HoldRun<'_> {
    fn ask(&mut self, questions: Vec<SubjectQuestion>) -> AnswerStream {
        if questions.is_empty() {
            return Vec::new();
        }
        let answers = self.subject.ask(questions);
        let unasked =
            answers.iter().filter(|answer| **answer == Err(ExchangeError::GivenUp)).count();
        self.report.unasked += unasked as u64;
        answers
    }

    /// Asks a question that every reducer can answer. If the subject does not answer, returns the reason.
    fn greet(&mut self) -> Option<String> {
        match self.subject.ask(vec![SubjectQuestion::hello()]).pop() {
            Some(Ok(SubjectAnswer::Value { .. } | SubjectAnswer::Error(_))) => None,
            Some(Err(fault)) => Some(fault.to_string()),
            None => Some("there was no answer".to_owned()),
        }
    }

    fn wanted(&self, channel: ChannelKind) -> bool {
        self.options.channels.is_empty() || self.options.channels.contains(&channel)
    }

    /// Returns whether the run compares a channel: the user selected the channel, and the subject does not refuse the
    /// channel's simplest state.
    fn holds(&self, channel: ChannelKind) -> bool {
        self.wanted(channel) && !self.refused.contains(&channel)
    }

    /// Asks about the simplest state of each channel. If the subject refuses it, this is one disagreement, and no
    /// further questions about that channel follow.
    fn served(&mut self) {
        let HoldOptions { version, seed, .. } = *self.options;
        let Some(generator) = SequenceGenerator::new(version, seed, |kind| self.holds(kind)) else {
            return;
        };
        let plain = generator.plainest();
        let answers = self.ask(plain.iter().map(ReducerCase::question).collect());
        for (case, answer) in plain.iter().zip(&answers) {
            if let Ok(SubjectAnswer::Error(_)) = answer
                && let Some(found) = self.judge(case, answer)
            {
                self.refused.insert(case.channel);
                self.file(found, case, None);
            }
        }
    }

    fn judge(
        &self,
        case: &ReducerCase,
        answer: &Result<SubjectAnswer, ExchangeError>,
    ) -> Option<CaseDisagreement> {
        case::judge(self.options.version, self.options.clock, case, answer)
    }

    /// Records a disagreement. If several disagreements have the same key, only the one with the smallest case is kept.
    fn file(&mut self, what: CaseDisagreement, case: &ReducerCase, vector: Option<&ReducerVector>) {
        if what.kind == DisagreementKind::Broken && what.path == "given up" {
            return;
        }
        let key = what.key();
        let readings = what.open.map(|point| point.readings).unwrap_or_default();
        let new = || SubjectFinding {
            key: key.clone(),
            status: SubjectFinding::weigh(&what),
            what: what.clone(),
            case: case.clone(),
            seen: 0,
            vectors: Vec::new(),
            readings: readings.iter().map(|reading| (*reading).to_owned()).collect(),
            known: None,
        };
        let finding = self.classes.entry(key.clone()).or_insert_with(new);
        finding.seen += 1;
        finding.vectors.extend(vector.map(|vector| vector.name.clone()));
        if case.size() < finding.case.size() {
            finding.case = case.clone();
            finding.what = what;
        }
    }

    fn vectors(&mut self, files: &[VectorFile], progress: &mut dyn FnMut(HoldProgress)) {
        let version = self.options.version;
        let chosen: Vec<(&VectorFile, &ReducerVector)> = files
            .iter()
            .flat_map(|file| file.vectors.iter().map(move |vector| (file, vector)))
            .filter(|(_, vector)| vector.spec.includes(version) && self.wanted(vector.channel))
            .collect();
        let (chosen, refused): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|(_, vector)| self.holds(vector.channel));
        for (file, vector) in refused {
            self.report.vectors.push(VectorResult {
                name: vector.name.clone(),
                title: vector.title.clone(),
                file: file.source.name.clone(),
                status: Status::Untested,
                reason: "the subject refuses the plainest state of this channel".to_owned(),
            });
        }
        let mut done = 0;
        for chunk in chosen.chunks(VECTORS) {
            let questions = chunk.iter().map(|(_, vector)| vector.case().question()).collect();
            let answers = self.ask(questions);
            for ((file, vector), answer) in chunk.iter().zip(&answers) {
                let (status, reason) = self.vector(vector, answer);
                self.report.vectors.push(VectorResult {
                    name: vector.name.clone(),
                    title: vector.title.clone(),
                    file: file.source.name.clone(),
                    status,
                    reason,
                });
            }
            done += chunk.len();
            progress(HoldProgress::Vectors(done, chosen.len()));
        }
    }

    /// Compares the answer to a vector with the vector's expected result. Returns the status of the vector, and the
    /// reason if the vector did not pass.
    fn vector(
        &mut self,
        vector: &ReducerVector,
        answer: &Result<SubjectAnswer, ExchangeError>,
    ) -> (Status, String) {
        let case = vector.case();
        let found = self.judge(&case, answer);
        let differences = match answer {
            Err(ExchangeError::GivenUp) => {
                return (Status::Untested, ExchangeError::GivenUp.to_string());
            }
            Err(fault) => Some(fault.to_string()),
            Ok(SubjectAnswer::Error(why)) => Some(format!("the subject refuses the vector: {why}")),
            Ok(SubjectAnswer::Value { value, .. }) => {
                differences_with(self.options.clock, &vector.state, &vector.expected, value)
                    .first()
                    .map(|difference| {
                        let ours = case::shown(&difference.ours);
                        let theirs = case::shown(&difference.theirs);
                        format!("`{}`: expected {ours}, found {theirs}", difference.path)
                    })
            }
        };
        let Some(reason) = differences else {
            let outcome = found.filter(|found| found.kind == DisagreementKind::Outcome);
            let Some(outcome) = outcome else { return (Status::Pass, String::new()) };
            let reason = format!("{}: {}", outcome.action, outcome.path);
            self.file(outcome, &case, Some(vector));
            return (Status::Warn, reason);
        };
        if !vector.open.is_empty() {
            self.file_open(vector, &case, &reason);
            return (Status::Note, reason);
        }
        let notes = self.locate(vector, &case, found);
        (if notes { Status::Note } else { Status::Fail }, reason)
    }

    /// Records a difference in the result of a vector whose result the specification leaves open.
    fn file_open(&mut self, vector: &ReducerVector, case: &ReducerCase, reason: &str) {
        let what = CaseDisagreement {
            kind: DisagreementKind::State,
            action: case.label(),
            path: vector.name.clone(),
            ours: vector.title.clone(),
            theirs: reason.to_owned(),
            open: None,
        };
        let finding = SubjectFinding {
            key: format!("open {}", vector.name),
            status: Status::Note,
            what,
            case: case.clone(),
            seen: 1,
            vectors: vec![vector.name.clone()],
            readings: vector.open.clone(),
            known: None,
        };
        self.classes.insert(finding.key.clone(), finding);
    }

    /// Records the disagreements of the single steps of a vector. Returns whether all of them are open points.
    fn locate(
        &mut self,
        vector: &ReducerVector,
        case: &ReducerCase,
        whole: Option<CaseDisagreement>,
    ) -> bool {
        let steps = case.steps(self.options.version);
        if steps.len() > 1 {
            let answers = self.ask(steps.iter().map(ReducerCase::question).collect());
            let found: Vec<(ReducerCase, CaseDisagreement)> = steps
                .into_iter()
                .zip(&answers)
                .filter_map(|(step, answer)| {
                    let found = self.judge(&step, answer)?;
                    (found.kind != DisagreementKind::Outcome).then_some((step, found))
                })
                .collect();
            if !found.is_empty() {
                let open = found.iter().all(|(_, found)| found.open.is_some());
                for (step, found) in found {
                    self.file(found, &step, Some(vector));
                }
                return open;
            }
        }
        // A vector in a user's file may expect a result that differs from the harness's result.
        let found = whole.filter(|found| found.kind != DisagreementKind::Outcome).unwrap_or(
            CaseDisagreement {
                kind: DisagreementKind::State,
                action: case.label(),
                path: vector.name.clone(),
                ours: "as the vector says".to_owned(),
                theirs: "not".to_owned(),
                open: None,
            },
        );
        let open = found.open.is_some();
        self.file(found, case, Some(vector));
        open
    }

    fn sequences(&mut self, progress: &mut dyn FnMut(HoldProgress)) {
        let HoldOptions { version, seed, .. } = *self.options;
        let Some(generator) = SequenceGenerator::new(version, seed, |kind| self.holds(kind)) else {
            return;
        };
        let count = self.options.sequences;
        let mut first = 0;
        while first < count && !self.subject.is_lost() {
            let last = count.min(first + CHUNK);
            let sequences: Vec<_> =
                (first..last).map(|number| (number, generator.sequence(number))).collect();
            let steps: Vec<ReducerCase> =
                sequences.iter().flat_map(|(_, sequence)| sequence.steps.clone()).collect();
            self.steps(steps);
            self.wholes(sequences.into_iter().map(|(number, s)| (number, s.whole)).collect());
            first = last;
            progress(HoldProgress::Sequences(first, count));
        }
    }

    /// Asks about decoding and encoding of each state, and then about each step from the decoded state.
    fn steps(&mut self, steps: Vec<ReducerCase>) {
        let bares: Vec<ReducerCase> = steps.iter().map(ReducerCase::bare).collect();
        let answers = self.ask(bares.iter().map(ReducerCase::question).collect());
        let mut kept = Vec::new();
        for ((mut step, bare), answer) in steps.into_iter().zip(bares).zip(answers) {
            let found = self.judge(&bare, &answer);
            if let Some(found) = found {
                let goes_on = found.kind == DisagreementKind::State;
                self.file(found, &bare, None);
                if !goes_on {
                    continue;
                }
            }
            if let Ok(SubjectAnswer::Value { value, .. }) = answer {
                if !same(&value, &step.state) {
                    step.state = value;
                }
                kept.push(step);
            }
        }
        let answers = self.ask(kept.iter().map(ReducerCase::question).collect());
        for (step, answer) in kept.iter().zip(&answers) {
            if *answer == Err(ExchangeError::GivenUp) {
                continue;
            }
            let found = self.judge(step, answer);
            self.report.actions.entry(step.label()).or_default().count(found.as_ref());
            if let Some(found) = found {
                self.file(found, step, None);
            }
        }
    }

    /// Asks about whole sequences. If a step disagrees, the whole sequence may disagree for the same reason, so a
    /// disagreement of the whole sequence is recorded only if every step agrees.
    fn wholes(&mut self, wholes: Vec<(u64, ReducerCase)>) {
        let mut questions = Vec::new();
        for (number, whole) in &wholes {
            questions.push(whole.question());
            if number % TWICE_IN == 0 {
                questions.push(whole.question());
            }
        }
        let mut answers = self.ask(questions).into_iter();
        for (number, whole) in wholes {
            let Some(answer) = answers.next() else { return };
            if number % TWICE_IN == 0
                && let Some(again) = answers.next()
                && let (
                    Ok(SubjectAnswer::Value { value, .. }),
                    Ok(SubjectAnswer::Value { value: twice, .. }),
                ) = (&answer, &again)
            {
                self.unsteady(&whole, value, twice);
            }
            let found = self.judge(&whole, &answer);
            let Some(found) = found.filter(|found| found.kind != DisagreementKind::Outcome) else {
                continue;
            };
            if found.kind == DisagreementKind::Broken || self.agrees_by_steps(&whole) {
                self.file(found, &whole, None);
            }
        }
    }

    fn unsteady(&mut self, whole: &ReducerCase, once: &Value, twice: &Value) {
        let differences = differences_with(self.options.clock, &whole.state, once, twice);
        let Some(difference) = differences.first() else { return };
        let what = CaseDisagreement {
            kind: DisagreementKind::Unsteady,
            action: SEQUENCE.to_owned(),
            path: case::place_class(&difference.path),
            ours: case::shown(&difference.ours),
            theirs: case::shown(&difference.theirs),
            open: None,
        };
        self.file(what, whole, None);
    }

    /// Returns whether every single step of a sequence agrees and no state loses data when it is decoded.
    fn agrees_by_steps(&mut self, whole: &ReducerCase) -> bool {
        let steps = whole.steps(self.options.version).into_iter();
        let cases: Vec<ReducerCase> = steps.flat_map(|step| [step.bare(), step]).collect();
        let answers = self.ask(cases.iter().map(ReducerCase::question).collect());
        let agrees = |(case, answer): (&ReducerCase, &Result<SubjectAnswer, ExchangeError>)| {
            self.judge(case, answer).is_none_or(|found| found.kind == DisagreementKind::Outcome)
        };
        cases.iter().zip(&answers).all(agrees)
    }

    fn shrink(&mut self, progress: &mut dyn FnMut(HoldProgress)) {
        let keys: Vec<String> = self.classes.keys().take(MAX_FINDINGS).cloned().collect();
        for (done, key) in keys.iter().enumerate() {
            progress(HoldProgress::Shrunk(done, keys.len()));
            if self.subject.is_lost() {
                return;
            }
            let Some(finding) = self.classes.get(key).cloned() else { continue };
            if finding.what.kind == DisagreementKind::Lost || key != &finding.what.key() {
                continue;
            }
            self.shrink_one(&finding);
        }
    }

    fn shrink_one(&mut self, finding: &SubjectFinding) {
        // A case for which the subject gave no answer in time, or two different answers, is not shrunk: if the subject
        // hangs, each smaller case would take the full time limit.
        if finding.what.kind == DisagreementKind::Broken && finding.what.path == "silent"
            || finding.what.kind == DisagreementKind::Unsteady
        {
            return;
        }
        let mut shrinker = CaseShrinker::new(self.options.version, finding.case.clone());
        let mut what = finding.what.clone();
        loop {
            let candidates = shrinker.candidates();
            if candidates.is_empty() || self.subject.is_lost() {
                break;
            }
            let mut questions = Vec::new();
            for case in &candidates {
                questions.push(case.bare().question());
                questions.push(case.question());
            }
            let answers = self.ask(questions);
            let mut holds = Vec::new();
            for (case, pair) in candidates.iter().zip(answers.chunks(2)) {
                let [bare, answer] = pair else { break };
                let kept = match bare {
                    Ok(SubjectAnswer::Value { value, .. }) => same(value, &case.state),
                    _ => false,
                };
                let found = self.judge(case, answer);
                let found = found.filter(|found| what.holds_in(found));
                holds.push(found.is_some() && (kept || case.actions.is_empty()));
                if let Some(found) = found
                    && holds.iter().filter(|holds| **holds).count() == 1
                    && holds.last() == Some(&true)
                {
                    what = found;
                }
            }
            shrinker.take(&holds);
        }
        self.refile(&finding.key, what, shrinker.best().clone());
    }

    /// Moves a finding to the key of its smallest case, and merges it with an existing finding of that key.
    fn refile(&mut self, key: &str, what: CaseDisagreement, case: ReducerCase) {
        let Some(mut finding) = self.classes.remove(key) else { return };
        finding.key = what.key();
        finding.what = what;
        finding.case = case;
        if let Some(other) = self.classes.remove(&finding.key) {
            finding.seen += other.seen;
            finding.vectors.extend(other.vectors);
            finding.vectors.sort();
            finding.vectors.dedup();
            if other.case.size() < finding.case.size() {
                finding.case = other.case;
                finding.what = other.what;
            }
        }
        self.classes.insert(finding.key.clone(), finding);
    }

    /// Sorts the findings, and merges findings with the same smallest case.
    fn finish(mut self) -> SubjectReport {
        let mut findings: Vec<SubjectFinding> =
            std::mem::take(&mut self.classes).into_iter().map(|(_, finding)| finding).collect();
        let mut seen: HashSet<String> = HashSet::new();
        findings.retain(|finding| {
            let ReducerCase { channel, state, actions, .. } = &finding.case;
            let action = &finding.what.action;
            let case = format!("{:?} {action} {channel:?} {state} {actions:?}", finding.what.kind);
            finding.status == Status::Note || seen.insert(case)
        });
        let weight = |status: Status| match status {
            Status::Fail => 0,
            Status::Warn => 1,
            _ => 2,
        };
        findings.sort_by(|one, other| {
            let rank = |finding: &SubjectFinding| (weight(finding.status), finding.key.clone());
            rank(one).cmp(&rank(other))
        });
        self.report.findings = findings;
        self.report
    }
}

#[cfg(test)]
mod tests;
mod trips;

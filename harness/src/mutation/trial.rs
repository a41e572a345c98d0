//! Runs the checks on mutants and legal rewrites: a given number per operator, selected with a seed.
//!
//! Knows: operators, rewrites, captures. Never knows: the source of captures, the presentation of tables.
//!
//! Start at [`WireTrial`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::dice::Dice;
use crate::verdict::Weight;

use super::capture::{CaptureJudgement, MutableCapture};
use super::operator::WireOperator;
use super::reading::{CaptureReading, EnvelopeSpot};
use super::rewrite::LegalRewrite;

/// The maximum number of places that are tried for each mutant that is still wanted.
const TRIES: usize = 6;
/// The maximum number of times that one rewrite is applied to one capture, if there are too few captures.
const AGAIN: usize = 14;

/// The outcome of a mutant.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum MutantFate {
    /// A check fails or warns.
    Killed,
    /// A check only reports a note.
    Noted,
    /// No check reports anything.
    Survived,
    /// The specification permits the mutant's behaviour.
    Legal,
    /// The capture contains no evidence of the fault.
    Undecidable,
}

/// One mutant.
#[derive(Clone, Debug)]
pub struct WireMutant {
    /// The name of the base capture.
    pub capture: String,
    /// The changed line of the base capture, counted from 1.
    pub line: usize,
    /// A description of the change for people.
    pub what: String,
    /// The outcome of the mutant.
    pub fate: MutantFate,
    /// The checks with findings, or why the mutant does not count.
    pub why: String,
}

/// The mutants of an operator.
#[derive(Clone, Debug)]
pub struct OperatorResult {
    /// The operator.
    pub operator: &'static WireOperator,
    /// The mutants, in the order of their creation.
    pub mutants: Vec<WireMutant>,
}

/// The results of a rewrite.
#[derive(Clone, Debug)]
pub struct RewriteResult {
    /// The rewrite.
    pub rewrite: &'static LegalRewrite,
    /// The number of rewritten captures.
    pub rewritten: usize,
    /// The rewritten captures with a finding above a note, each with the finding.
    pub accused: Vec<WireMutant>,
}

/// The correct captures to mutate, each with the judgement before any change.
pub struct WireTrial {
    captures: Vec<MutableCapture>,
    judgements: Vec<CaptureJudgement>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The wanted number of mutants that count for each operator, and the number of rewritten captures for each
    /// rewrite.
    pub count: usize,
}

impl OperatorResult {
    /// Returns the number of mutants with this outcome.
    pub fn of(&self, fate: MutantFate) -> usize {
        self.mutants.iter().filter(|mutant| mutant.fate == fate).count()
    }

    /// Returns the number of mutants that are neither legal nor undecidable. Only these mutants count.
    pub fn counted(&self) -> usize {
        self.of(MutantFate::Killed) + self.of(MutantFate::Noted) + self.of(MutantFate::Survived)
    }
}

/// A function that saves a mutant to a file; the arguments are the mutant's name and its capture.
pub type KeepMutant<'a> = &'a (dyn Fn(&str, &MutableCapture) + Sync);

/// A function that runs the same work on every core.
pub type ShareWork<'a> = &'a dyn Fn(&(dyn Fn() + Sync));

impl WireTrial {
    /// Creates a trial from the captures without a finding above a note. Other captures are left out.
    pub fn new(captures: Vec<MutableCapture>, seed: u64, count: usize) -> WireTrial {
        let mut judged: Vec<_> = captures
            .into_iter()
            .map(|capture| {
                let judgement = capture.judge();
                (capture, judgement)
            })
            .collect();
        judged.retain(|(_, it)| it.heaviest().is_none_or(|weight| weight < Weight::Should));
        let (captures, judgements) = judged.into_iter().unzip();
        WireTrial { captures, judgements, seed, count }
    }

    /// Returns the captures of the trial.
    pub fn captures(&self) -> &[MutableCapture] {
        &self.captures
    }

    /// Mutates the captures with each operator and returns the results.
    pub fn mutate(
        &self,
        operators: &[&'static WireOperator],
        keep: KeepMutant<'_>,
        share: ShareWork<'_>,
    ) -> Vec<OperatorResult> {
        let readings: Vec<CaptureReading<'_>> =
            self.captures.iter().map(|capture| CaptureReading::of(&capture.lines)).collect();
        each(operators, share, &|operator| self.mutants_of(operator, &readings, keep))
    }

    fn mutants_of(
        &self,
        operator: &'static WireOperator,
        readings: &[CaptureReading<'_>],
        keep: KeepMutant<'_>,
    ) -> OperatorResult {
        let mut dice = Dice::new(self.seed, part_of(operator.name));
        let mut spots: Vec<(usize, EnvelopeSpot)> = Vec::new();
        for (number, reading) in readings.iter().enumerate() {
            spots.extend(operator.spots(reading).into_iter().map(|spot| (number, spot)));
        }
        dice.shuffle(&mut spots);
        let mut result = OperatorResult { operator, mutants: Vec::new() };
        for (number, spot) in spots.into_iter().take(self.count.saturating_mul(TRIES)) {
            if result.counted() >= self.count {
                break;
            }
            let reading = &readings[number];
            let Some(changed) = operator.change.apply(reading, &spot, &mut dice) else { continue };
            let base = &self.captures[number];
            let mut mutant = WireMutant {
                capture: base.name.clone(),
                line: spot.line + 1,
                what: changed.what.clone(),
                fate: MutantFate::Undecidable,
                why: String::new(),
            };
            let legal = operator.legal.filter(|(when, _)| when.holds(reading, &spot));
            let shown = operator.shown.iter().any(|it| it.is_there(reading, &spot, &changed));
            if let Some((_, reason)) = legal {
                mutant.fate = MutantFate::Legal;
                reason.clone_into(&mut mutant.why);
            } else if !shown {
                let missing = operator.shown.first().map_or("", |it| it.missing());
                missing.clone_into(&mut mutant.why);
            } else {
                let capture = MutableCapture { lines: changed.lines, ..base.clone() };
                let judgement = capture.judge();
                mutant.fate = fate(&judgement, &self.judgements[number]);
                mutant.why = judgement.checks(Weight::Should).join(", ");
                if let Some(requirement) =
                    operator.advice.filter(|_| mutant.fate == MutantFate::Noted)
                {
                    mutant.fate = MutantFate::Legal;
                    mutant.why =
                        format!("the specification does not require it: `{requirement}` is a note");
                }
                let name = format!("{}-{}", operator.name, result.mutants.len());
                keep(&name, &capture);
            }
            result.mutants.push(mutant);
        }
        result
    }

    /// Rewrites the captures with each rewrite and returns the results.
    pub fn rewrite(
        &self,
        rewrites: &[&'static LegalRewrite],
        keep: KeepMutant<'_>,
        share: ShareWork<'_>,
    ) -> Vec<RewriteResult> {
        each(rewrites, share, &|rewrite| self.rewrites_of(rewrite, keep))
    }

    fn rewrites_of(&self, rewrite: &'static LegalRewrite, keep: KeepMutant<'_>) -> RewriteResult {
        let mut dice = Dice::new(self.seed, part_of(rewrite.name));
        let mut order: Vec<usize> = (0..self.captures.len()).collect();
        dice.shuffle(&mut order);
        let mut result = RewriteResult { rewrite, rewritten: 0, accused: Vec::new() };
        // If there are fewer captures than rewrites, a capture is rewritten several times with other random
        // choices.
        let again = self.count.saturating_mul(3).max(order.len().saturating_mul(AGAIN));
        for number in order.iter().copied().cycle().take(again) {
            if result.rewritten >= self.count {
                break;
            }
            let base = &self.captures[number];
            let Some(capture) = rewrite.apply(base, &mut dice) else { continue };
            result.rewritten += 1;
            let judgement = capture.judge();
            if judgement.heaviest().is_some_and(|weight| weight >= Weight::Should) {
                let name = format!("{}-{}", rewrite.name, result.accused.len());
                keep(&name, &capture);
                result.accused.push(WireMutant {
                    capture: base.name.clone(),
                    line: 0,
                    what: judgement.message.clone(),
                    fate: MutantFate::Killed,
                    why: judgement.checks(Weight::Should).join(", "),
                });
            }
        }
        result
    }
}

fn fate(judgement: &CaptureJudgement, before: &CaptureJudgement) -> MutantFate {
    match judgement.heaviest() {
        Some(weight) if weight >= Weight::Should => MutantFate::Killed,
        _ if judgement.says_more_than(before) => MutantFate::Noted,
        _ => MutantFate::Survived,
    }
}

/// Returns the number of the random stream for a name (its FNV-1a hash). Because each name has its own stream, the
/// results of other rows do not change when a row is added.
fn part_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Calls `work` for each item, on all threads, and returns the results in order.
fn each<T: Copy + Sync, R: Send>(
    items: &[T],
    share: ShareWork<'_>,
    work: &(dyn Fn(T) -> R + Sync),
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, R>> = Mutex::default();
    share(&|| {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { break };
            let result = work(*item);
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(place, result);
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

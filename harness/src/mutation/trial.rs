//! What the checks make of mutants and of legal rewrites: a number of each operator, drawn from a seed.
//!
//! Knows: operators, rewrites, captures. Never knows: where captures come from, how a table is shown.
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

/// For each mutant that counts, so many places are tried.
const TRIES: usize = 6;
/// A capture is rewritten in so many ways of one kind, where there are too few captures.
const AGAIN: usize = 14;

/// What became of a mutant.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum MutantFate {
    /// A check fails or warns.
    Killed,
    /// A check has a note.
    Noted,
    /// No check says anything.
    Survived,
    /// What was changed is something that a host may do.
    Legal,
    /// Nobody could know from the capture.
    Undecidable,
}

/// One mutant.
#[derive(Clone, Debug)]
pub struct WireMutant {
    /// The name of the base capture.
    pub capture: String,
    /// The line in it that was changed, from 1.
    pub line: usize,
    /// What was changed.
    pub what: String,
    /// What became of it.
    pub fate: MutantFate,
    /// The checks that found something, or why the mutant does not count.
    pub why: String,
}

/// What became of the mutants of an operator.
#[derive(Clone, Debug)]
pub struct OperatorResult {
    /// The operator.
    pub operator: &'static WireOperator,
    /// Its mutants, in the order in which they were drawn.
    pub mutants: Vec<WireMutant>,
}

/// What became of the rewrites of a kind.
#[derive(Clone, Debug)]
pub struct RewriteResult {
    /// The rewrite.
    pub rewrite: &'static LegalRewrite,
    /// How many captures were rewritten.
    pub rewritten: usize,
    /// Those in which something is found above a note, each with what.
    pub accused: Vec<WireMutant>,
}

/// Captures in which nothing is wrong, with what is said about them all the same.
pub struct WireTrial {
    captures: Vec<MutableCapture>,
    judgements: Vec<CaptureJudgement>,
    /// The seed of every choice.
    pub seed: u64,
    /// How many mutants that count, or rewrites, of each operator.
    pub count: usize,
}

impl OperatorResult {
    /// How many mutants ended so.
    pub fn of(&self, fate: MutantFate) -> usize {
        self.mutants.iter().filter(|mutant| mutant.fate == fate).count()
    }

    /// How many count: those that are neither legal nor undecidable.
    pub fn counted(&self) -> usize {
        self.of(MutantFate::Killed) + self.of(MutantFate::Noted) + self.of(MutantFate::Survived)
    }
}

/// Keeps the file of a mutant: the name that it should have, and its capture.
pub type KeepMutant<'a> = &'a (dyn Fn(&str, &MutableCapture) + Sync);

/// Does the same work on every core.
pub type ShareWork<'a> = &'a dyn Fn(&(dyn Fn() + Sync));

impl WireTrial {
    /// A trial on captures, of which those are left out in which something is found above a note.
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

    /// The captures.
    pub fn captures(&self) -> &[MutableCapture] {
        &self.captures
    }

    /// What becomes of each operator's mutants.
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
                    mutant.why = format!("the text does not demand it: `{requirement}` is a note");
                }
                let name = format!("{}-{}", operator.name, result.mutants.len());
                keep(&name, &capture);
            }
            result.mutants.push(mutant);
        }
        result
    }

    /// What is found in each kind of rewrite.
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
        // Where there are fewer captures than rewrites, the same one is rewritten in other ways.
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

/// The part of the dice that belongs to a name, so that a new row changes no other one (FNV-1a).
fn part_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Does something for each item, on as many threads as there are, and keeps the order.
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

//! `ahp-harness variants --acp`: proves that no rule is reported as broken for a legal agent.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::agent::acp::variant::{AGENT_VARIANTS, AgentVariantRow};
use crate::run::agent_variants;
use crate::run::suite::ScenarioSuite;
use crate::scenario::source::did_you_mean;
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::mutants::on_all_cores;
use super::variant_report::{matrix, told};
use super::variant_sets::combination;

use crate::dice::Dice;

/// Which legal variants of the agent are tested, and which part of the scenarios is played with each of them.
pub(super) struct AgentTrials<'a> {
    pub(super) suite: &'a ScenarioSuite,
    /// The variants to combine in one agent. If empty, each variant is played on its own.
    pub(super) variants: &'a [String],
    /// The number of random combinations.
    pub(super) random: usize,
    /// Every N-th scenario is played: the number N for single variants, and the number N for combinations of variants.
    pub(super) parts: (usize, usize),
}

impl AgentTrials<'_> {
    pub(super) fn main(&self, context: &CliContext) -> CommandOutcome {
        let began = Instant::now();
        let sets = self.sets(context.seed)?;
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        on_all_cores(&|| {
            while let Some((place, (rows, part))) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                sets.get(place).map(|set| (place, set))
            } {
                let share = |scenario| scenario % part == place % part;
                let result = agent_variants::play(self.suite, rows, share);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(place, _)| *place);
        let results: Vec<_> = results.into_iter().map(|(_, result)| result).collect();
        let mut out = String::new();
        results.iter().for_each(|result| told(result, Version::ACP_1, &mut out));
        matrix(&results, &mut out);
        let accused = results.iter().filter(|result| !result.accused.is_empty()).count();
        let _ = writeln!(
            out,
            "{} variants and combinations of agents, {} scenario runs, in {:.1} s: {} without a false finding, \
             {accused} with one",
            results.len(),
            results.iter().map(|result| result.played).sum::<usize>(),
            began.elapsed().as_secs_f64(),
            results.len() - accused
        );
        context.say(&out);
        Ok(if accused == 0 { CommandExit::Ok } else { CommandExit::Failed })
    }

    /// Returns the sets of variants to play, each with a number N: every N-th scenario is played with this set.
    fn sets(&self, seed: u64) -> Result<Vec<(Vec<&'static AgentVariantRow>, usize)>, CommandStop> {
        let (single, several) = self.parts;
        if !self.variants.is_empty() {
            return Ok(vec![(named(self.variants)?, single)]);
        }
        let all: Vec<&'static AgentVariantRow> = AGENT_VARIANTS.iter().collect();
        let mut sets: Vec<_> = all.iter().map(|row| (vec![*row], single)).collect();
        let mut dice = Dice::seeded(seed);
        for _ in 0..self.random {
            let rows = combination(&mut dice, &all, |row, other| row.name == other.name);
            sets.push((rows, several));
        }
        Ok(sets)
    }
}

/// Looks up variants by name.
///
/// # Errors
/// Returns an error with the unknown name and the most similar known name.
pub(super) fn named(names: &[String]) -> Result<Vec<&'static AgentVariantRow>, CommandStop> {
    let known: Vec<_> = AGENT_VARIANTS.iter().map(|row| row.name).collect();
    let find = |name: &String| {
        AgentVariantRow::named(name).ok_or_else(|| {
            let hint = did_you_mean(name, &known);
            CommandStop::usage(format!("no variant of an agent is called `{name}` (hint: {hint})"))
        })
    };
    names.iter().map(find).collect()
}

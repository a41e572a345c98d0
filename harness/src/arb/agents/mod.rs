//! Generates conversations with an agent under test: cancellations of turns at any moment, prompts during a
//! turn, late, repeated or wrong answers to requests for permission, invalid params, and long, unusual or empty
//! content.
//!
//! No simulated agent runs during generation, so a step is a claim only if a requirement of the ledger permits exactly
//! one outcome. The always-on checks find all other faults.
//!
//! Knows: the moves and their weights. Never knows: the agent that plays the scenario.
//!
//! Start at [`AgentConversationGenerator::sequence`].

use std::sync::Arc;

use crate::dice::Dice;
use crate::run::detect::DetectedFeature;
use crate::scenario::capability::ABILITIES;

use super::generated_sequence::GeneratedSequence;
use super::step_result::{ActionLogEntry, ClientStepResult};

mod answers;
mod builder;
mod params;
mod sessions;
mod suite;
mod turns;

use builder::{AgentConversationBuilder, PermissionPolicy};

/// The abilities of an agent: names from [`ABILITIES`].
#[derive(Clone, Debug)]
pub struct AgentAbilitySet(Arc<[&'static str]>);

impl AgentAbilitySet {
    /// Returns all abilities, which are the abilities of the reference agent.
    pub fn all() -> AgentAbilitySet {
        AgentAbilitySet(ABILITIES.into())
    }

    /// Returns the abilities that the first look found; abilities that were not tested count as present.
    pub fn of(detected: &[DetectedFeature]) -> AgentAbilitySet {
        let lacks = |name: &&str| detected.iter().any(|it| it.capability == **name && !it.offered);
        AgentAbilitySet(ABILITIES.iter().copied().filter(|name| !lacks(name)).collect())
    }

    /// Returns whether the agent has an ability; always true for the empty name.
    pub fn has(&self, ability: &str) -> bool {
        ability.is_empty() || self.0.contains(&ability)
    }
}

/// A generator of conversations with an agent.
#[derive(Clone, Debug)]
pub struct AgentConversationGenerator {
    seed: u64,
    abilities: AgentAbilitySet,
}

/// The log entry of a move: its name and its deviation; `None` if the move is not possible now.
type AgentMoveLog = Option<(String, &'static str)>;

type AgentMove = fn(&mut AgentConversationBuilder) -> AgentMoveLog;

/// Every move, with its name and its weight without a theme.
const MOVES: &[(&str, usize, AgentMove)] = &[
    ("prompt", 30, turns::prompt),
    ("busy", 6, turns::prompt_while_busy),
    ("rest", 12, turns::rest),
    ("await", 8, turns::await_update),
    ("cancel", 16, turns::cancel),
    ("idle-cancel", 4, turns::cancel_idle),
    ("cancel-request", 3, turns::cancel_request),
    ("decide", 24, answers::decide),
    ("stray", 2, answers::stray),
    ("finish", 10, turns::finish),
    ("content", 6, params::odd_content),
    ("malformed", 6, params::malformed),
    ("unknown", 3, params::unknown_method),
    ("malformed-notification", 2, params::malformed_notification),
    ("new-session", 4, sessions::create),
    ("unknown-session", 3, sessions::unknown),
    ("any-request", 3, sessions::any_request),
];

/// The theme of a conversation.
struct AgentTheme {
    name: &'static str,
    /// The policies for answering requests for permission that the theme permits.
    policy: &'static [PermissionPolicy],
    /// The names of the preferred moves, each with its additional weight.
    more: &'static [(&'static str, usize)],
}

use PermissionPolicy::{Allows, ByHand, Decides};

const ANY_POLICY: &[PermissionPolicy] = &[Allows, Decides, ByHand];

const fn theme(
    name: &'static str,
    policy: &'static [PermissionPolicy],
    more: &'static [(&'static str, usize)],
) -> AgentTheme {
    AgentTheme { name, policy, more }
}

const THEMES: &[AgentTheme] = &[
    theme("cancels", ANY_POLICY, &[("cancel", 60), ("rest", 30), ("prompt", 30)]),
    theme("permission", &[Decides], &[("decide", 60), ("prompt", 30)]),
    theme("answers by hand", &[ByHand], &[("decide", 60), ("stray", 10), ("prompt", 30)]),
    theme("prompts while busy", ANY_POLICY, &[("busy", 60), ("prompt", 20)]),
    theme("params", &[Allows], &[("malformed", 90), ("unknown", 30)]),
    theme("content", &[Allows], &[("content", 90)]),
    theme(
        "sessions",
        ANY_POLICY,
        &[("new-session", 50), ("unknown-session", 30), ("any-request", 40)],
    ),
];

/// The percentage of conversations that begin like a scenario of the suite.
const OF_SUITE: usize = 35;
/// The factor of the additional weights in a theme.
const THEMED: usize = 3;
/// The minimum number of moves of a conversation.
const SHORTEST: usize = 2;
/// The maximum number of moves beyond [`SHORTEST`].
const LONGER: usize = 8;
/// The number of impossible moves after which a conversation ends.
const IDLE: usize = 40;

impl AgentConversationGenerator {
    /// Creates a generator with a seed, for an agent with these abilities.
    pub fn new(seed: u64, abilities: AgentAbilitySet) -> AgentConversationGenerator {
        AgentConversationGenerator { seed, abilities }
    }

    /// Returns the conversation with this number, which depends only on the seed and the number.
    pub fn sequence(&self, number: u64) -> Option<GeneratedSequence> {
        self.of_seed(Dice::new(self.seed, number).roll())
    }

    /// Returns the conversation that is generated from this seed.
    pub fn of_seed(&self, seed: u64) -> Option<GeneratedSequence> {
        let mut dice = Dice::seeded(seed);
        if dice.chance(OF_SUITE) {
            return suite::sequence(seed, dice, &self.abilities);
        }
        let able = |policy: &PermissionPolicy| self.abilities.has(policy.needs());
        let fits = |theme: &&AgentTheme| theme.policy.iter().any(able);
        let themes: Vec<&AgentTheme> = THEMES.iter().filter(fits).collect();
        let theme = *dice.pick(&themes)?;
        let policies: Vec<PermissionPolicy> = theme.policy.iter().copied().filter(able).collect();
        let policy = *dice.pick(&policies)?;
        let mut builder = AgentConversationBuilder::new(dice, self.abilities.clone(), policy);
        sessions::open(&mut builder);
        let moves = SHORTEST + builder.dice.below(LONGER + 1);
        let told = go_on(&mut builder, theme, moves);
        builder.close();
        builder.sequence(seed, theme.name, told)
    }
}

/// Makes this many moves, and returns their log.
fn go_on(
    builder: &mut AgentConversationBuilder,
    theme: &AgentTheme,
    moves: usize,
) -> Vec<ActionLogEntry> {
    let mut told = Vec::new();
    let mut idle = 0;
    while told.len() < moves && idle < IDLE && !builder.over {
        let Some(one) = pick(&mut builder.dice, theme) else { break };
        match one(builder) {
            Some((what, deviation)) => told.push((what, deviation, ClientStepResult::Nothing)),
            None => idle += 1,
        }
    }
    told
}

fn pick(dice: &mut Dice, theme: &AgentTheme) -> Option<AgentMove> {
    let more = |name: &str| theme.more.iter().find(|row| row.0 == name).map_or(0, |row| row.1);
    let weight = |row: &(&str, usize, AgentMove)| row.1 + THEMED * more(row.0);
    let all: usize = MOVES.iter().map(weight).sum();
    let mut at = dice.below(all);
    MOVES
        .iter()
        .find(|row| match at.checked_sub(weight(row)) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        })
        .map(|row| row.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn themes_name_existing_moves() {
        for theme in THEMES {
            for (name, _) in theme.more {
                assert!(MOVES.iter().any(|row| row.0 == *name), "{name}");
            }
        }
    }
}

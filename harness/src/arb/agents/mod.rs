//! Conversations with an agent that is put to the test itself, drawn from dice: turns that are cancelled at any moment,
//! prompts while a turn goes on, answers to requests for permission that are late, repeated or of another request,
//! params that are not valid, and content that is long, odd or empty.
//!
//! No stage plays along: what an agent may do at any time is left open, and a step is a claim only where a requirement
//! of the ledger leaves no other outcome. Everything else that is wrong is found by the always-on checks.
//!
//! Knows: moves and how often they are made. Never knows: what is played with the scenario.
//!
//! Start at [`AgentConversationGenerator::sequence`].

use std::sync::Arc;

use crate::dice::Dice;
use crate::run::detect::DetectedFeature;
use crate::scenario::capability::ABILITIES;

use super::act::ActionLogEntry;
use super::generate::DrawnSequence;
use super::step_result::ClientStepResult;

mod answers;
mod draw;
mod params;
mod sessions;
mod suite;
mod turns;

use draw::{AgentConversationDraw, PermissionPolicy};

/// What an agent can be made to do: the names of [`ABILITIES`].
#[derive(Clone, Debug)]
pub struct AgentAbilitySet(Arc<[&'static str]>);

impl AgentAbilitySet {
    /// Everything, as the reference agent can.
    pub fn all() -> AgentAbilitySet {
        AgentAbilitySet(ABILITIES.into())
    }

    /// What a first look found; what nobody asked about is taken as there.
    pub fn of(detected: &[DetectedFeature]) -> AgentAbilitySet {
        let lacks = |name: &&str| detected.iter().any(|it| it.capability == **name && !it.offered);
        AgentAbilitySet(ABILITIES.iter().copied().filter(|name| !lacks(name)).collect())
    }

    /// Whether it can do this.
    pub fn has(&self, ability: &str) -> bool {
        ability.is_empty() || self.0.contains(&ability)
    }
}

/// Draws conversations with an agent.
#[derive(Clone, Debug)]
pub struct AgentConversationGenerator {
    seed: u64,
    abilities: AgentAbilitySet,
}

/// What was done, and how it deviates; `None` where it cannot be done now.
type AgentMoveLog = Option<(String, &'static str)>;

type AgentMove = fn(&mut AgentConversationDraw) -> AgentMoveLog;

/// Every move, with its name and how often it is made where no theme says otherwise.
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

/// What a conversation is about.
struct AgentTheme {
    name: &'static str,
    /// Who answers requests for permission.
    policy: &'static [PermissionPolicy],
    /// Moves that are made more often.
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

/// Of a hundred conversations, so many begin as a scenario of the suite does.
const OF_SUITE: usize = 35;
/// How much more a theme counts than what is usual.
const THEMED: usize = 3;
/// Fewest moves of a conversation.
const SHORTEST: usize = 2;
/// How many more there can be.
const LONGER: usize = 8;
/// Moves that come to nothing before a conversation ends.
const IDLE: usize = 40;

impl AgentConversationGenerator {
    /// A generator of this seed for an agent that can be made to do this.
    pub fn new(seed: u64, abilities: AgentAbilitySet) -> AgentConversationGenerator {
        AgentConversationGenerator { seed, abilities }
    }

    /// The conversation of that number: the same seed and number, the same conversation.
    pub fn sequence(&self, number: u64) -> Option<DrawnSequence> {
        self.of_seed(Dice::new(self.seed, number).roll())
    }

    /// The conversation of a seed of its own.
    pub fn of_seed(&self, seed: u64) -> Option<DrawnSequence> {
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
        let mut draw = AgentConversationDraw::new(dice, self.abilities.clone(), policy);
        sessions::open(&mut draw);
        let moves = SHORTEST + draw.dice.below(LONGER + 1);
        let told = go_on(&mut draw, theme, moves);
        draw.close();
        draw.sequence(seed, theme.name, told)
    }
}

/// Makes so many moves.
fn go_on(
    draw: &mut AgentConversationDraw,
    theme: &AgentTheme,
    moves: usize,
) -> Vec<ActionLogEntry> {
    let mut told = Vec::new();
    let mut idle = 0;
    while told.len() < moves && idle < IDLE && !draw.over {
        let Some(one) = pick(&mut draw.dice, theme) else { break };
        match one(draw) {
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

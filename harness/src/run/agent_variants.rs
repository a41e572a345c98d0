//! The suite for agents against legal variants of the reference agent: no rule may be reported broken.
//!
//! Every scenario is played, also those whose needs a variant does not meet: what they cannot test then is untested. A
//! wrong accusation is what [`variants`](super::variants) says.
//!
//! Knows: the reference agent, the simulation. Never knows: how results are shown.
//!
//! Start at [`play`].

use crate::agent::acp::AgentConfig;
use crate::agent::acp::variant::AgentVariantRow;
use crate::host::subject::AgentSubject;

use super::agents::{play_on, playable};
use super::suite::ScenarioSuite;
use super::variants::VariantResult;

/// Plays the scenarios that `share` selects by their place against the reference agent with these variants.
pub fn play(
    suite: &ScenarioSuite,
    rows: &[&'static AgentVariantRow],
    share: impl Fn(usize) -> bool,
) -> VariantResult {
    let variants = rows.iter().map(|row| row.name).collect();
    let mut result = VariantResult { variants, ..VariantResult::default() };
    for (_, entry) in playable(suite).iter().enumerate().filter(|(place, _)| share(*place)) {
        let verdict = play_on(entry, &mut AgentSubject::varied(AgentConfig::default(), rows));
        result.add(&entry.scenario, &verdict);
    }
    result
}

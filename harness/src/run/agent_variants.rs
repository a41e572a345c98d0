//! Plays the suite for agents against legal variants of the reference agent: no requirement may be reported as
//! broken.
//!
//! Every scenario is played. If a scenario needs a capability that a variant does not have, the claims of the scenario
//! are untested. The module [`variants`](super::variants) defines which findings are false.
//!
//! Knows: the reference agent, the simulation. Never knows: the presentation of results.
//!
//! Start at [`play`].

use crate::agent::acp::AgentConfig;
use crate::agent::acp::variant::AgentVariantRow;
use crate::host::subject::AgentSubject;

use super::agents::{play_on, playable};
use super::suite::ScenarioSuite;
use super::variants::VariantResult;

/// Plays scenarios against the reference agent with these variants. `share` returns whether the scenario with this
/// index is played.
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

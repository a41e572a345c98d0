//! The kill matrix of the suite for agents: the suite is played against the reference agent with one injected
//! fault at a time.
//!
//! The module [`kills`](super::kills) defines when a check or a scenario has killed (detected) a fault.
//!
//! Knows: the reference agent, the simulation. Never knows: the presentation of a matrix.
//!
//! Start at [`play_all`].

use std::time::Duration;

use crate::agent::acp::AgentConfig;
use crate::agent::acp::fault::{AgentFaults, Fault};
use crate::host::SansIoHost;
use crate::host::subject::AgentSubject;
use crate::oracle::checks;
use crate::verdict::Status;
use crate::wire::version::{ProtocolStandard, Version};

use super::kills::{ExemptIds, KillDepth, KillHunt, KillMatrix, KillTable, TrippedRules};
use super::mutant_rows::acp::ROWS;
use super::mutant_rows::broken::FaultOwner;
use super::mutants::epoch;
use super::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use super::setup::CaseSetup;
use super::side::AgentSide;
use super::sim;
use super::suite::{ScenarioSuite, SuiteEntry};

/// The checks that no injected fault of an agent can make fail, each with the reason.
pub const EXEMPT: ExemptIds = &[(
    "acp.wire.harness",
    "it judges the harness's own messages, which a fault of the agent cannot change",
)];

/// The seed of all generated identifiers.
const SEED: u64 = 1;
/// The time limit of a wait, in virtual time.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the scenarios about agents.
pub fn playable(suite: &ScenarioSuite) -> Vec<SuiteEntry> {
    let ours = |entry: &&SuiteEntry| entry.scenario.spec.standard() == ProtocolStandard::Acp;
    suite.entries.iter().filter(ours).cloned().collect()
}

/// Plays one scenario against an agent in memory.
pub fn play_on(entry: &SuiteEntry, agent: &mut dyn SansIoHost) -> ScenarioVerdict {
    let side = sim::side(Some(Version::ACP_1));
    play_recorded(entry, agent, side, Box::new(CountingRecorder::default()))
}

/// Plays one scenario like [`play_on`], with the given facts about the agent and the given recorder.
pub fn play_recorded(
    entry: &SuiteEntry,
    agent: &mut dyn SansIoHost,
    side: AgentSide,
    recorder: Box<dyn TranscriptRecorder>,
) -> ScenarioVerdict {
    let setup = CaseSetup::of(&entry.scenario, Version::ACP_1, SEED, epoch(), LIMIT);
    sim::play(ScenarioPlay::new(CaseSetup { side, ..setup }, false, recorder), agent)
}

/// Plays scenarios against the reference agent with these injected faults.
fn play(faults: &[Fault], entries: &[SuiteEntry], hunt: &KillHunt<'_>) -> TrippedRules {
    hunt.play(entries, EXEMPT, |entry| {
        let config = AgentConfig { faults: AgentFaults::of(faults), ..AgentConfig::default() };
        play_on(entry, &mut AgentSubject::new(config))
    })
}

/// Plays the suite against the reference agent without faults and then with each of these faults. `share` has
/// the same meaning as in [`KillMatrix::play`].
pub fn play_all(
    suite: &ScenarioSuite,
    faults: &[Fault],
    depth: KillDepth,
    share: impl Fn(&(dyn Fn() + Sync)),
) -> KillMatrix<Fault> {
    let entries = playable(suite);
    let table = KillTable {
        owner: FaultOwner::Agent,
        version: Version::ACP_1,
        checks: checks(ProtocolStandard::Acp),
        exempt: EXEMPT,
        rows: ROWS.iter().map(|row| (row.fault, row.trips)).collect(),
        older: Vec::new(),
        partial: false,
        depth,
    };
    let honest =
        vec![("the reference agent without faults", play(&[], &entries, &KillHunt::whole()))];
    let one = |fault, hunt: &KillHunt<'_>| play(&[fault], &entries, hunt);
    KillMatrix::play(table, suite, &entries, honest, faults, one, share)
}

/// Returns whether an agent without function earns nothing in a scenario: the scenario did not pass, and each always-on
/// check that was exercised has a finding.
pub fn earns_nothing(verdict: &ScenarioVerdict) -> bool {
    let check = |report: &crate::verdict::CheckReport| {
        report.observations > 0 && report.findings.is_empty()
    };
    verdict.status != Status::Pass && !verdict.checks.iter().any(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_names_some_checks_or_scenarios_but_not_all() {
        super::super::kills::check_rows(ROWS.iter(), EXEMPT);
    }
}

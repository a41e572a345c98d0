//! The kill matrix of the suite for agents: it is played against the reference agent with one planted fault at a time.
//!
//! The rules are those of [`kills`](super::kills).
//!
//! Knows: the reference agent, the simulation. Never knows: how a matrix is shown.
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
use super::mutants::epoch;
use super::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use super::setup::CaseSetup;
use super::side::AgentSide;
use super::sim;
use super::suite::{ScenarioSuite, SuiteEntry};

/// Checks that no fault of an agent can trip, each with the reason.
pub const EXEMPT: ExemptIds =
    &[("acp.wire.harness", "it judges the harness's own messages, which no agent can spoil")];

/// Every id is made from this.
const SEED: u64 = 1;
/// How long a wait may take, in virtual time.
const LIMIT: Duration = Duration::from_secs(10);

/// The scenarios about agents.
pub fn playable(suite: &ScenarioSuite) -> Vec<SuiteEntry> {
    let ours = |entry: &&SuiteEntry| entry.scenario.spec.standard() == ProtocolStandard::Acp;
    suite.entries.iter().filter(ours).cloned().collect()
}

/// Plays one scenario against an agent in memory.
pub fn play_on(entry: &SuiteEntry, agent: &mut dyn SansIoHost) -> ScenarioVerdict {
    let side = sim::side(Some(Version::ACP_1));
    play_recorded(entry, agent, side, Box::new(CountingRecorder::default()))
}

/// As [`play_on`], with this said about the agent, and the transcript kept.
pub fn play_recorded(
    entry: &SuiteEntry,
    agent: &mut dyn SansIoHost,
    side: AgentSide,
    recorder: Box<dyn TranscriptRecorder>,
) -> ScenarioVerdict {
    let setup = CaseSetup::of(&entry.scenario, Version::ACP_1, SEED, epoch(), LIMIT);
    sim::play(ScenarioPlay::new(CaseSetup { side, ..setup }, false, recorder), agent)
}

/// Plays scenarios against the reference agent with these faults planted.
fn play(faults: &[Fault], entries: &[SuiteEntry], hunt: &KillHunt<'_>) -> TrippedRules {
    hunt.play(entries, EXEMPT, |entry| {
        let config = AgentConfig { faults: AgentFaults::of(faults), ..AgentConfig::default() };
        play_on(entry, &mut AgentSubject::new(config))
    })
}

/// Plays the suite against the honest agent and against each of these faults; `share` as in [`KillMatrix::play`].
pub fn play_all(
    suite: &ScenarioSuite,
    faults: &[Fault],
    depth: KillDepth,
    share: impl Fn(&(dyn Fn() + Sync)),
) -> KillMatrix<Fault> {
    let entries = playable(suite);
    let table = KillTable {
        version: Version::ACP_1,
        checks: checks(ProtocolStandard::Acp),
        exempt: EXEMPT,
        rows: ROWS.iter().map(|row| (row.fault, row.trips)).collect(),
        older: Vec::new(),
        partial: false,
        depth,
    };
    let honest = vec![("the honest agent", play(&[], &entries, &KillHunt::whole()))];
    let one = |fault, hunt: &KillHunt<'_>| play(&[fault], &entries, hunt);
    KillMatrix::play(table, suite, &entries, honest, faults, one, share)
}

/// How a scenario against a null agent may end: with nothing that counts.
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
    fn rows_name_something_and_never_everything() {
        super::super::kills::check_rows(ROWS.iter(), EXEMPT);
    }
}

//! The kill matrix of the suite for agents: it is played against the reference agent with one planted fault at a time.
//!
//! The rules are those of [`kills`](super::kills).
//!
//! Knows: the reference agent, the simulation. Never knows: how a matrix is shown.
//!
//! Start at [`play_all`].

use std::time::Duration;

use crate::agent::acp::Config;
use crate::agent::acp::fault::{Fault, Faults};
use crate::host::Host;
use crate::host::subject::Subject;
use crate::oracle::checks;
use crate::verdict::Status;
use crate::wire::version::{Standard, Version};

use super::case::Setup;
use super::kills::{Depth, Exempt, Hunt, Matrix, Table, Tripped};
use super::mutant_rows::acp::ROWS;
use super::mutants::epoch;
use super::play::{Counting, Play, Recorder, Verdict};
use super::side::Side;
use super::sim;
use super::suite::{Entry, Suite};

/// Checks that no fault of an agent can trip, each with the reason.
pub const EXEMPT: Exempt =
    &[("acp.wire.harness", "it judges the harness's own messages, which no agent can spoil")];

/// Every id is made from this.
const SEED: u64 = 1;
/// How long a wait may take, in virtual time.
const LIMIT: Duration = Duration::from_secs(10);

/// The scenarios about agents.
pub fn playable(suite: &Suite) -> Vec<Entry> {
    let ours = |entry: &&Entry| entry.scenario.spec.standard() == Standard::Acp;
    suite.entries.iter().filter(ours).cloned().collect()
}

/// Plays one scenario against an agent in memory.
pub fn play_on(entry: &Entry, agent: &mut dyn Host) -> Verdict {
    let side = sim::side(Some(Version::ACP_1));
    play_recorded(entry, agent, side, Box::new(Counting::default()))
}

/// As [`play_on`], with this said about the agent, and the transcript kept.
pub fn play_recorded(
    entry: &Entry,
    agent: &mut dyn Host,
    side: Side,
    recorder: Box<dyn Recorder>,
) -> Verdict {
    let setup = Setup::of(&entry.scenario, Version::ACP_1, SEED, epoch(), LIMIT);
    sim::play(Play::new(Setup { side, ..setup }, false, recorder), agent)
}

/// Plays scenarios against the reference agent with these faults planted.
fn play(faults: &[Fault], entries: &[Entry], hunt: &Hunt<'_>) -> Tripped {
    hunt.play(entries, EXEMPT, |entry| {
        let config = Config { faults: Faults::of(faults), ..Config::default() };
        play_on(entry, &mut Subject::new(config))
    })
}

/// Plays the suite against the honest agent and against each of these faults; `share` as in [`Matrix::play`].
pub fn play_all(
    suite: &Suite,
    faults: &[Fault],
    depth: Depth,
    share: impl Fn(&(dyn Fn() + Sync)),
) -> Matrix<Fault> {
    let entries = playable(suite);
    let table = Table {
        version: Version::ACP_1,
        checks: checks(Standard::Acp),
        exempt: EXEMPT,
        rows: ROWS.iter().map(|row| (row.fault, row.trips)).collect(),
        older: Vec::new(),
        partial: false,
        depth,
    };
    let honest = vec![("the honest agent", play(&[], &entries, &Hunt::whole()))];
    let one = |fault, hunt: &Hunt<'_>| play(&[fault], &entries, hunt);
    Matrix::play(table, suite, &entries, honest, faults, one, share)
}

/// How a scenario against a null agent may end: with nothing that counts.
pub fn earns_nothing(verdict: &Verdict) -> bool {
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

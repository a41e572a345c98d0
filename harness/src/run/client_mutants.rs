//! The kill matrix of the suite for clients: the suite is played with the reference client with one injected fault at a
//! time.
//!
//! The module [`kills`](super::kills) defines when a check or a scenario has killed (detected) a fault.
//!
//! Knows: the reference client, the simulation. Never knows: how a matrix is shown.
//!
//! Start at [`play_all`].

use std::time::Duration;

use crate::oracle::{JudgedParty, checks_of};
use crate::peer::reference::fault::{ClientFaults, Fault};
use crate::peer::reference::{ReferenceClient, ReferenceClientConfig, SansIoClient};
use crate::verdict::{CheckReport, Status};
use crate::wire::version::{ProtocolStandard, Version};

use super::client_sim;
use super::kills::{ExemptIds, KillDepth, KillHunt, KillMatrix, KillTable, TrippedRules};
use super::mutant_rows::broken::FaultOwner;
use super::mutant_rows::client_rows;
use super::mutants::epoch;
use super::play::ScenarioVerdict;
use super::suite::{ScenarioSuite, SuiteEntry};
use super::words;

/// The checks that no injected fault of the reference client can make fail, each with the reason.
pub const EXEMPT: ExemptIds = &[
    ("clients.selected-version", DICTATED),
    ("clients.dispatchable", DICTATED),
    ("clients.draft-cleared", DICTATED),
    ("clients.draft-rate", DICTATED),
    ("clients.input-answers", DICTATED),
    ("clients.capabilities", DICTATED),
    ("clients.directories", DICTATED),
    ("clients.movable-chats", DICTATED),
    ("clients.automation-operations", DICTATED),
    ("clients.default-chat", DICTATED),
    ("clients.last-entry", DICTATED),
    ("clients.mcp-methods", DICTATED),
    ("clients.progress-tokens", DICTATED),
    ("clients.completion-offset", DICTATED),
    ("clients.auth-resource", DICTATED),
    ("clients.token-lifetime", DICTATED),
    ("clients.unoffered-version", AT_ONCE),
    ("clients.tool-owner", AT_ONCE),
    ("clients.tool-cancelled", AT_ONCE),
    ("clients.expired-token", AT_ONCE),
    ("client/handshake/lowest-version-is-spoken", LOWEST),
    (
        "client/requests/answered-after-a-reconnect",
        "a fault that leaves requests unanswered makes a step before the reconnect fail",
    ),
];

/// The scenarios for a client that requests the list of sessions without a command of its driver. [`client_for`]
/// configures the reference client so that it does.
const UNASKED: &[&str] = &[
    "client/lists/the-next-page-is-requested-unasked",
    "client/reconnect/sessions-are-listed-again-unasked",
    "client/responses/an-unknown-error-of-a-list-is-survived",
];

/// The reason why no fault makes certain checks fail. The captures in `corpus/captures/clients` make these checks fail.
const DICTATED: &str =
    "the commands of the scenarios dictate these frames, whatever the client does";
const AT_ONCE: &str = "the check allows a reaction time of two seconds, and the scenarios judge the same rule at once";
const LOWEST: &str = "it applies at the lowest version that the client offers";

/// The seed of all generated identifiers.
const SEED: u64 = 1;
/// The time limit of a wait, in virtual time.
const LIMIT: Duration = Duration::from_secs(2);

/// Returns the scenarios about clients that apply to a version and that the reference client can play.
pub fn playable(suite: &ScenarioSuite, version: Version) -> Vec<SuiteEntry> {
    let ours = |entry: &&SuiteEntry| {
        let scenario = &entry.scenario;
        scenario.tested.is_some()
            && scenario.spec.includes(version)
            && words::lacks(scenario, version).is_none()
    };
    suite.entries.iter().filter(ours).cloned().collect()
}

/// Plays one scenario with a client in memory.
pub fn play_with(
    entry: &SuiteEntry,
    version: Version,
    client: &mut dyn SansIoClient,
) -> ScenarioVerdict {
    let setup = client_sim::setup(&entry.scenario, version, SEED, epoch(), LIMIT);
    client_sim::played(setup, client)
}

/// Returns the reference client with these faults.
pub fn faulty(faults: &[Fault]) -> ReferenceClient {
    configured(faults, false)
}

/// Returns the reference client with these faults, configured so that it can play a scenario.
pub fn client_for(entry: &SuiteEntry, faults: &[Fault]) -> ReferenceClient {
    configured(faults, UNASKED.contains(&entry.scenario.id.as_str()))
}

fn configured(faults: &[Fault], lists_unasked: bool) -> ReferenceClient {
    ReferenceClient::new(ReferenceClientConfig {
        faults: ClientFaults::of(faults),
        lists_unasked,
        ..ReferenceClientConfig::default()
    })
}

fn play(
    faults: &[Fault],
    version: Version,
    entries: &[SuiteEntry],
    hunt: &KillHunt<'_>,
) -> TrippedRules {
    hunt.play(entries, EXEMPT, |entry| play_with(entry, version, &mut client_for(entry, faults)))
}

/// Plays the suite with the reference client without faults and then with each of these faults. `share` has the same
/// meaning as in [`KillMatrix::play`].
pub fn play_all(
    suite: &ScenarioSuite,
    version: Version,
    faults: &[Fault],
    depth: KillDepth,
    share: impl Fn(&(dyn Fn() + Sync)),
) -> KillMatrix<Fault> {
    let entries = playable(suite, version);
    let table = KillTable {
        owner: FaultOwner::Client,
        version,
        checks: checks_of(ProtocolStandard::Ahp, JudgedParty::Clients),
        exempt: EXEMPT,
        rows: client_rows().map(|row| (row.fault, row.trips)).collect(),
        older: Vec::new(),
        partial: version != Version::V1_0,
        depth,
    };
    let honest = play(&[], version, &entries, &KillHunt::whole());
    let honest = vec![("the reference client without faults", honest)];
    let one = |fault, hunt: &KillHunt<'_>| play(&[fault], version, &entries, hunt);
    KillMatrix::play(table, suite, &entries, honest, faults, one, share)
}

/// Returns whether a client without function earns nothing in a scenario: the scenario did not pass, and each always-on
/// check that was exercised has a finding.
pub fn earns_nothing(verdict: &ScenarioVerdict) -> bool {
    let held = |report: &CheckReport| report.observations > 0 && report.findings.is_empty();
    verdict.status != Status::Pass && !verdict.checks.iter().any(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_names_some_checks_or_scenarios_but_not_all() {
        super::super::kills::check_rows(client_rows(), EXEMPT);
    }
}

//! The kill matrix of the suite for hosts: the suite is played against the reference host with one injected
//! fault at a time. The checks and scenarios that [`rows`] names in advance have to detect each fault.
//! [`kills`] defines the rules.
//!
//! Knows: `host`, the simulation. Never knows: the presentation of a matrix.
//!
//! Start at [`play_all`].

use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::host::SansIoHost;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::fault::HostFault;
use crate::oracle::CHECKS;
use crate::wire::version::Version;

use super::mutant_rows::broken::FaultOwner;
pub use super::mutant_rows::{OLDER, rows};

use super::detect::DetectedFeature;
use super::kills::{self, ExemptIds, KillDepth, KillHunt, KillMatrix, KillTable, TrippedRules};
use super::plan::{HostRestarts, TargetAbilities, plan};
use super::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use super::setup::CaseSetup;
use super::sim;
use super::suite::{ScenarioSuite, SuiteEntry};

/// A fault of the reference host, with the names of the checks and scenarios that must trip (report this fault).
pub type MutantRow = kills::KillRow<HostFault>;

/// The checks and scenarios that no injected fault makes fail in the kill matrix, each with the reason. For these
/// checks, separate tests or captures in `corpus/captures` prove that they can fail.
pub const EXEMPT: ExemptIds = &[
    (
        "shape.harness",
        "it judges the harness's own frames, which a fault of the host cannot change",
    ),
    (
        "jsonrpc.host-request-ids",
        "in the simulation, a client answers a request before the next frame arrives, so a host \
         never has two pending requests",
    ),
    // No fault breaks the claims of these scenarios. A fault that breaks only the premises of a scenario does not count
    // in the matrix.
    (
        "handshake/notifications-wait-for-the-handshake",
        "no fault lets a host act on a notification that comes before the handshake",
    ),
    (
        "tools/failure-of-one-spares-the-other",
        "no fault makes one call fail because another one failed",
    ),
    (
        "tools/whose-call-it-is-shows-from-the-start",
        "no fault hides the owner of a call while it is streamed",
    ),
    (
        "context/a-resumed-turn-has-one-prompt",
        "it does not apply to the reference host, whose agent says which errors can be resumed; \
         turns/resume-can-fail-again makes the same claims",
    ),
    ("turns/sessions-do-not-mix", "no fault sends turns to the subscribers of another session"),
];

/// The seed of all identifiers, so that the matrix is reproducible.
pub(super) const SEED: u64 = 1;
/// The time limit of a wait, in virtual time.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

/// Plays one scenario against an in-memory host with its own agent, with the settings of the matrix.
pub fn play_on(entry: &SuiteEntry, version: Version, host: &mut dyn SansIoHost) -> ScenarioVerdict {
    play_recorded(entry, version, host, Box::new(CountingRecorder::default()))
}

/// Plays one scenario like [`play_on`], with the given recorder.
pub fn play_recorded(
    entry: &SuiteEntry,
    version: Version,
    host: &mut dyn SansIoHost,
    recorder: Box<dyn TranscriptRecorder>,
) -> ScenarioVerdict {
    play_with(entry, version, host, AgentMode::Host, recorder)
}

fn play_with(
    entry: &SuiteEntry,
    version: Version,
    host: &mut dyn SansIoHost,
    agent: AgentMode,
    recorder: Box<dyn TranscriptRecorder>,
) -> ScenarioVerdict {
    let facts = sim::facts(&entry.scenario, version);
    let setup =
        CaseSetup { agent, facts, ..CaseSetup::of(&entry.scenario, version, SEED, epoch(), LIMIT) };
    sim::play(ScenarioPlay::new(setup, false, recorder), host)
}

/// Returns the scenarios that can be played against a host of this version.
pub fn playable(suite: &ScenarioSuite, version: Version) -> Vec<SuiteEntry> {
    playable_with(suite, version, AgentMode::Host, Vec::new())
}

/// Returns the scenarios that can be played against a host with this agent and these capabilities.
pub(super) fn playable_with(
    suite: &ScenarioSuite,
    version: Version,
    agent: AgentMode,
    detected: Vec<DetectedFeature>,
) -> Vec<SuiteEntry> {
    let abilities = TargetAbilities {
        version,
        profiles: vec!["all".to_owned()],
        embedded: true,
        restarts: HostRestarts::Crashes,
        agent,
        detected,
        aggressive: true,
    };
    let entries: Vec<&SuiteEntry> = suite.entries.iter().collect();
    let planned = plan(&entries, &abilities);
    planned.into_iter().filter(|one| one.skip.is_none()).map(|one| one.entry).collect()
}

/// The agent of a reference host in memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SimulatedAgent {
    /// The host's own agent, which parses scripts.
    Own,
    /// The host's own agent, which also asks a model.
    OwnWithModel,
    /// A subprocess that speaks ACP.
    Subprocess,
}

/// Plays scenarios against the reference host with these injected faults, until the names have tripped that `hunt`
/// waits for.
fn play(
    faults: &[HostFault],
    entries: &[SuiteEntry],
    version: Version,
    agent: SimulatedAgent,
    hunt: &KillHunt<'_>,
) -> TrippedRules {
    let asks_model = agent == SimulatedAgent::OwnWithModel;
    let agent = match agent {
        SimulatedAgent::Own | SimulatedAgent::OwnWithModel => AgentMode::Host,
        SimulatedAgent::Subprocess => AgentMode::Acp,
    };
    hunt.play(entries, EXEMPT, |entry| {
        let mut config = sim::settings_with(&entry.scenario, SEED, epoch(), agent);
        config.faults = faults.to_vec();
        config.asks_model = asks_model;
        let config = sim::speaking(config, version);
        let recorder = Box::new(CountingRecorder::default());
        play_with(entry, version, &mut RefHost::new(config), agent, recorder)
    })
}

pub(super) fn epoch() -> Duration {
    Duration::from_millis(HostConfig::default().epoch_ms)
}

/// Plays the suite against the reference host without faults, with each kind of agent except the host's own agent
/// that parses scripts. Returns the name of each host, and what tripped.
pub fn play_other_agents(
    suite: &ScenarioSuite,
    version: Version,
) -> [(&'static str, TrippedRules); 2] {
    let entries = playable(suite, version);
    let started = playable_with(suite, version, AgentMode::Acp, Vec::new());
    let whole = KillHunt::whole();
    [
        (
            "the reference host without faults that speaks ACP to its agent (see `agent::mode`)",
            play(&[], &started, version, SimulatedAgent::Subprocess, &whole),
        ),
        (
            "the reference host without faults whose agent asks a model",
            play(&[], &entries, version, SimulatedAgent::OwnWithModel, &whole),
        ),
    ]
}

/// Plays the suite against the reference host without faults and then with each of these faults, to this depth.
/// `share` has the same meaning as in [`KillMatrix::play`].
pub fn play_all(
    suite: &ScenarioSuite,
    version: Version,
    faults: &[HostFault],
    depth: KillDepth,
    share: impl Fn(&(dyn Fn() + Sync)),
) -> KillMatrix<HostFault> {
    // Faults that can be detected only under load are left out; see `load`.
    let faults = faults.iter().copied().filter(|fault| !fault.is_under_load());
    let faults: Vec<HostFault> = faults.collect();
    let entries = playable(suite, version);
    let started = playable_with(suite, version, AgentMode::Acp, Vec::new());
    let own = play(&[], &entries, version, SimulatedAgent::Own, &KillHunt::whole());
    let mut honest = vec![("the reference host without faults", own)];
    honest.extend(play_other_agents(suite, version));
    let partial = version != Version::NEWEST;
    let table = KillTable {
        owner: FaultOwner::Host,
        version,
        checks: CHECKS,
        exempt: EXEMPT,
        rows: rows().map(|row| (row.fault, row.trips)).collect(),
        older: if partial { OLDER.to_vec() } else { Vec::new() },
        partial,
        depth,
    };
    let one = |fault: HostFault, hunt: &KillHunt<'_>| match fault.is_below() {
        true => play(&[fault], &started, version, SimulatedAgent::Subprocess, hunt),
        false => play(&[fault], &entries, version, SimulatedAgent::Own, hunt),
    };
    KillMatrix::play(table, suite, &entries, honest, &faults, one, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_names_some_checks_or_scenarios_but_not_all() {
        kills::check_rows(rows(), EXEMPT);
    }
}

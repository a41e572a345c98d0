//! Plays a scenario about a client in memory and in virtual time, against a client without sockets.
//!
//! Knows: trials, clients. Never knows: sockets, processes.
//!
//! Start at [`play`].

use std::sync::Arc;
use std::time::Duration;

use crate::host::engine::{HostConfig, RefHost};
use crate::host::{HostOutput, SansIoHost};
use crate::peer::reference::{ClientOutput, SansIoClient};
use crate::scenario::parse::ParsedScenario;
use crate::transcript::ConnId;
use crate::wire::version::Version;

use super::client_trial::ClientTrial;
use super::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use super::setup::{CaseSetup, TestedClientSetup};
use super::sim;

/// The maximum number of rounds in which frames are moved while a scenario is played. The limit stops a client that
/// never becomes idle.
const MAX_ROUNDS: u32 = 200_000;
/// The URL of the host in memory.
const NOWHERE: &str = "ws://127.0.0.1:9";

/// Plays a trial until it is over.
pub fn play(mut trial: ClientTrial, client: &mut dyn SansIoClient) -> ScenarioVerdict {
    let mut now = Duration::ZERO;
    for _ in 0..MAX_ROUNDS {
        if to_client(&mut trial, client, now) | to_host(&mut trial, client, now) {
            continue;
        }
        if trial.is_over() {
            break;
        }
        let due = [trial.next_timeout(), client.next_timeout()].into_iter().flatten().min();
        let Some(due) = due else { break };
        now = due.max(now);
        if client.next_timeout().is_some_and(|at| at <= now) {
            client.handle_timeout(now);
        }
        // Frames that the client sends at the time `now` arrive before a wait of the scenario times out at the same
        // time.
        while to_host(&mut trial, client, now) | to_client(&mut trial, client, now) {}
        trial.handle_timeout(now);
    }
    trial.finish()
}

fn to_client(trial: &mut ClientTrial, client: &mut dyn SansIoClient, now: Duration) -> bool {
    let Some(output) = trial.poll_output() else { return false };
    match output {
        HostOutput::Send { conn, frame } => client.handle_frame(now, conn, &frame),
        HostOutput::Close { conn, .. } => client.handle_closed(now, conn),
        HostOutput::ToAgent(line) => client.handle_line(now, &line),
        HostOutput::Called(_) | HostOutput::Asked(_) | HostOutput::Shell(..) => {}
    }
    true
}

fn to_host(trial: &mut ClientTrial, client: &mut dyn SansIoClient, now: Duration) -> bool {
    let Some(output) = client.poll_output() else { return false };
    match output {
        ClientOutput::Line(line) => trial.handle_agent(now, Some(&line)),
        ClientOutput::Open { conn, .. } => open(trial, client, now, conn),
        ClientOutput::Send { conn, frame } => trial.handle_frame(now, conn, &frame),
        ClientOutput::Close { conn } => trial.handle_close(now, conn),
    }
    true
}

fn open(trial: &mut ClientTrial, client: &mut dyn SansIoClient, now: Duration, conn: ConnId) {
    match trial.admit(now, conn, &[]) {
        Ok(()) => {
            trial.handle_open(now, conn);
            client.handle_opened(now, conn);
        }
        Err(status) => client.handle_refused(now, conn, Some(status)),
    }
}

/// Returns the setup of a tested client in memory.
pub fn in_memory() -> TestedClientSetup {
    TestedClientSetup { url: NOWHERE.to_owned(), driven: true, comes_by_itself: false }
}

/// Returns the setup of a scenario about a client in memory.
pub fn setup(
    scenario: &Arc<ParsedScenario>,
    version: Version,
    seed: u64,
    epoch: Duration,
    limit: Duration,
) -> CaseSetup {
    CaseSetup { tested: in_memory(), ..CaseSetup::of(scenario, version, seed, epoch, limit) }
}

/// Returns the settings of the reference host for a scenario about a client: it supports only this version and requires
/// no token.
pub fn settings(
    scenario: &ParsedScenario,
    version: Version,
    seed: u64,
    epoch: Duration,
) -> HostConfig {
    let mut config = sim::settings(scenario, seed, epoch);
    config.versions = vec![version];
    config.tokens = Vec::new();
    config
}

/// Returns the trial of a scenario, with a reference host that supports only the version of the setup.
pub fn trial(setup: CaseSetup, recorder: Box<dyn TranscriptRecorder>) -> ClientTrial {
    let host = RefHost::new(settings(&setup.scenario, setup.version, setup.seed, setup.epoch));
    ClientTrial::new(ScenarioPlay::new(setup, false, recorder), Box::new(host))
}

/// Plays a scenario against a client in memory, without a transcript.
pub fn played(setup: CaseSetup, client: &mut dyn SansIoClient) -> ScenarioVerdict {
    play(trial(setup, Box::new(CountingRecorder::default())), client)
}

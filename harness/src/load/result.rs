//! The outcome of a load.
//!
//! Knows: figures, findings. Never knows: presentation.

use std::time::Duration;

use litemap::LiteMap;
use serde::Serialize;

use crate::verdict::{CheckReport, Finding, Status};
use crate::wire::version::Version;

use super::delay::DelayReport;
use super::evidence::LoadEvidence;

/// The counts of a load: what the clients did, and the outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadCounts {
    /// The number of connections that were opened.
    pub connections: u64,
    /// The number of connections that the host closed or refused, or that broke.
    pub lost: u64,
    /// The number of clients that gave up.
    pub failed: u64,
    /// The number of sessions that were created.
    pub sessions: u64,
    /// The number of sessions that the host disposed of.
    pub disposed: u64,
    /// The number of dispatched actions.
    pub dispatched: u64,
    /// The number of actions that the host rejected.
    pub rejected: u64,
    /// The number of acts that were skipped because too many actions had no answer yet.
    pub skipped: u64,
    /// The number of turns that were started.
    pub turns: u64,
    /// The number of decisions on tool calls.
    pub decisions: u64,
    /// The number of clients that came back and got a replay.
    pub replays: u64,
    /// The number of clients that came back and got snapshots.
    pub snapshots: u64,
    /// The number of clients that returned as another client.
    pub newcomers: u64,
    /// The number of times that a client did not read for some time.
    pub pauses: u64,
    /// The number of times that the host was killed and started again.
    pub crashes: u64,
    /// The number of error responses.
    pub errors: u64,
    /// The number of acts of each kind, by name.
    pub acts: LiteMap<&'static str, u64>,
}

impl LoadCounts {
    /// Counts an act.
    pub fn act(&mut self, name: &'static str) {
        *self.acts.entry(name).or_insert(0) += 1;
    }
}

/// A finding of a load with its capture.
#[derive(Clone, Debug)]
pub struct LoadFinding {
    /// The finding. Its line numbers are the numbers in the transcript of the whole load.
    pub finding: Finding,
    /// The time at which the finding occurred first.
    pub at: Duration,
    /// The frames that prove the finding.
    pub evidence: LoadEvidence,
}

/// The outcome of a load.
#[derive(Clone, Debug, Default)]
pub struct LoadResult {
    /// The counts of what the clients did.
    pub counts: LoadCounts,
    /// The delays of the actions.
    pub delays: DelayReport,
    /// The findings without duplicates, in the order in which they were found.
    pub findings: Vec<LoadFinding>,
    /// The reports of the always-on checks.
    pub checks: Vec<CheckReport>,
    /// The number of frames in both directions.
    pub frames: u64,
    /// The duration of the load.
    pub took: Duration,
    /// The number of pauses in which a client did not read and that were long enough to be judged.
    pub judged_pauses: usize,
    /// The number of judged pauses that delayed the other clients.
    pub stalling_pauses: usize,
    /// The version that the host chose; `None` if no handshake succeeded.
    pub version: Option<Version>,
    /// The reason for the last lost connection, failed handshake or failed subscription; empty if there was none.
    pub last_failure: String,
    /// The reason why nothing could be tested; `None` if any rule was tested.
    pub trouble: Option<String>,
}

impl LoadResult {
    /// Returns the number of times that a rule was exercised.
    pub fn observations(&self) -> u64 {
        let checks: u64 = self.checks.iter().map(|check| check.observations).sum();
        checks + self.judged_pauses as u64
    }

    /// Returns the worst status of the findings; `Pass` without findings, and `Untested` if no client joined a
    /// session.
    pub fn status(&self) -> Status {
        let worst = self.findings.iter().map(|it| it.finding.weight).max();
        match worst {
            Some(weight) => weight.broken(),
            None if self.trouble.is_some() || self.counts.dispatched == 0 => Status::Untested,
            None => Status::Pass,
        }
    }
}

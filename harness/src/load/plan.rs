//! The plan of a load: the number of clients and sessions, the duration, and the pace.
//!
//! Knows: numbers. Never knows: the execution of a load.

use std::fmt::Write as _;
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::wire::version::Version;

/// The pace at which the clients act.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadPace {
    /// All clients together perform this many acts per second, even if the host cannot keep up.
    PerSecond(f64),
    /// Each client acts again as soon as the host has answered its last act.
    Greedy,
}

/// The maximum number of acts that wait for their answer. Without this limit, the queue of a host that cannot keep up
/// with the pace would grow without end.
pub const MAX_OPEN: usize = 20_000;
/// One of this many clients subscribes to the root channel. The host announces changes of all sessions to each of these
/// clients.
pub const ROOT_SHARE: usize = 16;
/// The length of the messages that fill the buffers between the host and a client that does not read, in bytes.
pub const LONG_TEXT: usize = 32 << 10;
/// The total length of these messages for one client, in bytes. On a loopback interface the operating system keeps up
/// to four megabytes for a connection.
pub const FILLING: usize = 6 << 20;

/// The parameters of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    /// The number of clients.
    pub clients: usize,
    /// The number of sessions that the clients share.
    pub sessions: usize,
    /// The duration of the load.
    pub time: Duration,
    /// The pace of the acts.
    pub pace: LoadPace,
    /// The number of clients that begin to connect per second.
    pub arrivals: f64,
    /// The seed from which all random choices are derived.
    pub seed: u64,
    /// The versions that clients offer, newest first.
    pub offers: Vec<Version>,
    /// The provider of the sessions; `None` leaves the choice to the host.
    pub provider: Option<String>,
    /// The protected resources and their tokens, which each client sends after its handshake.
    pub tokens: Vec<(String, String)>,
    /// The component that plays the scripts of turns. If it is `None`, no agent is known to play scripts, and clients
    /// start no turns.
    pub turns: Option<AgentMode>,
    /// The Unix time at which the load begins.
    pub epoch: Duration,
    /// The time limit for an answer of the host.
    pub limit: Duration,
    /// The mean time between two crashes of the host; `None` if the host is not killed.
    pub crashes: Option<Duration>,
}

impl Default for LoadPlan {
    fn default() -> LoadPlan {
        LoadPlan {
            clients: 20,
            sessions: 4,
            time: Duration::from_secs(30),
            pace: LoadPace::PerSecond(20.0),
            arrivals: 50.0,
            seed: 1,
            offers: vec![Version::NEWEST],
            provider: None,
            tokens: Vec::new(),
            turns: None,
            epoch: Duration::ZERO,
            limit: Duration::from_secs(10),
            crashes: None,
        }
    }
}

impl LoadPlan {
    /// Returns the limits of the load as lines for a person. They are printed before the first connection.
    pub fn bounds(&self) -> String {
        let mut text = String::new();
        let LoadPlan { clients, sessions, time, .. } = self;
        let pace = match self.pace {
            LoadPace::PerSecond(rate) => format!("at most {rate} acts per second in total"),
            LoadPace::Greedy => "each client acts as soon as its last act is answered".to_owned(),
        };
        let _ = writeln!(
            text,
            "load: {clients} clients in {sessions} sessions for {time:?}; {pace}; seed {}",
            self.seed
        );
        let turns = match self.turns {
            Some(_) => "with scripted turns",
            None => "without turns (the agent is not known to play scripts)",
        };
        let _ = writeln!(
            text,
            "bounds: {} new connections per second, {} acts without an answer, up to {} MiB of text for a client that does not \
             read, {turns}",
            self.arrivals,
            MAX_OPEN,
            FILLING >> 20
        );
        if let Some(every) = self.crashes {
            let _ = writeln!(text, "the host is killed and started again about every {every:?}");
        }
        text
    }
}

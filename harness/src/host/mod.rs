//! The reference host: the host under test in the harness's own tests, into which faults are injected.
//!
//! A [`SansIoHost`] is a host without a socket: the caller passes in frames with their times and polls
//! [`HostOutput`]. A host is deterministic: the same calls at the same times give the same frames.
//!
//! There are four kinds of host. [`engine::RefHost`] follows the specification, except for the injected faults
//! in [`fault`]. [`null`] hosts do nothing; [`liar`] hosts violate the protocol after the handshake. No suite
//! may pass on the null hosts and the lying hosts. [`subject`] is the reference agent, which takes the place of a host
//! in the suite for ACP.
//!
//! Knows: `wire`, `model`, `peer`, `agent`. Never knows: sockets, clocks, scenarios, rules.
//!
//! Start at [`engine`], then `dispatch` and `play`.

use std::time::Duration;

use crate::peer::errand::ClientErrand;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::Value;

pub mod auth;
pub mod door;
pub mod engine;
pub mod fault;
pub mod files;
pub mod liar;
pub mod lying_agent;
pub mod null;
pub mod protected;
pub mod shell;
pub mod subject;
pub mod variant;

mod acp;
mod agent;
mod agent_runs;
mod annotations;
mod asking;
mod assembly;
mod automation_catalogue;
mod automation_runs;
mod automations;
mod background;
mod background_commands;
mod call;
mod canvases;
mod chain;
mod challenge;
mod changeset_records;
mod changesets;
mod channel_states;
mod chat_records;
mod chats;
mod client_records;
mod clock;
mod configuration;
mod connection;
mod connections;
mod cron;
mod customizations;
mod dispatch;
mod dispatched;
mod edits;
mod errands;
mod fault_name;
mod folder_watches;
mod generic;
mod given;
mod handshake;
mod held_envelopes;
mod injected;
mod log;
mod look;
mod mcp;
mod mcp_servers;
mod merge;
mod model_request;
mod moves;
mod older;
mod operations;
mod outbox;
mod paging;
mod play;
mod publish;
mod published_plugins;
mod questions;
mod reading;
mod request;
mod resources;
mod rollup;
mod rule_facts;
mod rules;
mod scripted;
mod session_records;
mod sessions;
mod state_faults;
mod telemetry;
mod terminal_records;
mod terminals;
mod timestamp;
mod version_views;
mod view;
mod visitor;
mod watches;
mod workers;

pub use configuration::PROVIDER;

#[cfg(test)]
mod tests;

/// A host without a socket. All times are [`Duration`]s since the transcript began; times never decrease.
pub trait SansIoHost {
    /// Handles an HTTP request to open a connection. An `Err` refuses the request with this HTTP status, and
    /// the connection is never opened. The default admits every request.
    fn admit(
        &mut self,
        _now: Duration,
        _conn: ConnId,
        _headers: &[(String, String)],
    ) -> Result<(), u16> {
        Ok(())
    }
    /// Handles an opened connection.
    fn handle_open(&mut self, now: Duration, conn: ConnId);
    /// Handles a frame on an open connection. Ignores frames on other connections.
    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame);
    /// Handles a client that stops reading (`held`) or reads again. A real host would notice this as
    /// backpressure of the socket.
    fn handle_held(&mut self, _now: Duration, _conn: ConnId, _held: bool) {}
    /// Handles the end of a connection, closed by either side.
    fn handle_close(&mut self, now: Duration, conn: ConnId);
    /// Handles timers up to `now`. Does nothing before [`SansIoHost::next_timeout`].
    fn handle_timeout(&mut self, now: Duration);
    /// Returns the time of the next timer; `None` if no timer is set.
    fn next_timeout(&self) -> Option<Duration>;
    /// Handles a line on the stdout of the host's agent subprocess; `None` when the subprocess has ended. A
    /// host without a subprocess ignores the line.
    fn handle_agent(&mut self, _now: Duration, _line: Option<&str>) {}
    /// Handles an event of the shell of a terminal, given by the terminal's URI. A host that starts no shells
    /// ignores the event.
    fn handle_shell(&mut self, _now: Duration, _terminal: &str, _said: shell::ShellEvent) {}
    /// Releases the agent's hold with this name. A host whose agent is released by messages ignores the call.
    fn release(&mut self, _now: Duration, _hold: &str) {}
    /// Performs an errand of a client of ACP and returns the results, see [`ClientErrand`]. The default
    /// performs nothing.
    fn handle_errand(&mut self, _now: Duration, _errand: &ClientErrand) -> Vec<Value> {
        Vec::new()
    }
    /// Publishes an action that a scenario about a client requests, see [`ScriptedEnvelope`]. A host without states
    /// ignores the call.
    fn publish(&mut self, _now: Duration, _scripted: &ScriptedEnvelope) {}
    /// Returns whether nothing more will happen, so that the caller can stop. The default is a host that serves until
    /// it is stopped.
    fn is_over(&self) -> bool {
        false
    }
    /// Returns the next output; `None` if there is none.
    fn poll_output(&mut self) -> Option<HostOutput>;
    /// Simulates a crash and restart of the host's process: every connection ends without a close frame.
    fn restart(&mut self, now: Duration);
}

/// An action that a scenario about a client makes the host publish.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedEnvelope {
    /// The channel.
    pub channel: String,
    /// The action. The action is sent even if the reducers do not apply it.
    pub action: Value,
    /// The `origin` of the envelope; `None` for an action of the host.
    pub origin: Option<Value>,
    /// The reason for the rejection; `None` for an accepted action. A rejection changes no state, but every subscriber
    /// receives it, with its own `serverSeq`.
    pub rejected: Option<String>,
    /// Members that are added to the envelope, or replace its own.
    pub members: Value,
}

/// An output that the caller has to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOutput {
    /// Send a frame.
    Send {
        /// The connection.
        conn: ConnId,
        /// The frame.
        frame: Frame,
    },
    /// Close a connection, after everything that was sent on it before.
    Close {
        /// The connection.
        conn: ConnId,
        /// The WebSocket close code.
        code: u16,
        /// The reason, for a person.
        reason: String,
    },
    /// Write a line, without its line end, to the stdin of the agent subprocess.
    ToAgent(String),
    /// Perform this instruction on the shell of the terminal with this URI.
    Shell(String, shell::ShellDeed),
    /// Record a call of the harness's own tool; the value is the record of the call in the form of
    /// `agent::mcp`.
    Called(Value),
    /// Record a request to a model; the value is the record of the request in the form of `agent::model`.
    Asked(Value),
}

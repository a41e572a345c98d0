//! The reference host: what every check is held against, and what plays every fault.
//!
//! A [`SansIoHost`] is a host without a socket: frames go in with the time, [`HostOutput`] comes out. It is
//! deterministic: the same calls at the same times give the same frames.
//!
//! Four kinds of host live here. [`engine::RefHost`] is meant to be right, and wrong in exactly
//! the ways that [`fault`] names. [`null`] hosts do nothing, [`liar`] hosts shake hands and then
//! cheat: no suite may credit either. [`subject`] is the reference agent in the place of a host, for the suite of ACP.
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
pub mod null;
pub mod shell;
pub mod subject;
pub mod variant;

mod acp;
mod agent;
mod annotations;
mod asking;
mod automations;
mod background;
mod call;
mod canvases;
mod chain;
mod challenge;
mod changesets;
mod chats;
mod configuration;
mod connection;
mod cron;
mod customizations;
mod dispatch;
mod edits;
mod errands;
mod generic;
mod given;
mod handshake;
mod injected;
mod log;
mod look;
mod mcp;
mod merge;
mod moves;
mod older;
mod operations;
mod paging;
mod play;
mod publish;
mod resources;
mod rollup;
mod rules;
mod sessions;
mod telemetry;
mod terminals;
mod timestamp;
mod view;
mod watches;
mod workers;

pub use configuration::PROVIDER;

#[cfg(test)]
mod tests;

/// A host without a socket. Time is the [`Duration`] since the transcript began; it never goes
/// back.
pub trait SansIoHost {
    /// A connection wants to be opened, by an HTTP request with these headers: `Err` refuses it with that status, and
    /// it is never opened. Hosts that guard nothing admit everybody.
    fn admit(
        &mut self,
        _now: Duration,
        _conn: ConnId,
        _headers: &[(String, String)],
    ) -> Result<(), u16> {
        Ok(())
    }
    /// A connection was opened.
    fn handle_open(&mut self, now: Duration, conn: ConnId);
    /// A frame came in on an open connection. Frames on others are ignored.
    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame);
    /// The client of a connection stops reading, or goes on: what a host would notice from its socket.
    fn handle_held(&mut self, _now: Duration, _conn: ConnId, _held: bool) {}
    /// A connection ended, on whichever side.
    fn handle_close(&mut self, now: Duration, conn: ConnId);
    /// It is `now`. Calling this early does nothing.
    fn handle_timeout(&mut self, now: Duration);
    /// When [`SansIoHost::handle_timeout`] is wanted next, if ever.
    fn next_timeout(&self) -> Option<Duration>;
    /// The agent that the host has started wrote a line; without one it has ended. Hosts that start none
    /// ignore it.
    fn handle_agent(&mut self, _now: Duration, _line: Option<&str>) {}
    /// Something happened to the shell of a terminal, by the URI. Hosts that start none ignore it.
    fn handle_shell(&mut self, _now: Duration, _terminal: &str, _said: shell::ShellEvent) {}
    /// Whoever holds at that name goes on. Hosts whose agents are told otherwise ignore it.
    fn release(&mut self, _now: Duration, _hold: &str) {}
    /// A client of ACP has something done where this is: what came of it, see [`ClientErrand`]. Where there is no such
    /// place nothing does.
    fn handle_errand(&mut self, _now: Duration, _errand: &ClientErrand) -> Vec<Value> {
        Vec::new()
    }
    /// The next thing to do, until there is none.
    fn poll_output(&mut self) -> Option<HostOutput>;
    /// The host's process crashed and came back: every connection is gone without a word.
    fn restart(&mut self, now: Duration);
}

/// Something a host wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOutput {
    /// A frame to send.
    Send {
        /// To whom.
        conn: ConnId,
        /// What.
        frame: Frame,
    },
    /// A connection to close, after everything sent on it before.
    Close {
        /// Which one.
        conn: ConnId,
        /// The WebSocket close code.
        code: u16,
        /// Why, for a person.
        reason: String,
    },
    /// A line for the agent that the host has started, without its end.
    ToAgent(String),
    /// Something for the shell of the terminal with this URI.
    Shell(String, shell::ShellDeed),
    /// The harness's own tool was called; what is told of it, as `agent::mcp` says.
    Called(Value),
}

//! An agent of the Agent Client Protocol (ACP, version 1) that plays the script in its prompt.
//!
//! A host starts the agent and exchanges lines of JSON-RPC with it. [`AcpAgent`] takes the client's lines and
//! returns the agent's lines. [`methods`] serves requests, [`turn`] plays prompts, [`call`] reports tool calls,
//! [`client`] sends requests to the client. The agent supports many sessions at the same time. No input stops the
//! agent: it answers or ignores every line.
//!
//! The agent is pure: the caller passes in the time. The effect of a tool outside of the conversation is an
//! [`AgentEffect`], which the caller performs.
//!
//! Knows: scripts, JSON-RPC. Never knows: processes, files, clocks, hosts.
//!
//! Start at [`AcpAgent::handle_line`]. Source: agentclientprotocol.com, protocol version 1.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};

mod call;
mod client;
mod effect;
pub mod fault;
mod methods;
pub mod route;
pub mod server;
mod sessions;
#[cfg(test)]
mod tests;
mod turn;
pub mod variant;

pub use effect::{AgentEffect, EffectResult};
pub use methods::AUTH_METHOD;

use client::{ClientCapabilities, ClientRequest};
use fault::{AgentFaults, Fault};
use server::McpServerAddress;
use sessions::SessionSettings;
use turn::AgentTurn;

/// The supported version of ACP.
pub const VERSION: u64 = 1;
/// The maximum number of sessions.
pub const MAX_SESSIONS: usize = 100_000;
/// The maximum number of open requests to the client.
const MAX_ASKED: usize = 10_000;
/// The maximum number of prompts of a session whose text is stored.
const MAX_GIVEN: usize = 1_000;
/// The maximum number of stored releases for holds that have not begun.
const MAX_RELEASES: usize = 1_000;

/// The configuration of an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentConfig {
    /// A part of every session id. With different names, two processes use different ids.
    pub name: String,
    /// Whether a client has to authenticate before it can use sessions.
    pub auth: bool,
    /// Whether the agent asks for permission before every call, even if the script does not say so.
    pub always_asks: bool,
    /// Whether the agent stores its sessions, so that clients can list, load, resume, close and delete them.
    pub keeps: bool,
    /// The number of sessions on one page of `session/list`; two if `None`.
    pub page: Option<usize>,
    /// The injected faults.
    pub faults: AgentFaults,
}

/// An output that the caller has to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentOutput {
    /// Send a line to the client; the line end is not included.
    Line(String),
    /// Perform an effect and pass its result to [`AcpAgent::handle_ran`].
    Run {
        /// The token that identifies the effect.
        token: u64,
        /// The effect.
        effect: AgentEffect,
    },
    /// Stop the effect with this token; no turn waits for its result any longer.
    Stop(u64),
    /// Exit as if the process were killed; no output follows.
    Exit,
}

/// A session.
#[derive(Debug, Default)]
struct AgentSession {
    cwd: String,
    /// The first MCP server that the client named for the session.
    server: Option<McpServerAddress>,
    /// The scenario to which the session belongs: the scenario that the last prompt with a script named.
    case: String,
    /// The permanent decisions, by class of tool.
    remembered: LiteMap<&'static str, bool>,
    /// The text of the session's prompts.
    given: Vec<String>,
    /// Whether the session can be used: this process has created, loaded or resumed the session, and not closed
    /// it since.
    open: bool,
    settings: SessionSettings,
    /// The conversation so far, as the updates with which the agent replays it.
    kept: Vec<Value>,
}

/// The scripted agent, with its sessions and its open requests.
#[derive(Debug, Default)]
pub struct AcpAgent {
    config: AgentConfig,
    now: Duration,
    outputs: VecDeque<AgentOutput>,
    client: ClientCapabilities,
    authenticated: bool,
    /// Whether the client has logged out.
    logged_out: bool,
    sessions: HashMap<String, AgentSession>,
    /// The sessions whose stored state has changed since the last call of [`AcpAgent::take_changed`].
    changed: BTreeSet<String>,
    /// The active turn of each session, by the id of the session.
    turns: LiteMap<String, AgentTurn>,
    /// The open requests to the client, by id.
    asked: LiteMap<u64, ClientRequest>,
    /// The running effects by token, each with its session.
    effects: LiteMap<u64, String>,
    releases: VecDeque<(String, String)>,
    serial: u64,
    /// The folder of the first session.
    first_folder: String,
    /// Whether the agent no longer answers prompts. An injected fault sets this flag after a request with invalid
    /// params.
    stopped: bool,
    /// Whether a cancellation arrived outside of a turn. An injected fault then applies this cancellation to
    /// the next turn.
    kept: bool,
}

impl AcpAgent {
    /// Creates an agent without a client.
    pub fn new(config: AgentConfig) -> AcpAgent {
        AcpAgent { config, ..AcpAgent::default() }
    }

    /// Handles a line of the client.
    pub fn handle_line(&mut self, now: Duration, line: &str) {
        self.pass(now);
        match decode(&Frame::Text(line.to_owned())) {
            DecodedFrame::Message(message) => self.message(&message),
            DecodedFrame::Batch(_) | DecodedFrame::Scalar(_) => {
                self.refuse(Value::Null, -32600, "expected one JSON-RPC message per line");
            }
            DecodedFrame::Odd(why) => self.refuse(Value::Null, -32700, &why),
            DecodedFrame::Deep => self.refuse(Value::Null, -32600, "nested too deep"),
        }
    }

    fn message(&mut self, message: &Message) {
        match message.kind() {
            MessageKind::Request => {
                let id = message.id().cloned().unwrap_or_default();
                self.request(id, message.method().unwrap_or_default(), message.params());
            }
            MessageKind::Notification => {
                self.notification(message.method().unwrap_or_default(), message.params());
            }
            MessageKind::Success | MessageKind::Failure => {
                let id = message.id().and_then(Value::as_u64);
                if let Some(asked) = id.and_then(|id| self.asked.remove(&id)) {
                    self.answered(asked, message);
                }
            }
            MessageKind::Malformed => {
                let id = message.id().cloned().unwrap_or_default();
                self.refuse(id, -32600, "expected a request, a notification or a response");
            }
        }
    }

    /// Handles the result of an effect of [`AgentOutput::Run`].
    pub fn handle_ran(&mut self, now: Duration, token: u64, ran: EffectResult) {
        self.pass(now);
        if let Some(session) = self.effects.remove(&token) {
            self.effect_ended(&session, token, ran);
        }
    }

    /// Releases a hold with this name, or stores the release for a later hold. An empty `case` matches all
    /// scenarios.
    pub fn release(&mut self, now: Duration, case: &str, name: &str) {
        self.pass(now);
        if !self.let_go(case, name) {
            if self.releases.len() == MAX_RELEASES {
                self.releases.pop_front();
            }
            self.releases.push_back((case.to_owned(), name.to_owned()));
        }
    }

    /// Handles timers up to `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.pass(now);
        self.play();
    }

    /// Returns the time at which the next timer is due; `None` if no timer is set.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.turns.values().filter_map(AgentTurn::due).min()
    }

    /// Returns the next output; `None` if there is none.
    pub fn poll_output(&mut self) -> Option<AgentOutput> {
        self.outputs.pop_front()
    }

    fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    fn fresh(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn send(&mut self, message: Message) {
        let lines = fault::spoil(self.config.faults, message.into_value());
        self.outputs.extend(lines.into_iter().map(AgentOutput::Line));
    }

    fn has(&self, fault: Fault) -> bool {
        self.config.faults.has(fault)
    }

    fn respond(&mut self, id: Value, result: Value) {
        self.send(Message::success(id, result));
    }

    fn refuse(&mut self, id: Value, code: i64, why: &str) {
        self.send(Message::failure(id, code, why, Value::Null));
    }

    /// Sends an update about a session to the client.
    fn update(&mut self, session: &str, update: Value) {
        self.keep(session, &update);
        let params = json!({"sessionId": session, "update": update});
        self.send(Message::notification("session/update", params));
    }
}

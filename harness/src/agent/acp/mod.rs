//! An agent of the Agent Client Protocol (ACP, version 1) that plays the script in its prompt.
//!
//! A host starts it and speaks to it by lines of JSON-RPC. [`AcpAgent`] takes the client's lines in and
//! gives its own out; what it is asked is a row of [`methods`], what a prompt makes it do is in [`turn`],
//! how a tool call is told in [`call`], what it asks of its client in [`client`]. Many sessions at a time
//! are kept apart; whatever comes is answered or passed over, and never a reason to stop.
//!
//! Pure: time is passed in, and what a tool does outside of the conversation is an [`AgentEffect`], to be brought about by
//! whoever runs the agent.
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

/// The version of the protocol that it speaks.
pub const VERSION: u64 = 1;
/// The most sessions at a time.
pub const MAX_SESSIONS: usize = 100_000;
/// The most requests to the client that wait for an answer.
const MAX_ASKED: usize = 10_000;
/// Prompts of a session whose words are kept in mind.
const MAX_GIVEN: usize = 1_000;
/// Releases that may come before anybody holds at their name.
const MAX_RELEASES: usize = 1_000;

/// How an agent is set up.
#[derive(Clone, Debug, Default)]
pub struct AgentConfig {
    /// Goes into the ids of sessions, so that two processes differ.
    pub name: String,
    /// Whether a client has to authenticate before it may have a session.
    pub auth: bool,
    /// Whether it asks before every call, also where the script does not say so.
    pub always_asks: bool,
    /// Whether it keeps its sessions, so that they can be listed, loaded, resumed, closed and deleted.
    pub keeps: bool,
    /// Sessions on a page of their list; two unless given.
    pub page: Option<usize>,
    /// What it does wrong.
    pub faults: AgentFaults,
}

/// Something the agent wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentOutput {
    /// A line for the client, without its end.
    Line(String),
    /// A tool runs; its end is told by [`AcpAgent::handle_ran`].
    Run {
        /// Tells effects apart.
        token: u64,
        /// What it does.
        effect: AgentEffect,
    },
    /// Nobody waits for the end of an effect any more: it is to stop.
    Stop(u64),
    /// It ends, as a process that is killed: nothing follows.
    Exit,
}

/// One conversation.
#[derive(Debug, Default)]
struct AgentSession {
    cwd: String,
    /// The first MCP server that it was given.
    server: Option<McpServerAddress>,
    /// Whose conversation it is, as its last scripted prompt says.
    case: String,
    /// Classes of tools that are never asked about again, and what was decided.
    remembered: LiteMap<&'static str, bool>,
    /// What its prompts held.
    given: Vec<String>,
    /// It can be worked with: it was made, loaded or resumed here, and was not closed.
    open: bool,
    settings: SessionSettings,
    /// What was said in it, as updates.
    kept: Vec<Value>,
}

/// The agent.
#[derive(Debug, Default)]
pub struct AcpAgent {
    config: AgentConfig,
    now: Duration,
    outputs: VecDeque<AgentOutput>,
    client: ClientCapabilities,
    authenticated: bool,
    /// The client has logged out.
    logged_out: bool,
    sessions: HashMap<String, AgentSession>,
    /// Sessions in which something has changed that is kept.
    changed: BTreeSet<String>,
    /// The turns of the sessions that have one.
    turns: LiteMap<String, AgentTurn>,
    /// Requests to the client that are open.
    asked: LiteMap<u64, ClientRequest>,
    /// Effects that have not ended, and the sessions they are of.
    effects: LiteMap<u64, String>,
    releases: VecDeque<(String, String)>,
    serial: u64,
    /// The folder of its first session.
    first_folder: String,
    /// Prompts are not answered any more, of an agent that stops at params that are not valid.
    stopped: bool,
    /// A cancel that came without a turn, of an agent that keeps those.
    kept: bool,
}

impl AcpAgent {
    /// An agent that nobody has spoken to.
    pub fn new(config: AgentConfig) -> AcpAgent {
        AcpAgent { config, ..AcpAgent::default() }
    }

    /// A line came from the client.
    pub fn handle_line(&mut self, now: Duration, line: &str) {
        self.pass(now);
        match decode(&Frame::Text(line.to_owned())) {
            DecodedFrame::Message(message) => self.message(&message),
            DecodedFrame::Batch(_) | DecodedFrame::Scalar(_) => {
                self.refuse(Value::Null, -32600, "expected one JSON-RPC message a line");
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

    /// What was begun with [`AgentOutput::Run`] has ended.
    pub fn handle_ran(&mut self, now: Duration, token: u64, ran: EffectResult) {
        self.pass(now);
        if let Some(session) = self.effects.remove(&token) {
            self.effect_ended(&session, token, ran);
        }
    }

    /// Lets one turn go on that holds at a name, or that is going to; of one case where one is named.
    pub fn release(&mut self, now: Duration, case: &str, name: &str) {
        self.pass(now);
        if !self.let_go(case, name) {
            if self.releases.len() == MAX_RELEASES {
                self.releases.pop_front();
            }
            self.releases.push_back((case.to_owned(), name.to_owned()));
        }
    }

    /// It is `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.pass(now);
        self.play();
    }

    /// When [`AcpAgent::handle_timeout`] is wanted next, if ever.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.turns.values().filter_map(AgentTurn::due).min()
    }

    /// The next thing to do, until there is none.
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

    /// Tells the client something about a session.
    fn update(&mut self, session: &str, update: Value) {
        self.keep(session, &update);
        let params = json!({"sessionId": session, "update": update});
        self.send(Message::notification("session/update", params));
    }
}

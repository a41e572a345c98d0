//! The host's connection to the agent process: open requests, and the conversation for each chat.
//!
//! Owns: the connection; only the files of this folder read or change it. Knows: ACP. Never knows: states, processes.
//!
//! Start at [`AgentConnection`].

use litemap::LiteMap;

use crate::host::HostOutput;
use crate::wire::json::Value;
use crate::wire::message::Message;

/// The host's connection to the agent process.
#[derive(Debug)]
pub(in crate::host) struct AgentConnection {
    /// The working folder for chats whose session has no working directory.
    pub(super) cwd: String,
    pub(super) stage: HandshakeStage,
    pub(super) serial: u64,
    /// The open requests to the agent, by request id.
    pub(super) asked: LiteMap<u64, AgentRequestPurpose>,
    pub(super) talks: LiteMap<String, ChatTalk>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HandshakeStage {
    Unknown,
    Greeted,
    Ready,
}

/// The purpose of a request to the agent.
#[derive(Clone, Debug)]
pub(super) enum AgentRequestPurpose {
    Greeting,
    Session { chat: String },
    Prompt { chat: String, turn: String },
}

/// The conversation with the agent for one chat.
#[derive(Debug, Default)]
pub(super) struct ChatTalk {
    /// The agent's session id; `None` until the agent has created the session. `asked` states whether the host
    /// has requested the session.
    pub(super) session: Option<String>,
    pub(super) asked: bool,
    /// The turn on which the agent works, and its unsent prompt: the message and the context.
    pub(super) turn: Option<String>,
    pub(super) prompt: Option<Vec<String>>,
    /// The response part to which the host appends chunks: the kind and the id of the part.
    pub(super) part: Option<(&'static str, String)>,
    pub(super) calls: LiteMap<String, KnownCall>,
}

/// A tool call of the agent; the map's key is the agent's id.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownCall {
    /// The id of the tool call in the chat's state.
    pub(super) call: String,
    pub(super) title: String,
    pub(super) input: String,
    pub(super) content: Value,
    /// The id of the agent's permission request, and its options.
    pub(super) permission: Option<(Value, Value)>,
}

impl AgentConnection {
    pub(in crate::host) fn new(cwd: String) -> AgentConnection {
        AgentConnection {
            cwd,
            stage: HandshakeStage::Unknown,
            serial: 0,
            asked: LiteMap::new(),
            talks: LiteMap::new(),
        }
    }

    /// Returns the connection to a new process. Request ids continue, so that no late response matches an open
    /// request.
    pub(in crate::host) fn anew(self) -> AgentConnection {
        AgentConnection { serial: self.serial, ..AgentConnection::new(self.cwd) }
    }

    pub(super) fn ask(
        &mut self,
        asked: AgentRequestPurpose,
        method: &str,
        params: Value,
    ) -> HostOutput {
        self.serial += 1;
        self.asked.insert(self.serial, asked);
        line(Message::request(self.serial, method, params))
    }
}

pub(super) fn line(message: Message) -> HostOutput {
    HostOutput::ToAgent(message.into_value().to_text())
}

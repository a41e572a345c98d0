//! The state with which a client of a case serves the requests of an agent: prompts, requests for permission, joined
//! messages and reports.
//!
//! Knows: requests of agents, errands. Never knows: the case, steps, frames.
//!
//! Start at [`AgentClientSide`].

use std::collections::VecDeque;
use std::time::Duration;

use litemap::LiteMap;

use crate::peer::reports::ToolCallReports;
use crate::peer::serving::{AgentOffers, AgentServing};
use crate::peer::texts::ConversationTexts;
use crate::wire::json::Value;
use crate::wire::message::Message;

use super::side::AgentSide;

/// The maximum number of pending requests for permission.
const MAX_ASKING: usize = 1_000;

/// The state with which a client serves the requests of an agent.
#[derive(Debug, Default)]
pub(super) struct AgentClientSide {
    /// The time at which the client's connection was opened.
    opened: Duration,
    /// The files and commands with which the client serves the agent.
    pub(super) serving: AgentServing,
    asking: VecDeque<WaitingPermission>,
    /// The session of each unanswered prompt, by the id of its request.
    prompts: LiteMap<u64, Value>,
    /// The messages of each session since the client connected, joined from their chunks.
    texts: ConversationTexts,
    /// The reports of tool calls that the client received.
    pub(super) reports: ToolCallReports,
}

/// A pending request for permission.
#[derive(Debug)]
pub(super) struct WaitingPermission {
    /// The identifier of the request.
    pub(super) id: Value,
    /// The options that the agent offers.
    pub(super) options: Value,
    /// The line of the request in the transcript.
    pub(super) line: u64,
}

impl AgentClientSide {
    /// Creates a client's state for serving the agent; `number` distinguishes the clients' tokens.
    pub(super) fn of(side: &AgentSide, number: usize) -> AgentClientSide {
        let first = u64::try_from(number).unwrap_or_default() << 32;
        AgentClientSide {
            serving: AgentServing::new(&side.work, first),
            ..AgentClientSide::default()
        }
    }

    /// Records the time at which the client's connection was opened.
    pub(super) fn opened(&mut self, now: Duration) {
        self.opened = now;
        self.texts = ConversationTexts::default();
        self.reports = ToolCallReports::default();
    }

    /// Records the message chunks and tool calls in a notification of the agent.
    pub(super) fn hear(&mut self, message: &Message) {
        self.reports.take(message);
        self.texts.take(message);
    }

    /// Returns the messages of a session since the client connected, joined from their chunks.
    pub(super) fn texts_of(&self, session: &Value) -> Value {
        self.texts.of(session)
    }

    /// Sets the capabilities that the client offers from now on.
    pub(super) fn offer(&mut self, offers: AgentOffers) {
        self.serving.offer(offers);
    }
    /// Returns the time at which the client's connection was opened.
    pub(super) fn opened_at(&self) -> Duration {
        self.opened
    }

    /// Keeps a request for permission until it is answered.
    pub(super) fn ask(&mut self, permission: WaitingPermission) {
        if self.asking.len() < MAX_ASKING {
            self.asking.push_back(permission);
        }
    }

    /// Removes and returns the oldest pending request for permission.
    pub(super) fn take_asked(&mut self) -> Option<WaitingPermission> {
        self.asking.pop_front()
    }

    /// Puts a request for permission back as the oldest pending request.
    pub(super) fn put_back(&mut self, permission: WaitingPermission) {
        self.asking.push_front(permission);
    }

    /// Returns the number of pending requests for permission.
    pub(super) fn pending(&self) -> usize {
        self.asking.len()
    }

    /// Records a prompt that was sent in a session.
    pub(super) fn prompted(&mut self, number: u64, session: Value) {
        self.prompts.insert(number, session);
    }

    /// Returns the identifiers of all prompts.
    pub(super) fn prompts(&self) -> impl Iterator<Item = u64> {
        self.prompts.keys().copied()
    }

    /// Removes and returns all prompts, each with its session.
    pub(super) fn take_prompts(&mut self) -> impl Iterator<Item = (u64, Value)> + use<> {
        std::mem::take(&mut self.prompts).into_iter()
    }
}

//! Variants of stored sessions: how the agent replays a conversation, and how it lists sessions.
//!
//! Knows: `session/load`, `session/list`. Never knows: the storage of sessions.

use crate::agent::acp::AgentConfig;
use crate::wire::json::Value;

use super::rewriting::{
    AgentVariant, CallReportKind, MessageFlow, VariantLink, chunk, chunk_of, session_of, told_call,
};
use super::row::{AgentVariantRow, offering_less, row};

/// Replays each call of a conversation in one report, with the state at the end of the call.
#[derive(Default)]
struct CallsAtTheirEnd {
    /// The number of `session/load` requests without an answer.
    open: u64,
    held: Vec<Value>,
}

impl AgentVariant for CallsAtTheirEnd {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.open += u64::from(message["method"] == "session/load");
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some("session/load") {
            self.open = self.open.saturating_sub(1);
            flow.to_client.append(&mut self.held);
        }
        if self.open == 0 || message["method"] != "session/update" {
            return flow.to_client.push(message);
        }
        let told =
            told_call(&mut message).map(|call| (call.told, call.key(), call.members.clone()));
        let Some((CallReportKind::Update, id, members)) = told else {
            return self.held.push(message);
        };
        let first = self.held.iter_mut().find_map(|held| {
            told_call(held).filter(|call| call.key() == id).map(|call| call.members)
        });
        if let Some(first) = first {
            for (name, value) in members.iter().filter(|(name, _)| *name != "sessionUpdate") {
                first.insert(name.as_str(), value.clone());
            }
        }
    }
}

/// Splits the messages of a replayed conversation into single characters.
#[derive(Default)]
struct HistoryInLetters {
    /// The number of `session/load` requests without an answer.
    open: u64,
}

impl AgentVariant for HistoryInLetters {
    fn on_client_message(&mut self, _: &VariantLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.open += u64::from(message["method"] == "session/load");
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &VariantLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some("session/load") {
            self.open = self.open.saturating_sub(1);
        }
        let kinds = ["user_message_chunk", "agent_message_chunk"];
        let told = kinds.into_iter().filter(|_| self.open > 0);
        let text = told.into_iter().find_map(|kind| Some((kind, chunk_of(&mut message, kind)?)));
        let Some((kind, text)) = text else { return flow.to_client.push(message) };
        let session = session_of(&message);
        let letters = text.chars().map(|letter| chunk(session, kind, &letter.to_string()));
        flow.to_client.extend(letters);
    }
}

/// Lists this many sessions on one page.
struct SessionPages(usize);

impl AgentVariant for SessionPages {
    fn set_up(&self, config: &mut AgentConfig) {
        config.page = Some(self.0);
    }
}

const LOADING: &str = "agentclientprotocol.com, protocol v1 › session setup, loading sessions";
const PAGINATION: &str = "agentclientprotocol.com, protocol v1 › session list, pagination";
const PAGES: &str = "The agent chooses the number of sessions on a page.";

/// The variants of stored sessions.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row(
        "history-at-its-end",
        "A replayed conversation has each call once, in its final state.",
        "The conversation is replayed as updates; the specification does not say which updates.",
        LOADING,
        || Box::<CallsAtTheirEnd>::default(),
    ),
    row(
        "history-in-letters",
        "Each letter of a replayed conversation is a separate chunk.",
        "How text is divided into chunks is not specified.",
        LOADING,
        || Box::<HistoryInLetters>::default(),
    ),
    row("sessions-in-pages", "Sessions are listed in pages of one.", PAGES, PAGINATION, || {
        Box::new(SessionPages(1))
    }),
    offering_less(row(
        "sessions-on-one-page",
        "All sessions are listed on one page.",
        PAGES,
        PAGINATION,
        || Box::new(SessionPages(usize::MAX)),
    )),
];

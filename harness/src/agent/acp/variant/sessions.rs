//! Variants of sessions that are kept: how their conversation is told again, how they are listed.
//!
//! Knows: `session/load`, `session/list`. Never knows: where sessions are kept.

use std::collections::HashMap;

use crate::wire::json::{Value, json};

use super::catalogue::{AgentVariantRow, row};
use super::{AgentLink, AgentVariant, CallReportKind, MessageFlow, key, told_call};

/// Tells each call of a conversation once, as it was at its end.
#[derive(Default)]
struct CallsAtTheirEnd {
    /// Loads that were not answered.
    open: u64,
    held: Vec<Value>,
}

impl AgentVariant for CallsAtTheirEnd {
    fn on_client_message(&mut self, _: &AgentLink<'_>, message: Value, flow: &mut MessageFlow) {
        self.open += u64::from(message["method"] == "session/load");
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &AgentLink<'_>,
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

/// Lists sessions in pages of one.
#[derive(Default)]
struct PagesOfOne {
    /// The pages that were asked for, by the id of the request.
    pages: HashMap<String, usize>,
}

/// What a cursor begins with.
const CURSOR: &str = "page-";

impl AgentVariant for PagesOfOne {
    fn on_client_message(&mut self, _: &AgentLink<'_>, mut message: Value, flow: &mut MessageFlow) {
        if message["method"] == "session/list" {
            let cursor =
                message["params"]["cursor"].as_str().and_then(|it| it.strip_prefix(CURSOR));
            let page = cursor.and_then(|number| number.parse().ok());
            if let (Some(page), Some(id)) = (page, message.get("id")) {
                self.pages.insert(key(id), page);
                if let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) {
                    params.remove("cursor");
                }
            }
        }
        flow.to_agent.push(message);
    }

    fn on_agent_message(
        &mut self,
        link: &AgentLink<'_>,
        mut message: Value,
        flow: &mut MessageFlow,
    ) {
        if link.answers == Some("session/list") {
            let page = self.pages.remove(&key(&message["id"])).unwrap_or_default();
            let all = message["result"]["sessions"].as_array().cloned().unwrap_or_default();
            if all.len() > 1 {
                message["result"]["sessions"] = all.get(page).cloned().into_iter().collect();
                if page + 1 < all.len() {
                    message["result"]["nextCursor"] = json!(format!("{CURSOR}{}", page + 1));
                }
            }
        }
        flow.to_client.push(message);
    }
}

/// How sessions are kept.
pub(super) const ROWS: &[AgentVariantRow] = &[
    row(
        "history-at-its-end",
        "A conversation that is told again has each call once, as it was at its end.",
        "The conversation is replayed as updates; which updates it is made of is not said.",
        "agentclientprotocol.com, protocol v1 › session setup, loading sessions",
        || Box::<CallsAtTheirEnd>::default(),
    ),
    row(
        "sessions-in-pages",
        "Sessions are listed in pages of one.",
        "`nextCursor` says that there are more.",
        "agentclientprotocol.com, protocol v1 › session list, pagination",
        || Box::<PagesOfOne>::default(),
    ),
];

//! Variants of sessions that are kept: how they are listed.
//!
//! Knows: `session/list`. Never knows: where sessions are kept.

use std::collections::HashMap;

use crate::wire::json::{Value, json};

use super::catalogue::{AgentVariantRow, row};
use super::{AgentLink, AgentVariant, MessageFlow, key};

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
pub(super) const ROWS: &[AgentVariantRow] = &[row(
    "sessions-in-pages",
    "Sessions are listed in pages of one.",
    "`nextCursor` says that there are more.",
    "agentclientprotocol.com, protocol v1 › session list, pagination",
    || Box::<PagesOfOne>::default(),
)];

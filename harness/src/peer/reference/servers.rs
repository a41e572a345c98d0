//! Requests to the MCP servers of a session, over the channel that the session's state currently names.
//!
//! Knows: the customizations of a session. Never knows: the content of answers.
//!
//! Start at [`ReferenceClient::ask_server`].

use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

impl ReferenceClient {
    /// Sends the request that a command contains to an MCP server of a session.
    pub(super) fn ask_server(&mut self, id: u64, session: &str, command: &Value) {
        let server = command["server"].as_str().unwrap_or_default().to_owned();
        let state = self.states.channel(session).map(|mirror| mirror.confirmed());
        let now = state.and_then(|state| channel_of(&state["customizations"], &server));
        let first = self.servers.get(&server).cloned();
        let channel = match (first, now) {
            (Some(first), _) if self.has(Fault::ServerChannelKept) => first,
            (_, Some(now)) => now,
            (Some(first), None) if self.has(Fault::StoppedServerAsked) => first,
            (_, None) => return self.fail(id, "the session has no channel to this server"),
        };
        self.servers.entry(server).or_insert_with(|| channel.clone());
        let method = command["method"].as_str().unwrap_or_default().to_owned();
        let mut params = command["params"].clone();
        if !params.is_object() {
            params = json!({});
        }
        params["channel"] = json!(channel);
        self.request(RequestReason::Command(id), &method, params);
    }
}

/// Returns the channel of a server in a list of customizations or of their children.
fn channel_of(customizations: &Value, server: &str) -> Option<String> {
    let mut items = customizations.as_array()?.iter();
    items.find_map(|item| match item["id"] == server {
        true => item["channel"].as_str().map(str::to_owned),
        false => channel_of(&item["children"], server),
    })
}

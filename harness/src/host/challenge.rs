//! Challenges: an MCP server asks for a token before it runs a tool, and the tool call waits for the token.
//!
//! Every waiting call names the resource of its token. A client that delivers the token resolves all calls that
//! wait for this resource. If a server stops in the meantime, the calls to this server fail.
//!
//! Knows: calls, servers, waiting calls. Never knows: scripts.
//!
//! Start at [`RefHost::challenge`].

use crate::wire::json::{Value, json};

use super::agent::HostAgentWait;
use super::engine::RefHost;
use super::protected::{self, TOOLS};
use super::reading::tool_call;

/// A call that waits for a token.
struct WaitingCall {
    chat: String,
    turn: String,
    call: String,
    /// The resource to which the token gives access.
    resource: Value,
    /// The id of the server that asks for the token; `None` if the call has no server.
    server: Option<String>,
}

impl RefHost {
    /// Lets the server of a running call ask for a token, and suspends the call. Source:
    /// `session.inputNeeded.mcp-server-auth`.
    pub(super) fn challenge(&mut self, uri: &str, index: usize, turn: &str, call: String) {
        let known = tool_call(self.state(uri), &call);
        let server = known["contributor"]["customizationId"].as_str().map(str::to_owned);
        let Some(server) = server.filter(|_| known["status"] == "running") else { return };
        let resource = protected::metadata(TOOLS, true);
        let auth = json!({"reason": "insufficientScope", "resource": resource});
        if let Some(session) = self.chats.session_of(uri).map(str::to_owned) {
            let mut state = auth.clone();
            state["kind"] = json!("authRequired");
            self.set_server(&session, &server, state);
        }
        self.say(
            uri,
            json!({
                "type": "chat/toolCallAuthRequired", "turnId": turn, "toolCallId": call,
                "auth": auth,
            }),
        );
        self.runs.hold_up(uri, index, HostAgentWait::Call { call, status: "auth-required" });
    }

    /// Returns the calls that wait for a token.
    fn waiting(&self) -> Vec<WaitingCall> {
        let of_chat = |chat: &String| {
            let turn = &self.state(chat)["activeTurn"];
            let parts = turn["responseParts"].as_array().into_iter().flatten();
            let waits = |part: &&Value| part["toolCall"]["status"] == "auth-required";
            let waiting = |part: &Value| {
                let call = &part["toolCall"];
                let server = call["contributor"]["customizationId"].as_str();
                Some(WaitingCall {
                    chat: chat.clone(),
                    turn: turn["id"].as_str()?.to_owned(),
                    call: call["toolCallId"].as_str()?.to_owned(),
                    resource: call["auth"]["resource"].clone(),
                    server: server.map(str::to_owned),
                })
            };
            parts.filter(waits).filter_map(waiting).collect::<Vec<_>>()
        };
        self.runs.uris().flat_map(of_chat).collect()
    }

    /// Returns the resources for which calls need a token.
    pub(super) fn challenged(&self) -> Vec<Value> {
        self.waiting().into_iter().map(|waiting| waiting.resource).collect()
    }

    /// Resumes every call that waits for a token for this resource. Source: ChatToolCallAuthResolvedAction.
    pub(super) fn resolve_challenges(&mut self, resource: &str) {
        let all = self.waiting().into_iter();
        for waiting in all.filter(|it| it.resource["resource"] == resource) {
            let session = self.chats.session_of(&waiting.chat).map(str::to_owned);
            if let (Some(session), Some(server)) = (session, &waiting.server) {
                self.set_server(&session, server, json!({"kind": "starting"}));
                self.start_server(&session, server);
            }
            let action = json!({
                "type": "chat/toolCallAuthResolved", "turnId": waiting.turn,
                "toolCallId": waiting.call,
            });
            self.publish(&waiting.chat, action);
            self.wake(&waiting.chat);
        }
    }

    /// Fails the calls that wait for a token, if their server no longer asks for a token. Source:
    /// `session.customizations.mcp.stop-clears-input`.
    pub(super) fn abandon_challenges(&mut self, session: &str) {
        if !self.keeps("session.customizations.mcp.stop-clears-input") {
            return;
        }
        let asks = |server: &str| self.server_state(session, server) == Some("authRequired");
        let all = self.waiting().into_iter().filter(|waiting| {
            let own = self.chats.session_of(&waiting.chat) == Some(session);
            own && !waiting.server.as_deref().is_some_and(asks)
        });
        for waiting in all.collect::<Vec<_>>() {
            let message = "the server was stopped";
            let action = json!({
                "type": "chat/toolCallComplete", "turnId": waiting.turn,
                "toolCallId": waiting.call,
                "result": {
                    "success": false, "pastTenseMessage": "Asked for a token",
                    "error": {"message": message},
                },
            });
            self.publish(&waiting.chat, action);
            self.wake(&waiting.chat);
        }
    }
}

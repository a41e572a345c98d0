//! MCP servers of sessions, and the side channels over which a client talks to them.
//!
//! All servers are the MCP server of the harness, within the host. A started server is ready after a moment of virtual
//! time. A ready server has a side channel, which closes when the
//! server stops.
//!
//! A message belongs to a side channel if the message names the channel next to `method` or in `params`; a response
//! names the channel next to `id`. One page of the specification places the channel "at top level", and all other pages
//! place it in `params`.
//!
//! Knows: the states of servers, the requests that a side channel permits. Never knows: the decisions about
//! servers.
//!
//! Start at [`RefHost::start_server`], then [`RefHost::relay`].

use std::time::Duration;

use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::customizations::entries;
use super::engine::RefHost;
use super::request::{CallReply, ErrorResponse, HostCall};
use crate::agent::mcp::McpReply;
use crate::wire::message::Message;

/// The time that a server takes to become ready.
const START: Duration = Duration::from_millis(20);
/// The scheme of the URIs of side channels.
const SCHEME: &str = "mcp:";
/// Methods of the host whose `params` may name a side channel although the request is not for the side channel.
const OWN: &[&str] = &["subscribe", "unsubscribe", "dispatchAction"];
/// The methods that a side channel serves: the required capability, the method, and the member of `params` without
/// which a request is incomplete.
const SERVED: &[(&str, &str, Option<&str>)] = &[
    ("serverTools", "tools/list", None),
    ("serverTools", "tools/call", Some("name")),
    ("serverResources", "resources/list", None),
    ("serverResources", "resources/templates/list", None),
    ("serverResources", "resources/read", Some("uri")),
];

/// Returns the MCP app capabilities of this host's servers.
pub(super) fn app() -> Value {
    json!({"capabilities": {"serverTools": {}, "serverResources": {}}})
}

/// Returns the id of an MCP server; `None` for every other entry.
pub(super) fn server_id(entry: &Value) -> Option<String> {
    let server = entry["type"] == "mcpServer";
    entry["id"].as_str().filter(|_| server).map(str::to_owned)
}

/// Returns the side channel that a message of a client names; `None` if the message names no side channel.
pub(super) fn channel_of(message: &Message) -> Option<&str> {
    let named = |value: &'_ Value| value.as_str().is_some_and(|uri| uri.starts_with(SCHEME));
    let top = message.value().get("channel").filter(|it| named(it));
    let own = message.method().is_some_and(|method| OWN.contains(&method));
    let inner = message.params().get("channel").filter(|it| !own && named(it));
    top.or(inner).and_then(Value::as_str)
}

impl RefHost {
    /// Returns whether a client can subscribe to a URI.
    pub(super) fn exists(&self, uri: &str) -> bool {
        self.channels.has(uri) || self.mcp.has_channel(uri) || self.is_telemetry(uri)
    }

    /// Sets the first state of a server; ignores the state that the client of the server has published.
    pub(super) fn first_server_state(&self, server: &mut Value, apps: bool) {
        if let Some(members) = server.as_object_mut() {
            members.remove("channel");
            members.remove("mcpApp");
        }
        server["state"] = json!({"kind": "starting"});
        if apps && self.keeps("session.customizations.mcpApp-gated") {
            server["mcpApp"] = app();
        }
    }

    /// Schedules the time at which a server becomes ready. The state of the server is already `starting`.
    pub(super) fn start_server(&mut self, session: &str, server: &str) {
        self.mcp.start(session, server, self.clock.now() + START);
    }

    /// Makes the servers ready whose start time has come. Source: `session.customizations.mcp.start`.
    pub(super) fn ready_servers(&mut self) {
        for (session, server) in self.mcp.take_ready(self.clock.now()) {
            if self.server_state(&session, &server) != Some("starting") {
                continue;
            }
            let mut action = json!({
                "type": "session/mcpServerStateChanged", "id": server, "state": {"kind": "ready"},
            });
            let bare = self.server(&session, &server).is_none_or(|it| it["mcpApp"].is_null());
            if !bare || !self.keeps("session.customizations.mcpApp-gated") {
                let uri = format!("{SCHEME}//{}", self.fresh_id("server"));
                action["channel"] = json!(uri);
                self.mcp.open(uri, &session, &server);
            }
            self.publish(&session, action);
        }
    }

    /// Stops a server unless it is already stopped.
    pub(super) fn stop_server(&mut self, session: &str, server: &str) {
        if self.server_state(session, server).is_some_and(|kind| kind != "stopped") {
            let action = json!({
                "type": "session/mcpServerStateChanged", "id": server,
                "state": {"kind": "stopped"},
            });
            self.publish(session, action);
            self.close_side_channels(session);
            self.abandon_challenges(session);
        }
    }

    /// Publishes the state of a server; does nothing if the session does not have the server.
    pub(super) fn set_server(&mut self, session: &str, server: &str, state: Value) {
        if self.server(session, server).is_some() {
            let action =
                json!({"type": "session/mcpServerStateChanged", "id": server, "state": state});
            self.publish(session, action);
            self.close_side_channels(session);
        }
    }

    /// Stops every server after a crash.
    pub(super) fn end_servers(&mut self) {
        let all = |session: &String| {
            let servers = entries(self.state(session)).filter_map(|(_, it)| server_id(it));
            servers.map(|server| (session.clone(), server)).collect::<Vec<_>>()
        };
        let all: Vec<(String, String)> = self.sessions.uris().flat_map(all).collect();
        for (session, server) in all {
            self.stop_server(&session, &server);
        }
    }

    fn server<'a>(&'a self, session: &str, server: &str) -> Option<&'a Value> {
        let mut entries = entries(self.state(session)).map(|(_, it)| it);
        entries.find(|it| it["type"] == "mcpServer" && it["id"] == server)
    }

    pub(super) fn server_state(&self, session: &str, server: &str) -> Option<&str> {
        self.server(session, server)?["state"]["kind"].as_str()
    }

    /// Closes the side channels that no ready server of a session uses any more.
    pub(super) fn close_side_channels(&mut self, session: &str) {
        let named = |uri: &str, server: &str| {
            let server = self.server(session, server);
            server.is_some_and(|it| it["channel"] == uri && it["state"]["kind"] == "ready")
        };
        let own = self.mcp.channels_of(session);
        let gone = own.filter(|(uri, server)| !named(uri, server)).map(|(uri, _)| uri.to_owned());
        for uri in gone.collect::<Vec<String>>() {
            self.mcp.close(&uri);
            self.drop_channel(&uri);
        }
    }

    /// Removes the plugins, starting servers and side channels of a disposed session.
    pub(super) fn forget_customizations(&mut self, session: &str) {
        self.plugins.forget(session);
        self.mcp.forget_starts(session);
        self.close_side_channels(session);
    }

    /// Serves a request of a client to a server on a side channel. Source: mcp-channel.md; `mcp.*`.
    pub(super) fn relay(&mut self, call: &HostCall, channel: &str, method: &str) -> CallReply {
        self.admits(call, false)?;
        let side = self.mcp.of_channel(channel);
        let (session, server) =
            side.ok_or_else(|| ErrorResponse::named(ErrorName::NotFound, "no such side channel"))?;
        let server = self.server(session, server).unwrap_or(&Value::Null);
        let granted = &server["mcpApp"]["capabilities"];
        let row = SERVED.iter().find(|(capability, served, _)| {
            *served == method && granted.get(capability).is_some_and(|it| !it.is_null())
        });
        let unknown =
            || ErrorResponse::named(ErrorName::MethodNotFound, "the server offers no such method");
        let (_, _, member) = row.ok_or_else(unknown)?;
        if let Some(member) = member.filter(|member| !call.params[*member].is_string())
            && self.keeps("mcp.complete-requests")
        {
            let message = format!("expected a text at `params.{member}`");
            return Err(ErrorResponse::invalid_params(message));
        }
        let mut reply = self.mcp.respond(channel, method, call.params);
        if !self.keeps("mcp.verbatim") {
            reply = altered(reply);
        }
        match reply {
            McpReply::Now(Ok(result)) => Ok(result),
            McpReply::Now(Err((code, message))) => {
                Err(ErrorResponse::passed_on(code, message, Value::Null))
            }
            McpReply::Never => {
                Err(ErrorResponse::named(ErrorName::InternalError, "the server does not answer"))
            }
        }
    }
}

/// Returns the reply as it is forwarded by a host that treats each content as text.
fn altered(reply: McpReply) -> McpReply {
    let McpReply::Now(Ok(mut result)) = reply else {
        return McpReply::Now(Err((-32603, "the server has failed".to_owned())));
    };
    for name in ["content", "contents"] {
        for entry in result[name].as_array_mut().into_iter().flatten() {
            let text: String =
                entry["text"].as_str().unwrap_or_default().chars().filter(char::is_ascii).collect();
            entry["text"] = json!(text);
        }
    }
    McpReply::Now(Ok(result))
}

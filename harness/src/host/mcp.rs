//! MCP servers of sessions, and the side channels over which a client asks them.
//!
//! Behind each one is the same server, in virtual time: it has one tool, which says its text back. A
//! server that is started is ready a moment later, and has a side channel of its own then, which goes
//! when it stops.
//!
//! A message belongs to a side channel where it names one, beside `method` or in `params`; answers
//! name it beside `id`. The page of the protocol says "at top level", every other one `params`.
//!
//! Knows: the states of servers, what may be asked on a side channel. Never knows: who decides
//! whether a server may run.
//!
//! Start at [`RefHost::start_server`], then [`RefHost::relay`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::connection::{CallReply, ErrorResponse, HostCall};
use super::customizations::entries;
use super::engine::RefHost;
use crate::wire::message::Message;

/// How long a server takes to become ready.
const START: Duration = Duration::from_millis(20);
/// How the URIs of side channels begin.
const SCHEME: &str = "mcp:";
/// Methods of the host's own that may name a side channel.
const OWN: &[&str] = &["subscribe", "unsubscribe", "dispatchAction"];
/// The one tool.
const TOOL: &str = "echo";

/// What a server says to a request.
type McpAnswer = fn(&Value) -> CallReply;

/// What may be asked on a side channel: the capability, the method, the server's answer.
const SERVED: &[(&str, &str, McpAnswer)] =
    &[("serverTools", "tools/list", list_tools), ("serverTools", "tools/call", call_tool)];

/// A side channel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SideChannel {
    session: String,
    server: String,
}

/// What a client may ask a server of this host.
pub(super) fn app() -> Value {
    json!({"capabilities": {"serverTools": {}}})
}

/// The id of an MCP server; `None` for every other entry.
pub(super) fn server_id(entry: &Value) -> Option<String> {
    let server = entry["type"] == "mcpServer";
    entry["id"].as_str().filter(|_| server).map(str::to_owned)
}

/// The side channel that a message of a client names.
pub(super) fn channel_of(message: &Message) -> Option<&str> {
    let named = |value: &'_ Value| value.as_str().is_some_and(|uri| uri.starts_with(SCHEME));
    let top = message.value().get("channel").filter(|it| named(it));
    let own = message.method().is_some_and(|method| OWN.contains(&method));
    let inner = message.params().get("channel").filter(|it| !own && named(it));
    top.or(inner).and_then(Value::as_str)
}

fn list_tools(_: &Value) -> CallReply {
    let schema = json!({
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
    });
    let tool = json!({"name": TOOL, "description": "Says its text back.", "inputSchema": schema});
    Ok(json!({"tools": [tool]}))
}

fn call_tool(params: &Value) -> CallReply {
    let text = params["arguments"]["text"].as_str();
    match text.filter(|_| params["name"] == TOOL) {
        Some(text) => Ok(json!({"content": [{"type": "text", "text": text}], "isError": false})),
        None => Err(ErrorResponse::invalid_params("expected the tool `echo` and a text for it")),
    }
}

impl RefHost {
    /// Whether a URI is one that can be subscribed to.
    pub(super) fn exists(&self, uri: &str) -> bool {
        self.channels.contains_key(uri)
            || self.side_channels.contains_key(uri)
            || self.is_telemetry(uri)
    }

    /// The state that a server begins with, whatever its client says of it.
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

    /// Whether a client has said that it shows MCP apps.
    pub(super) fn shows_apps(&self, client: &str) -> bool {
        self.clients.get(client).is_some_and(|known| known.apps)
    }

    /// Begins to start a server, which says so already.
    pub(super) fn start_server(&mut self, session: &str, server: &str) {
        self.starts.insert((session.to_owned(), server.to_owned()), self.now + START);
    }

    /// When the next server is ready.
    pub(super) fn next_server(&self) -> Option<Duration> {
        self.starts.values().min().copied()
    }

    /// Makes servers ready whose time has come. Source: `session.customizations.mcp.start`.
    pub(super) fn ready_servers(&mut self) {
        let due = self.starts.iter().filter(|(_, at)| **at <= self.now);
        let due: Vec<(String, String)> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            self.starts.remove(&key);
            let (session, server) = key;
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
                self.side_channels.insert(uri, SideChannel { session: session.clone(), server });
            }
            self.publish(&session, action);
        }
    }

    /// Stops a server that does not stand still.
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

    /// Says in which state a server of a session is, if it has such a server.
    pub(super) fn set_server(&mut self, session: &str, server: &str, state: Value) {
        if self.server(session, server).is_some() {
            let action =
                json!({"type": "session/mcpServerStateChanged", "id": server, "state": state});
            self.publish(session, action);
            self.close_side_channels(session);
        }
    }

    /// Ends every server that a crash took along.
    pub(super) fn end_servers(&mut self) {
        let all = |(session, _): (&String, &_)| {
            let servers = entries(self.state(session)).filter_map(|(_, it)| server_id(it));
            servers.map(|server| (session.clone(), server)).collect::<Vec<_>>()
        };
        let all: Vec<(String, String)> = self.sessions.iter().flat_map(all).collect();
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

    /// Closes what no server of a session names any more.
    pub(super) fn close_side_channels(&mut self, session: &str) {
        let named = |uri: &str, side: &SideChannel| {
            let server = self.server(session, &side.server);
            server.is_some_and(|it| it["channel"] == uri && it["state"]["kind"] == "ready")
        };
        let own = self.side_channels.iter().filter(|(_, side)| side.session == session);
        let gone = own.filter(|(uri, side)| !named(uri, side)).map(|(uri, _)| uri.clone());
        for uri in gone.collect::<Vec<String>>() {
            self.side_channels.remove(&uri);
            self.drop_channel(&uri);
        }
    }

    /// Forgets what belongs to a session that is gone.
    pub(super) fn forget_customizations(&mut self, session: &str) {
        self.brought.remove(session);
        self.starts.retain(|(of, _), _| of != session);
        self.close_side_channels(session);
    }

    /// Asks a server what a client asks on its side channel. Source: mcp-channel.md; `mcp.*`.
    pub(super) fn relay(&mut self, call: &HostCall, channel: &str, method: &str) -> CallReply {
        self.admits(call, false)?;
        let side = self.side_channels.get(channel);
        let side = side.ok_or_else(|| ErrorResponse::named("NotFound", "no such side channel"))?;
        let server = self.server(&side.session, &side.server).unwrap_or(&Value::Null);
        let granted = &server["mcpApp"]["capabilities"];
        let row = SERVED.iter().find(|(capability, served, _)| {
            *served == method && granted.get(capability).is_some_and(|it| !it.is_null())
        });
        match row {
            Some((_, _, answer)) => answer(call.params),
            None => Err(ErrorResponse::named("MethodNotFound", "the server offers no such method")),
        }
    }
}

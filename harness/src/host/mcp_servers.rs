//! The MCP servers that start or run in sessions, and their side channels.
//!
//! Owns: the times of starts, the side channels. Knows: the MCP server of the harness. Never knows: states,
//! connections.
//!
//! Start at [`HostServers`].

use std::time::Duration;

use litemap::LiteMap;

use crate::agent::mcp::{McpReply, McpServer};
use crate::wire::json::Value;

/// A side channel of a session: the id of the MCP server, and the server.
#[derive(Clone, Debug)]
struct SideChannel {
    session: String,
    server: String,
    mcp: McpServer,
}

/// The MCP servers that start or run in sessions.
#[derive(Debug, Default)]
pub(super) struct HostServers {
    /// The time at which each starting server is ready, by session and server id.
    starts: LiteMap<(String, String), Duration>,
    /// The open side channels, by URI.
    side_channels: LiteMap<String, SideChannel>,
}

impl HostServers {
    /// Records that a server starts; `ready_at` is the time at which it is ready.
    pub(super) fn start(&mut self, session: &str, server: &str, ready_at: Duration) {
        self.starts.insert((session.to_owned(), server.to_owned()), ready_at);
    }

    /// Returns the time at which the next server is ready; `None` if no server is starting.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.starts.values().min().copied()
    }

    /// Removes the starting servers that are ready, and returns their sessions and ids.
    pub(super) fn take_ready(&mut self, now: Duration) -> Vec<(String, String)> {
        let due = self.starts.iter().filter(|(_, at)| **at <= now);
        let due: Vec<(String, String)> = due.map(|(key, _)| key.clone()).collect();
        self.starts.retain(|_, at| *at > now);
        due
    }

    /// Removes the starting servers of a session.
    pub(super) fn forget_starts(&mut self, session: &str) {
        self.starts.retain(|(of, _), _| of != session);
    }

    /// Opens the side channel of a server that is ready.
    pub(super) fn open(&mut self, uri: String, session: &str, server: &str) {
        let (session, server) = (session.to_owned(), server.to_owned());
        self.side_channels.insert(uri, SideChannel { session, server, mcp: McpServer::default() });
    }

    pub(super) fn close(&mut self, uri: &str) {
        self.side_channels.remove(uri);
    }

    pub(super) fn has_channel(&self, uri: &str) -> bool {
        self.side_channels.contains_key(uri)
    }

    /// Returns the session and the server of a side channel.
    pub(super) fn of_channel(&self, uri: &str) -> Option<(&str, &str)> {
        self.side_channels.get(uri).map(|side| (side.session.as_str(), side.server.as_str()))
    }

    /// Returns the side channels of a session: the URI and the server of each.
    pub(super) fn channels_of(&self, session: &str) -> impl Iterator<Item = (&str, &str)> {
        let own = self.side_channels.iter().filter(move |(_, side)| side.session == session);
        own.map(|(uri, side)| (uri.as_str(), side.server.as_str()))
    }

    /// Passes a request to the server of a side channel.
    pub(super) fn respond(&mut self, uri: &str, method: &str, params: &Value) -> McpReply {
        let side = self.side_channels.get_mut(uri);
        side.map_or(McpReply::Never, |side| side.mcp.respond(method, params))
    }
}

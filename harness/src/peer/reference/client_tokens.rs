//! The tokens of a client, and which of them were delivered over the connection.
//!
//! Knows: resources, lifetimes. Never knows: requests, where tokens come from.
//!
//! Start at [`ClientTokens`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::json::Value;

/// A token that a command has given to the client.
#[derive(Clone, Debug)]
pub(super) struct GivenToken {
    /// The token.
    pub(super) token: String,
    /// The lifetime in seconds, and the time at which the client got the token.
    pub(super) lifetime: Option<(u64, Duration)>,
}

/// The tokens of a client.
#[derive(Debug, Default)]
pub(super) struct ClientTokens {
    /// The tokens that the client may deliver, by the resource that each token is for.
    given: LiteMap<String, GivenToken>,
    /// The resources whose token was delivered over this connection.
    delivered: HashSet<String>,
    /// The resources whose token has expired.
    expired: HashSet<String>,
    /// The time of the last message or command.
    now: Duration,
    /// Whether an earlier connection of the client has ended.
    resumed: bool,
    /// The commands whose request has failed, and may have been repeated after a token was delivered.
    repeated: HashSet<u64>,
}

impl ClientTokens {
    /// Sets the time of the last message or command.
    pub(super) fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// Stores a token from a command of the driver.
    pub(super) fn give(&mut self, command: &Value) {
        if let (Some(resource), Some(token)) =
            (command["resource"].as_str(), command["token"].as_str())
        {
            let lifetime = command["expiresIn"].as_u64().map(|seconds| (seconds, self.now));
            let given = GivenToken { token: token.to_owned(), lifetime };
            self.given.insert(resource.to_owned(), given);
            self.delivered.remove(resource);
            self.expired.remove(resource);
        }
    }

    /// Handles the end of the connection. Tokens are valid for one connection, so they have to be delivered again.
    pub(super) fn lost(&mut self) {
        self.resumed |= !self.given.is_empty();
        self.delivered.clear();
    }

    /// Returns the time since `since`.
    pub(super) fn elapsed(&self, since: Duration) -> Duration {
        self.now.saturating_sub(since)
    }

    /// Returns whether no token was given to the client.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns whether an earlier connection of the client has ended.
    pub(super) fn was_resumed(&self) -> bool {
        self.resumed
    }

    /// Returns whether the token for a resource was delivered over this connection.
    pub(super) fn is_delivered(&self, resource: &str) -> bool {
        self.delivered.contains(resource)
    }

    /// Records that the token for a resource has expired.
    pub(super) fn expire(&mut self, resource: &str) {
        self.expired.insert(resource.to_owned());
    }

    /// Returns whether the token for a resource has expired.
    pub(super) fn is_expired(&self, resource: &str) -> bool {
        self.expired.contains(resource)
    }

    /// Records the delivery of the token for a resource, and returns the token.
    pub(super) fn deliver(&mut self, resource: &str) -> Option<GivenToken> {
        let given = self.given.get(resource).cloned()?;
        self.delivered.insert(resource.to_owned());
        Some(given)
    }

    /// Records that the request of a command has failed. Returns whether it failed for the first time.
    pub(super) fn failed(&mut self, command: u64) -> bool {
        self.repeated.insert(command)
    }
}

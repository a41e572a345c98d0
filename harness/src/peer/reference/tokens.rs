//! The tokens that the client delivers, either for the resources that agents require or when the host asks for a token.
//!
//! Knows: `authenticate`, the root state. Never knows: where tokens come from.
//!
//! Start at [`ReferenceClient::deliver_tokens`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ConnectionPhase, ReferenceClient, ReferenceRequest, RequestReason};

/// A token that a command has given to the client.
#[derive(Clone, Debug)]
struct GivenToken {
    token: String,
    /// The lifetime in seconds, and the time at which the client got the token.
    lifetime: Option<(u64, Duration)>,
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
    /// The commands whose request was already repeated after a token was delivered.
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
}

impl ReferenceClient {
    /// Delivers the tokens that the agents of the host require. Each token is delivered only once.
    pub(super) fn deliver_tokens(&mut self) {
        let is_late = self.tokens.resumed && self.has(Fault::TokensNotRechecked);
        if self.tokens.given.is_empty() || self.phase != ConnectionPhase::Ready || is_late {
            return;
        }
        let Some(root) = self.states.channel(&self.edge.lower_uri(ROOT)) else { return };
        let agents = root.confirmed()["agents"].as_array().into_iter().flatten();
        let resources = agents.filter_map(|agent| agent["protectedResources"].as_array()).flatten();
        let optional = self.has(Fault::TokensOptional);
        let required: Vec<String> = resources
            .filter(|it| it["required"].as_bool().unwrap_or(!optional))
            .filter_map(|it| it["resource"].as_str().map(str::to_owned))
            .collect();
        for resource in required {
            if !self.tokens.delivered.contains(&resource) {
                self.deliver(&resource);
            }
        }
    }

    /// Delivers the token for a resource. Returns whether the client has a token for it.
    fn deliver(&mut self, resource: &str) -> bool {
        if self.tokens.expired.contains(resource) && !self.has(Fault::TokensReplayed) {
            return false;
        }
        let Some(given) = self.tokens.given.get(resource).cloned() else { return false };
        self.tokens.delivered.insert(resource.to_owned());
        let mut params = json!({"channel": ROOT, "resource": resource, "token": given.token});
        if let Some((seconds, since)) = given.lifetime {
            let elapsed = match self.has(Fault::LifetimeKept) {
                true => 0,
                false => self.tokens.now.saturating_sub(since).as_secs_f64().ceil() as u64,
            };
            params["expiresIn"] = json!(seconds.saturating_sub(elapsed).max(1));
        }
        self.request(RequestReason::Token, "authenticate", params);
        true
    }

    /// Handles `auth/required`.
    pub(super) fn token_required(&mut self, params: &Value) {
        let resource = params["resource"]["resource"].as_str().unwrap_or_default().to_owned();
        if params["reason"] == "expired" {
            self.tokens.expired.insert(resource.clone());
        }
        self.deliver(&resource);
    }

    /// If the request of a command failed because tokens are missing, delivers these tokens and repeats the request
    /// once. Returns whether the request was repeated.
    pub(super) fn retried_with_token(
        &mut self,
        asked: &ReferenceRequest,
        error: Option<&Value>,
    ) -> bool {
        let (RequestReason::Command(command), Some(error)) = (&asked.reason, error) else {
            return false;
        };
        let needed = error["code"].as_i64() == Some(ErrorName::AuthRequired.code());
        let is_first = self.tokens.repeated.insert(*command) || self.has(Fault::RefusedForEver);
        if !needed || self.has(Fault::TokensNotRetried) || !is_first {
            return false;
        }
        let resources = error["data"]["resources"].as_array().cloned().unwrap_or_default();
        let named: Vec<&str> = resources.iter().filter_map(|it| it["resource"].as_str()).collect();
        let delivered = named.iter().filter(|resource| self.deliver(resource)).count();
        if named.is_empty() || delivered < named.len() {
            return false;
        }
        self.request(asked.reason.clone(), &asked.method, asked.params.clone());
        true
    }
}

//! The tokens that the client delivers, either for the resources that agents require or when the host asks for a token.
//!
//! Knows: `authenticate`, the root state. Never knows: where tokens come from.
//!
//! Start at [`ReferenceClient::deliver_tokens`].

use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::fault::Fault;
use super::{ConnectionPhase, ReferenceClient, ReferenceRequest, RequestReason};

impl ReferenceClient {
    /// Delivers the tokens that the agents of the host require. Each token is delivered only once.
    pub(super) fn deliver_tokens(&mut self) {
        let is_late = self.tokens.was_resumed() && self.has(Fault::TokensNotRechecked);
        if self.tokens.is_empty() || self.phase != ConnectionPhase::Ready || is_late {
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
            if !self.tokens.is_delivered(&resource) {
                self.deliver(&resource);
            }
        }
    }

    /// Delivers the token for a resource. Returns whether the client has a token for it.
    fn deliver(&mut self, resource: &str) -> bool {
        if self.tokens.is_expired(resource) && !self.has(Fault::TokensReplayed) {
            return false;
        }
        let Some(given) = self.tokens.deliver(resource) else { return false };
        let mut params = json!({"channel": ROOT, "resource": resource, "token": given.token});
        if let Some((seconds, since)) = given.lifetime {
            let elapsed = match self.has(Fault::LifetimeKept) {
                true => 0,
                false => self.tokens.elapsed(since).as_secs_f64().ceil() as u64,
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
            self.tokens.expire(&resource);
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
        let is_first = self.tokens.failed(*command) || self.has(Fault::RefusedForEver);
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

//! Tokens: which agents require a token, which connection has delivered a token, and when a token expires.
//!
//! A token belongs to the connection that delivered it, and is forgotten with the connection. The protected
//! agent accepts exactly one token, [`TOKEN`]. The host does not check a token for an optional resource of
//! another agent, since no request depends on this token.
//!
//! Interpretations where the specification is silent:
//! - A connection has no tokens after a reconnect; an error names the token that a request needs.
//! - The host reports an expired token only to the connection that delivered it, and only if that connection is
//!   subscribed to the root channel.
//! - A client needs a token to create a session, but not to use an existing session.
//!
//! Knows: agents, connections. Never knows: sessions.
//!
//! Start at [`RefHost::authenticate`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::configuration;
use super::connections::HostConnection;
use super::engine::RefHost;
use super::protected::{self, TOKEN, metadata};
use super::request::{CallReply, ErrorResponse, HostCall};
use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::feature::ProtocolFeature;

fn is_required(resource: &Value) -> bool {
    resource["required"] != false
}

/// The longest lifetime of a token that the host enforces, in seconds. A longer lifetime counts as unlimited.
const MAX_LIFETIME: u64 = 366 * 24 * 3600;

impl RefHost {
    /// Returns the protected resources that the agents advertise.
    fn advertised(&self) -> impl Iterator<Item = &Value> {
        let agents = self.state(ROOT)["agents"].as_array().into_iter().flatten();
        agents.filter_map(|agent| agent["protectedResources"].as_array()).flatten()
    }

    /// Serves `authenticate`. Source: authentication.md, token delivery.
    pub(super) fn authenticate(&mut self, call: &HostCall) -> CallReply {
        let (resource, token) = (call.text("resource"), call.text("token"));
        let named = |it: &&Value| it["resource"] == resource;
        let challenged = self.challenged();
        let known = self.advertised().chain(&challenged).find(named).cloned();
        let Some(known) = known.filter(|_| self.keeps("auth.authenticate.accept-advertised"))
        else {
            return Err(ErrorResponse::invalid_params(
                "this host requires no token for this resource",
            ));
        };
        let until = self.lifetime(call)?;
        if token.is_empty() {
            let taken_back = self.keeps("auth.authenticate.empty-token");
            if taken_back {
                self.connections.remove_token(call.conn, resource);
            }
            return Ok(json!({}));
        }
        let any = !is_required(&known) || resource == protected::TOOLS;
        let sound = any || token == TOKEN.1;
        if !sound && self.keeps("auth.authenticate.invalid-token") {
            return Err(required(vec![known]));
        }
        self.connections.store_token(call.conn, resource, until);
        self.resolve_challenges(resource);
        Ok(json!({}))
    }

    /// Returns the time at which a token expires; `None` if the token does not expire. Source:
    /// `auth.authenticate.expiresIn`.
    fn lifetime(&self, call: &HostCall) -> Result<Option<Duration>, ErrorResponse> {
        let knows = self.protocol_of(call.conn).has(ProtocolFeature::TokenLifetimes);
        let Some(given) = call.params.get("expiresIn").filter(|it| knows && !it.is_null()) else {
            return Ok(None);
        };
        match given.as_u64() {
            _ if !self.keeps("auth.authenticate.expiresIn") => Ok(None),
            Some(seconds @ 1..=MAX_LIFETIME) => {
                Ok(Some(self.clock.now() + Duration::from_secs(seconds)))
            }
            Some(1..) => Ok(None),
            _ => Err(ErrorResponse::invalid_params(
                "expected a number of seconds above 0 at `params.expiresIn`",
            )),
        }
    }

    /// Rejects a request if the connection lacks a token that the agent requires. Source: authentication.md,
    /// AuthRequired.
    pub(super) fn require_tokens(&self, conn: ConnId, provider: &str) -> Result<(), ErrorResponse> {
        if !self.keeps("auth.required.any-command") {
            return Ok(());
        }
        let agents = self.state(ROOT)["agents"].as_array().into_iter().flatten();
        let mut agents = agents.filter(|agent| agent["provider"] == provider);
        let resources = agents.next().and_then(|agent| agent["protectedResources"].as_array());
        let all = !self.keeps("auth.required.optional-resource");
        let missing = resources.into_iter().flatten().filter(|it| {
            (all || is_required(it)) && !self.has_token(conn, it["resource"].as_str().unwrap_or(""))
        });
        let missing: Vec<Value> = missing.cloned().collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(required(missing)),
        }
    }

    fn has_token(&self, conn: ConnId, resource: &str) -> bool {
        let brought = |it: &HostConnection| it.has_token(resource, self.clock.now());
        match self.keeps("auth.per-connection") {
            false => self.connections.iter().any(|(_, it)| brought(it)),
            true => self.connections.get(conn).is_some_and(brought),
        }
    }

    /// Removes expired tokens and notifies their connections. Source: authentication.md, auth expiry.
    pub(super) fn expire_tokens(&mut self) {
        for (conn, resource) in self.connections.expire_tokens(self.clock.now()) {
            let known = self.advertised().find(|it| it["resource"] == resource.as_str());
            let resource = known.cloned().unwrap_or_else(|| metadata(&resource, true));
            let params = json!({"channel": ROOT, "resource": resource, "reason": "expired"});
            match self.keeps("auth.notification.audience") {
                false => self.notify("auth/required", params),
                true => self.notify_one(conn, "auth/required", params),
            }
        }
    }
}

fn required(resources: Vec<Value>) -> ErrorResponse {
    let mut failure = ErrorResponse::named(ErrorName::AuthRequired, "this agent asks for a token");
    failure.data = json!({"resources": resources});
    failure
}

/// Returns the provider that a request names, or the first provider if the request names none; `None` if the
/// host does not have the named provider. Source: `session.create.provider-unknown`.
pub(super) fn provider<'a>(call: &'a HostCall<'_>) -> Option<&'a str> {
    match call.params.get("provider").and_then(Value::as_str) {
        Some(named) => Some(named).filter(|it| configuration::has_provider(it)),
        None => Some(configuration::PROVIDER),
    }
}

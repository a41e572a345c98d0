//! Admission: the host checks the credentials and the origin of a request before it opens a connection.
//!
//! A host with tokens admits a request with one of its tokens; a host without tokens admits every request. Each token
//! identifies a visitor. A client id belongs to the visitor that first completes a handshake with this client id. The
//! visitor with the first token is the owner of the host.
//!
//! Interpretations where the specification is silent:
//! - The host accepts only web origins on its own machine.
//! - A client id belongs to its visitor for as long as the host remembers the client.
//!
//! Knows: headers, connections. Never knows: sockets.
//!
//! Start at [`RefHost::let_in`].

use super::engine::RefHost;
use super::request::{ErrorResponse, HostCall};
use super::rule_facts::{RuleFacts, require};
use super::visitor::EndpointVisitor;
use crate::peer::guise::{ClientCredentials, ClientGuise};
use crate::transcript::ConnId;

/// The tokens of a guarded reference host: the token of the owner and the token of a guest.
pub const TOKENS: [&str; 2] = ["reference-host-owner-5d20b1c4", "reference-host-guest-8e7f03aa"];
/// A token that a guarded reference host does not accept.
pub const WRONG: &str = "reference-host-nobody-00000000";
/// The setting that only the owner may change, and the value that other visitors may not set.
pub const GUARDED: (&str, &str) = ("approvals", "allow");

/// Returns the headers with which a client that plays this role (`guise`) connects to a guarded reference host.
pub fn headers(guise: &ClientGuise) -> Vec<(String, String)> {
    let token = match guise.credentials {
        ClientCredentials::Own => Some(TOKENS[0]),
        ClientCredentials::Other => Some(TOKENS[1]),
        ClientCredentials::Wrong => Some(WRONG),
        ClientCredentials::None => None,
    };
    let token = token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
    let origin = guise.origin.clone().map(|origin| ("Origin".to_owned(), origin));
    token.into_iter().chain(origin).collect()
}

/// Returns the HTTP status line of a refused request.
pub fn refusal(status: u16) -> String {
    let reason = match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        _ => "Refused",
    };
    format!("HTTP/1.1 {status} {reason}")
}

/// Returns whether a web origin is on this machine.
fn is_local(origin: &str) -> bool {
    let host = origin.split_once("://").map_or("", |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        host.strip_prefix(local).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    })
}

impl RefHost {
    /// Checks a request to open a connection, and records the visitor. Returns the HTTP status if the host
    /// refuses the request. Sources: `transport.auth.during-handshake`, `security.origin-check`.
    pub(super) fn let_in(&mut self, conn: ConnId, headers: &[(String, String)]) -> Result<(), u16> {
        let header = |wanted: &str| {
            let mut found = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.next().map(|(_, value)| value.as_str())
        };
        if header("origin").is_some_and(|it| !is_local(it)) {
            return Err(403);
        }
        let token = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let known = self.config.tokens.iter().position(|own| token == Some(own.as_str()));
        let visitor = match known {
            Some(place) => EndpointVisitor::Known(place),
            None if self.config.tokens.is_empty() => EndpointVisitor::Anybody,
            None if !self.keeps("transport.auth.during-handshake") => EndpointVisitor::Anybody,
            None => return Err(401),
        };
        self.connections.admit(conn, visitor);
        Ok(())
    }

    /// Returns the visitor of a connection.
    pub(super) fn visitor(&self, conn: ConnId) -> EndpointVisitor {
        self.connections.visitor(conn)
    }

    /// Rejects a client id that belongs to another visitor. Source: `security.clientid-bound`.
    pub(super) fn require_own(&self, call: &HostCall, client: &str) -> Result<(), ErrorResponse> {
        let owner = self.clients.visitor_of(client);
        let own = owner.is_none_or(|owner| owner == self.visitor(call.conn));
        match own {
            true => Ok(()),
            false => Err(ErrorResponse::invalid_request("this client id belongs to another user")),
        }
    }
}

/// Checks a `root/configChanged` action: only the owner may change the guarded setting.
pub(super) fn guarded_setting(facts: &RuleFacts) -> Result<(), String> {
    let visitor = facts.host.clients.visitor_of(facts.client);
    let owner =
        matches!(visitor, None | Some(EndpointVisitor::Anybody | EndpointVisitor::Known(0)));
    let (key, now) = (GUARDED.0, &facts.state["config"]["values"][GUARDED.0]);
    let wanted = &facts.action["config"][key];
    let same = wanted == now || wanted.is_null() && facts.action["replace"] != true;
    require(owner || same, "only the owner of this host may change that")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::engine::HostConfig;

    #[test]
    fn credentials_and_origin_decide_about_a_connection() {
        let tokens: Vec<String> = TOKENS.iter().map(|token| (*token).to_owned()).collect();
        let mut host = RefHost::new(HostConfig { tokens, ..HostConfig::default() });
        let mut open = RefHost::new(HostConfig::default());
        let mut check = |credentials, origin: Option<&str>, expected: Result<(), u16>| {
            let guise = ClientGuise { credentials, origin: origin.map(str::to_owned) };
            assert_eq!(host.let_in(ConnId(1), &headers(&guise)), expected, "{guise:?}");
            let anybody = if expected == Err(401) { Ok(()) } else { expected };
            assert_eq!(open.let_in(ConnId(1), &headers(&guise)), anybody, "{guise:?}");
        };
        check(ClientCredentials::Own, None, Ok(()));
        check(ClientCredentials::Other, None, Ok(()));
        check(ClientCredentials::Wrong, None, Err(401));
        check(ClientCredentials::None, None, Err(401));
        check(ClientCredentials::Own, Some("https://evil.example"), Err(403));
        check(ClientCredentials::Own, Some("http://localhost.evil.example"), Err(403));
        check(ClientCredentials::Own, Some("null"), Err(403));
        check(ClientCredentials::Own, Some("http://localhost:8080"), Ok(()));
        check(ClientCredentials::Own, Some("http://[::1]"), Ok(()));
    }
}

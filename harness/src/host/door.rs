//! Who comes in: credentials and pages are looked at before a connection stands.
//!
//! A host that was given tokens admits whoever brings one of them; without any it admits everybody. Each token
//! is somebody of its own, to whom the client ids belong that he shakes hands with first. The one of the first
//! token is the owner of the host.
//!
//! Readings taken where the specification is silent:
//! - A page may come from the machine that the host is on, and from nowhere else.
//! - A client id is its owner's for as long as the host remembers the client.
//!
//! Knows: headers, connections. Never knows: sockets.
//!
//! Start at [`RefHost::let_in`].

use super::connection::{ErrorResponse, HostCall};
use super::engine::{MAX_CONNECTIONS, RefHost};
use super::rules::{RuleFacts, require};
use crate::peer::guise::{ClientCredentials, ClientGuise};
use crate::transcript::ConnId;

/// The tokens of a reference host that is guarded: its owner's, and somebody else's.
pub const TOKENS: [&str; 2] = ["reference-host-owner-5d20b1c4", "reference-host-guest-8e7f03aa"];
/// A token that is nobody's.
pub const WRONG: &str = "reference-host-nobody-00000000";
/// The setting that only the owner may change, and the value that others may not give it.
pub const GUARDED: (&str, &str) = ("approvals", "allow");

/// Who stands behind a connection: the place of his token, where there are tokens.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum EndpointVisitor {
    /// Anybody.
    #[default]
    Anybody,
    /// Whose token has this place.
    Known(usize),
}

/// The headers of a client that comes to a guarded reference host like this.
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

/// The status line of a refusal.
pub fn refusal(status: u16) -> String {
    let reason = match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        _ => "Refused",
    };
    format!("HTTP/1.1 {status} {reason}")
}

/// Whether a page is one of this machine's.
fn is_local(origin: &str) -> bool {
    let host = origin.split_once("://").map_or("", |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        host.strip_prefix(local).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    })
}

impl RefHost {
    /// Lets a connection in, or says by which HTTP status not. Source: `transport.auth.during-handshake`,
    /// `security.origin-check`.
    pub(super) fn let_in(&mut self, conn: ConnId, headers: &[(String, String)]) -> Result<(), u16> {
        let header = |wanted: &str| {
            let mut found = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.next().map(|(_, value)| value.as_str())
        };
        if header("origin").is_some_and(|it| !is_local(it)) {
            return Err(403);
        }
        let token = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let known = self.tokens.iter().position(|own| token == Some(own.as_str()));
        let visitor = match known {
            Some(place) => EndpointVisitor::Known(place),
            None if self.tokens.is_empty() => EndpointVisitor::Anybody,
            None if !self.keeps("transport.auth.during-handshake") => EndpointVisitor::Anybody,
            None => return Err(401),
        };
        // Somebody who was let in may be gone before there is a connection.
        if self.visitors.len() >= MAX_CONNECTIONS
            && let Some(first) = self.visitors.keys().next().copied()
        {
            self.visitors.remove(&first);
        }
        self.visitors.insert(conn, visitor);
        Ok(())
    }

    /// Who stands behind a connection.
    pub(super) fn visitor(&self, conn: ConnId) -> EndpointVisitor {
        self.connections.get(&conn).map(|it| it.visitor).unwrap_or_default()
    }

    /// Refuses a client id that is somebody else's. Source: `security.clientid-bound`.
    pub(super) fn require_own(&self, call: &HostCall, client: &str) -> Result<(), ErrorResponse> {
        let owner = self.clients.get(client).map(|known| known.visitor);
        let own = owner.is_none_or(|owner| owner == self.visitor(call.conn));
        match own {
            true => Ok(()),
            false => Err(ErrorResponse::invalid_request("this client id is somebody else's")),
        }
    }
}

/// A rule of `root/configChanged`: what guards everybody is the owner's to change.
pub(super) fn guarded_setting(facts: &RuleFacts) -> Result<(), String> {
    let visitor = facts.host.clients.get(facts.client).map(|known| known.visitor);
    let owner =
        matches!(visitor, None | Some(EndpointVisitor::Anybody | EndpointVisitor::Known(0)));
    let (key, now) = (GUARDED.0, &facts.state["config"]["values"][GUARDED.0]);
    let wanted = &facts.action["config"][key];
    let same = wanted == now || wanted.is_null() && facts.action["replace"] != true;
    require(owner || same, "only the owner of this host changes that")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::engine::HostConfig;

    #[test]
    fn whoever_may_comes_in() {
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

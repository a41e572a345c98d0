//! Makes endpoints for clients whose credentials differ from the credentials of the run.
//!
//! Credentials are the headers and query members that [`redact`] treats as secret. Requests of a client without
//! credentials are sent without any credentials. Requests of a client with another token have this other token in place
//! of the credentials.
//!
//! [`redact`]: crate::report::redact

use crate::peer::guise::ClientCredentials;
use crate::report::redact::{is_secret_parameter, secrets_of_header, secrets_of_target};
use crate::transport::websocket::WebSocketEndpoint;

/// A token that no user has.
const WRONG: &str = "ahp-harness-is-nobody-00000000";

/// Returns whether the URL or the headers contain credentials.
pub(super) fn has_credentials(url: &str, headers: &[(String, String)]) -> bool {
    let of_headers = |(name, value): &(String, String)| secrets_of_header(name, value);
    !secrets_of_target(url).is_empty() || headers.iter().any(|it| !of_headers(it).is_empty())
}

/// Returns the endpoint of a host. The endpoint contains a URL and headers for each kind of client: with the
/// credentials of the run, with another user's token, with an invalid token, and without credentials.
pub(super) fn endpoint(
    url: &str,
    headers: Vec<(String, String)>,
    other: Option<&str>,
) -> WebSocketEndpoint {
    let tokens = [
        (ClientCredentials::Other, other),
        (ClientCredentials::Wrong, Some(WRONG)),
        (ClientCredentials::None, None),
    ];
    let with = |(credentials, token): (ClientCredentials, Option<&str>)| {
        let (url, headers) = instead(url, &headers, token);
        (credentials, url, headers)
    };
    WebSocketEndpoint {
        url: url.to_owned(),
        others: tokens.map(with).into(),
        headers,
        receive_buffer: None,
    }
}

/// Returns the URL and the headers with this token in place of the credentials, or without credentials if there
/// is no token.
fn instead(
    url: &str,
    headers: &[(String, String)],
    token: Option<&str>,
) -> (String, Vec<(String, String)>) {
    let secret = |(name, value): &&(String, String)| !secrets_of_header(name, value).is_empty();
    let mut kept: Vec<(String, String)> =
        headers.iter().filter(|header| !secret(header)).cloned().collect();
    let in_query = !secrets_of_target(url).is_empty();
    if let Some(token) = token.filter(|_| !in_query || kept.len() < headers.len()) {
        kept.push(("Authorization".to_owned(), format!("Bearer {token}")));
    }
    let Some((path, query)) = url.split_once('?') else {
        return (url.to_owned(), kept);
    };
    let member = |member: &str| match member.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => {
            token.map(|token| format!("{name}={token}"))
        }
        _ => Some(member.to_owned()),
    };
    let query: Vec<String> = query.split('&').filter_map(member).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    (format!("{path}{mark}{}", query.join("&")), kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_replaced_in_headers_and_urls() {
        let check = |url: &str, headers: &[(&str, &str)], token, expected: (&str, &str)| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let headers: Vec<_> = headers.iter().map(own).collect();
            let (url, headers) = instead(url, &headers, token);
            let lines: Vec<_> = headers.iter().map(|(n, v)| format!("{n}: {v}")).collect();
            assert_eq!((url.as_str(), lines.join("; ").as_str()), expected);
        };
        let bearer = [("X-A", "b"), ("authorization", "Bearer mine")];
        check("ws://h/a", &bearer, None, ("ws://h/a", "X-A: b"));
        check("ws://h/a", &bearer, Some("t"), ("ws://h/a", "X-A: b; Authorization: Bearer t"));
        check("ws://h/a?tkn=mine", &[], None, ("ws://h/a", ""));
        check("ws://h/a?b=1&tkn=mine", &[], Some("t"), ("ws://h/a?b=1&tkn=t", ""));
        check("ws://h", &[], Some("t"), ("ws://h", "Authorization: Bearer t"));
    }
}

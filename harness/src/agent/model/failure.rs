//! How the families fail: statuses, names and forms.
//!
//! Knows: the families. Never knows: when to fail.
//!
//! Start at [`status`].

use crate::wire::json::json;

use super::reply::Reply;
use super::routes::Family;

/// The kinds of failure that a script names, and their HTTP statuses.
const KINDS: &[(&str, u16)] = &[
    ("rate-limit", 429),
    ("overloaded", 529),
    ("auth", 401),
    ("forbidden", 403),
    ("bad-request", 400),
    ("not-found", 404),
];

/// What OpenAI and Anthropic, and what Google, call a status.
const NAMES: &[(u16, &str, &str)] = &[
    (400, "invalid_request_error", "INVALID_ARGUMENT"),
    (401, "authentication_error", "UNAUTHENTICATED"),
    (403, "permission_error", "PERMISSION_DENIED"),
    (404, "not_found_error", "NOT_FOUND"),
    (429, "rate_limit_error", "RESOURCE_EXHAUSTED"),
    (529, "overloaded_error", "UNAVAILABLE"),
];

/// The HTTP status of a kind of failure; of an unknown kind it is 500.
pub(super) fn status(kind: &str) -> u16 {
    KINDS.iter().find(|(known, _)| *known == kind).map_or(500, |(_, status)| *status)
}

/// What OpenAI and Anthropic, and what Google, call a status.
pub(super) fn names(status: u16) -> (&'static str, &'static str) {
    let row = NAMES.iter().find(|(known, ..)| *known == status);
    row.map_or(("api_error", "INTERNAL"), |(_, name, google)| (name, google))
}

/// What a client reads when a script wanted it to fail.
pub(super) fn message(kind: &str) -> String {
    format!("scripted failure: {kind}")
}

impl Family {
    /// A failed request, in the family's own form.
    pub(super) fn refusal(self, status: u16, message: &str) -> Reply {
        let (name, google) = names(status);
        let body = match self {
            Family::Messages => {
                json!({"type": "error", "error": {"type": (name), "message": (message)}})
            }
            Family::Gemini => {
                json!({"error": {"code": (status), "message": (message), "status": (google)}})
            }
            Family::Chat | Family::Responses => json!({
                "error": {"message": (message), "type": (name), "code": (name), "param": null},
            }),
        };
        Reply::json(status, &body)
    }
}

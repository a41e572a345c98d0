//! How the families fail: statuses, names and forms.
//!
//! Knows: the families. Never knows: when to fail.
//!
//! Start at [`ModelFailure::of`].

use crate::wire::json::json;

use super::flavor::ModelFlavor;
use super::reply::ModelReply;
use super::routes::ModelFamily;

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

/// How one request or stream fails.
#[derive(Clone, Debug)]
pub(super) struct ModelFailure {
    /// The HTTP status, of a request that fails before anything was said.
    pub(super) status: u16,
    /// What OpenAI and Anthropic call it.
    pub(super) name: String,
    /// What Google calls it.
    google: &'static str,
    /// What a client reads.
    pub(super) message: String,
}

impl ModelFailure {
    /// The failure of a kind that a script names; of an unknown kind it is an internal one.
    ///
    /// A flavor may say otherwise: an agent that asks again as long as it is told to come back
    /// later does not fail within the patience of anybody.
    pub(super) fn of(kind: &str, family: ModelFamily, flavor: &ModelFlavor) -> ModelFailure {
        let own = KINDS.iter().find(|(known, _)| *known == kind).map_or(500, |(_, status)| *status);
        let other = flavor.failure(family.name(), kind);
        let status = other.and_then(|row| row.status).unwrap_or(own);
        let message = format!("scripted failure: {kind}");
        let mut failure = ModelFailure::plain(status, message);
        if let Some(name) = other.and_then(|row| row.name.as_ref()) {
            failure.name.clone_from(name);
        }
        failure
    }

    /// A failure that no script asked for.
    pub(super) fn plain(status: u16, message: impl Into<String>) -> ModelFailure {
        let row = NAMES.iter().find(|(known, ..)| *known == status);
        let (name, google) = row.map_or(("api_error", "INTERNAL"), |(_, name, it)| (*name, *it));
        ModelFailure { status, name: name.to_owned(), google, message: message.into() }
    }

    /// A failed request, in the family's own form.
    pub(super) fn refusal(&self, family: ModelFamily) -> ModelReply {
        let ModelFailure { status, google, .. } = *self;
        let (name, message) = (self.name.as_str(), self.message.as_str());
        let body = match family {
            ModelFamily::Messages => {
                json!({"type": "error", "error": {"type": (name), "message": (message)}})
            }
            ModelFamily::Gemini => {
                json!({"error": {"code": (status), "message": (message), "status": (google)}})
            }
            ModelFamily::Chat | ModelFamily::Responses => json!({
                "error": {"message": (message), "type": (name), "code": (name), "param": null},
            }),
        };
        ModelReply::json(status, &body)
    }
}

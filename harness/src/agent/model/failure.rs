//! The failures of each family: HTTP statuses, names and JSON forms.
//!
//! Knows: the families. Never knows: the time of a failure.
//!
//! Start at [`ModelFailure::of`].

use crate::wire::json::json;

use super::flavor::ModelFlavor;
use super::reply::ModelReply;
use super::routes::ModelFamily;

/// The kinds of failure that a script can name, and the HTTP status of each.
const KINDS: &[(&str, u16)] = &[
    ("rate-limit", 429),
    ("overloaded", 529),
    ("auth", 401),
    ("forbidden", 403),
    ("bad-request", 400),
    ("not-found", 404),
];

/// The error names of each HTTP status: the name for OpenAI and Anthropic, and the name for Google.
const NAMES: &[(u16, &str, &str)] = &[
    (400, "invalid_request_error", "INVALID_ARGUMENT"),
    (401, "authentication_error", "UNAUTHENTICATED"),
    (403, "permission_error", "PERMISSION_DENIED"),
    (404, "not_found_error", "NOT_FOUND"),
    (429, "rate_limit_error", "RESOURCE_EXHAUSTED"),
    (529, "overloaded_error", "UNAVAILABLE"),
];

/// A failure of a request or of a stream.
#[derive(Clone, Debug)]
pub(super) struct ModelFailure {
    /// The HTTP status, if the request fails before the first output.
    pub(super) status: u16,
    /// The error type for OpenAI and Anthropic.
    pub(super) name: String,
    /// The error status for Google.
    google: &'static str,
    /// The error message.
    pub(super) message: String,
}

impl ModelFailure {
    /// Creates the failure of a kind that a script names. An unknown kind is an internal error.
    ///
    /// A flavor may replace the status and the name, because some agents retry a temporary failure for longer than any
    /// time limit of a run.
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

    /// Creates a failure that no script requested.
    pub(super) fn plain(status: u16, message: impl Into<String>) -> ModelFailure {
        let row = NAMES.iter().find(|(known, ..)| *known == status);
        let (name, google) = row.map_or(("api_error", "INTERNAL"), |(_, name, it)| (*name, *it));
        ModelFailure { status, name: name.to_owned(), google, message: message.into() }
    }

    /// Returns the response to a failed request, in the family's form.
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

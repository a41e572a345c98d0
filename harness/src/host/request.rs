//! Requests as their handlers receive them, and the responses of the handlers.
//!
//! Knows: error codes. Never knows: the effect of requests.

use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;
use crate::wire::error_code::ErrorName;
use crate::wire::json::Value;

/// A request that is passed to its handler.
pub(super) struct HostCall<'a> {
    /// The connection on which the request came.
    pub(super) conn: ConnId,
    /// The `params`, checked against the tables of the specification.
    pub(super) params: &'a Value,
}

impl HostCall<'_> {
    /// Returns a string member of `params`; an empty string if the member is absent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.params.get(name).and_then(Value::as_str).unwrap_or("")
    }

    /// Returns the channel of the request.
    pub(super) fn channel(&self) -> &str {
        self.text("channel")
    }
}

/// The response to a request: a result or an error.
pub(super) type CallReply = Result<Value, ErrorResponse>;

/// An error response.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    /// The error code.
    pub(super) code: i64,
    /// The message of the error, for a person.
    pub(super) message: String,
    /// The payload, or null.
    pub(super) data: Value,
    /// Whether the host closes the connection after the response.
    pub(super) close: bool,
}

impl ErrorResponse {
    /// Creates a protocol error from its name in the table of error codes.
    pub(super) fn named(name: ErrorName, message: impl Into<String>) -> ErrorResponse {
        ErrorResponse::passed_on(name.code(), message.into(), Value::Null)
    }

    /// Creates an error with the code and the message from another party, such as a client that serves a file.
    pub(super) fn passed_on(code: i64, message: String, data: Value) -> ErrorResponse {
        ErrorResponse { code, message, data, close: false }
    }

    /// Creates the error for a frame that is not a valid request at this point.
    pub(super) fn invalid_request(message: impl Into<String>) -> ErrorResponse {
        ErrorResponse::named(ErrorName::InvalidRequest, message)
    }

    /// Creates the error for invalid `params`.
    pub(super) fn invalid_params(message: impl Into<String>) -> ErrorResponse {
        ErrorResponse::named(ErrorName::InvalidParams, message)
    }
}

/// Returns the error for a channel that does not exist.
pub(super) fn unknown_channel(uri: &str) -> ErrorResponse {
    match ChannelKind::of_uri(uri) {
        Some(ChannelKind::Session) => {
            ErrorResponse::named(ErrorName::SessionNotFound, "no such session")
        }
        _ => ErrorResponse::named(ErrorName::NotFound, "no such channel"),
    }
}

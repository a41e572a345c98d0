//! JSON-RPC error codes: the standard codes and the protocol's own codes.

use super::version::Version;

/// The errors of JSON-RPC and of the protocol, by their names in the specification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorName {
    /// A frame is not JSON.
    ParseError = -32700,
    /// A frame is not a valid request at this point.
    InvalidRequest = -32600,
    /// The receiver does not serve the method.
    MethodNotFound = -32601,
    /// The params of a request are invalid.
    InvalidParams = -32602,
    /// The receiver failed to handle the request because of an error of its own.
    InternalError = -32603,
    /// There is no session at the URI that the request names.
    SessionNotFound = -32001,
    /// There is no provider with the name in the request.
    ProviderNotFound = -32002,
    /// The URI of a new session is in use.
    SessionAlreadyExists = -32003,
    /// The chat has an active turn, which the request does not permit.
    TurnInProgress = -32004,
    /// The receiver supports none of the offered versions.
    UnsupportedProtocolVersion = -32005,
    /// There is no content at the URI in the request.
    ContentNotFound = -32006,
    /// The request needs a token that the sender has not sent.
    AuthRequired = -32007,
    /// There is no resource at the URI in the request.
    NotFound = -32008,
    /// The sender may not do this.
    PermissionDenied = -32009,
    /// The resource that the request would create already exists.
    AlreadyExists = -32010,
    /// The content has changed since the version that the request names.
    Conflict = -32011,
}

impl ErrorName {
    /// Returns the number on the wire.
    pub const fn code(self) -> i64 {
        self as i64
    }
}

/// One error code of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCode {
    /// The name of the error in the specification.
    pub name: ErrorName,
    /// The first version that has the code.
    pub since: Version,
    /// The first version that no longer has the code; `None` if all newer versions have it.
    pub until: Option<Version>,
    /// The first version in which the `data` of the error must have this member, and the name of the member.
    pub data: Option<(Version, &'static str)>,
}

const V0_2: Version = Version::new(0, 2, 0);
const V0_9: Version = Version::new(0, 9, 0);

const fn plain(name: ErrorName) -> ErrorCode {
    ErrorCode { name, since: Version::V1, until: None, data: None }
}

/// Every code that a host may answer with. Source: JSON-RPC 2.0 section 5.1; the protocol's error table.
pub const ERROR_CODES: &[ErrorCode] = &[
    plain(ErrorName::ParseError),
    plain(ErrorName::InvalidRequest),
    plain(ErrorName::MethodNotFound),
    plain(ErrorName::InvalidParams),
    plain(ErrorName::InternalError),
    plain(ErrorName::SessionNotFound),
    plain(ErrorName::ProviderNotFound),
    plain(ErrorName::SessionAlreadyExists),
    plain(ErrorName::TurnInProgress),
    ErrorCode {
        data: Some((V0_9, "supportedVersions")),
        ..plain(ErrorName::UnsupportedProtocolVersion)
    },
    ErrorCode { until: Some(V0_9), ..plain(ErrorName::ContentNotFound) },
    ErrorCode { data: Some((Version::V0_1, "resources")), ..plain(ErrorName::AuthRequired) },
    plain(ErrorName::NotFound),
    plain(ErrorName::PermissionDenied),
    plain(ErrorName::AlreadyExists),
    ErrorCode { since: V0_2, ..plain(ErrorName::Conflict) },
];

impl ErrorCode {
    /// Returns the row of a number; `None` if `version` does not define the number.
    pub fn find(code: i64, version: Version) -> Option<&'static ErrorCode> {
        let known = |row: &&ErrorCode| {
            row.name.code() == code
                && row.since <= version
                && row.until.is_none_or(|end| version < end)
        };
        ERROR_CODES.iter().find(known)
    }

    /// Returns the name of the type of the error's `data`. The protocol tables contain a type with this name only if
    /// they define the data.
    pub fn data_type(&self) -> String {
        format!("{:?}ErrorData", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_codes_have_no_meaning() {
        assert!(ErrorCode::find(-32006, Version::new(0, 8, 0)).is_some());
        assert!(ErrorCode::find(-32006, Version::new(0, 9, 0)).is_none());
        assert!(ErrorCode::find(-32011, Version::new(0, 1, 0)).is_none());
        assert_eq!(ErrorName::NotFound.code(), -32008);
    }
}

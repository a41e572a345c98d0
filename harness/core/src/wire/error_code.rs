//! JSON-RPC error codes: the standard codes and the protocol's own codes.

use super::version::Version;

/// One error code of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCode {
    /// The number on the wire.
    pub code: i64,
    /// The name in the specification.
    pub name: &'static str,
    /// The first version that has the code.
    pub since: Version,
    /// The first version that no longer has the code; `None` if all newer versions have it.
    pub until: Option<Version>,
    /// The first version in which `data` requires this member, with the member's name.
    pub data: Option<(Version, &'static str)>,
}

const V0_2: Version = Version::new(0, 2, 0);
const V0_9: Version = Version::new(0, 9, 0);

const fn plain(code: i64, name: &'static str) -> ErrorCode {
    ErrorCode { code, name, since: Version::V1, until: None, data: None }
}

/// Every code that a host may answer with. Source: JSON-RPC 2.0 section 5.1; the protocol's error table.
pub const ERROR_CODES: &[ErrorCode] = &[
    plain(-32700, "ParseError"),
    plain(-32600, "InvalidRequest"),
    plain(-32601, "MethodNotFound"),
    plain(-32602, "InvalidParams"),
    plain(-32603, "InternalError"),
    plain(-32001, "SessionNotFound"),
    plain(-32002, "ProviderNotFound"),
    plain(-32003, "SessionAlreadyExists"),
    plain(-32004, "TurnInProgress"),
    ErrorCode {
        data: Some((V0_9, "supportedVersions")),
        ..plain(-32005, "UnsupportedProtocolVersion")
    },
    ErrorCode { until: Some(V0_9), ..plain(-32006, "ContentNotFound") },
    ErrorCode { data: Some((Version::V0_1, "resources")), ..plain(-32007, "AuthRequired") },
    plain(-32008, "NotFound"),
    plain(-32009, "PermissionDenied"),
    plain(-32010, "AlreadyExists"),
    ErrorCode { since: V0_2, ..plain(-32011, "Conflict") },
];

impl ErrorCode {
    /// Returns the row of a number; `None` if `version` does not define the number.
    pub fn find(code: i64, version: Version) -> Option<&'static ErrorCode> {
        let known = |row: &&ErrorCode| {
            row.code == code && row.since <= version && row.until.is_none_or(|end| version < end)
        };
        ERROR_CODES.iter().find(known)
    }

    /// Returns the number of the code with this name, such as `InvalidParams`.
    pub fn by_name(name: &str) -> Option<i64> {
        ERROR_CODES.iter().find(|row| row.name == name).map(|row| row.code)
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
        assert_eq!(ErrorCode::by_name("NotFound"), Some(-32008));
    }
}

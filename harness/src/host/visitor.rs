//! Visitors and the access that they can be granted.
//!
//! Knows: nothing else. Never knows: the host.

/// The visitor of a connection, identified by its token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum EndpointVisitor {
    /// A visitor without a token, on a host that requires none.
    #[default]
    Anybody,
    /// The visitor whose token has this index.
    Known(usize),
}

/// The access that a client can be granted.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum ResourceRight {
    Read,
    Write,
}

impl ResourceRight {
    /// Returns the name of the right in a `resourceRequest`.
    pub(super) fn name(self) -> &'static str {
        match self {
            ResourceRight::Read => "read",
            ResourceRight::Write => "write",
        }
    }
}

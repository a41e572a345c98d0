//! The answers that a step can give to an agent's request for permission.
//!
//! Knows: the names of the answers in the scenario language. Never knows: requests, options of a request.
//!
//! Start at [`PermissionReply`].

/// An answer to a request for permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PermissionReply {
    /// Selects an option of this kind.
    Kind(&'static str),
    /// Answers with the outcome `cancelled`.
    Cancelled,
    /// Selects an option that was not offered.
    Unknown,
    /// Answers with an error.
    Error,
}

impl PermissionReply {
    /// Every answer, with its name in the scenario language.
    pub const ALL: [(&'static str, PermissionReply); 7] = [
        ("allow-once", PermissionReply::Kind("allow_once")),
        ("allow-always", PermissionReply::Kind("allow_always")),
        ("reject-once", PermissionReply::Kind("reject_once")),
        ("reject-always", PermissionReply::Kind("reject_always")),
        ("cancelled", PermissionReply::Cancelled),
        ("unknown", PermissionReply::Unknown),
        ("error", PermissionReply::Error),
    ];

    /// Returns the answer with this name; `None` if no answer has this name.
    pub fn named(word: &str) -> Option<PermissionReply> {
        PermissionReply::ALL.iter().find(|(known, _)| *known == word).map(|(_, permit)| *permit)
    }
}

//! The credentials and the web origin that a client presents at a host's endpoint.
//!
//! A scenario only names the kind of credentials. The caller that opens the connection chooses the token.
//!
//! Knows: no other module. Never knows: tokens, headers.

/// The kind of credentials that a client presents.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum ClientCredentials {
    /// The valid credentials that the run was configured with.
    #[default]
    Own,
    /// The valid credentials of another user.
    Other,
    /// Invalid credentials.
    Wrong,
    /// No credentials.
    None,
}

impl ClientCredentials {
    /// The words with which scenarios name the kinds of credentials.
    pub const WORDS: &[&str] = &["own", "other", "wrong", "none"];

    /// All kinds of credentials, with their words.
    pub const ALL: [(&'static str, ClientCredentials); 4] = [
        ("own", ClientCredentials::Own),
        ("other", ClientCredentials::Other),
        ("wrong", ClientCredentials::Wrong),
        ("none", ClientCredentials::None),
    ];

    /// Returns the credentials for a word of a scenario; `None` for an unknown word.
    pub fn named(word: &str) -> Option<ClientCredentials> {
        ClientCredentials::ALL.iter().find(|(known, _)| *known == word).map(|(_, it)| *it)
    }
}

/// The properties of a client's request to open a connection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClientGuise {
    /// The kind of credentials that the client presents.
    pub credentials: ClientCredentials,
    /// The `Origin` header, which browsers send; `None` to send no such header.
    pub origin: Option<String>,
}

//! How a client comes to a host: by which credentials, and from which page.
//!
//! What credentials are is the business of whoever connects; a scenario names them by what they are to it.
//!
//! Knows: nothing. Never knows: tokens, headers.

/// Who a client is to whoever guards the host's endpoint.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum ClientCredentials {
    /// Whom the run was given credentials of.
    #[default]
    Own,
    /// Somebody else, who may come too.
    Other,
    /// Somebody with credentials that are nobody's.
    Wrong,
    /// Somebody without any.
    None,
}

impl ClientCredentials {
    /// The words of scenarios.
    pub const WORDS: &[&str] = &["own", "other", "wrong", "none"];

    /// Every one, with its word.
    pub const ALL: [(&'static str, ClientCredentials); 4] = [
        ("own", ClientCredentials::Own),
        ("other", ClientCredentials::Other),
        ("wrong", ClientCredentials::Wrong),
        ("none", ClientCredentials::None),
    ];

    /// What a word of a scenario stands for.
    pub fn named(word: &str) -> Option<ClientCredentials> {
        ClientCredentials::ALL.iter().find(|(known, _)| *known == word).map(|(_, it)| *it)
    }
}

/// How a client comes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClientGuise {
    /// By which credentials.
    pub credentials: ClientCredentials,
    /// The page that it says it comes from, as browsers do.
    pub origin: Option<String>,
}

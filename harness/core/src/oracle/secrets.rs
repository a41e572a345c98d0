//! The secrets that the checks can search for: strings that are too long to occur by accident, and that have no
//! spaces, because a string with spaces is not a token.
//!
//! Knows: JSON text. Never knows: the purpose of a secret.

use crate::wire::json::Value;

/// The minimum length of a secret that is searched for, in bytes.
pub const MIN_SECRET: usize = 12;
/// Upper bound for the secrets that are searched for. Later secrets are ignored.
pub(super) const MAX_SECRETS: usize = 32;

/// Returns whether the checks search for a secret.
pub fn is_looked_for(secret: &str) -> bool {
    form(secret).is_some()
}

/// Returns a secret as it appears in a frame; `None` if the secret is too short or is not a token.
pub(super) fn form(secret: &str) -> Option<String> {
    if secret.len() < MIN_SECRET || secret.contains(char::is_whitespace) {
        return None;
    }
    let quoted = Value::from(secret).to_text();
    Some(quoted.get(1..quoted.len() - 1)?.to_owned())
}

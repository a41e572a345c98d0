//! The input of the rules for actions of clients.
//!
//! Knows: the host. Never knows: the rules.

use super::engine::RefHost;
use crate::wire::json::Value;

/// The input of a rule: an action, the client that dispatched the action, and the state of the channel.
pub(super) struct RuleFacts<'a> {
    pub(super) host: &'a RefHost,
    /// The client that dispatched the action.
    pub(super) client: &'a str,
    /// The URI of the channel.
    pub(super) uri: &'a str,
    /// The state of the channel.
    pub(super) state: &'a Value,
    /// The dispatched action.
    pub(super) action: &'a Value,
}

pub(super) fn require(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

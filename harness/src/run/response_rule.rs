//! The rules by which steps change the host's responses to the tested client.
//!
//! Knows: patterns. Never knows: the tested client, frames.
//!
//! Start at [`ResponseRule`].

use std::time::Duration;

use crate::scenario::pattern::ValuePattern;
use crate::wire::json::Value;

/// A change of the host's responses to the tested client.
#[derive(Clone, Debug)]
pub struct ResponseRule {
    /// The method of the requests.
    pub method: String,
    /// The pattern of the requests' params.
    pub params: Option<ValuePattern>,
    /// The number of requests to which the rule still applies.
    pub times: u64,
    /// The change.
    pub change: ResponseChange,
    /// The delay of the response.
    pub delay: Option<Duration>,
}

/// The change of a response.
#[derive(Clone, Debug)]
pub enum ResponseChange {
    /// The response is unchanged.
    Nothing,
    /// The result is replaced by this value. The host does not see the request.
    Result(Value),
    /// The response is this error. The host does not see the request.
    Error(Value),
    /// This JSON Merge Patch is applied to the host's result.
    Merge(Value),
    /// No response is sent.
    Silence,
    /// The response is sent twice.
    Twice,
    /// The connection is cut instead of sending a response.
    Cut,
}

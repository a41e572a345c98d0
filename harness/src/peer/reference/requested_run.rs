//! A manual run of an automation that the client has requested.
//!
//! Knows: ids. Never knows: requests, responses.
//!
//! Start at [`RequestedRun`].

/// A requested run that the host has not answered.
#[derive(Clone, Debug)]
pub(super) struct RequestedRun {
    /// The id of the driver's command.
    pub(super) command: u64,
    /// The automation.
    pub(super) automation: String,
    /// The id that the client keeps until the host has answered.
    pub(super) request_id: String,
}

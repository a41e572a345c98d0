//! What an oracle has to know beside the entries of a transcript.
//!
//! Knows: versions. Never knows: rules.
//!
//! Start at [`OracleOptions`].

use std::time::Duration;

use crate::wire::version::{ProtocolStandard, Version};

/// The default value of [`OracleOptions::deadline`].
const DEADLINE: Duration = Duration::from_secs(10);

/// The party whose messages are judged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum JudgedParty {
    /// The host in a conversation of AHP, or the agent in a conversation of ACP.
    #[default]
    Server,
    /// The clients in a conversation of AHP.
    Clients,
}

/// The facts about a transcript that its entries do not contain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OracleOptions {
    /// The version of connections whose handshake is missing from the transcript. If this is set, the
    /// transcript may also begin in the middle of a connection.
    pub assume_version: Option<Version>,
    /// Whether clients outside the transcript may be connected to the same host.
    pub foreign: bool,
    /// The time that the host may take to answer a request or to settle a dispatch.
    pub deadline: Duration,
    /// The protocol to which the transcript belongs.
    pub standard: ProtocolStandard,
    /// The party whose messages are judged. Conversations of ACP are judged by their agent only.
    pub party: JudgedParty,
    /// The largest possible error between the times of two connections.
    pub spread: Duration,
    /// Whether the transcript omits frames that are not JSON objects.
    pub objects_only: bool,
    /// Whether the client sends malformed messages on purpose. The client's own messages are not judged then.
    pub odd_client: bool,
}

impl OracleOptions {
    /// Returns the time after which an answer is certainly late: the deadline, plus the possible error of the times.
    pub(super) fn patience(&self) -> Duration {
        self.deadline + self.spread
    }
}

impl Default for OracleOptions {
    fn default() -> OracleOptions {
        OracleOptions {
            assume_version: None,
            foreign: false,
            deadline: DEADLINE,
            standard: ProtocolStandard::Ahp,
            party: JudgedParty::Server,
            spread: Duration::ZERO,
            objects_only: false,
            odd_client: false,
        }
    }
}

//! The party of a capture that is judged: the host or the clients.
//!
//! Knows: the oracle. Never knows: arguments, files.

use crate::oracle::{JudgedParty, Oracle, OracleOptions};
use crate::verdict::FailOn;
use crate::wire::version::ProtocolStandard;

use super::summary::RunSummary;

/// The party of a capture that is judged.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct JudgedSubject {
    /// The party.
    pub party: JudgedParty,
    /// The only client that is judged: a `clientId`, or the name of a connection. `None` means all clients.
    pub client: Option<String>,
}

impl JudgedSubject {
    /// Returns the clients, or only the client with this name.
    pub fn clients(client: Option<String>) -> JudgedSubject {
        JudgedSubject { party: JudgedParty::Clients, client }
    }

    /// Returns whether clients are judged.
    pub fn is_client(&self) -> bool {
        self.party == JudgedParty::Clients
    }

    /// Creates an oracle that judges the party.
    pub fn oracle(&self, options: OracleOptions) -> Oracle {
        let options = OracleOptions { party: self.party, ..options };
        Oracle::of_client(options, self.client.as_deref())
    }

    /// Returns an empty summary that contains every always-on check of the party.
    pub fn summary(&self, standard: ProtocolStandard, fail_on: FailOn) -> RunSummary {
        RunSummary::of_party(standard, self.party, fail_on)
    }

    /// Returns the reason why no message was judged. It names the client if only one client was to be judged.
    pub(super) fn nobody(&self) -> String {
        format!(
            "no message of the client `{}` tests a rule (hint: NAME is a `clientId`, or the name of a \
             connection in the capture)",
            self.client.as_deref().unwrap_or_default()
        )
    }
}

//! Plays generated conversations with a reference client in memory. Tests of the client fuzzer use this module. The
//! fuzzer itself uses it to detect mistakes of the harness: a finding that also occurs with the reference client
//! without faults is such a mistake.
//!
//! Knows: the reference client, drafts. Never knows: clients outside of this process.
//!
//! Start at [`ClientGround::found`].

use std::sync::Arc;
use std::time::Duration;

use crate::host::engine::HostConfig;
use crate::peer::reference::SansIoClient;
use crate::peer::reference::fault::Fault;
use crate::peer::reference::variant::{ClientVariantRow, VariantClient};
use crate::run::client_mutants::faulty;
use crate::run::client_sim;
use crate::wire::version::Version;

use super::draft::ScenarioDraft;
use super::finding::{FuzzFinding, findings};
use super::shrink::DraftTrial;

/// The time limit of a wait, in virtual time.
const LIMIT: Duration = Duration::from_secs(2);
/// The seed of all generated identifiers.
const SEED: u64 = 1;

/// A reference client, with or without injected faults or a legal variant.
#[derive(Clone, Debug)]
pub struct ClientGround {
    /// The version that the host speaks.
    pub version: Version,
    /// The injected faults.
    pub faults: Vec<Fault>,
    /// The legal variant of the client; `None` for its usual behaviour.
    pub variant: Option<&'static ClientVariantRow>,
}

impl ClientGround {
    /// Returns a [`ClientGround`] with the reference client without faults.
    pub fn honest(version: Version) -> ClientGround {
        ClientGround { version, faults: Vec::new(), variant: None }
    }

    /// Plays a draft and returns the findings, and the number of claims that held.
    pub fn played(&self, draft: &ScenarioDraft) -> (Vec<FuzzFinding>, u64) {
        let Ok(scenario) = draft.scenario() else { return (Vec::new(), 0) };
        let epoch = Duration::from_millis(HostConfig::default().epoch_ms);
        let setup = client_sim::setup(&Arc::new(scenario), self.version, SEED, epoch, LIMIT);
        let client = faulty(&self.faults);
        let mut client: Box<dyn SansIoClient> = match self.variant {
            Some(variant) => Box::new(VariantClient::new(client, variant)),
            None => Box::new(client),
        };
        let verdict = client_sim::played(setup, &mut *client);
        (findings(&draft.steps, &verdict), verdict.observations)
    }

    /// Plays a generated scenario, and returns what its checks and claims found.
    pub fn found(&self, draft: &ScenarioDraft) -> Vec<FuzzFinding> {
        self.played(draft).0
    }
}

/// Tests whether a draft still shows a finding on a reference client.
pub struct GroundTrial<'a> {
    /// The reference client, with which the draft is played.
    pub ground: &'a ClientGround,
    /// The identity of the finding that the draft has to show.
    pub key: &'a str,
}

impl DraftTrial for GroundTrial<'_> {
    async fn shows(&mut self, draft: &ScenarioDraft) -> bool {
        self.ground.found(draft).iter().any(|finding| finding.key == self.key)
            && ClientGround::honest(self.ground.version).found(draft).is_empty()
    }
}

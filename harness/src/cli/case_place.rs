//! The setup of a scenario, and the place where it is played.
//!
//! Knows: the run's options, its target. Never knows: the order of the scenarios.
//!
//! Start at [`RunArguments::setup`].

use std::sync::Arc;
use std::time::Duration;

use crate::host::engine::RefHost;
use crate::report::event::RunHeader;
use crate::run::client_sim;
use crate::run::detect;
use crate::run::setup::{CaseSetup, TestedClientSetup};
use crate::run::side::AgentSide;
use crate::run::sim;
use crate::run::suite::SuiteEntry;

use super::clients::ClientPort;
use super::context::wall_clock;
use super::place::PlayPlace;
use super::play_target::PlayTarget;
use super::run::RunArguments;

impl RunArguments {
    /// Returns the setup of a scenario that begins now.
    pub(super) fn setup(
        &self,
        target: &PlayTarget,
        entry: &SuiteEntry,
        header: &RunHeader,
        name: String,
        side: &AgentSide,
    ) -> CaseSetup {
        // A host keeps the times that clients send, so these times have to be those of the host's clock; the
        // start of the run may be minutes ago. In memory every scenario begins at the same fixed time.
        let epoch = match target {
            PlayTarget::Embedded => Duration::from_micros(header.epoch_us),
            _ => wall_clock(),
        };
        CaseSetup {
            scenario: Arc::clone(&entry.scenario),
            version: header.version,
            offers: header.offers.clone(),
            seed: header.seed,
            name,
            epoch,
            limit: Duration::from_millis(header.limit_ms),
            authenticate: self.aim.authenticate.clone(),
            required_tokens: header.required_tokens.clone(),
            facts: detect::facts(&header.detected, self.token_of(header).as_deref()),
            forms: header.forms.clone(),
            secrets: self.secrets().collect(),
            provider: header.provider.as_ref().map(|it| it.raw().to_owned()),
            observe: self.observe,
            agent: header.agent,
            side: side.clone(),
            tested: TestedClientSetup::default(),
        }
    }

    /// Returns the place where a scenario is played; `None` if the scenario is played in memory.
    pub(super) async fn place(
        &self,
        target: &PlayTarget,
        entry: &SuiteEntry,
        header: &RunHeader,
        name: String,
    ) -> std::io::Result<Option<PlayPlace>> {
        Ok(Some(match target {
            PlayTarget::Embedded => return Ok(None),
            PlayTarget::Remote(remote, behind) => {
                PlayPlace::Remote(Arc::clone(remote), Arc::clone(behind), name)
            }
            PlayTarget::Agents(agents) => agents.place(&entry.scenario.needs, name)?,
            PlayTarget::Clients(client) => {
                let version = header.version;
                let config =
                    client_sim::settings(&entry.scenario, version, header.seed, wall_clock());
                let (port, config) = (ClientPort::open(&name).await?, Box::new(config));
                PlayPlace::Client { client: client.clone(), port, config }
            }
            PlayTarget::Loopback => {
                let config = sim::settings(&entry.scenario, header.seed, wall_clock());
                let config = sim::speaking(config, header.version);
                PlayPlace::own(Box::new(RefHost::new(config))).await?
            }
        }))
    }
}
